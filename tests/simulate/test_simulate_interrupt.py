"""Ctrl-C ends a run soon, in the main thread and in those of a grid; progress moves in a run."""

import signal
import threading
import time

import pytest

from hitpath.core import Setting
from hitpath.serving_spine import run, servable, simulate_trace
from hitpath.serving_spine.size import find_size
from hitpath.serving_spine.stopping import Stop, StoppedError
from hitpath.serving_spine.sweep import parse_axes, run_sweep
from hitpath.sim.serving_file import FleetFile, Worker
from support import trace_of_rows

READ = Setting()
LONG = 1 << 24
"""Output tokens of a request, each a step: a run of many seconds."""
SOON = 6.0
"""Seconds: what is not ended takes two minutes and more."""
FILE = FleetFile(worker=Worker(unlimited=True, step_s=0.001), slo="ttft_p90<1")


@pytest.fixture(scope="module")
def long_trace(tmp_path_factory):
    rows = [
        {"id": str(i), "arrival_s": 1e5 * i, "tokens": [i] * 40, "output_tokens": LONG}
        for i in range(60)
    ]
    return servable(trace_of_rows(tmp_path_factory.mktemp("t"), rows), READ)


@pytest.fixture(autouse=True)
def heard():
    """A background job of a shell is born deaf to Ctrl-C, and so are its tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module", autouse=True)
def compiled(tmp_path_factory):
    """What is measured is the end of a run, not the making of its kernels."""
    row = {"id": "a", "arrival_s": 0, "tokens": [1] * 40, "output_tokens": 2}
    simulate_trace(servable(trace_of_rows(tmp_path_factory.mktemp("t"), [row]), READ), READ, FILE)


def seconds_to_end(work):
    """From an interrupt, one second into a run, to its end."""
    pressed = []

    def press():
        pressed.append(time.monotonic())
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    timer = threading.Timer(1.0, press)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        work()
    return time.monotonic() - pressed[0]


def test_one_run_ends(long_trace):
    assert seconds_to_end(lambda: simulate_trace(long_trace, READ, FILE)) < SOON


def test_a_grid_ends_and_keeps_what_is_done(long_trace):
    kept = []

    def sweep():
        axes = parse_axes(["seed=1,2,3,4"])
        run_sweep(long_trace, READ, FILE, axes, num_threads=2, interrupted=kept.append)

    assert seconds_to_end(sweep) < SOON
    (done,) = kept
    assert not done.complete
    assert done.num_cells == 4


def test_a_search_ends(long_trace):
    routers = ("random", "round-robin")
    assert seconds_to_end(lambda: find_size(long_trace, READ, FILE, routers)) < SOON


def test_runs_stop_when_they_are_told_to():
    stop = Stop()
    stop(0.5)
    stop.now()
    with pytest.raises(StoppedError):
        stop(0.5)


def test_progress_moves_within_a_run(tmp_path, monkeypatch):
    def serve(*args):
        for share in (0.0, 0.25, 0.75):
            args[-1](share)
        return original(*args)

    original = run.simulate_serving
    monkeypatch.setattr(run, "simulate_serving", serve)
    rows = [
        {"id": str(i), "arrival_s": i, "tokens": [i] * 40, "output_tokens": 9} for i in range(16)
    ]
    trace, told = servable(trace_of_rows(tmp_path, rows), READ), []
    simulate_trace(trace, READ, FILE, lambda stage, done, total: told.append((stage, done, total)))
    served = [(done, total) for stage, done, total in told if stage == "serving requests"]
    assert served[0] == (0, 16)
    assert served[-1] == (16, 16)
    assert served == sorted(served)
    assert {(4, 16), (12, 16)} < set(served)

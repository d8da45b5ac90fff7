"""Measuring this machine: what is counted and written, not how fast it is."""

import io

import numpy as np
import pytest

from hitpath.core import OutputError, SettingError
from hitpath.cost.hardware import load_hardware
from hitpath.cost.hardware_file import read_hardware_file, write_hardware_file
from hitpath.engine import calibrate as calibration
from hitpath.engine.backend import AttentionCase
from hitpath.engine.calibrate import calibrate, choose_backend
from hitpath.engine.machine import last_level_cache_bytes
from hitpath.engine.measure import Measurements
from hitpath.engine.numpy_backend import NumpyBackend, causal_attention
from hitpath.engine.tasks import PLANS, Plan, default_array_bytes, tasks_of
from hitpath.engine.timing import LEAST_REPEATS, WARM_UPS, Budget, time_call
from hitpath.engine.torch_backend import TorchBackend, import_torch
from hitpath.engine.triad import MemoryPass, Triad, host_passes
from hitpath.report import calibration as report
from hitpath.report.text_parts import Page

TINY = Plan(
    layer=(16, 24),
    rows=(1, 3),
    heads=(4, 2, 8),
    new_and_cached=((1, 5), (3, 4), (4, 0)),
    array_bytes=4096,
)
TORCH, _ = import_torch()
BACKENDS = [NumpyBackend("not installed"), *([TorchBackend(TORCH, "cpu")] if TORCH else [])]


def tiny(backend):
    return calibrate(
        backend,
        backend.dtypes,
        name="here",
        measured_at="2026-01-02T03:04:05+00:00",
        seconds=60,
        plan=TINY,
    )


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: type(b).__name__)
def test_the_file_is_one_that_hardware_takes(backend, tmp_path):
    found = tiny(backend)
    path = tmp_path / "here.json"
    path.write_bytes(write_hardware_file(found.file))
    assert read_hardware_file(path) == found.file
    hardware = load_hardware(str(path))
    assert hardware.measured
    assert hardware.kind == "cpu"
    assert set(hardware.peak_flops_per_s) == set(backend.dtypes)
    for dtype, peak in hardware.peak_flops_per_s.items():
        assert peak == max(g.flops_per_s for g in found.file.gemm if g.dtype == dtype)
    assert hardware.memory_bytes_per_s == max(m.bytes_per_s for m in found.file.memory)
    assert hardware.link_bytes_per_s is None
    assert hardware.pcie_bytes_per_s is None
    assert {"hitpath", "python", "torch"} <= set(found.file.versions)


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: type(b).__name__)
def test_every_shape_of_the_plan_is_measured_in_every_type(backend):
    found = tiny(backend)
    shapes = {(g.dtype, g.m, g.k, g.n) for g in found.file.gemm}
    assert shapes == {(d, m, 16, 24) for d in backend.dtypes for m in TINY.rows}
    cases = {(a.dtype, a.num_new_tokens, a.num_cached_tokens) for a in found.file.attention}
    assert cases == {(d, *pair) for d in backend.dtypes for pair in TINY.new_and_cached}
    rows = [*found.file.memory, *found.file.gemm, *found.file.attention]
    assert len(found.measured) == len(rows)
    for one in found.measured:
        assert one.timing.num_repeats >= LEAST_REPEATS
        assert one.timing.spread_frac >= 0


def test_flops_are_two_a_multiply_and_add():
    file = tiny(BACKENDS[0]).file
    for row in file.gemm:
        assert row.flops_per_s * row.seconds == pytest.approx(2 * row.m * row.n * row.k)
    for row in file.attention:
        seen = sum(row.num_cached_tokens + i + 1 for i in range(row.num_new_tokens))
        products = 2 * 2 * row.num_heads * row.head_size * seen
        assert row.flops_per_s * row.seconds == pytest.approx(products)
    assert {m.bytes for m in file.memory} == {3 * 4096}


def test_numpy_says_that_it_measured_without_torch():
    found = tiny(NumpyBackend("not installed"))
    assert found.file.versions["torch"] == "not installed"
    assert "torch is not installed: measured with numpy, in fp32 only" in found.notes


@pytest.mark.parametrize("num_threads", [1, 2, 3, 8])
def test_triad_writes_every_element_once(num_threads):
    triad = Triad(1001)
    assert triad.num_bytes == 3 * 1001 * 4
    with triad.on(num_threads) as one_pass:
        one_pass()
    assert np.all(triad.result == 7)


def test_the_triad_runs_on_all_cores_and_on_one():
    names = [one.name for one in host_passes(4096, 3)]
    assert names == ["triad, 3 cores", "triad, 1 core"]
    assert [one.name for one in host_passes(4096, 1)] == ["triad, 1 core"]


def attention_by_token(case, queries, kept):
    """One query and head at a time, in float64."""
    shared = case.num_heads // case.num_kv_heads
    out = np.empty_like(queries, dtype=np.float64)
    for head in range(case.num_kv_heads):
        for query in range(shared):
            for new in range(case.num_new):
                at = query * case.num_new + new
                seen = case.num_cached + new + 1
                keys, values = kept[:, head, :seen].astype(np.float64)
                scores = keys @ queries[head, at].astype(np.float64) / case.head_size**0.5
                weights = np.exp(scores) / np.exp(scores).sum()
                out[head, at] = weights @ values
    return out


@pytest.mark.parametrize(("num_new", "num_cached"), [(1, 0), (1, 7), (5, 0), (5, 7)])
def test_numpy_attention_is_causal_attention(num_new, num_cached):
    case = AttentionCase(6, 2, 8, num_new, num_cached)
    random = np.random.default_rng(1)
    queries = random.standard_normal((2, 3 * num_new, 8), np.float32)
    kept = random.standard_normal((2, 2, case.num_tokens, 8), np.float32)
    unseen = np.triu(np.full((num_new, num_new), -np.inf, np.float32), 1)
    found = causal_attention(queries, kept, unseen)
    assert found == pytest.approx(attention_by_token(case, queries, kept), abs=1e-5)


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: type(b).__name__)
def test_every_copy_of_the_operands_gives_the_same(backend):
    gemm = backend.gemm("fp32", 2, 3, 4, 3)
    first, *others = [gemm().tolist() for _ in range(4)]
    assert np.shape(first) == (2, 3)
    assert np.any(first)
    assert others == [first] * 3
    attend = backend.attention("fp32", AttentionCase(4, 2, 8, 3, 4), 2)
    assert attend().tolist() == attend().tolist()


def test_more_copies_than_the_cache_holds():
    for task in tasks_of(PLANS["cpu"], ("fp32",), 32 << 20):
        size = 4 * task.k * task.n if task.kind == "gemm" else 4 * task.case.kv_elements
        assert (task.num_copies - 1) * size >= 2 * (32 << 20) or task.num_copies == 64


class Clock:
    """Time that passes only when something takes it."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now

    def takes(self, seconds):
        self.now += seconds


def test_timing_is_the_median_of_repeats_after_the_warm_up():
    clock = Clock()
    durations = iter([50.0, 1.0, 4.0, 2.0])
    timing = time_call(lambda: clock.takes(next(durations)), lambda: None, 0.0, clock)
    assert timing.seconds == 2.0
    assert timing.spread_frac == (4.0 - 1.0) / 2.0
    assert timing.num_repeats == 3


def test_short_calls_are_timed_together_and_waiting_counts():
    clock = Clock()
    calls, waits = [], []

    def wait():
        waits.append(len(calls))
        clock.takes(1e-5)

    def call():
        calls.append(clock.now)
        clock.takes(1e-5)

    timing = time_call(call, wait, 0.01, clock)
    assert timing.num_repeats >= LEAST_REPEATS
    assert len(calls) > 50 * timing.num_repeats
    assert 1e-5 < timing.seconds < 1.02e-5
    assert waits[-1] == len(calls)


class PacedBackend:
    """Takes the time that its rates say, on a clock of its own."""

    kind = "cpu"
    dtypes = ("fp32", "bf16")
    cache_bytes = 32 << 20
    memory_bytes = None
    accelerator = None
    notes = ()

    def __init__(self, flops_per_s):
        self.versions = {}
        self.clock = Clock()
        self.flops_per_s = flops_per_s

    def gemm(self, dtype, m, n, k, num_copies):
        return lambda: self.clock.takes(2 * m * n * k / self.flops_per_s)

    def attention(self, dtype, case, num_copies):
        pairs = case.num_new * case.num_tokens
        flops = 4 * case.num_heads * case.head_size * pairs
        return lambda: self.clock.takes(flops / self.flops_per_s)

    def memory_passes(self, array_bytes):
        yield MemoryPass("all", "copy", 3 * array_bytes, lambda: self.clock.takes(1e-3))

    def wait(self):
        pass


@pytest.mark.parametrize("flops_per_s", [2e9, 2e10, 2e11, 2e13])
def test_the_budget_holds_at_any_speed(flops_per_s):
    backend = PacedBackend(flops_per_s)
    start = backend.clock.now
    run = Measurements(backend, Budget(20.0, backend.clock))
    tasks = list(tasks_of(PLANS["cpu"], backend.dtypes, backend.cache_bytes))
    for i, task in enumerate(tasks):
        run.add(task, len(tasks) - i)
    assert backend.clock.now - start <= 20.0 * 1.05
    assert len(run.measured) + len(run.notes) == len(tasks)
    assert {one.dtype for one in run.measured if one.kind == "gemm"} == {"fp32", "bf16"}
    assert bool(run.notes) == (flops_per_s < 1e11)


def test_what_is_too_slow_is_named():
    backend = PacedBackend(1.5e10)
    run = Measurements(backend, Budget(20.0, backend.clock))
    for task in tasks_of(PLANS["cpu"], ("fp32",), backend.cache_bytes):
        run.add(task, 1)
    expected = "fp32 gemm 4096 x 4096 x 4096: not measured, for a call may take 9.2 s (--seconds)"
    assert expected in run.notes
    assert not [one for one in run.measured if one.name == "4096 x 4096 x 4096"]
    run.add_notes_on_peaks(PLANS["cpu"])
    assert run.notes[-1].startswith("the fp32 peak is that of products up to m = 512: likely too")


def test_budget_leaves_half_to_the_others():
    clock = Clock()
    budget = Budget(10.0, clock)
    assert budget.allows(5.0 / (WARM_UPS + LEAST_REPEATS))
    assert not budget.allows(5.1 / (WARM_UPS + LEAST_REPEATS))
    clock.takes(11.0)
    assert budget.left_s() == 0.0


@pytest.fixture
def without_torch(monkeypatch):
    monkeypatch.setattr(calibration, "import_torch", lambda: (None, "not installed"))


@pytest.mark.parametrize(
    ("dtypes", "device", "cause"),
    [
        (("bf16",), None, "--dtype bf16: needs torch, which is not installed"),
        (("fp32", "bf16"), "cpu", "--dtype bf16: needs torch, which is not installed"),
        (None, "cuda", "--device cuda: needs torch, which is not installed"),
        (("fp8",), None, "--dtype fp8: not one of fp32, bf16"),
        ((), "tpu", "--device tpu: not one of cpu, cuda"),
    ],
)
def test_what_is_not_there_is_refused(without_torch, dtypes, device, cause):
    with pytest.raises(SettingError) as error:
        choose_backend(dtypes, device)
    assert str(error.value) == cause


def test_numpy_takes_over_where_there_is_no_torch(without_torch):
    backend, dtypes = choose_backend()
    assert isinstance(backend, NumpyBackend)
    assert dtypes == ("fp32",)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 1e9])
def test_seconds_that_are_none(seconds):
    with pytest.raises(SettingError, match="--seconds"):
        calibrate(BACKENDS[0], ("fp32",), name="x", measured_at="", seconds=seconds, plan=TINY)


def test_a_cache_for_every_few_cores_counts_once_each(tmp_path):
    def cache(cpu, index, level, size, shared):
        folder = tmp_path / f"cpu{cpu}" / "cache" / f"index{index}"
        folder.mkdir(parents=True)
        (folder / "level").write_text(f"{level}\n")
        (folder / "size").write_text(f"{size}\n")
        (folder / "shared_cpu_list").write_text(f"{shared}\n")

    for cpu in range(4):
        cache(cpu, 0, 1, "32K", str(cpu))
        cache(cpu, 3, 3, "32768K", "0-1" if cpu < 2 else "2-3")
    (tmp_path / "cpu4" / "cache" / "index9").mkdir(parents=True)
    assert last_level_cache_bytes(tmp_path) == 64 << 20
    assert last_level_cache_bytes(tmp_path / "nowhere") is None


def test_arrays_of_four_times_the_cache_within_memory():
    assert default_array_bytes(32 << 20, None) == 128 << 20
    assert default_array_bytes(1 << 30, None) == 1 << 30
    assert default_array_bytes(32 << 20, 1 << 30) == 64 << 20


def test_arrays_that_the_cache_holds_are_owned_up_to():
    assert any("smaller than the cache" in note for note in tiny(BACKENDS[0]).notes)


def run_tiny(monkeypatch, out, measure=None):
    def small(backend, dtypes, **settings):
        return calibrate(backend, dtypes, **{**settings, "plan": TINY, "seconds": 60})

    monkeypatch.setattr(report, "calibrate", measure or small)
    report.run_calibrate(str(out), "fp32", 5.0, "cpu")


def test_the_file_and_the_page(monkeypatch, tmp_path, capsys):
    out = tmp_path / "my-laptop.json"
    run_tiny(monkeypatch, out)
    assert load_hardware(str(out)).name == "my-laptop"
    page = capsys.readouterr().out
    for text in ("GFLOP/s", "GB/s", "triad, 1 core", "3 x 16 x 24", "3 new, 4 cached", "spread"):
        assert text in page


def test_to_standard_output_goes_the_file_alone(monkeypatch, tmp_path, capfdbinary):
    run_tiny(monkeypatch, "-")
    path = tmp_path / "copy.json"
    path.write_bytes(capfdbinary.readouterr().out)
    assert read_hardware_file(path).name == "this-machine"


def test_an_interrupted_run_leaves_what_was_there(monkeypatch, tmp_path):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    out = tmp_path / "here.json"
    with pytest.raises(KeyboardInterrupt):
        run_tiny(monkeypatch, out, interrupted)
    assert list(tmp_path.iterdir()) == []
    out.write_text("before")
    with pytest.raises(KeyboardInterrupt):
        run_tiny(monkeypatch, out, interrupted)
    assert out.read_text() == "before"
    assert list(tmp_path.iterdir()) == [out]


def test_a_place_that_cannot_be_written_is_told_before_measuring(monkeypatch, tmp_path):
    def measured(*_, **__):
        raise AssertionError("measured all the same")

    with pytest.raises(OutputError):
        run_tiny(monkeypatch, tmp_path / "no" / "folder.json", measured)


def test_the_page_says_what_was_not_measured():
    found = tiny(NumpyBackend("not installed"))
    text = io.StringIO()
    report.print_calibration(found, "x.json", Page(file=text, width=110))
    assert "torch is not installed" in text.getvalue()
    assert "--hardware x.json" in text.getvalue()

"""Faults and draining: how a server ends (as a process: test_serve_process.py)."""

import asyncio
import json

import openai
import pytest

from hitpath.core import SettingError
from hitpath.engine.errors import EngineFailed
from hitpath.serve.server import ServerSettings, bind
from serve.fake import FakeEngine, held
from serve.running import BODY, TEXT, eventually, fake_server, in_thread


def test_a_fault_of_the_engine_reaches_all_and_ends_the_server(capfd):
    engine = FakeEngine(fails=True)
    engine.gate.clear()
    with fake_server(engine) as server:
        bodies = (BODY, {**BODY, "stream": True}, {**BODY, "prompt": ["a", "b"]})
        others = [in_thread(server, body) for body in bodies]
        eventually(lambda: len(engine.running) + len(engine.waiting) == 4, "all are in")
        engine.gate.set()
        for thread, answers in others:
            thread.join()
            status, answer, _ = answers[0]
            assert (status, answer["error"]["code"]) == (500, "engine_failed")
            assert "the model is broken" in answer["error"]["message"]
        server.join()
    assert server.code == 1
    lines = capfd.readouterr().err.splitlines()
    assert lines == ["hitpath: the engine failed: RuntimeError: the model is broken"]


def test_a_fault_while_it_drains_is_told_by_the_exit_code():
    engine = held(fails=True)
    with fake_server(engine) as server:
        running = in_thread(server)
        eventually(lambda: bool(engine.running), "it runs")
        server.stop()
        eventually(lambda: server.state.is_draining, "it drains")
        engine.gate.set()
        server.join()
        running[0].join()
        assert running[1][0][0] == 500
    assert server.code == 1


def test_a_fault_in_the_middle_of_a_stream_is_an_event():
    engine = FakeEngine(token_s=0.01)
    with fake_server(engine) as server, server.client() as client:
        stream = client.completions.create(model="tiny", prompt="x", max_tokens=500, stream=True)
        chunks = iter(stream)
        next(chunks)
        server.loop.call_soon_threadsafe(_break, engine)
        with pytest.raises(openai.APIError, match="broken"):
            list(chunks)
        server.join()
    assert server.code == 1


def _break(engine):
    for stream, task in engine.running.items():
        task.cancel()
        stream.chunks.put_nowait(EngineFailed("it is broken"))


def test_an_unforeseen_error_has_one_line_in_the_log(capfd):
    engine = FakeEngine()
    engine.resident = lambda most: 1 / 0
    with fake_server(engine) as server:
        status, answer, _ = server.ask("GET", "/v1/cache")
        assert (status, answer["error"]["code"]) == (500, "internal_error")
        assert "division" not in json.dumps(answer)
        err = capfd.readouterr().err
    (line,) = err.splitlines()
    assert "answering /v1/cache: ZeroDivisionError: division by zero" in line
    assert "test_serve_life.py" in line


def test_an_engine_that_stopped_or_failed_before_is_told():
    engine = FakeEngine()
    with fake_server(engine) as server:
        engine.stopping = True
        status, answer, _ = server.ask("POST", TEXT, BODY)
        assert (status, answer["error"]["code"]) == (503, "stopping")
        server.state.failed = "the engine failed: so it is"
        status, answer, _ = server.ask("GET", "/health")
        assert (status, answer["cause"]) == (503, "the engine failed: so it is")


def test_a_client_that_left_meanwhile_is_counted_apart(capfd):
    engine = FakeEngine()

    async def gone(most):
        raise ConnectionResetError

    engine.resident = gone
    with fake_server(engine) as server:
        assert server.ask("GET", "/v1/cache")[0] == 499
        page = server.ask("GET", "/metrics")[1]
        assert 'hitpath_http_responses_total{path="/v1/cache",status="499"} 1.0' in page
        assert capfd.readouterr().err == ""


def test_stopping_lets_requests_end_and_refuses_new_ones():
    engine = held()
    with fake_server(engine) as server:
        running = in_thread(server)
        eventually(lambda: bool(engine.running), "it runs")
        server.stop()
        eventually(lambda: server.ask("GET", "/health")[0] == 503, "it drains")
        for path in (TEXT, "/v1/chat/completions"):
            status, answer, _ = server.ask("POST", path, BODY)
            assert (status, answer["error"]["code"]) == (503, "stopping")
        assert server.ask("GET", "/v1/cache")[0] == 503
        assert server.ask("GET", "/metrics")[0] == 200
        engine.gate.set()
        running[0].join()
        assert running[1][0][0] == 200
        assert len(running[1][0][1]["choices"][0]["text"]) == 3
        server.join()
    assert server.code == 0
    with pytest.raises(ConnectionError):
        server.ask("GET", "/health")


@pytest.mark.parametrize("stream", [False, True])
def test_a_drain_that_takes_too_long_is_cut_short(stream):
    engine = held()
    with fake_server(engine, settings=ServerSettings(drain_s=0.2)) as server:
        running = in_thread(server, {**BODY, "stream": stream})
        eventually(lambda: bool(engine.running), "it runs")
        server.stop()
        running[0].join()
        status, answer, _ = running[1][0]
        assert "stopped before the answer was complete" in json.dumps(answer)
        assert status == 503
    assert server.code == 130


def test_the_second_signal_ends_at_once():
    engine = held()
    with fake_server(engine, settings=ServerSettings(drain_s=60)) as server:
        running = in_thread(server)
        eventually(lambda: bool(engine.running), "it runs")
        server.stop()
        eventually(lambda: server.state.is_draining, "it drains")
        server.stop()
        server.join()  # in less than the 60 s that a drain may take
        running[0].join()
    assert server.code == 130
    assert not server.abandoned


def test_a_step_that_does_not_end_is_not_waited_for():
    engine = held()
    with fake_server(engine, settings=ServerSettings(drain_s=60)) as server:

        async def stuck(drain=True, timeout_s=None):
            await asyncio.sleep(30)

        engine.stop = stuck
        server.stop()
        eventually(lambda: server.state.is_draining, "it drains")
        server.stop()
        server.join()
    assert server.abandoned == [130]


def test_a_port_in_use_and_places_that_are_none():
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingError, match="in use by another program"):
            bind("127.0.0.1", port)
    for host, port in (("256.0.0.1", 1), ("no such host", 1), ("127.0.0.1", 70_000), ("", -1)):
        with pytest.raises(SettingError):
            bind(host, port)

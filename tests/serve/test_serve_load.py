"""Overload, clients that leave or stand still, many at once."""

import socket
import time
from concurrent.futures import ThreadPoolExecutor

import openai
import pytest

from hitpath.serve.server import ServerSettings
from serve.fake import FakeEngine, held
from serve.running import BODY, TEXT, eventually, fake_server, in_thread, tiny_server


def test_overload_is_429_with_retry_after():
    engine = held(max_running=1, max_waiting=1)
    with fake_server(engine) as server:
        first = in_thread(server)
        eventually(lambda: len(engine.running) == 1, "one runs")
        second = in_thread(server)
        eventually(lambda: len(engine.waiting) == 1, "one waits")
        status, answer, headers = server.ask("POST", TEXT, BODY)
        assert (status, answer["error"]["code"]) == (429, "overloaded")
        assert headers["Retry-After"] == "2"  # 1.4 s, rounded up
        with server.client() as client, pytest.raises(openai.RateLimitError):
            client.completions.create(model="tiny", prompt="x", stream=True)
        engine.gate.set()
        for thread, answers in (first, second):
            thread.join()
            assert answers[0][0] == 200
        assert server.ask("POST", TEXT, BODY)[0] == 200


def test_one_prompt_too_many_takes_the_others_back():
    engine = held(max_running=1, max_waiting=3)
    with fake_server(engine) as server:
        first = in_thread(server)
        eventually(lambda: len(engine.running) == 1, "one runs")
        body = {**BODY, "prompt": ["a"] * 4}
        assert server.ask("POST", TEXT, body)[0] == 429
        assert len(engine.aborted) == 3
        assert not engine.waiting
        engine.gate.set()
        first[0].join()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("prompt", ["x" * 160, ["x" * 160, "y" * 160]], ids=["one", "two"])
@pytest.mark.parametrize("moment", ["in prefill", "in decode"])
def test_a_client_that_leaves_frees_its_blocks(stream, prompt, moment):
    engine = FakeEngine(token_s=0.005)
    if moment == "in prefill":
        engine.gate.clear()
    body = {"prompt": prompt, "max_tokens": 2000, "stream": stream}
    num = 1 if isinstance(prompt, str) else 2
    with fake_server(engine) as server:
        connection = server.raw(server.post_bytes(TEXT, body))
        eventually(lambda: len(engine.running) == num, "it runs")
        if moment == "in decode":
            time.sleep(0.05)
        used = 'hitpath_kv_blocks{state="used"}'
        assert f"{used} {num * 10}.0" in server.ask("GET", "/metrics")[1]
        connection.close()
        eventually(lambda: len(engine.aborted) == num, "it is aborted")
        assert not engine.running
        assert f"{used} 0.0" in server.ask("GET", "/metrics")[1]


def test_a_real_engine_has_its_blocks_back_when_a_client_leaves():
    running, engine = tiny_server()
    body = {"prompt": "x" * 1000, "max_tokens": 3000, "stream": True, "ignore_eos": True}
    with running as server:
        connection = server.raw(server.post_bytes(TEXT, body))
        assert connection.recv(64)
        eventually(lambda: server.ask("GET", "/v1/cache")[1]["used_blocks"] > 60, "it runs")
        connection.close()
        eventually(lambda: server.ask("GET", "/v1/cache")[1]["used_blocks"] == 0, "it is freed")
        engine.check()
    assert running.code == 0


def test_a_half_closed_connection_counts_as_left(capfd):
    engine = held()
    with fake_server(engine) as server:
        connection = server.raw(server.post_bytes(TEXT, BODY))
        eventually(lambda: bool(engine.running), "it runs")
        connection.shutdown(socket.SHUT_WR)
        eventually(lambda: bool(engine.aborted), "it is aborted")
        connection.close()
    assert "Traceback" not in capfd.readouterr().err


def test_two_hundred_at_once():
    engine = FakeEngine(max_running=50, max_waiting=200, token_s=0.001)
    with fake_server(engine) as server, ThreadPoolExecutor(50) as pool:

        def one(number):
            body = {"prompt": f"{number}", "max_tokens": 4, "stream": number % 2 == 0}
            return server.ask("POST", TEXT, body)

        answers = list(pool.map(one, range(200)))
        assert {status for status, _, _ in answers} == {200}
        ids = {a["id"] if isinstance(a, dict) else a.split('"id":"')[1][:20] for _, a, _ in answers}
        assert len(ids) == 200
        eventually(lambda: not engine.running and server.state.num_open == 0, "all is over")
        page = server.ask("GET", "/metrics")[1]
        counted = 'hitpath_http_responses_total{path="/v1/completions",status="200"} 200.0'
        assert counted in page


def test_a_reader_that_stops_reading_holds_up_nobody():
    engine = FakeEngine(max_running=4, token_s=0.0)
    with fake_server(engine, settings=ServerSettings(drain_s=1)) as server:
        body = {"prompt": "x", "max_tokens": 4000, "stream": True, "n": 20}
        slow = server.raw(server.post_bytes(TEXT, body))
        eventually(lambda: server.state.num_open == 1, "it is open")
        assert server.ask("POST", TEXT, BODY)[0] == 200
        server.stop()
        server.join()
        slow.close()


def test_a_sender_that_stops_sending_holds_up_nobody():
    with fake_server(FakeEngine()) as server:
        half = server.raw(server.post_bytes(TEXT, BODY)[:-5])
        line = server.raw(b"POST /v1/comple")
        assert server.ask("POST", TEXT, BODY)[0] == 200
        server.stop()
        server.join()
        half.close()
        line.close()
    assert server.code == 0

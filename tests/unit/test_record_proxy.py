"""The recording proxy: what passes, and what is written."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.client import HTTPConnection

import pytest

from recording import (
    CHAT,
    DONE,
    EXAMPLES,
    WAIT_S,
    FakeServer,
    Handler,
    Recorder,
    chunk,
    exchange,
    fake_server,
    proxy,
    sse,
)


@pytest.fixture
def upstream() -> Iterator[FakeServer]:
    with fake_server() as server:
        yield server


# What passes


def raw(port: int, request: bytes) -> bytes:
    """All bytes that come back until the connection closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT_S) as connection:
        connection.sendall(request)
        found = b""
        while piece := connection.recv(65536):
            found += piece
    return found


def until_close(handler: Handler) -> None:
    handler.head(200, content_type="application/json", connection="close")
    handler.wfile.write(json.dumps(DONE).encode())


def with_trailers(handler: Handler) -> None:
    handler.head(200, content_type="application/json", transfer_encoding="chunked")
    body = json.dumps(DONE).encode()
    handler.wfile.write(b"%X;a=b\r\n%s\r\n0\r\nx-sum: 1\r\n\r\n" % (len(body), body))
    handler.close_connection = True


@pytest.mark.parametrize(
    "answer",
    [
        lambda handler: handler.json(DONE),
        lambda handler: handler.json({"error": "too long"}, 400),
        lambda handler: handler.stream([*(DONE,) * 3, "[DONE]"]),
        lambda handler: handler.head(204),
        until_close,
        with_trailers,
    ],
)
def test_answers_pass_byte_for_byte(upstream, tmp_path, answer):
    upstream.answer = answer
    body = json.dumps(CHAT).encode()
    request = (b"POST /v1/chat/completions?key=q HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
               b"Accept-Encoding: zstd\r\nX-Own: 1\r\nContent-Length: %d\r\n\r\n%s")  # fmt: skip
    request %= len(body), body
    with proxy(upstream, tmp_path / "t.jsonl") as running:
        through = raw(running.port, request)
    assert through == raw(upstream.server_address[1], request)
    (path, headers, passed), (_, direct, _) = upstream.seen
    assert (path, passed) == ("/v1/chat/completions?key=q", body)
    host = f"127.0.0.1:{upstream.server_address[1]}"
    changed = {"Host": host, "Accept-Encoding": "identity"}
    assert headers == {**direct, **changed}


def test_a_stream_passes_unbuffered(upstream, tmp_path):
    came = threading.Event()

    def answer(handler: Handler) -> None:
        handler.head(200, content_type="text/event-stream", transfer_encoding="chunked")
        handler.chunk(sse(chunk("H")))
        assert came.wait(WAIT_S)  # the second event is sent when the first has arrived
        handler.chunk(sse(chunk("i")))
        handler.chunk(b"")

    upstream.answer = answer
    with proxy(upstream, tmp_path / "t.jsonl") as running:
        connection = HTTPConnection("127.0.0.1", running.port, timeout=WAIT_S)
        connection.request("POST", "/v1/chat/completions", json.dumps(CHAT))
        got = connection.getresponse()
        assert got.read(len(sse(chunk("H")))) == sse(chunk("H"))
        came.set()
        assert got.read() == sse(chunk("i"))
        connection.close()


def test_one_connection_serves_many_requests_and_a_request_in_chunks(upstream, tmp_path):
    upstream.answer = lambda handler: handler.json(DONE)
    with proxy(upstream, tmp_path / "t.jsonl", base="/base") as running:
        connection = HTTPConnection("127.0.0.1", running.port, timeout=WAIT_S)
        for i in range(3):
            body = json.dumps({**CHAT, "n": i}).encode()
            parts = iter([body[:5], body[5:]])  # http.client sends these as chunks
            connection.request("POST", "/v1/chat/completions", parts)
            assert connection.getresponse().read() == json.dumps(DONE).encode()
            assert upstream.seen[-1][2] == body
        connection.request("GET", "/v1/models")
        connection.getresponse().read()
        connection.close()
    assert [path for path, _, _ in upstream.seen] == [
        *["/base/v1/chat/completions"] * 3,
        "/base/v1/models",
    ]
    assert len(running.rows) == 3
    assert not any("session" in row for row in running.rows)
    assert "3 rows; not recorded: none" in running.said


def test_a_client_that_waits_for_100_continue_gets_it(upstream, tmp_path):
    upstream.answer = lambda handler: handler.json(DONE)
    body = json.dumps(CHAT).encode()
    with proxy(upstream, tmp_path / "t.jsonl") as running:
        address = ("127.0.0.1", running.port)
        with socket.create_connection(address, timeout=WAIT_S) as connection:
            head = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
            head += f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode())
            assert connection.recv(65536).startswith(b"HTTP/1.1 100 ")
            connection.sendall(body)
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
            while connection.recv(65536):
                pass
    assert len(running.rows) == 1


def test_a_client_that_hangs_up_ends_the_request_at_the_server(upstream, tmp_path):
    """Also where nothing is being sent: an engine aborts, as it would without the proxy."""
    ended = threading.Event()

    def answer(handler: Handler) -> None:
        handler.head(200, content_type="text/event-stream", transfer_encoding="chunked")
        handler.chunk(sse(chunk("H")))
        handler.connection.settimeout(WAIT_S)
        if handler.connection.recv(1) == b"":
            ended.set()

    upstream.answer = answer
    with proxy(upstream, tmp_path / "t.jsonl") as running:
        connection = HTTPConnection("127.0.0.1", running.port, timeout=WAIT_S)
        connection.request("POST", "/v1/chat/completions", json.dumps(CHAT))
        got = connection.getresponse()
        got.read(3)
        got.close()
        connection.close()
        assert ended.wait(WAIT_S)
    (row,) = running.rows  # the engine saw the prompt; no usage came
    assert row["messages"] == CHAT["messages"]
    assert "cached_tokens" not in row["reported"]


def test_no_server_is_a_closed_connection(upstream, tmp_path):
    upstream.shutdown()
    upstream.server_close()
    with proxy(upstream, tmp_path / "t.jsonl") as running, pytest.raises(ConnectionError):
        running.post("/v1/chat/completions", CHAT)
    assert "cannot reach 127.0.0.1" in running.said


def test_stopping_writes_what_was_cut(upstream, tmp_path):
    def answer(handler: Handler) -> None:
        handler.head(200, content_type="text/event-stream", transfer_encoding="chunked")
        handler.chunk(sse(chunk("H")))
        handler.connection.recv(1)

    upstream.answer = answer
    with proxy(upstream, tmp_path / "t.jsonl") as running:
        connection = HTTPConnection("127.0.0.1", running.port, timeout=WAIT_S)
        connection.request("POST", "/v1/chat/completions", json.dumps(CHAT))
        connection.getresponse().read(3)
    connection.close()
    assert len(running.rows) == 1
    assert running.said == "record_proxy: 1 rows; not recorded: none\n"


def test_headers_keys_and_salts_are_not_written(upstream, tmp_path):
    upstream.answer = lambda handler: handler.json(DONE)
    out = tmp_path / "t.jsonl"
    with proxy(upstream, out, "--session-header", "X-Session-Id") as running:
        body = {**CHAT, "cache_salt": "sk-salt"}
        running.post("/v1/chat/completions?key=sk-query", body, Authorization="Bearer sk-a",
                     Cookie="sk-c", **{"x-api-key": "sk-x", "X-Session-Id": "chat 7"})  # fmt: skip
    assert "sk-" not in out.read_text()
    assert "sk-" not in running.said
    assert [row["session"] for row in running.rows] == ["chat 7"]
    assert upstream.seen[0][1]["Authorization"] == "Bearer sk-a"
    assert out.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("header", ["Authorization", "x-api-key", "Cookie"])
def test_a_credential_is_no_session(tmp_path, header):
    command = [sys.executable, str(EXAMPLES / "record_proxy.py"), "--upstream", "http://127.0.0.1:1",
               "--out", str(tmp_path / "t"), "--session-header", header]  # fmt: skip
    ended = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=False)
    assert ended.returncode == 1
    assert "holds a credential" in ended.stderr


def test_whole_lines_or_nothing(tmp_path, monkeypatch, capsys):
    """A disk that fills up in the middle of a line, and an answer of no known shape."""
    out = tmp_path / "t.jsonl"
    recorder = Recorder(str(out), "text")
    real_write, rest = os.write, iter([True, False])

    def write(file: int, line: bytes) -> int:
        return real_write(file, line if next(rest) else line[:10])

    monkeypatch.setattr("os.write", write)
    for answer in (DONE, DONE, {"choices": "?"}):
        recorder.offer(exchange(CHAT, answer))
    recorder.close()
    assert [json.loads(line)["model"] for line in out.read_bytes().splitlines()] == ["m"]
    said = capsys.readouterr().err
    assert "not written: No space left on device" in said
    assert "not understood (AttributeError" in said
    assert "1 rows; not recorded: {" in said


def test_rows_are_appended_but_not_to_half_a_line(tmp_path):
    out = tmp_path / "t.jsonl"
    for _ in range(2):
        recorder = Recorder(str(out), "text")
        recorder.offer(exchange(CHAT, DONE))
        recorder.close()
    rows = [json.loads(line) for line in out.read_bytes().splitlines()]
    assert len({row["id"] for row in rows}) == 2
    out.write_bytes(out.read_bytes()[:-1])
    with pytest.raises(SystemExit, match="ends inside a line"):
        Recorder(str(out), "text")


def test_a_recorder_that_is_behind_never_holds_traffic_up(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("record_proxy.MOST_WAITING_BYTES", 100)
    hold = threading.Event()
    monkeypatch.setattr("record_proxy.row_of", lambda *_: hold.wait(WAIT_S) and {"id": "a"})
    recorder = Recorder(str(tmp_path / "t.jsonl"), "text")
    for _ in range(5):
        made = exchange(CHAT, DONE)
        made.request.size = 60
        recorder.offer(made)  # returns at once
    hold.set()
    recorder.close()
    assert recorder.num_rows == 2
    assert recorder.passed_over == {"the recorder could not keep up": 3}
    assert "could not keep up" in capsys.readouterr().err

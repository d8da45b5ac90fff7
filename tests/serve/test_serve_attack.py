"""What is no HTTP, and what is nearly HTTP: an answer or none, never a traceback."""

import contextlib
import random
import socket

import pytest

from serve.fake import FakeEngine
from serve.running import BODY, TEXT, eventually, fake_server

GARBAGE = [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 200,
    b"GET / HTTP/9.9\r\n\r\n",
    b"hello\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: x\r\n" + b"X: " + b"y" * 20_000 + b"\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 300 + b"\r\n",
    b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
    b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope",
    b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: \xff\xfe\r\n"
    b"Content-Length: 2\r\n\r\n{}",
    b"GET /v1/models/%00%ff HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /v1/cache?cache_salt=%ff%fe HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /v1/cache HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
]


def test_what_is_no_http_leaves_no_traceback(capfd):
    with fake_server(FakeEngine()) as server:
        for data in GARBAGE:
            with server.raw(data) as connection:
                connection.settimeout(0.5)
                try:
                    answer = connection.recv(65536)
                except (TimeoutError, ConnectionError):
                    answer = b""
                assert b"Traceback" not in answer
        assert server.ask("POST", TEXT, BODY)[0] == 200
        err = capfd.readouterr().err
    assert err == ""


def mutated(chance, data):
    """A request with some of its bytes changed, lost, added or repeated."""
    made = bytearray(data)
    for _ in range(chance.randrange(1, 6)):
        at, kind = chance.randrange(len(made)), chance.randrange(4)
        if kind == 0:
            made[at] = chance.randrange(256)
        elif kind == 1 and len(made) > 40:
            del made[at : at + chance.randrange(1, 20)]
        elif kind == 2:
            made[at:at] = chance.randbytes(chance.randrange(1, 9))
        else:
            made[at:at] = made[: chance.randrange(len(made))]
    return bytes(made)


@pytest.mark.parametrize("seed", range(4))
def test_broken_requests_over_the_wire(seed, capfd):
    chance = random.Random(seed)
    with fake_server(FakeEngine(max_waiting=1000)) as server:
        whole = [
            server.post_bytes(TEXT, {"prompt": "hello", "max_tokens": 2, "stream": True}),
            server.post_bytes("/v1/chat/completions", {"messages": [{"role": "user"}]}),
            b"GET /v1/cache HTTP/1.1\r\nHost: x\r\n\r\n",
        ]
        for _ in range(60):
            with server.raw(mutated(chance, chance.choice(whole))) as connection:
                connection.shutdown(socket.SHUT_WR)
                connection.settimeout(0.2)
                with contextlib.suppress(TimeoutError, ConnectionError):
                    answer = connection.recv(65536)
                    assert b"Traceback" not in answer
                    assert answer[9:12] != b"500"
        assert server.ask("POST", TEXT, BODY)[0] == 200
        eventually(lambda: server.state.num_open == 0, "all is over")
        assert capfd.readouterr().err == ""

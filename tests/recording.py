"""A fake LLM server, the recording proxy in front of it, and exchanges without either.

Answers are written by hand from the shapes of vLLM 0.32.0, SGLang 0.5.23 and the documented ones
of OpenAI and Anthropic.
"""

import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
WAIT_S = 30
"""Where something never comes, a test fails after this instead of hanging."""

sys.path.insert(0, str(EXAMPLES))
# Tests take these from here, where the path is set.
from record_proxy import Recorder as Recorder  # noqa: E402
from record_rows import Copy, Exchange  # noqa: E402
from record_rows import NotRecorded as NotRecorded  # noqa: E402
from record_rows import counts as counts  # noqa: E402
from record_rows import row_of as row_of  # noqa: E402

Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Answers as the test says."""

    protocol_version = "HTTP/1.1"
    server: "FakeServer"

    def do_POST(self) -> None:
        if "chunked" in self.headers.get("transfer-encoding", ""):
            self.body = b""
            while size := int(self.rfile.readline(), 16):
                self.body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            self.body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.server.seen.append((self.path, dict(self.headers), self.body))
        self.server.answer(self)

    do_GET = do_POST

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""

    def head(self, status: int, **headers: object) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()

    def json(self, value: object, status: int = 200) -> None:
        body = json.dumps(value).encode()
        self.head(status, content_type="application/json", content_length=len(body))
        self.wfile.write(body)

    def chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def stream(self, events: list[object]) -> None:
        self.head(200, content_type="text/event-stream; charset=utf-8", transfer_encoding="chunked")
        for event in events:
            self.chunk(sse(event))
        self.chunk(b"")


def sse(event: object) -> bytes:
    text = event if isinstance(event, str) else json.dumps(event)
    return f"data: {text}\n\n".encode()


class FakeServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 100
    answer: Answer

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[tuple[str, dict[str, str], bytes]] = []

    def handle_error(self, *_: object) -> None:
        """Clients that hang up are part of the tests."""


@contextmanager
def fake_server() -> Iterator[FakeServer]:
    server = FakeServer()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@dataclass
class Running:
    """A proxy in a process of its own."""

    port: int
    out: Path
    said: str = ""
    rows: list[dict[str, Any]] = field(default_factory=list)

    def post(self, path: str, body: object, **headers: str) -> tuple[int, bytes]:
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)) as connection:
            connection.request("POST", path, json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read()


@contextmanager
def proxy(upstream: FakeServer, out: Path, *options: str, base: str = "") -> Iterator[Running]:
    """Until the block ends; then its rows and what it said are there."""
    address = f"http://127.0.0.1:{upstream.server_address[1]}{base}"
    command = [sys.executable, str(EXAMPLES / "record_proxy.py"), "--upstream", address,
               "--listen", "127.0.0.1:0", "--out", str(out), *options]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        first = running.stderr.readline()
        found = re.search(r"listening on 127\.0\.0\.1:(\d+)", first)
        assert found, first + running.stderr.read()
        made = Running(int(found[1]), out)
        try:
            yield made
        finally:
            running.send_signal(signal.SIGTERM)
            made.said = running.communicate(timeout=WAIT_S)[1]
        assert running.returncode == 0, made.said
    made.rows = [json.loads(line) for line in out.read_bytes().splitlines()]


CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
DONE = {"object": "chat.completion", "choices": [{"index": 0, "message": {"content": "Hello"}}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 2, "total_tokens": 22,
                  "prompt_tokens_details": {"cached_tokens": 16}}}  # fmt: skip


def chunk(text: str | None = None, **more: object) -> dict[str, Any]:
    """A chunk of a chat as vLLM streams it."""
    delta = {"role": "assistant", "content": ""} if text is None else {"content": text}
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return {"object": "chat.completion.chunk", "choices": [choice], **more}


def usage_chunk(usage: dict[str, Any]) -> dict[str, Any]:
    return {"object": "chat.completion.chunk", "choices": [], "usage": usage}


def exchange(
    body: object, answer: list[object] | object, path: str = "/v1/chat/completions"
) -> Exchange:
    """An exchange whose stream came an event a second; an answer that is no list came whole."""
    made = Exchange(path, "s", 100.0, Copy(0), Copy(0), 200, "application/json", 9.0)
    made.request.pieces, made.request.times = [json.dumps(body).encode()], [0.0]
    if isinstance(answer, list):
        made.content_type = "text/event-stream; charset=utf-8"
        made.answer.pieces = [sse(event) for event in answer]
    else:
        made.answer.pieces = [json.dumps(answer).encode()]
    made.answer.times = [float(i) for i in range(len(made.answer.pieces))]
    return made


ANTHROPIC = {
    "model": "claude",
    "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
    "tools": [{"name": "ls", "input_schema": {}, "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {"role": "user", "content": "Hi"},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t", "content": [
                {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]},
            {"type": "text", "text": "Go on"}]},
    ],
}  # fmt: skip


def engine(block_size: int) -> Answer:
    """An engine with an endless cache, one token id a character, vLLM's rule of the last token."""
    known: set[str] = set()

    def answer(handler: Handler) -> None:
        body = json.loads(handler.body)
        text = "".join(f"<{m['role']}>{m['content']}" for m in body["messages"])
        blocks = [text[:end] for end in range(block_size, len(text) + 1, block_size)]
        usable = blocks[: (len(text) - 1) // block_size]
        hit = next((i for i, prefix in enumerate(usable) if prefix not in known), len(usable))
        known.update(blocks)
        usage = {"prompt_tokens": len(text), "completion_tokens": 1, "total_tokens": len(text) + 1,
                 "prompt_tokens_details": {"cached_tokens": hit * block_size}}  # fmt: skip
        first = chunk(None, prompt_token_ids=[ord(c) for c in text])
        asked = (body.get("stream_options") or {}).get("include_usage")
        told = [usage_chunk(usage)] if asked else []
        handler.stream([first, chunk("x"), *told, "[DONE]"])

    return answer


def conversation(turns: int) -> Iterator[dict[str, Any]]:
    messages = [{"role": "system", "content": "Answer in one word. " * 6}]
    for turn in range(turns):
        messages.append({"role": "user", "content": f"Question {turn}: what is a prefix cache?"})
        yield {"model": "m", "stream": True, "stream_options": {"include_usage": True},
               "messages": list(messages)}  # fmt: skip
        messages.append({"role": "assistant", "content": "x"})

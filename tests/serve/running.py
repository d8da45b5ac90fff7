"""A server in a thread of this process, as `hitpath serve` runs it, and ways to talk to it."""

import asyncio
import http.client
import json
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import openai

from hitpath.engine.async_engine import AsyncEngine
from hitpath.engine.engine import Engine
from hitpath.engine.events import Record
from hitpath.engine.load import tiny_engine
from hitpath.engine.settings import EngineSettings
from hitpath.serve.metrics import Metrics
from hitpath.serve.server import Server, ServerSettings, bind
from hitpath.serve.state import ModelFacts, ServerState
from hitpath.text.tokenizer import ByteTokenizer, TextTokenizer
from serve.fake import FakeEngine

FACTS = ModelFacts("tiny", 4096, 4, created=1_700_000_000)
SETTINGS = EngineSettings(num_blocks=512, max_model_len=4096, num_threads=1)


class Running:
    """Use in a `with`; `code` is the exit code afterwards."""

    def __init__(
        self,
        make: Callable[[], Any],
        tokenizer: TextTokenizer,
        metrics: Metrics | None = None,
        settings: ServerSettings | None = None,
        facts: ModelFacts = FACTS,
    ) -> None:
        self.make = make
        self.tokenizer = tokenizer
        self.metrics = metrics or Metrics()
        self.settings = settings or ServerSettings(drain_s=5.0)
        self.facts = facts
        self.code: int | None = None
        self.abandoned: list[int] = []
        self._bound = bind("127.0.0.1", 0)
        self._ready: queue.Queue[str | BaseException] = queue.Queue()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Running":
        self._thread.start()
        found = self._ready.get(timeout=30)
        if isinstance(found, BaseException):
            raise found
        self.url = found
        self.port = int(found.rsplit(":", 1)[1])
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        self.join()
        self._bound.close()

    def _run(self) -> None:
        async def serve() -> int:
            self.loop = asyncio.get_running_loop()
            self.state = ServerState(self.make(), self.facts, self.tokenizer, self.metrics)
            self.server = Server(self.state, self._bound, self.settings, self.abandoned.append)
            return await self.server.run(self._ready.put, handle_signals=False)

        try:
            self.code = asyncio.run(serve())
        except BaseException as error:
            self._ready.put(error)
            raise

    def stop(self) -> None:
        """What a signal does."""
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self.server.asked_to_stop)

    def join(self, timeout_s: float = 15.0) -> None:
        self._thread.join(timeout_s)
        assert not self._thread.is_alive(), "the server does not end"

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any, dict[str, str]]:
        """(status, JSON or text, headers); a `body` of bytes is sent as it stands."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        sent = {"Content-Type": "application/json", **(headers or {})}
        try:
            data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
            connection.request(method, path, data, sent)
            response = connection.getresponse()
            raw, found = response.read(), dict(response.getheaders())
        finally:
            connection.close()
        is_json = found.get("Content-Type", "").startswith("application/json")
        return response.status, json.loads(raw) if is_json else raw.decode(), found

    @contextmanager
    def client(self, **options: Any) -> Iterator[openai.OpenAI]:
        """The official client, without retries."""
        given = {"max_retries": 0, **options}
        with openai.OpenAI(base_url=f"{self.url}/v1", api_key="none", **given) as client:
            yield client

    def raw(self, data: bytes) -> socket.socket:
        """A connection on which these bytes have been sent."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=15)
        connection.sendall(data)
        return connection

    def post_bytes(self, path: str, body: Any) -> bytes:
        """A request as it goes over the wire."""
        data = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        return f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data


def fake_server(engine: FakeEngine, **options: Any) -> Running:
    return Running(lambda: engine, ByteTokenizer(), **options)


def tiny_server(
    settings: EngineSettings = SETTINGS,
    observe: Callable[[Record], None] | None = None,
    **options: Any,
) -> tuple[Running, Engine]:
    """A server on the small random model; `observe` gets the records besides its metrics."""
    metrics = Metrics()

    def both(record: Record) -> None:
        metrics.observe(record)
        if observe is not None:
            observe(record)

    engine = tiny_engine(settings, both)
    assert engine.tokenizer is not None
    facts = ModelFacts("tiny", engine.max_model_len, settings.max_waiting, 1_700_000_000)
    return Running(
        lambda: AsyncEngine(engine), engine.tokenizer, metrics, facts=facts, **options
    ), engine


def eventually(holds: Callable[[], bool], what: str, timeout_s: float = 5.0) -> None:
    """Fails where it does not come true in time."""
    until = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < until, f"never: {what}"
        time.sleep(0.005)


TEXT = "/v1/completions"
BODY = {"prompt": "x" * 160, "max_tokens": 3}


def in_thread(
    server: Running, body: Any = BODY
) -> tuple[threading.Thread, list[tuple[int, Any, dict[str, str]]]]:
    """A completion in the background; its answer comes in the list."""
    answers: list[tuple[int, Any, dict[str, str]]] = []
    thread = threading.Thread(target=lambda: answers.append(server.ask("POST", TEXT, body)))
    thread.start()
    return thread, answers

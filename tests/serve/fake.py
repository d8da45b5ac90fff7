"""An engine that answers with letters: for overload, faults and cancelling, which a real model
makes hard to time. It lives in the event loop, and counts its blocks."""

import asyncio
import threading
from dataclasses import dataclass, field
from typing import Any

from hitpath.engine.errors import (
    ContextTooLong,
    EngineFailed,
    EngineStopped,
    Overloaded,
    RequestError,
)
from hitpath.engine.records import Chunk, Finish, GenerationRequest, Timings, Usage

BLOCK = 16
VOCABULARY = 256


@dataclass
class FakeStats:
    num_running: int
    num_waiting: int
    free_blocks: int
    used_blocks: int
    cached_blocks: int = 0
    block_size: int = BLOCK
    kv_bytes_per_token: int = 2

    @property
    def total_blocks(self) -> int:
        return self.free_blocks + self.used_blocks + self.cached_blocks


class FakeStream:
    def __init__(self, engine: "FakeEngine", request: GenerationRequest) -> None:
        self.request = request
        self.engine = engine
        self.chunks: asyncio.Queue[Chunk | Exception] = asyncio.Queue()
        self.left = request.params.n
        self.blocks = -(-len(request.tokens) // BLOCK)

    def __aiter__(self) -> "FakeStream":
        return self

    async def __anext__(self) -> Chunk:
        if not self.left:
            raise StopAsyncIteration
        chunk = await self.chunks.get()
        if isinstance(chunk, Exception):
            self.left = 0
            raise chunk
        self.left -= chunk.finish is not None
        return chunk

    def close(self) -> None:
        if self.engine.forget(self):
            self.engine.aborted.append(self.request.request_id)


@dataclass
class FakeEngine:
    """`gate` closed: admitted requests stay in their prefill. `fails`: at the first token."""

    max_waiting: int = 4
    max_running: int = 2
    context: int = 4096
    token_s: float = 0.0
    fails: bool = False
    total_blocks: int = 10_000
    gate: threading.Event = field(default_factory=threading.Event)
    aborted: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.waiting: list[FakeStream] = []
        self.running: dict[FakeStream, asyncio.Task[None]] = {}
        self.stopping = False
        self.failure: EngineFailed | None = None
        self.gate.set()

    async def start(self) -> None:
        self.loop = asyncio.get_running_loop()

    async def open(self, request: GenerationRequest) -> FakeStream:
        if self.failure:
            raise self.failure
        if self.stopping:
            raise EngineStopped
        num_prompt = len(request.tokens)
        if request.tokens.max() >= VOCABULARY:
            raise RequestError("prompt", "token id is too large")
        if num_prompt + (request.params.max_tokens or 1) > self.context:
            raise ContextTooLong("prompt", num_prompt, self.context)
        if len(self.waiting) >= self.max_waiting:
            raise Overloaded(len(self.waiting), 1.4)
        stream = FakeStream(self, request)
        self.waiting.append(stream)
        self.admit()
        return stream

    def admit(self) -> None:
        while self.waiting and len(self.running) < self.max_running:
            stream = self.waiting.pop(0)
            self.running[stream] = asyncio.create_task(self.run(stream))

    def forget(self, stream: FakeStream) -> bool:
        """False where it has ended already."""
        if stream in self.waiting:
            self.waiting.remove(stream)
            return True
        task = self.running.pop(stream, None)
        if task is None:
            return False
        task.cancel()
        self.admit()
        return True

    async def run(self, stream: FakeStream) -> None:
        request, params = stream.request, stream.request.params
        while not self.gate.is_set():
            await asyncio.sleep(0.002)
        if self.fails:
            self.failure = EngineFailed("RuntimeError: the model is broken")
            for other in [*self.running, *self.waiting]:
                other.chunks.put_nowait(self.failure)
            self.running.clear()
            self.waiting.clear()
            return
        num_out = params.max_tokens or self.context - len(request.tokens)
        for at in range(num_out):
            await asyncio.sleep(self.token_s)
            for choice in range(params.n):
                self.put(stream, choice, at, "length" if at == num_out - 1 else None)
        del self.running[stream]
        self.admit()

    def put(self, stream: FakeStream, choice: int, at: int, reason: str | None) -> None:
        letter = chr(97 + (at + choice) % 26)
        usage = Usage(len(stream.request.tokens), 0, at + 1)
        timings = Timings(0.25, stream.request.tokenise_s, 0.5, 1.0, 2.0)
        finish = Finish(reason, None, usage, timings) if reason else None
        chunk = Chunk(stream.request.request_id, choice, letter, (ord(letter),), finish=finish)
        stream.chunks.put_nowait(chunk)

    async def clear_cache(self) -> int:
        return 0

    async def resident(self, most: int) -> list[object]:
        return []

    async def stats(self) -> FakeStats:
        used = sum(stream.blocks for stream in self.running)
        return FakeStats(len(self.running), len(self.waiting), self.total_blocks - used, used)

    async def stop(self, drain: bool = True, timeout_s: float | None = None) -> None:
        self.stopping = True
        until = self.loop.time() + (timeout_s or 0)
        while drain and (self.running or self.waiting) and self.loop.time() < until:
            await asyncio.sleep(0.002)
        for stream in [*self.running, *self.waiting]:
            self.forget(stream)
            for choice in range(stream.request.params.n):
                self.put(stream, choice, 0, "abort")


def held(**options: Any) -> FakeEngine:
    """An engine whose requests stay in their prefill until its gate is set."""
    engine = FakeEngine(**options)
    engine.gate.clear()
    return engine

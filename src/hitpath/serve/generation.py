"""Running the requests of one call: their chunks in one stream, and what they add up to."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from hitpath.engine.records import Chunk, Finish, GenerationRequest, TokenLogprobs
from hitpath.serve.problems import Problem

if TYPE_CHECKING:
    from hitpath.engine.cache import ResidentPrefix
    from hitpath.engine.stats import EngineStats


class OpenStream(Protocol):
    """The chunks of one request, up to the Finish of its last choice."""

    def __aiter__(self) -> "OpenStream": ...

    async def __anext__(self) -> Chunk: ...

    def close(self) -> None:
        """A request that still runs is aborted."""


class Served(Protocol):
    """What the server needs of an engine: a part of AsyncEngine (engine/async_engine.py)."""

    async def open(self, request: GenerationRequest) -> OpenStream:
        """Submits it. Raises EngineError before anything is computed."""

    async def clear_cache(self) -> int:
        """Forgets what is cached: how many tokens that were."""

    async def stats(self) -> "EngineStats":
        """Sums, and what stands now."""

    async def resident(self, most: int) -> "Sequence[ResidentPrefix]":
        """What is cached, by prefix, the longest first."""

    async def start(self) -> None:
        """Begins to take requests."""

    async def stop(self, drain: bool = True, timeout_s: float | None = None) -> None:
        """Takes no more; with `drain`, what runs ends first, up to `timeout_s`."""


@dataclass(slots=True, eq=False)
class Gathered:
    """One choice as its chunks come in."""

    texts: list[str] = field(default_factory=list)
    token_ids: list[int] = field(default_factory=list)
    logprobs: list[TokenLogprobs] = field(default_factory=list)
    prompt_logprobs: tuple[TokenLogprobs | None, ...] | None = None
    finish: Finish | None = None

    def add(self, chunk: Chunk) -> None:
        """Takes a chunk of this choice."""
        self.texts.append(chunk.text)
        self.token_ids += chunk.token_ids
        self.logprobs += chunk.logprobs or ()
        if chunk.prompt_logprobs is not None:
            self.prompt_logprobs = chunk.prompt_logprobs
        self.finish = chunk.finish or self.finish


@dataclass(slots=True, eq=False)
class Totals:
    """Finishes of all prompts and choices of one call, [prompt][choice]."""

    finishes: list[list[Finish | None]]

    @classmethod
    def awaited(cls, num_prompts: int, num_choices: int) -> "Totals":
        """Nothing has finished yet."""
        return cls([[None] * num_choices for _ in range(num_prompts)])

    def add(self, at: int, chunk: Chunk) -> bool:
        """Takes a chunk of prompt `at`; whether all is over now. Raises Problem where the server
        cut the choice short."""
        if chunk.finish is None:
            return False
        if chunk.finish.reason == "abort":
            message = "the server stopped before the answer was complete"
            raise Problem(503, message, "aborted", None, "service_unavailable_error")
        self.finishes[at][chunk.choice] = chunk.finish
        return all(one is not None for row in self.finishes for one in row)


@asynccontextmanager
async def running(
    served: Served, requests: Sequence[GenerationRequest]
) -> AsyncIterator[AsyncIterator[tuple[int, Chunk]]]:
    """Submit all; inside, (which request, its chunk) as they come. Leaving aborts what still runs.
    Raises what the engine raises."""
    streams: list[OpenStream] = []
    try:
        for request in requests:
            streams.append(await served.open(request))
        async with aclosing(_merged(streams)) as chunks:
            yield chunks
    finally:
        for stream in streams:
            stream.close()


async def _merged(streams: Sequence[OpenStream]) -> AsyncGenerator[tuple[int, Chunk], None]:
    if len(streams) == 1:
        async for chunk in streams[0]:
            yield 0, chunk
        return
    queue: asyncio.Queue[tuple[int, Chunk | Exception | None]] = asyncio.Queue()

    async def pump(at: int, stream: OpenStream) -> None:
        try:
            async for chunk in stream:
                queue.put_nowait((at, chunk))
            queue.put_nowait((at, None))
        except Exception as error:
            queue.put_nowait((at, error))

    tasks = [asyncio.create_task(pump(at, one)) for at, one in enumerate(streams)]
    try:
        left = len(tasks)
        while left:
            at, item = await queue.get()
            if isinstance(item, Exception):
                raise item
            if item is None:
                left -= 1
            else:
                yield at, item
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

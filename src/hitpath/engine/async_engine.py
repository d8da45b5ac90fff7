"""An engine in a thread of its own, for asyncio: open a stream, read chunks, leave when you like.

The thread alone touches the engine; everything else is a command in its queue, run between two
steps. So an aborted request has given its blocks back before the next step starts. A step that
raises ends the engine: every open stream gets EngineFailed, and so does whoever comes later.
"""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Self, TypeVar

from hitpath.engine.cache import ResidentPrefix
from hitpath.engine.engine import Engine
from hitpath.engine.errors import EngineFailed, EngineStopped
from hitpath.engine.records import Chunk, GenerationRequest
from hitpath.engine.stats import EngineStats

T = TypeVar("T")
_Command = Callable[[], None]


class Stream:
    """The chunks of one request, up to the Finish of its last choice (see AsyncEngine.open)."""

    def __init__(self, owner: "AsyncEngine", request: GenerationRequest) -> None:
        self.request = request
        self._owner = owner
        self._chunks: asyncio.Queue[Chunk | EngineFailed] = asyncio.Queue()
        self._num_open = request.params.n
        self._num_coming = request.params.n

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Chunk:
        if not self._num_open:
            raise StopAsyncIteration
        chunk = await self._chunks.get()
        if isinstance(chunk, EngineFailed):
            self._num_open = 0
            raise chunk
        if chunk.finish is not None:
            self._num_open -= 1
        return chunk

    def close(self) -> None:
        """No more of it: a request that still runs is aborted. May be called twice."""
        if self._num_open:
            self._num_open = 0
            self._owner.forget(self.request.request_id)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        self.close()

    def deliver(self, chunk: Chunk | EngineFailed) -> None:
        """Called on the event loop by the owner."""
        self._chunks.put_nowait(chunk)
        if isinstance(chunk, EngineFailed) or chunk.finish is not None:
            self._num_coming -= 1

    @property
    def is_delivered(self) -> bool:
        """Whether the last chunk of the last choice has been delivered (read or not)."""
        return self._num_coming <= 0


class AsyncEngine:
    """Use as `async with AsyncEngine(engine) as served`, from one event loop."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._commands: SimpleQueue[_Command | None] = SimpleQueue()
        self._streams: dict[str, Stream] = {}
        self._calls: set[asyncio.Future[Any]] = set()
        self._empty = asyncio.Event()
        self._empty.set()
        self._num_opening = 0
        self._stopping = False
        self._failure: EngineFailed | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="hitpath-engine", daemon=True)

    async def start(self) -> None:
        """Start the thread; once."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    async def stop(self, drain: bool = True, timeout_s: float | None = None) -> None:
        """Take no more requests; let those that run end, for `timeout_s` at most; then end the
        thread. Without `drain` they are aborted now (their streams get Finish("abort"))."""
        self._stopping = True
        if drain and self._failure is None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._empty.wait(), timeout_s)
        for request_id in list(self._streams):
            self._commands.put(self._aborter(request_id, tell=True))
        self._commands.put(None)
        await asyncio.to_thread(self._thread.join)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop(drain=error is None)

    async def open(self, request: GenerationRequest) -> Stream:
        """Submit a request. Raises RequestError, ContextTooLong, Overloaded, EngineStopped or
        EngineFailed before anything is computed. Close the stream (or use it in `async with`):
        closing early aborts the request."""
        if self._stopping:
            raise EngineStopped
        stream = Stream(self, request)
        self._num_opening += 1
        self._empty.clear()
        try:
            await self._call(lambda: self.engine.submit(request), self._register, stream)
        finally:
            self._num_opening -= 1
            self._note_empty()
        return stream

    async def stream(self, request: GenerationRequest) -> AsyncIterator[Chunk]:
        """`open`, chunk by chunk; leaving the loop, or cancelling its task, aborts the request."""
        stream = await self.open(request)
        try:
            async for chunk in stream:
                yield chunk
        finally:
            stream.close()

    async def abort(self, request_id: str) -> bool:
        """End a request; its stream gets Finish("abort"). False where there is none."""
        return await self._call(lambda: self.engine.abort(request_id))

    async def clear_cache(self) -> int:
        return await self._call(self.engine.clear_cache)

    async def stats(self) -> EngineStats:
        return await self._call(self.engine.stats)

    async def resident(self, most: int = 100) -> list[ResidentPrefix]:
        return await self._call(lambda: self.engine.resident(most))

    def forget(self, request_id: str) -> None:
        """Nobody reads this request any more."""
        if self._drop(request_id):
            self._commands.put(self._aborter(request_id, tell=False))

    # ---- on the event loop

    def _call(
        self, function: Callable[[], T], settle: Callable[..., None] | None = None, *given: Any
    ) -> "asyncio.Future[T]":
        """Run a function in the thread; `settle(future, value, *given)` on the loop after it."""
        assert self._loop is not None, "not started"
        if self._failure is not None:
            raise self._failure
        result: asyncio.Future[T] = self._loop.create_future()
        self._calls.add(result)
        result.add_done_callback(self._calls.discard)

        def command() -> None:
            try:
                value = function()
            except Exception as error:
                self._tell(_set_error, result, error)
            else:
                self._tell(settle or _set_value, result, value, *given)

        self._commands.put(command)
        return result

    def _register(self, opened: "asyncio.Future[None]", value: None, stream: Stream) -> None:
        """After the submission, and after every chunk of an earlier request of this name."""
        if opened.cancelled():
            self._commands.put(self._aborter(stream.request.request_id, tell=False))
        else:
            self._streams[stream.request.request_id] = stream
            _set_value(opened, value)

    def _aborter(self, request_id: str, tell: bool) -> _Command:
        def command() -> None:
            self.engine.abort(request_id, tell)

        return command

    def _deliver(self, chunks: list[Chunk]) -> None:
        for chunk in chunks:
            stream = self._streams.get(chunk.request_id)
            if stream is not None:
                stream.deliver(chunk)
        for request_id in {chunk.request_id for chunk in chunks if chunk.finish is not None}:
            stream = self._streams.get(request_id)
            if stream is not None and stream.is_delivered:
                self._drop(request_id)

    def _drop(self, request_id: str) -> bool:
        found = self._streams.pop(request_id, None)
        self._note_empty()
        return found is not None

    def _note_empty(self) -> None:
        if not self._streams and not self._num_opening:
            self._empty.set()

    def _fail(self, failure: EngineFailed) -> None:
        self._failure = failure
        for call in list(self._calls):
            _set_error(call, failure)
        for request_id, stream in list(self._streams.items()):
            stream.deliver(failure)
            self._drop(request_id)

    # ---- in the thread

    def _tell(self, function: Callable[..., None], *arguments: Any) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(function, *arguments)

    def _run(self) -> None:
        try:
            while self._obey():
                chunks = self.engine.step()
                if chunks:
                    self._tell(self._deliver, chunks)
        except Exception as error:
            failure = EngineFailed(" ".join(f"{type(error).__name__}: {error}".split()))
            self._tell(self._fail, failure)

    def _obey(self) -> bool:
        """Run what is in the queue; wait for something while there is no work. False: stop."""
        while True:
            try:
                command = self._commands.get(block=not self.engine.has_work)
            except Empty:
                return True
            if command is None:
                if self.engine.has_work:  # the last chunks of what was aborted
                    self._tell(self._deliver, self.engine.step())
                return False
            command()


def _set_value(future: "asyncio.Future[T]", value: T) -> None:
    if not future.done():
        future.set_result(value)


def _set_error(future: "asyncio.Future[Any]", error: Exception) -> None:
    if not future.done():
        future.set_exception(error)

"""A stream of server-sent events: OpenAI's chunks, the last with usage and timings, `[DONE]`."""

from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec
from aiohttp import web

from hitpath.engine.records import Chunk
from hitpath.serve.answers import Shape, timings_of, usage_of
from hitpath.serve.generation import Totals
from hitpath.serve.problems import Problem

_HEADERS = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}


@dataclass(frozen=True, slots=True)
class StreamPlan:
    """How one stream is written. head: what every chunk has beside its choices. usage_apart: sums
    come in one more chunk without choices, as `stream_options.include_usage` asks for."""

    shape: Shape
    head: dict[str, Any]
    num_choices: int
    usage_apart: bool
    count_output: bool
    headers: dict[str, str]
    told: Callable[[Exception], Problem]


async def stream_answer(
    request: web.Request, plan: StreamPlan, totals: Totals, chunks: AsyncIterator[tuple[int, Chunk]]
) -> web.StreamResponse:
    """Write all chunks. Nothing is sent before the first one, so that the first event is the first
    token; what goes wrong until then is raised, later it is one `error` event."""
    first = await anext(chunks)
    beginning = _openings(plan, totals) + _event(plan, totals, *first)
    response = web.StreamResponse(headers={**_HEADERS, **plan.headers})
    await response.prepare(request)
    with suppress(ConnectionError):  # the client has gone: there is nobody to tell
        try:
            await response.write(beginning)
            async for at, chunk in chunks:
                if data := _event(plan, totals, at, chunk):
                    await response.write(data)
        except ConnectionError:
            raise
        except Exception as error:
            await response.write(_encode(plan.told(error).body))
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
    return response


def _openings(plan: StreamPlan, totals: Totals) -> bytes:
    indexes = range(len(totals.finishes) * plan.num_choices)
    openings = [plan.shape.opening(index) for index in indexes]
    return b"".join(_encode({**plan.head, "choices": [one]}) for one in openings if one is not None)


def _event(plan: StreamPlan, totals: Totals, at: int, chunk: Chunk) -> bytes:
    """The events of one chunk; b"" where it has nothing to show yet. Raises Problem."""
    is_last = totals.add(at, chunk)
    part = plan.shape.part(at * plan.num_choices + chunk.choice, chunk)
    if part is None:
        return b""
    beside = plan.shape.beside(chunk.prompt_logprobs)
    event = {**plan.head, "choices": [part], **beside}
    if not is_last:
        return _encode(event)
    sums = {"usage": usage_of(totals, plan.count_output), "timings": timings_of(totals)}
    if not plan.usage_apart:
        return _encode({**event, **sums})
    return _encode(event) + _encode({**plan.head, "choices": [], **sums})


def _encode(event: dict[str, Any]) -> bytes:
    return b"data: " + msgspec.json.encode(event) + b"\n\n"

"""Calling a prompt builder: plain, async, generators of both kinds, context managers."""

import asyncio
import inspect
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from contextvars import copy_context
from typing import Any


def result_of(build: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What it builds; what it raises passes. Pieces of text are joined."""
    made = build(*args, **kwargs)
    is_async = isinstance(made, AbstractAsyncContextManager)
    if inspect.isawaitable(made) or inspect.isasyncgen(made) or is_async:
        made = _awaited(made)
    if isinstance(made, AbstractContextManager):
        with made as entered:
            return _whole(entered)
    return _whole(made)


def _whole(made: Any) -> Any:
    is_named = isinstance(made, tuple) and hasattr(made, "_asdict")
    if inspect.isgenerator(made) or (isinstance(made, list | tuple) and not is_named):
        return _joined(made)
    return made


def _joined(pieces: Iterable[Any]) -> Any:
    found = list(pieces)
    is_text = found and all(isinstance(piece, str) for piece in found)
    return "".join(found) if is_text else found


def _awaited(made: Any) -> Any:
    async def wait() -> Any:
        if inspect.isasyncgen(made):
            return [piece async for piece in made]
        if isinstance(made, AbstractAsyncContextManager):
            async with made as entered:
                return entered
        return await made

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(wait())
    context = copy_context()  # what the caller's context variables hold is read there too
    with ThreadPoolExecutor(1) as thread:  # a loop runs here already: another one, beside it
        return thread.submit(context.run, asyncio.run, wait()).result()

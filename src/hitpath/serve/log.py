"""Lines on standard error. A fault of ours gets one line with its place, never a traceback."""

import asyncio
import logging
import sys
import traceback
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from hitpath.core import one_line


def say(text: str) -> None:
    """A line for whoever started the server."""
    if sys.stderr is not None:
        print(f"hitpath: {text}", file=sys.stderr, flush=True)


def fault_line(error: BaseException, doing: str) -> str:
    """What went wrong, while doing what, and where in the program."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return one_line(f"{doing}: {type(error).__name__}: {error}{place}")


class OneLine(logging.Handler):
    """The web library's own complaints: broken requests and clients that leave are worth no line,
    what the library could not handle gets one."""

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            say(one_line(record.getMessage()))
        elif not isinstance(error, web.RequestPayloadError | HttpProcessingError | ConnectionError):
            say(fault_line(error, record.getMessage()))


def web_logger() -> logging.Logger:
    """For aiohttp: nothing is propagated, so that no other handler prints tracebacks."""
    logger = logging.Logger("hitpath.serve", logging.WARNING)
    logger.addHandler(OneLine())
    return logger


class LoopFaults:
    """What the event loop could not give to anybody (no more file descriptors, say). It may say so
    a thousand times a second, so the same line is not repeated within `quiet_s`."""

    def __init__(self, quiet_s: float = 10.0) -> None:
        self._quiet_s = quiet_s
        self._last, self._until_s = "", 0.0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error, doing = context.get("exception"), str(context.get("message"))
        line = one_line(doing) if error is None else fault_line(error, doing)
        if line == self._last and loop.time() < self._until_s:
            return
        self._last, self._until_s = line, loop.time() + self._quiet_s
        say(line)

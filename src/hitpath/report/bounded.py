"""A function in a process of its own, with bounds on processor time and memory: for the programs of
strangers (chat templates), which may take any."""

import multiprocessing
import resource
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from hitpath.core import HitpathError, SettingError

T = TypeVar("T")
SECONDS = 60
MEMORY_BYTES = 8 << 30
"""Of address space, of which libraries take their share."""


def bounded(
    option: str,
    function: Callable[..., T],
    *arguments: Any,
    seconds: int = SECONDS,
    memory_bytes: int = MEMORY_BYTES,
) -> T:
    """What the function returns; it, its arguments and its result can be pickled. option: whose
    value it works on. Raises SettingError where it takes more than the bounds, and whatever
    HitpathError the function raises."""
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    call = (send, function, arguments, seconds, memory_bytes)
    process = context.Process(target=_child, args=call, daemon=True)
    process.start()
    send.close()
    try:
        error, answer = receive.recv()
    except EOFError:
        process.join()
        if process.exitcode == 1:  # Python's own end on an error that is no bound
            raise RuntimeError(f"{option}: the process that worked on it failed") from None
        cause = f"takes more than {seconds} s of processor or {memory_bytes >> 30} GiB of memory"
        raise SettingError(option, cause) from None
    finally:
        process.kill()
        process.join()
        receive.close()
    if error is not None:
        raise error(**answer)
    found: T = answer
    return found


def _child(
    send: Connection,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    seconds: int,
    memory_bytes: int,
) -> None:
    """Send (None, result), or (class, fields) of a HitpathError; nothing where a bound is hit."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is told, and ends this process
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        send.send((None, function(*arguments)))
    except HitpathError as error:
        send.send((type(error), vars(error)))
    except MemoryError:
        pass

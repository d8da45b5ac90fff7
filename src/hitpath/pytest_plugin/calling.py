"""Calling a prompt builder: plain, async, generators of both kinds; in a process of its own."""

import asyncio
import inspect
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

_CHILD = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from hitpath.pytest_plugin.child import main; main()"
)


class BuilderFailed(RuntimeError):
    """The builder raised in a process of its own; its traceback is the message."""


class NoChild(Exception):
    """Why a builder cannot be called in a process of its own."""


def result_of(build: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What it builds; what it raises passes. Pieces of text are joined."""
    made = build(*args, **kwargs)
    if inspect.isawaitable(made) or inspect.isasyncgen(made):
        made = _awaited(made)
    if inspect.isgenerator(made) or isinstance(made, list | tuple):
        made = _joined(made)
    return made


def _joined(pieces: Iterable[Any]) -> Any:
    found = list(pieces)
    is_text = found and all(isinstance(piece, str) for piece in found)
    return "".join(found) if is_text else found


def _awaited(made: Any) -> Any:
    async def wait() -> Any:
        if inspect.isasyncgen(made):
            return [piece async for piece in made]
        return await made

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(wait())
    with ThreadPoolExecutor(1) as thread:  # a loop runs here already: another one, beside it
        return thread.submit(asyncio.run, wait()).result()


def result_in_child(
    build: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    hash_seed: int,
    timeout_s: float,
) -> Any:
    """What it builds in a new Python whose strings hash by this seed. Raises NoChild where it
    cannot be named or sent there, BuilderFailed with its traceback."""
    module, name = _importable(build)
    try:
        call = pickle.dumps((module, _file_of(build), name, args, kwargs))
    except Exception as error:  # pickle raises what the objects raise
        raise NoChild(f"its arguments cannot be pickled: {error}") from error
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    try:
        done = subprocess.run(
            [sys.executable, "-c", _CHILD],
            input=pickle.dumps(sys.path) + call,
            env=environment,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NoChild(f"it took longer than {timeout_s:g} s in a process of its own") from error
    if done.returncode:
        told = done.stderr.decode("utf-8", "replace")[-2000:].strip()
        raise NoChild(f"its process ended with {done.returncode}: {told}")
    outcome, value = pickle.loads(done.stdout[done.stdout.rindex(b"\0hitpath\0") + 9 :])
    if outcome == "raised":
        raise BuilderFailed(value)
    if outcome == "no":
        raise NoChild(value)
    return value


def _importable(build: Callable[..., Any]) -> tuple[str, str]:
    """(module, qualified name). Raises NoChild."""
    module, name = getattr(build, "__module__", None), getattr(build, "__qualname__", None)
    if not module or not name:
        raise NoChild("it has no name to import it by")
    if "<" in name:
        raise NoChild("it is defined within a function, so no other process can import it")
    if module == "__main__":
        raise NoChild("it is defined in __main__, so no other process can import it")
    return module, name


def _file_of(build: Callable[..., Any]) -> str | None:
    try:
        return inspect.getsourcefile(inspect.unwrap(build))
    except TypeError:
        return None

"""Calls of a builder in new Pythons, side by side: what is read at import, kept in a cache, or
depends on hashes, addresses and process numbers shows only there."""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from types import FunctionType
from typing import Any

from hitpath.pytest_plugin.worlds import World

_CHILD = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from hitpath.pytest_plugin.child import main; main()"
)
_MARK = b"\0hitpath\0"
_AT_ONCE = 8
ANOTHER_PROCESS = World(
    "in another process",
    seed=None,
    kind="random_sample",
    fix="write nothing that only this process knows: addresses, numbers of processes, what was "
    "drawn or read at import",
)


class BuilderFailed(RuntimeError):
    """The builder raised in a process of its own; its traceback is the message."""


class NoChild(Exception):
    """Why a builder cannot be called in a process of its own."""


@dataclass(frozen=True, slots=True)
class Process:
    """hash_seed: PYTHONHASHSEED. world: entered before anything is imported. num_objects: made
    first, so that later ones have other addresses."""

    hash_seed: int
    world: World = field(default_factory=lambda: ANOTHER_PROCESS)
    num_objects: int = 0


@dataclass(frozen=True, slots=True)
class Told:
    """What a process built, and the numbers that it has itself (process, threads)."""

    prompt: Any
    ids: tuple[int, ...]


class Call:
    """A call that can be sent. Raises NoChild where it cannot."""

    def __init__(
        self, build: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        _refuse_unnamed(build)
        self._modules: dict[str, str | None] = {}
        written = BytesIO()
        try:
            _Writer(written, self._modules).dump((build, args, kwargs))
        except Exception as error:  # pickle raises what the objects raise
            raise NoChild(f"its arguments cannot be pickled: {error}") from error
        if "__main__" in self._modules:
            raise NoChild("it is defined in __main__, so no other process can import it")
        self._call = written.getvalue()

    def in_processes(
        self, wanted: Sequence[Process], timeout_s: float
    ) -> list["Told | BuilderFailed | NoChild"]:
        """What each of them built, or why it did not."""
        at_once = min(_AT_ONCE, os.cpu_count() or 1)
        with ThreadPoolExecutor(at_once) as threads:
            return list(threads.map(lambda one: self._outcome(one, timeout_s), wanted))

    def _outcome(self, process: Process, timeout_s: float) -> "Told | BuilderFailed | NoChild":
        try:
            return self.in_process(process, timeout_s)
        except (BuilderFailed, NoChild) as error:
            return error

    def in_process(self, process: Process, timeout_s: float) -> Told:
        """What one built. Raises NoChild, or BuilderFailed with its traceback."""
        path = [os.path.abspath(one) for one in sys.path]
        settings = (list(self._modules.items()), process.world, process.num_objects)
        try:
            done = subprocess.run(
                [sys.executable, "-c", _CHILD],
                input=pickle.dumps(path) + pickle.dumps(settings) + self._call,
                env={**os.environ, "PYTHONHASHSEED": str(process.hash_seed)},
                capture_output=True,
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            told = f"it took longer than {timeout_s:g} s in a process of its own"
            raise NoChild(told) from error
        if done.returncode or _MARK not in done.stdout:
            told = done.stderr.decode("utf-8", "replace")[-2000:].strip()
            raise NoChild(f"its process ended with {done.returncode}: {told}")
        begin = done.stdout.rindex(_MARK) + len(_MARK)
        outcome, value, ids = pickle.loads(done.stdout[begin:])
        if outcome == "raised":
            raise BuilderFailed(value)
        if outcome == "no":
            raise NoChild(value)
        return Told(value, ids)


class _Writer(pickle.Pickler):
    """Writes a call, and notes the modules that the other side must have, with their files."""

    def __init__(self, file: Any, modules: dict[str, str | None]) -> None:
        super().__init__(file)
        self._modules = modules

    def reducer_override(self, obj: Any) -> Any:
        """Only looks."""
        if isinstance(obj, type | FunctionType):
            module = sys.modules.get(obj.__module__)
            file = getattr(module, "__file__", None)
            if file is not None or obj.__module__ == "__main__":
                self._modules[obj.__module__] = file and str(Path(file).resolve())
        return NotImplemented


def _refuse_unnamed(build: Any) -> None:
    """What can be told in plainer words than pickle's. Raises NoChild."""
    owner = getattr(build, "__self__", None)
    names = [build] if owner is None else [build, owner if isinstance(owner, type) else type(owner)]
    for one in names:
        name = getattr(one, "__qualname__", "") or ""
        if "<" in name:
            raise NoChild("it is defined within a function, so no other process can import it")


def result_in_child(
    build: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    hash_seed: int,
    timeout_s: float,
) -> Any:
    """What it builds in a new Python whose strings hash by this seed. Raises NoChild where it
    cannot be sent there, BuilderFailed with its traceback."""
    return Call(build, args, kwargs).in_process(Process(hash_seed), timeout_s).prompt

"""The process of its own: reads a call, makes it in its world, writes what it built."""

import importlib
import importlib.util
import os
import pickle
import sys
import threading
import traceback
from typing import Any

from hitpath.pytest_plugin.calling import result_of
from hitpath.pytest_plugin.places import CannotEnter
from hitpath.pytest_plugin.results import prompt_of
from hitpath.pytest_plugin.worlds import inside


def main() -> None:
    """One call from standard input; the outcome behind a mark, for the builder may print too."""
    modules, world, num_objects = pickle.load(sys.stdin.buffer)
    in_the_way = [object() for _ in range(num_objects)]  # what comes later has other addresses
    try:
        with inside(world):
            data = _pickled(_outcome(modules))
    except CannotEnter as error:
        data = _pickled(("no", str(error)))
    del in_the_way
    sys.stdout.flush()
    sys.stdout.buffer.write(b"\0hitpath\0" + data)
    sys.stdout.buffer.flush()


def _pickled(outcome: tuple[str, Any]) -> bytes:
    ids = (os.getpid(), threading.get_ident(), threading.get_native_id())
    return pickle.dumps((*outcome, ids))


def _outcome(modules: list[tuple[str, str | None]]) -> tuple[str, Any]:
    try:
        for name, file in modules:
            _import(name, file)
        build, args, kwargs = pickle.load(sys.stdin.buffer)
    except Exception as error:
        return "no", f"it cannot be imported there: {type(error).__name__}: {error}"
    try:
        return "built", prompt_of(result_of(build, args, kwargs))
    except Exception:
        return "raised", traceback.format_exc()


def _import(name: str, file: str | None) -> None:
    """By its name, else by its file. Raises ImportError."""
    try:
        importlib.import_module(name)
    except ImportError:
        if file is None:
            raise
    else:
        return
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"no module in {file}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)

"""The process of its own: reads a call, makes it, writes what it built."""

import importlib
import importlib.util
import pickle
import sys
import traceback
from functools import reduce
from typing import Any

from hitpath.pytest_plugin.calling import result_of


def main() -> None:
    """One call from standard input; the outcome behind a mark, for the builder may print too."""
    outcome: tuple[str, Any] = _outcome()
    try:
        data = pickle.dumps(outcome)
    except Exception as error:
        data = pickle.dumps(("no", f"what it built cannot be pickled: {error}"))
    sys.stdout.flush()
    sys.stdout.buffer.write(b"\0hitpath\0" + data)
    sys.stdout.buffer.flush()


def _outcome() -> tuple[str, Any]:
    try:
        module, file, name, args, kwargs = pickle.load(sys.stdin.buffer)
        build = reduce(getattr, name.split("."), _module(module, file))
    except Exception as error:
        return "no", f"it cannot be imported there: {type(error).__name__}: {error}"
    try:
        return "built", result_of(build, args, kwargs)
    except Exception:
        return "raised", traceback.format_exc()


def _module(name: str, file: str | None) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        if file is None:
            raise
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"no module in {file}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module

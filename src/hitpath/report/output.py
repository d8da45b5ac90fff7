"""Writing results so that nothing is ever half written.

A regular file is written beside its place and renamed when whole; devices and pipes are
written to directly. `-` is standard output.
"""

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from hitpath.core import OutputError

STDOUT = "-"


def write_whole(path: str, write: Callable[[IO[bytes]], None]) -> None:
    """Call `write` with a binary file that becomes `path` once it has returned.

    Raises OutputError with the system's cause; then `path` is as it was before.
    """
    try:
        if path == STDOUT:
            write(sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return
        target = Path(path)
        if target.exists() and not target.is_file():
            if target.is_dir():
                raise OutputError(path, "is a folder")
            with target.open("wb") as device:
                write(device)
            return
        _write_beside(target.resolve(), write)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(path, f"cannot be written: {error.strerror or error}") from error


def _write_beside(target: Path, write: Callable[[IO[bytes]], None]) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

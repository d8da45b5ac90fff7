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

from hitpath.core import OutputError, ReaderGone

STDOUT = "-"


def check_writable(path: str) -> Path:
    """Where a file would be written; raises OutputError where that can be known to fail."""
    try:
        target = Path(path).resolve()
        if target.is_dir():
            raise OutputError(path, "is a folder")
        os.scandir(target.parent).close()  # raises what would be raised later
        if not os.access(target.parent, os.W_OK) and not _is_device(target):
            raise OutputError(path, "its folder cannot be written to")
    except (OSError, RuntimeError, ValueError) as error:
        raise OutputError(path, f"cannot be written: {_cause(error)}") from error
    return target


def _is_device(target: Path) -> bool:
    return target.exists() and not target.is_file()


def _cause(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def write_whole(path: str, write: Callable[[IO[bytes]], None]) -> None:
    """Call `write` with a binary file that becomes `path` once it has returned.

    Raises OutputError with the system's cause; then `path` is as it was before.
    """
    try:
        if path == STDOUT:
            _write_to_stdout(write)
            return
        target = check_writable(path)
        if _is_device(target):
            with target.open("wb") as device:
                write(device)
        else:
            _write_beside(target, write)
    except BrokenPipeError as error:
        raise ReaderGone from error
    except OSError as error:
        raise OutputError(path, f"cannot be written: {_cause(error)}") from error


def _write_to_stdout(write: Callable[[IO[bytes]], None]) -> None:
    if sys.stdout is None:
        raise OutputError("stdout", "cannot be written: it is closed")
    write(sys.stdout.buffer)
    sys.stdout.buffer.flush()


def _write_beside(target: Path, write: Callable[[IO[bytes]], None]) -> None:
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
    handle, name = tempfile.mkstemp(
        prefix=f".{target.name[:40]}.", suffix=".part", dir=target.parent
    )
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        os.chmod(name, mode)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

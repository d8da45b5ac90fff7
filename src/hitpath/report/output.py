"""Writing results so that nothing is ever half written, and nothing that is read is overwritten.

A regular file is written beside its place and renamed when whole; devices and pipes (also
`/dev/fd/63`, which a shell makes of `>(gzip)`) are written to directly. `-` is standard output, and
so is any other name of it.
"""

import os
import stat
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import IO

from hitpath.core import OutputError, ReaderGone
from hitpath.report.temporary import removed_if_ended

STDOUT = "-"


def is_stdout(path: str) -> bool:
    """Whether a name means standard output: `-`, /dev/stdout, or the file that it goes to."""
    if path == STDOUT:
        return True
    try:
        return sys.stdout is not None and _same_file(os.stat(path), os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError):
        return False


def check_writable(path: str) -> Path:
    """Where a file would be written; raises OutputError where that can be known to fail."""
    try:
        if _is_written_directly(path):
            if not os.access(path, os.W_OK):
                raise OutputError(path, "cannot be written to")
            return Path(path)
        target = Path(path).resolve()
        if target.is_dir():
            raise OutputError(path, "is a folder")
        os.scandir(target.parent).close()  # raises what would be raised later
        if not os.access(target.parent, os.W_OK):
            raise OutputError(path, "its folder cannot be written to")
    except (OSError, RuntimeError, ValueError) as error:
        raise OutputError(path, f"cannot be written: {_cause(error)}") from error
    return target


def _is_written_directly(path: str) -> bool:
    """Whether nothing can be renamed to this name: a device, a pipe, a file that is open under
    /dev/fd and has no name of its own."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return False  # nothing is there, or it is told when its folder is looked at
    if stat.S_ISDIR(found.st_mode):
        return False
    if not stat.S_ISREG(found.st_mode):
        return True
    try:
        return not _same_file(found, os.stat(Path(path).resolve()))
    except OSError:
        return True


def _same_file(one: os.stat_result, other: os.stat_result) -> bool:
    return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


def _cause(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def check_places(files: Iterable[str], read: Iterable[Path]) -> None:
    """Raise OutputError where two outputs would share one file, or one is among the files that are
    read, under whatever name (links of both kinds). A device or pipe that is read loses nothing."""
    inputs = {_identity(path) for path in read if _is_regular(path)}
    taken: set[object] = set()
    for path in files:
        place = STDOUT if is_stdout(path) else _identity(check_writable(path))
        if place in taken:
            raise OutputError(path, "named for two outputs")
        if place in inputs:
            raise OutputError(path, "is an input of this command")
        taken.add(place)


def _identity(path: Path) -> object:
    """What all names of one file have in common."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return path
    return found.st_dev, found.st_ino


def _is_regular(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False  # told by its reader


def write_whole(path: str, write: Callable[[IO[bytes]], None]) -> None:
    """Call `write` with a binary file that becomes `path` once it has returned.

    Raises OutputError with the system's cause; then `path` is as it was before.
    """
    try:
        if is_stdout(path):
            _write_to_stdout(write)
            return
        target = check_writable(path)
        if _is_written_directly(path):
            with open(path, "wb") as device:
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
    part = target.with_name(f".{target.name[:40]}.{token_hex(4)}.part")
    remove = partial(part.unlink, missing_ok=True)
    with removed_if_ended(remove):
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                write(file)
            os.chmod(part, mode)
            os.replace(part, target)
        except BaseException:
            remove()
            raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

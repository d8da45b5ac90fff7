"""Where a builder runs: another user, host and process, another folder, folders listed otherwise.

Who and where: the environment variables that name a user, a host or a build, the name of the
thread, and the functions that tell them, for callers outside the standard library and installed
packages (these need the true ones). The folder: one with a link to each member of the working
folder, so that files are found as before; likewise the home folder and the one for temporary files.
Not seen: paths of the source itself, the version of Python and of the system.
"""

import getpass
import glob
import os
import platform
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from hitpath.pytest_plugin.clocks import replaced

NAME = "hit-path-other"
_NAMING = (
    "USER", "LOGNAME", "USERNAME", "HOSTNAME", "HOST", "COMPUTERNAME", "POD_NAME", "POD_IP",
    "NODE_NAME", "WORKER_ID", "INSTANCE_ID", "DYNO", "GITHUB_SHA", "GITHUB_RUN_ID", "GITHUB_REF",
    "GITHUB_ACTOR", "CI_COMMIT_SHA", "CI_JOB_ID", "CI_PIPELINE_ID", "CI_COMMIT_BRANCH",
    "BUILD_NUMBER", "BUILD_ID", "GIT_COMMIT", "GIT_BRANCH", "TERM_SESSION_ID", "SESSION_ID",
)  # fmt: skip
"""Environment variables that say who, where or which run, and no setting."""
_PROCESS = 987_654
_MOST_MEMBERS = 5_000


class CannotEnter(Exception):
    """Why a world cannot be made here."""


@contextmanager
def environment(changes: dict[str, str]) -> Iterator[None]:
    """These variables for a while."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def another_host() -> Iterator[None]:
    """Another user, host, process and thread."""
    thread = threading.current_thread()
    name = thread.name
    thread.name = NAME
    homes = ("os", "posix", "nt", "socket", "platform", "getpass")
    try:
        with environment(dict.fromkeys(_NAMING, NAME)), replaced(_tellers(), homes):
            yield
    finally:
        thread.name = name


def _tellers() -> dict[int, Any]:
    """Functions that tell who and where, by id."""
    told: list[tuple[Any, Callable[[Any], Any]]] = [
        (socket.gethostname, lambda _: NAME),
        (socket.getfqdn, lambda _: NAME),
        (platform.node, lambda _: NAME),
        (platform.uname, lambda real: real._replace(node=NAME)),
        (getpass.getuser, lambda _: NAME),
        (os.getpid, lambda real: real + _PROCESS),
        (os.getppid, lambda real: real + _PROCESS),
    ]
    for name in ("getlogin", "uname"):
        real = getattr(os, name, None)
        if real is not None:
            told.append((real, (lambda _: NAME) if name == "getlogin" else _other_node))
    return {id(real): _for_applications(real, change) for real, change in told}


def _other_node(real: Any) -> Any:
    return type(real)((real[0], NAME, *real[2:]))


def _for_applications(real: Callable[..., Any], change: Callable[[Any], Any]) -> Any:
    def told(*args: Any, **kwargs: Any) -> Any:
        try:
            found = real(*args, **kwargs)
        except OSError:  # getlogin without a terminal
            if sys._getframe(1).f_globals.get("__name__") in sys.stdlib_module_names:
                raise
            return change(None)
        return change(found) if _is_application(sys._getframe(1).f_globals) else found

    return told


def _is_application(names: dict[str, Any]) -> bool:
    """Whether a caller's module is of no library."""
    top = str(names.get("__name__", "")).partition(".")[0]
    file = str(names.get("__file__") or "")
    return top not in sys.stdlib_module_names and "site-packages" not in file


@contextmanager
def another_folder() -> Iterator[None]:
    """Another working folder, home and folder for temporary files. Raises CannotEnter."""
    with ExitStack() as stack:
        try:
            before = Path.cwd()
            root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hitpath-")))
            here, home, scratch = (root / name for name in ("work", "home", "tmp"))
            _linked(before, here)
            _linked(Path.home(), home)
            stack.callback(_unlinked, here, home)
            scratch.mkdir()
            os.chdir(here)
        except (OSError, RuntimeError) as error:
            raise CannotEnter(f"{type(error).__name__}: {error}") from error
        stack.callback(os.chdir, before)
        kept, tempfile.tempdir = tempfile.tempdir, str(scratch)
        stack.callback(setattr, tempfile, "tempdir", kept)
        folders = {"HOME": home, "USERPROFILE": home, "PWD": here, "TMPDIR": scratch}
        stack.enter_context(environment({name: str(path) for name, path in folders.items()}))
        yield


def _linked(real: Path, made: Path) -> None:
    """A folder with a link to each member of another one."""
    made.mkdir()
    for number, member in enumerate(real.iterdir()):
        if number >= _MOST_MEMBERS:
            raise OSError(f"{real} has more than {_MOST_MEMBERS:,} members")
        (made / member.name).symlink_to(member)


def _unlinked(*folders: Path) -> None:
    """The links go one by one, so that nothing that removes the folders can follow them."""
    for folder in folders:
        for member in folder.iterdir():
            if member.is_symlink():
                member.unlink()


@contextmanager
def listed_otherwise() -> Iterator[None]:
    """Folders give their members from behind: the order is that of the file system."""
    real_list, real_scan = os.listdir, os.scandir

    def listdir(*args: Any, **kwargs: Any) -> Any:
        return real_list(*args, **kwargs)[::-1]

    def scandir(*args: Any, **kwargs: Any) -> Any:
        return _Entries(real_scan(*args, **kwargs))

    globbers = [cls for cls in vars(glob).values() if "scandir" in getattr(cls, "__dict__", {})]
    kept = [(cls, vars(cls)["scandir"]) for cls in globbers]  # from Python 3.13 on
    try:
        for cls in globbers:
            cls.scandir = staticmethod(scandir)
        with replaced({id(real_list): listdir, id(real_scan): scandir}, ("os",)):
            yield
    finally:
        for cls, real in kept:
            cls.scandir = real


class _Entries:
    """What os.scandir gives, from behind."""

    def __init__(self, real: Any) -> None:
        with real:
            self._entries = iter(list(real)[::-1])

    def __iter__(self) -> Iterator[Any]:
        return self._entries

    def __next__(self) -> Any:
        return next(self._entries)

    def __enter__(self) -> "_Entries":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        self._entries = iter(())

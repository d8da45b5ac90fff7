"""Prompt builders as applications have them, in a module that a process of its own imports fast."""

import functools
import getpass
import glob
import os
import platform
import secrets
import socket
import tempfile
import threading
import time
import uuid
from contextvars import ContextVar
from datetime import date, datetime
from pathlib import Path
from typing import Any

RULES = "You are the assistant of a small library. Answer in one sentence."


def chat(system: str) -> list[dict[str, Any]]:
    return [{"role": "system", "content": f"{system}\n{RULES}"}, {"role": "user", "content": "Hi"}]


class Desk:
    """Builders that are methods."""

    def __init__(self, name: str = "Larch") -> None:
        self.name = name

    def build(self, question: str) -> list[dict[str, Any]]:
        return chat(f"{self.name} {question}")

    async def later(self, question: str) -> list[dict[str, Any]]:
        return self.build(question)

    def __call__(self, question: str) -> list[dict[str, Any]]:
        return self.build(question)

    def address(self) -> list[dict[str, Any]]:
        return chat(repr(self))


class Locked(Desk):
    """Cannot be pickled."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


STARTED = date.today().isoformat()
SESSION = str(uuid.uuid4())
FOLDER = os.getcwd()
TENANT: ContextVar[str] = ContextVar("TENANT")


@functools.lru_cache
def today() -> str:
    return f"{date.today()}"


class Stamp(datetime):
    """A class of the application's own."""


def read_at_import() -> Any:
    return chat(f"It is {STARTED}.")


def in_a_cache() -> Any:
    return chat(f"It is {today()}.")


def id_at_import() -> Any:
    return chat(f"Session {SESSION}.")


def folder_at_import() -> Any:
    return chat(f"In {FOLDER}.")


def hash_of_a_text() -> Any:
    return chat(f"v{hash('rules')}")


def number_of_the_process() -> Any:
    return chat(f"Worker {os.getpid()}.")


def two_in_a_set() -> Any:
    return chat(", ".join({"find", "give"}))


def fails_elsewhere() -> Any:
    if "PYTEST_CURRENT_TEST_OF_BUILDERS" not in globals():
        raise RuntimeError("no configuration")
    return chat("")


def of_a_context() -> Any:
    return chat(f"For {TENANT.get()}.")


def module_level_set(words: tuple[str, ...]) -> str:
    return "Known words: " + " ".join(set(words))


def module_level_sorted(words: tuple[str, ...]) -> str:
    return "Known words: " + " ".join(sorted(set(words)))


def module_level_constant(anything: Any) -> str:
    return RULES


def module_level_error() -> str:
    raise KeyError("no such template")


WORDS = ("whale", "tide", "moon", "shelf", "copy", "loan", "card", "desk")


def shelves_of_a_library() -> Any:
    return chat("Can " + ", ".join({"zulu", "alfa", "mike", "kilo", "echo"}))


IN_PROCESS: dict[str, tuple[Any, str, str]] = {
    "a class of datetime": (lambda: chat(f"{Stamp.now():%Y-%m-%d}"), "clock", "clock shifted"),
    "an alias": (lambda: chat(f"{NOW():%Y-%m-%d}"), "clock", "clock shifted"),
    "a monotonic clock": (lambda: chat(f"Up {time.monotonic():.4f} s"), "clock", "once more"),
    "nanoseconds": (lambda: chat(f"t={time.perf_counter_ns()}"), "clock", "once more"),
    "the real time's clock": (
        lambda: chat(str(int(time.clock_gettime(time.CLOCK_REALTIME)) // 86_400)),
        "clock", "clock shifted"),
    "a choice of two": (lambda: chat(secrets.choice(["Knock.", "Ring."])),
                        "random_sample", "called once more"),
    "a host": (lambda: chat(f"On {socket.gethostname()}."), "attribution", "another host"),
    "a node": (lambda: chat(f"On {platform.node()}."), "attribution", "another host"),
    "a user": (lambda: chat(f"For {getpass.getuser()}."), "attribution", "another host"),
    "a process": (lambda: chat(f"By {os.getpid()}."), "attribution", "another host"),
    "a thread": (lambda: chat(threading.current_thread().name), "attribution", "another host"),
    "a pod": (lambda: chat(os.environ.get("POD_NAME", "local")), "attribution", "another host"),
    "a folder": (lambda: chat(f"In {Path.cwd()}."), "attribution", "another working"),
    "a home": (lambda: chat(f"In {Path.home()}."), "attribution", "another working"),
    "temporary files": (lambda: chat(f"In {tempfile.gettempdir()}."),
                        "attribution", "another working"),
    "os.listdir": (lambda: chat(" ".join(os.listdir("files"))), "array_order", "folders listed"),
    "os.scandir": (lambda: chat(" ".join(e.name for e in os.scandir("files"))),
                   "array_order", "folders listed"),
    "os.walk": (lambda: chat(" ".join(f for *_, fs in os.walk("files") for f in fs)),
                "array_order", "folders listed"),
    "glob": (lambda: chat(" ".join(glob.glob("files/*.md"))), "array_order", "folders listed"),
    "Path.glob": (lambda: chat(" ".join(p.name for p in Path("files").glob("*.md"))),
                  "array_order", "folders listed"),
    "Path.iterdir": (lambda: chat(" ".join(p.name for p in Path("files").iterdir())),
                     "array_order", "folders listed"),
}  # fmt: skip
"""(builder, kind, words of the world). In the working folder: files/ with several .md in it."""
NOW = datetime.now

OTHER_PROCESS: dict[str, tuple[Any, str, str]] = {
    "read at import": (read_at_import, "clock", "clock shifted"),
    "a cache": (in_a_cache, "clock", "clock shifted"),
    "an id at import": (id_at_import, "request_id", "in another process"),
    "a folder at import": (folder_at_import, "attribution", "another folder"),
    "a hash": (hash_of_a_text, "random_sample", "PYTHONHASHSEED"),
    "a set of two": (two_in_a_set, "array_order", "PYTHONHASHSEED"),
    "an address": (Desk().address, "request_id", "in another process"),
}


def file_names(folder: Path) -> Any:
    return chat(" ".join(sorted(path.name for path in folder.glob("*.md"))))


STABLE: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "a method": (Desk("Pine").build, ("?",)),
    "a method of a new instance": (Desk().later, ("?",)),
    "an object": (Desk(), ("?",)),
    "a partial": (functools.partial(Desk("Fir").build, "?"), ()),
    "sorted files of the folder": (file_names, (Path("files"),)),
}

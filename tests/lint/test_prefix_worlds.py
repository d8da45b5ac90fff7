"""What changes with the place, the process, the order of files: caught, and named; and what does
not is left alone."""

import asyncio
import contextlib
import enum
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import types
import uuid
import warnings
from collections.abc import AsyncIterator, Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from prefix_builders import (
    IN_PROCESS,
    OTHER_PROCESS,
    RULES,
    STABLE,
    TENANT,
    Desk,
    Locked,
    chat,
    fails_elsewhere,
    number_of_the_process,
    of_a_context,
)

from hitpath.pytest_plugin import assert_prefix_stable
from hitpath.pytest_plugin.assertion import Checked, PrefixBroken
from hitpath.pytest_plugin.processes import BuilderFailed, Call, NoChild, Process
from hitpath.pytest_plugin.results import NoPrompt
from hitpath.pytest_plugin.worlds import FOLDER_WORLD, World, inside

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working folder of an application."""
    (tmp_path / "files").mkdir()
    for name in ("alfa", "echo", "kilo", "zulu"):
        (tmp_path / "files" / f"{name}.md").write_text(name)
    monkeypatch.chdir(tmp_path)


def broken(build: Any, *args: Any, **options: Any) -> PrefixBroken:
    with pytest.raises(PrefixBroken) as caught:
        assert_prefix_stable(build, *args, **options)
    return caught.value


def stable(build: Any, *args: Any, **options: Any) -> Checked:
    return assert_prefix_stable(build, *args, **{"hash_seeds": False, **options})


@pytest.mark.parametrize("name", IN_PROCESS)
def test_what_changes_within_a_process(name: str) -> None:
    build, kind, world = IN_PROCESS[name]
    before = os.getcwd(), dict(os.environ), tempfile.gettempdir(), threading.current_thread().name
    error = broken(build, hash_seeds=False)
    assert (error.difference.kind, world in error.world) == (kind, True), str(error)
    assert "  fix      " in str(error)
    now = os.getcwd(), dict(os.environ), tempfile.gettempdir(), threading.current_thread().name
    assert now == before


@pytest.mark.parametrize("name", OTHER_PROCESS)
def test_what_only_another_process_shows(name: str) -> None:
    build, kind, world = OTHER_PROCESS[name]
    error = broken(build, hash_seeds=True)
    assert (error.difference.kind, world in error.world) == (kind, True), str(error)
    assert "  fix      " in str(error)


@pytest.mark.parametrize("name", STABLE)
def test_stable_builders_pass_in_every_process(name: str) -> None:
    build, args = STABLE[name]
    checked = assert_prefix_stable(build, *args, hash_seeds=True)
    assert {"in another process", "with other hash seeds"} <= set(checked.worlds)
    assert [what for what in checked.not_checked if "another locale" not in what] == []


def test_a_method_that_cannot_be_sent_is_said() -> None:
    checked = assert_prefix_stable(Locked().build, "?")
    (told,) = [what for what in checked.not_checked if "hash seed" in what]
    assert "cannot be pickled" in told
    with pytest.raises(NoChild, match="cannot be pickled"):
        assert_prefix_stable(Locked().build, "?", hash_seeds=True)


def test_a_builder_that_needs_what_a_test_has_set_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(fails_elsewhere.__globals__, "PYTEST_CURRENT_TEST_OF_BUILDERS", True)
    checked = assert_prefix_stable(fails_elsewhere)
    (told,) = [what for what in checked.not_checked if "hash seed" in what]
    assert told.endswith("in a process of its own it raises RuntimeError: no configuration")
    with pytest.raises(BuilderFailed, match="no configuration"):
        assert_prefix_stable(fails_elsewhere, hash_seeds=True)


def test_numbers_of_a_process_are_told_by_the_process_itself() -> None:
    call = Call(number_of_the_process, (), {})
    told = call.in_process(Process(1), 60.0)
    assert f"Worker {told.ids[0]}." in told.prompt[0]["content"]


def test_context_variables_of_the_caller_within_a_loop() -> None:
    async def build() -> Any:
        await asyncio.sleep(0)
        return of_a_context()

    async def within() -> None:
        TENANT.set("larch")
        stable(build)

    asyncio.run(within())


def test_relative_files_are_found_in_another_folder() -> None:
    stable(lambda: chat((Path("files") / "alfa.md").read_text()))
    stable(lambda: chat(Path("files/alfa.md").resolve().read_text()))
    with inside(FOLDER_WORLD):
        assert sorted(os.listdir("files")) == ["alfa.md", "echo.md", "kilo.md", "zulu.md"]
        Path("made.txt").write_text("in the other folder only")
    assert not Path("made.txt").exists()


def test_another_folder_leaves_every_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / "kept" / "deep").mkdir(parents=True)
    (home / "kept" / "deep" / "a.txt").write_text("a")
    (tmp_path / "link").symlink_to(home / "kept", target_is_directory=True)
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    (tmp_path / "files").chmod(0o500)
    monkeypatch.setenv("HOME", str(home))

    def held() -> list[tuple[str, int]]:
        return sorted((str(path), path.lstat().st_mode) for path in tmp_path.rglob("*"))

    before = held()
    for world in (FOLDER_WORLD, World("", folder=True, host=True, listed=True)):
        with inside(world):
            made = Path.cwd()
            Path("made").mkdir()
            Path("link").unlink()  # the link that stands there, not what it leads to
        assert not made.exists()
        assert held() == before
    (tmp_path / "files").chmod(0o700)


def test_a_builder_that_fails_in_another_folder_is_said() -> None:
    Path("below").mkdir()
    os.chdir("below")
    checked = stable(lambda: chat(Path("../files/alfa.md").read_text()))
    (told,) = [what for what in checked.not_checked if "folder" in what]
    assert "the builder raises FileNotFoundError" in told


def test_libraries_see_the_true_process() -> None:
    true = os.getpid()
    with inside(World("", host=True)):
        assert os.getpid() != true
        assert tempfile._candidate_tempdir_list()  # calls os of the standard library
        assert pickle.loads(pickle.dumps(os.environ["USER"])) == "hit-path-other"
    assert os.getpid() == true


class Deprecated:
    """As libraries keep names that are to go: whoever asks what it is is warned."""

    @property
    def __class__(self) -> type:  # type: ignore[override]
        warnings.warn("reduce_op is deprecated", FutureWarning, stacklevel=2)
        return Deprecated


def test_nothing_is_asked_of_what_other_modules_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("a_library_with_old_names")
    module.reduce_op = Deprecated()  # type: ignore[attr-defined]
    module.now = datetime.now  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    true = datetime.now()
    with inside(World("", clock_shift_s=90_000)):
        assert (module.now() - true).total_seconds() > 80_000
    assert module.now == datetime.now


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "gave None"),
        ("", "an empty text"),
        (" \n", "an empty text"),
        ([], "no text and no token"),
        ({}, "no text and no token"),
        ([{"role": "system", "content": ""}], "no text and no token"),
        ({"messages": []}, "no text and no token"),
        ([None, None], "a list with None in it"),
        ([0.5, 1.5], "a list with 0.5 in it"),
        (7, "gave 7"),
        (True, "gave True"),
        (b"", "an empty text"),
    ],
)
def test_what_is_no_prompt_is_said_in_one_sentence(given: Any, words: str) -> None:
    with pytest.raises(NoPrompt, match=words) as caught:
        stable(lambda: given)
    assert "\n" not in str(caught.value)


class Role(enum.StrEnum):
    SYSTEM = "system"


class Named(NamedTuple):
    system: str
    messages: list[dict[str, Any]]


class Stored:
    """As LangChain's messages: an id and what the provider told are no text."""

    def __init__(self, content: str) -> None:
        self.content = content

    def model_dump(self) -> dict[str, Any]:
        return {"type": "human", "content": self.content, "id": str(uuid.uuid4()),
                "response_metadata": {}, "usage_metadata": None}  # fmt: skip


class Value:
    """As LangChain's prompt values."""

    def __init__(self, content: str) -> None:
        self._content = content

    def to_messages(self) -> list[Stored]:
        return [Stored(self._content), Stored("Hi")]


@contextlib.contextmanager
def managed(system: str) -> Iterator[Any]:
    yield chat(system)


@contextlib.asynccontextmanager
async def awaited(system: str) -> AsyncIterator[Any]:
    yield chat(system)


RESULTS = {
    "an enum": lambda text: [{"role": Role.SYSTEM, "content": text}],
    "a named tuple": lambda text: Named(text, chat("")[1:]),
    "prompt values": Value,
    "messages of a library": lambda text: [Stored(text), Stored("Hi")],
    "a context manager": managed,
    "an async one": awaited,
    "a pair": lambda text: (chat(text), [{"name": "find"}]),
    "fields that no model sees": lambda text: {
        "metadata": {"trace": str(uuid.uuid4())}, "seed": uuid.uuid4().int, "messages": chat(text)},
    "ids of a store": lambda text: [{"id": str(uuid.uuid4()), **one} for one in chat(text)],
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_results_of_every_shape(name: str) -> None:
    stable(lambda: RESULTS[name](RULES))
    error = broken(lambda: RESULTS[name](f"{date.today()} {RULES}"), hash_seeds=False)
    assert error.difference.kind == "clock"


def test_a_builder_that_changes_its_arguments() -> None:
    def build(history: list[Any]) -> Any:
        history.insert(0, {"role": "system", "content": RULES})
        return [*history, {"role": "user", "content": "?"}]

    error = broken(build, [{"role": "user", "content": "first"}], hash_seeds=False)
    assert "the builder changes the arguments that it is given: copy them first" in str(error)

    def with_a_clock(history: list[Any]) -> Any:
        return [{"role": "system", "content": f"{datetime.now()}"}, *build(history)]

    told = broken(with_a_clock, [{"role": "user", "content": "first"}], hash_seeds=False)
    assert told.difference.kind == "clock"


def test_datetimes_can_be_pickled_under_a_shifted_clock() -> None:
    with inside(World("", clock_shift_s=86_400.0)):
        for moment in (datetime.now(), date.today()):
            assert pickle.loads(pickle.dumps(moment)) == moment
            assert type(pickle.loads(pickle.dumps(moment))) is type(moment)


def test_a_class_made_of_a_shifted_clock_has_its_own_instances() -> None:
    with inside(World("", clock_shift_s=86_400.0)):
        import datetime as shifted

        class Day(shifted.datetime):
            pass

        made = Day(2026, 1, 2)
        assert type(made) is Day
        assert isinstance(made, shifted.datetime)
        assert not isinstance(shifted.datetime(2026, 1, 2), Day)
        assert type(Day.now()) is Day
        assert (Day.now() - datetime.now()).total_seconds() > -5


class Frozen(type):
    """As freezegun's: a class in the place of datetime, with a metaclass of its own."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, REAL)


REAL = datetime


class FrozenDatetime(datetime, metaclass=Frozen):
    @classmethod
    def now(cls, tz: Any = None) -> "FrozenDatetime":
        return cls(2026, 1, 2, tzinfo=tz)


def test_a_clock_that_a_test_has_frozen_is_shifted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.datetime", FrozenDatetime)
    monkeypatch.setattr("datetime.datetime", FrozenDatetime)
    stable(lambda: chat(f"Founded {datetime(2020, 1, 1):%Y}"))
    error = broken(lambda: chat(f"It is {datetime.now():%Y-%m-%d}."), hash_seeds=False)
    assert error.difference.kind == "clock"
    assert "clock shifted" in error.world


def test_the_desk_is_the_same_after_all() -> None:
    desk = Desk("Oak")
    stable(desk.build, "?")
    assert desk.name == "Oak"


def test_workers_tell_what_they_could_not_check(tmp_path: Path) -> None:
    file = tmp_path / "test_of_a_user.py"
    file.write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('n', [1, 2])\n"
        "def test_local(assert_prefix_stable, n):\n"
        "    assert_prefix_stable(lambda: 'a text')\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "hitpath.pytest_plugin", "-p", "xdist"]
    command += ["-p", "no:cacheprovider", "--rootdir", str(tmp_path), "-n", "1", str(file)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTEST_ADDOPTS": "",
                   "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # fmt: skip
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "2 passed" in done.stdout, done.stdout + done.stderr
    assert "defined within a function, so no other process can import it (test_local" in done.stdout

"""The pytest plugin: each defect of a builder is caught in the world made for it, and named."""

import asyncio
import datetime as whole_module
import os
import random
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from time import strftime
from typing import Any

import pytest
from prefix_builders import (
    WORDS,
    module_level_constant,
    module_level_error,
    module_level_set,
    module_level_sorted,
)

from hitpath.pytest_plugin import assert_prefix_stable
from hitpath.pytest_plugin.arguments import shuffled
from hitpath.pytest_plugin.assertion import PrefixBroken
from hitpath.pytest_plugin.compare import first_difference
from hitpath.pytest_plugin.processes import BuilderFailed, NoChild
from hitpath.pytest_plugin.worlds import World, inside, other_locale

ROOT = Path(__file__).resolve().parents[2]
RULES = "You are the assistant of a small library. Answer in one sentence."


def chat(system: str, question: str = "Any books on tides?") -> list[dict[str, Any]]:
    return [{"role": "system", "content": system}, {"role": "user", "content": question}]


def broken(build: Any, *args: Any, **options: Any) -> PrefixBroken:
    options.setdefault("hash_seeds", False)
    with pytest.raises(PrefixBroken) as caught:
        assert_prefix_stable(build, *args, **options)
    return caught.value


def stable(build: Any, *args: Any, **options: Any) -> None:
    options.setdefault("hash_seeds", False)
    assert_prefix_stable(build, *args, **options)


CLOCKS = {
    "datetime.now": lambda: f"{datetime.now():%Y-%m-%d}",
    "module datetime": lambda: f"{whole_module.datetime.now():%Y-%m-%d}",
    "now with a zone": lambda: datetime.now(UTC).date().isoformat(),
    "datetime.today": lambda: datetime.today().date().isoformat(),
    "date.today": lambda: str(date.today()),
    "time.time": lambda: str(int(time.time()) // 86_400 * 86_400),
    "time.time_ns": lambda: str(time.time_ns() // 10**12),
    "strftime": lambda: strftime("%Y-%m-%d"),
    "gmtime": lambda: time.asctime(time.gmtime())[:10],
    "ctime": lambda: time.ctime()[:10],
}


@pytest.mark.parametrize("name", CLOCKS)
def test_each_clock_is_shifted_and_put_back(name: str) -> None:
    real = datetime, date, time.time, time.gmtime, strftime
    error = broken(lambda: chat(f"Date: {CLOCKS[name]()}. {RULES}"))
    assert "clock shifted by 1 day" in error.world
    assert error.difference.json_path == "messages[0].content"
    assert (datetime, date, time.time, time.gmtime, strftime) == real
    assert abs(datetime.now().timestamp() - time.time()) < 5


def test_a_shifted_datetime_is_a_datetime() -> None:
    with inside(World("", clock_shift_s=86_400.0)):
        now = datetime.now()
        assert isinstance(now, datetime)
        assert isinstance(now, date)
        assert not isinstance("", datetime)
        assert issubclass(type(now), datetime)
        assert datetime(2026, 1, 2) == datetime.fromisoformat("2026-01-02")
        assert abs(now.timestamp() - time.time()) < 5
    assert 86_000 < (now - datetime.now()).total_seconds() < 86_401


def test_a_second_clock_is_named_with_its_place_and_excerpt() -> None:
    error = broken(lambda: chat(f"Current time: {datetime.now().isoformat()}. {RULES}"))
    found = error.difference
    assert (found.kind, found.json_path) == ("clock", "messages[0].content")
    assert "⟦" in found.first
    assert "fix      put it into the last message" in str(error)


def test_a_coarse_clock_may_pass() -> None:
    def by_the_hour() -> list[dict[str, Any]]:
        return chat(f"It is {datetime.now(UTC):%Y-%m-%d %H}:00. {RULES}")

    broken(by_the_hour)
    moment = datetime.now(UTC)
    if moment.minute < 58:  # else the hour may turn within the second
        stable(by_the_hour, clock_shift_s=1.0)


def test_the_last_message_may_hold_the_clock() -> None:
    def build() -> list[dict[str, Any]]:
        return chat(RULES, f"Any books? ({datetime.now()})")

    stable(build)
    error = broken(build, free_tail=False)
    assert error.difference.json_path == "messages[1].content"
    only = broken(lambda: [{"role": "user", "content": f"{datetime.now()} {RULES}"}])
    assert only.difference.kind == "clock"


def test_ids_and_counters_are_seen_at_the_second_call() -> None:
    error = broken(lambda: chat(f"Session {uuid.uuid4()}. {RULES}"))
    assert (error.world, error.difference.kind) == ("called once more", "request_id")
    calls = iter(range(1, 100))
    counted = broken(lambda: chat(f"[step {next(calls)}] {RULES}"))
    assert counted.difference.kind == "counter"
    assert counted.difference.char_offset == len("[step ")


def test_chance_is_seen_under_another_seed() -> None:
    state = random.getstate()
    error = broken(lambda: chat(" ".join(random.sample(["one", "two", "three"], 3)) + RULES))
    assert error.world.startswith("with random seed")
    assert random.getstate() == state

    def seeded() -> list[dict[str, Any]]:
        return chat(" ".join(random.Random(7).sample(["one", "two", "three"], 3)) + RULES)

    stable(seeded)


def test_another_time_zone() -> None:
    before = os.environ.get("TZ")
    error = broken(lambda: chat(f"{time.strftime('%z')} {RULES}"))
    assert error.world == "in another time zone"
    assert os.environ.get("TZ") == before


def test_order_of_dicts_in_the_arguments() -> None:
    schema = {"name": "find", "input_schema": {"type": "object", "properties": {"b": 1, "a": 2}}}

    def as_it_comes(tools: list[Any]) -> dict[str, Any]:
        return {"system": RULES, "tools": tools, "messages": chat(RULES)[1:]}

    error = broken(as_it_comes, [schema])
    assert error.difference.kind == "key_order"
    assert error.difference.json_path == "tools[0]"
    stable(as_it_comes, [schema], shuffle=False)
    stable(lambda history: [*history, {"role": "user", "content": "?"}], chat(RULES))
    assert list(shuffled({"a": [{"x": 1, "y": 2}], "b": {3, 1}})["a"][0]) == ["y", "x"]


def test_order_of_sets_needs_another_process() -> None:
    error = broken(module_level_set, WORDS, hash_seeds=True)
    assert "PYTHONHASHSEED" in error.world
    assert error.difference.kind == "array_order"
    checked = assert_prefix_stable(module_level_sorted, WORDS, hash_seeds=True)
    assert "with other hash seeds" in checked.worlds


def test_what_cannot_be_checked_is_said() -> None:
    checked = assert_prefix_stable(lambda: "constant")
    (told,) = [what for what in checked.not_checked if "hash seed" in what]
    assert "defined within a function" in told
    with pytest.raises(NoChild, match="defined within a function"):
        assert_prefix_stable(lambda: "constant", hash_seeds=True)
    with pytest.raises(NoChild, match="cannot be pickled"):
        assert_prefix_stable(module_level_constant, lambda: 1, hash_seeds=True)


def test_errors_of_the_builder_are_its_own() -> None:
    with pytest.raises(KeyError, match="no such template") as caught:
        assert_prefix_stable(module_level_error)
    assert caught.value.__notes__ == ["raised by the prompt builder itself, the first call"]
    fails_later = iter([RULES])
    with pytest.raises(StopIteration) as later:
        assert_prefix_stable(lambda: next(fails_later))
    assert "called once more" in later.value.__notes__[0]
    with pytest.raises(TypeError, match="not object"):
        assert_prefix_stable(object)


def test_errors_in_the_other_process_bring_their_traceback() -> None:
    from hitpath.pytest_plugin.processes import result_in_child

    with pytest.raises(BuilderFailed, match="KeyError: 'no such template'"):
        result_in_child(module_level_error, (), {}, 1, 60.0)


def test_generators_and_async_builders() -> None:
    def pieces() -> Iterator[str]:
        yield "Now: "
        yield f"{datetime.now()} "
        yield RULES

    async def awaited() -> str:
        await asyncio.sleep(0)
        return f"Now: {datetime.now()} {RULES}"

    async def async_pieces() -> AsyncIterator[str]:
        for piece in pieces():
            yield piece

    for build in (pieces, awaited, async_pieces):
        error = broken(build)
        assert (error.difference.kind, error.difference.json_path) == ("clock", "")
    stable(lambda: iter(["a", "b"]).__class__ and "ab")


async def _within_a_loop() -> None:
    async def awaited() -> str:
        return RULES

    stable(awaited)


def test_an_async_builder_within_a_running_loop() -> None:
    asyncio.run(_within_a_loop())


def test_turns_grow() -> None:
    history = chat(RULES)
    asked = {"role": "user", "content": "Where?"}
    later = [*history, asked, {"role": "assistant", "content": "There."}]

    def build(messages: list[Any], question: str) -> list[Any]:
        return [*messages, {"role": "user", "content": question}]

    stable(build, history, "Where?", grows=[(later, "And now?")], shuffle=False)

    def with_count(messages: list[Any], question: str) -> list[Any]:
        return [*chat(f"{len(messages)} messages. {RULES}"), *build(messages, question)]

    error = broken(with_count, history, "Where?", grows=[(later, "And now?")])
    assert error.world == "from turn 1 to turn 2"
    assert error.difference.json_path == "messages[0].content"
    assert error.difference.char_offset == 0
    text = broken(lambda words: " ".join(words[-2:]), ["a", "b"], grows=[["a", "b", "c"]])
    assert text.difference.char_offset == 0


@dataclass
class Built:
    system: str
    messages: list[dict[str, Any]]


@pytest.mark.parametrize(
    ("first", "second", "place"),
    [
        ("abc", "abcd", None),
        ("abcd", "abc", ("", 3)),
        ([1, 2, 3], [1, 2, 3, 4], None),
        ([1, 2, 3], [1, 9, 3], ("", 1)),
        (chat("a"), chat("b"), ("messages[0].content", 0)),
        ({"tools": [], "messages": chat("a")}, {"messages": chat("a")}, ("tools", 0)),
        ({"messages": chat("a")[:1]}, {"messages": chat("a")}, None),
        ({"messages": chat("a")}, {"messages": chat("a")[:1]}, ("messages[1]", 0)),
        ({"model": "m", "input": "a"}, {"model": "n", "input": "a"}, ("model", 0)),
        ({"n": 1}, {"n": 1.0}, ("n", 1)),
        ("text", [1], ("", 0)),
    ],
)
def test_first_differences(first: Any, second: Any, place: tuple[str, int] | None) -> None:
    found = first_difference(first, second)
    assert (None if found is None else (found.json_path, found.char_offset)) == place


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ("a b\n", "a b \n", "white_space"),
        ("a b", "a\u200b b", "hidden_characters"),
        ("é x", "e\u0301 x", "unicode_form"),
        ("tools: b a", "tools: a b", "array_order"),
        ({"tools": [{"name": "a"}, {"name": "b"}]}, {"tools": [{"name": "b"}, {"name": "a"}]},
         "tool_order"),
        ({"tools": [{"name": "a", "x": {"required": ["p", "q"]}}]},
         {"tools": [{"name": "a", "x": {"required": ["q", "p"]}}]}, "edited_message"),
        ({"response_format": {"a": 1, "b": 2}}, {"response_format": {"b": 2, "a": 1}}, "key_order"),
        ({"tools": [{"name": "a", "n": 1}]}, {"tools": [{"name": "a", "n": 1.0}]}, "number_format"),
    ],
)  # fmt: skip
def test_kinds(first: Any, second: Any, kind: str) -> None:
    found = first_difference(first, second)
    assert found is not None
    assert found.kind == kind


def test_results_of_other_types_are_read() -> None:
    stable(lambda: Built(RULES, chat(RULES)[1:]))
    error = broken(lambda: Built(f"{uuid.uuid4()}", chat(RULES)[1:]))
    assert error.difference.json_path == "system"
    stable(lambda: b"bytes")


def test_the_example_and_the_fixture_run_under_pytest(tmp_path: Path) -> None:
    file = tmp_path / "test_of_a_user.py"
    file.write_text(
        "import datetime\n"
        "def test_bad(assert_prefix_stable):\n"
        "    assert_prefix_stable(lambda: f'Current time: {datetime.datetime.now()} and more')\n"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "PYTEST_ADDOPTS": "",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # installed or not, it is loaded once
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "hitpath.pytest_plugin"]
    command += ["-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    example = ROOT / "examples" / "stable_prompt_test.py"
    done = subprocess.run(
        [*command, str(file), str(example)], env=environment, capture_output=True, text=True,
        check=False, cwd=tmp_path,
    )  # fmt: skip
    assert "1 failed, 4 passed" in done.stdout, done.stdout + done.stderr
    assert "the prefix breaks called once more" in done.stdout
    assert "kind     clock" in done.stdout
    is_told = "hitpath: not checked: another locale, for none is installed here" in done.stdout
    assert is_told == (other_locale() is None), done.stdout
    assert "worlds.py" not in done.stdout  # only the user's line is shown

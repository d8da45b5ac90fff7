"""A line of attribution, and any line that comes and goes, moves to the end whole: a word left in
its place would break the prefix as the line did. A gain says in how many requests a fix mends."""

from __future__ import annotations

import io
import json
import random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from hitpath.core import Setting
from hitpath.doctor.proof import Gain
from hitpath.doctor.reach import Cured
from hitpath.report.doctor_document import doctor_document
from hitpath.report.doctor_fix import write_fixed
from hitpath.report.doctor_run import examine, open_subject
from hitpath.report.doctor_words import gain_words
from support import write_jsonl

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hitpath.doctor.defects import Defect
    from hitpath.doctor.diagnosis import Diagnosis

SETTING = Setting(block_size=1)
RULES = "# Night desk\n\n" + "Answer in one line, and be kind. " * 40
KIND = "attribution"
LINE = "x-anthropic-billing-header: cc_version=2.1.{0}; cc_entrypoint=cli; cch=a{0}f;"


def rows_of(systems: list[str]) -> list[dict[str, Any]]:
    said: list[dict[str, str]] = []
    rows = []
    for number, system in enumerate(systems):
        said = [*said, {"role": "user", "content": f"Question {number}?"}]
        messages = [{"role": "system", "content": system}, *said]
        row = {"id": str(number), "arrival_s": number * 60, "session": "s", "messages": messages}
        rows.append(row)
        said = [*said, {"role": "assistant", "content": f"Answer {number}."}]
    return rows


def examined(systems: list[str], path: Path) -> tuple[Diagnosis, list[list[dict[str, str]]]]:
    subject = open_subject([str(write_jsonl(path, rows_of(systems)))], SETTING)
    found = examine(subject, what_ifs=False)
    written = io.BytesIO()
    write_fixed(found, subject.kept, subject.requests, written)
    return found, [json.loads(line)["messages"] for line in written.getvalue().splitlines()]


@pytest.mark.parametrize(
    ("with_line", "without"),
    [
        (f"{LINE}\n\n{RULES}", RULES),
        (f"{LINE}\n{RULES}", RULES),
        (f"You are the desk.\n{LINE}\n{RULES}", f"You are the desk.\n{RULES}"),
        (f"You are the desk.\n\n{LINE}  \n \n  {RULES}", f"You are the desk.\n\n  {RULES}"),
    ],
)
def test_a_line_that_comes_and_goes_leaves_nothing(
    with_line: str, without: str, tmp_path: Path
) -> None:
    systems = [with_line.format(n) if n % 3 else without for n in range(10, 30)]
    found, fixed = examined(systems, tmp_path / "t.jsonl")
    assert {messages[0]["content"] for messages in fixed} == {without}
    for number, messages in zip(range(10, 30), fixed, strict=True):
        last = messages[-1]["content"].splitlines()[-1]
        assert last == (f"attribution: {LINE.format(number)}" if number % 3 else last)
    told = [one for one in doctor_document(found, SETTING)["defects"] if one["kind"] == KIND]
    assert told
    assert all(one["mended_frac"] == 1 for one in told)


@pytest.mark.parametrize(
    "line",
    [
        lambda n: f"Current time: 2026-03-10 09:{n}:07",
        lambda n: f"Request id: {random.Random(n).getrandbits(128):032x}",
        lambda n: f"ulid {''.join(random.Random(n).choices('0123456789ABCDEFGHJKMNPQRS', k=26))}",
        lambda n: f"Message number: {n}",
        lambda n: f"Seed: {random.Random(n).randrange(10**6)}",
        lambda n: f"当前时间：2026-03-10 09:{n}",
    ],
)
def test_any_line_that_comes_and_goes(line: Callable[[int], str], tmp_path: Path) -> None:
    systems = [f"{line(n)}\n\n{RULES}" if n % 3 else RULES for n in range(10, 34)]
    found, fixed = examined(systems, tmp_path / "t.jsonl")
    assert {messages[0]["content"] for messages in fixed} == {RULES}
    for number, messages in zip(range(10, 34), fixed, strict=True):
        assert (line(number) in messages[-1]["content"]) == (number % 3 > 0)
    told = doctor_document(found, SETTING)["defects"]
    assert told[0]["mended_frac"] == 1
    assert told[0]["gain_tokens"] > 0


def test_a_line_that_stays_leaves_its_name(tmp_path: Path) -> None:
    systems = [f"Current time: 2026-03-10 09:{n}:07\n\n{RULES}" for n in range(10, 30)]
    _, fixed = examined(systems, tmp_path / "t.jsonl")
    (system,) = {messages[0]["content"] for messages in fixed}
    assert system == f"Current time: [clock: at the end]\n\n{RULES}"


def test_a_part_of_a_line_leaves_its_name(tmp_path: Path) -> None:
    systems = [f"Talk as process id: {400 + 7 * n * n} does.\n{RULES}" for n in range(12)]
    _, fixed = examined(systems, tmp_path / "t.jsonl")
    (system,) = {messages[0]["content"] for messages in fixed}
    assert system.startswith("Talk as ")
    assert "[attribution: at the end] does.\n# Night desk" in system


@pytest.mark.parametrize(
    ("cured", "words"),
    [
        (Cured(5, 17), "proven gain +40, mended in 5 of 17 looked at"),
        (Cured(17, 17), "proven gain +40"),
        (None, "proven gain +40"),
    ],
)
def test_a_gain_says_in_how_many(cured: Cured | None, words: str) -> None:
    found = SimpleNamespace(gain_of=lambda _: Gain(40, 40, (), cured))
    assert gain_words(cast("Diagnosis", found), cast("Defect", None)) == words

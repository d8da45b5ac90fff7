"""Prompts written as named stretches: places and excerpts of a defect are by number and name. Rows
are written by hand from the documented shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from doctor.test_planted_kinds import findings_of
from doctor.test_real_traffic import diagnosis_of
from support import write_jsonl

if TYPE_CHECKING:
    from pathlib import Path

Stretches = list[list[Any]]
HEAD: Stretches = [["system", 96], ["memory one", 40]]
TURNS: Stretches = [["question 1", 40], ["answer 1", 64], ["question 2", 16], ["answer 2", 80]]
NEXT: Stretches = [["question 3", 16]]
MEMORY: Stretches = [["memory two", 40]]


def rows(*prompts: Stretches) -> list[dict[str, Any]]:
    return [{"id": f"r{n}", "arrival_s": n * 4.0, "session": "s", "segments": prompt}
            for n, prompt in enumerate(prompts)]  # fmt: skip


@pytest.mark.parametrize(
    ("after", "kind", "path", "there", "here"),
    [
        ([HEAD[0], *MEMORY, *TURNS, *NEXT], "edited_message", "segments[1]", "memory one",
         "memory two"),
        ([*HEAD, *TURNS[2:], *NEXT], "truncated_history", "segments[2]",
         "question 1, answer 1", ""),
        ([["system v2", 96], *HEAD[1:], *TURNS, *NEXT], "edited_message", "segments[0]", "system",
         "system v2"),
    ],
)  # fmt: skip
def test_a_difference_is_told_by_the_name_of_its_stretch(
    after: Stretches, kind: str, path: str, there: str, here: str, tmp_path: Path
) -> None:
    found = findings_of(rows([*HEAD, *TURNS], after), tmp_path)[-1].comparison.changes
    told = [(c.kind, c.json_path, c.char_offset, c.there, c.here) for c in found]
    assert told == [(kind, path, 0, there, here)]


def test_new_stretches_are_new_content(tmp_path: Path) -> None:
    found = findings_of(rows([*HEAD, *TURNS], [*HEAD, *TURNS, *NEXT]), tmp_path)[-1]
    assert found.comparison.changes == ()
    assert found.comparison.new_at is not None
    assert found.comparison.new_at.json_path == "segments[6]"


def test_a_defect_is_one_wherever_its_stretch_stands(tmp_path: Path) -> None:
    prompts = [[*HEAD, *turns(first, 4)] for first in (0, 2, 4)]
    path = write_jsonl(tmp_path / "t.jsonl", rows(*prompts, [*HEAD, *turns(4, 5)]))
    defects = diagnosis_of(path).defects
    assert [(d.kind, d.num_requests) for d in defects] == [("truncated_history", 2)]


def turns(first: int, num: int) -> Stretches:
    return [[f"turn {n}", 50] for n in range(first, first + num)]

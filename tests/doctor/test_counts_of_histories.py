"""A number at the end of instructions that counts the dialogue is a counter; a summary that is told
again is one, whatever it counts besides. Written by hand from the documented shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from doctor.test_dialogues_and_forms import HOUSE, chat, said
from doctor.test_planted_kinds import findings_of

if TYPE_CHECKING:
    from pathlib import Path

LINES = [
    "messages so far: {n}",
    "Turns so far: {n}",
    "Previous messages: {n}",
    "Earlier messages omitted: {n}",
    "[Conversation summary: {n} messages]",
]


def kinds(line: str, folder: Path, tell: list[str] | None = None) -> set[str]:
    rows: list[dict[str, Any]] = []
    for guest in range(4):
        turns: list[dict[str, Any]] = []
        for step in range(4):
            turns.append(said("user", f"Guest {guest} asks for part {step} of the bill, please."))
            words = line.format(n=2 * step + 5, told=" ".join((tell or [])[: step + 1]))
            rows.append(chat(said("system", f"{HOUSE}\n\n{words}"), *turns,
                             at=9 * len(rows), session=f"s{guest}"))  # fmt: skip
            turns.append(said("assistant", f"Part {step} of {guest} is 14 euros and 20 cents."))
    return {c.kind for f in findings_of(rows, folder) for c in f.comparison.changes}


@pytest.mark.parametrize("line", LINES)
def test_a_count_is_no_summary(line: str, tmp_path: Path) -> None:
    assert kinds(line, tmp_path) == {"counter"}


def test_a_summary_that_counts_is_one(tmp_path: Path) -> None:
    told = ["The guest asked for the bill.", "Then for a taxi to the station.",
            "Then for the key of the cellar.", "Then for breakfast at seven."]  # fmt: skip
    assert kinds("Summary ({n} messages): {told}", tmp_path, told) == {"compacted_history"}

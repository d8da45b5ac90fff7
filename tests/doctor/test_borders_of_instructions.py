"""Instructions in several messages or blocks that are cut elsewhere behind a line in front of them;
beside it paragraphs that really moved, came or went. Written by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from doctor.test_dialogues_and_forms import chat, said
from doctor.test_histories import changes

if TYPE_CHECKING:
    from pathlib import Path

LINE = "x-anthropic-billing-header: cc_version=2.1.10; cc_entrypoint=cli; cch=a10f;"
DESK = "Customers know us as Fernbank Clinic. What we are: a clinic's front desk in Ulm."
TABS = "Use tabs in Makefiles, five columns elsewhere; keep old names in public headers."
JOBS = "Nightly jobs start at two; leave the lock file alone, and ask before you mend it."
LAST = "Ask before you add a dependency. The list of allowed ones is in the handbook."


def kinds(old: list[str], new: list[str], as_blocks: bool, folder: Path) -> list[str]:
    def instructions(texts: list[str]) -> list[dict[str, Any]]:
        if as_blocks:
            return [said("system", [{"type": "text", "text": text} for text in texts])]
        return [said(role, text) for role, text in zip(("system", "developer"), texts, strict=True)]

    question = said("user", "Which tests fail in the planner, and why do they?")
    rows = [chat(*instructions(texts), question, at=at) for at, texts in enumerate((old, new))]
    return [kind for kind, _ in changes(rows, folder)]


@pytest.mark.parametrize("as_blocks", [True, False])
def test_a_border_that_moved_is_no_change(as_blocks: bool, tmp_path: Path) -> None:
    old = [f"{DESK}\n\n{TABS}", f"{JOBS}\n\n{LAST}"]
    new = [f"{LINE}\n\n{DESK}", f"{TABS}\n\n{JOBS}\n\n{LAST}"]
    assert kinds(old, new, as_blocks, tmp_path) == ["attribution"]
    assert kinds(new, old, as_blocks, tmp_path) == ["attribution"]


@pytest.mark.parametrize("as_blocks", [True, False])
def test_a_paragraph_that_moved_further_has_moved(as_blocks: bool, tmp_path: Path) -> None:
    old = [f"{DESK}\n\n{TABS}", f"{JOBS}\n\n{LAST}"]
    new = [f"{LINE}\n\n{DESK}", f"{JOBS}\n\n{LAST}\n\n{TABS}"]
    assert "moved_block" in kinds(old, new, as_blocks, tmp_path)


@pytest.mark.parametrize("as_blocks", [True, False])
def test_a_paragraph_that_came_has_come(as_blocks: bool, tmp_path: Path) -> None:
    old, new = [DESK, f"{JOBS}\n\n{LAST}"], [f"{LINE}\n\n{DESK}", f"{TABS}\n\n{JOBS}\n\n{LAST}"]
    assert len(kinds(old, new, as_blocks, tmp_path)) == 2


@pytest.mark.parametrize(("text", "num"), [("Be brief now", 1), ("Be brief so", 3)])
def test_what_crossed_a_border_is_long_enough(text: str, num: int, tmp_path: Path) -> None:
    old, new = [f"{DESK}\n\n{text}", JOBS], [f"{LINE}\n\n{DESK}", f"{text}\n\n{JOBS}"]
    assert len(kinds(old, new, True, tmp_path)) == num

"""A value written otherwise right in front of a block that moved: both are told, each at its place.
Written by hand."""

from __future__ import annotations

import pytest

from hitpath.doctor.leaf import leaf_changes

RULES = "Rules of the house: be brief, and tell no secret. weight_kg: {}\n"
FILES = [
    "来源：notes.txt\n内容：The desk answers within a day. Old forms stay valid.\n\n",
    "来源：rules.md\n内容：Names are written in full. The build needs two steps.\n\n",
    "来源：main.py\n内容：Backups run at night. A second signature is needed.\n\n",
]
END = "Answer in German where you can.\n"


@pytest.mark.parametrize(("old", "new"), [("7.000", "7"), ("1,000", "1000"), ("0.50", "0.5")])
@pytest.mark.parametrize("order", [(1, 0, 2), (2, 0, 1)])
@pytest.mark.parametrize("between", ["", "The scale stands in the yard.\n"])
def test_a_number_in_front_of_what_moved(
    old: str, new: str, order: tuple[int, ...], between: str
) -> None:
    there = RULES.format(old) + between + "".join(FILES) + END
    here = RULES.format(new) + between + "".join(FILES[n] for n in order) + END
    found = leaf_changes(there, here, "system")
    assert [change.kind for change in found] == ["number_format", "moved_block"]
    first = next(n for n, (a, b) in enumerate(zip(there, here, strict=False)) if a != b)
    moved = here.index(FILES[order[0]]) + len("来源：")
    assert [change.first for change in found] == [first, moved]


@pytest.mark.parametrize("order", [(1, 0, 2), (2, 0, 1)])
def test_only_what_moved(order: tuple[int, ...]) -> None:
    there = RULES.format(7) + "".join(FILES) + END
    here = RULES.format(7) + "".join(FILES[n] for n in order) + END
    assert [change.kind for change in leaf_changes(there, here, "system")] == ["moved_block"]

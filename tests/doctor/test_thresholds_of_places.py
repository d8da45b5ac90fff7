"""Every number that decides what is of one place, of one application, of one clock, what a
fix mends and what a provider might have read, from both sides. Of single texts see
test_thresholds.py.

Prompts and changes are written by hand, as short as the number allows.
"""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from hitpath.doctor.align import aligned
from hitpath.doctor.applications import are_told_otherwise, is_one_application, shares_words
from hitpath.doctor.build_prompt import PromptBuilder, Said
from hitpath.doctor.change import Change, Comparison, Kind
from hitpath.doctor.choosing import _names_sessions
from hitpath.doctor.clock_by_time import Pair, goes_with_time
from hitpath.doctor.compare import compare
from hitpath.doctor.diagnose import Finding
from hitpath.doctor.fields import Pairs
from hitpath.doctor.flat import flat_prompt
from hitpath.doctor.flat_compare import shift_of
from hitpath.doctor.jsondiff import sorted_text
from hitpath.doctor.line_orders import heal_items
from hitpath.doctor.moved_lines import heal_moves
from hitpath.doctor.near_places import as_their_place
from hitpath.doctor.number_kinds import number_kind
from hitpath.doctor.one_place import of_one_place
from hitpath.doctor.open_groups import Seen
from hitpath.doctor.provider import Asked, _judged, slack_of
from hitpath.doctor.provider_marks import Mark
from hitpath.doctor.provider_rules import rule_of
from hitpath.doctor.reach import Cured
from hitpath.doctor.resolve import _of_users
from hitpath.doctor.shared_causes import constant_floors
from hitpath.doctor.textdiff import common_length
from hitpath.doctor.value_runs import come_back, runs_of

if TYPE_CHECKING:
    from hitpath.doctor.leaf_change import LeafChange
    from hitpath.doctor.prompt import Prompt
    from hitpath.traces.table import Trace

CELLAR = "The pump stands in the cellar and hums along as it always did before. " * 12
WORDS = [f"w{one}{other}" for one in "abcdefghijklmnopqrst" for other in "abcdefghijklmnopqrst"]


def told(kind: Kind, value: str, label: str, at: int = 0) -> Change:
    path = "messages[0].content"
    return Change(kind, path, "system", at, at, at, value, value[::-1], label)


def findings(*changes: Change) -> list[Finding]:
    return [
        Finding(row, max(row - 1, 0), False, 0, Comparison((change,), ()))
        for row, change in enumerate(changes)
    ]


def of_clocks(num: int, num_ids: int, label: str = "now at", size: int = 5) -> int:
    """How many of the ids are told as clocks."""
    clocks = [told("clock", "1" * size, label)] * num
    return len(
        list(of_one_place(findings(*clocks, *[told("request_id", "x", label)] * num_ids), {}))
    )


def test_one_field_has_one_kind() -> None:
    assert of_clocks(4, 1) == 1
    assert of_clocks(3, 1) == 0
    assert of_clocks(6, 4) == 4
    assert of_clocks(6, 5) == 0
    assert of_clocks(4, 1, label="abc") == 1
    assert of_clocks(4, 1, label="ab") == 0
    assert of_clocks(4, 1, size=120) == 1
    assert of_clocks(4, 1, size=121) == 0


def of_users(num: int, num_edits: int, apart: int = 0, size: int = 5) -> int:
    """How many of the edits are told as a user's words."""
    found = findings(
        *[told("?words", "m" * size, "")] * num, *[told("?words", "n", "", apart)] * num_edits
    )
    decided: dict[tuple[int, int], Kind] = {
        (row, 0): "per_user_field" if row < num else "edited_message" for row in range(len(found))
    }
    changed = dict(as_their_place(found, decided))
    return sum(row >= num for row, _ in changed)


def test_one_place_has_one_kind() -> None:
    assert of_users(3, 1) == 1
    assert of_users(2, 1) == 0
    assert of_users(6, 4) == 4
    assert of_users(6, 5) == 0
    assert of_users(3, 1, apart=40) == 1
    assert of_users(3, 1, apart=41) == 0
    assert of_users(3, 1, size=190) == 1
    assert of_users(3, 1, size=191) == 0


@pytest.mark.parametrize(
    ("seconds", "is_one"),
    [([1, 9, 4, 4, 20], True), ([1, 9, 4, 4], False), ([1, 9, 3, 3, 20], False)],
)
def test_what_grows_with_time_is_a_clock(seconds: list[int], is_one: bool) -> None:
    at = np.cumsum([500, *seconds]).tolist()
    pairs = [Pair(str(at[n]), str(at[n + 1]), n + 1, n) for n in range(len(seconds))]
    assert goes_with_time(pairs, lambda row, other: float(at[row] - at[other])) == is_one


@pytest.mark.parametrize(("num_off", "is_one"), [(1, True), (2, False)])
def test_a_clock_may_be_wrong_now_and_then(num_off: int, is_one: bool) -> None:
    seconds = [7, 90, 33, 12, 51, 28, 64, 19, 45, 76]
    pairs = [
        Pair("5000", str(5000 + step + 30 * (n < num_off)), n + 1, n)
        for n, step in enumerate(seconds)
    ]
    assert goes_with_time(pairs, lambda _, other: float(seconds[other])) == is_one


@pytest.mark.parametrize(
    ("num_alone", "num_pairs", "is_told"),
    [(7, 0, True), (8, 0, False), (18, 1, False), (17, 1, True)],
)
def test_sessions_of_one_request_each_tell_nothing(
    num_alone: int, num_pairs: int, is_told: bool
) -> None:
    codes = np.array([*range(num_alone), *[99] * 2 * num_pairs], dtype=np.int64)
    trace = cast("Trace", SimpleNamespace(session=SimpleNamespace(codes=codes)))
    assert _names_sessions(trace) == is_told


@pytest.mark.parametrize(
    ("num", "num_others", "num_lost", "is_floor"),
    [(4, 0, 4, True), (3, 0, 3, False), (4, 4, 4, True), (4, 5, 4, False), (4, 0, 2, True),
     (4, 0, 1, False)],
)  # fmt: skip
def test_a_floor_is_one_count_again_and_again(
    num: int, num_others: int, num_lost: int, is_floor: bool
) -> None:
    reused = np.array([*[1000] * num, *range(1, num_others + 1)], dtype=np.int64)
    lost = np.array([n < num_lost for n in range(len(reused))], dtype=np.int64) * 50
    trace = cast(
        "Trace", SimpleNamespace(prompt_tokens=2000 + np.arange(len(reused)), identity="text")
    )
    assert bool(constant_floors(trace, reused, lost, ())) == is_floor


def said(*messages: tuple[str, str]) -> Prompt:
    plain = [{"role": role, "content": content} for role, content in messages]
    return PromptBuilder().prompt([Said(one, f"messages[{n}]") for n, one in enumerate(plain)])


def two(shared: int, size: int = 40, role: str = "system") -> tuple[Prompt, Prompt]:
    """Two prompts of so many words, of which so many at their end are the same."""
    same = WORDS[:shared]
    one, other = WORDS[100 : 100 + size - shared], WORDS[300 : 300 + size - shared]
    return said((role, " ".join([*one, *same]))), said((role, " ".join([*other, *same])))


def test_applications_share_half_of_their_instructions() -> None:
    for is_near, least in ((True, 84), (False, 105)):  # they do not begin alike
        assert is_one_application(*two(least, size=140), is_near)
        assert not is_one_application(*two(least - 1, size=140), is_near)
    assert is_one_application(*two(20), False)
    assert not is_one_application(*two(19), False)
    assert shares_words(*two(11, role="user"))
    assert not shares_words(*two(10, role="user"))
    assert not are_told_otherwise(*two(4))
    assert are_told_otherwise(*two(3))
    assert are_told_otherwise(*two(0, size=16))


def test_a_window_that_moved_on_shows_forty_characters() -> None:
    def kind(num: int) -> str | None:
        there, here = f"Begin now. {'x1 y2 z3 ' * 5}{CELLAR[:num]}", f"Begin now. {CELLAR[:num]}"
        shift = shift_of(there, here, common_length(there, here))
        return None if shift is None else shift.kind

    assert kind(40) == "position_shift"
    assert kind(39) is None


@pytest.mark.parametrize(("num_new", "is_shift"), [(100, True), (101, False)])
def test_a_window_that_moved_on_is_half_of_what_follows(num_new: int, is_shift: bool) -> None:
    there = f"Begin now. {'x1 y2 z3 ' * 5}{CELLAR[:100]} and other words"
    here = f"Begin now. {CELLAR[:100]}{'m' * num_new}"
    assert (shift_of(there, here, common_length(there, here)) is not None) == is_shift


def kinds_of_lines(there: list[str], here: list[str]) -> list[str]:
    """What heal_moves finds between texts that begin and end with the same lines."""
    found: list[LeafChange] = []
    one, other = (
        "\n".join(["Begin of it all", *lines, "End of it all", ""]) for lines in (there, here)
    )
    heal_moves(one, other, "system", found)
    return [change.kind for change in found]


@pytest.mark.parametrize(("size", "num"), [(8, 1), (7, 0)])
def test_lines_that_moved_are_long_enough(size: int, num: int) -> None:
    lines = [letter * size for letter in "abc"]
    assert len(kinds_of_lines(lines, [lines[2], *lines[:2]])) == num


@pytest.mark.parametrize(("num", "kind"), [(10, "?words"), (12, "moved_block")])
def test_lines_of_which_a_fifth_was_exchanged_are_drawn_anew(num: int, kind: str) -> None:
    lines = [f"The {word} stands beside the door of {word}" for word in WORDS[:num]]
    new = [f"My {word} is gone with {word}" for word in WORDS[50:52]]
    assert kinds_of_lines(lines, [lines[-1], *lines[2:-1], *new]) == [kind]


def test_what_a_window_has_lost_stands_nowhere_else() -> None:
    def kind(num: int) -> str | None:
        gone = "lantern meadow window"[:num]
        there, here = f"Begin now. {gone}\n{CELLAR[:80]}", f"Begin now. {CELLAR[:80]} {gone}"
        shift = shift_of(there, here, common_length(there, here))
        return None if shift is None else shift.kind

    assert kind(11) == "truncated_history"
    assert kind(12) is None


def test_one_long_template_is_no_other_question() -> None:
    def num_pairs(num_same: int, size: int) -> int:
        num = 100 - num_same
        sides = [
            " ".join([*WORDS[:50], *other, *WORDS[50:num_same]])
            for other in (WORDS[200 : 200 + num], WORDS[300 : 300 + num])
        ]
        prompts = [said(("system", CELLAR), ("user", f"{text:m<{size}}")) for text in sides]
        return len(aligned(prompts[0], prompts[1], 1, False).pairs)

    assert num_pairs(97, 400) == 1
    assert num_pairs(96, 400) == 0
    assert num_pairs(97, 399) == 0


def test_what_moved_to_another_message_is_long_enough() -> None:
    def kinds(moved: str) -> set[str]:
        there = said(("system", f"{CELLAR}\n{moved}\nBe brief."), ("user", "Where is it?"))
        here = said(("system", f"{CELLAR}\nBe brief."), ("user", f"{moved}\n\nWhere is it?"))
        return {change.kind for change in compare(there, here, True).changes}

    assert "moved_block" in kinds("lantern mead")
    assert "moved_block" not in kinds("lantern mea")


def test_a_window_in_one_text_loses_much() -> None:
    def kinds(size: int) -> list[str]:
        lost = ("lantern meadow window bottle " * 20)[:size]
        texts = (
            f"User: {CELLAR[:90]}{part}{CELLAR[90:400]}\nAssistant: Yes.\n" for part in (lost, "")
        )
        there, here = (flat_prompt(text, "prompt") for text in texts)
        return [change.kind for change in compare(there, here, True).changes]

    assert kinds(200) == ["position_shift"]
    assert kinds(199) != ["position_shift"]


def test_members_of_a_list_that_stayed_are_long_enough() -> None:
    def num_healed(member: str) -> int:
        found: list[LeafChange] = []
        heal_items(
            f"Pick: {member}; red fox; blue hen", f"Pick: grey cat; {member}; pig sty", found
        )
        return len(found)

    assert num_healed("abc") == 1
    assert num_healed("ab") == 0


def test_numbers_that_no_float_can_hold_are_not_rounded() -> None:
    assert sorted_text([2**53 - 1]) == sorted_text([float(2**53 - 1)])
    assert sorted_text([2**53]) != sorted_text([2**53 + 1])


def seen(label: str = "", heading: str = "") -> list[Seen]:
    change = Change(
        "?number", "messages[0].content", "system", 0, 0, 0, "5", "6", label, "", heading
    )
    return [Seen(0, 0, False, change)]


def test_a_heading_names_what_stands_below_it() -> None:
    pairs = Pairs(0, 9)
    assert number_kind(seen(heading="one two three four five seed: 5"), pairs) == "random_sample"
    assert number_kind(seen(heading="one two three four five six seed: 5"), pairs) == "counter"


def test_values_that_come_back_twice_are_no_ids() -> None:
    def is_back(*values: str) -> bool:
        changes: list[Any] = [
            Change("?id", "messages[0].content", "system", 0, 0, 0, there, here)
            for there, here in pairwise(values)
        ]
        found = [Finding(n + 1, n, False, 0, Comparison((c,), ())) for n, c in enumerate(changes)]
        return come_back(runs_of([Seen(n, 0, False, c) for n, c in enumerate(changes)], found))

    assert is_back("z", "a", "b", "a", "b")
    assert not is_back("z", "a", "b", "a", "c")


@pytest.mark.parametrize(("apart", "num"), [(40, 1), (41, 0)])
def test_what_changes_beside_a_name_is_of_it(apart: int, num: int) -> None:
    changes = told("?words", "Ann", ""), told("?words", "blue", "", apart)
    finding = Finding(1, 0, False, 0, Comparison(changes, ()))
    decided: dict[tuple[int, int], Kind] = {(0, 0): "per_user_field", (0, 1): "edited_message"}
    assert len(list(_of_users(finding, 0, {}, decided))) == num


def test_a_fix_mends_some() -> None:
    assert Cured(1, 4).is_some
    assert not Cured(1, 5).is_some
    assert not Cured(0, 0).is_some


@pytest.mark.parametrize(("tokens", "slack"), [(0, 160), (3219, 160), (3220, 161), (20_000, 1000)])
def test_what_may_be_missing_from_all(tokens: int, slack: int) -> None:
    assert slack_of(tokens) == slack


@pytest.mark.parametrize(
    ("end", "reason"), [(5008, "provider_missed"), (5009, "breakpoint_missed")]
)
def test_the_head_of_a_reply_lies_behind_the_last_block(end: int, reason: str) -> None:
    rule = rule_of("claude-sonnet-4-5")
    assert rule is not None
    marks = [Mark(0, end / 10_000, None)]
    asked = Asked(prompt=10_000, read=0, shared=5000, age_s=10.0)
    assert _judged(asked, marks, marks, 1.0, rule)[0] == reason

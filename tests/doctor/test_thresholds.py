"""Every number that decides a kind, from both sides: what is just within it is of another kind than
what is just beyond. Of texts and of fields; of histories see test_thresholds_of_histories.py.

Texts are written by hand, as short as the number allows. A row names the constant that it holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hitpath.doctor.change import Change, Kind
from hitpath.doctor.clock_words import are_counts, is_clock, is_labelled
from hitpath.doctor.fields import Pairs
from hitpath.doctor.kinds import Difference, are_ids, is_stamp, kind_of
from hitpath.doctor.leaf import _stand_as_often, leaf_changes
from hitpath.doctor.number_kinds import number_kind
from hitpath.doctor.open_groups import Seen, are_drawn_lists, is_sentence, slots_of, units_of
from hitpath.doctor.prompt import TOOLS
from hitpath.doctor.resolve import _decide, _goes_on, _is_beside, _is_its_number
from hitpath.doctor.textdiff import hunks_of
from hitpath.doctor.word_kinds import words_kind

if TYPE_CHECKING:
    from collections.abc import Sequence

# ruff: noqa: E501
ID = "8f3a2b1c9d4e5f60718293a4b5c6d7e8"


def kinds(there: str, here: str, role: str = "system") -> list[str]:
    return [change.kind for change in leaf_changes(there, here, role)]


def padded(text: str, size: int) -> str:
    """A line of so many characters, in words."""
    return (text + " and" * size)[: size - 1] + "z"


LINES = [
    ("kinds._LONG_ID", "Please quote the mark k3j9x2m7q4w8z1n5 in all that you write to us", "?id"),
    ("kinds._LONG_ID", "Please quote the mark k3j9x2m7q4w8z1n in all that you write to us", "?words"),
    ("of_stamped_line 160", padded(f"Please quote {ID}", 160), "?id"),
    ("of_stamped_line 160", padded(f"Please quote {ID}", 161), "?words"),
    ("kinds._SHORT_ID", "mark k7f3x9q2", "?id"),
    ("kinds._SHORT_ID", "mark k7f3x9q", "?words"),
    ("_is_id_alone", "mark of us k7f3x9q2", "?id"),
    ("_is_id_alone", "mark for us k7f3x9q2", "?words"),
    ("of_template_flip 400", padded("<|im_start|>", 399), "template_flip"),
    ("of_template_flip 400", padded("<|im_start|>", 400), "?words"),
    ("kinds._LONGEST_ATTRIBUTION", padded("Rules of x-client-attribution:", 599), "attribution"),
    ("kinds._LONGEST_ATTRIBUTION", padded("Rules of x-client-attribution:", 600), "?words"),
    ("of_tool", '{"name": "find", "description": "Finds."}', "tool_set"),
    ("of_tool", '{"name": "find", "about": "Finds."}', "?words"),
]  # fmt: skip


@pytest.mark.parametrize(("constant", "line", "kind"), LINES)
def test_a_line_that_only_one_of_two_texts_has(constant: str, line: str, kind: str) -> None:
    with_line, without = f"Be brief.\n{line}\nBe kind.\n", "Be brief.\nBe kind.\n"
    assert kinds(without, with_line) == [kind], constant
    assert kinds(with_line, without) == [kind], constant


PAIRS = [
    ("kinds._LEAST_ALIKE", "for k7f3x9q2m1z8 now", "for abcdefghijkl now", ["?id"]),
    ("kinds._LEAST_ALIKE", "for k7f3x9q2m1z now", "for abcdefghijk now", ["?words"]),
    ("kinds._SHORT_ID", "for k7f3x9q2 now", "for ab2defgh now", ["?id"]),
    ("kinds._SHORT_ID", "for k7f3x9q now", "for ab2defg now", ["?words"]),
    ("kinds._NEAR_IN_HEX", "at 0x7f3a9c12d4e8 now", "at 0x7f3a9c12e4e7 now", ["?number"]),
    ("kinds._NEAR_IN_HEX", "at 0x7f3a9c12d4e8 now", "at 0x7f3a9c12e4e8 now", ["?id"]),
    ("_only_digits_differ 9", "for v123456789 now", "for v123456788 now", ["?number"]),
    ("_only_digits_differ 9", "for v1234567890 now", "for v1234567880 now", ["?id"]),
    ("_are_exchanged", "room \u0664\u0662 of red", "room 42 of blue", ["unicode_form", "?words"]),
    ("_are_exchanged", "room \u0664\u0662 of red \u0663", "room 42 of blue \u0663", ["?words"]),
    ("_are_exchanged", "room \u0664\u0662 of red", "room 42 of 7 blue", ["?words"]),
    ("leaf.joined 12", f"run 41 {'m' * 10} 12 ok", f"run 42 {'m' * 10} 13 ok", ["?number"]),
    ("leaf.joined 12", f"run 41 {'m' * 11} 12 ok", f"run 42 {'m' * 11} 13 ok", ["?number", "?number"]),
]  # fmt: skip


@pytest.mark.parametrize(("constant", "there", "here", "found"), PAIRS)
def test_one_word_for_another(constant: str, there: str, here: str, found: list[str]) -> None:
    assert kinds(there, here) == found, constant
    assert kinds(here, there) == found, constant


DAY_S, YEAR_S = 86_400, 366 * 86_400
UNIX, WINDOWS, NET = 2_500_000_000, 134_100_000_000_000_000, 639_000_000_000_000_000
COUNTS = [
    ("seconds", UNIX, YEAR_S),
    ("milliseconds", UNIX * 10**3, YEAR_S * 10**3),
    ("microseconds", UNIX * 10**6, YEAR_S * 10**6),
    ("nanoseconds", UNIX * 10**9, YEAR_S * 10**9),
    ("Windows, since 1601", WINDOWS, YEAR_S * 10**7),
    (".NET, since the year 1", NET, YEAR_S * 10**7),
]


@pytest.mark.parametrize(("unit", "now", "year"), COUNTS)
def test_counts_of_one_year_are_clocks(unit: str, now: int, year: int) -> None:
    assert are_counts(str(now), str(now + year - 1)), unit
    assert not are_counts(str(now), str(now + year)), unit
    assert kinds(f"value={now} end", f"value={now + year - 1} end") == ["clock"], unit
    assert kinds(f"value={now} end", f"value={now + year} end") == ["?number"], unit


@pytest.mark.parametrize(
    ("low", "high"),
    [(9 * 10**8, 26 * 10**8), (12 * 10**16, 16 * 10**16), (62 * 10**16, 67 * 10**16)],
)
def test_numbers_of_no_year_near_ours_are_no_clocks(low: int, high: int) -> None:
    assert are_counts(str(low), str(low + 9))
    assert are_counts(str(high - 9), str(high))
    assert not are_counts(str(low - 1), str(low + 9))
    assert not are_counts(str(high - 9), str(high + 1))


def test_counts_of_one_month_in_hexadecimal_or_by_the_julian_day_are_clocks() -> None:
    month = 31 * DAY_S
    assert are_counts(f"{UNIX:x}", f"{UNIX + month - 1:x}")
    assert not are_counts(f"{UNIX:x}", f"{UNIX + month:x}")
    assert are_counts("2461000.500", "2461031.499")
    assert not are_counts("2461000.500", "2461031.500")


def test_a_number_between_two_edits_is_part_of_them() -> None:
    there = "We go to the old {} house and then we all rest there for a while."
    close, apart = (there.format(words) for words in ("red 4 blue", "red my 4 my blue"))
    assert kinds(close, close.replace("red 4 blue", "big 5 cold"), "user") == ["edited_message"]
    others = apart.replace("red my 4 my blue", "big my 5 my cold")
    assert "?number" in kinds(apart, others, "user")


@pytest.mark.parametrize("sides", [(0, 1), (1, 0)])
def test_a_marker_stands_for_little(sides: tuple[int, int]) -> None:
    def kind(size: int) -> str:
        texts = padded("One", size), "<|im_start|>"
        return kind_of(Difference(texts[sides[0]], texts[sides[1]], "", "", role="system"))

    assert kind(400) == "template_flip"
    assert kind(401) == "?words"


def test_most_of_an_id_is_one() -> None:
    uuid = "7f9c24e8-3b1a-4c5d-9e2f-1a2b3c4d5e6f"
    assert are_ids("\u00e9" * 9 + uuid, "\u00e8" * 9 + uuid)
    assert not are_ids("\u00e9" * 10 + uuid, "\u00e8" * 10 + uuid)


def test_few_and_short_lines_are_a_clock() -> None:
    assert is_clock("\n".join(["10:15:07"] * 4))
    assert not is_clock("\n".join(["10:15:07"] * 5))
    line = " ".join(["10:15:07"] * 13)
    assert is_clock(line + "." * (120 - len(line)))
    assert not is_clock(line + "." * (121 - len(line)))


def test_lines_that_mostly_tell_a_time_are_a_clock() -> None:
    assert is_clock("5 min ago okay")
    assert not is_clock("5 min ago okays")


@pytest.mark.parametrize(
    ("number", "may_be"),
    [("23", True), ("123", False), ("2359", True), ("2459", False), ("2360", False),
     ("235959", True), ("235960", False), ("12345678", False), ("123456789", True),
     ("46088", False), ("46088.27", True), ("4608.27", False)],
)  # fmt: skip
def test_a_number_behind_a_word_for_time_may_tell_one(number: str, may_be: bool) -> None:
    assert is_labelled("Current time: ", [number, number]) == may_be


def test_a_stamp_has_few_words_beside_it() -> None:
    assert is_stamp(f"one two three four five six {ID}")
    assert not is_stamp(f"one two three four five six seven {ID}")
    assert is_stamp("-" * (160 - 1 - len(ID)) + f" {ID}")
    assert not is_stamp("-" * (161 - 1 - len(ID)) + f" {ID}")


def test_what_is_equal_between_two_stretches_joins_them() -> None:
    def num_hunks(between: int) -> int:
        there = f"one {'alpha' * 6} {'m' * between} {'beta' * 7} end"
        return len(hunks_of(there, there.replace("alpha", "gamma").replace("beta", "zeta")))

    assert num_hunks(22) == 1  # and the two spaces
    assert num_hunks(23) == 2


def test_texts_that_share_less_than_half_of_their_words_are_one_difference() -> None:
    def num_hunks(same: int) -> int:
        words = [f"word{one}" for one in "abcdefghijklmnopqrst"]
        others = [w if n % 2 and n < 2 * same else w.upper() for n, w in enumerate(words)]
        return len(hunks_of(" ".join(words), " ".join(others)))

    assert num_hunks(10) > 1
    assert num_hunks(9) == 1


@pytest.mark.parametrize(("size", "start"), [(200, 0), (201, 201)])
def test_what_came_is_cut_at_the_line_that_it_may_begin_with(size: int, start: int) -> None:
    word = "m" * (size - 1) + " "
    (hunk,) = hunks_of(f"{word}stop", f"{word}{word}stop")
    assert hunk.start == start


@pytest.mark.parametrize(("size", "kind"), [(999, "attribution"), (1000, "?words")])
def test_a_line_of_a_client_is_short(size: int, kind: str) -> None:
    line = padded("x-anthropic-billing-header:", size)
    assert kinds("Be brief.\n", f"{line}\nBe brief.\n") == [kind]


def seen(
    there: str, here: str, within: bool = False, label: str = "w:", segment: str = "system"
) -> Seen:
    told = Change("?words", "messages[0].content", segment, 0, 0, 0, there, here, label)
    return Seen(0, 0, within, told)


def chain(
    within: Sequence[float], between: Sequence[float], start: float, label: str = "w:"
) -> list[Seen]:
    """A number that changes by those steps within sessions, then by these between them."""
    found = []
    for number, step in enumerate([*within, *between]):
        there, start = start, start + step
        found.append(seen(f"{there:.0f}", f"{start:.0f}", number < len(within), label))
    return found


ZIGZAG = [-100, 80, -90, 70]
NUMBERS: list[tuple[str, list[Seen], Pairs, Kind]] = [
    ("_SMALL_STEP", chain([], [16], 50), Pairs(0, 9), "counter"),
    ("_SMALL_STEP", chain([], [17], 50), Pairs(0, 9), "random_sample"),
    ("_SMALL_STEP anew", chain([], [16, 16, 16, 16, -50, -50], 300), Pairs(0, 9), "counter"),
    ("_SMALL_STEP anew", chain([], [17, 17, 17, 17, -50, -50], 300), Pairs(0, 9), "random_sample"),
    ("_DRAWN", chain([], [20, 20, 20], 50), Pairs(0, 9), "counter"),
    ("_DRAWN", chain([], [20, 20], 50), Pairs(0, 9), "random_sample"),
    ("one_way 0.9", chain([], [20] * 9 + [-20], 50), Pairs(0, 20), "counter"),
    ("one_way 0.9", chain([], [20] * 8 + [-20], 50), Pairs(0, 20), "random_sample"),
    ("_ALIKE_STEPS", chain([20, 60, 20], ZIGZAG, 300), Pairs(4, 4), "counter"),
    ("_ALIKE_STEPS", chain([20, 61, 20], ZIGZAG, 300), Pairs(4, 4), "random_sample"),
    ("_DRAWN within", chain([20, 60], ZIGZAG, 300), Pairs(4, 4), "random_sample"),
    ("_OFTEN", chain([20, 61, 20, 20, 61, 20], ZIGZAG, 300), Pairs(6, 4), "counter"),
    ("_OFTEN", chain([20, 61, 20, 20, 61], ZIGZAG, 300), Pairs(6, 4), "random_sample"),
    ("_MOSTLY_WITHIN", chain([1] * 9 + [-20], ZIGZAG, 300), Pairs(10, 4), "counter"),
    ("_MOSTLY_WITHIN", chain([1] * 8 + [-20], ZIGZAG, 300), Pairs(9, 4), "random_sample"),
    ("_MOSTLY", chain([], [1, 1, 1, -20, -20], 300), Pairs(0, 5), "counter"),
    ("_MOSTLY", chain([], [1, 1, 1, 1, 1, -20, -20, -20, -20], 300), Pairs(0, 9), "random_sample"),
    ("stays_in_session 0.1", chain([5], ZIGZAG, 300), Pairs(10, 4), "per_user_field"),
    ("stays_in_session 0.1", chain([5], ZIGZAG, 300), Pairs(9, 4), "random_sample"),
    ("_LONG_NUMBER", chain([], [1000, -500, 1500], 1000, "request"), Pairs(0, 9), "request_id"),
    ("_LONG_NUMBER", chain([], [100, -50, 150], 100, "request"), Pairs(0, 9), "counter"),
    ("_jumps 0.1", chain([], [10] * 9 + [-10], 1000, "request"), Pairs(0, 20), "request_id"),
    ("_jumps 0.1", chain([], [10] * 10 + [-10], 1000, "request"), Pairs(0, 20), "counter"),
    ("_WIDE_STEP", chain([], [2030], 100_000, "request"), Pairs(0, 9), "request_id"),
    ("_WIDE_STEP", chain([], [1990], 100_000, "request"), Pairs(0, 9), "counter"),
    ("_ID_DIGITS", chain([], [50_000], 100_000, "request"), Pairs(0, 9), "request_id"),
    ("_ID_DIGITS", chain([], [50_000], 49_000, "request"), Pairs(0, 9), "counter"),
    ("_FEW", chain([], [50_000] * 4, 100_000, "request"), Pairs(0, 9), "request_id"),
    ("_FEW", chain([], [50_000] * 5, 100_000, "request"), Pairs(0, 9), "counter"),
    ("fields._NAMING_WORDS", chain([], [1], 5, "a seed is for now"), Pairs(0, 9), "random_sample"),
    ("fields._NAMING_WORDS", chain([], [1], 5, "a seed is good for now"), Pairs(0, 9), "counter"),
]  # fmt: skip


@pytest.mark.parametrize(("constant", "group", "pairs", "kind"), NUMBERS)
def test_numbers_of_one_field(constant: str, group: list[Seen], pairs: Pairs, kind: Kind) -> None:
    assert number_kind(group, pairs) == kind, constant


def texts(within: int, between: int, *words: str, segment: str = "system") -> list[Seen]:
    """So many changes of a field, each to the next of the words."""
    return [
        seen(words[n % len(words)], words[(n + 1) % len(words)], n < within, "we use", segment)
        for n in range(within + between)
    ]


METALS = (
    "copper",
    "silver",
    "iron",
    "gold",
    "zinc",
    "lead",
    "brass",
    "steel",
    "cobalt",
    "nickel",
    "tin",
)
SAYINGS = "walk over to town", "never eat before noon", "all lamps burn low", "rain falls on tin"
TALES = "walk over there", "never eat noon", "all lamps burn", "rain falls softly"
WORDS: list[tuple[str, list[Seen], Pairs, Kind]] = [
    ("_OFTEN", texts(3, 0, *METALS), Pairs(10, 0), "random_sample"),
    ("_OFTEN", texts(3, 0, *METALS), Pairs(11, 0), "edited_message"),
    ("within 0.1", texts(1, 4, *METALS), Pairs(9, 4), "edited_message"),
    ("within 0.1", texts(1, 4, *METALS), Pairs(10, 4), "per_user_field"),
    ("_RARELY", texts(0, 2, *METALS), Pairs(0, 10), "edited_message"),
    ("_RARELY", texts(0, 2, *METALS), Pairs(0, 9), "per_user_field"),
    ("between 5", texts(2, 0, *METALS), Pairs(20, 5), "edited_message"),
    ("between 5", texts(2, 0, *METALS), Pairs(20, 4), "per_user_field"),
    ("_SHORT", texts(0, 3, *(metal[0] * 200 for metal in METALS)), Pairs(0, 3), "random_sample"),
    ("_SHORT", texts(0, 3, *(metal[0] * 199 for metal in METALS)), Pairs(0, 3), "per_user_field"),
    ("_DRAWN", texts(0, 3, *SAYINGS), Pairs(0, 4), "random_sample"),
    ("_DRAWN", texts(0, 2, *SAYINGS), Pairs(0, 4), "per_user_field"),
    ("_are_said", texts(1, 1, *SAYINGS), Pairs(10, 4), "random_sample"),
    ("_are_said", texts(0, 2, *SAYINGS), Pairs(10, 4), "per_user_field"),
    ("_TURNS", texts(5, 0, *SAYINGS[:2], segment=TOOLS), Pairs(10, 0), "tool_set"),
    ("_TURNS", texts(5, 0, *SAYINGS[:3], segment=TOOLS), Pairs(10, 0), "random_sample"),
    ("_NAME_WORDS", texts(0, 3, *TALES), Pairs(0, 4), "per_user_field"),
]  # fmt: skip


@pytest.mark.parametrize(("constant", "group", "pairs", "kind"), WORDS)
def test_words_of_one_field(constant: str, group: list[Seen], pairs: Pairs, kind: Kind) -> None:
    assert words_kind(group, pairs) == kind, constant


@pytest.mark.parametrize(
    ("pairs", "kind"),
    [(Pairs(0, 10), "edited_message"), (Pairs(0, 9), "counter"),
     (Pairs(5, 5), "edited_message"), (Pairs(6, 4), "counter")],
)  # fmt: skip
def test_a_number_that_changed_once_in_many_pairs_was_edited(pairs: Pairs, kind: Kind) -> None:
    assert _decide("?number", [seen("41", "42")], pairs) == kind


def at(start: int, there: str, here: str, label: str = "") -> Change:
    return Change(
        "?words", "messages[0].content", "system", 0, start, start + 9, there, here, label
    )


def test_words_beside_a_sample_are_of_it() -> None:
    drawn = at(0, "- one", "- two")
    assert _is_beside(at(9 + 400, "- three", "- four"), drawn)
    assert not _is_beside(at(9 + 401, "- three", "- four"), drawn)
    assert _is_beside(at(9 + 100, "three", "four"), drawn)
    assert not _is_beside(at(9 + 101, "three", "four"), drawn)
    assert not _is_beside(at(9 + 100, "three", "four", "User:"), drawn)
    assert _is_its_number(at(9 + 2, "1", "2"), drawn)
    assert not _is_its_number(at(9 + 3, "1", "2"), drawn)


def test_a_label_goes_on_by_one_word() -> None:
    assert _goes_on("I am Ann", "I am")
    assert not _goes_on("I am Ann", "I")
    assert not _goes_on("I am my Ann", "I am")
    assert not _goes_on("we Ann", "we ")


def test_lines_are_known_by_their_beginnings() -> None:
    assert units_of(at(0, "twelve chars", "")) == {"twelve chars"}
    assert units_of(at(0, "eleven char", "")) == set()
    assert units_of(at(0, "m" * 47 + "xy", "")) == units_of(at(0, "m" * 47 + "xz", ""))
    assert units_of(at(0, "m" * 47 + "x", "")) != units_of(at(0, "m" * 47 + "y", ""))
    cut = "a line of the pool\n" + "n" * 40
    assert len(units_of(at(0, cut, ""))) == 2
    assert len(units_of(at(0, "p" * 150 + "\n" + "n" * 47, ""))) == 2
    assert len(units_of(at(0, "p" * 160 + "\n" + "n" * 47, ""))) == 1
    assert len(units_of(at(0, "p" * 160 + "\n" + "n" * 48, ""))) == 2


def test_lists_are_drawn_where_members_come_again() -> None:
    one, two, three = "red, blue, green", "blue, green, white", "green, white, red"
    lists = [seen(one, two), seen(two, three)]
    assert are_drawn_lists(lists)
    assert not are_drawn_lists([seen("red, blue, green", "green, blue, red")])
    others = ["red, blue, green", "blue, white, black", "grey, pink, beige"]
    assert not are_drawn_lists([seen(others[0], others[1]), seen(others[1], others[2])])
    singles = [seen(metal, METALS[-1]) for metal in METALS[:3]]
    assert are_drawn_lists([*lists, *singles[:2]])
    assert not are_drawn_lists([*lists, *singles])


def test_a_template_is_known_by_a_third_of_its_words() -> None:
    assert slots_of(at(0, "the red fox", "the big cat")) == ("red fox", "big cat")
    assert slots_of(at(0, "the red fox ran", "the big cat sat")) == (
        "the red fox ran",
        "the big cat sat",
    )


def test_a_name_has_few_words() -> None:
    assert not is_sentence("one two three")
    assert is_sentence("one two three four")
    assert not is_sentence("one two three four:")


def test_lines_that_stand_as_often_are_few_and_short() -> None:
    def may_be_loose(lines: list[str]) -> bool:
        text = "\n".join(lines)
        return _stand_as_often(text, f"{text}\n{text}", f"{text}\nmore\n{text}")

    assert may_be_loose(["m" * 24])
    assert not may_be_loose(["m" * 25])
    assert may_be_loose([f"line {n}" for n in range(32)])
    assert not may_be_loose([f"line {n}" for n in range(33)])

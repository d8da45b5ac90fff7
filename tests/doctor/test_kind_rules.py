"""One rule a kind, on shapes that people report; and what no rule may take for a defect."""

import pytest

from hitpath.doctor.kinds import Difference, is_stamp, kind_of
from hitpath.doctor.leaf import leaf_changes


def kinds(there: str, here: str, role: str = "system") -> list[str]:
    return [change.kind for change in leaf_changes(there, here, role)]


# ruff: noqa: E501
CASES = [
    ("Current time: 2026-11-29 10:15:07.", "Current time: 2026-11-29 10:15:28.", "clock"),
    ("Today is Sunday, November 29, 2026.", "Today is Monday, November 30, 2026.", "clock"),
    ("now=1764411307123", "now=1764411311123", "clock"),
    ("It is a fine Monday morning.", "It is a fine Tuesday evening.", "clock"),
    ("Request: 7f9c24e8-3b1a-4c5d-9e2f-1a2b3c4d5e6f", "Request: 1a2b3c4d-3b1a-4c5d-9e2f-7f9c24e85e6f", "?id"),
    ("trace req_8f3a2b1c9d end", "trace req_1c9d8f3a2b end", "?id"),
    ("This is request #41 today", "This is request #42 today", "?number"),
    ("x-anthropic-billing-header: cc_version=2.1.3; cch=00a1f;\nYou", "x-anthropic-billing-header: cc_version=2.1.3; cch=9c4d2;\nYou", "attribution"),
    ("one two", "one  two", "white_space"),
    ("one\ntwo\n", "one\r\ntwo\r\n", "white_space"),
    ("one two", "one two ", "white_space"),
    ("one two", "\ufeffone two", "hidden_characters"),
    ("one two", "one\u200b two", "hidden_characters"),
    ("one two", "one\u00a0two", "hidden_characters"),
    ("caf\u00e9", "cafe\u0301", "unicode_form"),
    ("he said \u201cno\u201d", 'he said "no"', "unicode_form"),
    ("limit 1,500 euros", "limit 1500 euros", "number_format"),
    ("rate 0.10 now", "rate 0.1 now", "number_format"),
    ("rate 3,14 now", "rate 3.14 now", "number_format"),
    ('see {"a": 1, "b": 2} ok', 'see {"b": 2, "a": 1} ok', "key_order"),
    ('see {"a": ["x", "y"]} ok', 'see {"a": ["y", "x"]} ok', "array_order"),
    ("regions: us, eu, ap.", "regions: ap, us, eu.", "array_order"),
    ("You serve Alice Moreau well", "You serve Bob Tanaka well", "?words"),
    ("Nous sommes le 9 mars 2026 \u00e0 6 h 44.", "Nous sommes le 9 mars 2026 \u00e0 6 h 51.", "clock"),
    ("9th of march 2026, 06.32am now", "9th of march 2026, 11.05am now", "clock"),
    ("Ora esatta: 09/03/2026 alle 11.30.18", "Ora esatta: 09/03/2026 alle 11.54.19", "clock"),
    ("\u4eca\u306f\u4ee4\u548c8\u5e743\u67089\u65e5 6\u664233\u5206\u3067\u3059", "\u4eca\u306f\u4ee4\u548c8\u5e743\u67089\u65e5 7\u664241\u5206\u3067\u3059", "clock"),
    ("day 68 of 2026", "day 69 of 2026", "clock"),
    ("week 2026-W11-1 begins", "week 2026-W11-2 begins", "clock"),
    ("ticks=639086148000000000", "ticks=639086148370000000", "clock"),
    ("find a flight on a date. (You have answered 7 of them)", "find a flight on a date. (You have answered 8 of them)", "?number"),
    ("version 12.4.1 of it", "version 12.5.1 of it", "?number"),
    ("message_index: 0x11", "message_index: 0x12", "?number"),
    ("X-Request-Id: req_wadPNN4ZkSPfgkWqnn9Pmm", "X-Request-Id: req_CNO1ASw4eK4PSsBC2RjuKL", "?id"),
    ("call-id call_MwemaQGVJnVpvxbfXjoKT5 (secret)", "call-id call_P1j9Cuk791Yltm0l67hlCAAbR (secret)", "?id"),
    ("(run 54b5aa64-723f)", "(run beb993ba-671e)", "?id"),
    ("xid 1f9tuh64ua93occzt3ml", "xid kbfkplacywxyb5uzadoa", "?id"),
    ("Working directory: /home/ann/src", "Working directory: /home/bob/src", "?words"),
    ("a conversation with us", "a conver\U000e0041sation with us", "hidden_characters"),
    ("trace b91aaff1b29e9927f7bc982d", "trace b91aaff1b29e\x7f9927f7bc982d", "hidden_characters"),
    ("The letter says 61615712a4fd.", "The letter says 616157\ufeff12a4fd.", "hidden_characters"),
    ("a wo\u200drd", "a wo\u200crd", "hidden_characters"),
    ("Room \uff11\uff12 is large", "Room 12 is large", "unicode_form"),
    ("The level is 5.", "The level is +5.", "number_format"),
    ("La limite est de 1 000,5 euros.", "La limite est de 1000,5 euros.", "number_format"),
    ("It weighs 1500 kg.", "It weighs 1.5E+3 kg.", "number_format"),
    ("Up to 1000000 entries", "Up to 1_000_000 entries", "number_format"),
]  # fmt: skip


@pytest.mark.parametrize(("there", "here", "kind"), CASES)
def test_each_shape_is_of_its_kind(there: str, here: str, kind: str) -> None:
    assert set(kinds(there, here)) == {kind}
    assert set(kinds(here, there)) == {kind}


@pytest.mark.parametrize(
    "lines",
    [
        ["Document A: about ships", "Document B: about trains", "Document C: about planes"],
        ["[1] first passage of text", "[2] second passage of text", "[3] third passage, longer"],
    ],
)
def test_lines_in_another_order_have_moved(lines: list[str]) -> None:
    there = "Intro\n" + "\n".join(lines) + "\nEnd\n"
    here = "Intro\n" + "\n".join([lines[2], *lines[:2]]) + "\nEnd\n"
    assert kinds(there, here) == ["moved_block"]


def test_a_list_of_bullets_in_another_order_has_moved() -> None:
    there = "Rules\n- alpha is first\n- beta is second\n- gamma is third\n"
    here = "Rules\n- gamma is third\n- alpha is first\n- beta is second\n"
    assert kinds(there, here) == ["moved_block"]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("request_id=831ff4363d2e16a104ef9f8edae991a0", "?id"),
        ("Now: 2026-03-09T12:25:28.238000+05:30", "clock"),
        ("[step 12 of 40]", "?number"),
        ("x-anthropic-billing-header: cc_version=2.1.3; cch=00a1f;", "attribution"),
    ],
)
@pytest.mark.parametrize(
    ("before", "after"), [("Be brief.", ""), ("", "\nBe brief."), ("A.", "\nB.")]
)
def test_a_line_end_goes_with_its_line(line: str, kind: str, before: str, after: str) -> None:
    with_line = f"{before}\n{line}{after}" if before else f"{line}{after}"
    without = f"{before}{after}" if before else after[1:]
    for there, here in ((without, with_line), (with_line, without)):
        assert kinds(there, here) == [kind]


def test_of_a_form_only_the_characters_count_that_are_not_as_they_were() -> None:
    there, here = "one conversation here", "one conver\u200bsation here"
    (change,) = leaf_changes(there, here, "system")
    assert (change.start, change.stop, change.first) == (10, 11, 10)
    (change,) = leaf_changes(here, there, "system")
    assert (change.start, change.stop, change.first) == (10, 10, 10)


def test_moved_lines_begin_where_they_do_and_not_at_a_clock_before_them() -> None:
    files = ["<file a>\nrivers run\n</file>\n", "<file b>\nthe mill stands\n</file>\n"]
    there = "Time: 10:15:07\nAll files:\n" + "".join(files)
    here = "Time: 10:15:28\nAll files:\n" + "".join(files[::-1])
    found = leaf_changes(there, here, "system")
    assert [change.kind for change in found] == ["clock", "moved_block"]
    assert [change.first for change in found] == [here.index("28"), here.index("b>")]


@pytest.mark.parametrize("text", ["\n[trace d5c04705-364dcd82f1d4f4c2]", "Timestamp: 1773041069\n\n",
                                  "conversation: conv_01R7T8ZAPM0M0W8A2NPFE9AFQ5\n"])  # fmt: skip
def test_a_stamp_is_nothing_else(text: str) -> None:
    assert is_stamp(text)
    assert not is_stamp(f"Where is my parcel of last week, please? {text}")
    assert not is_stamp("It left the depot.")


def test_reasoning_that_comes_and_goes_is_a_template_flip() -> None:
    think = "<think>\n\n</think>\n\nThe answer is 4."
    assert kinds(think, "The answer is 4.", "assistant") == ["template_flip"]


def test_an_image_encoded_anew() -> None:
    difference = Difference("/9j/4AAQ", "iVBORw0K", '"url":"data:image/jpeg;base64,', '"}')
    assert kind_of(difference) == "image_encoding"


def test_what_the_model_said_otherwise_is_an_edit() -> None:
    assert kinds("I will look it up.", "I have looked it up.", "assistant") == ["edited_message"]


def test_all_differences_of_one_text_are_found_with_their_first_character() -> None:
    there = "Bot.\nTime: 2026-11-29 10:15:07\nID: req_8f3a2b1c9d\nBe nice.\n"
    here = "Bot.\nTime: 2026-11-29 10:15:28\nID: req_8f3a2b1c9e\nBe  nice.\n"
    found = leaf_changes(there, here, "system")
    assert [change.kind for change in found] == ["clock", "?id", "white_space"]
    assert [change.first for change in found] == [
        here.index("28"),
        here.index("e\nBe"),
        here.index(" nice"),
    ]

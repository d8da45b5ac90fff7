"""Every number that decides what became of a history, which requests are of one dialogue and what a
fix takes: just within it and just beyond.

Prompts are written by hand, as short as the number allows. A row names the constant that it holds.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from doctor.test_dialogues_and_forms import called
from doctor.test_dialogues_and_forms import said as said_by
from hitpath.doctor.align import _exact, aligned
from hitpath.doctor.build_prompt import PromptBuilder, Said
from hitpath.doctor.change import Change, Comparison
from hitpath.doctor.diagnose import Finding, Requests
from hitpath.doctor.dialogues import (
    _behind_instructions,
    _share_a_line,
    _sums_up,
    are_two_dialogues,
)
from hitpath.doctor.history import (
    _is_json,
    _is_summary,
    _stand_elsewhere,
    counts,
    goes_on_in,
    is_cleared,
    is_note,
    quotes,
    result_shortened,
    shortened,
)
from hitpath.doctor.said_in_both import _answered
from hitpath.doctor.said_keys import _untagged
from hitpath.doctor.same_words import are_the_same_words
from hitpath.doctor.sample_lines import SampleLines, sample_lines_of
from hitpath.doctor.stamps import stamps_of
from hitpath.doctor.threads import Threads, is_one_conversation

if TYPE_CHECKING:
    from hitpath.doctor.prompt import Prompt

A, B = (
    "The pump stands in the cellar and hums along. " * 20,
    "xyzzy plugh foo bar baz qux quux " * 20,
)


def built(messages: list[dict[str, Any]]) -> Prompt:
    return PromptBuilder().prompt([Said(one, f"messages[{n}]") for n, one in enumerate(messages)])


def said(*messages: tuple[str, str]) -> Prompt:
    return built([said_by(role, content) for role, content in messages])


# ---- what is left of a text

CUT: list[tuple[str, str, str, str | None]] = [
    ("_LEAST_CUT first", A[:20] + B[:60], A[:20] + " [and on]", "truncated_history"),
    ("_LEAST_CUT first", A[:19] + B[:60], A[:19] + " [and on]", None),
    ("2 * _LEAST_CUT", A[:40] + B[:40], A[:40], "truncated_history"),
    ("2 * _LEAST_CUT", A[:40] + B[:39], A[:40], None),
    ("first 0.2", A[:20] + B[:40] + A[100:180], A[:20] + A[100:180], "truncated_history"),
    ("first 0.2", A[:19] + B[:40] + A[100:180], A[:19] + A[100:180], None),
    ("kept -8", A[:80] + B[:60], A[:80] + "     ...", "truncated_history"),
    ("kept -8", A[:80] + B[:60], A[:80] + "      ...", None),
    ("kept 0.2", A[:20] + B[:200], A[:20] + "#" * 73 + "cleared", "truncated_history"),
    ("kept 0.2", A[:20] + B[:200], A[:20] + "#" * 74 + "cleared", "compacted_history"),
    ("note 400", A[:100] + B[:600], A[:100] + "cleared" + "#" * 393, "truncated_history"),
    ("note 400", A[:100] + B[:600], A[:100] + "cleared" + "#" * 394, None),
    ("2 * len(note)", A[:20] + B[:41], A[:20] + "#" * 13 + "summary", "compacted_history"),
    ("2 * len(note)", A[:20] + B[:40], A[:20] + "#" * 13 + "summary", None),
    ("_is_a_line", "one\n" + A[:199] + "\n", "one\n", None),
    ("_is_a_line", "one\n" + A[:200] + "\n", "one\n", "truncated_history"),
    ("_is_shift", B[:20] + A[:20], A[:20], "position_shift"),
    ("_is_shift", B[:21] + A[:19], A[:19], None),
]  # fmt: skip


@pytest.mark.parametrize(("constant", "there", "here", "kind"), CUT)
def test_what_is_left_of_a_text(constant: str, there: str, here: str, kind: str | None) -> None:
    found = shortened(there, here)
    assert (found and found[0]) == kind, constant


WORDS = ["copper", "silver", "cobalt", "nickel", "bronze", "wolfram", "titan", "radium"]
OTHERS = ["lantern", "meadow", "window", "bottle", "garden", "ladder", "pencil", "basket"]
TEN = " ".join([*WORDS, *OTHERS[:2]])
RESULTS: list[tuple[str, str, str, str | None]] = [
    ("_LONGEST_MARK", A[:200] + B[:200], A[:200] + "#" * 80, "truncated_history"),
    ("_LONGEST_MARK", A[:200] + B[:200], A[:200] + "#" * 81, None),
    ("1.5", A[:200] + B[:90], A[:200] + "#" * 60, "truncated_history"),
    ("1.5", A[:200] + B[:89], A[:200] + "#" * 60, None),
    ("_FEW_WORDS", A[:200], "it is gone now for ever and in all of us", "truncated_history"),
    ("_FEW_WORDS", TEN, "zz radium", "truncated_history"),
    ("_FEW_WORDS", TEN, "zz radium titan", None),
    ("_LONGEST_NOTE", A[:700], "#" * 300, "truncated_history"),
    ("_LONGEST_NOTE", A[:700], "#" * 301, None),
]  # fmt: skip


@pytest.mark.parametrize(("constant", "there", "here", "kind"), RESULTS)
def test_what_is_left_of_a_result(constant: str, there: str, here: str, kind: str | None) -> None:
    found = result_shortened(there, here)
    assert (found and found[0]) == kind, constant


def test_json_with_the_end_of_a_turn_was_not_cut() -> None:
    assert _is_json('["a"]' + "#" * 32)
    assert not _is_json('["a"]' + "#" * 33)


def test_one_question_alone_has_moved_where_it_is_long() -> None:
    prompt = said(("user", A[:120]), ("user", A[:119]))
    long, short = prompt.messages
    assert _stand_elsewhere(prompt, [long], prompt)
    assert not _stand_elsewhere(prompt, [short], prompt)


def test_a_text_that_goes_on_in_another_is_long_enough() -> None:
    assert goes_on_in(A[:20], A[:60])
    assert not goes_on_in(A[:19], A[:60])


def test_a_note_is_short() -> None:
    note = "Messages of this chat were removed to fit "
    assert is_note(note + "x" * (120 - len(note)))
    assert not is_note(note + "x" * (121 - len(note)))
    assert is_cleared(A[:700], "#" * 293 + "cleared")
    assert not is_cleared(A[:700], "#" * 294 + "cleared")
    assert not is_cleared(A[:599], "#" * 293 + "cleared")


def test_a_note_that_counts_goes_on_from_the_same_beginning() -> None:
    assert counts(A[:20] + " 3 turns", A[:20] + " 7 turns left out")
    assert not counts(A[:18] + "3 turns", A[:18] + "7 turns left out")


def test_words_are_quoted_by_a_run_of_ten_characters() -> None:
    assert quotes("on abcdefghij go", ["to.abcdefghij!"])
    assert not quotes("on bcdefghij go", ["to.bcdefghij!"])


@pytest.mark.parametrize(
    ("constant", "olds", "new", "is_one"),
    [
        ("8 words", [" ".join(WORDS) + " " + A, B], " ".join(WORDS), True),
        ("8 words", [" ".join(WORDS) + " " + A, B], " ".join(WORDS[:7]), False),
        ("_LEAST_SHARED", [" ".join(WORDS) + " " + A, B], " ".join(WORDS[:3] + OTHERS[:7]), True),
        ("_LEAST_SHARED", [" ".join(WORDS) + " " + A, B], " ".join(WORDS[:3] + OTHERS[:8]), False),
        ("1.2", ["m" * 100], "A summary " + "n" * 109, True),
        ("1.2", ["m" * 100], "A summary " + "n" * 110, False),
    ],
)
def test_what_sums_up(constant: str, olds: list[str], new: str, is_one: bool) -> None:
    assert _is_summary(olds, [new], (olds[0], new)) == is_one, constant


# ---- which requests are of one dialogue

MANY = [f"w{one}{other}" for one in "abcdefghijklm" for other in "abcdefghijklm"]
Q = "Where does the old pump stand now, and who looks after it?"


def turns(num: int) -> list[tuple[str, str]]:
    return [
        one
        for n in range(num)
        for one in (("assistant", f"{'abcdefghijklmnop'[n] * 20}"),
                    ("user", f"Then {'abcdefghijklmnop'[n] * 20}?"))
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("constant", "last", "num", "is_known"),
    [("_LEAST_SAID", "q" * 16, 1, True), ("_LEAST_SAID", "q" * 15, 1, False),
     ("_MOST_BACK", Q, 12, True), ("_MOST_BACK", Q, 13, False)],
)  # fmt: skip
def test_how_far_back_a_request_is_known(
    constant: str, last: str, num: int, is_known: bool
) -> None:
    threads = Threads()
    threads.remember(7, said(("system", A), ("user", last)))
    found = threads.continued_by(said(("system", A), ("user", last), *turns(num)))
    assert (found == [7]) == is_known, constant


def test_so_many_requests_may_be_the_one_before() -> None:
    threads = Threads()
    for row in range(5):
        threads.remember(row, said(("system", A), ("user", Q), *turns(row)))
    assert threads.continued_by(said(("system", A), ("user", Q), *turns(6))) == [4, 3, 2, 1]


def test_one_question_asked_again() -> None:
    def is_one(there: str, here: str) -> bool:
        answer = ("assistant", "It stands in the cellar, behind the door.")
        return is_one_conversation(
            said(("system", A), ("user", there)),
            said(("system", A), ("user", here), answer, ("user", "And who looks after it?")),
        )

    eight = "order 66 alpha beta gamma delta epsilon zeta"
    assert is_one(eight, eight.replace("zeta", "theta").replace("epsilon", "iota"))
    three = eight.replace("zeta", "theta").replace("epsilon", "iota").replace("delta", "kappa")
    assert not is_one(eight, three)
    assert is_one(eight, f"{eight} one two three four five six seven eight")
    seven = eight.replace(" zeta", "")
    assert not is_one(seven, f"{seven} one two three four five six seven eight")


def test_the_same_words_in_another_order_are_enough_to_tell() -> None:
    assert are_the_same_words("abcdefgh ijklmno", "ijklmno abcdefgh")
    assert not are_the_same_words("abcdefg ijklmno", "ijklmno abcdefg")
    assert not are_the_same_words("abcdefghijklmnop", "(abcdefghijklmnop)")


def test_examples_that_two_dialogues_share_are_long() -> None:
    def num_pairs(size: int) -> int:
        shown = [("user", "e" * (size - 20)), ("assistant", "f" * 20)]
        there = said(("system", A), *shown, ("user", "Where is it?"))
        here = said(("system", A), *shown, ("user", "Who was that?"))
        return len(aligned(there, here, 1, False).pairs)

    assert num_pairs(400) > num_pairs(399)


def test_texts_that_share_a_line_are_one_question() -> None:
    assert _share_a_line(f"{A[:40]}\none", f"{A[:40]}\nother")
    assert not _share_a_line(f"{A[:39]}\none", f"{A[:39]}\nother")
    assert _share_a_line(f"one\n{A[:40]}", f"other\n{A[:40]}")
    assert not _share_a_line(f"one\n{A[:39]}", f"other\n{A[:39]}")


def test_instructions_before_a_question_are_long() -> None:
    def is_cut(size: int, said: int = 20) -> bool:
        head = A[: size - 1] + "\n"
        return _behind_instructions(head + "m" * said, head + "n" * said)[0] == "m" * said

    assert is_cut(200)
    assert not is_cut(199)
    assert is_cut(200, said=16)
    assert not is_cut(200, said=15)


@pytest.mark.parametrize(("size", "num"), [(120, 1), (119, 0)])
def test_what_a_call_gave_back_tells_where_it_is_long(size: int, num: int) -> None:
    def answered(result: str) -> Prompt:
        call = called("a1", "gauge")[0]
        return built([call, said_by("tool", result, tool_call_id="call_a1")])

    empty = answered("")
    beside = len(empty.text_of(empty.messages[1]))  # the id of its call
    prompt = answered("r" * (size - beside))
    assert len(_answered(prompt, list(prompt.messages))) == num


def test_two_questions_alike_are_one_dialogue() -> None:
    def are_two(shared: int) -> bool:
        texts = (" ".join([*MANY[:shared], *MANY[n : n + 40 - shared]]) for n in (40, 80))
        one, other = texts
        there = said(("system", A), ("user", one))
        return are_two_dialogues(there, said(("system", A), ("user", other), *turns(1)))

    assert not are_two(20)
    assert are_two(19)


@pytest.mark.parametrize(
    ("constant", "text", "is_summary"),
    [("_OF_A_SUMMARY", "recap copper silver lantern", True),
     ("_OF_A_SUMMARY", "recap copper silver lantern meadow", False),
     ("_LONG_WORD", "recap copper silver lantern iron gold lamp", True),
     ("_LONG_WORD", "recap copper lantern", False),
     ("_SHORT_QUESTION", f"recap lantern {'m' * 386}", False),
     ("_SHORT_QUESTION", f"recap lantern {'m' * 387}", True)],
)  # fmt: skip
def test_what_stands_for_a_dialogue(constant: str, text: str, is_summary: bool) -> None:
    there = said(("user", " ".join(WORDS)), ("user", Q))
    here = said(("user", text))
    found = _sums_up(there, list(there.messages), here, list(here.messages))
    assert found == is_summary, constant


@pytest.mark.parametrize(("num", "is_known"), [(3, True), (4, False)])
def test_notes_around_a_question_are_few(num: int, is_known: bool) -> None:
    """Before and behind it: of all paragraphs the first four and the last four are looked at."""
    threads = Threads()
    notes = [f"Note {'abcde'[n]} of the day, which is long." for n in range(num)]
    threads.remember(7, said(("system", A), ("user", "\n\n".join([*notes, Q, *notes]))))
    assert (threads.continued_by(said(("system", A), ("user", Q), *turns(1))) == [7]) == is_known


def test_tags_around_a_message_are_few() -> None:
    assert _untagged("<ab>" * 3 + "hello") == "hello"
    assert _untagged("<ab>" * 4 + "hello") == "<ab>hello"


def test_a_message_is_known_where_it_is_long_enough() -> None:
    prompt = said(("user", "m" * 16), ("user", "m" * 15), ("user", ""), ("user", "m"))
    assert _exact(prompt, 0, 7) == (prompt.messages[0].key, 0)
    assert _exact(prompt, 1, 7)[1] == 2  # with the one before it
    assert _exact(prompt, 2, 7) == (7, 1)
    assert _exact(prompt, 3, 7) == (7, 1)


@pytest.mark.parametrize(
    ("constant", "shared", "between", "num"),
    [
        ("_ALIKE", 20, 0, 1),
        ("_ALIKE", 19, 0, 0),
        ("_MOST_AHEAD", 20, 39, 1),
        ("_MOST_AHEAD", 20, 40, 0),
    ],
)
def test_a_message_that_was_edited_is_one(
    constant: str, shared: int, between: int, num: int
) -> None:
    one, other = (" ".join([*MANY[:shared], *MANY[n : n + 40 - shared]]) for n in (40, 80))
    new = [("user", f"{word} {word[::-1]} {word}q") for word in MANY[120 : 120 + between]]
    end = [("assistant", B[:90]), ("user", Q)]
    there = said(("system", A), ("user", one), *end)
    here = said(("system", A), *new, ("user", other), *end)
    pairs = aligned(there, here, 1, True).pairs
    assert sum(pair.there == 1 for pair in pairs) == num, constant


# ---- what a fix takes


def request_of(text: str) -> Any:
    return SimpleNamespace(prompt=said(("system", text)))


def stored(texts: list[str]) -> Requests:
    requests = [request_of(text) for text in texts]
    return cast("Requests", SimpleNamespace(of=requests.__getitem__))


def finding(row: int, text: str, value: str, there: str, label: str, kind: Any) -> Finding:
    at = text.index(value)
    change = Change(kind, "messages[0].content", "system", at, at, at, there, value, label)
    return Finding(row, max(row - 1, 0), False, 0, Comparison((change,), ()))


def stamps(texts: list[str], values: list[str], label: str) -> list[Any]:
    findings = [
        finding(row, text, value, "", label, "clock")
        for row, (text, value) in enumerate(zip(texts, values, strict=True))
    ]
    return list(stamps_of(findings, stored(texts)).get("messages[*].content", ()))


VALUES = ["10:15", "11:16", "12:17"]


def test_a_stamp_is_found_by_its_label() -> None:
    texts = [f"abc {value} and so on\nBe kind." for value in VALUES]
    (stamp,) = stamps(texts, VALUES, "abc")
    assert not stamp.begins_line
    (stamp,) = stamps(texts, VALUES, "ab")
    assert stamp.begins_line


def test_a_stamp_without_a_label_was_seen_often_enough() -> None:
    texts = [f"> {value} and so on\nBe kind." for value in VALUES]
    assert len(stamps(texts, VALUES, "")) == 1
    assert not stamps(texts[:2], VALUES[:2], "")


@pytest.mark.parametrize(("size", "num"), [(24, 1), (25, 0)])
def test_what_stands_before_a_stamp_is_short(size: int, num: int) -> None:
    texts = [f"{'m' * size}{value} and so on\nBe kind." for value in VALUES]
    assert len(stamps(texts, VALUES, "")) == num


@pytest.mark.parametrize(("tail", "num"), [("abc", 1), ("ab", 0)])
def test_what_stands_behind_a_stamp_tells(tail: str, num: int) -> None:
    texts = [f"{value}{tail}\nBe kind." for value in VALUES]
    assert len(stamps(texts, VALUES, "")) == num


def test_what_stands_behind_a_stamp_is_cut() -> None:
    texts = [f"> {value}{'m' * 30}\nBe kind." for value in VALUES]
    assert stamps(texts, VALUES, "")[0].tail == "m" * 24


def drawn(num: int, stable: int, num_with_last: int) -> Any:
    """Texts with so many lines in common, of which the last stands in some only."""
    lines = [f"Rule {'abcdefgh'[n]}" for n in range(stable)]
    texts = [
        "\n".join([*(lines if n < num_with_last else lines[:-1]), f"drawn {n}\nmore {n}"])
        for n in range(num)
    ]
    findings = [
        finding(n, text, f"drawn {n}\nmore {n}", "", "", "random_sample")
        for n, text in enumerate(texts)
    ]
    return sample_lines_of(findings, stored(texts)).get("messages[*].content")


def test_drawn_lines_are_what_nearly_all_texts_lack() -> None:
    assert len(drawn(10, 3, 9)[0].stable) == 3
    assert len(drawn(10, 3, 8)[0].stable) == 2
    assert drawn(4, 2, 4)
    assert not drawn(3, 2, 3)
    assert not drawn(4, 1, 4)


def test_a_text_of_another_application_has_no_drawn_lines() -> None:
    lines = SampleLines(frozenset("abcde"), frozenset("d"))
    assert list(lines.spans("a\nb\nc\nd\nnew")) == [(8, 11)]
    assert not list(SampleLines(frozenset("abcdef"), frozenset("d")).spans("a\nb\nc\nd\nnew"))

"""Which requests belong together, and shapes of defects that look like an edit at first. Prompts
are written by hand from the documented shapes of request bodies."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from doctor.test_planted_kinds import findings_of
from hitpath.doctor.history import shortened
from hitpath.doctor.kinds import Difference, kind_of
from hitpath.doctor.leaf import leaf_changes
from hitpath.doctor.relatives import NONE
from hitpath.doctor.replies import Ids, same_text_change
from hitpath.doctor.symbols import compare_symbols

HOUSE = "Ask before you spend money. Keep every answer to three lines. Never tell a secret. " * 4


def chat(*messages: dict[str, Any], at: int, session: str = "", **more: Any) -> dict[str, Any]:
    row = {"model": "m", "timestamp": 1_764_400_000 + at, "messages": list(messages), **more}
    return {**row, "session_id": session} if session else row


def said(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def called(number: str, name: str) -> list[dict[str, Any]]:
    """A call of a tool, and its short result."""
    function = {"name": name, "arguments": '{"depth": 2}'}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    return [said("assistant", None, tool_calls=[call]),
            said("tool", "ok", tool_call_id=f"call_{number}")]  # fmt: skip


def tools(*names: str) -> list[dict[str, Any]]:
    return [{"type": "function", "function": {"name": name, "description": f"Does {name}.",
             "parameters": {"type": "object", "properties": {}}}} for name in names]  # fmt: skip


def kinds(rows: list[dict[str, Any]], folder: Path) -> list[list[str]]:
    return [[c.kind for c in f.comparison.changes] for f in findings_of(rows, folder)]


def test_two_houses_with_one_set_of_rules_and_other_tools_are_two_applications(
    tmp_path: Path,
) -> None:
    rows = [
        chat(said("system", f"You serve the {name} line. {HOUSE}"), said("user", question), at=at,
             tools=tools(f"{name}_find", f"{name}_book"))
        for at, (name, question) in enumerate([("ferry", "When is the next one to the island?"),
                                               ("tram", "Is there a stop beside the theatre?")])
    ]  # fmt: skip
    assert [finding.relative for finding in findings_of(rows, tmp_path)] == [NONE, NONE]


def test_another_dialogue_of_a_session_is_new(tmp_path: Path) -> None:
    system = said("system", HOUSE)
    rows = [
        chat(system, said("user", "My bag from Genoa has not come."), *called("a1b2c3d4", "look"),
             said("user", "And what now?"), at=0, session="s"),
        chat(system, said("user", "How many stars does your hotel have?"),
             *called("9f8e7d6c", "look"), at=9, session="s"),
    ]  # fmt: skip
    assert kinds(rows, tmp_path) == [[], []]


def test_a_dialogue_that_begins_with_a_reply_has_lost_its_beginning(tmp_path: Path) -> None:
    system = said("system", HOUSE)
    first = said("user", "Please go through the whole ledger of last year.")
    rows = [
        chat(system, first, at=0, session="s"),
        chat(system, *called("a1b2c3d4", "read"), said("user", "Go on, please, with March."), at=9,
             session="s"),
    ]  # fmt: skip
    assert kinds(rows, tmp_path) == [[], ["truncated_history"]]


def test_a_result_that_was_shorter_than_its_note_was_cleared(tmp_path: Path) -> None:
    head = [said("system", HOUSE), said("user", "Look after the boiler, it is cold in here.")]
    call, result = called("a1b2c3d4", "read")
    cleared = {**result, "content": "<tool output removed to save space>"}
    rows = [
        chat(*head, call, result, at=0, session="s"),
        chat(*head, call, cleared, said("user", "Is it warm now?"), at=9, session="s"),
    ]
    assert kinds(rows, tmp_path)[1] == ["truncated_history"]
    assert shortened("[a list]", "[another list]") is None


def test_a_long_summary_of_a_short_dialogue_is_compacted(tmp_path: Path) -> None:
    system = said("system", HOUSE)
    summary = "Here is a summary of the conversation: the user wants a boat. " + "Of oak. " * 20
    rows = [
        chat(system, said("user", "Build a small boat for me."), *called("a1b2c3d4", "saw"), at=0,
             session="s"),
        chat(system, said("user", summary), *called("11aa22bb", "saw"), at=9, session="s"),
    ]  # fmt: skip
    assert kinds(rows, tmp_path)[1] == ["compacted_history"]


def test_a_reply_of_reasoning_alone_that_is_left_out_is_a_flip(tmp_path: Path) -> None:
    head = [said("system", HOUSE), said("user", "Look after the boiler, it is cold in here.")]
    call, result = called("a1b2c3d4", "read")
    thought = {**call, "content": "<think>\nThe pump first, I should say.\n</think>\n\n"}
    rows = [
        chat(*head, thought, result, at=0, session="s"),
        chat(*head, call, result, said("user", "Is it warm now?"), at=9, session="s"),
    ]
    found = findings_of(rows, tmp_path)[1].first
    assert found is not None
    assert (found.kind, found.json_path) == ("template_flip", "messages[2].content")


@pytest.mark.parametrize("head", ["<think>\n\n</think>\n\n", "<|channel|>final<|message|>"])
def test_the_head_of_a_reply_that_history_lacks_is_a_flip(head: str, tmp_path: Path) -> None:
    first = f"<|im_start|>system\n{HOUSE}<|im_end|>\n<|im_start|>user\nHow deep?<|im_end|>\n"
    begun = f"{first}<|im_start|>assistant\n"
    answered = f"{begun}Four metres.<|im_end|>\n<|im_start|>user\nAnd wide?<|im_end|>\n"
    rows = [
        {"id": "a", "arrival_s": 0, "session": "s", "prompt": begun + head},
        {"id": "b", "arrival_s": 9, "session": "s",
         "prompt": f"{answered}<|im_start|>assistant\n{head}"},
    ]  # fmt: skip
    found = findings_of(rows, tmp_path)[1].first
    assert found is not None
    assert (found.kind, found.char_offset) == ("template_flip", len(begun))


def test_files_in_another_order_are_moved_to_the_line() -> None:
    files = [f"<doc n='{n}'>\n{line}\n</doc>\n\n" for n, line in enumerate(
        ["Rivers run north here.", "No one may fish.", "The mill is closed."])]  # fmt: skip
    found = leaf_changes("".join(files), "".join([files[2], files[0], files[1]]), "user")
    assert [change.kind for change in found] == ["moved_block"]


@pytest.mark.parametrize(
    ("there", "here", "before", "kind"),
    [
        ("44", "45", "Wir haben den 9. März 2026, 6 Uhr ", "clock"),
        ("44", "45", "The house has ", "?number"),
        ("2_000", "2e3", "At most ", "number_format"),
        (".50", "0.5", "A share of ", "number_format"),
        ("17,324", "16,953", "Words so far: ", "?number"),
        ("", "nonce 7f3c9a12d4e85b60\n", "", "?id"),
    ],
)
def test_what_a_difference_is(there: str, here: str, before: str, kind: str) -> None:
    shape = "number" if there[:1].isdigit() or there[:1] == "." else None
    assert kind_of(Difference(there, here, before, "\n", shape, "system")) == kind  # type: ignore[arg-type]


def test_the_words_right_before_an_id_tell_more_than_the_sentence_before(tmp_path: Path) -> None:
    numbers = ["41C3D2AA-9B11-4E5C-B0D4-D9DCA2A83B6C", "0FE1B5EE-EE43-4DC8-9D73-2645F3F94542"]
    rows = [
        chat(said("system", f"Serve the customer first. Trace id {number} {HOUSE}"),
             said("user", question), at=at)
        for at, (number, question) in enumerate(zip(numbers, ASKED, strict=True))
    ]  # fmt: skip
    assert kinds(rows, tmp_path) == [[], ["request_id"]]


ASKED = ["How far?", "How near?"]
PIECES = ["to", "day", "today", "is", " ", "fine", "cold", "ning", " fi", "ne"]


def decode(numbers: Any) -> str:
    return "".join(PIECES[n] for n in numbers)


def ids(*names: str) -> np.ndarray:
    return np.array([PIECES.index(name) for name in names], dtype=np.uint32)


def test_ids_that_part_where_the_text_goes_on_are_tokenised_again() -> None:
    one = ids("is", "to", "day", " ", "fine", "is", "is")
    two = ids("is", "today", " ", "fine", "is", "is", "cold")
    found = same_text_change(Ids(one, two, 1, 1), decode)
    assert found is not None
    assert found.kind == "retokenised"
    other = ids("is", "today", " ", "cold", "is", "is", "is")
    again = same_text_change(Ids(ids("is", "to", "ning", " "), other, 1, 1), decode)
    assert again is None


def test_a_window_that_cuts_in_a_word_is_no_client_s_truncation() -> None:
    rng = np.random.default_rng(5)
    head, gone, kept, new = (rng.integers(0, 900, n).astype(np.uint32) for n in (4, 90, 200, 40))
    there, here = np.concatenate([head, gone, kept]), np.concatenate([head, kept, new])

    def in_lines(numbers: Any) -> str:
        return "".join(f"word{n}\n" for n in numbers)

    def in_words(numbers: Any) -> str:
        return "".join(f"word{n}" for n in numbers)

    found = [compare_symbols(there, here, True, d).changes[0].kind for d in (in_lines, in_words)]
    assert found == ["truncated_history", "position_shift"]

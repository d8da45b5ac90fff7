"""Reasoning that histories leave out is put back as it was sent or generated, and the replay proves
it. Rows are written by hand from the documented shapes of request bodies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from doctor.model_folders import model_folder
from hitpath.core import Setting
from hitpath.doctor.prove import NOTHING_KEPT
from hitpath.doctor.reasoning import Reasoning
from hitpath.report.doctor_fix import write_fixed
from hitpath.report.doctor_run import examine, open_subject
from hitpath.spine import analyze
from support import write_jsonl

if TYPE_CHECKING:
    from pathlib import Path

    from hitpath.doctor.diagnosis import Diagnosis

RULES = "You are the night desk of a small hotel; answer in two sentences at most. " * 4
THOUGHTS = [
    f"The guest asks for thing {n}; the calendar shows it, so I say yes to it." for n in range(4)
]
ANSWERS = [f"Thing {n} is free on Friday, and the desk is open all night." for n in range(4)]
Message = dict[str, Any]


def inline(turn: int, keeps: bool) -> Message:
    thought = f"<think>\n{THOUGHTS[turn]}\n</think>\n\n" if keeps else ""
    return {"role": "assistant", "content": thought + ANSWERS[turn]}


def field(turn: int, keeps: bool) -> Message:
    more = {"reasoning_content": THOUGHTS[turn]} if keeps else {}
    return {"role": "assistant", "content": ANSWERS[turn], **more}


def blocks(turn: int, keeps: bool) -> Message:
    thought = [{"type": "thinking", "thinking": THOUGHTS[turn], "signature": f"s{turn}"}]
    text = [{"type": "text", "text": ANSWERS[turn]}]
    return {"role": "assistant", "content": (thought if keeps else []) + text}


def rows(said: Any, num_turns: int = 4, *, keeps_all: bool = False) -> list[dict[str, Any]]:
    """Each request keeps the reasoning of the last reply alone, as many clients do; or all."""
    found = []
    for turn in range(num_turns):
        messages: list[Message] = [{"role": "system", "content": RULES}]
        for earlier in range(turn):
            messages.append({"role": "user", "content": f"Is thing {earlier} free on Friday?"})
            messages.append(said(earlier, keeps_all or earlier == turn - 1))
        messages.append({"role": "user", "content": f"Is thing {turn} free on Friday?"})
        found.append({"model": "m", "session_id": "s", "timestamp": 1_764_400_000 + 60 * turn,
                      "messages": messages})  # fmt: skip
    return found


def diagnosed(path: Path, out: Path, tokenizer: str | None = None) -> Diagnosis:
    subject = open_subject([str(path)], Setting(tokenizer=tokenizer, block_size=1))
    found = examine(subject)
    with out.open("wb") as file:
        write_fixed(found, subject.kept, subject.requests, file)
    return found


def computed(path: Path, tokenizer: str | None = None) -> int:
    ledger = analyze([str(path)], Setting(tokenizer=tokenizer, block_size=1)).ledger
    return ledger.total(ledger.prompt) - ledger.total(ledger.rungs.model[0])


@pytest.mark.parametrize("said", [inline, field, blocks])
def test_what_was_sent_with_its_reasoning_keeps_it(said: Any, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "t.jsonl", rows(said))
    found = diagnosed(path, tmp_path / "f")
    assert found.defects[0].kind == "template_flip"
    proof = found.proofs[0]
    assert proof.name == "reasoning kept"
    fixed = [json.loads(line) for line in (tmp_path / "f").read_bytes().splitlines()]
    assert fixed == rows(said, keeps_all=True)
    assert proof.gain_tokens == computed(path) - computed(tmp_path / "f") > 0
    again = diagnosed(tmp_path / "f", tmp_path / "g")
    assert not again.defects
    assert (tmp_path / "g").read_bytes() == (tmp_path / "f").read_bytes()


def test_what_was_generated_with_its_reasoning_keeps_it(tmp_path: Path) -> None:
    """The history never has it; the replies of the trace do."""
    sent = rows(lambda turn, keeps: inline(turn, False))
    for turn, row in enumerate(sent):
        row["response"] = {"choices": [{"message": inline(turn, True)}]}
    found = diagnosed(write_jsonl(tmp_path / "t.jsonl", sent), tmp_path / "f")
    assert {d.kind for d in found.defects} == {"template_flip"}
    assert [p.name for p in found.proofs[:-1]] == ["reasoning kept"]
    fixed = [json.loads(line) for line in (tmp_path / "f").read_bytes().splitlines()]
    wanted = rows(inline, keeps_all=True)
    assert [row["messages"] for row in fixed] == [row["messages"] for row in wanted]


def test_reasoning_that_the_trace_does_not_hold_has_no_gain_and_says_why(tmp_path: Path) -> None:
    """A think block that is put in later: nothing earlier holds it, and nothing is taken out."""
    sent = rows(lambda turn, keeps: inline(turn, not keeps))
    path = write_jsonl(tmp_path / "t.jsonl", sent[1:])
    found = diagnosed(path, tmp_path / "f")
    defect = next(d for d in found.defects if d.kind == "template_flip")
    assert found.gain_of(defect) is None
    assert found.why_no_gain(defect) == NOTHING_KEPT


def test_short_replies_of_one_wording_keep_each_their_own(tmp_path: Path) -> None:
    """Two replies say the same after other thoughts: the first's does not go to the second."""

    def said(turn: int, keeps: bool) -> Message:
        thought = f"<think>\n{THOUGHTS[turn]}\n</think>\n\n" if keeps else ""
        return {
            "role": "assistant",
            "content": f"{thought}Yes, that is free on Friday, and the desk is open all night.",
        }

    path = write_jsonl(tmp_path / "t.jsonl", rows(said))
    diagnosed(path, tmp_path / "f")
    fixed = [json.loads(line) for line in (tmp_path / "f").read_bytes().splitlines()]
    assert fixed == rows(said, keeps_all=True)


def test_replies_of_one_wording_keep_their_own_where_the_oldest_are_dropped(tmp_path: Path) -> None:
    """How many like it stand before a reply changes there; what it answers does not."""

    def said(turn: int, keeps: bool) -> Message:
        return field(turn, keeps) | {"content": "Yes, that is free on Friday, all night long."}

    sent, wanted = rows(said), rows(said, keeps_all=True)
    for row in (sent[-1], wanted[-1]):
        del row["messages"][1:3]
    diagnosed(write_jsonl(tmp_path / "t.jsonl", sent), tmp_path / "f")
    fixed = [json.loads(line) for line in (tmp_path / "f").read_bytes().splitlines()]
    assert fixed == wanted


def test_a_reply_to_a_question_that_was_changed_keeps_its_own(tmp_path: Path) -> None:
    """A note stands in the last question only, and the replies of the trace have the reasoning; the
    words of each are said once."""
    thoughts = [
        "Breakfast is on the ground floor until ten, says the list of the house.",
        "Dogs are welcome in the rooms of the old wing; the guest is in the new one.",
        "A walk of twenty minutes, downhill all the way; the bus takes five.",
    ]
    questions = [
        "Where is breakfast served, and until when?",
        "May my dog sleep in the room, or is there a kennel?",
        "How far is it to the sea on foot with two children?",
        "Thank you, that is all that I wanted to know.",
    ]

    def said(turn: int, keeps: bool) -> Message:
        return field(turn, False) | ({"reasoning_content": thoughts[turn]} if keeps else {})

    sent = rows(lambda turn, keeps: said(turn, False))
    for turn, row in enumerate(sent[:-1]):
        row["response"] = {"choices": [{"message": said(turn, True)}]}
    for row in sent:
        for question, message in zip(questions, row["messages"][1::2], strict=False):
            message["content"] = question
        row["messages"][-1]["content"] += " (Be quick.)"
    path = write_jsonl(tmp_path / "t.jsonl", sent)
    subject = open_subject([str(path)], Setting(block_size=1))
    reasoning = Reasoning(subject.requests, examine(subject).findings)
    for turn in range(len(sent)):
        found = reasoning.messages(turn)
        assert [found[2 * n + 2]["reasoning_content"] for n in range(turn)] == thoughts[:turn]


def test_in_tokens_too(tmp_path: Path) -> None:
    tokenizer = model_folder(tmp_path / "model", "clean_chatml")
    path = write_jsonl(tmp_path / "t.jsonl", rows(field))
    found = diagnosed(path, tmp_path / "f", tokenizer)
    assert found.trace.identity == "tokens"
    proof = found.proofs[0]
    assert proof.name == "reasoning kept"
    assert proof.gain_tokens == computed(path, tokenizer) - computed(tmp_path / "f", tokenizer) > 0

"""Items of reasoning of OpenAI's responses API, written by hand from the documented shape: left out
of the next turn's `input` they are a template flip, and the fix is the trace that kept them."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from hitpath.core import Setting
from hitpath.doctor.diagnosis import Diagnosis
from hitpath.report.doctor_fix import write_fixed
from hitpath.report.doctor_run import Subject, examine, open_subject
from support import write_jsonl

RULES = "You are the night desk of a small hotel; answer in two sentences at most. " * 6
Rows = list[dict[str, Any]]


def rows(mode: str, *, summary: bool = True, batch: bool = False) -> Rows:
    """Three sessions of four turns; a reply is a message, or every other turn a call. mode: `kept`
    sends all items back, `dropped` none of reasoning, `once` only those of the last turn."""
    made: Rows = []
    for s in range(3):
        sent: Rows = []
        for t in range(4):
            sent.append({"role": "user", "content": f"Guest {s} asks question {t} of the house?"})
            thought = {
                "type": "reasoning",
                "id": f"rs_{s}_{t}",
                "summary": [{"type": "summary_text", "text": f"Guest {s} wants {t}."}]
                if summary
                else [],
                "encrypted_content": f"gAAAA{s}{t}" * 20,
            }
            call = {
                "type": "function_call",
                "id": f"fc_{s}{t}",
                "call_id": f"call_{s}{t}",
                "name": "look_up",
                "arguments": json.dumps({"n": t}),
                "status": "completed",
            }
            message = {
                "type": "message",
                "id": f"msg_{s}{t}",
                "role": "assistant",
                "status": "completed",
                "content": [
                    {"type": "output_text", "text": f"Yes, {t} of {s}.", "annotations": []}
                ],
            }
            reply = [thought, call if t % 2 else message]
            body = {"model": "gpt-5", "instructions": RULES, "input": json.loads(json.dumps(sent))}
            around = {
                "session_id": f"s{s}",
                "timestamp": 1_700_000_000 + s * 1000 + t * 60,
                "response": {"output": reply},
            }
            made.append({**around, "body": body} if batch else {**around, **body})
            if mode == "dropped":
                sent.append(reply[1])
            else:
                old = [i for i in sent if mode == "kept" or i.get("type") != "reasoning"]
                sent = [*old, *reply]
            if t % 2:
                sent.append(
                    {"type": "function_call_output", "call_id": f"call_{s}{t}", "output": "done"}
                )
    return made


def examined(made: Rows, tmp_path: Path) -> tuple[Subject, Diagnosis]:
    path = write_jsonl(tmp_path / "t.jsonl", made)
    subject = open_subject([str(path)], Setting(block_size=1))
    return subject, examine(subject, what_ifs=False)


def body_of(row: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = row.get("body", row)
    return found


@pytest.mark.parametrize("mode", ["dropped", "once"])
@pytest.mark.parametrize("summary", [True, False], ids=["summary", "encrypted"])
@pytest.mark.parametrize("batch", [False, True], ids=["bare", "batch"])
def test_items_left_out_are_put_back(mode: str, summary: bool, batch: bool, tmp_path: Path) -> None:
    clean = rows("kept", summary=summary, batch=batch)
    subject, found = examined(rows(mode, summary=summary, batch=batch), tmp_path)
    assert {defect.kind for defect in found.defects} == {"template_flip"}
    assert {defect.segment for defect in found.defects} == {"assistant history"}
    broken = {row for defect in found.defects for row in defect.rows}
    # the reply to a session's first question is told by the response alone
    assert len(broken) == (9 if mode == "dropped" else 6)
    written = io.BytesIO()
    write_fixed(found, subject.kept, subject.requests, written)
    fixed = [json.loads(line) for line in written.getvalue().splitlines()]
    assert [body_of(row) for row in fixed] == [body_of(row) for row in clean]
    _, again = examined(clean, tmp_path)
    assert again.defects == ()
    assert found.after == pytest.approx(again.before, abs=1e-12)


def test_nothing_is_told_where_all_is_sent_back(tmp_path: Path) -> None:
    _, found = examined(rows("kept"), tmp_path)
    assert found.defects == ()


def test_what_another_reply_thought_is_not_put_in(tmp_path: Path) -> None:
    """The same words said twice, once without a thought: each has its own."""
    made = rows("dropped")
    for row in made:
        for item in body_of(row)["input"]:
            if item.get("type") == "message":
                item["content"][0]["text"] = "Yes."
        for item in row["response"]["output"]:
            if item["type"] == "message":
                item["content"][0]["text"] = "Yes."
    subject, found = examined(made, tmp_path)
    written = io.BytesIO()
    write_fixed(found, subject.kept, subject.requests, written)
    for line in written.getvalue().splitlines():
        items = body_of(json.loads(line))["input"]
        for number, item in enumerate(items):
            if item.get("type") == "reasoning":
                session, turn = item["id"].split("_")[1:]
                asked = items[number - 1]
                if asked.get("role") == "user":
                    assert f"Guest {session} asks question {turn} " in asked["content"]

"""A fix has a gain where it mends what was found: not where it rewrites another thing beside it;
what is drawn in several lines goes as a whole; and a fix that costs is no part of the best."""

from __future__ import annotations

import io
import json
import random
import re
from typing import TYPE_CHECKING, Any

import pytest

from doctor.planting import paragraph, sentence
from hitpath.core import Setting
from hitpath.doctor.arguments import canonical_arguments, with_arguments
from hitpath.doctor.prove import ARRAYS
from hitpath.doctor.sample_lines import SampleLines, runs_of
from hitpath.doctor.steps import Stamp
from hitpath.report.doctor_fix import write_fixed
from hitpath.report.doctor_run import examine, open_subject
from support import write_jsonl

if TYPE_CHECKING:
    from pathlib import Path

    from hitpath.doctor.diagnosis import Diagnosis

RNG = random.Random(7)
RULES = "\n".join(paragraph(RNG, 3) for _ in range(12))
AFTER = "\n".join(paragraph(RNG, 3) for _ in range(12))
SHOTS = [(sentence(RNG, 9), paragraph(RNG, 2)) for _ in range(12)]
Body = dict[str, Any]


def chat(number: int, system: str, history: int, **more: Any) -> Body:
    """Turn `history` of a session of three."""
    session = number // 3
    said: list[Body] = [{"role": "system", "content": system}]
    for n in range(history + 1):
        said.append({"role": "user", "content": f"Guest {session} asks about item {n} of the list"})
        if n < history:
            said.append({"role": "assistant", "content": f"Item {n} is in hall {session}."})
    return {"model": "m", "session_id": f"s{session}", "timestamp": 1_764_400_000 + 60 * number,
            "messages": said, **more}  # fmt: skip


def examined(rows: list[Body], tmp_path: Path) -> tuple[Diagnosis, list[Body]]:
    path = write_jsonl(tmp_path / "t.jsonl", rows)
    subject = open_subject([str(path)], Setting(block_size=1))
    found = examine(subject, what_ifs=False)
    written = io.BytesIO()
    write_fixed(found, subject.kept, subject.requests, written)
    return found, [json.loads(line) for line in written.getvalue().splitlines()]


def test_arrays_that_mean_their_order_have_no_gain(tmp_path: Path) -> None:
    """Keys of the same tool are not in order either; sorting them mends nothing."""
    rows = []
    for number in range(12):
        values = ["json", "text", "yaml"]
        RNG.shuffle(values)
        schema = {"type": "object", "properties": {
            "form": {"type": "string", "enum": values}, "about": {"type": "string"}}}  # fmt: skip
        tool = {"type": "function", "function": {"name": "write", "description": RULES[:400],
                                                 "parameters": schema}}  # fmt: skip
        rows.append(chat(number, RULES, number % 3, tools=[tool]))
    found, fixed = examined(rows, tmp_path)
    assert {defect.kind for defect in found.defects} == {"array_order"}
    for defect in found.defects:
        assert found.gain_of(defect) is None
        assert found.why_no_gain(defect) == ARRAYS
    assert found.after == found.before
    assert found.proofs == ()
    assert fixed == rows


def calls(arguments: list[str]) -> list[Body]:
    """A history with one call, whose arguments are written anew from turn to turn."""
    rows = []
    for number in range(12):
        body = chat(number, RULES, number % 3)
        call = {"id": "c1", "type": "function", "function": {
            "name": "look_up", "arguments": arguments[number % len(arguments)]}}  # fmt: skip
        body["messages"][2:2] = [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": paragraph(random.Random(3), 9)},
        ]
        rows.append(body)
    return rows


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("key_order", ['{"item": 4, "hall": "b"}', '{"hall": "b", "item": 4}']),
        ("white_space", ['{"item": 4, "hall": "b"}', '{"item":4,"hall":"b"}']),
    ],
)
def test_arguments_of_calls_are_mended(kind: str, arguments: list[str], tmp_path: Path) -> None:
    rows = calls(arguments)
    found, fixed = examined(rows, tmp_path)
    assert {defect.kind for defect in found.defects} == {kind}
    for defect in found.defects:
        assert defect.json_path.endswith("function.arguments")
        gain = found.gain_of(defect)
        assert gain is not None
        assert gain.tokens > 0
    texts = {row["messages"][2]["tool_calls"][0]["function"]["arguments"] for row in fixed}
    assert len(texts) == 1
    assert json.loads(texts.pop()) == {"item": 4, "hall": "b"}
    _, again = examined(fixed, tmp_path)
    assert again == fixed
    for old, new in zip(rows, fixed, strict=True):
        for message in (old["messages"][2], new["messages"][2]):
            function = message["tool_calls"][0]["function"]
            function["arguments"] = json.loads(function["arguments"])
        assert old == new


@pytest.mark.parametrize("seed", range(30))
def test_canonical_arguments_say_the_same(seed: int) -> None:
    rng = random.Random(seed)

    def value(depth: int) -> Any:
        kind = rng.choice(("plain", "list", "object")) if depth else "plain"
        if kind == "list":
            return [value(depth - 1) for _ in range(rng.randint(0, 3))]
        if kind == "object":
            return {f"k{n} ": value(depth - 1) for n in range(rng.randint(0, 4))}
        return rng.choice([1, -4, 2.5, True, None, "a b", 'q"\\', "\u00e9\u2028", ""])

    told = {f"key {n}": value(3) for n in range(4)}
    text = json.dumps(told, indent=rng.choice([None, 1]), ensure_ascii=rng.random() < 0.5)
    for sort_keys in (True, False):
        made = canonical_arguments(text, sort_keys=sort_keys)
        assert json.loads(made) == told
        assert canonical_arguments(made, sort_keys=sort_keys) == made
        if not sort_keys:
            assert list(json.loads(made)) == list(told)
        call = {"function": {"name": "f", "arguments": text}, "id": "1"}
        assert with_arguments(call, sort_keys=sort_keys)["function"]["arguments"] == made
    for other in ("", "no JSON", "[1, 2]", '{"a": 1', '{"a": 1} and more'):
        assert canonical_arguments(other, sort_keys=False) == other


def test_drawn_examples_move_as_a_whole(tmp_path: Path) -> None:
    rows = []
    for number in range(18):
        drawn = RNG.sample(SHOTS, 3)
        examples = "\n\n".join(f"Q: {q}\nA: {a}" for q, a in drawn)
        rows.append(chat(number, f"{RULES}\n\nExamples:\n{examples}\n\n{AFTER}", number % 3))
    found, fixed = examined(rows, tmp_path)
    assert {defect.kind for defect in found.defects} == {"random_sample"}
    assert all(gain.tokens > 0 for gain in map(found.gain_of, found.defects) if gain is not None)
    assert len(found.gains) == len(found.defects)
    systems = {row["messages"][0]["content"] for row in fixed}
    assert systems == {f"{RULES}\n\nExamples:\n[sample: at the end]\n\n{AFTER}"}
    for old, new in zip(rows, fixed, strict=True):
        block = (
            old["messages"][0]["content"].partition("Examples:\n")[2].partition(f"\n\n{AFTER}")[0]
        )
        assert new["messages"][-1]["content"].endswith(f"sample: {block}")


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("[07:{m:02}:22] ready", "[[clock: at the end]] ready"),
        ("2025/11/29 07:{m:02}:22 INFO agent started", "[clock: at the end] INFO agent started"),
        ("id 01J{ulid}", "id [id: at the end]"),
    ],
)
def test_values_without_a_word_before_them_move(line: str, kept: str, tmp_path: Path) -> None:
    rows = []
    for number in range(18):
        ulid = "".join(RNG.choice("0123456789ABCDEFGHJKMNPQRSTVWXYZ") for _ in range(23))
        stamp = line.format(m=10 + number, ulid=ulid)
        rows.append(chat(number, f"{stamp}\n{RULES}", number % 3))
    found, fixed = examined(rows, tmp_path)
    assert {row["messages"][0]["content"] for row in fixed} == {f"{kept}\n{RULES}"}
    assert (found.after or 0) > (found.before or 0)


def test_a_value_is_all_of_its_line(tmp_path: Path) -> None:
    """However long: the rest of a sentence is none."""
    rows = []
    for number in range(18):
        tip = paragraph(RNG, 9)
        rows.append(chat(number, f"{RULES}\nTip of the moment: {tip}\n{AFTER}", number % 3))
    _, fixed = examined(rows, tmp_path)
    want = f"{RULES}\nTip of the moment: [sample: at the end]\n{AFTER}"
    assert {row["messages"][0]["content"] for row in fixed} == {want}


def test_a_fix_that_costs_is_left_out(tmp_path: Path) -> None:
    """Tips that stay within a session: moving them rewrites what was sent before."""
    rows, tips = [], [paragraph(RNG, 40) for _ in range(4)]
    for number in range(24):
        tip = tips[(number // 3) % 4]
        tools = [{"type": "function", "function": {"name": name, "description": RULES[:900]}}
                 for name in ("read", "ask", "book")]  # fmt: skip
        if number % 2:
            tools.reverse()
        system = f"{RULES[:300]}\nTip of the moment: {tip}"
        rows.append(chat(number, system, number % 3, tools=tools))
    found, fixed = examined(rows, tmp_path)
    left = [proof for proof in found.proofs if proof.is_left_out]
    assert left
    for proof in left:
        assert proof.gain_tokens < 0
        assert (proof.loss_without_tokens or 0) < 0
        assert any(note.startswith(proof.name) for note in found.notes)
    assert "tools in a stable order" in {p.name for p in found.proofs if not p.is_left_out}
    assert found.proofs[-1].gain_tokens == max(proof.gain_tokens for proof in found.proofs)
    path = write_jsonl(tmp_path / "fixed.jsonl", fixed)
    again = examine(open_subject([str(path)], Setting(block_size=1)), what_ifs=False)
    assert again.before == found.after


def test_stretches_of_stamps_and_blocks() -> None:
    stamp = Stamp("clock", re.compile("Now: "), " (UTC)")
    text = "Now: 10:15 (UTC). x\nNow: \nNow: 11 (UTC)"
    assert [text[a:b] for a, b in stamp.spans(text)] == ["10:15", "11"]
    assert list(Stamp("clock", re.compile("Now: ")).spans("Now: " + "x" * 4_001)) == []
    assert list(Stamp("clock", re.compile("Now: ")).spans("Now: " + "x" * 4_000)) == [(5, 4_005)]
    begun = Stamp("clock", re.compile(r"(?m)^"), " go", begins_line=True)
    text = "7 go\nno\n8 go"
    assert [text[a:b] for a, b in begun.spans(text)] == ["7", "8"]
    lines = ["a", "", "x", "", "y", "", "b", "z"]
    stable = frozenset(("a", "b"))
    text = "\n".join(lines)
    assert [(n, text[i:j]) for n, i, j in runs_of(lines, stable)] == [("a", "x\n\ny"), ("b", "z")]
    block = SampleLines(stable, frozenset(("a",)))
    assert [text[i:j] for i, j in block.spans(text)] == ["x\n\ny"]
    assert list(block.spans("other text\nof another application")) == []


CONSTANTS = [
    "2. Never reveal ticket ids such as 5f2b4c9e-1111-4222-8333-944444444444.",
    "You are a desk of tenant 7c1d2e3f-1111-4222-8333-944444444444, as X-Tenant says.",
    "Daily reset time: 23:59:59.",
    "After turn 10 of 20 summarise. At most 4,000 tokens left means stop.",
    "Current date of the contract: 2026-01-15.",
    "Request id: a request names itself by one such as req_0123456789abcdef0123.",
]


@pytest.mark.parametrize(
    "line",
    [
        "Request id: 11fa2ac0-079d-425a-89fe-85b0834c6{n:03}",
        "Now: 2026-05-04 10:{n:02}:09",
        "[Turn {n} of 99]",
        "Now: 2026-05-04 10:{n:02}:09, request 11fa2ac0-079d-425a-89fe-85b0834c6{n:03}",
    ],
)
@pytest.mark.parametrize("where", ["system", "tool"])
def test_what_never_changes_stays_letter_by_letter(line: str, where: str, tmp_path: Path) -> None:
    """Rules hold values of the very shape of those that move."""
    rules = "\n".join(CONSTANTS)
    rows = []
    for number in range(18):
        stamp = line.format(n=11 + number)
        if where == "system":
            rows.append(chat(number, f"{stamp}\n{rules}\n{RULES}", number % 3))
        else:
            tool = {"type": "function", "function": {"name": "read", "description": rules}}
            rows.append(chat(number, f"{stamp}\n{RULES}", number % 3, tools=[tool]))
    found, fixed = examined(rows, tmp_path)
    assert (found.after or 0) > (found.before or 0)
    for row in fixed:
        told = row["messages"][0]["content"]
        if where == "tool":
            assert row["tools"][0]["function"]["description"] == rules
        else:
            assert told.partition("\n")[2] == f"{rules}\n{RULES}"
        assert "at the end]" in told.partition("\n")[0]
    assert len({row["messages"][0]["content"] for row in fixed}) == 1


def test_a_value_of_a_rule_may_equal_one_that_moves(tmp_path: Path) -> None:
    rows = []
    for number in range(18):
        told = f"Now: 10:{10 + number}\nThe kitchen closes. Time: 10:14\n{RULES}"
        rows.append(chat(number, told, number % 3))
    _, fixed = examined(rows, tmp_path)
    want = f"Now: [clock: at the end]\nThe kitchen closes. Time: 10:14\n{RULES}"
    assert {row["messages"][0]["content"] for row in fixed} == {want}


def test_a_constant_beside_a_value_in_one_line_stays(tmp_path: Path) -> None:
    rows = []
    for number in range(18):
        told = f"Now: 10:{10 + number}:07 for 5f2b4c9e-1111-4222-8333-944444444444\n{RULES}"
        rows.append(chat(number, told, number % 3))
    _, fixed = examined(rows, tmp_path)
    want = f"Now: [clock: at the end] for 5f2b4c9e-1111-4222-8333-944444444444\n{RULES}"
    assert {row["messages"][0]["content"] for row in fixed} == {want}


def test_two_values_of_one_name_are_told_apart(tmp_path: Path) -> None:
    rows = []
    for number in range(18):
        told = f"Now: 10:{10 + number}:07\nSession started: 09:{10 + number}:59\n{RULES}"
        rows.append(chat(number, told, number % 3))
    _, fixed = examined(rows, tmp_path)
    want = f"Now: [clock 1: at the end]\nSession started: [clock 2: at the end]\n{RULES}"
    assert {row["messages"][0]["content"] for row in fixed} == {want}
    for number, row in enumerate(fixed):
        block = f"clock 1: 10:{10 + number}:07\nclock 2: 09:{10 + number}:59"
        assert row["messages"][-1]["content"].endswith(block)


def test_sentences_drawn_into_one_line_move_as_a_whole(tmp_path: Path) -> None:
    told = ["Room 3 is booked for you.", "Room 12 looks on the garden.", "It takes ten minutes.",
            "On the ground floor it can.", "Ring the bell twice."]  # fmt: skip
    rows = []
    for number in range(18):
        drawn = " ".join(RNG.sample(told, 2))
        rows.append(chat(number, f"{RULES[:200]}\n\nExample: {drawn}\n\n{RULES}", number % 3))
    found, fixed = examined(rows, tmp_path)
    assert {defect.kind for defect in found.defects} == {"random_sample"}
    want = f"{RULES[:200]}\n\nExample: [sample: at the end]\n\n{RULES}"
    assert {row["messages"][0]["content"] for row in fixed} == {want}


def test_a_rule_of_some_sessions_stays(tmp_path: Path) -> None:
    """Half of the guests have it, always with the one value."""
    rows = []
    for number in range(24):
        rule = "Daily reset time: 23:59:59.\n" if number // 3 % 2 else ""
        told = f"Now: 2026-05-04 10:{10 + number}:09\n{rule}{RULES}"
        rows.append(chat(number, told, number % 3))
    _, fixed = examined(rows, tmp_path)
    for number, row in enumerate(fixed):
        rule = "Daily reset time: 23:59:59.\n" if number // 3 % 2 else ""
        assert row["messages"][0]["content"] == f"Now: [clock: at the end]\n{rule}{RULES}"

"""What the fixes write: the trace that was replayed, values moved and rules left where they stand,
and no gain where a fix does not reach. Requests are made by hand."""

from __future__ import annotations

import io
import json
import random
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from doctor.model_folders import model_folder
from doctor.planting import PLANTS, as_anthropic, as_text, rows_of, traffic
from hitpath.canonical.tail import HEADER
from hitpath.core import Setting
from hitpath.doctor.fixed_bytes import FixedBytes
from hitpath.doctor.forms import form_of
from hitpath.doctor.proof import NOT_REACHED
from hitpath.doctor.request_rows import request_of
from hitpath.doctor.steps import Plan, Steps
from hitpath.report.doctor_fix import write_fixed
from hitpath.report.doctor_run import examine, open_subject
from hitpath.text.tokenizer import load_tokenizer
from hitpath.traces import read_trace
from support import write_jsonl

if TYPE_CHECKING:
    from pathlib import Path

    from hitpath.doctor.diagnosis import Diagnosis

NAMES = ["Ada Byron", "Max Frisch", "Eva Peron"]
RULES = "You are the night desk of a small hotel. " + "Answer in two sentences at most. " * 12


def diagnosed(path: Path, tokenizer: str | None = None) -> tuple[Diagnosis, list[dict[str, Any]]]:
    """(the diagnosis, the rows that --fix writes)."""
    subject = open_subject([str(path)], Setting(tokenizer=tokenizer))
    found = examine(subject)
    out = io.BytesIO()
    write_fixed(found, subject.kept, subject.requests, out)
    return found, [json.loads(line) for line in out.getvalue().splitlines()]


def talk(line: Any, times: int = 1) -> list[dict[str, Any]]:
    """Three guests of five turns; the first line of the instructions by guest and turn, the rules
    so many times behind it."""
    rows = []
    for guest in range(3):
        for turn in range(5):
            messages = [{"role": "system", "content": f"{line(guest, turn)}\n{times * RULES}"}]
            for number in range(turn + 1):
                messages.append({"role": "user", "content": f"Question {number} of guest {guest}?"})
                messages.append({"role": "assistant", "content": f"Answer {number}."})
            rows.append({"model": "m", "session_id": f"g{guest}", "messages": messages[:-1],
                         "timestamp": 1_764_400_000 + 600 * guest + 67 * turn})  # fmt: skip
    return rows


@pytest.mark.parametrize("in_tokens", [False, True])
def test_the_written_trace_is_the_one_that_was_replayed(in_tokens: bool, tmp_path: Path) -> None:
    tokenizer = model_folder(tmp_path / "model", "clean_chatml") if in_tokens else None
    sent = traffic("agent", 8, num_sessions=3, num_turns=4)
    for kind in ("clock", "tool_order", "key_order", "array_order", "white_space"):
        PLANTS[kind][1](sent, random.Random(kind))
    for one in sent[::2]:  # keys of a call in another order, in the history
        for message in one.body["messages"]:
            for call in message.get("tool_calls", ()):
                call["function"] = dict(reversed(call["function"].items()))
    found, rows = diagnosed(write_jsonl(tmp_path / "t.jsonl", rows_of(sent)), tokenizer)
    assert found.fixed is not None
    assert len(found.proofs) >= 4
    written = read_trace(
        [str(write_jsonl(tmp_path / "f.jsonl", rows))], tokenizer=load_tokenizer(tokenizer)
    )
    replayed = found.fixed.trace.prompts
    assert np.array_equal(written.prompts.offsets, replayed.offsets)
    assert np.array_equal(written.prompts.flat, replayed.flat)


@pytest.mark.parametrize("kind", sorted(PLANTS))
@pytest.mark.parametrize("shape", ["chat", "flat", "anthropic"])
def test_fixed_bytes_are_those_of_the_form(kind: str, shape: str) -> None:
    """Message by message and remembered, or part by part: the same bytes."""
    sent = traffic(PLANTS[kind][0].split()[0], 9, num_sessions=2, num_turns=4)
    PLANTS[kind][1](sent, random.Random(kind))
    steps = Steps(Plan(appends=True))
    quick, num_new = FixedBytes(steps), 0
    for one in sent:
        body = one.body if shape != "anthropic" else as_anthropic(one.body)
        if shape == "flat":
            body = {"model": "m", "prompt": as_text(one.body)}
        request = request_of("openai-requests", json.dumps(body).encode(), "0")
        assert request is not None
        touched: set[str] = set()
        wanted = form_of(request.prompt, steps, touched)[0]
        found_touched: set[str] = set()
        found = quick.rendered(request.prompt, found_touched)
        assert (request.prompt.rendered if found is None else found) == wanted
        assert found is None or found_touched == touched
        num_new += found is not None
    assert num_new or kind not in ("clock", "request_id", "tool_order", "key_order")


@pytest.mark.parametrize(
    ("line", "kept", "moved"),
    [
        (lambda g, t: f"You are talking to {NAMES[g]}. Never reveal the master key.",
         "You are talking to [user: at the end]. Never reveal the master key.", "user: Max Frisch"),
        (lambda g, t: f"Turn {t + 5 * g} of the talk. Retries so far: {t + 5 * g}.",
         "Turn [count 1: at the end] of the talk. Retries so far: [count 2: at the end].",
         "count 1: 7"),
        (lambda g, t: f"It is {10 + g}:{10 + t} o'clock; never book without a deposit.",
         "It is [clock: at the end] o'clock; never book without a deposit.", "clock: 11:12"),
    ],
)  # fmt: skip
def test_rules_behind_a_value_stay_where_they_stand(
    line: Any, kept: str, moved: str, tmp_path: Path
) -> None:
    """Behind so many rules each of these fixes gains, so that it is written."""
    _, rows = diagnosed(write_jsonl(tmp_path / "t.jsonl", talk(line, 10)))
    row = rows[7]
    assert row["messages"][0]["content"].split("\n")[0] == kept
    question, _, values = row["messages"][-1]["content"].partition(HEADER)
    assert question.strip() == "Question 2 of guest 1?"
    assert values.split("\n")[1] == moved


@pytest.mark.parametrize("line", [lambda g, t: f"ts={1_764_400_201 + 600 * g + 67 * t}",
                                  lambda g, t: f"It is {10 + g}:{10 + t} o'clock."])  # fmt: skip
def test_a_clock_at_the_end_is_the_same_choice_as_the_fix(line: Any, tmp_path: Path) -> None:
    found, _ = diagnosed(write_jsonl(tmp_path / "t.jsonl", talk(line)))
    (fix,) = (
        proof for proof in found.proofs if proof.kinds == ("clock",) and "all" not in proof.name
    )
    gains = {c.name: c.gain_tokens for c in found.what_ifs if c.choice == "clock"}
    assert gains["at the end"] == fix.gain_tokens > 0
    assert gains["by the day"] > 0


def test_a_gain_is_null_where_the_fix_does_not_reach(tmp_path: Path) -> None:
    """Ids of calls made anew each turn, in the history: nothing moves them."""
    rng = random.Random(1)
    rows = []
    for turn in range(5):
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": f"Request ID: {rng.getrandbits(128):032x}\n{RULES}"}
        ]
        for number in range(turn + 1):
            call = {"type": "tool_use", "id": f"toolu_{rng.getrandbits(96):024x}", "name": "find",
                    "input": {"room": number}}  # fmt: skip
            messages += [
                {"role": "user", "content": f"Question {number} of the guest, please?"},
                {"role": "assistant", "content": [call]},
                {"role": "user", "content": f"Room {number} is free."},
            ]
        rows.append({"model": "m", "session_id": "s", "timestamp": 1_764_400_000 + 67 * turn,
                     "messages": messages})  # fmt: skip
    found, _ = diagnosed(write_jsonl(tmp_path / "t.jsonl", rows))
    gains = {d.segment: found.gain_of(d) for d in found.defects if d.kind == "request_id"}
    assert gains["system"] is not None
    assert gains["system"].tokens > 0
    assert gains["assistant history"] is None
    reasons = [found.why_no_gain(d) for d in found.defects if d.segment == "assistant history"]
    assert set(reasons) == {NOT_REACHED}


def test_thousands_of_stamped_lines_take_linear_time(tmp_path: Path) -> None:
    def cpu_s(num: int) -> float:
        rng = random.Random(1)
        lines = [f"line {number} of some words here" for number in range(num)]
        rows = []
        for turn in range(3):
            rng.shuffle(lines)
            rows.append({"id": str(turn), "arrival_s": turn, "session": "s", "messages": [
                {"role": "system", "content": "\n".join(lines)},
                {"role": "user", "content": "Well?"}]})  # fmt: skip
        path = write_jsonl(tmp_path / f"{num}.jsonl", rows)
        began = time.process_time()
        diagnosed(path)
        return time.process_time() - began

    cpu_s(50)
    assert cpu_s(2_400) < 8 * cpu_s(600) + 1.0

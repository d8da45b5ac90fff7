"""What a choice costs: clocks and tools replayed beside the other fixes; compaction of sessions
beside a count by hand."""

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hitpath.core import Setting
from hitpath.doctor.diagnosis import Diagnosis
from hitpath.report.doctor_run import examine, open_subject
from hitpath.traces.table import Trace
from support import write_jsonl

RULES = "You book journeys. Ask before you pay. " * 12


def tool(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": f"What {name} does.",
            "parameters": {"type": "object", "properties": {}}}}  # fmt: skip


TOOLS = [tool(name) for name in ("book", "cancel", "find", "pay", "refund", "seat", "track")]


def chats(shuffles: bool, clock: bool, sessions: int = 4, turns: int = 5) -> list[dict[str, Any]]:
    """Sessions of one application; a minute between two turns."""
    rng = random.Random(3)
    rows = []
    for session in range(sessions):
        messages: list[dict[str, Any]] = []
        for turn in range(turns):
            minute = turn + 10 * session
            head = f"Current time: 2026-03-02 14:{minute:02}:07\n{RULES}" if clock else RULES
            tools = rng.sample(TOOLS, len(TOOLS)) if shuffles else TOOLS
            messages.append({"role": "user", "content": f"Question {session}.{turn}? " * 9})
            system = {"role": "system", "content": head}
            rows.append({"model": "m", "session_id": f"s{session}", "tools": tools,
                         "messages": [system, *messages]})  # fmt: skip
            messages.append({"role": "assistant", "content": f"Answer {session}.{turn}. " * 11})
    return rows


def diagnosis_of(folder: Path, rows: list[dict[str, Any]]) -> Diagnosis:
    path = write_jsonl(folder / "t.jsonl", rows)
    return examine(open_subject([str(path)], Setting(block_size=1)))


def choices(found: Diagnosis, choice: str) -> dict[str, tuple[float, int]]:
    return {w.name: (w.hit_rate, w.gain_tokens) for w in found.what_ifs if w.choice == choice}


def text_of(trace: Trace, row: int) -> bytes:
    runs = trace.prompts
    return runs.flat[runs.offsets[row] : runs.offsets[row + 1]].tobytes()


def replayed(folder: Path, rows: list[dict[str, Any]]) -> tuple[int, int]:
    """(hit, prompt bytes) of rows: each has the longest beginning of an earlier prompt."""
    found = diagnosis_of(folder, rows)
    trace = found.trace
    texts = [text_of(trace, row) for row in range(len(trace))]
    hit = 0
    for at, text in enumerate(texts):
        common = [len(_common(text, other)) for other in texts[:at]]
        hit += max(common, default=0)
    return hit, sum(map(len, texts))


def _common(one: bytes, other: bytes) -> bytes:
    size = 0
    while size < min(len(one), len(other)) and one[size] == other[size]:
        size += 1
    return one[:size]


def test_tools_sorted_or_not(tmp_path: Path) -> None:
    found = choices(diagnosis_of(tmp_path, chats(True, False)), "tools")
    sent, sorted_ = replayed(tmp_path, chats(True, False)), replayed(tmp_path, chats(False, False))
    assert found["as sent"] == (pytest.approx(sent[0] / sent[1]), 0)
    assert found["sorted by name"] == (pytest.approx(sorted_[0] / sorted_[1]), sorted_[0] - sent[0])


def test_a_clock_is_priced_behind_tools_that_the_fix_sorts(tmp_path: Path) -> None:
    """As the trace is, the tools break every prompt before its clock does."""
    both = choices(diagnosis_of(tmp_path, chats(True, True)), "clock")
    alone = choices(diagnosis_of(tmp_path, chats(False, True)), "clock")
    assert both == alone
    assert both["by the minute"][1] == 0 < both["by the hour"][1] <= both["by the day"][1]
    assert both["at the end"][1] > 0


def test_no_choice_where_nothing_of_it_broke(tmp_path: Path) -> None:
    found = diagnosis_of(tmp_path, chats(False, False))
    assert {choice.choice for choice in found.what_ifs} == {"compaction"}


@pytest.mark.parametrize("clock", [False, True])
@pytest.mark.parametrize("shuffles", [False, True])
def test_compaction_by_hand(tmp_path: Path, shuffles: bool, clock: bool) -> None:
    """What broke in the trace changes nothing: all that counts is how sessions grow."""
    rows = chats(shuffles, clock)
    found = diagnosis_of(tmp_path, rows)
    trace = found.trace
    window = int(trace.prompt_tokens.max())
    heads = []
    for row in range(0, len(rows), 5):
        text = text_of(trace, row)
        heads.append(text.index(b"<|user|>"))
    for name, share in (("25%", 0.25), ("50%", 0.5), ("90%", 0.9)):
        hit = prompt = 0
        for session, head in enumerate(heads):
            sizes = trace.prompt_tokens[5 * session : 5 * session + 5].tolist()
            length = sizes[0]
            hit, prompt = hit + (head if session else 0), prompt + length
            for before, size in pairwise(sizes):
                grown, kept = size - before, length
                if length + grown > share * window and length > head + 0.05 * window:
                    kept, length = head, int(head + 0.05 * window)
                length += grown
                hit, prompt = hit + kept, prompt + length
        told = choices(found, "compaction")[f"at {name} of {window:,}"]
        assert told[0] == pytest.approx(hit / prompt), json.dumps([name, hit, prompt])

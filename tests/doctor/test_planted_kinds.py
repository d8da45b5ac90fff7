"""Every kind, planted into agents, chats and retrieval in five shapes of requests, is found and no
other one is; clean traffic is clean."""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from doctor.planting import (
    PLANTS,
    Sent,
    as_anthropic,
    as_responses,
    as_text,
    rows_of,
    traffic,
)
from hitpath.doctor.diagnose import Finding, diagnose
from hitpath.doctor.kept import KeptRows, keep_rows
from hitpath.doctor.relatives import find_families
from hitpath.doctor.resolve import resolve
from hitpath.traces import open_inputs, read_trace


def findings_of(rows: list[dict[str, Any]], folder: Path) -> list[Finding]:
    path = folder / "trace.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    kept = KeptRows()
    inputs = keep_rows(open_inputs([str(path)]), kept)
    trace = read_trace([str(path)], inputs=inputs, keep_places=True)
    families = find_families(trace)
    return resolve(diagnose(trace, kept, families))


def kinds_of(rows: list[dict[str, Any]], folder: Path) -> Counter[str]:
    return Counter(
        change.kind
        for finding in findings_of(rows, folder)
        for change in finding.comparison.changes
    )


def shaped(shape: str, all_sent: list[Sent]) -> list[dict[str, Any]]:
    if shape == "openai":
        return rows_of(all_sent)
    if shape == "openai, no sessions":
        return rows_of(all_sent, sessions=False)
    rows = []
    for sent in all_sent:
        if shape in ("anthropic", "responses"):
            make = as_anthropic if shape == "anthropic" else as_responses
            rows.append({"timestamp": sent.at.timestamp(), "session_id": sent.session,
                         **make(sent.body)})  # fmt: skip
            continue
        row = {"id": str(sent.number), "arrival_s": sent.at.timestamp(), "session": sent.session,
               "model": sent.body["model"]}  # fmt: skip
        if shape == "text":
            row["prompt"] = as_text(sent.body)
        else:
            row |= {k: v for k, v in sent.body.items() if k in ("messages", "tools")}
        rows.append(row)
    return rows


SHAPES = ("openai", "openai, no sessions", "anthropic", "responses", "hitpath", "text")


@pytest.mark.parametrize("kind", PLANTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_planted_kind_is_found_and_no_other(kind: str, shape: str, tmp_path: Path) -> None:
    apps, plant = PLANTS[kind]
    for app in apps.split():
        all_sent = traffic(app, 11, num_sessions=4)
        plant(all_sent, random.Random(11))
        assert set(kinds_of(shaped(shape, all_sent), tmp_path)) == {kind}, app


@pytest.mark.parametrize("shape", SHAPES)
def test_clean_traffic_has_no_defect(shape: str, tmp_path: Path) -> None:
    for app in ("agent", "chat", "retrieval"):
        assert not kinds_of(shaped(shape, traffic(app, 5)), tmp_path), app


PAIRS = [
    ("clock", "tool_order"), ("clock", "white_space"), ("request_id", "counter"),
    ("per_user_field", "clock"), ("key_order", "array_order"), ("attribution", "tool_set"),
    ("unicode_form", "number_format"), ("edited_message", "random_sample"),
    ("hidden_characters", "clock"), ("context_changed", "compacted_history"),
]  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS, ids=" and ".join)
def test_two_defects_in_one_prompt_are_both_found(pair: tuple[str, str], tmp_path: Path) -> None:
    all_sent = traffic("agent", 3)
    for kind in pair:
        PLANTS[kind][1](all_sent, random.Random(4))
    assert set(kinds_of(rows_of(all_sent), tmp_path)) == set(pair)

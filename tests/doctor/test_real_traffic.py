"""tau_bench is clean by construction; a defect planted into it is found, with its cost."""

import copy
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from doctor.model_folders import model_folder
from hitpath.core import Setting
from hitpath.doctor.diagnosis import Diagnosis
from hitpath.report.doctor_run import examine, open_subject
from support import shared_data, write_jsonl

TAU = "tau_bench/airline_gpt4o_requests.jsonl"


def diagnosis_of(path: Path, **setting: Any) -> Diagnosis:
    return examine(open_subject([str(path)], Setting(**setting)), what_ifs=False)


def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in shared_data(TAU).read_text().splitlines()]


def test_real_agents_are_clean() -> None:
    found = diagnosis_of(shared_data(TAU))
    total = int(found.trace.prompt_tokens.sum())
    lost = sum(d.tokens_invalidated for d in found.defects if d.kind != "edited_message")
    assert lost < total / 1000


def planted(kind: str, all_rows: list[dict[str, Any]], rng: random.Random) -> None:
    for number, row in enumerate(all_rows):
        system = row["messages"][0]
        if kind == "clock":
            now = f"2024-05-15 {8 + number // 60:02}:{number % 60:02}:{number * 7 % 60:02} EST"
            system["content"] = system["content"].replace("2024-05-15 15:00:00 EST", now)
        elif kind == "tool_order":
            rng.shuffle(row["tools"])
        elif kind == "request_id":
            system["content"] = f"Request {rng.getrandbits(128):032x}\n{system['content']}"


@pytest.mark.parametrize("kind", ["clock", "tool_order", "request_id"])
def test_a_planted_defect_is_the_only_one_and_its_fix_is_proved(kind: str, tmp_path: Path) -> None:
    clean = rows()[:40]
    all_rows = copy.deepcopy(clean)
    planted(kind, all_rows, random.Random(3))
    found = diagnosis_of(write_jsonl(tmp_path / "t.jsonl", all_rows))
    assert {defect.kind for defect in found.defects} == {kind}
    first = found.defects[0]
    assert first.num_requests == len(all_rows) - 1
    without = diagnosis_of(write_jsonl(tmp_path / "clean.jsonl", clean))
    assert found.before is not None
    assert found.after is not None
    assert without.before is not None
    assert found.before < 0.6 < 0.9 < found.after
    assert abs(found.after - without.before) < 0.02
    gain = found.gain_of(first)
    assert gain is not None
    longer = found.proofs[0].prompt_tokens - int(found.trace.prompt_tokens.sum())
    assert longer >= 0  # what was moved has a label at the end of each request
    assert abs(gain.tokens + longer - first.tokens_invalidated) < 0.01 * first.tokens_invalidated


def test_tokens_lost_to_a_clock_are_what_the_clean_trace_had_behind_it(tmp_path: Path) -> None:
    clean = rows()[:40]
    all_rows = copy.deepcopy(clean)
    planted("clock", all_rows, random.Random(3))
    found = diagnosis_of(write_jsonl(tmp_path / "t.jsonl", all_rows))
    reference = diagnosis_of(write_jsonl(tmp_path / "clean.jsonl", clean))
    size = len("2024-05-15 15:00:00 EST")
    place = int(found.findings[1].comparison.changes[0].start)
    for row in range(1, len(clean)):
        shared = int(reference.since[row])
        since = int(found.since[row])
        assert found.costs.lost[row] == shared - max(since, place + size)


def test_no_token_is_lost_twice_and_none_beyond_the_prompt(tmp_path: Path) -> None:
    all_rows = rows()[:40]
    planted("clock", all_rows, random.Random(1))
    planted("tool_order", all_rows, random.Random(1))
    found = diagnosis_of(write_jsonl(tmp_path / "t.jsonl", all_rows))
    found.costs.check()
    found.families.check()
    assert np.all(found.costs.lost + found.since <= found.trace.prompt_tokens)
    assert {defect.kind for defect in found.defects} == {"clock", "tool_order"}


@pytest.mark.parametrize("template", ["clean_chatml", "qwen3_like"])
@pytest.mark.parametrize("kind", ["clock", "tool_order"])
def test_in_tokens_it_is_the_only_one_at_its_own_token(
    kind: str, template: str, tmp_path: Path
) -> None:
    """Two templates: tools before the instructions, and behind them."""
    all_rows = copy.deepcopy(rows()[:24])
    planted(kind, all_rows, random.Random(1))
    folder = model_folder(tmp_path / template, template)
    path = write_jsonl(tmp_path / "t.jsonl", all_rows)
    found = diagnosis_of(path, tokenizer=folder)
    (defect,) = found.defects
    assert defect.kind == kind
    assert found.findings[defect.example].common == defect.token_offset
    gain = found.gain_of(defect)
    assert gain is not None
    longer = found.proofs[0].prompt_tokens - int(found.trace.prompt_tokens.sum())
    assert abs(gain.tokens + longer - defect.tokens_invalidated) < 0.01 * defect.tokens_invalidated
    assert int(found.costs.unexplained.sum()) == 0

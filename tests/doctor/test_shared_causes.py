"""Constant floors and bursts of a clock are one cause; usage alone tells some reasons."""

import json
from pathlib import Path
from typing import Any

import pytest

from doctor.planting import into_system, rows_of, traffic
from hitpath.core import InputError, Setting
from hitpath.doctor.diagnosis import Diagnosis
from hitpath.report.doctor_document import Shown, cause_sentence
from hitpath.report.doctor_job import DoctorJob, run_doctor
from hitpath.report.doctor_run import examine, open_subject
from support import write_jsonl


def diagnosis_of(path: Path) -> Diagnosis:
    return examine(open_subject([str(path)], Setting()), what_ifs=False)


def usage_only(folder: Path, hits: list[int], gap_s: int = 60) -> Path:
    """Turns of a session of which only lengths and usage are known (hitpath's own rows)."""
    rows = [
        {"id": str(i), "arrival_s": i * gap_s, "session": "s", "model": "claude-opus-4-5",
         "prompt_tokens": 20_000 + 900 * i, "reported": {"cached_tokens": hit}}
        for i, hit in enumerate(hits)
    ]  # fmt: skip
    return write_jsonl(folder / "t.jsonl", rows)


def document_of(folder: Path, path: Path) -> dict[str, Any]:
    out = folder / "o.json"
    run_doctor(DoctorJob([str(path)], Setting(), json=str(out)))
    found: dict[str, Any] = json.loads(out.read_text())
    return found


def test_every_turn_reuses_exactly_16276(tmp_path: Path) -> None:
    found = document_of(tmp_path, usage_only(tmp_path, [0, *[16_276] * 9]))
    (cause,) = found["shared_causes"]
    assert cause["kind"] == "floor"
    assert "exactly 16,276" in cause["text"]
    assert cause["num_requests"] == 9
    assert found["provider"]["requests"] == {"first": 1, "broke_or_missed": 9}
    assert found["defects"] == []


def test_turns_that_read_what_was_sent_have_no_floor(tmp_path: Path) -> None:
    hits = [0, *(20_000 + 900 * i - 20 for i in range(9))]
    found = document_of(tmp_path, usage_only(tmp_path, hits))
    assert found["shared_causes"] == []
    assert found["provider"]["requests"] == {"first": 1, "read_before": 9}


def test_a_lapse_is_told_by_the_time(tmp_path: Path) -> None:
    found = document_of(tmp_path, usage_only(tmp_path, [0] * 4, gap_s=400))
    assert found["provider"]["requests"] == {"first": 1, "ttl_passed": 3}


def test_without_prompts_there_is_no_page(tmp_path: Path) -> None:
    path = usage_only(tmp_path, [0, 1])
    with pytest.raises(InputError, match="--html"):
        run_doctor(DoctorJob([str(path)], Setting(), html=str(tmp_path / "o.html")))


def test_a_floor_names_the_defect_that_ends_it(tmp_path: Path) -> None:
    all_sent = traffic("chat", 3)
    for sent in all_sent:
        into_system(sent, f"Request ID: {'abcdef0123456789'[sent.number % 16]}{sent.number:031x}")
    found = diagnosis_of(write_jsonl(tmp_path / "t.jsonl", rows_of(all_sent)))
    floors = [cause for cause in found.shared_causes if cause.kind == "floor"]
    assert floors
    assert floors[0].defect == 0
    told = cause_sentence(found, floors[0], Shown(content=True))
    assert told.endswith("request id at messages[0].content, character "
                         f"{found.defects[0].char_offset:,}, ends it")  # fmt: skip


def test_midnight_is_one_cause_for_all_open_sessions(tmp_path: Path) -> None:
    midnight = 1_764_460_800  # 2025-11-30 00:00 UTC
    rows = []
    for minute in range(-60, 60, 4):
        for session in range(4):
            turn = (minute + 60) // 4
            day = "2025-11-29" if minute < 0 else "2025-11-30"
            text = "You are the night desk of a small hotel. " * 30
            system = {"role": "system", "content": f"Today is {day}.\n{text}"}
            talk = [{"role": ("user", "assistant")[i % 2], "content": f"said {i} by {session} here"}
                    for i in range(2 * turn + 1)]  # fmt: skip
            rows.append({"model": "m", "session_id": str(session), "messages": [system, *talk],
                         "timestamp": midnight + 60 * minute + session})  # fmt: skip
    found = diagnosis_of(write_jsonl(tmp_path / "t.jsonl", rows))
    bursts = [cause for cause in found.shared_causes if cause.kind == "burst"]
    assert {defect.kind for defect in found.defects} == {"clock"}
    assert bursts
    assert "after midnight" in bursts[0].text
    assert bursts[0].num_requests == 4

"""Interrupted between two of its files, the doctor says which are there; none is half written."""

import json
from pathlib import Path

import pytest

from doctor.planting import traffic
from hitpath.core import Setting
from hitpath.report import doctor_job
from hitpath.report.doctor_job import DoctorJob, run_doctor
from support import write_jsonl


def job_of(tmp_path: Path) -> DoctorJob:
    rows = [{**sent.body, "session_id": sent.session} for sent in traffic("chat", 3, 2, 2)]
    trace = write_jsonl(tmp_path / "t.jsonl", rows)
    return DoctorJob(
        [str(trace)], Setting(), json=str(tmp_path / "d.json"), html=str(tmp_path / "d.html"),
        sarif=str(tmp_path / "d.sarif"), fix=str(tmp_path / "d.jsonl"),
    )  # fmt: skip


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("step", "written", "rest"),
    [
        ("doctor_document", [], ["d.json", "d.html", "d.sarif", "d.jsonl"]),
        ("sarif_document", ["d.json"], ["d.html", "d.sarif", "d.jsonl"]),
        ("doctor_page", ["d.json", "d.sarif"], ["d.html", "d.jsonl"]),
        ("write_fixed", ["d.json", "d.sarif", "d.html"], ["d.jsonl"]),
    ],
)
def test_an_interrupt_tells_which_files_are_written(
    step: str, written: list[str], rest: list[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(doctor_job, step, interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_doctor(job_of(tmp_path))
    told = capsys.readouterr().err.splitlines()[-1]
    names = [", ".join(str(tmp_path / name) for name in names) for names in (written, rest)]
    head = f"written: {names[0]}; " if written else ""
    assert told == f"hitpath: {head}not written: {names[1]}"
    found = {path.name for path in tmp_path.iterdir()} - {"t.jsonl"}
    assert found == set(written)
    if "d.json" in written:
        assert json.loads((tmp_path / "d.json").read_text())["schema"] == "hitpath.doctor/1"

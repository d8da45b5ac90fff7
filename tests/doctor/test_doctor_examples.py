"""The broken agents of the examples are found broken in that way, and cured they are clean."""

import importlib.util
import json
from pathlib import Path

import pytest

from hitpath.core import Setting
from hitpath.report.doctor_run import examine, open_subject

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "doctor_broken_agents.py"


def test_each_broken_agent_is_told_by_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = importlib.util.spec_from_file_location("doctor_broken_agents", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    example.main(tmp_path)
    _, *lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(example.BREAKS) == len(list(tmp_path.glob("*_broken.jsonl")))
    for line in lines:
        broken, found = line.split()[:2]
        assert broken == found
        rate, cured = (float(word.rstrip("%")) for word in line.split()[-2:])
        assert rate < cured
    cured_file = tmp_path / "clock_cured.jsonl"
    assert not examine(open_subject([str(cured_file)], Setting())).defects
    assert json.loads(cured_file.read_text().splitlines()[0])["tools"]

"""The broken agents of the examples are found broken in that way, and cured they are clean."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest

from cli import call
from hitpath.core import Setting
from hitpath.doctor.change import Kind
from hitpath.report.doctor_run import examine, open_subject
from support import write_jsonl

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def example_of(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    return example


def test_each_broken_agent_is_told_by_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example = example_of("doctor_broken_agents")
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


def test_the_readme_shows_what_is_printed(tmp_path: Path) -> None:
    example = example_of("doctor_broken_agents")
    path = write_jsonl(tmp_path / "clock_broken.jsonl", example.agent(example.clock))
    text = (EXAMPLES.parent / "README.md").read_text()
    shown = text.split("$ hitpath doctor traces/clock_broken.jsonl\n")[1].split("\n\n")[0]
    printed = call("doctor", str(path)).text
    lines = [line.strip() for line in printed.splitlines()]
    for line in shown.splitlines():
        assert line.strip() == "…" or line.strip() in lines, line


def test_each_broken_agent_in_ids_is_told_by_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mistral_common")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    example = example_of("doctor_broken_tokens")
    example.main(tmp_path)
    _, *lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(example.AGENTS)
    for line in lines:
        broken, found = line.split()[:2]
        assert broken == found
        rate, cured = (float(word.rstrip("%")) for word in line.split()[-2:])
        assert rate < cured
    for agent in example.AGENTS:
        cured_file = tmp_path / f"{agent.__name__}_cured.jsonl"
        setting = Setting(tokenizer=example.TOKENIZER)
        assert not examine(open_subject([str(cured_file)], setting)).defects


def test_every_kind_has_a_broken_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    agents = example_of("doctor_broken_agents").BREAKS, example_of("doctor_broken_tokens").AGENTS
    broken = {agent.__name__ for some in agents for agent in some}
    kinds = {kind for kind in get_args(Kind) if not kind.startswith("?")}
    assert broken == kinds - {"new_content"}

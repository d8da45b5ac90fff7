"""Whole documents as they were when last looked at. A golden that differs is regenerated with a
reason (`pytest tests/golden --update-golden`) or deleted; it is never skipped."""

import json
from pathlib import Path

import pytest

from hitpath import __version__
from hitpath.core import Setting
from hitpath.cost.models import load_model
from hitpath.report.document import document
from hitpath.report.sampled import sampled_document
from hitpath.spine import analyze, estimate
from hitpath.traces.synthetic import demo_rows
from support import write_jsonl

HERE = Path(__file__).parent
CASES = {
    "demo_fleet": Setting(
        engine="lru", capacity_tokens=120_000, outputs="insert", workers=2, router="round-robin"
    ),
    "demo_one_cache": Setting(engine="lru", capacity_tokens=60_000, last_token=True),
    "demo_sampled": Setting(sample_frac=0.25),
}


def rounded(value):
    """Floats to 12 digits: the last bits of a mean are the processor's, not ours."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return float(f"{value:.12g}") if isinstance(value, float) else value


@pytest.mark.parametrize("name", CASES)
def test_golden(name, tmp_path, request):
    path = str(write_jsonl(tmp_path / "demo.jsonl", demo_rows(0)))
    setting, model = CASES[name], load_model("llama-3.1-8b", "bf16")
    if setting.sample_frac is not None:
        found = sampled_document(estimate([path], setting), model)
    else:
        found = document(analyze([path], setting), model)
    found = rounded(json.loads(json.dumps(found)))
    file = HERE / f"{name}.json"
    if request.config.getoption("--update-golden"):
        header = {
            "tool": "hitpath",
            "version": __version__,
            "seed": 0,
            "setting": repr(setting),
            "command": "pytest tests/golden --update-golden",
        }
        file.write_text(json.dumps({"header": header, "document": found}, indent=1) + "\n")
    golden = json.loads(file.read_text())
    assert golden["header"]["setting"] == repr(setting)
    assert found == golden["document"]

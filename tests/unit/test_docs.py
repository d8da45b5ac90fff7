"""The documentation is checked: JSON keys, help pages, README commands, trace examples."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from hitpath.analyze import analyze_trace
from hitpath.core import CAUSES, Setting
from hitpath.report.document import document
from hitpath.report.sampled import sampled_document
from hitpath.sim.engines import make_engine
from hitpath.summary.estimate import estimate_trace
from hitpath.traces import read_trace
from hitpath.traces.sampling import Sampler
from support import write_jsonl

ROOT = Path(__file__).resolve().parents[2]

ROWS = [
    {
        "id": i,
        "arrival_s": i,
        "segments": [["a", 40], [f"b{i % 2}", 40]],
        "session": f"s{i % 2}",
        "tenant": f"t{i % 2}",
        "reported": {"cached_tokens": 16 * (i % 3), "cached_by_tier": {"host": 16 * (i % 3)}},
    }
    for i in range(6)
]


def keys_of(value):
    """All keys at any depth, but for those that are data (names, tiers, shares)."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if not re.fullmatch(r"0\.\d+", key):
                yield key
            yield from keys_of(inner)
    elif isinstance(value, list):
        for inner in value[:2]:
            yield from keys_of(inner)


def test_every_json_key_is_documented(tmp_path):
    page = (ROOT / "docs" / "json-output.md").read_text()
    path = str(write_jsonl(tmp_path / "t.jsonl", ROWS))
    setting = Setting(engine="lru", capacity_tokens=64)
    trace = read_trace([path])
    whole = document(analyze_trace(trace, setting), None)
    thin = read_trace([path], sampler=Sampler(2, 0))
    sampled = sampled_document(estimate_trace(thin, setting, make_engine(setting, 16)), None)
    keys = {*keys_of(whole), *keys_of(sampled)} - {"host"}
    missing = sorted(key for key in keys if f"`{key}`" not in page)
    assert not missing


def test_every_cause_is_documented():
    page = (ROOT / "docs" / "what-counts-as-a-hit.md").read_text()
    assert all(f"`{cause}`" in page for cause in CAUSES)


def test_help_pages_are_current():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    assert (ROOT / "docs" / "cli.md").read_text() == generate.page(), "run `make docs`"


def test_the_examples_of_the_trace_format_can_be_read(tmp_path):
    """Every JSON line shown is a row that the reader takes."""
    page = (ROOT / "docs" / "trace-format.md").read_text()
    shown = [
        line
        for block in re.findall(r"```json\n(.*?)```", page, re.DOTALL)
        for line in block.splitlines()
        if line.startswith("{") and "arrival_s" in line
    ]
    assert len(shown) >= 5
    for i, line in enumerate(shown):
        trace = read_trace([str(write_jsonl(tmp_path / f"{i}.jsonl", [json.loads(line)]))])
        assert len(trace) == 1


def test_the_worked_example_of_the_six_rates(tmp_path):
    page = (ROOT / "docs" / "what-counts-as-a-hit.md").read_text()
    block = re.search(r"```json\n(.*?)```", page, re.DOTALL).group(1)
    rows = [json.loads(line) for line in block.splitlines()]
    trace = read_trace([str(write_jsonl(tmp_path / "six.jsonl", rows))])
    analysis = analyze_trace(trace, Setting(block_size=4))
    for name in analysis.hit_rate.__dataclass_fields__:
        row = next(r for r in page.splitlines() if r.startswith(f"| `{name}` |") and "%" in r)
        told = [float(x) for x in re.findall(r"([\d.]+) %", row)]
        whole, steady = getattr(analysis.hit_rate, name), getattr(analysis.steady, name)
        assert told == [pytest.approx(whole * 100, abs=5e-3), pytest.approx(steady * 100, abs=5e-3)]


def test_readme_names_only_what_exists():
    text = (ROOT / "README.md").read_text()
    for path in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / path).exists(), path
    help_text = (ROOT / "docs" / "cli.md").read_text()
    for option in set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)):
        assert option in help_text, option


def test_links_between_pages():
    for page in (ROOT / "docs").rglob("*.md"):
        for path in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / path).exists(), (page, path)


def test_the_worked_example_of_the_readme(tmp_path):
    text = (ROOT / "README.md").read_text()
    rows = [json.loads(line.strip()) for line in text.splitlines() if '"segments"' in line]
    path = str(write_jsonl(tmp_path / "three.jsonl", rows))
    tokens = document(analyze_trace(read_trace([path]), Setting()), None)["tokens"]
    assert (tokens["hit"], tokens["prompt"]) == (48, 150)
    assert "48 of 150 tokens hit, 32.00 %" in text
    causes = tokens["causes"]
    assert (causes["rounding"], causes["isolated"], causes["cold"]) == (2, 40, 60)

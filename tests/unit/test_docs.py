"""The documentation is checked: JSON keys, help pages, README commands, trace examples."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from cli import call
from hitpath.core import CAUSES, Setting
from hitpath.report.document import document
from hitpath.report.lengths import lengths_document
from hitpath.report.rows import ledger_table
from hitpath.report.sampled import sampled_document
from hitpath.sim.engines import make_engine
from hitpath.spine import analyze_trace
from hitpath.summary import sum_up_lengths
from hitpath.summary.estimate import estimate_trace
from hitpath.traces import read_trace
from hitpath.traces.sampling import Sampler
from samples import examples
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


METRICS = """vllm:prefix_cache_queries_total{engine="0",model_name="m"} 1000.0
vllm:prefix_cache_hits_total{engine="0",model_name="m"} 900.0
vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="64"} 1.0
vllm:prefix_cache_queries_total{engine="0",model_name="m"} 3000.0
vllm:prefix_cache_hits_total{engine="0",model_name="m"} 1900.0
"""


def test_every_key_of_what_an_engine_says_is_documented(tmp_path):
    path, out = tmp_path / "metrics.txt", tmp_path / "o.json"
    path.write_text(METRICS)
    assert call("analyze", path, "--json", out).code == 0
    page = (ROOT / "docs" / "json-output.md").read_text()
    keys = {*keys_of(json.loads(out.read_text()))}
    assert "observations" in keys
    assert not sorted(key for key in keys if f"`{key}`" not in page)


def test_every_column_of_a_ledger_is_documented(tmp_path):
    page = (ROOT / "docs" / "json-output.md").read_text().split("## `--ledger`")[1]
    path = str(write_jsonl(tmp_path / "t.jsonl", ROWS))
    names = ledger_table(analyze_trace(read_trace([path]), Setting())).column_names
    assert not [name for name in names if f"`{name}`" not in page]


def test_paper_is_no_narrow_screen():
    """What a narrow screen hides must be on paper."""
    css = (ROOT / "src" / "hitpath" / "report" / "html" / "page.css").read_text()
    for width in re.findall(r"@media ([^{]*max-width[^{]*)", css):
        assert width.startswith("screen and"), width


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


HITS = re.compile(
    r"(?i:(?P<reported>reported hit)|hit) (?P<hit>[\d,]+) of (?P<prompt>[\d,]+)"
    r"(?: bytes| tokens)?(?: with `--block-size (?P<size>\d+)`)?"
)
SUMS = re.compile(r"([\d,]+) requests and ([\d,]+) prompt tokens; ([\d,]+) reported as hit")
NO_RATE = re.compile(r"([\d,]+) prompt tokens, ([\d,]+) output tokens, no hit rate")
FIGURES = [
    (name, ending, body, behind)
    for name, ending, body, behind in examples()
    if not name.startswith("trace-format: Examples")  # there the figures stand before
    and (HITS.search(behind) or SUMS.search(behind) or NO_RATE.search(behind))
]


def number(text):
    return int(text.replace(",", ""))


@pytest.mark.parametrize(("name", "ending", "body", "behind"), FIGURES, ids=[f[0] for f in FIGURES])
def test_the_figures_behind_the_examples(name, ending, body, behind, tmp_path):
    path = tmp_path / f"t.{ending}"
    path.write_text(body)
    told = HITS.search(behind)
    size = told["size"] if told else None
    trace = read_trace([str(path)], block_size=number(size) if size else None)
    if trace.identity != "lengths_only":
        tokens = document(
            analyze_trace(
                trace, Setting(block_size=trace.block_size or (number(size) if size else None))
            ),
            None,
        )["tokens"]
        assert told, name
        assert (tokens["hit"], tokens["prompt"]) == (number(told["hit"]), number(told["prompt"]))
        return
    tokens = lengths_document(sum_up_lengths(trace, Setting()))["tokens"]
    asked = tokens["prompt"] - tokens["not_reported"]
    if told:
        assert (tokens["hit"], asked) == (number(told["hit"]), number(told["prompt"]))
    elif sums := SUMS.search(behind):
        assert [len(trace), tokens["prompt"], tokens["hit"]] == list(map(number, sums.groups()))
        assert asked == tokens["prompt"]
    else:
        prompt, output = map(number, NO_RATE.search(behind).groups())
        assert (tokens["prompt"], tokens["hit"]) == (prompt, None)
        assert trace.output_tokens.sum() == output


def test_most_examples_say_what_they_give():
    assert len(FIGURES) >= 18


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
    shown = text.split("$ hitpath analyze three.jsonl\n")[1].split("\n\n")[0].splitlines()
    printed = [line.rstrip() for line in call("analyze", path).text.splitlines()]
    for line in shown:
        if not set(line.strip()) <= {"…", "─"}:
            assert line.removeprefix("    ") in printed, line
    causes = tokens["causes"]
    assert (causes["rounding"], causes["isolated"], causes["cold"]) == (2, 40, 60)

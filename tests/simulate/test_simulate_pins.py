"""The pinned keys of "hitpath.simulation/1": the exact sets that stand here, in the document and in
docs/json-output.md. Keys may be added there, so this test is edited only to add."""

import re
from pathlib import Path

import pytest

from hitpath.core import Setting
from hitpath.report.simulate_result import Simulated
from hitpath.traces.synthetic import demo_rows
from support import trace_of_rows

PAGE = Path(__file__).resolve().parents[2] / "docs" / "json-output.md"
OPTIONS = {"model": "llama-3.1-8b", "hardware": "h100-sxm", "capacity_tokens": 150_000}
STAGES = {"load": {"arrivals": "poisson", "stages": [{"rate_per_s": 10, "requests": 60}]}}

QUANTILES = {"mean", "p50", "p90", "p99"}
SPREAD = {"mean", "p90", "max"}
LATENCY = {"ttft_s", "tpot_s", "e2e_s"}
THROUGHPUT = {"output_tokens_per_s", "requests_per_s"}
ENDINGS = {"served", "refused_full", "too_large", "failed_worker"}
PART = ENDINGS | {
    "num_sent", "prompt_tokens", "hit_tokens", "hit_rate", "latency", "throughput", "queue",
    "kv_use",
}  # fmt: skip
STEPS = {"prompt", "ever_computed", "best_worker", "chosen_worker", "delivered", "router_believed"}
PINNED = {
    "latency": LATENCY,
    "throughput": THROUGHPUT,
    "queue": SPREAD,
    "kv_use": SPREAD,
    "funnel": STEPS,
    "per_worker": PART | {
        "name", "role", "busy_frac", "num_steps", "computed_tokens", "output_tokens",
        "evicted_tokens", "num_preemptions", "peak_kv_use",
    },
    "per_stage": PART | {"stage", "begin_s", "end_s"},
}  # fmt: skip


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    trace = trace_of_rows(tmp_path_factory.mktemp("t"), demo_rows(0)[:60])
    return Simulated.of(trace, Setting(), STAGES, workers=2, **OPTIONS).document


@pytest.mark.parametrize("name", PINNED)
def test_the_pinned_keys_are_exactly_these(document, name):
    assert document["schema"] == "hitpath.simulation/1"
    found = document[name]
    for part in found if isinstance(found, list) else [found]:
        assert set(part) == PINNED[name]


@pytest.mark.parametrize("name", ["per_worker", "per_stage"])
def test_a_part_has_the_figures_of_the_whole(document, name):
    assert document[name]
    for part in document[name]:
        assert set(part["latency"]) == LATENCY
        assert set(part["throughput"]) == THROUGHPUT
        assert set(part["queue"]) == set(part["kv_use"]) == SPREAD


def test_times_and_steps_have_theirs(document):
    for times in document["latency"].values():
        assert set(times) == QUANTILES
    for step in document["funnel"].values():
        assert set(step) == {"tokens", "frac"}


def test_what_analyze_pins_is_pinned_here_too(document):
    for name in ("trace", "setting", "hit_rate", "steady", "tokens", "ladder", "curve"):
        assert name in document


def test_the_page_marks_just_these():
    part = (
        PAGE.read_text().partition("## `simulate`, schema")[2].partition("### `simulate --sweep")[0]
    )
    rows = re.findall(r"^\| (`[^|]*) \| (P?) ?\| (.*) \|$", part, re.MULTILINE)
    marked = {name for names, mark, _ in rows if mark for name in re.findall(r"`(\w+)`", names)}
    assert marked == set(PINNED)
    assert "**Pinned**" in part
    for names, mark, told in rows:
        for name in re.findall(r"`(\w+)`", names) if mark else ():
            shared = PART if name in ("per_worker", "per_stage") else set()
            missing = {key for key in PINNED[name] - shared if f"`{key}`" not in told}
            assert not missing

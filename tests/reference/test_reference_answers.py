"""The answers in ../shared/data/README.md, computed there with a trie and an ordered dict."""

import json

import numpy as np
import pytest

from hitpath.core import CAUSES, Setting
from hitpath.report.document import document
from hitpath.spine import analyze, analyze_trace
from hitpath.traces import read_trace
from support import shared_data, trace_of_rows, write_jsonl

LRU_HITS = {  # capacity in blocks of 512 -> hit tokens, whole blocks
    100: 6_179_840,
    1_000: 6_572_544,
    1_953: 7_859_200,
    5_859: 20_070_400,
    8_192: 26_782_208,
    10_000: 31_217_664,
    30_000: 48_060_928,
    32_768: 49_411_584,
    50_000: 52_312_064,
    97_656: 53_633_024,
}
PROMPT_TOKENS = 144_793_823


@pytest.fixture(scope="module")
def conversation():
    return read_trace([str(shared_data("mooncake/conversation_trace.jsonl"))])


def test_mooncake_unlimited(conversation):
    result = document(analyze_trace(conversation, Setting()), None)
    trace = result["trace"]
    assert (trace["num_requests"], trace["prompt_tokens"]) == (12_031, PROMPT_TOKENS)
    assert (trace["format"], trace["identity"]) == ("mooncake", "chained")
    assert trace["block_size"] == 512
    assert result["tokens"]["hit"] == 54_063_104
    assert result["tokens"]["causes"]["rounding"] == 35_307
    assert result["tokens"]["causes"]["cold"] == PROMPT_TOKENS - 54_098_411
    assert [r["tokens"] for r in result["ladder"]] == [
        54_063_104,
        None,
        None,
        54_063_104,
        54_063_104,
        54_098_411,
        54_098_411,
        None,
        PROMPT_TOKENS,
    ]
    rates = result["hit_rate"]
    assert rates["token_weighted"] == 54_063_104 / PROMPT_TOKENS
    assert rates["token_weighted_with_partial"] == 54_098_411 / PROMPT_TOKENS
    assert rates["block_weighted"] == 105_710 / 288_500
    assert rates["request_mean_block"] == pytest.approx(0.384258, abs=5e-7)
    assert rates["request_mean_token"] == pytest.approx(0.409385, abs=5e-7)
    assert rates["request_mean_token_full"] == pytest.approx(0.407789, abs=5e-7)
    assert result["steady"]["token_weighted"] == pytest.approx(0.3978, abs=5e-5)
    assert result["steady"]["token_weighted_with_partial"] == pytest.approx(0.3981, abs=5e-5)
    assert set(result["tokens"]["not_known"]) == {"ineligible", "in_flight", "diverged"}
    assert all(result["tokens"]["causes"][c] is None for c in result["tokens"]["not_known"])
    assert result["origin"] is None
    assert result["origin_not_known"]


@pytest.mark.parametrize(("capacity", "hit_tokens"), LRU_HITS.items())
def test_mooncake_lru(conversation, capacity, hit_tokens):
    setting = Setting(engine="lru", capacity_tokens=capacity * 512)
    analysis = analyze_trace(conversation, setting)
    assert analysis.ledger.total(analysis.ledger.hit) == hit_tokens
    assert analysis.curve.at(capacity) * 512 == hit_tokens
    split = analysis.split
    assert split.policy is not None
    assert split.capacity is not None
    assert (split.policy >= 0).all()
    assert (split.capacity >= 0).all()
    evicted = analysis.ledger.cause("evicted")
    assert np.array_equal(split.policy + split.capacity, evicted)


def test_smallest_caches_reach_their_share_and_no_smaller_one_does(conversation):
    curve = analyze_trace(conversation, Setting()).curve
    assert curve.ceiling * 512 == 54_063_104
    for share in (0.5, 0.8, 0.9, 0.95, 0.99, 1.0):
        blocks = curve.smallest_for(share)
        assert curve.at(blocks) >= share * curve.ceiling
        assert curve.at(blocks - 1) < share * curve.ceiling


def test_coding_agent_sessions():
    folder = str(shared_data("coding_agent_sessions"))
    analysis = analyze([folder], Setting())
    result = document(analysis, None)
    assert result["trace"]["format"] == "coding-agent"
    assert (result["trace"]["num_requests"], result["trace"]["prompt_tokens"]) == (829, 71_996_338)
    assert result["tokens"]["hit"] == 68_319_360
    assert result["hit_rate"]["block_weighted"] == 1_067_490 / 1_124_549
    assert any("7,424" in warning for warning in result["warnings"])
    split = document(analyze([folder], Setting(split_models=True)), None)
    assert split["tokens"]["hit"] == 68_311_936


def test_agent_prompts_as_text(tmp_path):
    """lmcache_taubench: 64-byte blocks of UTF-8 in order of time."""
    rows = []
    for path in sorted(shared_data("lmcache_taubench").glob("*.jsonl")):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            rows.append(
                {
                    "id": f"{path.stem}/{len(rows)}",
                    "arrival_s": row["timestamp"] / 1e6,
                    "prompt": row["input"],
                }
            )
    analysis = analyze_trace(trace_of_rows(tmp_path, rows), Setting(block_size=64))
    assert (len(rows), analysis.ledger.total(analysis.ledger.prompt)) == (78, 75_911)
    assert analysis.ledger.total(analysis.ledger.hit) == 62_784
    assert analysis.trace.identity == "text"


def shared_prefix_rows(passes: int) -> list[dict]:
    """The "57x" workload: 150 groups x 5 users, 6,000 shared + 1,200 own tokens."""
    return [
        {
            "id": f"{p}/{g}/{u}",
            "arrival_s": float(p * 750 + g * 5 + u),
            "segments": [[f"group {g}", 6000], [f"user {g}/{u}", 1200]],
        }
        for p in range(passes)
        for g in range(150)
        for u in range(5)
    ]


@pytest.mark.parametrize(
    ("passes", "percent"),
    [
        (1, {1: 66.667, 16: 66.667, 64: 66.133, 128: 65.422, 512: 62.578}),
        (2, {1: 83.326, 16: 83.222, 64: 82.844, 128: 82.489, 512: 81.067}),
    ],
)
def test_shared_prefix_workload(tmp_path, passes, percent):
    trace = trace_of_rows(tmp_path, shared_prefix_rows(passes))
    for block_size, expected in percent.items():
        setting = Setting(block_size=block_size, last_token=True)
        rate = analyze_trace(trace, setting).hit_rate.token_weighted
        assert rate * 100 == pytest.approx(expected, abs=5e-4)


def test_shared_prefix_workload_under_random_routing(tmp_path):
    """8 workers, block 16: 18.388 % expected, 1.0 point of standard deviation a run; the mean
    of 400 seeds has 0.05, so 0.25 points are five standard errors."""
    trace = trace_of_rows(tmp_path, shared_prefix_rows(1))
    rates = []
    for seed in range(400):
        setting = Setting(last_token=True, workers=8, router="random", seed=seed, block_size=16)
        analysis = analyze_trace(trace, setting)
        rates.append(analysis.hit_rate.token_weighted * 100)
        assert analysis.ledger.total(analysis.ledger.cause("evicted")) == 0
    assert np.mean(rates) == pytest.approx(18.388, abs=0.25)
    assert 0.7 < np.std(rates) < 1.3


def test_retrieval_components_are_a_prefix_cache(tmp_path):
    """ragpulse_sample: content ids, which are no prefixes; named stretches say it exactly."""
    folder = shared_data("ragpulse_sample")
    lengths: dict[str, dict[int, int]] = {}
    files = {"sys_prompt": 1, "passages": 2, "history": 3, "user_input": 4, "web_search": 5}
    for name, number in files.items():
        id_field = f"{name.removesuffix('s')}_id" if name == "passages" else f"{name}_id"
        lines = (folder / f"{number}_{name}.jsonl").read_text().splitlines()
        lengths[name] = {row[id_field]: row["token_length"] for row in map(json.loads, lines)}
    order = ["sys_prompt", "passages", "history", "web_search", "user_input"]
    rows = []
    for i, line in enumerate((folder / "0_trace.jsonl").read_text().splitlines()):
        ids = json.loads(line)["hash_ids"]
        segments = [
            [f"{name}/{value}", lengths[name][value]]
            for name in order
            for value in ids["passages_ids" if name == "passages" else name]
        ]
        rows.append({"id": i, "arrival_s": float(i), "segments": segments})
    trace = read_trace([str(write_jsonl(tmp_path / "rag.jsonl", rows))])
    analysis = analyze_trace(trace, Setting(block_size=1))
    assert analysis.ledger.total(analysis.ledger.prompt) == 902_405
    assert analysis.ledger.total(analysis.ledger.hit) == 285_833


def test_causes_add_up_everywhere(conversation):
    tokens = document(
        analyze_trace(
            conversation,
            Setting(engine="lru", capacity_tokens=3_000_000, workers=4, router="prefix"),
        ),
        None,
    )["tokens"]
    labelled = sum(tokens["causes"][c] or 0 for c in CAUSES)
    assert tokens["hit"] + labelled + tokens["unexplained"] == tokens["prompt"] == PROMPT_TOKENS

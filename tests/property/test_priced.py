"""Prefill priced by label, against each path computed alone and subtracted by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hitpath
from hitpath.core import ABSENT, CAUSES
from hitpath.cost.paths import decode_step, hit_path
from hitpath.cost.pricing import load_pricing
from hitpath.summary.decode_bound import decode_bound
from hitpath.summary.hit_classes import hit_classes

MODELS = ("llama-3.1-8b", "mixtral-8x7b", "deepseek-v2-lite", "gemma-3-4b", "qwen3-next-80b-a3b")


def pricing_of(model="llama-3.1-8b", **options):
    return load_pricing(model, "h100-sxm", **options)


@st.composite
def traces(draw):
    """Growing conversations, reported hits, salts, silent rows."""
    rows = []
    for i in range(draw(st.integers(1, 8))):
        shared = draw(st.integers(0, 60))
        row = {
            "id": i,
            "arrival_s": i,
            "tokens": [
                *range(shared),
                *(1000 * (i + 1) + t for t in range(draw(st.integers(0, 20)))),
            ],
        }
        if draw(st.booleans()):
            row["context"] = {"salt": "s"}
        if draw(st.booleans()):
            row["output_tokens"] = draw(st.integers(0, 50))
        if draw(st.booleans()) and row["tokens"]:
            row["reported"] = {"cached_tokens": draw(st.integers(0, len(row["tokens"])))}
        rows.append(row)
    return rows


@settings(max_examples=60)
@given(
    rows=traces(),
    model=st.sampled_from(MODELS),
    chunk=st.sampled_from([None, 7]),
    gpus=st.sampled_from([1, 2]),
    engine=st.sampled_from([{}, {"engine": "lru", "capacity_tokens": 32}]),
)
def test_every_label_is_the_difference_of_two_paths(rows, model, chunk, gpus, engine):
    pricing = pricing_of(model, chunk_tokens=chunk, num_gpus=gpus, gpu_hour_usd=3.6)
    analysis = hitpath.analyze(rows, block_size=4, pricing=pricing, **engine).analysis
    priced, ledger = analysis.priced, analysis.ledger
    priced.check()
    sums = {name: [0, 0.0, 0.0] for name in ("avoided", *priced.labels, "floor", "miss", "served")}

    def path(prompt, cached):
        return hit_path(pricing.replica, prompt, cached, chunk_tokens=chunk)

    def add(name, before, after):
        sums[name][0] += before.tokens_computed - after.tokens_computed
        sums[name][1] += before.flops - after.flops
        sums[name][2] += before.ttft_s - after.ttft_s

    for row in np.flatnonzero(ledger.counted):
        prompt = int(ledger.prompt[row])
        if not prompt:
            continue
        steps = [("avoided", int(ledger.hit[row])), ("unexplained", int(ledger.unexplained[row]))]
        steps += [(cause, int(ledger.cause(cause)[row])) for cause in CAUSES]
        reach, before = 0, path(prompt, 0)
        for name, whole in (("miss", before), ("served", path(prompt, steps[0][1]))):
            sums[name] = [
                old + new
                for old, new in zip(
                    sums[name], (whole.tokens_computed, whole.flops, whole.ttft_s), strict=True
                )
            ]
        for name, tokens in steps:
            reach += tokens
            after = path(prompt, reach)
            add(name, before, after)
            before = after
        assert reach == prompt
        sums["floor"][0] += before.tokens_computed
        sums["floor"][1] += before.flops
        sums["floor"][2] += before.ttft_s

    whole_s = sums["miss"][2]
    for name, (tokens, flops, seconds) in sums.items():
        found = priced.labels[name] if name in priced.labels else getattr(priced, name)
        if found is None:
            assert name in ledger.rungs.unknown
            assert tokens == 0
            continue
        assert found.prefill_tokens == tokens, name
        assert math.isclose(found.flops, flops, rel_tol=1e-9, abs_tol=1e-6 * sums["miss"][1])
        assert math.isclose(found.gpu_s, gpus * seconds, rel_tol=1e-9, abs_tol=1e-9 * whole_s)
        assert math.isclose(found.usd, found.gpu_s / 1000, rel_tol=1e-12)


@settings(max_examples=30)
@given(
    requests=st.lists(
        st.tuples(st.integers(0, 3000), st.floats(0, 1), st.integers(-1, 400)), min_size=1
    ),
    model=st.sampled_from(MODELS),
    batch=st.sampled_from([1, 16]),
)
def test_the_bound_is_amdahls_over_each_request(requests, model, batch):
    pricing = pricing_of(model, decode_batch=batch)
    prompt = np.array([p for p, _, _ in requests], dtype=np.int64)
    hit = np.array([int(p * share) for p, share, _ in requests], dtype=np.int64)
    output = np.array([ABSENT if o < 0 else o for _, _, o in requests], dtype=np.int64)
    from hitpath.cost.path_rows import price_with

    miss = price_with(pricing.replica, prompt, np.zeros_like(hit))
    served = price_with(pricing.replica, prompt, hit)
    found = decode_bound(pricing, prompt, hit, output, miss, served)
    rows = [(int(p), int(h), int(o)) for p, h, o in zip(prompt, hit, output, strict=True)]
    rows = [row for row in rows if row[0] > 0 and row[2] > 0]
    if not rows:
        assert found is None
        return
    before = sum(hit_path(pricing.replica, p, 0).ttft_s for p, _, _ in rows)
    after = sum(hit_path(pricing.replica, p, h).ttft_s for p, h, _ in rows)
    decode = sum(
        (o - 1) * decode_step(pricing.replica, p + o // 2, batch).ttft_s for p, _, o in rows
    )
    assert found.num_requests == len(rows)
    assert math.isclose(found.miss_prefill_s, before, rel_tol=1e-9)
    assert math.isclose(found.served_prefill_s, after, rel_tol=1e-9)
    assert math.isclose(found.decode_s, decode, rel_tol=1e-9)
    assert math.isclose(found.gained, (before + decode) / (after + decode), rel_tol=1e-9)
    if decode:
        assert math.isclose(found.ceiling, (before + decode) / decode, rel_tol=1e-9)
        assert found.gained <= found.ceiling * (1 + 1e-12)
    else:
        assert found.ceiling is None


@given(
    st.lists(
        st.tuples(st.integers(0, 100), st.floats(0, 1), st.floats(0, 10) | st.none()), min_size=1
    ),
    st.sampled_from([None, 16]),
)
def test_classes_by_sorting(requests, block):
    prompt = np.array([p for p, _, _ in requests], dtype=np.int64)
    hit = np.array([int(p * s) for p, s, _ in requests], dtype=np.int64)
    measured = np.array([np.nan if m is None else m for _, _, m in requests])
    seconds = prompt * 0.5 + hit * 0.01
    members = {"full_miss": [], "partial": [], "full_hit": []}
    for row, (p, h) in enumerate(zip(prompt, hit, strict=True)):
        if p == 0:
            continue
        name = "full_miss" if h == 0 else "full_hit" if p - h <= (block or 1) else "partial"
        members[name].append(row)
    found = {one.name: one for one in hit_classes(prompt, hit, seconds, measured, block)}
    assert found.keys() == {name for name, rows in members.items() if rows}

    def check(times, values):
        ordered = sorted(values)
        for share, value in ((0.5, times.p50_s), (0.95, times.p95_s), (0.99, times.p99_s)):
            assert value == ordered[max(math.ceil(share * len(ordered) - 1e-9), 1) - 1]
        assert (times.num_requests, times.max_s) == (len(ordered), ordered[-1])

    for name, one in found.items():
        rows = members[name]
        check(one.modelled, [seconds[row] for row in rows])
        told = [measured[row] for row in rows if not np.isnan(measured[row])]
        assert (one.measured is None) == (not told)
        if told:
            check(one.measured, told)
        assert one.prompt_tokens == sum(int(prompt[row]) for row in rows)
        assert one.hit_tokens == sum(int(hit[row]) for row in rows)


def test_a_label_that_is_not_known_has_no_price():
    rows = [{"id": i, "arrival_s": i, "tokens": [1] * 64} for i in range(2)]
    labels = hitpath.analyze(rows, pricing=pricing_of()).analysis.priced.labels
    assert labels["diverged"] is None
    assert labels["in_flight"] is None
    assert labels["evicted"].gpu_s == 0


def test_a_lone_prompt_without_a_hit_costs_what_price_says():
    pricing = pricing_of(gpu_hour_usd=2.0)
    priced = hitpath.analyze(
        [{"id": 0, "arrival_s": 0, "tokens": list(range(1000))}], pricing=pricing
    ).analysis.priced
    alone = hit_path(pricing.replica, 1000, 0)
    assert priced.miss.gpu_s == pytest.approx(alone.ttft_s, rel=1e-12)
    assert priced.miss.usd == pytest.approx(alone.ttft_s * 2 / 3600, rel=1e-12)
    assert priced.ttft[0].modelled.p50_s == pytest.approx(alone.ttft_s, rel=1e-12)
    assert priced.span_s == 0
    assert priced.gpu_hours_per_day(priced.miss) is None


def test_lengths_only_are_priced_where_they_report():
    rows = [
        {"id": "a", "arrival_s": 0, "prompt_tokens": 1000, "reported": {"cached_tokens": 600}},
        {"id": "b", "arrival_s": 7200, "prompt_tokens": 500, "reported": {"cached_tokens": 0}},
        {"id": "c", "arrival_s": 7300, "prompt_tokens": 900},
    ]
    pricing = pricing_of()
    priced = hitpath.analyze(rows, pricing=pricing).analysis.priced
    replica = pricing.replica
    missed = sum(hit_path(replica, *row).ttft_s for row in ((1000, 600), (500, 0)))
    floor = sum(hit_path(replica, tokens, tokens - 1).ttft_s for tokens in (1000, 500))
    assert priced.left_out == 1
    assert priced.served.gpu_s == pytest.approx(missed, rel=1e-12)
    assert priced.labels["not_known"].gpu_s == pytest.approx(missed - floor, rel=1e-12)
    assert priced.gpu_hours_per_day(priced.served) == pytest.approx(missed / 7200 * 24, rel=1e-12)


def test_lengths_without_reports_are_refused():
    rows = [{"id": "a", "arrival_s": 0, "prompt_tokens": 1000}]
    with pytest.raises(hitpath.SettingError, match="nothing to price"):
        hitpath.analyze(rows, pricing=pricing_of())


def test_text_in_bytes_is_refused():
    rows = [{"id": "a", "arrival_s": 0, "prompt": "hello"}]
    with pytest.raises(hitpath.SettingError, match="give --tokenizer"):
        hitpath.analyze(rows, pricing=pricing_of())


@pytest.mark.parametrize("model", MODELS)
def test_more_steps_than_are_walked_are_priced_in_closed_form(model, monkeypatch):
    from hitpath.cost import path_rows

    replica = pricing_of(model).replica
    prompt, hit = np.array([0, 40_000, 3, 900]), np.array([0, 123, 3, 100])
    walked = path_rows.price_with(replica, prompt, hit, 16)
    monkeypatch.setattr(path_rows, "_MOST_STEPS", 40)
    closed = path_rows.price_with(replica, prompt, hit, 16)
    for one, other in zip(walked, closed, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_the_longest_prompt_in_the_smallest_chunks_is_priced_at_once():
    rows = [{"id": "a", "arrival_s": 0, "prompt_tokens": 1 << 40, "reported": {"cached_tokens": 7}}]
    priced = hitpath.analyze(rows, pricing=pricing_of(chunk_tokens=1)).analysis.priced
    assert priced.miss.prefill_tokens == 1 << 40

"""Every rung, cause, reason and rate against the slow oracle, on thousands of random traces."""

import random
from dataclasses import replace

import pytest

from hitpath.core import CAUSES, Setting
from hitpath.spine import analyze_trace
from hitpath.summary import Analysis
from oracle.traffic import random_requests
from oracle.world import Request, Row, run
from support import chained_trace, token_trace

NUM_SEEDS = 1500


def scenario(seed: int):
    """A random trace with random settings; one seed in three has a single worker."""
    rng = random.Random(seed)
    block_size = rng.choice([1, 2, 3, 4, 5, 8])
    num_workers = rng.choice([1, 2, 4])
    requests = random_requests(
        rng,
        num_requests=rng.randint(1, 40),
        block_size=block_size,
        num_workers=num_workers,
        alphabet=rng.choice([2, 3, 5]),
        num_models=rng.choice([1, 2]),
        num_salts=rng.choice([0, 2]),
        num_adapters=rng.choice([0, 2]),
        with_outputs=rng.random() < 0.6,
        with_reported=rng.random() < 0.4,
    )
    # Workers are numbered as a trace names them: in order of appearance.
    numbers: dict[int, int] = {}
    requests = [replace(r, worker=numbers.setdefault(r.worker, len(numbers))) for r in requests]
    num_workers = len(numbers)
    capacity = rng.choice([None, 1, 2, 5, 12, 30])
    options = {
        "last_token": rng.random() < 0.4,
        "outputs": rng.choice(["insert", "ignore"]),
    }
    return requests, block_size, num_workers, capacity, options


def setting_for(block_size: int, capacity: int | None, options: dict) -> Setting:
    return Setting(
        engine="unlimited" if capacity is None else "lru",
        capacity_tokens=None if capacity is None else capacity * block_size,
        block_size=block_size,
        **options,
    )


def assert_same(analysis: Analysis, rows: list[Row], requests: list[Request], tokens: bool) -> None:
    ledger = analysis.ledger
    assert ledger.counted.tolist() == [not row.excluded for row in rows]
    for i, row in enumerate(rows):
        model = ledger.rungs.model[:, i].tolist()
        assert model[:5] == row.rungs[:5]
        assert model[8] == row.rungs[8]
        if tokens:
            assert model == row.rungs
        if row.excluded:
            continue
        causes = dict(zip(CAUSES, ledger.causes[:, i].tolist(), strict=True))
        assert (ledger.hit[i], ledger.unexplained[i], ledger.excess[i]) == (
            row.hit,
            row.unexplained,
            row.excess,
        )
        reasons = {
            c: {r: int(p[i]) for r, p in parts.items()} for c, parts in ledger.reasons.items()
        }
        assert reasons["isolated"].pop("media_salt") == 0  # the oracle's traffic has none
        if tokens:
            assert causes == row.causes
            assert reasons == row.reasons
        else:
            for name in ("ineligible", "in_flight", "elsewhere", "evicted"):
                assert causes[name] == row.causes[name]
            assert reasons["evicted"] == row.reasons["evicted"]
            # Ids prove a part of the token match, never more than it.
            assert row.rungs[4] <= model[5] <= row.rungs[5]
        if row.reported is None and not analysis.setting.last_token:
            assert analysis.counts.partial[i] == row.partial_hit_tokens


@pytest.mark.parametrize("chunk", range(10))
def test_tokens(chunk):
    for seed in range(chunk * NUM_SEEDS // 10, (chunk + 1) * NUM_SEEDS // 10):
        requests, block_size, num_workers, capacity, options = scenario(seed)
        rows = run(
            requests,
            block_size=block_size,
            capacity_blocks=capacity,
            num_workers=num_workers,
            **options,
        )
        analysis = analyze_trace(token_trace(requests), setting_for(block_size, capacity, options))
        assert_same(analysis, rows, requests, tokens=True)


@pytest.mark.parametrize("chunk", range(10))
def test_chained_ids(chunk):
    for seed in range(chunk * NUM_SEEDS // 10, (chunk + 1) * NUM_SEEDS // 10):
        requests, block_size, num_workers, capacity, options = scenario(seed)
        rows = run(
            requests,
            block_size=block_size,
            capacity_blocks=capacity,
            num_workers=num_workers,
            **options,
        )
        trace = chained_trace(requests, block_size)
        analysis = analyze_trace(trace, setting_for(block_size, capacity, options))
        assert_same(analysis, rows, requests, tokens=False)


@pytest.mark.parametrize("factor", [2, 3, 4])
def test_larger_blocks_of_chained_ids(factor):
    """Every k-th id gives the hits that blocks k times larger have."""
    for seed in range(150):
        requests, block_size, num_workers, _, options = scenario(seed)
        options = {**options, "outputs": "ignore"}
        rows = run(requests, block_size=block_size * factor, num_workers=num_workers, **options)
        trace = chained_trace(requests, block_size)
        setting = setting_for(block_size * factor, None, options)
        model = analyze_trace(trace, setting).ledger.rungs.model
        for i, row in enumerate(rows):
            assert model[:5, i].tolist() == row.rungs[:5]
            assert row.rungs[4] <= model[5, i] <= row.rungs[5]


def test_origin():
    for seed in range(300):
        requests, block_size, num_workers, capacity, options = scenario(seed)
        # A session belongs to one tenant.
        tenants = [r.tenant or "tenant0" for r in requests]
        requests = [
            replace(r, tenant=tenant, session=f"{tenant}/{r.session or i}")
            for i, (r, tenant) in enumerate(zip(requests, tenants, strict=True))
        ]
        options["outputs"] = "ignore"
        rows = run(
            requests,
            block_size=block_size,
            capacity_blocks=capacity,
            num_workers=num_workers,
            **options,
        )
        setting = setting_for(block_size, capacity, options)
        origin = analyze_trace(token_trace(requests), setting).origin
        for name in ("same_session", "other_session", "other_tenant"):
            expected = sum(row.origin[name] for row in rows if not row.excluded)
            assert getattr(origin, name) == expected
        assert origin.no_session == 0


def test_unlimited_caches_evict_nothing():
    for seed in range(200):
        requests, block_size, _, _, _ = scenario(seed)
        for outputs in ("insert", "ignore"):
            setting = Setting(block_size=block_size, outputs=outputs)
            ledger = analyze_trace(token_trace(requests), setting).ledger
            assert ledger.total(ledger.reasons["evicted"]["capacity"]) == 0
            if outputs == "insert" or all(r.output is None for r in requests):
                assert ledger.total(ledger.cause("evicted")) == 0


def test_the_oracle_exercises_every_label():
    """The random traffic is no weak test: all labels and reasons occur in it."""
    seen: dict[str, int] = dict.fromkeys([*CAUSES, "excess", "unexplained"], 0)
    for seed in range(100):
        requests, block_size, num_workers, capacity, options = scenario(seed)
        rows = run(
            requests,
            block_size=block_size,
            capacity_blocks=capacity,
            num_workers=num_workers,
            **options,
        )
        for row in rows:
            for name, value in row.causes.items():
                seen[name] += value
            seen["excess"] += row.excess
            seen["unexplained"] += row.unexplained
    modelled = set(seen) - {"ineligible", "in_flight", "diverged"}
    assert all(seen[name] > 0 for name in modelled), seen

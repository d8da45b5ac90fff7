"""Invariants of money on random usage. The data contain hits: double charging is invisible
without them."""

from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

import genai_prices
import numpy as np
import pytest
from genai_prices.data import providers
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from hitpath.core import ABSENT
from hitpath.cost.bill import bill, bill_rows
from hitpath.cost.cache_rules import (
    NEVER,
    Compaction,
    Edit,
    break_even_read_share,
    break_even_reads,
    compaction_break_even_requests,
    compaction_saves_usd,
    edit_break_even_requests,
    edit_saves_usd,
)
from hitpath.cost.money import usd_per_mtok_prompt
from hitpath.cost.prices import BUCKETS, Price, Prices, Rates
from hitpath.cost.provider_prices import load_prices
from hitpath.cost.usage import Usage, inclusive_usage, stream_counts

TOKENS = st.integers(0, 500_000)
USD = st.floats(0.01, 100, allow_nan=False)
ROWS = st.lists(st.tuples(*[TOKENS] * 5), min_size=1, max_size=20)


def as_usage(rows):
    return Usage(*(np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)))


@st.composite
def price(draw):
    bounds = sorted(draw(st.sets(st.integers(1, 900_000), max_size=2)))
    return Price(draw(USD), tuple((bound, draw(USD)) for bound in bounds))


@st.composite
def prices(draw):
    return Prices("drawn", "drawn", *(draw(price()) for _ in BUCKETS))


def usd_of_one(row, drawn):
    """The slow, obvious bill of one row: no arrays, every tier looked at."""
    prompt = sum(row[:4])
    total = 0.0
    for tokens, name in zip(row, BUCKETS, strict=True):
        of_bucket = drawn.of(name)
        usd = of_bucket.usd_per_mtok
        for above, dearer in of_bucket.tiers:
            if prompt > above:
                usd = dearer
        total += tokens * usd / 1_000_000
    return total


@given(ROWS, prices())
def test_every_row_is_billed_as_by_hand(rows, drawn):
    made = bill(as_usage(rows), drawn)
    assert made.row_usd == pytest.approx([usd_of_one(row, drawn) for row in rows], rel=1e-12)
    assert made.total_usd == pytest.approx(sum(made.row_usd), rel=1e-12)
    assert sum(bucket.usd for bucket in made.buckets.values()) == pytest.approx(made.total_usd)


@given(ROWS)
def test_buckets_sum_to_the_provider_s_total(rows):
    """Inclusive and exclusive counts of the same responses are the same usage."""
    exclusive = as_usage(rows)
    prompt = exclusive.prompt_tokens()
    inclusive = inclusive_usage(
        prompt, exclusive.read, exclusive.output, exclusive.written_5m, exclusive.written_1h
    )
    for name in BUCKETS:
        assert inclusive.of(name).tolist() == exclusive.of(name).tolist()
    assert len(inclusive.rows_not_adding_up(prompt)) == 0
    assert len(inclusive.rows_not_adding_up(prompt + 1)) == len(rows)


@given(ROWS, prices(), st.randoms(use_true_random=False))
def test_streaming_equals_not_streaming(rows, drawn, random):
    """Cumulative counts in pieces, some left out of a piece: the bill of the whole."""
    whole = bill(as_usage(rows), drawn)
    folded = []
    for row in rows:
        shares = [*sorted(random.random() for _ in range(random.randrange(4))), 1.0]
        events = [
            {name: int(count * share) for name, count in zip(BUCKETS, row, strict=True)}
            for share in shares
        ]
        for event in events[:-1]:
            event[random.choice(BUCKETS)] = None
        counts = stream_counts(events)
        folded.append(tuple(counts[name] for name in BUCKETS))
    streamed = bill(as_usage(folded), drawn)
    assert streamed.total_usd == whole.total_usd
    assert streamed.row_usd.tolist() == whole.row_usd.tolist()


@given(ROWS, prices(), st.integers(1, 5))
def test_a_bill_in_parts_is_the_bill(rows, drawn, cut):
    """Rows split over files, and over price periods with equal prices, cost the same."""
    usage = as_usage(rows)
    whole = bill(usage, drawn)
    parts = [bill(as_usage(rows[i : i + cut]), drawn) for i in range(0, len(rows), cut)]
    assert sum(part.total_usd for part in parts) == pytest.approx(whole.total_usd, rel=1e-12)
    assert sum(p.buckets["read"].tokens for p in parts) == whole.buckets["read"].tokens
    which = np.arange(len(rows)) % 3
    periods = bill_rows(usage, [drawn, drawn, drawn], which)
    assert periods.total_usd == pytest.approx(whole.total_usd, rel=1e-12)
    assert periods.row_usd.tolist() == whole.row_usd.tolist()


@given(ROWS, prices())
def test_double_charging_shows_where_there_are_hits(rows, drawn):
    """The bug of a dozen tools: an inclusive prompt charged in full, and its cached part again."""
    usage = as_usage([(fresh, read, 0, 0, output) for fresh, read, _, _, output in rows])
    flat = Prices("flat", "drawn", *(Price(drawn.of(name).usd_per_mtok) for name in BUCKETS))
    right = bill(usage, flat).total_usd
    twice = bill(replace(usage, fresh=usage.fresh + usage.read), flat).total_usd
    over = usage.read.sum() * flat.fresh.usd_per_mtok / 1e6
    assert twice - right == pytest.approx(over, rel=1e-6, abs=1e-9)
    assert (over > 0) == bool(usage.read.any())


@given(ROWS, prices(), st.sampled_from(BUCKETS))
def test_unknown_stays_unknown(rows, drawn, lost):
    usage = as_usage(rows)
    made = bill(usage, replace(drawn, **{lost: None}))
    whole = bill(usage, drawn)
    tokens = int(usage.of(lost).sum())
    assert (made.total_usd is None) == (tokens > 0)
    assert made.buckets[lost].unpriced_tokens == tokens
    rest = whole.total_usd - whole.buckets[lost].usd
    assert made.known_usd == pytest.approx(rest, rel=1e-9, abs=1e-12)
    assert np.isnan(made.row_usd).tolist() == (usage.of(lost) > 0).tolist()
    assert bool(made.reasons) == (tokens > 0)


@given(ROWS, prices(), st.sampled_from(BUCKETS), st.data())
def test_absent_stays_absent(rows, drawn, lost, data):
    row = data.draw(st.integers(0, len(rows) - 1))
    usage = as_usage(rows)
    usage.of(lost)[row] = ABSENT
    made = bill(usage, drawn)
    assert made.total_usd is None
    assert made.buckets[lost].usd is None
    assert np.isnan(made.row_usd[row])
    assert not np.isnan(np.delete(made.row_usd, row)).any()


# --- a higher hit rate never costs more ----------------------------------------------------------


@given(ROWS, prices(), st.floats(0, 1))
def test_more_hits_of_the_same_prompts_never_cost_more(rows, drawn, share):
    """Fresh tokens become read ones where reading is no dearer; the prompts stay."""
    cheap = replace(drawn, read=Price(0.1 * min(p for p in all_usd(drawn.fresh))))
    usage = as_usage(rows)
    moved = (usage.fresh * share).astype(np.int64)
    hotter = replace(usage, fresh=usage.fresh - moved, read=usage.read + moved)
    assert bill(hotter, cheap).total_usd <= bill(usage, cheap).total_usd * (1 + 1e-12)


def all_usd(of_bucket):
    return [of_bucket.usd_per_mtok, *(usd for _, usd in of_bucket.tiers)]


def test_unless_writes_are_priced():
    """The counterexample: a tenth of the prompt now hits, the rest is written at 1.25."""
    anthropic = Prices("a", "typed", Price(5), Price(0.5), Price(6.25), Price(10), Price(25))
    cold = bill(as_usage([(100_000, 0, 0, 0, 0)]), anthropic)
    warm = bill(as_usage([(0, 10_000, 90_000, 0, 0)]), anthropic)
    assert warm.total_usd > cold.total_usd
    rates = anthropic.rates(100_000)
    even = break_even_read_share(rates)
    assert even == pytest.approx(0.217, abs=5e-4)
    above = round(even * 100_000) + 1
    warm = bill(as_usage([(0, above, 100_000 - above, 0, 0)]), anthropic)
    assert warm.total_usd < cold.total_usd


@given(st.floats(1e-7, 1e-2), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_gpu_money_falls_with_the_hit_rate(computed_s, load_share, low, high):
    low, high = sorted((low, high))
    cached_s = load_share * computed_s
    cheaper = usd_per_mtok_prompt(high, computed_s, 2.5, cached_s_per_token=cached_s)
    assert cheaper <= usd_per_mtok_prompt(low, computed_s, 2.5, cached_s_per_token=cached_s) * (
        1 + 1e-12
    )


def test_unless_a_tier_is_slower_than_computing():
    """The counterexample: loads of 3e-4 s a token against 1e-4 s to compute it."""
    cold = usd_per_mtok_prompt(0.0, 1e-4, 2.5, cached_s_per_token=3e-4)
    assert usd_per_mtok_prompt(0.5, 1e-4, 2.5, cached_s_per_token=3e-4) == pytest.approx(2 * cold)


# --- break-evens are where the bills meet --------------------------------------------------------

RATES = st.builds(Rates, fresh=USD, read=USD, written=USD, output=USD)


@given(RATES, st.integers(0, 50))
def test_a_write_pays_from_its_break_even_on(rates, n):
    even = break_even_reads(rates)
    cached = rates.written + n * rates.read
    without = (n + 1) * rates.fresh
    assume(abs(cached - without) > 1e-9 * without)
    if rates.read < rates.fresh:
        assert (cached < without) == (n >= even)
    else:
        assert even == break_even_read_share(rates) == NEVER


@given(st.integers(1, 10**6), st.data(), RATES, st.integers(1, 1000))
def test_an_edit_pays_from_its_break_even_on(prompt, data, rates, n):
    removed = data.draw(st.integers(0, prompt))
    edit = Edit(prompt, data.draw(st.integers(0, prompt - removed)), removed)
    saved, even = edit_saves_usd(edit, n, rates), edit_break_even_requests(edit, rates)
    assume(abs(saved) > 1e-9)
    assert (saved > 0) == (n > even)


@given(st.integers(1, 10**6), st.data(), RATES, st.integers(1, 1000), st.booleans())
@example(100, None, Rates(5.0, 0.5, 6.25, 25.0), 3, True)
def test_a_compaction_pays_from_its_break_even_on(prompt, data, rates, n, cached):
    kept = data.draw(st.integers(0, prompt)) if data else 10
    summary = data.draw(st.integers(0, prompt)) if data else 5
    compaction = Compaction(prompt, kept, summary)
    saved = compaction_saves_usd(compaction, n, rates, cached)
    even = compaction_break_even_requests(compaction, rates, cached)
    assume(abs(saved) > 1e-9)
    if kept + summary <= prompt:  # else each further request costs more: no break-even
        assert (saved > 0) == (n >= even)


# --- every model of the snapshot -----------------------------------------------------------------


@cache
def models():
    return [(provider, model) for provider in providers for model in provider.models]


@settings(max_examples=300)
@given(st.data(), st.tuples(*[TOKENS] * 5), st.floats(1.6e9, 1.8e9))
def test_any_hosted_model_against_the_package(data, row, unix_s):
    """The same bill as genai-prices' own where every needed price is stated; else no bill."""
    provider, model = data.draw(st.sampled_from(models()))
    schedule = load_prices(f"{provider.id}/{model.id}")
    assert schedule.model.id == model.id
    found = schedule.at(unix_s)
    if found.unpriced or any("no one price" in note for note in found.notes):
        return
    own = bill(as_usage([row]), found)
    needed = [n for n, tokens in zip(BUCKETS, row, strict=True) if tokens]
    missing = [name for name in needed if found.of(name) is None]
    assert (own.total_usd is None) == bool(missing)
    if missing:
        return
    fresh, read, short, long, output = row
    counts = {"input_tokens": fresh + read + short + long, "output_tokens": output}
    counts |= {"cache_read_tokens": read, "cache_write_tokens": short + long}
    counts |= {"cache_write_5m_tokens": short, "cache_write_1h_tokens": long}
    theirs = schedule.model.calc_price(
        genai_prices.Usage(**counts),
        provider,
        genai_request_timestamp=datetime.fromtimestamp(unix_s, tz=UTC),
    )
    assert own.total_usd == pytest.approx(float(theirs.total_price), rel=1e-12, abs=1e-15)

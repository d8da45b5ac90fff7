"""Money: bills by hand, the double charges that other tools shipped, rules with their figures."""

import numpy as np
import pytest

from hitpath.core import ABSENT, InputError, SettingError
from hitpath.cost.bill import bill, difference
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
    keep_alive_break_even_pings,
    lapse_usd,
    long_lifetime_saves_usd,
    num_lapses,
)
from hitpath.cost.money import gpu_usd, tier_break_even_hit_rate, usd_per_mtok_prompt
from hitpath.cost.prices import Price, Prices, Rates
from hitpath.cost.usage import Usage, inclusive_usage, stream_counts


def column(*counts):
    return np.array(counts, dtype=np.int64)


def usage(fresh=0, read=0, written_5m=0, written_1h=0, output=0):
    return Usage(
        column(fresh), column(read), column(written_5m), column(written_1h), column(output)
    )


# Claude Opus 4.5: 5, 0.5, 6.25, 10, 25 USD a million
OPUS = Prices("opus", "typed", Price(5), Price(0.5), Price(6.25), Price(10), Price(25))
# Gemini 2.5 Pro: twice the price for all tokens of prompts above 200,000
GEMINI = Prices(
    "gemini",
    "typed",
    fresh=Price(1.25, ((200_000, 2.5),)),
    read=Price(0.125, ((200_000, 0.25),)),
    output=Price(10, ((200_000, 15.0),)),
)

# --- bills ---------------------------------------------------------------------------------------


def test_a_bill_by_hand():
    made = bill(usage(1_000, 100_000, 2_000, 4_000, 500), OPUS)
    usd = {name: bucket.usd for name, bucket in made.buckets.items()}
    by_hand = (("fresh", 0.005), ("read", 0.05), ("written_5m", 0.0125), ("written_1h", 0.04))
    for name, expected in (*by_hand, ("output", 0.0125)):
        assert usd[name] == pytest.approx(expected, rel=1e-12)
    assert made.total_usd == pytest.approx(0.12, rel=1e-12)
    assert made.reasons == ()


@pytest.mark.parametrize(("prompt", "usd"), [(200_000, 0.25), (200_001, 0.5000025)])
def test_a_tier_is_a_cliff_for_the_whole_request(prompt, usd):
    assert bill(usage(fresh=prompt), GEMINI).total_usd == pytest.approx(usd, rel=1e-12)


def test_cached_tokens_count_for_the_tier():
    """A prompt of 300,000 of which 250,000 are cached is in the upper tier, as billed."""
    made = bill(usage(fresh=50_000, read=250_000, output=1_000), GEMINI)
    assert made.total_usd == pytest.approx((50_000 * 2.5 + 250_000 * 0.25 + 15_000) / 1e6)


def test_the_tier_is_each_request_s_own():
    """Two prompts of 150,000 are below the tier; billed as one sum they would be above it."""
    two = Usage(*(np.repeat(c, 2) for c in (column(150_000), *[column(0)] * 4)))
    assert bill(two, GEMINI).total_usd == pytest.approx(0.375)
    assert bill(usage(fresh=300_000), GEMINI).total_usd == pytest.approx(0.75)


def test_inclusive_counts_are_not_charged_twice():
    """BerriAI/litellm 14849, 6215: cached tokens charged as prompt and as cached. The error grows
    with the hit rate, and is 0 where nothing hits: the data must contain hits."""
    rows = inclusive_usage(column(10_000), column(9_000), column(100))
    assert rows.fresh.tolist() == [1_000]
    right = bill(rows, OPUS).total_usd
    assert right == pytest.approx((1_000 * 5 + 9_000 * 0.5 + 100 * 25) / 1e6)
    twice = bill(usage(fresh=10_000, read=9_000, output=100), OPUS).total_usd
    assert twice / right == pytest.approx(4.75)


def test_exclusive_counts_are_not_charged_twice():
    """BerriAI/litellm 9812: cache_creation tokens charged as input and as writes."""
    rows = usage(fresh=1_000, read=9_000, written_5m=2_000)
    assert rows.prompt_tokens().tolist() == [12_000]
    assert bill(rows, OPUS).total_usd == pytest.approx((5_000 + 4_500 + 12_500) / 1e6)


def test_counts_of_the_other_kind_are_refused():
    """Anthropic's input_tokens read as an inclusive prompt: parts exceed it."""
    with pytest.raises(InputError, match="row 1: prompt_tokens: 9000 cached and written of 1000"):
        inclusive_usage(column(10, 1_000), column(5, 9_000), column(1, 1))


def test_buckets_against_the_provider_s_total():
    rows = inclusive_usage(column(100, 200, 300), column(50, 0, 10), column(1, 1, 1))
    assert len(rows.rows_not_adding_up(column(100, 200, 300))) == 0
    assert rows.rows_not_adding_up(column(100, 201, ABSENT)).tolist() == [1]


def test_an_unknown_price_is_not_the_full_price():
    """BerriAI/litellm 31714: no cached price, so cached tokens were billed in full."""
    prices = Prices("kimi", "typed", fresh=Price(0.57), output=Price(2.3))
    made = bill(usage(fresh=1_000, read=9_000, output=10), prices)
    assert made.total_usd is None
    assert made.buckets["read"].usd is None
    assert made.buckets["read"].unpriced_tokens == 9_000
    assert made.known_usd == pytest.approx((1_000 * 0.57 + 10 * 2.3) / 1e6)
    assert np.isnan(made.row_usd).all()
    assert made.reasons == ("9,000 read tokens: kimi has no known price for them",)
    without_hits = bill(usage(fresh=1_000, output=10), prices)
    assert without_hits.total_usd == pytest.approx((1_000 * 0.57 + 10 * 2.3) / 1e6)


def test_an_absent_count_is_not_zero():
    rows = inclusive_usage(column(100, 100), column(50, ABSENT), column(5, ABSENT))
    made = bill(rows, OPUS)
    assert made.total_usd is None
    assert made.buckets["fresh"].absent_rows == 1
    assert made.buckets["fresh"].tokens == 50
    assert np.isnan(made.row_usd).tolist() == [False, True]
    assert "1 rows report no read tokens" in made.reasons


def test_a_tier_of_a_prompt_of_unknown_length_is_not_known():
    rows = usage(fresh=1_000, read=ABSENT, output=10)
    made = bill(rows, GEMINI)
    assert made.buckets["output"].usd is None
    assert any("depends on the prompt's length" in reason for reason in made.reasons)
    assert bill(rows, OPUS).buckets["output"].usd == pytest.approx(0.00025)


def test_no_rows_cost_nothing():
    empty = Usage(*[np.zeros(0, dtype=np.int64)] * 5)
    assert bill(empty, GEMINI).total_usd == 0


def test_a_reported_bill_beside_the_recomputed():
    rows = Usage(*(np.repeat(c, 4) for c in (column(1_000), *[column(0)] * 4)))
    reported = np.array([0.005, 0.0050000001, 0.008, np.nan])
    found = difference(bill(rows, OPUS), reported)
    assert (found.num_rows, found.num_rows_left_out) == (3, 1)
    assert found.difference_usd == pytest.approx(0.003, abs=1e-8)
    assert (found.num_rows_differing, found.largest_row) == (1, 2)
    same = difference(bill(rows, OPUS), np.full(4, 0.005))
    assert (same.num_rows_differing, same.largest_row) == (0, None)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: usage(fresh=-2), InputError),
        (lambda: usage(fresh=2**41), InputError),
        (lambda: Usage(column(1), column(1, 2), column(0), column(0), column(0)), ValueError),
        (lambda: Usage(*[np.zeros(1, dtype=np.int32)] * 5), ValueError),
        (lambda: Price(-1), ValueError),
        (lambda: Price(float("nan")), ValueError),
        (lambda: Price(1, ((5, 1.0), (5, 2.0))), ValueError),
    ],
)
def test_what_is_no_usage_or_price(make, error):
    with pytest.raises(error):
        make()


# --- streams -------------------------------------------------------------------------------------


def test_a_stream_says_its_counts_again():
    """The documented shape of Anthropic's stream: the start has the prompt's counts and one
    output token, the deltas have cumulative output (written by hand from that shape)."""
    events = [
        {"input_tokens": 10, "cache_read_input_tokens": 9_000, "output_tokens": 1},
        {"output_tokens": 57},
        {"input_tokens": 10, "cache_read_input_tokens": 9_000, "output_tokens": 120},
        {"output_tokens": None},
    ]
    assert stream_counts(events) == {
        "input_tokens": 10,
        "cache_read_input_tokens": 9_000,
        "output_tokens": 120,
    }
    assert stream_counts([{"output_tokens": None}]) == {"output_tokens": None}
    assert stream_counts([]) == {}


def test_a_stream_whose_counts_fall():
    with pytest.raises(InputError, match="event 1: output_tokens: falls from 5 to 3"):
        stream_counts([{"output_tokens": 5}, {"output_tokens": 3}])


# --- what a cache is worth at a provider ---------------------------------------------------------

SHORT = Rates(fresh=5.0, read=0.5, written=6.25, output=25.0)
LONG = Rates(fresh=5.0, read=0.5, written=10.0, output=25.0)
FREE_WRITES = Rates(fresh=5.0, read=0.5, written=5.0, output=25.0)


def test_rates_of_a_lifetime_and_a_length():
    assert OPUS.rates(1_000) == SHORT
    assert OPUS.rates(1_000, "1h") == LONG
    assert GEMINI.rates(200_000) == Rates(1.25, 0.125, None, 10.0)
    assert GEMINI.rates(200_001) == Rates(2.5, 0.25, None, 15.0)


@pytest.mark.parametrize(
    ("rates", "reads", "share"),
    [
        (SHORT, 0.25 / 0.9, 0.25 / 1.15),
        (LONG, 1 / 0.9, 1 / 1.9),
        (FREE_WRITES, 0.0, 0.0),
        (Rates(1, 1, 1.25, 1), NEVER, NEVER),
        (Rates(1, None, 1.25, 1), None, None),
        (Rates(None, 0.1, 1.25, 1), None, None),
    ],
)
def test_when_a_write_pays(rates, reads, share):
    assert break_even_reads(rates) == pytest.approx(reads)
    assert break_even_read_share(rates) == pytest.approx(share)


def test_break_even_is_where_the_bills_meet():
    n = break_even_reads(SHORT)
    assert SHORT.written + n * SHORT.read == pytest.approx((n + 1) * SHORT.fresh)
    s = break_even_read_share(SHORT)
    assert s * SHORT.read + (1 - s) * SHORT.written == pytest.approx(SHORT.fresh)


def test_lapses_and_lifetimes():
    # 100,000 tokens: 0.625 to write again, 0.05 to read
    assert lapse_usd(100_000, SHORT) == pytest.approx(0.575)
    gaps = np.array([299.0, 300.0, 301.0, 4_000.0])
    assert (num_lapses(gaps, 300), num_lapses(gaps, 3_600)) == (2, 1)
    # one lapse of 5 minutes, none of an hour: 2 x 6.25 + 0.5 against 10 + 2 x 0.5
    saved = long_lifetime_saves_usd(10**6, 2, 1, 0, SHORT, LONG)
    assert saved == pytest.approx(2 * 6.25 + 0.5 - 11)
    assert long_lifetime_saves_usd(10**6, 2, 0, 0, SHORT, LONG) == pytest.approx(-3.75)
    assert keep_alive_break_even_pings(SHORT) == pytest.approx(11.5)
    assert keep_alive_break_even_pings(Rates(1, 0.0, 1, 1)) == NEVER
    assert keep_alive_break_even_pings(Rates(1, 1.0, 1, 1)) == 0
    unknown = Rates(5.0, None, 6.25, 25.0)
    assert lapse_usd(1, unknown) is None
    assert keep_alive_break_even_pings(unknown) is None
    assert long_lifetime_saves_usd(1, 1, 0, 0, SHORT, unknown) is None


def test_an_edit_by_its_requests_one_by_one():
    """Pruning 2,000 of 50,000 tokens at 10,000: anomalyco/opencode 32515, shrinks the prompt and
    raises the bill."""
    edit = Edit(prompt_tokens=50_000, first_changed_token=10_000, removed_tokens=2_000)
    for n in (1, 5, 219, 400):
        keep = n * 50_000 * 0.5
        first = 10_000 * 0.5 + 38_000 * 6.25
        with_edit = first + (n - 1) * 48_000 * 0.5
        assert edit_saves_usd(edit, n, SHORT) == pytest.approx((keep - with_edit) / 1e6)
    assert edit_break_even_requests(edit, SHORT) == pytest.approx(38_000 * 5.75 / 1_000)
    assert edit_saves_usd(edit, 1, SHORT) < 0 < edit_saves_usd(edit, 219, SHORT)
    assert edit_break_even_requests(Edit(10, 5, 0), SHORT) == NEVER
    assert edit_break_even_requests(Edit(10, 5, 5), SHORT) == 0
    assert edit_saves_usd(edit, 1, Rates(5, None, 5, 5)) is None
    assert edit_break_even_requests(edit, Rates(5, 1, None, 5)) is None


@pytest.mark.parametrize("cached", [True, False])
def test_a_compaction_by_its_requests_one_by_one(cached):
    compaction = Compaction(prompt_tokens=100_000, kept_tokens=5_000, summary_tokens=2_000)
    read_all = 0.5 if cached else 6.25
    for n in (1, 2, 10):
        without = 100_000 * read_all + (n - 1) * 100_000 * 0.5
        call = 100_000 * (0.5 if cached else 5.0) + 2_000 * 25
        head = 5_000 * read_all
        with_it = head + 2_000 * 6.25 + (n - 1) * 7_000 * 0.5 + call
        saved = compaction_saves_usd(compaction, n, SHORT, cached)
        assert saved == pytest.approx((without - with_it) / 1e6)
    n = compaction_break_even_requests(compaction, SHORT, cached)
    if cached:  # n 93,000 x 0.5 = 2,000 x 5.75 + 100,000 x 0.5 + 50,000
        assert n == pytest.approx((11_500 + 100_000) / 46_500)
    else:  # it pays at once: the history would be written again
        assert n == 1.0
    assert compaction_saves_usd(compaction, 1, Rates(5, 0.5, 6.25, None)) is None
    assert compaction_break_even_requests(compaction, Rates(5, 0.5, None, 25)) is None
    assert compaction_break_even_requests(Compaction(10, 10, 5), SHORT) == NEVER


def test_edits_that_are_none():
    with pytest.raises(ValueError, match="no edit"):
        Edit(10, 6, 5)
    with pytest.raises(ValueError, match="no compaction"):
        Compaction(10, 11, 5)


# --- GPU hours -----------------------------------------------------------------------------------


def test_gpu_hours():
    assert gpu_usd(7_200.0, 2.5) == pytest.approx(5.0)
    assert gpu_usd(3_600.0, 2.5, num_gpus=8) == pytest.approx(20.0)
    # 10,000 tokens a second on one GPU: a million take 100 s
    assert usd_per_mtok_prompt(0.0, 1e-4, 3.6) == pytest.approx(0.1)
    assert usd_per_mtok_prompt(0.75, 1e-4, 3.6) == pytest.approx(0.025)
    assert usd_per_mtok_prompt(0.5, 1e-4, 3.6, 2, 2e-5) == pytest.approx(0.12)
    curve = usd_per_mtok_prompt(np.array([0.0, 0.5, 1.0]), 1e-4, 3.6)
    assert curve == pytest.approx(np.array([0.1, 0.05, 0.0]))


def test_the_hit_rate_that_a_tier_must_add():
    # 5,000 tokens/s x 3600 x 1e-4 s saved x 0.001 USD/s = 1.8 USD an hour at a hit rate of 1
    added = tier_break_even_hit_rate(0.18, 5_000, 1.2e-4, 2e-5, 3.6)
    assert added == pytest.approx(0.1)
    saved = usd_per_mtok_prompt(0.0, 1.2e-4, 3.6) - usd_per_mtok_prompt(
        added, 1.2e-4, 3.6, cached_s_per_token=2e-5
    )
    assert saved * 5_000 * 3_600 / 1e6 == pytest.approx(0.18)
    assert tier_break_even_hit_rate(0.18, 5_000, 1e-4, 1e-4, 3.6) is None
    assert tier_break_even_hit_rate(0.18, 0, 1e-4, 1e-5, 3.6) is None
    assert tier_break_even_hit_rate(0.18, 5_000, 1e-4, 1e-5, 0.0) is None


@pytest.mark.parametrize("price", [-1.0, float("nan"), float("inf")])
def test_a_gpu_hour_that_is_no_price(price):
    with pytest.raises(SettingError, match="--gpu-hour"):
        gpu_usd(1.0, price)

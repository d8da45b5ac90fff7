"""Smaller blocks raise the hit rate of short prefixes, and TTFT with it."""

import pytest
import short_prefixes
from small_fleet import SmallFleet, hit_rate


@pytest.fixture(scope="module")
def figures():
    return {size: short_prefixes.figures(size) for size in short_prefixes.BLOCK_SIZES}


def test_the_hit_rate_rises_as_blocks_get_smaller(figures):
    rates = [figures[size][0] for size in sorted(figures, reverse=True)]
    assert rates == sorted(rates)
    assert rates[0] == 0
    assert rates[-1] > 0.045


def test_the_hit_rate_is_what_whole_blocks_of_the_prefix_give(figures):
    """All but the first of the requests find the whole blocks of the 100 shared tokens."""
    prompts, _ = short_prefixes.traffic()
    for size, (rate, _, _) in figures.items():
        shared = 100 // size * size
        assert rate == pytest.approx((len(prompts) - 1) * shared / (2000 * len(prompts)))


def test_ttft_does_not_fall_with_it(figures):
    best = min(figures, key=lambda size: figures[size][1])
    assert best > 1
    assert figures[1][1] > figures[best][1]
    assert figures[1][1] > figures[256][1], "5 % hits, and slower than no hit at all"


def test_without_a_price_of_looking_up_ttft_falls():
    prompts, arrival_s = short_prefixes.traffic()
    means = []
    for size in (256, 16):
        fleet = SmallFleet(1, 400_000, size)
        outcome = fleet.serve(prompts, arrival_s, short_prefixes.OUTPUT_TOKENS, "round-robin")
        means.append((hit_rate(outcome, prompts), outcome.ttft_s.mean()))
    assert means[1][0] > means[0][0]
    assert means[1][1] < means[0][1]

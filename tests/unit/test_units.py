"""Quantities of the cost model as text."""

import pytest

from hitpath.report.units import number, ratio_text, short_time, si, tick


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (560_750_930_165_760, "560.8 TFLOP"),
        (999_960, "1.000 MFLOP"),
        (999_940, "999.9 kFLOP"),
        (64, "64.00 FLOP"),
        (1, "1.000 FLOP"),
        (0, "0 FLOP"),
        (5e18, "5,000 PFLOP"),
    ],
)
def test_four_digits_and_a_prefix(value, told):
    assert si(value, "FLOP") == told


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0, "0 s"),
        (75.3, "75.30 s"),
        (0.02149, "21.49 ms"),
        (7.8e-5, "78.00 µs"),
        (3e-12, "3e-12 s"),
    ],
)
def test_short_times(value, told):
    assert short_time(value) == told


def test_numbers_and_ratios():
    assert (number(4096), number(508.12), number(None)) == ("4,096", "508.1", "–")
    assert (ratio_text(31.748), ratio_text(None)) == ("31.75x", "–")
    assert (tick(1e15), tick(2e4), tick(0.5)) == ("1 P", "20 k", "0.5")

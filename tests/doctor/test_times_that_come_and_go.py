"""A line that tells the time and comes and goes: a clock, in any script; one whose letters and
figures are of one word is no id for that."""

from itertools import pairwise

import pytest

from hitpath.doctor.clock_words import further_spans
from hitpath.doctor.kinds import Difference, kind_of

RULES = "Two decimals and the currency behind them."


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("今は令和8年3月9日 7時4分です。", "clock"),
        ("지금 3월 9일 7시 4분", "clock"),
        ("只今3月9日", "clock"),
        ("rid:1ac5ddf3e675", "?id"),
        ("この規約は令和8年3月9日に改定され、以後の変更は別途お知らせします。", None),
        ("令和8年3月9日に改定", None),  # when rules were revised
    ],
)
def test_a_line_with_a_time(line: str, kind: str | None) -> None:
    for there, here in (("", f"\n{line}"), (f"\n{line}", "")):
        told = kind_of(Difference(there, here, RULES, "\nBe kind.", None, "system"))
        assert told == (kind or "?words")


def test_what_several_rules_see_parts_of_is_one() -> None:
    text = "今は令和8年3月9日 7時4分です。"
    spans = list(further_spans(text))
    assert spans == sorted(spans)
    assert all(one[1] <= two[0] for one, two in pairwise(spans))
    assert text[spans[0][0] : spans[0][1]] == "8年3月9日 7時4分"

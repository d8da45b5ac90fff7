"""The rules that put a trace's numbers into words."""

from itertools import pairwise

import pytest

from hitpath.accounting.rates import Group
from hitpath.report.html import sentences
from hitpath.report.html.charts import LogAxis, line, rate_axis, spread_labels, stacked, time_ticks
from hitpath.report.html.sentences import CurveFacts, LengthBin


def plain(note: sentences.Note) -> str:
    return f"{note.shows} {note.do}".replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("worst", "says"),
    [
        ("elsewhere", "Let the router"),
        ("evicted", "more room"),
        ("rounding", "Smaller blocks"),
        ("isolated", "price of keeping salts"),
        ("diverged", "Move what changes"),
        ("in_flight", "wait for the first"),
        ("ineligible", "engine's settings"),
        ("unexplained", "Set block size"),
    ],
)
def test_the_largest_loss_names_what_to_do(worst: str, says: str) -> None:
    causes = {"elsewhere": 5, "evicted": 4, "cold": 500} | {worst: 200}
    note = plain(sentences.ladder(1000, 295, causes))
    assert f"“{worst.replace('_', ' ')}” (200 tokens, 20.00 %)" in note
    assert says in note


def test_new_text_is_nobodys_fault() -> None:
    note = plain(sentences.ladder(1000, 300, {"evicted": 1, "cold": 699}))
    assert "Nothing worth chasing" in note
    assert "no prompt tokens" in plain(sentences.ladder(0, 0, {}))


def test_evicted_says_when_it_is_outputs_or_order() -> None:
    assert "--outputs insert" in plain(sentences.ladder(10, 5, {"evicted": 5}, not_stored=4))
    assert "would keep 4" in plain(sentences.ladder(10, 5, {"evicted": 5}, better_order=4))


@pytest.mark.parametrize(
    ("one", "together", "workers", "says"),
    [
        (1.0, 1.0, 1, "buys almost nothing"),
        (0.95, 0.95, 1, "helps a little"),
        (0.4, 0.4, 1, "A larger cache"),
        (0.4, 0.995, 3, "better routing"),
    ],
)
def test_capacity_compares_what_is_configured(
    one: float, together: float, workers: int, says: str
) -> None:
    note = plain(sentences.capacity(CurveFacts(0.8, 7000, 1.5, 4000, workers, one, together)))
    assert "7,000 tokens (1.5 GiB) reaches 90 % of the ceiling of 80.00 %" in note
    assert f"configured 4,000 tokens reach {one:.2%}".replace("%", " %") in note
    assert says in note


def test_capacity_without_a_size_or_reuse() -> None:
    assert "unlimited" in plain(sentences.capacity(CurveFacts(0.8, 70, None, None, 1, None, None)))
    assert "no cache" in plain(sentences.capacity(CurveFacts(None, None, None, 4, 1, None, None)))


@pytest.mark.parametrize(
    ("low", "high", "steady", "says"),
    [(0.1, 0.9, 0.7, "still filling"), (0.1, 0.9, 0.3, "It falls"), (0.1, 0.9, 0.5, "few minutes"),
     (0.45, 0.55, 0.5, "steady")],
)  # fmt: skip
def test_time_says_which_rate_can_be_quoted(
    low: float, high: float, steady: float, says: str
) -> None:
    assert says in plain(sentences.over_time(low, high, steady, 0.5))


def test_gaps_name_the_time_that_is_enough() -> None:
    note = plain(sentences.gaps(11.0, [(10, 0.4), (300, 0.7), (3600, 0.96)]))
    assert "within 11 s" in note
    assert "96.00 % within 1 h" in note
    assert "5 min serves 70.00 %" in note
    assert "disk or remote" in plain(sentences.gaps(9e9, [(10, 0.1), (300, 0.2)]))
    assert "Nothing" in plain(sentences.gaps(None, []))


def test_lengths_point_at_the_misses() -> None:
    short, long = LengthBin(8, 16, 9, 100, 0), LengthBin(16, 32, 9, 900, 890)
    assert "8 to 16" in plain(sentences.lengths([short, long]))
    assert "they also have the most misses" in plain(sentences.lengths([short]))
    assert "Every token" in plain(sentences.lengths([LengthBin(8, 16, 1, 10, 10)]))


def test_groups_look_beyond_size() -> None:
    big, bad = Group("big", 9, 900, 850, 870), Group("bad", 9, 100, 20, 90)
    assert "Look at tenant bad first" in plain(sentences.groups("tenant", [big, bad]))
    same = [Group(n, 9, 100, 50, 60) for n in "ab"]
    assert "stands out" in plain(sentences.groups("tenant", same))
    assert "None misses" in plain(sentences.groups("x", [Group("a", 1, 10, 5, 5)]))


def test_origin_warns_across_tenants() -> None:
    assert "cross tenants" in plain(sentences.origin(5, 1, 4, 0))
    assert "Keep a session" in plain(sentences.origin(9, 1, None, 0))
    assert "every worker" in plain(sentences.origin(1, 9, None, 2))


def test_what_is_not_known_is_not_zero() -> None:
    assert "in flight and diverged" in sentences.unknown(["in_flight", "diverged"])
    assert "Every label" in sentences.unknown([])


@pytest.mark.parametrize("highest", [0.0, 0.003, 0.04, 0.37, 0.8545, 1.0])
def test_the_rate_axis_holds_its_highest_rate(highest: float) -> None:
    top, ticks = rate_axis(highest)
    assert highest <= top + 1e-9 <= 1.0 + 1e-9
    assert (ticks[0].at, ticks[-1].at) == (100, 0)
    assert 2 <= len(ticks) <= 7


@pytest.mark.parametrize("span", [1e-3, 0.5, 1, 59, 3600, 86400, 1e7])
def test_time_ticks_are_few_and_inside(span: float) -> None:
    for seconds in (True, False):
        ticks = time_ticks(span, seconds) if seconds or span >= 1 else ()
        assert len(ticks) <= 10
        assert all(0 <= tick.at <= 100 for tick in ticks)


def test_labels_do_not_cover_each_other() -> None:
    placed = spread_labels([50.0, 12.0, 11.0, 10.5])
    assert placed[0] == 50.0
    assert all(a - b >= 5 for a, b in pairwise(placed))


def test_lines_break_where_there_is_no_rate() -> None:
    assert line([(0, 1), (1, 2), (2, None), (3, 4)]).count("M") == 2
    assert stacked([1, 3]) == [(0.0, 25.0), (25.0, 75.0)]
    assert LogAxis(10, 1000).at(100) == pytest.approx(50)
    assert LogAxis(10, 10).at(10) == 50

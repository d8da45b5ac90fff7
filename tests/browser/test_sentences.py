"""The rules that put a trace's numbers into words."""

from itertools import pairwise

import pytest

from hitpath.accounting.rates import Group
from hitpath.core import CAUSES
from hitpath.report.html import sentences, sentences_lengths, sentences_sharing
from hitpath.report.html import sentences_measures as measures
from hitpath.report.html.charts import LogAxis, line, rate_axis, spread_labels, stacked, time_ticks
from hitpath.report.html.sentences import LadderFacts, Note
from hitpath.report.html.sentences_measures import CurveFacts, LengthBin, TimeFacts
from hitpath.report.html.words import BYTES, TOKENS, memory
from hitpath.summary.losses import LostTurns


def plain(note: Note) -> str:
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
    note = plain(sentences.ladder(LadderFacts(1000, 295, causes), TOKENS))
    assert f"“{worst.replace('_', ' ')}” (200 tokens, 20.00 %)" in note
    assert says in note


def ladder(prompt: int, hit: int, causes: dict[str, int], **more: object) -> str:
    return plain(sentences.ladder(LadderFacts(prompt, hit, causes, **more), TOKENS))


def test_what_is_cold_is_said_without_saying_that_nobody_can_act() -> None:
    note = ladder(1000, 300, {"evicted": 1, "cold": 699})
    assert "69.90 % are cold (not computed before behind the same beginning), and" in note
    assert "the application can put what changes" in note
    assert "Little is left" in ladder(1000, 1000, {})
    assert "no prompt tokens" in ladder(0, 0, {})


def test_labels_that_are_not_known_stand_in_cold() -> None:
    moved = "this includes text that only moved"
    assert sentences.plain_cold(["in_flight", "diverged"]).endswith(moved)
    both = sentences.plain_cold(["isolated", "diverged"])
    assert both.endswith(f"{moved} and text computed under another salt or adapter")
    assert "includes" not in sentences.plain_cold(["isolated"])  # that stands in `diverged`
    assert moved in ladder(10, 5, {"cold": 5}, not_known=["diverged"])


def test_somebody_can_act_on_every_cause() -> None:
    who = [sentences.WHO[cause] for cause in CAUSES]
    assert all(who)
    assert not any("nobody" in name for name in who)


def test_evicted_says_when_it_is_outputs_or_order() -> None:
    assert "--outputs insert" in ladder(10, 5, {"evicted": 5}, not_stored=4)
    assert "would keep 4" in ladder(10, 5, {"evicted": 5}, better_order=4)


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
    note = plain(
        measures.capacity(CurveFacts(0.8, 7000, 1.5, 4000, workers, one, together), TOKENS)
    )
    assert "7,000 tokens (1.5 GiB) reaches 90 % of the ceiling of 80.00 %" in note
    assert f"configured 4,000 tokens reach {one:.2%}".replace("%", " %") in note
    assert says in note


def test_capacity_without_a_size_or_reuse() -> None:
    unlimited = CurveFacts(0.8, 70, None, None, 1, None, None)
    assert "unlimited" in plain(measures.capacity(unlimited, TOKENS))
    assert "of 70 bytes of text reaches" in plain(measures.capacity(unlimited, BYTES))
    nothing = CurveFacts(None, None, None, 4, 1, None, None)
    assert "no cache" in plain(measures.capacity(nothing, TOKENS))


def over_time(low: float | None, high: float | None, steady: float | None, **more: object) -> str:
    facts = {"num_requests": 30, "starts_empty": True, "mean_prompt": (9.0, 9.0)}
    return plain(
        measures.over_time(
            TimeFacts(low, high, 0.5, steady, **(facts | {"begun_frac": None} | more)), TOKENS
        )
    )


@pytest.mark.parametrize(
    ("low", "high", "steady", "says"),
    [(0.1, 0.9, 0.7, "empty at first"), (0.1, 0.9, 0.3, "falls in the second half: quote both"),
     (0.1, 0.9, 0.5, "few minutes"), (0.45, 0.55, 0.5, "steady"), (0.1, 0.9, None, "no rate")],
)  # fmt: skip
def test_time_says_which_rate_can_be_quoted(
    low: float, high: float, steady: float, says: str
) -> None:
    assert says in over_time(low, high, steady)


def test_time_says_what_changed_where_the_trace_tells_it() -> None:
    rises = over_time(0.1, 0.9, 0.7, mean_prompt=(1000.0, 1250.0), begun_frac=(0.2, 0.1))
    assert "prompts are longer there (a mean of 1,250 tokens, 1,000 in the first half)" in rises
    assert "fewer requests begin a session (10.00 %, 20.00 % in the first half)" in rises
    falls = over_time(0.1, 0.9, 0.3, mean_prompt=(1000.0, 700.0), begun_frac=(0.2, 0.1))
    assert "prompts are shorter there" in falls
    assert "session" not in falls  # fewer of them explain no fall
    assert "more requests begin" in over_time(0.1, 0.9, 0.3, begun_frac=(0.1, 0.2))
    told = over_time(0.1, 0.9, 0.7, starts_empty=False)
    assert "rises in the second half: quote both" in told
    assert "modelled" not in told


def test_nothing_is_advised_on_empty_ground() -> None:
    few = over_time(0.1, 0.9, 0.7, num_requests=29)
    assert few.endswith("70.00 % in its second half: 29 requests are too few for more. ")
    none = over_time(0.0, 0.0, 0.0)
    assert none == "No request hits, in any window. "
    advice = Note("shows", "do")
    assert sentences.if_enough(advice, 29) == Note("shows", "")
    assert sentences.if_enough(advice, 30) == advice


def test_gaps_name_the_time_that_is_enough() -> None:
    note = plain(measures.gaps(11.0, [(10, 0.4), (300, 0.7), (3600, 0.96)], TOKENS))
    assert "within 11 s" in note
    assert "96.00 % within 1 h" in note
    assert "5 min serves 70.00 %" in note
    assert "disk or remote" in plain(measures.gaps(9e9, [(10, 0.1), (300, 0.2)], TOKENS))
    assert "Nothing" in plain(measures.gaps(None, [], TOKENS))


def test_lengths_point_at_the_misses() -> None:
    short, long = LengthBin(8, 16, 9, 100, 0), LengthBin(16, 32, 9, 900, 890)
    assert "8 to 16" in plain(measures.lengths([short, long], TOKENS))
    assert "they also have the most misses" in plain(measures.lengths([short], TOKENS))
    assert "Every byte" in plain(measures.lengths([LengthBin(8, 16, 1, 10, 10)], BYTES))


def groups(kind: str, found: list[Group]) -> str:
    return plain(sentences_sharing.groups(kind, found, TOKENS))


def test_groups_look_beyond_size() -> None:
    big, bad = Group("big", 20, 900, 850, 870), Group("bad", 10, 100, 20, 90)
    assert "Look at tenant bad first" in groups("tenant", [big, bad])
    same = [Group(n, 20, 100, 50, 60) for n in "ab"]
    assert "stands out" in groups("tenant", same)
    assert "None misses" in groups("x", [Group("a", 30, 10, 5, 5)])
    few = [Group("big", 19, 900, 850, 870), bad]
    assert groups("tenant", few) == "Hit rates by tenant range from 20.00 % to 94.44 %. "
    assert groups("x", [Group("a", 99, 10, 0, 9)]) == "No request hits, whatever its x. "


def test_turn_1_is_never_what_to_look_at() -> None:
    """The first turn of a session is cold by nature, whatever share of the misses it has."""
    first, second = Group("1", 40, 1000, 0, None), Group("2", 40, 1000, 900, None)
    assert "no later turn stands out" in groups("turn", [first, second])
    third = Group("3", 40, 100, 0, None)
    note = groups("turn", [first, second, third])
    assert "Look at turn 3 first: with 9.09 % of the prompt tokens of later turns" in note
    assert "50.00 % of the misses" in note
    assert groups("turn", [first]).startswith("No request hits")


def test_origin_warns_across_tenants() -> None:
    assert "cross tenants" in plain(sentences_sharing.origin(5, 1, 4, 0))
    assert "Keep a session" in plain(sentences_sharing.origin(9, 1, None, 0))
    assert "every worker" in plain(sentences_sharing.origin(1, 9, None, 2))


def test_what_is_not_known_is_not_zero() -> None:
    assert "in flight and diverged" in sentences.unknown(["in_flight", "diverged"], TOKENS)
    assert "their bytes stand" in sentences.unknown(["diverged"], BYTES)
    assert "Every label" in sentences.unknown([], TOKENS)


@pytest.mark.parametrize(
    ("num_lost", "after", "says"),
    [
        (8, (6, 2), "that could have kept 4 of these turns"),
        (8, (3, 0), "Waiting explains less than half"),
        (8, (0, 0), "No wait that is known explains them"),
        (0, (0, 0), "None of the 20 turns"),
    ],
)
def test_lost_turns_by_how_long_they_waited(
    num_lost: int, after: tuple[int, int], says: str
) -> None:
    found = LostTurns(20, 0, num_lost, 50, after, 0, ())
    note = plain(sentences_lengths.lost_turns(found, 200))
    assert says in note
    assert ("more than 5 min" in note) == (after[0] > 0)
    assert ("25.00 % of all that missed" in note) == (num_lost > 0)


def test_sizes_of_memory_keep_digits() -> None:
    sizes = [memory(gib).replace("\u00a0", " ") for gib in (2048, 12.25, 0.1, 0.05, 1e-6)]
    assert sizes == ["2,048 GiB", "12.2 GiB", "0.1 GiB", "51.2 MiB", "1.0 KiB"]


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
    low = spread_labels([99.0, 98.0, 97.0, 40.0])
    assert low[0] <= 95  # above the ticks of the axis
    assert low[-1] == 40.0
    for labels in (placed, low, spread_labels([100.0] * 5)):
        assert all(a - b >= 5 for a, b in pairwise(labels))


def test_lines_break_where_there_is_no_rate() -> None:
    assert line([(0, 1), (1, 2), (2, None), (3, 4)]).count("M") == 2
    assert stacked([1, 3]) == [(0.0, 25.0), (25.0, 75.0)]
    assert LogAxis(10, 1000).at(100) == pytest.approx(50)
    assert LogAxis(10, 10).at(10) == 50


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ([("no hit", 80, None), ("50 to 90 %", 20, None)], "Most requests miss whole"),
        ([("no hit", 10, None), ("90 % and more", 90, None)], "nearly all of their prompt"),
        ([("no hit", 40, None), ("up to 50 %", 60, None)], "Hits are partial"),
        ([("no hit", 40, 2.0), ("up to 50 %", 60, 1.0)], "prompts of the same length"),
    ],
)
def test_shares_say_where_to_look(steps, says) -> None:
    assert says in sentences_lengths.hit_shares(steps).do


@pytest.mark.parametrize(
    ("tail", "says"), [(9_999, "close together"), (10_000, "look at them apart")]
)
def test_a_long_tail_is_told(tail: float, says: str) -> None:
    note = sentences_lengths.quantiles("prompts", 1_000, tail)
    assert f"one in a hundred more than {tail:,}" in note.shows
    assert says in note.do

"""Providers' rules on small traces, worked by hand from their documentation."""

import pytest

from hitpath.core import SettingError
from hitpath.sim.models.provider_breakpoints import (
    BreakpointProvider,
    BreakpointRule,
    OpenAiBreakpoints,
)
from hitpath.sim.models.provider_prefixes import (
    DEEPSEEK_V3,
    GEMINI_2_5,
    GEMINI_3,
    OPENAI,
    PrefixProvider,
    UnitProvider,
)
from hitpath.sim.models.providers import HOUR_S, Breakpoint, Predicted, Prompt, predict

BASE = list(range(10_000, 20_000))


def read_of(provider, *prompts):
    return [row.read for row in predict(provider, prompts)]


@pytest.mark.parametrize(
    ("shared", "hit"),
    [(1023, 0), (1024, 1024), (1151, 1024), (1152, 1152), (2006, 1920), (3000, 2944)],
)
def test_openai_rounds_down_to_1024_and_128(shared, hit):
    first = Prompt(0.0, BASE[:4000])
    second = Prompt(1.0, BASE[:shared] + [1] * 50)
    assert read_of(PrefixProvider(OPENAI), first, second) == [0, hit]


def test_openai_forgets_after_ten_idle_minutes_and_each_use_begins_them_anew():
    prompts = [Prompt(at, BASE[:2048]) for at in (0.0, 500.0, 1000.0, 1601.0)]
    assert read_of(PrefixProvider(OPENAI), *prompts) == [0, 2048, 2048, 0]


def test_two_at_once_both_miss_where_the_first_has_not_answered():
    prompts = [Prompt(at, BASE[:2048], visible_s=at + 2.0) for at in (0.0, 1.0, 3.0)]
    assert read_of(PrefixProvider(OPENAI), *prompts) == [0, 0, 2048]


def test_contexts_are_caches_apart():
    prompts = [Prompt(float(i), BASE[:2048], context=name) for i, name in enumerate("aba")]
    assert read_of(PrefixProvider(OPENAI), *prompts) == [0, 0, 2048]


@pytest.mark.parametrize(("rule", "least"), [(GEMINI_2_5, 2048), (GEMINI_3, 4096)])
def test_gemini_takes_any_length_from_its_minimum_on(rule, least):
    first = Prompt(0.0, BASE[:5000])
    cut = [Prompt(1.0, [*BASE[:n], 1]) for n in (least - 1, least + 1)]
    assert read_of(PrefixProvider(rule), first, *cut) == [0, 0, least + 1]


def test_deepseek_v3_reads_whole_units_of_64():
    assert read_of(
        PrefixProvider(DEEPSEEK_V3), Prompt(0.0, BASE[:200]), Prompt(1.0, BASE[:191])
    ) == [
        0,
        128,
    ]


def test_deepseek_learns_where_prompts_part():
    """A+B, then A+C is a miss but makes A a unit, so A+D hits A."""
    a = BASE[:300]
    prompts = [Prompt(float(i), [*a, *[i + 1] * 40]) for i in range(3)]
    assert read_of(UnitProvider(), *prompts) == [0, 0, 300]


def test_deepseek_reads_prompt_and_reply_of_the_turn_before():
    turn = Prompt(0.0, BASE[:300], output=[7] * 20)
    again = Prompt(1.0, [*BASE[:300], *[7] * 20, 8, 9])
    other = Prompt(2.0, [*BASE[:300], 5])
    assert read_of(UnitProvider(), turn, again, other) == [0, 320, 300]


def test_deepseek_stores_long_prompts_at_intervals_too():
    """The page tells no figure; with one, a prompt that parts in the middle hits what is whole."""
    prompts = [Prompt(0.0, BASE[:1000]), Prompt(1.0, [*BASE[:700], 1])]
    assert read_of(UnitProvider(interval=256), *prompts) == [0, 512]
    assert read_of(UnitProvider(), *prompts) == [0, 0]


def test_deepseek_forgets_after_a_day_without_use():
    hours = [Prompt(at * HOUR_S, BASE[:300]) for at in (0, 23, 46, 71)]
    assert read_of(UnitProvider(), *hours) == [0, 300, 300, 0]


def chat(at, num_blocks, mark, block=100, lifetime_s=300.0):
    ends = tuple(range(block, (num_blocks + 1) * block, block))
    return Prompt(at, BASE[: ends[-1]], ends, (Breakpoint(mark * block, lifetime_s),))


def test_anthropic_reads_to_the_entry_and_writes_the_rest():
    rule = BreakpointProvider(BreakpointRule(least=1024))
    rows = predict(rule, [chat(0.0, 15, 15), chat(1.0, 18, 18)])
    assert rows == [Predicted(0, {300.0: 1500}), Predicted(1500, {300.0: 300})]


@pytest.mark.parametrize(("grown", "read"), [(19, 1500), (20, 0)])
def test_anthropic_looks_at_twenty_places_its_own_the_first(grown, read):
    """The page's example: after 15 blocks, a breakpoint at block 35 looks at blocks 35 to 16."""
    rule = BreakpointProvider(BreakpointRule(least=1024))
    rows = predict(rule, [chat(0.0, 15, 15), chat(1.0, 15 + grown, 15 + grown)])
    assert rows[1].read == read


def test_anthropic_caches_nothing_below_the_minimum():
    rule = BreakpointProvider(BreakpointRule(least=1024))
    rows = predict(rule, [chat(0.0, 10, 10), chat(1.0, 10, 10)])
    assert rows == [Predicted(0, {}), Predicted(0, {})]


def test_anthropic_refreshes_five_minutes_with_each_use():
    rule = BreakpointProvider(BreakpointRule(least=1024))
    rows = predict(rule, [chat(at, 15, 15) for at in (0.0, 250.0, 500.0, 801.0)])
    assert [row.read for row in rows] == [0, 1500, 1500, 0]


def test_anthropic_bills_each_stretch_at_its_lifetime():
    ends = (1000, 1500, 2000)
    marks = (Breakpoint(1500, HOUR_S), Breakpoint(2000, 300.0))
    prompts = [Prompt(at, BASE[:2000], ends, marks) for at in (0.0, 400.0)]
    rows = predict(BreakpointProvider(BreakpointRule(least=1024)), prompts)
    assert rows[0] == Predicted(0, {HOUR_S: 1500, 300.0: 500})
    assert rows[1] == Predicted(1500, {300.0: 500})


def test_a_change_before_the_breakpoint_loses_all_and_one_behind_it_nothing():
    ends = (1200, 1400)
    first = Prompt(0.0, BASE[:1400], ends, (Breakpoint(1200),))
    changed = Prompt(1.0, [1, *BASE[1:1400]], ends, (Breakpoint(1200),))
    behind = Prompt(2.0, [*BASE[:1200], *[3] * 200], ends, (Breakpoint(1200),))
    rows = predict(BreakpointProvider(BreakpointRule(least=1024)), [first, changed, behind])
    assert [row.read for row in rows] == [0, 0, 1200]


def test_openai_breakpoints_read_no_shorter_unmarked_prefix():
    """A chat that goes on hits the turn before; one that parts inside a message hits nothing."""
    first = Prompt(0.0, BASE[:2000], (1500, 2000))
    on = Prompt(1.0, BASE[:2600], (1500, 2000, 2600))
    parted = Prompt(2.0, [*BASE[:1900], *[1] * 100], (1500, 2000))
    rows = predict(OpenAiBreakpoints(), [first, on, parted])
    assert [row.read for row in rows] == [0, 2000, 0]
    assert [row.num_written for row in rows] == [2000, 600, 2000]


def test_openai_explicit_mode_stores_marks_only():
    mark = (Breakpoint(1500),)
    first = Prompt(0.0, BASE[:2000], (1500, 2000), mark)
    parted = Prompt(1.0, [*BASE[:1500], *[1] * 500], (1500, 2000), mark)
    rows = predict(OpenAiBreakpoints("explicit"), [first, parted])
    assert rows == [Predicted(0, {1800.0: 1500}), Predicted(1500, {})]


def marked(at, marks, block=1000, end=None):
    """A prompt of blocks with explicit breakpoints behind the named ones."""
    last = max(marks) if end is None else end
    ends = tuple(range(block, (last + 1) * block, block))
    return Prompt(at, BASE[: ends[-1]], ends, tuple(Breakpoint(mark * block) for mark in marks))


@pytest.mark.parametrize(
    ("mode", "stored"), [("implicit", [3, 4, 5, 6]), ("explicit", [2, 3, 4, 5])]
)
def test_openai_writes_four_places_the_last_explicit_ones(mode, stored):
    """Three of five and the end of the prompt, or the last four of five."""
    for cut in range(1, 7):
        first = marked(0.0, [1, 2, 3, 4, 5], end=6)
        ends = tuple(range(1000, cut * 1000 + 1, 1000))
        tokens = [*BASE[: cut * 1000], *[1] * 50]
        other = Prompt(1.0, tokens, ends, (Breakpoint(cut * 1000),))
        rows = predict(OpenAiBreakpoints(mode), [first, other])
        assert rows[1].read == (cut * 1000 if cut in stored else 0)


@pytest.mark.parametrize(
    ("at", "read"), [(1, True), (2, True), (3, False), (10, False), (11, True)]
)
def test_openai_looks_at_the_first_two_and_the_latest_fifty_explicit_places(at, read):
    """60 breakpoints: number 3 to 10 are not looked at."""
    first = marked(0.0, [at], block=100)
    many = marked(1.0, range(1, 61), block=100)
    provider = OpenAiBreakpoints("explicit", least=100)
    assert predict(provider, [first, many])[1].read == (at * 100 if read else 0)


def test_openai_breakpoints_live_for_thirty_minutes_after_their_last_use_and_are_written_once():
    prompts = [Prompt(at * 60.0, BASE[:2000], (2000,)) for at in (0, 29, 58, 89)]
    rows = predict(OpenAiBreakpoints(), prompts)
    assert [row.read for row in rows] == [0, 2000, 2000, 0]
    assert [row.num_written for row in rows] == [2000, 0, 0, 2000]


def test_openai_breakpoints_begin_at_1024():
    prompts = [Prompt(float(i), BASE[:n], (n,)) for i, n in enumerate((1023, 1023, 1024, 1024))]
    rows = predict(OpenAiBreakpoints(), prompts)
    assert [(row.read, row.num_written) for row in rows] == [(0, 0), (0, 0), (0, 1024), (1024, 0)]


def test_anthropic_reads_the_longest_entry_of_any_breakpoint():
    """The last breakpoint's 20 places hold none, an earlier one's do."""
    rule = BreakpointProvider(BreakpointRule(least=1))
    ends = tuple(range(100, 6100, 100))
    first = Prompt(0.0, BASE[:1500], ends[:15], (Breakpoint(1500),))
    second = Prompt(1.0, BASE[:6000], ends, (Breakpoint(1800), Breakpoint(6000)))
    rows = predict(rule, [first, second])
    assert rows[1] == Predicted(1500, {300.0: 4500})


def test_what_contradicts_itself_is_refused():
    with pytest.raises(SettingError, match="block_ends"):
        Prompt(0.0, BASE[:10], (5, 4))
    with pytest.raises(SettingError, match="breakpoints"):
        Prompt(0.0, BASE[:10], (5, 10), (Breakpoint(7),))
    with pytest.raises(SettingError, match="arrival_s"):
        predict(PrefixProvider(OPENAI), [Prompt(1.0, BASE[:5]), Prompt(0.0, BASE[:5])])
    rule = BreakpointProvider(BreakpointRule(least=1))
    marks = tuple(Breakpoint(end) for end in range(1, 6))
    with pytest.raises(SettingError, match="more than 4"):
        rule.serve(Prompt(0.0, BASE[:5], (1, 2, 3, 4, 5), marks))
    mixed = (Breakpoint(1, 300.0), Breakpoint(2, HOUR_S))
    with pytest.raises(SettingError, match="first"):
        rule.serve(Prompt(0.0, BASE[:2], (1, 2), mixed))

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


def test_gemini_takes_any_length_from_its_minimum_on():
    first = Prompt(0.0, BASE[:5000])
    cut = [Prompt(1.0, [*BASE[:n], 1]) for n in (2047, 2049)]
    assert read_of(PrefixProvider(GEMINI_2_5), first, *cut) == [0, 0, 2049]


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


def chat(at, num_blocks, mark, block=100, lifetime_s=300.0):
    ends = tuple(range(block, (num_blocks + 1) * block, block))
    return Prompt(at, BASE[: ends[-1]], ends, (Breakpoint(mark * block, lifetime_s),))


def test_anthropic_reads_to_the_entry_and_writes_the_rest():
    rule = BreakpointProvider(BreakpointRule(least=1024))
    rows = predict(rule, [chat(0.0, 15, 15), chat(1.0, 18, 18)])
    assert rows == [Predicted(0, {300.0: 1500}), Predicted(1500, {300.0: 300})]


@pytest.mark.parametrize(("grown", "read"), [(20, 1500), (21, 0)])
def test_anthropic_looks_twenty_blocks_back(grown, read):
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

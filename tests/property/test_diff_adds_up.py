"""A difference adds up exactly whatever the sums are, turns its signs with its sides, and does not
depend on how labels are cut or groups are ordered."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from hitpath.accounting.diff import HIT, Effect, GroupKey, difference, sum_of

CAUSES = ("elsewhere", "evicted", "cold")
KEYS = (*(GroupKey(name) for name in "wxyz"), GroupKey(None), GroupKey("others", 3))
_COUNTS = st.one_of(st.just(0), st.integers(0, 5), st.integers(0, 1 << 45))
_TOKENS = st.fixed_dictionaries(dict.fromkeys((HIT, *CAUSES), _COUNTS))
_SIDES = st.dictionaries(st.sampled_from(KEYS), _TOKENS, min_size=1).filter(
    lambda side: any(any(tokens.values()) for tokens in side.values())
)


def rate(side):
    whole = sum(sum(tokens.values()) for tokens in side.values())
    return Fraction(sum(tokens[HIT] for tokens in side.values()), whole)


def negative(effect):
    return Effect(-effect.mix, -effect.behaviour)


@given(_SIDES, _SIDES)
def test_everything_adds_up(a, b):
    """`check` runs within; here the sums are taken anew, from the sides themselves."""
    found = difference(a, b, CAUSES)
    moved = rate(b) - rate(a)
    assert found.effect.mix + found.effect.behaviour == moved
    assert sum(effect.total for effect in found.causes.values()) == moved
    assert sum(group.effect.total for group in found.groups) == moved
    cells = [effect.total for group in found.groups for effect in group.causes.values()]
    assert sum(cells) == moved


@given(_SIDES, _SIDES)
def test_the_other_way_round_is_the_negative(a, b):
    there, back = difference(a, b, CAUSES), difference(b, a, CAUSES)
    assert back.effect == negative(there.effect)
    assert back.causes == {name: negative(effect) for name, effect in there.causes.items()}
    assert [g.key for g in back.groups] == [g.key for g in there.groups]
    for mine, theirs in zip(there.groups, back.groups, strict=True):
        assert theirs.effect == negative(mine.effect)


@given(_SIDES)
def test_nothing_moves_between_equals(a):
    found = difference(a, a, CAUSES)
    nothing = Effect(Fraction(0), Fraction(0))
    assert found.effect == nothing
    assert set(found.causes.values()) == {nothing}
    assert {group.effect for group in found.groups} == {nothing}
    assert found.largest_cause is None


@given(_SIDES, _SIDES)
def test_two_labels_as_one_have_both_effects(a, b):
    def merged(side):
        return {
            key: {HIT: t[HIT], "elsewhere": t["elsewhere"], "rest": t["evicted"] + t["cold"]}
            for key, t in side.items()
        }

    whole = difference(a, b, CAUSES)
    coarse = difference(merged(a), merged(b), ("elsewhere", "rest"))
    assert coarse.effect == whole.effect
    assert coarse.causes["elsewhere"] == whole.causes["elsewhere"]
    assert coarse.causes["rest"] == sum_of([whole.causes["evicted"], whole.causes["cold"]])
    assert {g.key: g.effect for g in coarse.groups} == {g.key: g.effect for g in whole.groups}


@given(_SIDES, _SIDES, st.randoms(use_true_random=False))
def test_the_order_of_groups_and_of_labels_does_not_matter(a, b, random):
    def shuffled(side):
        keys = list(side)
        random.shuffle(keys)
        return {key: side[key] for key in keys}

    labels = list(CAUSES)
    random.shuffle(labels)
    first, second = difference(a, b, CAUSES), difference(shuffled(a), shuffled(b), labels)
    assert (first.effect, first.causes) == (second.effect, second.causes)
    assert [(g.key, g.effect) for g in first.groups] == [(g.key, g.effect) for g in second.groups]


@given(_SIDES, _SIDES, st.integers(2, 1000))
def test_only_shares_matter(a, b, times):
    scaled = {key: {name: n * times for name, n in t.items()} for key, t in b.items()}
    once, more = difference(a, b, CAUSES), difference(a, scaled, CAUSES)
    assert (once.effect, once.causes) == (more.effect, more.causes)


@given(_SIDES, _SIDES)
def test_one_group_is_all_behaviour(a, b):
    def together(side):
        return {GroupKey("all"): {n: sum(t[n] for t in side.values()) for n in (HIT, *CAUSES)}}

    found = difference(together(a), together(b), CAUSES)
    assert found.effect == Effect(Fraction(0), rate(b) - rate(a))

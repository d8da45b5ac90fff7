"""Why the hit rate moved between two sides, A and B: mix against behaviour, cause by cause, exact.

w_g is a group's share of its side's prompt tokens, s_g the share of one label among the group's
own, S the same share over the whole side, so S = sum of w_g s_g. The split in two that favours
neither order of the changes (Kitagawa, "Components of a difference between two rates", 1955; the
Shapley value of two factors) is

    mix_g       = (w_gB - w_gA) * ((s_gA + s_gB) / 2 - (S_A + S_B) / 2)
    behaviour_g = (w_gA + w_gB) / 2 * (s_gB - s_gA)

and their sum over all groups is S_B - S_A: the mean that mix_g is measured against vanishes in
the sum, for the differences of w add up to 0. A group without tokens on one side takes its s
from the other: it can only be mix. Labels add up to the prompt, so a label other than the hit
counts with its sign turned, and all of them together are the change of the hit rate.
Everything is a Fraction: sums are checked with ==.
"""

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

HIT = "hit"
MOST_GROUPS = 200
"""Groups that keep their own name; the smaller ones are one group, or fractions grow too long."""

Tokens = Mapping[str, int]
"""Label -> tokens. The labels of one group on one side add up to its prompt tokens."""


class GroupKey(NamedTuple):
    """name: None for requests without that label. merged: how many small groups this one stands
    for, 0 for a group of its own."""

    name: str | None
    merged: int = 0


Sums = Mapping[GroupKey, Tokens]


@dataclass(frozen=True, slots=True)
class Effect:
    """What something moved the hit rate by, B less A, as a share (0.01 is one point)."""

    mix: Fraction
    behaviour: Fraction

    @property
    def total(self) -> Fraction:
        """Mix and behaviour together."""
        return self.mix + self.behaviour


@dataclass(frozen=True, slots=True)
class GroupEffect:
    """One group. tokens_a, tokens_b: by label, empty where a side lacks the group. effect: on the
    hit rate; causes: the same effect by label."""

    key: GroupKey
    tokens_a: Tokens
    tokens_b: Tokens
    effect: Effect
    causes: Mapping[str, Effect]

    @property
    def prompt_a(self) -> int:
        """Prompt tokens on side A."""
        return sum(self.tokens_a.values())

    @property
    def prompt_b(self) -> int:
        """Prompt tokens on side B."""
        return sum(self.tokens_b.values())


@dataclass(frozen=True, slots=True)
class Difference:
    """The whole change. tokens_a, tokens_b: each side's sums by label, the hit first. causes:
    label -> effect, for every label but the hit. groups: the largest total effect first."""

    tokens_a: Tokens
    tokens_b: Tokens
    effect: Effect
    causes: Mapping[str, Effect]
    groups: tuple[GroupEffect, ...]

    @property
    def rate_a(self) -> Fraction:
        """Hit rate of side A."""
        return _share(self.tokens_a, HIT)

    @property
    def rate_b(self) -> Fraction:
        """Hit rate of side B."""
        return _share(self.tokens_b, HIT)

    @property
    def largest_cause(self) -> str | None:
        """The label with the largest effect in either direction; None where none has any."""
        moved = {label: abs(effect.total) for label, effect in self.causes.items()}
        largest = max(moved, key=lambda label: moved[label], default=None)
        return largest if largest is not None and moved[largest] else None

    def check(self) -> None:
        """Every sum, exactly: tokens over groups, effects over causes, over groups, and both."""
        for whole, parts in (
            (self.tokens_a, [group.tokens_a for group in self.groups]),
            (self.tokens_b, [group.tokens_b for group in self.groups]),
        ):
            assert all(whole[label] == sum(p.get(label, 0) for p in parts) for label in whole)
        assert self.effect.total == self.rate_b - self.rate_a
        assert self.effect == sum_of(self.causes.values())
        assert self.effect == sum_of(group.effect for group in self.groups)
        for label, effect in self.causes.items():
            fall = _share(self.tokens_a, label) - _share(self.tokens_b, label)
            assert effect.total == fall
        for group in self.groups:
            assert group.effect == sum_of(group.causes.values())


def difference(a: Sums, b: Sums, labels: Sequence[str]) -> Difference:
    """Split the change from A to B. Keys of `a` and `b` are groups; those without a token on
    either side are left out. labels: every label but the hit, in the order of the answer.
    Both sides must have prompt tokens."""
    total_a, total_b = _total(a, labels), _total(b, labels)
    groups = [
        _group(key, _Pair(a.get(key, {}), b.get(key, {})), _Pair(total_a, total_b), labels)
        for key in dict.fromkeys((*a, *b))
        if any(a.get(key, {}).values()) or any(b.get(key, {}).values())
    ]
    groups.sort(key=_by_effect)
    found = Difference(
        tokens_a=total_a,
        tokens_b=total_b,
        effect=sum_of(group.effect for group in groups),
        causes={label: sum_of(group.causes[label] for group in groups) for label in labels},
        groups=tuple(groups),
    )
    found.check()
    return found


def largest_groups(prompt_a: Tokens, prompt_b: Tokens, most: int = MOST_GROUPS) -> set[str]:
    """The names with the most prompt tokens over both sides, of equals the first by name."""
    both = {
        name: prompt_a.get(name, 0) + prompt_b.get(name, 0) for name in {**prompt_a, **prompt_b}
    }
    return set(heapq.nsmallest(most, both, key=lambda name: (-both[name], name)))


class _Pair(NamedTuple):
    a: Tokens
    b: Tokens


def _total(sums: Sums, labels: Sequence[str]) -> dict[str, int]:
    return {
        label: sum(tokens.get(label, 0) for tokens in sums.values()) for label in (HIT, *labels)
    }


def _share(tokens: Tokens, label: str) -> Fraction:
    return Fraction(tokens.get(label, 0), sum(tokens.values()))


def _group(key: GroupKey, tokens: _Pair, total: _Pair, labels: Sequence[str]) -> GroupEffect:
    effects = {
        label: _effect(tokens, total, label, sign=1 if label == HIT else -1)
        for label in (HIT, *labels)
    }
    return GroupEffect(key, tokens.a, tokens.b, effects.pop(HIT), effects)


def _effect(tokens: _Pair, total: _Pair, label: str, sign: int) -> Effect:
    """The module's two formulas for one group and one label."""
    prompt_a, prompt_b = sum(tokens.a.values()), sum(tokens.b.values())
    w_a = Fraction(prompt_a, sum(total.a.values()))
    w_b = Fraction(prompt_b, sum(total.b.values()))
    s_a = _share(tokens.a if prompt_a else tokens.b, label)
    s_b = _share(tokens.b if prompt_b else tokens.a, label)
    mean = (_share(total.a, label) + _share(total.b, label)) / 2
    mix = (w_b - w_a) * ((s_a + s_b) / 2 - mean)
    behaviour = (w_a + w_b) / 2 * (s_b - s_a)
    return Effect(sign * mix, sign * behaviour)


def sum_of(effects: Iterable[Effect]) -> Effect:
    """All of them together; nothing is no effect."""
    found = tuple(effects)
    return Effect(_exact_sum([e.mix for e in found]), _exact_sum([e.behaviour for e in found]))


def _exact_sum(values: Sequence[Fraction]) -> Fraction:
    """In halves, so that most additions are of short fractions."""
    if len(values) <= 1:
        return values[0] if values else Fraction(0)
    middle = len(values) // 2
    return _exact_sum(values[:middle]) + _exact_sum(values[middle:])


def _by_effect(group: GroupEffect) -> tuple[Fraction, bool, int, bool, str]:
    """The largest first; of equals groups of their own, then the most tokens, then by name."""
    name, merged = group.key
    tokens = group.prompt_a + group.prompt_b
    return -abs(group.effect.total), merged > 0, -tokens, name is None, name or ""

"""Why a provider read less from its cache than it might have: our fault, its rules, or its own.

For every request that reports what was read: what its relative had in common (in the provider's
tokens, by its share of the prompt), against what was read. Where that is less, the first reason
that holds: another model or host, a prefix that we broke, one shorter than the minimum, one that
was too old, a breakpoint that nothing readable stands before; else the provider missed.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from hitpath.core import ABSENT
from hitpath.doctor.diagnose import Finding, Requests
from hitpath.doctor.provider_marks import Mark, marks_of
from hitpath.doctor.provider_rules import ProviderRule, lifetime_of, rule_of
from hitpath.doctor.relatives import NONE
from hitpath.doctor.times import seconds_apart
from hitpath.traces.table import Trace

Reason = Literal[
    "read", "first", "other_model_or_host", "prefix_broke", "below_minimum", "ttl_passed",
    "no_breakpoint", "breakpoint_missed", "provider_missed", "read_before", "broke_or_missed",
]  # fmt: skip
SENTENCES: dict[Reason, str] = {
    "read": "read what could be read",
    "first": "first of its kind: nothing to read",
    "other_model_or_host": "another model or host than the request before",
    "prefix_broke": "our prefix broke",
    "below_minimum": "the shared prefix is below the minimum length",
    "ttl_passed": "the lifetime of the cache had passed",
    "no_breakpoint": "no breakpoint (cache_control) in the request, or in the one before",
    "breakpoint_missed": "no stored breakpoint within the look-back",
    "provider_missed": "the provider missed, though the prefix was stable and young",
    "read_before": "read what the turn before had sent",
    "broke_or_missed": "our prefix broke, or the provider missed: there is no text to tell by",
}
NO_MODEL = "a model without a name"
_MOST_NAMED = 3
_SLACK = 0.05
_LEAST_SLACK = 160
_EDGE_TOKENS = 8
"""The head of the reply that a rendered prompt ends with lies behind its last block."""


@dataclass(frozen=True, slots=True)
class ProviderView:
    """requests: how many for each reason; tokens: that they might have read more, in the provider's
    tokens; reasons: of each row that reports; not_told: rows without usage or of a model whose
    provider is not known; unknown: of those that report the models, with how many each; lost:
    tokens of each row that might have been read more."""

    requests: dict[Reason, int]
    tokens: dict[Reason, int]
    reasons: dict[int, Reason] = field(repr=False)
    not_told: int = 0
    unknown: dict[str, int] = field(default_factory=dict)
    lost: dict[int, int] = field(default_factory=dict, repr=False)

    @property
    def note(self) -> str | None:
        """What is reported and cannot be judged."""
        if not self.unknown:
            return None
        names = ", ".join(list(self.unknown)[:_MOST_NAMED])
        more = ", ..." if len(self.unknown) > _MOST_NAMED else ""
        num = sum(self.unknown.values())
        return (
            f"{num:,} {'request reports' if num == 1 else 'requests report'} what was read; the "
            f"provider of {names}{more} is not known"
        )

    def check(self) -> None:
        """Every request that tells has one reason, and all that was lost is some request's."""
        assert not self.lost or sum(self.lost.values()) == sum(self.tokens.values())
        assert sum(self.requests.values()) == len(self.reasons)


def provider_view(
    trace: Trace, requests: Requests, findings: Sequence[Finding]
) -> ProviderView | None:
    """None where no request tells what was read from a provider's cache."""
    reasons: dict[int, Reason] = {}
    tokens: Counter[Reason] = Counter()
    not_told = 0
    unknown: Counter[str] = Counter()
    lost_by_row: dict[int, int] = {}
    for finding in findings:
        usage = _usage(trace, finding.row)
        model = trace.model.of(finding.row)
        rule = rule_of(model)
        if usage is None or rule is None:
            not_told += 1
            unknown.update([model or NO_MODEL] if usage is not None else [])
            continue
        reason, lost = _reason(trace, requests, finding, rule, *usage)
        reasons[finding.row] = reason
        lost_by_row[finding.row] = sum(lost.values())
        tokens.update({reason: 0, **lost})
    if not reasons and not unknown:
        return None
    counts = dict(Counter(reasons.values()))
    view = ProviderView(counts, dict(tokens), reasons, not_told, dict(unknown), lost_by_row)
    view.check()
    return view


def _usage(trace: Trace, row: int) -> tuple[int, int] | None:
    """(prompt, read) in the provider's tokens."""
    in_other_unit = trace.identity == "text"
    hit = int((trace.apart_hit if in_other_unit else trace.reported_hit)[row])
    prompt = int((trace.apart_prompt if in_other_unit else trace.prompt_tokens)[row])
    return None if hit == ABSENT or prompt == ABSENT or prompt <= 0 else (prompt, hit)


Lost = dict[Reason, int]
"""Tokens that might have been read besides, by the reason why they were not."""


def _reason(
    trace: Trace,
    requests: Requests,
    finding: Finding,
    rule: ProviderRule,
    prompt: int,
    read: int,
) -> tuple[Reason, Lost]:
    """(the reason of the greater part, all that was lost)."""
    row, other = finding.row, finding.relative
    if other == NONE:
        return "first", {}
    length = max(int(trace.prompt_tokens[row]), 1)
    shared = int(finding.common * prompt / length)
    might = shared if finding.same_session or shared >= rule.least else 0
    kinds = {change.kind for change in finding.comparison.changes}
    is_other = "context_changed" in kinds or _host(requests, row) != _host(requests, other)
    is_read = read > 0 and might - read <= slack_of(might)
    if trace.model.of(row) != trace.model.of(other) or (is_other and not is_read):
        return "other_model_or_host", {"other_model_or_host": max(might - read, 0)}
    kinds.discard("context_changed")
    if read == 0 and shared < rule.least and not kinds:  # else the slack would hide it
        return "below_minimum", {"below_minimum": might}
    asked = Asked(prompt, read, might, seconds_apart(trace, row, other))
    marks = marks_of(requests.of(row)), marks_of(requests.of(other))
    reason, lost = _judged(asked, *marks, int(trace.prompt_tokens[other]) / length, rule)
    if kinds:
        stop = max((stop for _, stop in finding.comparison.kept), default=finding.common)
        return _broken(int(stop * prompt / length), read, reason, lost)
    return reason, {reason: lost} if lost else {}


def _broken(whole: int, read: int, reason: Reason, lost: int) -> tuple[Reason, Lost]:
    """Of a prefix that broke, which would have been so long: what stands before the break is judged
    as any prefix; what stands behind it, the break cost."""
    stable = lost if reason in ("ttl_passed", "provider_missed") else 0
    behind = max(whole - read - stable, 0)
    if behind <= slack_of(whole) and not stable:
        return "read", {}
    found: Lost = {"prefix_broke": behind}
    if stable:
        found[reason] = stable
    return (reason if stable > behind else "prefix_broke"), found


def _judged(
    asked: "Asked",
    marks: Sequence[Mark] | None,
    before: Sequence[Mark] | None,
    relative: float,
    rule: ProviderRule,
) -> tuple[Reason, int]:
    """Why no more was read of what a request shares with its relative, and how much more it might
    have been."""
    lost = asked.shared - asked.read
    if lost <= slack_of(asked.shared):
        return "read", 0
    if asked.shared < rule.least:
        return "below_minimum", lost
    if rule.lookback is None or marks is None or before is None:
        is_old = asked.age_s is not None and asked.age_s > rule.lifetime_s
        return ("ttl_passed" if is_old else "provider_missed"), lost
    return _by_breakpoints(asked, marks, before, relative, rule)


@dataclass(frozen=True, slots=True)
class Asked:
    """One request in the provider's tokens: its prompt, what was read of it, and what it shares
    with its relative; age_s: since that one, None where it is not known."""

    prompt: int
    read: int
    shared: int
    age_s: float | None


def _by_breakpoints(
    asked: Asked,
    marks: Sequence[Mark],
    before: Sequence[Mark],
    relative: float,
    rule: ProviderRule,
) -> tuple[Reason, int]:
    """Of a cache that stores at marks only. before: those of the relative, whose prompt is so many
    times as long."""
    lost = asked.shared - asked.read
    if not marks or not before:
        return "no_breakpoint", lost
    stored = {
        mark.block: (int(mark.end_frac * relative * asked.prompt), lifetime_of(mark.ttl, rule))
        for mark in before
    }
    stored = {
        block: (end, life)
        for block, (end, life) in stored.items()
        if rule.least <= end <= asked.shared + _EDGE_TOKENS
    }
    lookback = rule.lookback or 0
    asked_at = sorted(mark.block for mark in marks)
    reached = []
    for block, entry in stored.items():
        at = bisect_left(asked_at, block)
        if at < len(asked_at) and asked_at[at] - block <= lookback:
            reached.append(entry)
    longest = max((end for end, _ in stored.values()), default=asked.shared)
    if not reached:
        return "breakpoint_missed", longest - asked.read
    best, lifetime_s = max(reached)
    if best - asked.read > slack_of(best):
        is_old = asked.age_s is not None and asked.age_s > lifetime_s
        return ("ttl_passed" if is_old else "provider_missed"), best - asked.read
    if longest - best > slack_of(longest):
        return "breakpoint_missed", longest - asked.read
    return "read", 0


def slack_of(tokens: int) -> int:
    """Of so many tokens that might be read, how many may be missing from what counts as all."""
    return max(_LEAST_SLACK, int(_SLACK * tokens))


def _host(requests: Requests, row: int) -> object:
    """Which host answered, where the row tells."""
    request = requests.of(row)
    return None if request is None else request.host

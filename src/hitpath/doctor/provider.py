"""Why a provider read less from its cache than it might have: our fault, its rules, or its own.

For every request that reports what was read: what its relative had in common (in the provider's
tokens, by its share of the prompt), against what was read. Where that is less, the first reason
that holds: another model or host, a prefix that we broke, one shorter than the minimum, one that
was too old, a breakpoint that nothing readable stands before; else the provider missed.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from hitpath.core import ABSENT
from hitpath.doctor.diagnose import Finding, Requests
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
    "no_breakpoint": "no breakpoint (cache_control) in the request",
    "breakpoint_missed": "no stored breakpoint within the look-back",
    "provider_missed": "the provider missed, though the prefix was stable and young",
    "read_before": "read what the turn before had sent",
    "broke_or_missed": "our prefix broke, or the provider missed: there is no text to tell by",
}
NO_MODEL = "a model without a name"
_MOST_NAMED = 3
_SLACK = 0.05
_LEAST_SLACK = 160


@dataclass(frozen=True, slots=True)
class ProviderView:
    """requests: how many for each reason; tokens: that they might have read more, in the provider's
    tokens; reasons: of each row that reports; not_told: rows without usage or of a model whose
    provider is not known; unknown: of those that report the models, with how many each."""

    requests: dict[Reason, int]
    tokens: dict[Reason, int]
    reasons: dict[int, Reason] = field(repr=False)
    not_told: int = 0
    unknown: dict[str, int] = field(default_factory=dict)

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
        """Every request that tells has one reason."""
        assert sum(self.requests.values()) == len(self.reasons)


def provider_view(
    trace: Trace, requests: Requests, findings: Sequence[Finding]
) -> ProviderView | None:
    """None where no request tells what was read from a provider's cache."""
    reasons: dict[int, Reason] = {}
    tokens: Counter[Reason] = Counter()
    not_told = 0
    unknown: Counter[str] = Counter()
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
        tokens[reason] += lost
    if not reasons and not unknown:
        return None
    counts = dict(Counter(reasons.values()))
    view = ProviderView(counts, dict(tokens), reasons, not_told, dict(unknown))
    view.check()
    return view


def _usage(trace: Trace, row: int) -> tuple[int, int] | None:
    """(prompt, read) in the provider's tokens."""
    in_other_unit = trace.identity == "text"
    hit = int((trace.apart_hit if in_other_unit else trace.reported_hit)[row])
    prompt = int((trace.apart_prompt if in_other_unit else trace.prompt_tokens)[row])
    return None if hit == ABSENT or prompt == ABSENT or prompt <= 0 else (prompt, hit)


def _reason(
    trace: Trace,
    requests: Requests,
    finding: Finding,
    rule: ProviderRule,
    prompt: int,
    read: int,
) -> tuple[Reason, int]:
    """(the reason, tokens that might have been read besides)."""
    row, other = finding.row, finding.relative
    if other == NONE:
        return "first", 0
    length = max(int(trace.prompt_tokens[row]), 1)
    relative = int(trace.prompt_tokens[other])
    per_symbol = prompt / length
    whole = int(min(relative, length) * per_symbol)
    shared = int(finding.common * per_symbol)
    might = shared if finding.same_session or shared >= rule.least else 0
    kinds = {change.kind for change in finding.comparison.changes}
    if "context_changed" in kinds or _host(requests, row) != _host(requests, other):
        return "other_model_or_host", max(might - read, 0)
    if kinds and whole - read > _slack(whole):
        return "prefix_broke", max(whole - read, 0)
    if might - read <= _slack(might):
        return "read", 0
    if might < rule.least:
        return "below_minimum", might - read
    marks = _marks(requests, row, rule) if rule.lookback is not None else None
    age = seconds_apart(trace, row, other)
    if age is not None and age > (marks.lifetime_s if marks else rule.lifetime_s):
        return "ttl_passed", might - read
    if marks is not None:
        if not marks.at:
            return "no_breakpoint", might - read
        before = _marks(requests, other, rule)
        if not _reaches(marks, before, rule.lookback or 0):
            return "breakpoint_missed", might - read
    return "provider_missed", might - read


def _slack(tokens: int) -> int:
    return max(_LEAST_SLACK, int(_SLACK * tokens))


@dataclass(frozen=True, slots=True)
class _Marks:
    """Numbers of the blocks that have a breakpoint; the longest lifetime of one."""

    at: tuple[int, ...]
    lifetime_s: float


def _marks(requests: Requests, row: int, rule: ProviderRule) -> _Marks:
    """The breakpoints of a body, in the order tools, system, messages."""
    request = requests.of(row)
    body = request.body if request is not None else None
    at: list[int] = []
    lifetime = rule.lifetime_s
    for number, block in enumerate(_blocks(body if isinstance(body, dict) else {})):
        mark = block.get("cache_control") if isinstance(block, dict) else None
        if isinstance(mark, dict):
            at.append(number)
            lifetime = max(lifetime, lifetime_of(mark.get("ttl"), rule))
    return _Marks(tuple(at), lifetime)


def _blocks(body: dict[str, Any]) -> list[Any]:
    blocks: list[Any] = list(body.get("tools") or ())
    contents = [body.get("system")]
    contents += [m.get("content") for m in body.get("messages") or () if isinstance(m, dict)]
    for content in contents:
        if isinstance(content, list):
            blocks += content
        elif content is not None:
            blocks.append({})
    return blocks


def _reaches(marks: _Marks, before: _Marks, lookback: int) -> bool:
    """Whether a stored end stands at a breakpoint or so many blocks before it."""
    return any(0 <= mark - old <= lookback for mark in marks.at for old in before.at)


def _host(requests: Requests, row: int) -> object:
    """Which host answered, where the row tells."""
    request = requests.of(row)
    return None if request is None else request.host

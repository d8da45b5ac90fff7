"""What usage alone tells, where a trace does not say what its prompts were (Claude Code's
transcripts): constant floors, and why a turn read less than the one before it had.

A turn of a session might have read what the turn before had sent, unless the history was rewritten;
which text did that cannot be told.
"""

from collections import Counter

import numpy as np

from hitpath.core import ABSENT
from hitpath.doctor.diagnosis import SharedCause
from hitpath.doctor.provider import ProviderView, Reason, slack_of
from hitpath.doctor.provider_rules import ProviderRule, rule_of
from hitpath.doctor.shared_causes import constant_floors
from hitpath.doctor.times import seconds_apart
from hitpath.traces.table import Trace


def floors_of(trace: Trace) -> list[SharedCause]:
    """Constant counts of reused tokens; lost: what the turn before had, as far as this one is."""
    lost = np.zeros(len(trace), dtype=np.int64)
    before: dict[int, int] = {}
    for row in range(len(trace)):
        code, read = int(trace.session.codes[row]), int(trace.reported_hit[row])
        other = before.get(code)
        if code != ABSENT and read != ABSENT:
            if other is not None:
                might = min(trace.prompt_tokens[other], trace.prompt_tokens[row])
                lost[row] = max(int(might) - read, 0)
            before[code] = row
    return constant_floors(trace, trace.reported_hit, lost, ())


def view_of_lengths(trace: Trace) -> ProviderView | None:
    """Why each turn that reports read no more; None where none reports."""
    reasons: dict[int, Reason] = {}
    tokens: Counter[Reason] = Counter()
    not_told = 0
    before: dict[int, int] = {}
    for row in range(len(trace)):
        rule = rule_of(trace.model.of(row))
        code = int(trace.session.codes[row])
        if trace.reported_hit[row] == ABSENT or rule is None or code == ABSENT:
            not_told += 1
            continue
        reason, lost = _reason(trace, row, before.get(code), rule)
        reasons[row] = reason
        tokens[reason] += lost
        before[code] = row
    if not reasons:
        return None
    view = ProviderView(dict(Counter(reasons.values())), dict(tokens), reasons, not_told)
    view.check()
    return view


def _reason(trace: Trace, row: int, other: int | None, rule: ProviderRule) -> tuple[Reason, int]:
    if other is None:
        return "first", 0
    read = int(trace.reported_hit[row])
    might = int(min(trace.prompt_tokens[other], trace.prompt_tokens[row]))
    lost = might - read
    if lost <= slack_of(might):
        return "read_before", 0
    if trace.model.of(row) != trace.model.of(other):
        return "other_model_or_host", lost
    if might < rule.least:
        return "below_minimum", lost
    age = seconds_apart(trace, row, other)
    if age is not None and age > _lifetime(trace, other, rule):
        return "ttl_passed", lost
    return "broke_or_missed", lost


def _lifetime(trace: Trace, other: int, rule: ProviderRule) -> float:
    """An hour where the turn before wrote for an hour."""
    hour = int(trace.reported_written_1h[other])
    return 3600.0 if hour > 0 else rule.lifetime_s

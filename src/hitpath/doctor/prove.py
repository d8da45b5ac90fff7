"""What each fix gives, by replay: the trace with that fix through the same spine as the trace as it
is. Figures of all fixes together are a replay too, not a sum."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hitpath.doctor.change import Kind
from hitpath.doctor.defects import Defect
from hitpath.doctor.diagnose import Finding, Requests
from hitpath.doctor.diagnosis import ALL, Proof, WhatIf
from hitpath.doctor.forms import make_forms
from hitpath.doctor.resolve import general_path
from hitpath.doctor.stamps import stamps_of
from hitpath.doctor.steps import STEPS, Plan, Step
from hitpath.traces.table import Trace

Replay = Callable[[Trace], tuple[int, int]]
"""(hit tokens, prompt tokens) that the setting's model gives a trace."""


@dataclass(frozen=True, slots=True)
class Fix:
    """A fix by its name: the kinds that it cures, its steps, and which stamps it moves."""

    name: str
    kinds: tuple[Kind, ...]
    steps: tuple[Step, ...]
    stamps: tuple[Kind, ...] = ()


FIXES: tuple[Fix, ...] = (
    Fix("tools in a stable order", ("tool_order",), ("tool_order",)),
    Fix("canonical JSON", ("key_order", "array_order", "number_format"), ("key_order",)),
    Fix("normalised white space", ("white_space", "hidden_characters"), ("white_space",)),
    Fix("composed Unicode", ("unicode_form",), ("unicode_form", "key_order")),
    Fix("clock at the end", ("clock",), ("clock", "stamps"), ("clock",)),
    Fix("ids at the end", ("request_id",), ("request_id", "stamps"), ("request_id",)),
    Fix("counters at the end", ("counter",), ("counter", "stamps"), ("counter",)),
    Fix("attribution at the end", ("attribution",), ("attribution", "stamps"), ("attribution",)),
    Fix("samples at the end", ("random_sample",), ("stamps",), ("random_sample",)),
    Fix("users' fields at the end", ("per_user_field",), ("stamps",), ("per_user_field",)),
)  # fmt: skip


def prove(
    trace: Trace,
    requests: Requests,
    findings: Sequence[Finding],
    defects: Sequence[Defect],
    replay: Replay,
    before: int,
) -> list[Proof]:
    """A proof for each fix of which a defect was found, best first, then all together."""
    useful, spaced = fixes_for(defects), spaced_of(defects)
    if not useful:
        return []

    def proof(name: str, kinds: Sequence[str], fixes: Sequence[Fix]) -> Proof:
        forms = make_forms(trace, requests, whole_plan(findings, spaced, fixes))
        hit, prompt = replay(forms.as_trace(trace))
        return Proof(name, tuple(kinds), hit - before, hit, prompt)

    found = sorted({defect.kind for defect in defects})
    together = proof(ALL, found, useful)
    proofs: list[Proof] = []
    for fix in useful:
        alone = proof(fix.name, fix.kinds, [fix])
        others = [other for other in useful if other is not fix]
        rest = proof("", (), others).gain_tokens if others else 0
        proofs.append(replace(alone, loss_without_tokens=together.gain_tokens - rest))
    proofs.sort(key=lambda one: (-one.gain_tokens, -(one.loss_without_tokens or 0)))
    return [*proofs, together]


def spaced_of(defects: Sequence[Defect]) -> frozenset[str]:
    """Where white space was seen to vary."""
    return frozenset(
        general_path(defect.json_path) for defect in defects if defect.kind == "white_space"
    )


def fixes_for(defects: Sequence[Defect]) -> list[Fix]:
    """Those that cure a kind that was found."""
    found = {defect.kind for defect in defects}
    return [fix for fix in FIXES if found & set(fix.kinds)]


def whole_plan(
    findings: Sequence[Finding], spaced: frozenset[str], fixes: Sequence[Fix] = FIXES
) -> Plan:
    """All the fixes at once."""
    steps = frozenset(step for fix in fixes for step in fix.steps)
    kinds = [kind for fix in fixes for kind in fix.stamps]
    stamps = stamps_of(findings, *kinds) if kinds else {}
    return Plan(steps & frozenset(STEPS), None, stamps, True, spaced)


def clock_choices(trace: Trace, requests: Requests, replay: Replay, before: int) -> list[WhatIf]:
    """A clock by the minute, hour or day, or at the end of the prompt."""
    found: list[WhatIf] = []
    for unit in ("minute", "hour", "day", None):
        plan = Plan(frozenset(("clock",)), unit, {}, appends=True)
        hit, prompt = replay(make_forms(trace, requests, plan).as_trace(trace))
        name = "at the end" if unit is None else f"by the {unit}"
        found.append(WhatIf("clock", name, hit / prompt if prompt else 0.0, hit - before))
    return found

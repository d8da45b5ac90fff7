"""The price of a choice that can be replayed: a clock by the minute, hour or day, tools sorted or
not. Each is replayed beside all other fixes that help, for what stands behind another break could
give nothing: the question is what the choice costs a prompt that is mended otherwise."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hitpath.canonical import ClockUnit
from hitpath.doctor.defects import Defect
from hitpath.doctor.diagnose import Finding
from hitpath.doctor.diagnosis import WhatIf
from hitpath.doctor.fixed import Fixer
from hitpath.doctor.proof import ALL
from hitpath.doctor.prove import FIXES, Proven, spaced_of, whole_plan
from hitpath.doctor.replayed import Replay, Replayed
from hitpath.doctor.steps import Plan

_UNITS: tuple[ClockUnit, ...] = ("minute", "hour", "day")
_CHOICES = {"tool_order": "tools", "clock": "clock"}


def replayed_choices(
    fixer: Fixer,
    findings: Sequence[Finding],
    replay: Replay,
    defects: Sequence[Defect],
    proven: Proven,
    before: Replayed,
) -> list[WhatIf]:
    """Of each choice first what the trace does ("as sent"), then its other forms; gains are against
    the first. Empty where neither a clock nor an order of tools broke anything. before: the trace
    as it is; it and all fixes together are not replayed again."""
    names = {proof.name for proof in proven.proofs if not proof.is_left_out}
    kinds = {defect.kind for defect in defects}
    spaced = spaced_of(defects)
    together = next((p for p in proven.proofs if p.name == ALL), None)
    found: list[WhatIf] = []
    for kind, choice in _CHOICES.items():
        if kind not in kinds:
            continue
        others = [fix for fix in FIXES if fix.name in names and kind not in fix.kinds]
        rest = whole_plan(findings, fixer.requests, spaced, others)
        computed = None
        own = [fix for fix in FIXES if kind in fix.kinds]
        whole = whole_plan(findings, fixer.requests, spaced, [*others, *own])
        for name, plan in _forms(kind, rest, whole):
            if plan is rest and not others:
                hit, prompt = before.hit_tokens, before.prompt_tokens
            elif plan is whole and together is not None and {fix.name for fix in own} <= names:
                hit, prompt = together.hit_tokens, together.prompt_tokens
            else:
                after = replay(fixer.fixed(plan).trace)
                hit, prompt = after.hit_tokens, after.prompt_tokens
            computed = prompt - hit if computed is None else computed
            rate = hit / prompt if prompt else 0.0
            found.append(WhatIf(choice, name, rate, computed - (prompt - hit)))
    return found


def _forms(kind: str, rest: Plan, whole: Plan) -> Iterator[tuple[str, Plan]]:
    """(name, plan) of every form of a choice, that of the trace first. rest, whole: all other
    fixes, and those with the choice's own."""
    yield "as sent", rest
    if kind == "tool_order":
        yield "sorted by name", whole
        return
    for unit in _UNITS:
        yield f"by the {unit}", replace(whole, clock=unit)
    yield "at the end", whole

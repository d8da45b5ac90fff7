"""What each fix gives, by replay: the trace with that fix through the same spine as the trace as it
is. Figures of all fixes together are a replay too, not a sum.

The gain is computed tokens (prompt less hit) before less after, for a fix may make prompts longer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from hitpath.doctor.advice import NOT_FIXED
from hitpath.doctor.change import Kind
from hitpath.doctor.defects import Defect
from hitpath.doctor.diagnose import Finding, Requests
from hitpath.doctor.diagnosis import ALL, Proof, WhatIf
from hitpath.doctor.fixed import Fixed, Fixer
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
    steps: tuple[Step, ...] = ()
    stamps: tuple[Kind, ...] = ()
    reasoning: bool = False
    reply_ids: bool = False


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
    Fix("reasoning kept", ("template_flip",), reasoning=True),
    Fix("reply ids spliced", ("retokenised", "seam_merge"), reply_ids=True),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Proven:
    """proofs: best first, then all together; why_not: by kind, why nothing was replayed; notes:
    what else a person must know; fixed: with all fixes."""

    proofs: tuple[Proof, ...] = ()
    why_not: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    fixed: Fixed | None = None


class Prover:
    """Replays one trace with fixes. before: hit and prompt tokens of the trace as it is."""

    def __init__(
        self, fixer: Fixer, findings: Sequence[Finding], replay: Replay, before: tuple[int, int]
    ) -> None:
        self._fixer = fixer
        self._findings = findings
        self._replay = replay
        self._computed = before[1] - before[0]
        self._not_told = 0
        self._known: dict[frozenset[str], Proof | None] = {}
        self._last: tuple[frozenset[str], Fixed] | None = None

    def prove(self, defects: Sequence[Defect]) -> Proven:
        """A proof for each fix of which a defect was found, and that changes a request."""
        useful, spaced = fixes_for(defects), spaced_of(defects)
        found = sorted({defect.kind for defect in defects})
        why_not: dict[str, str] = {kind: NOT_FIXED[kind] for kind in found if kind in NOT_FIXED}
        alone = {fix.name: self._proof(fix.name, fix.kinds, [fix], spaced) for fix in useful}
        for fix in useful:
            if alone[fix.name] is None:
                reason = NOTHING_KEPT if fix.reasoning else NOTHING_CHANGED
                why_not.update({kind: reason for kind in fix.kinds if kind in found})
        useful = [fix for fix in useful if alone[fix.name] is not None]
        cured = [kind for kind in found if any(kind in fix.kinds for fix in useful)]
        together = self._proof(ALL, cured, useful, spaced) if useful else None
        if together is None:
            return Proven((), why_not, self._notes())
        fixed = self._fixed(useful, spaced)
        proofs: list[Proof] = []
        for fix in useful:
            others = [other for other in useful if other is not fix]
            rest = self._proof("", (), others, spaced) if others else None
            lost = together.gain_tokens - (0 if rest is None else rest.gain_tokens)
            proof = alone[fix.name]
            assert proof is not None
            proofs.append(replace(proof, loss_without_tokens=lost))
        proofs.sort(key=lambda one: (-one.gain_tokens, -(one.loss_without_tokens or 0)))
        return Proven((*proofs, together), why_not, self._notes(), fixed)

    def _proof(
        self, name: str, kinds: Sequence[str], fixes: Sequence[Fix], spaced: frozenset[str]
    ) -> Proof | None:
        """None where no request changes. What was replayed once is known."""
        names = frozenset(fix.name for fix in fixes)
        if names not in self._known:
            self._known[names] = self._measured(names, fixes, spaced)
        known = self._known[names]
        return None if known is None else replace(known, name=name, kinds=tuple(kinds))

    def _measured(
        self, names: frozenset[str], fixes: Sequence[Fix], spaced: frozenset[str]
    ) -> Proof | None:
        fixed = self._fixer.fixed(whole_plan(self._findings, self._fixer.requests, spaced, fixes))
        self._not_told = max(self._not_told, fixed.not_told)
        self._last = names, fixed
        if not fixed.changed:
            return None
        hit, prompt = self._replay(fixed.trace)
        rewrites = not any(fix.reasoning or fix.reply_ids for fix in fixes)
        gain = self._computed - (prompt - hit)
        touched = fixed.touched if rewrites else None
        return Proof("", (), gain, hit, prompt, touched=touched)

    def _fixed(self, fixes: Sequence[Fix], spaced: frozenset[str]) -> Fixed:
        """The trace with these fixes."""
        if self._last is not None and self._last[0] == {fix.name for fix in fixes}:
            return self._last[1]
        return self._fixer.fixed(whole_plan(self._findings, self._fixer.requests, spaced, fixes))

    def _notes(self) -> tuple[str, ...]:
        if not self._not_told:
            return ()
        return (
            f"fixes of {self._not_told:,} requests are not replayed: their tokens are not those of "
            "their text by this tokenizer",
        )

    def clock_choices(self) -> list[WhatIf]:
        """A clock by the minute, hour or day, or at the end of the prompt as the fix has it."""
        found: list[WhatIf] = []
        stamps = stamps_of(self._findings, self._fixer.requests, "clock")
        for unit in ("minute", "hour", "day", None):
            plan = Plan(frozenset(("clock", "stamps")), unit, stamps, appends=True)
            hit, prompt = self._replay(self._fixer.fixed(plan).trace)
            name = "at the end" if unit is None else f"by the {unit}"
            gain = self._computed - (prompt - hit)
            found.append(WhatIf("clock", name, hit / prompt if prompt else 0.0, gain))
        return found


NOTHING_KEPT = (
    "no earlier request or reply of this trace holds what was left out; what a template does by "
    "itself is mended there"
)
NOTHING_CHANGED = "no request of this trace changes by the fix that is known"


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
    findings: Sequence[Finding],
    requests: Requests,
    spaced: frozenset[str],
    fixes: Sequence[Fix] = FIXES,
) -> Plan:
    """All the fixes at once."""
    steps = frozenset(step for fix in fixes for step in fix.steps)
    kinds = [kind for fix in fixes for kind in fix.stamps]
    return Plan(
        steps & frozenset(STEPS),
        stamps=stamps_of(findings, requests, *kinds) if kinds else {},
        appends=True,
        spaced=spaced,
        reasoning=any(fix.reasoning for fix in fixes),
        reply_ids=any(fix.reply_ids for fix in fixes),
    )

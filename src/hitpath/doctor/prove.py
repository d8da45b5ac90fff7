"""What each fix gives, by replay: the trace with that fix through the same spine as the trace as it
is. Figures of all fixes together are a replay too, not a sum.

The gain is computed tokens (prompt less hit) before less after, for a fix may make prompts longer.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hitpath.doctor.advice import NOT_FIXED
from hitpath.doctor.change import Kind
from hitpath.doctor.coming_lines import coming_lines
from hitpath.doctor.constants import constants_of
from hitpath.doctor.defects import Defect
from hitpath.doctor.diagnose import Finding, Requests
from hitpath.doctor.fixed import Fixed, Fixer
from hitpath.doctor.proof import ALL, NOT_REACHED, Proof
from hitpath.doctor.reach import Cured, Key, cured_by
from hitpath.doctor.relatives import NONE
from hitpath.doctor.replayed import Replay, Replayed, by_application
from hitpath.doctor.resolve import general_path
from hitpath.doctor.sample_lines import KIND as SAMPLED
from hitpath.doctor.sample_lines import sample_lines_of
from hitpath.doctor.stamps import stamps_of
from hitpath.doctor.steps import STEPS, Plan, Step


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
    """Replays one trace with fixes. before: the trace as it is."""

    def __init__(
        self, fixer: Fixer, findings: Sequence[Finding], replay: Replay, before: Replayed
    ) -> None:
        self._fixer = fixer
        self._findings = findings
        self._replay = replay
        self._before = before
        self._application = np.full(len(before.hit), NONE, dtype=np.int64)
        self._application[[one.row for one in findings]] = [one.application for one in findings]
        self._as_is = Proof(ALL, (), 0, before.hit_tokens, before.prompt_tokens)
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
        reached = {fix.name: self._cured(fix, defects, spaced) for fix in useful}
        for fix in useful:
            if not _reaches(fix, reached[fix.name]):
                why_not.update(
                    {kind: _why_not_reached(kind) for kind in fix.kinds if kind in found}
                )
        useful = [fix for fix in useful if _reaches(fix, reached[fix.name])]
        kept = self._kept(useful, alone, spaced)
        cured = [kind for kind in found if any(kind in fix.kinds for fix in kept)]
        together = self._proof(ALL, cured, kept, spaced) if kept else self._as_is
        if together is None or not useful:
            return Proven((), why_not, self._notes())
        fixed = self._fixed(kept, spaced) if kept else None
        proofs: list[Proof] = []
        for fix in useful:
            proof = alone[fix.name]
            assert proof is not None
            less, more = self._without(fix, kept, together, spaced)
            proofs.append(
                replace(
                    proof,
                    loss_without_tokens=more.gain_tokens - less.gain_tokens,
                    loss_in=_less(more.gain_in, less.gain_in),
                    cured=reached[fix.name],
                    is_left_out=fix not in kept,
                )
            )
        proofs.sort(key=lambda one: (-one.gain_tokens, -(one.loss_without_tokens or 0)))
        return Proven((*proofs, together), why_not, (*self._notes(), *_left_out(proofs)), fixed)

    def _without(
        self, fix: Fix, kept: Sequence[Fix], together: Proof, spaced: frozenset[str]
    ) -> tuple[Proof, Proof]:
        """The kept fixes without one of them, and with it; of another likewise."""
        if fix in kept:
            rest = self._proof("", (), [other for other in kept if other is not fix], spaced)
            return rest or self._as_is, together
        return together, self._proof("", (), [*kept, fix], spaced) or together

    def _kept(
        self, useful: Sequence[Fix], alone: Mapping[str, Proof | None], spaced: frozenset[str]
    ) -> list[Fix]:
        """Without the fixes that cost, alone and beside the others: more is computed with them, and
        a smaller share of it is read. Reasoning that is sent back is worth more than its tokens."""
        kept = list(useful)
        worst = {fix.name: proof for fix in useful if (proof := alone[fix.name]) is not None}
        for fix in sorted(useful, key=lambda one: worst[one.name].gain_tokens):
            if fix.reasoning or not _is_worse(worst[fix.name], self._as_is):
                continue
            rest = [other for other in kept if other is not fix]
            less = self._proof("", (), rest, spaced) if rest else self._as_is
            more = self._proof("", (), kept, spaced)
            if less is not None and more is not None and _is_worse(more, less):
                kept = rest
        return kept

    def _cured(
        self, fix: Fix, defects: Sequence[Defect], spaced: frozenset[str]
    ) -> Mapping[Key, Cured]:
        """What it mends of each defect; of what only the ids or a template show nothing is told."""
        if fix.reasoning or fix.reply_ids:
            return {}
        requests = self._fixer.requests
        plan = whole_plan(self._findings, requests, spaced, [fix])
        own = [defect for defect in defects if defect.kind in fix.kinds]
        return cured_by(plan, own, requests, self._findings)

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
        after = self._replay(fixed.trace)
        gain = after.gain(self._before)
        rewrites = not any(fix.reasoning or fix.reply_ids for fix in fixes)
        return Proof(
            "",
            (),
            int(gain.sum()),
            after.hit_tokens,
            after.prompt_tokens,
            gain_in=by_application(gain, self._application),
            touched=fixed.touched if rewrites else None,
        )

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


NOTHING_KEPT = (
    "no earlier request or reply of this trace holds what was left out; what a template does by "
    "itself is mended there"
)
NOTHING_CHANGED = "no request of this trace changes by the fix that is known"


ARRAYS = "arrays mean their order, but for `required`"


def _reaches(fix: Fix, cured: Mapping[Key, Cured]) -> bool:
    """Whether it mends what was found, and not another thing by the way."""
    return fix.reasoning or fix.reply_ids or any(one.is_some for one in cured.values())


def _why_not_reached(kind: str) -> str:
    return ARRAYS if kind == "array_order" else NOT_REACHED


def _less(more: Mapping[int, int], less: Mapping[int, int]) -> Mapping[int, int]:
    """By application. Nothing is told of an application where nothing was gained."""
    return {one: more.get(one, 0) - less.get(one, 0) for one in {**more, **less}}


def _is_worse(one: Proof, other: Proof) -> bool:
    """Whether more is computed, and a smaller share is read from the cache."""
    rates = [proof.hit_tokens / max(proof.prompt_tokens, 1) for proof in (one, other)]
    return one.gain_tokens < other.gain_tokens and rates[0] < rates[1]


def _left_out(proofs: Sequence[Proof]) -> Iterator[str]:
    """Fixes that all together are without."""
    for proof in proofs:
        if proof.is_left_out:
            lost = -(proof.loss_without_tokens or 0)
            yield f"{proof.name} would cost {lost:,} beside the other fixes: left out of them all"


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
        lines=coming_lines(findings, requests, kinds),
        constants=constants_of(findings, requests) if kinds else {},
        samples=sample_lines_of(findings, requests) if SAMPLED in kinds else {},
        appends=True,
        spaced=spaced,
        reasoning=any(fix.reasoning for fix in fixes),
        reply_ids=any(fix.reply_ids for fix in fixes),
    )

"""The result of the doctor as one record: what reports show."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hitpath.doctor.defects import Costs, Defect
from hitpath.doctor.diagnose import Finding
from hitpath.doctor.fixed import Fixed
from hitpath.doctor.proof import NOT_REACHED, PARTLY, Gain, Proof
from hitpath.doctor.provider import ProviderView
from hitpath.doctor.reach import Key, key_of
from hitpath.doctor.relatives import Families
from hitpath.traces.table import Ints, Trace


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The price of a choice: the hit rate with it, and the computed tokens that it saves (below 0:
    costs)."""

    choice: str
    name: str
    hit_rate: float
    gain_tokens: int


@dataclass(frozen=True, slots=True)
class SharedCause:
    """Losses of many requests that have one reason: a constant floor, or a burst at a boundary of
    a clock."""

    kind: str
    text: str
    num_requests: int
    tokens: int
    defect: int | None = None


@dataclass(frozen=True, slots=True)
class Worth:
    """What a kind's invalidated tokens cost: prefill on the given hardware, or the difference of a
    fresh token's price to a read one's. None where that was not asked for or is not known."""

    gpu_s: float | None = None
    usd: float | None = None


@dataclass(frozen=True, slots=True)
class Worths:
    """The same by kind, by application and of all; what no difference explains is in the latter
    two alone."""

    kinds: Mapping[str, Worth]
    applications: Mapping[int, Worth]
    total: Worth


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything about a trace. since: rung 6 of each request; before, after: hit rates, after with
    all fixes; None where nothing could be replayed. why_no_proof: why not; why_not: of single
    kinds. worth: where a price was asked for;
    notes: of the doctor, without a word of the input;
    gains: of each defect that a fix reaches;
    fixed: the trace with all fixes, None where none changes it; in_row: (row, a place in its
    request) -> the place in the row of the file. application_names: how its instructions begin."""

    trace: Trace
    families: Families
    findings: tuple[Finding, ...]
    costs: Costs
    defects: tuple[Defect, ...]
    since: Ints
    before: float | None
    after: float | None
    proofs: tuple[Proof, ...] = ()
    why_no_proof: str = ""
    why_not: Mapping[str, str] = field(default_factory=dict)
    fixed: Fixed | None = None
    what_ifs: tuple[WhatIf, ...] = ()
    shared_causes: tuple[SharedCause, ...] = ()
    notes: tuple[str, ...] = ()
    provider: ProviderView | None = None
    worth: Worths | None = None
    gains: Mapping[Key, Gain] = field(default_factory=dict)
    application_names: Mapping[int, str] = field(default_factory=dict)
    in_row: Callable[[int, str], str] = field(default=lambda _, path: path, repr=False)

    def notes_of(self, content: bool) -> tuple[str, ...]:
        """With those of the trace's reader, which may name what stands in it, where that may be
        shown."""
        return (*self.trace.notes, *self.notes) if content else self.notes

    def path_of(self, defect: Defect) -> str:
        """Where a defect stands in the row of its example, as the file has it."""
        return self.in_row(defect.example, defect.json_path)

    def gain_of(self, defect: Defect) -> Gain | None:
        """What the replay of its fix gives; None where no fix is known to be safe, or to reach
        it."""
        return self.gains.get(key_of(defect))

    def why_no_gain(self, defect: Defect) -> str | None:
        """Why no gain is known; None where one is."""
        if self.gain_of(defect) is not None:
            return None
        for proof in self.proofs:
            cured = proof.cured.get(key_of(defect))
            if cured is not None and cured.num:
                return PARTLY.format(cured.num, cured.looked_at)
        return self.why_not.get(defect.kind) or self.why_no_proof or NOT_REACHED

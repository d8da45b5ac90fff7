"""The result of the doctor as one record: what reports show."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hitpath.doctor.defects import Costs, Defect
from hitpath.doctor.diagnose import Finding
from hitpath.doctor.provider import ProviderView
from hitpath.doctor.relatives import Families
from hitpath.traces.table import Ints, Trace


@dataclass(frozen=True, slots=True)
class Proof:
    """What one fix, or all together, would give: hit tokens of a replay less those of the trace as
    it is, under the same setting. kinds: of the defects that it cures. loss_without_tokens: how
    much less than all fixes all but this one give; None for all."""

    name: str
    kinds: tuple[str, ...]
    gain_tokens: int
    hit_tokens: int
    prompt_tokens: int
    loss_without_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The price of a choice: the hit rate with it, and what it gains (below 0: costs)."""

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
class Diagnosis:
    """Everything about a trace. since: rung 6 of each request; before, after: hit rates, after with
    all fixes; None where nothing could be replayed. why_no_proof: why not. worth: of what each kind
    invalidated, where a price was asked for."""

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
    what_ifs: tuple[WhatIf, ...] = ()
    shared_causes: tuple[SharedCause, ...] = ()
    notes: tuple[str, ...] = ()
    provider: ProviderView | None = None
    worth: Mapping[str, Worth] = field(default_factory=dict)

    def gain_of(self, defect: Defect) -> int | None:
        """What a replay without this kind gives; None where no fix is known to be safe."""
        for proof in self.proofs:
            if defect.kind in proof.kinds and proof.name != ALL:
                return proof.gain_tokens
        return None


ALL = "all fixes together"

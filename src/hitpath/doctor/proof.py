"""What a replay proves: of a fix over the trace, and of one defect."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hitpath.doctor.defects import Defect
from hitpath.doctor.forms import place
from hitpath.doctor.reach import Cured, Key, key_of

ALL = "all fixes together"
PARTLY = "the fix that is known mends it in {:,} of {:,} requests only"
NOT_REACHED = "the fix that is known does not reach this place"


@dataclass(frozen=True, slots=True)
class Proof:
    """What one fix, or all together, would give: computed tokens (prompt less hit) of the trace as
    it is less those of a replay, under the same setting; below 0 it costs. kinds: of the defects
    that it cures. loss_without_tokens: how much less than all fixes all but this one give; None for
    all. gain_in, loss_in: the parts of both in the requests of each application. touched: the
    places (forms.place_of) that it rewrites; None where it works otherwise. cured: what it mends of
    single defects, as far as that was looked at. is_left_out: whether all fixes together are
    without it, for it costs alone and beside them."""

    name: str
    kinds: tuple[str, ...]
    gain_tokens: int
    hit_tokens: int
    prompt_tokens: int
    loss_without_tokens: int | None = None
    gain_in: Mapping[int, int] = field(default_factory=dict)
    loss_in: Mapping[int, int] = field(default_factory=dict)
    touched: frozenset[str] | None = None
    cured: Mapping[Key, Cured] = field(default_factory=dict)
    is_left_out: bool = False

    def reaches(self, defect: Defect) -> bool:
        """Whether it mends a defect: not too few of the requests that have it."""
        if self.touched is None:
            return True
        cured = self.cured.get(key_of(defect))
        if cured is not None:
            return cured.is_some
        path = place(defect.json_path, defect.segment)
        return any(path.startswith(one) or one.startswith(path) for one in self.touched)

    def touches(self, defect: Defect) -> bool:
        """Whether it mends a defect in one request at least. Where nothing else of its application
        is mended by it, what it gives there comes of that, in however few."""
        cured = self.cured.get(key_of(defect))
        return cured is not None and cured.num > 0


@dataclass(frozen=True, slots=True)
class Gain:
    """What the fix of a defect gives in the requests of its application: alone, and beside all
    other fixes. others: the numbers in the list of further defects of the application that the same
    fix cures: they have this gain together. cured: of so many of its requests that were looked at,
    those that lose it; None where the fix works otherwise than by rewriting."""

    tokens: int
    beside: int
    others: tuple[int, ...] = ()
    cured: Cured | None = None


def gains_of(defects: Sequence[Defect], proofs: Sequence[Proof]) -> Mapping[Key, Gain]:
    """Of every defect that a fix reaches."""
    groups: dict[tuple[int, str], list[int]] = defaultdict(list)
    known = {proof.name: proof for proof in proofs}
    fixes = [_fix_of(defect, proofs) for defect in defects]
    num = Counter((d.application, fix.name) for d, fix in zip(defects, fixes, strict=True) if fix)
    for number, (defect, fix) in enumerate(zip(defects, fixes, strict=True)):
        if fix is None:
            continue
        group = defect.application, fix.name
        if fix.reaches(defect) or (num[group] == 1 and fix.touches(defect)):
            groups[group].append(number)
    found: dict[Key, Gain] = {}
    for (application, name), numbers in groups.items():
        tokens = known[name].gain_in.get(application, 0)
        beside = known[name].loss_in.get(application, 0)
        for number in numbers:
            others = tuple(other for other in numbers[: _MOST_OTHERS + 1] if other != number)
            key = key_of(defects[number])
            found[key] = Gain(tokens, beside, others, known[name].cured.get(key))
    return found


_MOST_OTHERS = 100


def _fix_of(defect: Defect, proofs: Sequence[Proof]) -> Proof | None:
    return next((p for p in proofs if defect.kind in p.kinds and p.name != ALL), None)

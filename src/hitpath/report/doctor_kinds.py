"""Defects by kind: what one person mends in one go, over all applications."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from hitpath.doctor.change import Kind
from hitpath.doctor.defects import Defect
from hitpath.doctor.diagnosis import Diagnosis


@dataclass(frozen=True, slots=True)
class KindRow:
    """num_requests: that have it at any place; gain_tokens: of its fix in the applications that it
    reaches, None where it reaches none."""

    kind: Kind
    num_defects: int
    num_applications: int
    num_requests: int
    tokens_invalidated: int
    gain_tokens: int | None


def kinds_of(found: Diagnosis) -> list[KindRow]:
    """Most expensive first."""
    groups: dict[Kind, list[Defect]] = defaultdict(list)
    for defect in found.defects:
        groups[defect.kind].append(defect)
    rows = [_row(found, kind, defects) for kind, defects in groups.items()]
    return sorted(rows, key=lambda row: (-row.tokens_invalidated, row.kind))


def _row(found: Diagnosis, kind: Kind, defects: Sequence[Defect]) -> KindRow:
    # One fix a kind: of an application its gain counts once, at however many places it works.
    gains = {
        defect.application: gain.tokens
        for defect in defects
        if (gain := found.gain_of(defect)) is not None
    }
    return KindRow(
        kind,
        len(defects),
        len({defect.application for defect in defects}),
        len({row for defect in defects for row in defect.rows}),
        sum(defect.tokens_invalidated for defect in defects),
        sum(gains.values()) if gains else None,
    )

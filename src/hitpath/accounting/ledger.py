"""The ladder's arithmetic: nine rungs a request become hit, causes, unexplained and excess.

Rules (docs: design, the ladder). hit = reported where told, else modelled. Reported below the
model: the difference is `unexplained` and causes start at the model's rung 0. Reported above:
`excess` says by how much, and cause_i = max(r_i, hit) - max(r_{i-1}, hit). Rows that break an
input invariant leave all sums. All counts are tokens; shapes are [N] or [rows of the table, N].
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hitpath.core import ABSENT, CAUSES, NUM_RUNGS

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Rungs:
    """What each rung allows. `model` is [9, N], rung 0 the modelled hit, rung 8 the prompt.

    reported: hit tokens the engine told, or ABSENT. excluded: rows out of all sums.
    splits: cause -> ordered (reason, tokens up to which that reason reaches); the last reason
    takes what is left of its cause. unknown: cause -> why it is not known; its rung repeats
    the rung before, so that its tokens stand in the next label.
    """

    model: Ints
    reported: Ints
    excluded: NDArray[np.bool_]
    splits: Mapping[str, tuple[tuple[str, Ints], ...]] = field(default_factory=dict)
    unknown: Mapping[str, str] = field(default_factory=dict)

    def check(self) -> None:
        """No rung falls, the first is not negative, unknown rungs add nothing."""
        assert self.model.shape[0] == NUM_RUNGS
        assert np.all(np.diff(self.model, axis=0) >= 0)
        assert np.all(self.model[0] >= 0)
        for cause in self.unknown:
            rung = CAUSES.index(cause) + 1
            assert np.array_equal(self.model[rung], self.model[rung - 1])


@dataclass(frozen=True, slots=True)
class Ledger:
    """One label for every prompt token. `causes` is [8, N] in the order of CAUSES;
    `reasons[cause][reason]` adds up to its cause. `counted` rows enter the sums."""

    rungs: Rungs
    hit: Ints
    causes: Ints
    unexplained: Ints
    excess: Ints
    reasons: Mapping[str, Mapping[str, Ints]]
    counted: NDArray[np.bool_]

    @property
    def prompt(self) -> Ints:
        """Prompt tokens."""
        tokens: Ints = self.rungs.model[-1]
        return tokens

    def total(self, column: Ints) -> int:
        """Sum over the counted rows."""
        return int(column[self.counted].sum())

    def cause(self, name: str) -> Ints:
        """One cause's column."""
        row: Ints = self.causes[CAUSES.index(name)]
        return row

    def check(self) -> None:
        """hit + causes + unexplained = prompt, for every counted row and in total."""
        self.rungs.check()
        rows = self.counted
        labelled = self.hit + self.causes.sum(axis=0) + self.unexplained
        assert np.array_equal(labelled[rows], self.prompt[rows])
        assert np.all(self.causes[:, rows] >= 0)
        assert np.all(self.unexplained[rows] >= 0)
        assert np.all(self.excess[rows] >= 0)
        for cause, parts in self.reasons.items():
            assert np.array_equal(sum(parts.values())[rows], self.cause(cause)[rows])  # type: ignore[index]
            assert all(np.all(part[rows] >= 0) for part in parts.values())


def attribute(rungs: Rungs) -> Ledger:
    """Label every prompt token."""
    told = rungs.reported != ABSENT
    modelled = rungs.model[0]
    hit = np.where(told, rungs.reported, modelled)
    steps = np.maximum(rungs.model, hit)  # a hit below the model moves no rung
    causes = np.diff(steps, axis=0)
    reasons: dict[str, dict[str, Ints]] = {}
    for cause, parts in rungs.splits.items():
        i = CAUSES.index(cause)
        reasons[cause] = _split(steps[i], steps[i + 1], parts)
    return Ledger(
        rungs,
        hit,
        causes,
        np.where(told, modelled - np.minimum(hit, modelled), 0),
        np.where(told, hit - np.minimum(hit, modelled), 0),
        reasons,
        ~rungs.excluded,
    )


def _split(low: Ints, high: Ints, parts: tuple[tuple[str, Ints], ...]) -> dict[str, Ints]:
    """Cut the tokens [low, high) at each reason's reach, in order."""
    cut: dict[str, Ints] = {}
    begin = low
    for number, (reason, reach) in enumerate(parts):
        last = number == len(parts) - 1
        end = high if last else np.clip(reach, begin, high)
        cut[reason] = end - begin
        begin = end
    return cut


def split_by_reach(
    ledger: Ledger, cause: str, parts: tuple[tuple[str, Ints], ...]
) -> dict[str, Ints]:
    """Cut one cause's tokens of every row by other reaches than its reasons'."""
    i = CAUSES.index(cause)
    steps = np.maximum(ledger.rungs.model, ledger.hit)
    return _split(steps[i], steps[i + 1], parts)

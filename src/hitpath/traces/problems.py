"""What was left out of a trace, and why: counted exactly, listed as far as a person may read it.

A file may be bad from its first row to its last; a list of all of that would be as large as the
file.
"""

from collections.abc import Iterable
from dataclasses import dataclass

MOST_LISTED = 10_000


@dataclass(frozen=True, slots=True)
class Problem:
    """A row that was left out: skipped by the reader, or excluded from all sums."""

    place: str
    field: str
    cause: str


class Skipped(tuple[Problem, ...]):
    """The first problems, in their order, at most MOST_LISTED. num: how many there are in all."""

    num: int

    def __new__(cls, problems: Iterable[Problem] = (), num: int | None = None) -> "Skipped":
        made = super().__new__(cls, problems)
        made.num = len(made) if num is None else num
        return made


NOTHING_SKIPPED = Skipped()


class SkippedSoFar:
    """Takes problems as they come. Its length is how many came."""

    def __init__(self) -> None:
        self._listed: list[Problem] = []
        self._num = 0

    def __len__(self) -> int:
        return self._num

    def append(self, problem: Problem) -> None:
        """One more."""
        self._num += 1
        if len(self._listed) < MOST_LISTED:
            self._listed.append(problem)

    def found(self) -> Skipped:
        """What came so far."""
        return Skipped(self._listed, self._num)

"""The rows of a ledger that are in its hit rate, as token columns by label, and what they can be
grouped by. A ledger in memory and one read back from its file are the same here."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hitpath.accounting.diff import HIT
from hitpath.core import ABSENT, CAUSES
from hitpath.traces.table import Ints, Labels

By = Literal["tenant", "model", "worker", "session", "turn", "length"]
BY: tuple[By, ...] = get_args(By)
MISSED = "missed_cause_not_known"
"""The one label beside the hit where only lengths are known."""
UNEXPLAINED = "unexplained"
MISSES = (*CAUSES, UNEXPLAINED, MISSED)
"""Every label of a token that did not hit, in the order of reports."""


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """One entry a request that is in the hit rate. tokens: label -> tokens, adding up to `prompt`;
    causes that are not known are left out. by: what to group by. num_counted: rows that do not
    contradict themselves, of which num_reporting report their hit; where only lengths are known
    (`lengths_only`) no other row is here."""

    prompt: Ints
    tokens: Mapping[str, Ints]
    by: Mapping[By, Labels]
    lengths_only: bool
    num_counted: int
    num_reporting: int

    def named(self, by: By) -> bool:
        """Whether any row has this label."""
        return bool(np.any(self.by[by].codes != ABSENT))

    def prompt_by_name(self, by: By) -> dict[str, int]:
        """Prompt tokens of each name that has any."""
        labels = self.by[by]
        rows = labels.codes != ABSENT
        totals = totals_of(labels.codes[rows], self.prompt[rows], len(labels.names)).tolist()
        return {name: tokens for name, tokens in zip(labels.names, totals, strict=True) if tokens}

    def label_tokens(self) -> dict[str, int | None]:
        """Sums by label, None for a cause that is not known."""
        told = {label: int(column.sum()) for label, column in self.tokens.items()}
        order = (HIT, MISSED) if self.lengths_only else (HIT, *CAUSES, UNEXPLAINED)
        return {label: told.get(label) for label in order}


def totals_of(codes: Ints, column: Ints, size: int) -> Ints:
    """Sums by code from 0 to size - 1, in integers (numpy's weighted bincount is in floats)."""
    totals = np.zeros(size, dtype=np.int64)
    np.add.at(totals, codes, column)
    return totals


def turns_or_places(turn: Ints, session: Labels) -> Ints:
    """The turn that the rows tell, else each one's place in its session, from 1. The rows stand in
    the order in which they were served, excluded ones among them."""
    if np.any(turn != ABSENT):
        return turn
    seen = [0] * len(session.names)
    places = np.full(len(turn), ABSENT, dtype=np.int64)
    for row, code in enumerate(session.codes.tolist()):
        if code != ABSENT:
            seen[code] += 1
            places[row] = seen[code]
    return places


def steps_of_two(values: Ints) -> Labels:
    """Counts in steps that end at powers of two: 1, 2, 3-4, 5-8, 9-16 … (0 is a step of its own);
    ABSENT stays absent."""
    # The exponents of floats are exact up to 2**53, far above MAX_TOKENS; frexp(n - 1) is 0 for 1.
    exponents = np.where(values > 0, np.frexp(np.maximum(values - 1, 0))[1] + 1, 0)
    names = ["0", "1", "2"]
    for exponent in range(2, int(exponents.max(initial=0))):
        names.append(f"{2 ** (exponent - 1) + 1:,}-{2**exponent:,}")
    codes = np.where(values == ABSENT, ABSENT, exponents)
    return Labels(codes.astype(np.int64), tuple(names))


def rows_in(labels: Labels, rows: NDArray[np.bool_]) -> Labels:
    """The same labels for some of the rows."""
    return Labels(labels.codes[rows], labels.names)

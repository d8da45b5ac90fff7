"""Which earlier request that is not the relative has the same text in another form: tokens of rung
7 that no difference from the relative explains.

The canonical beginning of a prompt may be another request's, further than the relative's: the same
question was asked with the tools in another order. What differs from that request before the lost
tokens is why they were lost.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from hitpath.doctor._kernels import common_symbols
from hitpath.doctor.change import Change
from hitpath.doctor.compare import compare
from hitpath.doctor.diagnose import Finding
from hitpath.doctor.forms import Forms
from hitpath.doctor.relatives import NONE
from hitpath.doctor.rows_read import Requests
from hitpath.traces.table import Ints

_MOST_BACK, _MOST_TRIED, _PROBES = 4_096, 8, 8


class Elsewhere:
    """Asked for the rows of a trace whose losses their relatives do not explain. match: leading
    bytes of each canonical prompt that an earlier one of its root has."""

    def __init__(
        self,
        requests: Requests,
        forms: Forms,
        match: Ints,
        roots: Ints,
        findings: Sequence[Finding],
    ) -> None:
        self._requests = requests
        self._forms = forms
        self._match = match
        self._group = [
            (int(root), finding.application) for root, finding in zip(roots, findings, strict=True)
        ]
        rows: dict[tuple[int, int], list[int]] = defaultdict(list)
        for row, group in enumerate(self._group):
            rows[group].append(row)
        self._rows = {group: np.array(members) for group, members in rows.items()}

    def differences(self, row: int) -> tuple[Change, ...]:
        """What a request has otherwise than the latest of its application that has the same
        canonical beginning; nothing where none of the last 4,096 has."""
        other = self._other(row)
        if other == NONE:
            return ()
        one, two = self._requests.of(other), self._requests.of(row)
        if one is None or two is None:
            return ()
        return compare(one.prompt, two.prompt, False).changes

    def _other(self, row: int) -> int:
        """The latest earlier row with at least as long a canonical beginning in common."""
        flat, offsets = self._forms.prompts.flat, self._forms.prompts.offsets
        match = int(self._match[row])
        members = self._rows[self._group[row]]
        earlier = members[: int(np.searchsorted(members, row))][-_MOST_BACK:]
        earlier = earlier[offsets[earlier + 1] - offsets[earlier] >= match]
        for at in np.linspace(match - 1, 0, _PROBES).astype(np.int64) if match else ():
            earlier = earlier[flat[offsets[earlier] + at] == flat[offsets[row] + at]]
        for other in reversed(earlier[-_MOST_TRIED:].tolist()):
            if common_symbols(flat, offsets, row, other) >= match:
                return int(other)
        return NONE

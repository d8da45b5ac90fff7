"""`hitpath doctor` against prompts with planted defects: precision and recall of each kind, exact
locations, the ranked list, several defects in one prompt.
"""

from pathlib import Path

import pytest

from doctor_planted.judge import GROUPS, judged, table, told
from doctor_planted.judging import Score
from doctor_planted.traces import make_trace

LEAST = 0.98
"""Precision and recall of each kind."""
SEEDS = (47778, 17829, 40742, 34319)


def check(result: Score) -> None:
    """Each kind by itself, and every location."""
    shown = "\n".join(told(fault) for fault in result.faults[:12])
    report = "\n".join([table(result), shown, *result.notes[:12]])
    assert result.wrong_relatives == 0, report
    assert result.wrong_common == 0, report
    for tally in result.tallies.values():
        assert tally.exact == tally.placed, report
        assert tally.precision is None or tally.precision >= LEAST, report
        assert tally.recall is None or tally.recall >= LEAST, report


@pytest.mark.parametrize(("group", "seed"), list(zip(GROUPS, SEEDS, strict=True)))
def test_planted_kinds_are_named_and_located(group: str, seed: int, tmp_path: Path) -> None:
    trace = make_trace(seed, group)
    by_request, by_defect, behind = judged(trace, tmp_path, "planted")
    assert all(by_defect.tallies[kind].found for kind in group.split("+")), by_defect.notes
    for result in (by_request, by_defect, behind):
        check(result)

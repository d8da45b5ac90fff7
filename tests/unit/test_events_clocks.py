"""Finishes of requests that have clocks of their own stand among the rows of their clock."""

import pytest

from hitpath.core import Setting
from hitpath.spine import analyze_trace
from support import trace_of_rows

FIRST = {"id": "a", "arrival_s": 1000.0, "tokens": [1] * 16, "output_ids": [2] * 16}
AGAIN = {"tokens": [1] * 16 + [2] * 16 + [3] * 16}


@pytest.mark.parametrize(
    ("finish_s", "arrival_s", "clock", "hit"),
    [
        (1001.0, 1002.0, "x", 32),  # finished before the next row of its clock
        (1001.0, 1001.0, "x", 32),  # at its moment: the finish comes first
        (1003.0, 1002.0, "x", 16),  # not yet finished
        (1003.0, 5.0, "y", 16),  # the other clock stands between: the finish is behind all of x
        (None, 1000.0, "x", 32),  # not told: at once
    ],
)
def test_a_finish_stands_among_the_rows_of_its_clock(tmp_path, finish_s, arrival_s, clock, hit):
    rows = [
        {**FIRST, "clock": "x"} | ({} if finish_s is None else {"finish_s": finish_s}),
        {**AGAIN, "id": "b", "arrival_s": arrival_s, "clock": clock},
        {**AGAIN, "id": "c", "arrival_s": 9999.0, "clock": "x"},
    ]
    trace = trace_of_rows(tmp_path, rows)
    found = analyze_trace(trace, Setting(outputs="insert", block_size=16))
    assert found.ledger.hit.tolist()[1] == hit
    assert found.ledger.hit.tolist()[2] == 48


def test_a_finish_without_a_later_row_is_behind_its_clock(tmp_path):
    rows = [
        {**FIRST, "clock": "x", "finish_s": 2000.0},
        {**AGAIN, "id": "b", "arrival_s": 0.0, "clock": "y"},
    ]
    trace = trace_of_rows(tmp_path, rows)
    found = analyze_trace(trace, Setting(outputs="insert", block_size=16))
    assert found.ledger.hit.tolist() == [0, 32]

"""Times of a trace, where it has any that can be compared."""

from hitpath.core import ABSENT
from hitpath.traces.table import Trace


def seconds_apart(trace: Trace, row: int, earlier: int) -> float | None:
    """From one arrival to the other; None where they are not times of one clock."""
    clocks = trace.clock.codes
    one_clock = trace.common_clock or clocks[row] == clocks[earlier] != ABSENT
    passed = float(trace.arrival_s[row] - trace.arrival_s[earlier])
    return passed if trace.has_times and one_clock and passed >= 0 else None


def arrived_at(trace: Trace, row: int) -> float | None:
    """Seconds since 1970 of an arrival; None where they are not told from there."""
    at = float(trace.arrival_s[row])
    return at if trace.has_times and at >= _LEAST_EPOCH else None


_LEAST_EPOCH = 9e8

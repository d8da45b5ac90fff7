"""Logs and metrics of engines: statistics, no requests. What can be said from them is said with
its window and weighting, and the rest is named.

This is no trace: `detect.statistics_in` tells, before a trace is read, and `observe` reads. Where
a trace is wanted, FORMAT refuses with what to do instead.
"""

from collections.abc import Sequence
from typing import NoReturn

from hitpath.core import InputError
from hitpath.traces.engine_logs.lines import is_engine_log
from hitpath.traces.engine_logs.quantities import QUANTITIES, Quantity
from hitpath.traces.engine_logs.reader import observe
from hitpath.traces.engine_logs.records import Fact, Observation, Observed, Point, Window
from hitpath.traces.rows import TraceBuilder
from hitpath.traces.sources import Format, Input, ReadOptions

__all__ = [
    "FORMAT",
    "QUANTITIES",
    "Fact",
    "Observation",
    "Observed",
    "Point",
    "Quantity",
    "Window",
    "is_engine_log",
    "observe",
]


def _never(value: object) -> bool:
    """The format is text: no JSON value is of it."""
    return False


def _refuse(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> NoReturn:
    cause = (
        "an engine's log or metrics: statistics, no requests. `hitpath analyze` with this file "
        "alone (in Python hitpath.observe) says what they tell"
    )
    raise InputError(inputs[0].name, "", cause)


FORMAT = Format("engine-statistics", "vLLM or SGLang log or /metrics", _never, _refuse)

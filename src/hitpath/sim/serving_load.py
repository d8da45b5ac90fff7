"""When requests are sent: from the trace's own times, at a rate, or each after the reply before it.

trace     the trace's arrivals, `scale` times as fast, or so that their mean rate is `rate_per_s`
poisson   independent arrivals at `rate_per_s`, in the trace's order; gaps from the seed alone
constant  every 1 / rate_per_s seconds
closed    of each session one request at a time: the next is sent `think_s` after the reply (where
          the load names none: what the trace itself waited). Sessions begin as the trace says, or
          as a Poisson process at `rate_per_s`; requests without a session begin one each.

Stages are steps of poisson or constant load, one behind the other: each takes the next requests
of the trace. With `drain` a stage begins when all requests of the one before have ended.
"""

from dataclasses import dataclass

import numpy as np

from hitpath.core import ABSENT, SettingError
from hitpath.sim.serving.records import Arrivals
from hitpath.sim.serving_file import Load, Stage
from hitpath.traces.table import Floats, Ints, Trace

_NO_CLOCK = "the trace has no arrival times of one clock; use --arrivals poisson --rate, or closed"
_NO_RATE = "needs --rate, requests a second"


@dataclass(frozen=True, slots=True)
class Sending:
    """rows [M]: which rows of the trace are sent, in this order; the rest has one entry each.

    time_s: seconds since the start (of its stage, where there are stages that drain), NaN for one
    that follows another. follows: the place among `rows` of the request whose end triggers it,
    ABSENT for none; think_s after that. stage: its number, ABSENT without stages. stage_length_s:
    one entry a stage, how long each lasts at least.
    """

    rows: Ints
    time_s: Floats
    follows: Ints
    think_s: Floats
    stage: Ints
    drain: bool
    stage_length_s: Floats
    notes: tuple[str, ...] = ()

    def arrivals(self) -> Arrivals:
        """As the kernel takes them."""
        length_s = self.stage_length_s if len(self.stage_length_s) else None
        return Arrivals(self.time_s, self.follows, self.think_s, self.stage, self.drain, length_s)


MOST_SECONDS = 1e9
"""A clock of float64 keeps tenths of a microsecond up to here."""


def plan_sending(trace: Trace, load: Load, seed: int) -> Sending:
    """Raises SettingError where the trace does not have what the load needs."""
    _check(load)
    sending = _planned(trace, load, seed)
    last = float(np.nanmax(sending.time_s, initial=0.0)) + float(sending.stage_length_s.sum())
    if last > MOST_SECONDS:
        cause = f"sends the last request after {last:.3g} s; the clock is fine enough up to 1e9 s"
        slow = "--scale" if load.scale is not None else "--rate"
        raise SettingError(f"{slow} {load.scale or load.rate_per_s or 1:g}", cause)
    return sending


def _planned(trace: Trace, load: Load, seed: int) -> Sending:
    rows = np.flatnonzero(trace.prompt_tokens > 0)
    notes = []
    if len(rows) < len(trace):
        notes.append(f"{len(trace) - len(rows):,} requests with an empty prompt are not sent")
    draws = np.random.Generator(np.random.PCG64(seed))
    if load.stages:
        return _staged(load, rows, draws, notes)
    if load.arrivals == "closed":
        return _closed(trace, load, rows, draws, notes)
    times = _times(trace, load, rows, draws)
    return _open(rows, times, np.full(len(rows), ABSENT, dtype=np.int64), np.zeros(0), False, notes)


def _check(load: Load) -> None:
    if load.scale is not None and load.rate_per_s is not None:
        raise SettingError("--scale", "and --rate are the same; give one")
    if load.scale is not None and load.arrivals not in ("trace", "closed"):
        raise SettingError(
            "--scale", f"is of the trace's times; --arrivals {load.arrivals} has a rate"
        )
    if load.think_s is not None and load.arrivals != "closed":
        raise SettingError("--think-s", "needs --arrivals closed")
    if not load.drain and not load.stages:
        raise SettingError("load.drain", "is of stages, and the load has none")
    if load.stages:
        if load.arrivals not in ("poisson", "constant"):
            raise SettingError(
                "load.stages", 'have rates: arrivals must be "poisson" or "constant"'
            )
        if load.rate_per_s is not None:
            raise SettingError("--rate", "the load has stages with rates of their own")
    elif load.arrivals in ("poisson", "constant") and load.rate_per_s is None:
        raise SettingError(f"--arrivals {load.arrivals}", _NO_RATE)


def _open(
    rows: Ints, times: Floats, stage: Ints, length_s: Floats, drain: bool, notes: list[str]
) -> Sending:
    nobody = np.full(len(rows), ABSENT, dtype=np.int64)
    return Sending(rows, times, nobody, np.zeros(len(rows)), stage, drain, length_s, tuple(notes))


def _times(trace: Trace, load: Load, rows: Ints, draws: np.random.Generator) -> Floats:
    """Of requests that do not wait for each other, from 0 on."""
    if load.arrivals == "trace":
        if not trace.common_clock:
            raise SettingError("--arrivals trace", _NO_CLOCK)
        return _scaled(trace.arrival_s[rows], load)
    assert load.rate_per_s is not None
    return _gaps(load.arrivals, load.rate_per_s, len(rows), draws)


def _scaled(arrival_s: Floats, load: Load) -> Floats:
    """The trace's own times from 0 on, faster or slower."""
    if not len(arrival_s):
        return arrival_s
    since: Floats = arrival_s - arrival_s.min()
    scale = load.scale or 1.0
    if load.rate_per_s is not None:
        span = float(since.max())
        if span <= 0:
            raise SettingError("--rate", "all requests arrive at one moment: no rate to scale")
        scale = load.rate_per_s * span / max(1, len(since) - 1)
    with np.errstate(over="ignore"):  # a time without end is refused by who takes it
        return since / scale


def _gaps(kind: str, rate_per_s: float, count: int, draws: np.random.Generator) -> Floats:
    """[count] times from 0: the first arrival is one gap after it."""
    if kind == "constant":
        return np.arange(count, dtype=np.float64) / rate_per_s
    return np.cumsum(draws.exponential(1 / rate_per_s, count))


def _staged(load: Load, rows: Ints, draws: np.random.Generator, notes: list[str]) -> Sending:
    parts, stages, lengths = [], [], []
    taken, begin_s = 0, 0.0
    for number, stage in enumerate(load.stages):
        times, length_s = _stage_times(number, stage, load.arrivals, draws, len(rows) - taken)
        taken += len(times)
        parts.append(times if load.drain else times + begin_s)
        stages.append(np.full(len(times), number, dtype=np.int64))
        begin_s += length_s
        lengths.append(length_s)
    if taken < len(rows):
        notes = [*notes, f"{len(rows) - taken:,} requests behind the last stage are not sent"]
    stage_of = np.concatenate(stages)
    return _open(
        rows[:taken], np.concatenate(parts), stage_of, np.array(lengths), load.drain, notes
    )


def _stage_times(
    number: int, stage: Stage, kind: str, draws: np.random.Generator, left: int
) -> tuple[Floats, float]:
    """(times from the stage's begin, its length in seconds)."""
    field = f"load.stages[{number}]"
    if (stage.requests is None) == (stage.duration_s is None):
        raise SettingError(field, "needs either requests or duration_s")
    if stage.requests is not None:
        if stage.requests > left:
            raise SettingError(field, f"asks for {stage.requests:,} requests, {left:,} are left")
        times = _gaps(kind, stage.rate_per_s, stage.requests, draws)
        return times, float(times[-1])
    assert stage.duration_s is not None
    times = _gaps(kind, stage.rate_per_s, left + 1, draws)
    count = int(np.searchsorted(times, stage.duration_s, side="left"))
    if count > left:
        cause = f"{stage.duration_s:g} s at {stage.rate_per_s:g}/s need more than the {left:,} left"
        raise SettingError(field, cause)
    return times[:count], stage.duration_s


def _closed(
    trace: Trace, load: Load, rows: Ints, draws: np.random.Generator, notes: list[str]
) -> Sending:
    if not trace.session.known:
        raise SettingError("--arrivals closed", "the trace names no sessions")
    follows = _followed(trace.session.codes[rows])
    first = follows == ABSENT
    times = np.full(len(rows), np.nan)
    if load.rate_per_s is not None:
        times[first] = _gaps("poisson", load.rate_per_s, int(first.sum()), draws)
    elif trace.common_clock:
        times[first] = _scaled(trace.arrival_s[rows[first]], load)
    else:
        cause = "the trace's sessions have no clock in common: needs --rate, sessions a second"
        raise SettingError("--arrivals closed", cause)
    stage = np.full(len(rows), ABSENT, dtype=np.int64)
    think = _thought_s(trace, load, rows, follows)
    return Sending(rows, times, follows, think, stage, False, np.zeros(0), tuple(notes))


def _followed(codes: Ints) -> Ints:
    """The place of each request's predecessor in its session, ABSENT for a first one."""
    follows = np.full(len(codes), ABSENT, dtype=np.int64)
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    same = (ordered[1:] == ordered[:-1]) & (ordered[1:] != ABSENT)
    follows[order[1:][same]] = order[:-1][same]
    return follows


def _thought_s(trace: Trace, load: Load, rows: Ints, follows: Ints) -> Floats:
    """Seconds between a reply and what follows it; 0 for those that follow nothing."""
    after = follows != ABSENT
    think = np.zeros(len(rows))
    if load.think_s is not None:
        think[after] = load.think_s
        return think
    waited = trace.arrival_s[rows[after]] - trace.finish_s[rows[follows[after]]]
    if not trace.has_times or np.any(np.isnan(waited)):
        cause = "the trace does not say when its replies ended: needs --think-s"
        raise SettingError("--arrivals closed", cause)
    think[after] = np.maximum(waited, 0.0) / (load.scale or 1.0)
    return think

"""The pictures of a simulated fleet: latencies, time, stages."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from hitpath.report.html.charts import (
    Layer,
    LogAxis,
    Plot,
    Point,
    Tick,
    area,
    line,
    rate_axis,
    time_ticks,
)
from hitpath.report.html.words import pct, short
from hitpath.report.text_parts import seconds
from hitpath.report.units import number, short_time
from hitpath.summary.serving import Served
from hitpath.summary.serving_records import ServingWindow, StagePart
from hitpath.traces.table import Floats

_STEPS = 101
_LEAST_S = 1e-6
_FAR = 10.0
"""Rates of stages that differ by more are drawn on a logarithmic axis."""
_ROOM = 3.0
"""Of a label on that axis, in percent of its width."""


def latency_plot(served: Served) -> Plot | None:
    """Share of served requests below each time, TTFT and E2E; None where all take none."""
    done = served.outcome.served
    series = {
        "hit": ("first token", served.outcome.ttft_s[done]),
        "mean": ("last token", served.outcome.e2e_s[done]),
    }
    every = np.concatenate([times for _, times in series.values()])
    every = every[every > _LEAST_S]
    if not len(every):
        return None
    axis = LogAxis(float(every.min()) * 0.9, float(every.max()) * 1.1)
    layers, points = [], []
    for css, (_, times) in series.items():
        places = _quantile_places(times, axis)
        layers.append(Layer(f"line {css}", line(places)))
        if css == "hit":
            points = [
                Point(x, y, f"{share:.0%} of requests: {short_time(value)}")
                for (x, y), share, value in zip(
                    places, np.linspace(0, 1, _STEPS), _quantiles(times), strict=True
                )
            ]
    ticks = tuple(Tick(100 - 25 * i, f"{25 * i}\u00a0%") for i in range(5))
    return Plot(
        key="latency",
        alt="Share of requests by the time to their first and to their last token.",
        x_title="seconds, logarithmic",
        y_title="share of requests",
        x_ticks=axis.ticks(),
        y_ticks=ticks,
        layers=tuple(layers),
        points=tuple(points),
        height=240,
        legend=tuple((css, name) for css, (name, _) in series.items()),
    )


def _quantiles(times: Floats) -> list[float]:
    return [float(v) for v in np.quantile(times, np.linspace(0, 1, _STEPS))]


def _quantile_places(times: Floats, axis: LogAxis) -> list[tuple[float, float]]:
    shares = np.linspace(0, 1, _STEPS)
    return [
        (axis.at(value), 100 - 100 * float(share))
        for value, share in zip(_quantiles(times), shares, strict=True)
    ]


def time_plots(windows: Sequence[ServingWindow]) -> tuple[Plot, ...]:
    """Hit rate and KV use, then TTFT p90, then waiting and running; none without windows. A line of
    requests' figures goes on over windows without requests: there is nothing to break it for."""
    if not windows:
        return ()
    begin = windows[0].begin_s
    span = windows[-1].end_s - begin
    places = [50 * (w.begin_s + w.end_s - 2 * begin) / span for w in windows]
    when = [f"+{seconds(w.begin_s - begin)}" for w in windows]
    ticks = time_ticks(span, True)
    shares = _share_plot(windows, places, when, ticks)
    times = _number_plot(
        "ttft",
        "TTFT p90 in seconds",
        {"hit": ("TTFT p90", [w.ttft_p90_s for w in windows])},
        places,
        when,
        ticks,
        short_time,
    )
    queues = _number_plot(
        "queue",
        "requests a worker",
        {
            "hit": ("running", [w.running for w in windows]),
            "rate": ("waiting", [w.waiting for w in windows]),
        },
        places,
        when,
        ticks,
        number,
    )
    return tuple(plot for plot in (shares, times, queues) if plot is not None)


def _share_plot(
    windows: Sequence[ServingWindow],
    places: Sequence[float],
    when: Sequence[str],
    ticks: tuple[Tick, ...],
) -> Plot | None:
    hits, uses = [w.hit_rate for w in windows], [w.kv_use for w in windows]
    known = [value for value in (*hits, *uses) if value is not None]
    if not known:
        return None
    top, y_ticks = rate_axis(max(known))

    def height(share: float | None) -> float | None:
        return None if share is None else 100 - 100 * share / top

    drawn = [(x, height(hit)) for x, hit in zip(places, hits, strict=True) if hit is not None]
    layers = [Layer("line hit", line(drawn))]
    legend = [("hit", "hit rate")]
    if any(use is not None for use in uses):
        used = [(x, height(value)) for x, value in zip(places, uses, strict=True)]
        layers.append(Layer("line mean", line(used)))
        legend.append(("mean", "KV in use"))
    points = tuple(
        Point(x, height(hit) or 100.0, f"{at}: hit rate {pct(hit)}, KV in use {pct(use)}")
        for x, at, hit, use in zip(places, when, hits, uses, strict=True)
    )
    return Plot(
        key="shares",
        alt="Hit rate and KV use over time.",
        x_title="virtual time since the first request",
        y_title="share",
        x_ticks=ticks,
        y_ticks=y_ticks,
        layers=tuple(layers),
        points=points,
        height=220,
        legend=tuple(legend),
    )


def _number_plot(
    key: str,
    title: str,
    series: dict[str, tuple[str, list[float | None]]],
    places: Sequence[float],
    when: Sequence[str],
    ticks: tuple[Tick, ...],
    shown: Callable[[float], str],
) -> Plot | None:
    """Lines of numbers from 0 on."""
    known = [v for _, values in series.values() for v in values if v is not None]
    highest = max(known, default=0.0)
    if not highest > 0:
        return None
    top, y_ticks = number_axis(highest)
    layers = []
    for css, (_, values) in series.items():
        drawn = [
            (x, None if v is None else 100 - 100 * v / top)
            for x, v in zip(places, values, strict=True)
        ]
        filled = [(x, y) for x, y in drawn if y is not None]
        if css == "hit" and len(filled) == len(drawn):  # no area over windows without a value
            layers.append(Layer("area hit", area(filled)))
        layers.append(Layer(f"line {css}", line(filled if key == "ttft" else drawn)))
    first = next(iter(series.values()))[1]
    points = []
    for i, (x, at) in enumerate(zip(places, when, strict=True)):
        told = ", ".join(
            f"{name} {'–' if (value := values[i]) is None else shown(value)}"
            for name, values in series.values()
        )
        y = first[i]
        points.append(Point(x, 100.0 if y is None else 100 - 100 * y / top, f"{at}: {told}"))
    return Plot(
        key=key,
        alt=f"{title} over time.",
        x_title="virtual time since the first request",
        y_title=title,
        x_ticks=ticks,
        y_ticks=y_ticks,
        layers=tuple(layers),
        points=tuple(points),
        height=180,
        legend=tuple((css, name) for css, (name, _) in series.items()),
    )


def number_axis(highest: float) -> tuple[float, tuple[Tick, ...]]:
    """(number at the top, ticks): four or five round steps from 0."""
    raw = highest / 4
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(s * unit for s in (1, 2, 2.5, 5, 10) if s * unit >= raw * (1 - 1e-9))
    steps = max(1, math.ceil(highest / step - 1e-9))
    top = steps * step
    return top, tuple(Tick(100 - 100 * i / steps, short(i * step)) for i in range(steps + 1))


def stage_plot(parts: Sequence[StagePart], rates: Sequence[float]) -> Plot | None:
    """TTFT p90 and mean of each stage against its rate, logarithmic upwards."""
    told = sorted(
        (rates[p.stage], p.part.latency.ttft_s.p90, p.part.latency.ttft_s.mean)
        for p in parts
        if p.part.latency.ttft_s.p90 and p.part.latency.ttft_s.mean
    )
    if len(told) < 2 or told[0][0] == told[-1][0]:
        return None
    times = [time for _, p90, mean in told for time in (p90, mean) if time is not None]
    up = LogAxis(min(times) / 1.3, max(times) * 1.3)
    at = _across(told[0][0], told[-1][0])
    series = {"hit": [(at(r), 100 - up.at(p or 0)) for r, p, _ in told],
              "mean": [(at(r), 100 - up.at(m or 0)) for r, _, m in told]}  # fmt: skip
    return Plot(
        key="stages",
        alt="Time to first token of each stage against its rate.",
        x_title="requests a second that the stage asks for"
        + (", logarithmic" if told[-1][0] > _FAR * told[0][0] else ""),
        y_title="TTFT in seconds, logarithmic",
        x_ticks=_rate_ticks([rate for rate, _, _ in told], at),
        y_ticks=tuple(Tick(100 - up.at(v), short(v)) for v in up.tick_values()),
        layers=tuple(Layer(f"line {css}", line(places)) for css, places in series.items()),
        points=tuple(
            Point(
                at(r),
                100 - up.at(p or 0),
                f"{r:g}/s: p90 {short_time(p or 0)}, mean {short_time(m or 0)}",
            )
            for r, p, m in told
        ),
        height=260,
        legend=(("hit", "p90"), ("mean", "mean")),
    )


def _across(low: float, high: float) -> Callable[[float], float]:
    """From a rate to its place from 0 to 100: logarithmic where the rates lie far apart."""
    if high > _FAR * low:
        return lambda rate: 100 * math.log(rate / low) / math.log(high / low)
    return lambda rate: 100 * (rate - low) / (high - low)


def _rate_ticks(rates: Sequence[float], at: Callable[[float], float]) -> tuple[Tick, ...]:
    """One a rate, where it has room behind the one before; every second one gives way on a narrow
    screen. The last is always there."""
    last = max(rates)
    kept: list[float] = []
    for rate in dict.fromkeys(rates):
        behind = not kept or at(rate) - at(kept[-1]) >= _ROOM
        if rate == last or (behind and at(last) - at(rate) >= _ROOM):
            kept.append(rate)
    return tuple(Tick(at(r), f"{r:g}", minor=i % 2 == 1) for i, r in enumerate(kept))

"""What must hold of the simulated figures beside the measured ones, as named checks.

Which rows are compared is decided by what was measured: with measured.csv these are the rows that
the numbers were fitted to; with the rows that were kept back they are a real test.
"""

from dataclasses import dataclass
from typing import NamedTuple

from llmd_73.measured import SUMMARY_OVER_ALL_RATES, Measured
from llmd_73.report import Medians, StageRow

SATURATED_FROM = {"random": 20, "load": 20, "estimated": 43, "precise": 0}
"""Rate from which a scheduler's TTFT is compared: below, `estimated` hangs on which single pod
happens to overload, and `random` and `load` on which groups happen to meet."""
OVERLOADED_S = 10.0


@dataclass(frozen=True, slots=True)
class Check:
    """`found`: the figures, in words."""

    name: str
    met: bool
    found: str


class Pair(NamedTuple):
    scheduler: str
    simulated: StageRow
    measured: Measured

    @property
    def place(self) -> str:
        return f"{self.scheduler} {self.simulated.rate:g}/s"

    def ratio(self, figure: str) -> float:
        """Simulated over measured; both records have the figure under one name."""
        return float(getattr(self.simulated, figure) / getattr(self.measured, figure))


def pairs_of(
    medians: dict[str, Medians], measured: dict[tuple[str, float], Measured]
) -> list[Pair]:
    """All stages that were simulated and measured."""
    return [
        Pair(name, row, measured[name, row.rate])
        for name, of in medians.items()
        for row in of.rows
        if (name, row.rate) in measured
    ]


def first_overloaded(medians: Medians) -> float | None:
    """The first stage with a TTFT p90 over 10 s."""
    over = [row.rate for row in medians.rows if row.ttft_p90_s > OVERLOADED_S]
    return over[0] if over else None


def checks(medians: dict[str, Medians], measured: dict[tuple[str, float], Measured]) -> list[Check]:
    """All criteria, in the order in which the task names them."""
    pairs = pairs_of(medians, measured)
    compared = [p for p in pairs if p.simulated.rate >= SATURATED_FROM[p.scheduler]]
    precise = [p for p in compared if p.scheduler == "precise"]
    others = [p for p in compared if p.scheduler != "precise"]
    first = first_overloaded(medians["estimated"])
    ratio = medians["estimated"].summary.ttft_p90_s / medians["precise"].summary.ttft_p90_s
    return [
        _share("output rate within 15 % in 90 % of the rows", pairs, "output_tokens_per_s", 15),
        _within("output rate of no row beyond 25 %", pairs, "output_tokens_per_s", 1.25, 0, True),
        _within(
            "TTFT p90 of precise within 1.5x in 7 of 8 rows",
            precise,
            "ttft_p90_s",
            1.5,
            len(precise) // 8,
        ),
        _within(
            "TTFT p90 within 1.5x: random and load saturated, estimated from 43/s",
            others,
            "ttft_p90_s",
            1.5,
        ),
        _within("TTFT mean of those within 1.3x", compared, "ttft_mean_s", 1.3),
        Check(
            "first stage of estimated with a TTFT p90 over 10 s between 35 and 46/s",
            first is not None and 35 <= first <= 46,
            "none" if first is None else f"{first:g}/s",
        ),
        Check(
            "estimated over precise, TTFT p90, between 40 and 90", 40 <= ratio <= 90, f"{ratio:.1f}"
        ),
        *_state_checks(medians),
    ]


def _share(name: str, pairs: list[Pair], figure: str, percent: int) -> Check:
    outside = [p for p in pairs if abs(p.ratio(figure) - 1) > percent / 100]
    found = f"{len(pairs) - len(outside)} of {len(pairs)}"
    listed = ", ".join(f"{p.place} {p.ratio(figure) - 1:+.0%}" for p in outside)
    return Check(name, len(outside) <= 0.1 * len(pairs), found + (f"; {listed}" if listed else ""))


def _within(
    name: str,
    pairs: list[Pair],
    figure: str,
    factor: float,
    allowed: int = 0,
    as_share: bool = False,
) -> Check:
    def off(pair: Pair) -> bool:
        ratio = pair.ratio(figure)
        return abs(ratio - 1) > factor - 1 if as_share else not 1 / factor <= ratio <= factor

    outside = [p for p in pairs if off(p)]
    worst = max(pairs, key=lambda p: max(p.ratio(figure), 1 / p.ratio(figure)))
    found = f"worst {worst.place} {worst.ratio(figure):.2f}x"
    if outside:
        listed = ", ".join(f"{p.place} {p.ratio(figure):.2f}x" for p in outside)
        found = f"outside: {listed}"
    return Check(name, len(outside) <= allowed, found)


def _state_checks(medians: dict[str, Medians]) -> list[Check]:
    """Queue and KV use, against the report's summary over all rates."""
    found = []
    for name, of in medians.items():
        queue = SUMMARY_OVER_ALL_RATES[name][3]
        ours = of.summary.queue_mean
        near = ours < 1 if name == "precise" else abs(ours / queue - 1) <= 0.25
        rule = "under 1" if name == "precise" else "within 25 %"
        found.append(Check(f"mean queue of {name} {rule}", near, f"{ours:.2f}, measured {queue}"))
    for name, of in medians.items():
        kv_percent = SUMMARY_OVER_ALL_RATES[name][4]
        ours = 100 * of.summary.kv_use_mean
        found.append(
            Check(
                f"mean KV use of {name} within 5 points",
                abs(ours - kv_percent) <= 5,
                f"{ours:.1f} %, measured {kv_percent} %",
            )
        )
    return found

"""What `hitpath.simulate`, `hitpath.sweep` and `hitpath.size` give, and how they take a fleet."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hitpath.core import Setting, SettingError
from hitpath.report.arguments import Place, place_of
from hitpath.report.arrow import table_of
from hitpath.report.html.serving import render_serving
from hitpath.report.simulate_document import simulation_document
from hitpath.report.simulate_ledger import simulation_ledger
from hitpath.report.simulate_size import size_document
from hitpath.report.simulate_sweep import sweep_document, sweep_rows
from hitpath.serving_spine import Simulation, servable, simulate_trace
from hitpath.serving_spine.size import DEFAULT_ROUTERS, Sizing, find_size
from hitpath.serving_spine.sweep import AXES, Sweep, parse_axes, run_sweep
from hitpath.sim.serving_file import FleetFile, fleet_of, read_fleet
from hitpath.sim.serving_places import Said, naming
from hitpath.sim.serving_plan import put_over
from hitpath.traces.table import Trace

if TYPE_CHECKING:
    from pyarrow import Table

Fleet = Place | Mapping[str, Any]
"""A fleet file's name, or what stands in one, as nested mappings."""

_FIELDS: Mapping[str, str] = {
    "workers": "worker.count",
    "router": "router.name",
    **{
        name: f"worker.{name}"
        for name in (
            "model", "hardware", "tp", "weights", "kv_dtype", "efficiency", "fit", "mla",
            "engine", "capacity_tokens", "unlimited", "memory_frac", "block_size",
            "max_batch_tokens", "max_running", "step_s", "token_s",
        )
    },
    "arrivals": "load.arrivals",
    "scale": "load.scale",
    "rate": "load.rate_per_s",
    "think_s": "load.think_s",
    "output_tokens": "load.output_tokens",
    "scrape_interval_s": "router.scrape_interval_s",
    "scrape_age_s": "router.scrape_age_s",
    "index_lag": "router.index_lag_s",
    "index_loss": "router.index_loss_frac",
    "max_in_flight": "router.max_in_flight",
    "outputs": "outputs",
    "slo": "slo",
    "seed": "seed",
    "gpu_hour": "gpu_hour_usd",
}  # fmt: skip
"""Name of an option -> the fleet file's field."""


def fleet_with(fleet: Fleet | None, options: Mapping[str, Any]) -> FleetFile:
    """The fleet with options over it. Raises InputError for a file that is none, SettingError for
    an option that is none or out of range."""
    return _fleet_and_places(fleet, options)[0]


def _fleet_and_places(
    fleet: Fleet | None, options: Mapping[str, Any], *typed: str
) -> tuple[FleetFile, Said]:
    """The same, and where its fields were said. typed: fields that are tried besides."""
    flags = {}
    for name, value in options.items():
        if name not in _FIELDS:
            raise SettingError(name, f"not one of {', '.join(_FIELDS)}")
        if value is not None:
            flags[_FIELDS[name]] = value
    path: str | None = None
    if fleet is None:
        file = FleetFile()
    elif isinstance(fleet, Mapping):
        file, path = fleet_of(fleet, "fleet"), "fleet"
    else:
        path = place_of("fleet", fleet)
        file = read_fleet(path)
    return put_over(file, flags), Said(path, file, {*flags, *typed})


@dataclass(frozen=True, repr=False)
class Simulated:
    """One simulated run. Counts are tokens, rates 0 to 1, times seconds; None is "there is none".

    `simulation` is the whole record behind the reports; its fields are not pinned.
    """

    simulation: Simulation

    @staticmethod
    def of(trace: Trace, reading: Setting, fleet: Fleet | None, **options: Any) -> "Simulated":
        """Serve a trace. Raises HitpathError."""
        file, said = _fleet_and_places(fleet, options)
        with naming(said):
            return Simulated(simulate_trace(servable(trace, reading), reading, file))

    def __repr__(self) -> str:
        p90, rate = self.latency["ttft_s"]["p90"], self.hit_rate
        ttft = "nothing served" if p90 is None else f"TTFT p90 {p90:.4g} s"
        hit = "no hit rate" if rate is None else f"{rate:.2%} hit"
        return f"Simulated({ttft}, {hit}, {self.document['requests']['num_sent']:,} requests)"

    @property
    def hit_rate(self) -> float | None:
        """Token-weighted, of the admitted requests."""
        return self.simulation.serving.whole.hit_rate

    @property
    def latency(self) -> dict[str, dict[str, float | None]]:
        """`ttft_s`, `tpot_s`, `e2e_s`, each with `mean`, `p50`, `p90`, `p99`."""
        return dict(self.document["latency"])

    @cached_property
    def document(self) -> dict[str, Any]:
        """What `--json` writes (docs/json-output.md)."""
        return simulation_document(self.simulation)

    @property
    def ledger(self) -> "Table":
        """One row a request that was sent: the columns of `--ledger` and its times."""
        table: Table = simulation_ledger(self.simulation)
        return table

    @property
    def workers(self) -> "Table":
        """One row a worker: `name`, `num_sent`, `hit_rate`, `ttft_p90_s`, `queue_mean`,
        `kv_use_mean`, `busy_frac`, `evicted_tokens`."""
        rows = [
            {
                "name": worker["name"],
                "num_sent": worker["num_sent"],
                "hit_rate": worker["hit_rate"],
                "ttft_p90_s": worker["latency"]["ttft_s"]["p90"],
                "queue_mean": worker["queue"]["mean"],
                "kv_use_mean": worker["kv_use"]["mean"],
                "busy_frac": worker["busy_frac"],
                "evicted_tokens": worker["evicted_tokens"],
            }
            for worker in self.document["per_worker"]
        ]
        numbers = dict.fromkeys(
            ("hit_rate", "ttft_p90_s", "queue_mean", "kv_use_mean", "busy_frac"), "float64"
        )
        counts = dict.fromkeys(("num_sent", "evicted_tokens"), "int64")
        return table_of(rows, {"name": "string", **counts, **numbers})

    def html(self) -> str:
        """The page of `--html`."""
        return render_serving(self.simulation, "hitpath.simulate(...)").decode()


@dataclass(frozen=True, repr=False)
class Swept:
    """A grid of simulated fleets. `sweep` is the whole record; its fields are not pinned."""

    sweep: Sweep

    @staticmethod
    def of(
        trace: Trace,
        reading: Setting,
        fleet: Fleet | None,
        axes: Mapping[str, Any],
        objective: str | None,
        **options: Any,
    ) -> "Swept":
        """axes: name -> values. Raises HitpathError."""
        typed = [
            f"{name}={','.join(map(str, values))}" if not isinstance(values, str) else
            f"{name}={values}"
            for name, values in axes.items()
        ]  # fmt: skip
        parsed = parse_axes(typed)
        file, said = _fleet_and_places(fleet, options, *(AXES[axis.name] for axis in parsed))
        with naming(said):
            return Swept(run_sweep(servable(trace, reading), reading, file, parsed, objective))

    def __repr__(self) -> str:
        return f"Swept({len(self.sweep.cells)} cells, best by {self.sweep.objective}: {self.best})"

    @property
    def best(self) -> dict[str, str] | None:
        """The axes' values of the best cell."""
        found = self.sweep.best
        return None if found is None else dict(found.at)

    @property
    def cells(self) -> "Table":
        """One row a cell: the axes as text, figures, `regret`, `clairvoyant_regret`."""
        return table_of(*sweep_rows(self.sweep))

    @cached_property
    def document(self) -> dict[str, Any]:
        """What `--json` writes."""
        return sweep_document(self.sweep)


@dataclass(frozen=True, repr=False)
class Sized:
    """The smallest fleet that keeps an SLO. `sizing` is the whole record; its fields are not
    pinned. workers, router: None where no fleet that was tried keeps it."""

    sizing: Sizing

    @staticmethod
    def of(
        trace: Trace,
        reading: Setting,
        fleet: Fleet | None,
        routers: tuple[str, ...] | None,
        max_workers: int,
        **options: Any,
    ) -> "Sized":
        """routers: None for seven of them. Raises HitpathError."""
        file, said = _fleet_and_places(fleet, options, *(("router.name",) if routers else ()))
        made = servable(trace, reading)
        with naming(said):
            return Sized(find_size(made, reading, file, routers or DEFAULT_ROUTERS, max_workers))

    def __repr__(self) -> str:
        return f"Sized({self.workers} workers with {self.router}, {len(self.sizing.tried)} tried)"

    @property
    def workers(self) -> int | None:
        return None if self.sizing.best is None else self.sizing.best.workers

    @property
    def router(self) -> str | None:
        return None if self.sizing.best is None else self.sizing.best.router

    @cached_property
    def document(self) -> dict[str, Any]:
        """What `--json` writes."""
        return size_document(self.sizing)

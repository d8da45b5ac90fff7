"""`hitpath simulate` and `hitpath size`: read, run, write every file, then print the page."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hitpath.core import Setting, SettingError, one_line
from hitpath.report.html.serving import render_serving
from hitpath.report.output import is_stdout, write_whole
from hitpath.report.pages import print_page, write_json
from hitpath.report.run import announce_compilation, check_outputs, shown_progress
from hitpath.report.simulate_document import simulation_document
from hitpath.report.simulate_ledger import write_simulation_ledger
from hitpath.report.simulate_perfetto import timeline_of, write_perfetto
from hitpath.report.simulate_plots import simulation_svg, sweep_svg
from hitpath.report.simulate_size import print_size, size_document
from hitpath.report.simulate_sweep import sweep_document, sweep_writer
from hitpath.report.simulate_sweep_terminal import print_sweep
from hitpath.report.simulate_terminal import print_simulation
from hitpath.report.text_parts import Page
from hitpath.serving_spine import Simulation, read_for_serving, simulate_trace
from hitpath.serving_spine.size import DEFAULT_ROUTERS, find_size
from hitpath.serving_spine.sweep import AXES, MOST_THREADS, Axis, Sweep, parse_axes, run_sweep
from hitpath.sim.serving_file import FleetFile, read_fleet
from hitpath.sim.serving_places import Said, naming
from hitpath.sim.serving_plan import put_over


@dataclass(frozen=True, slots=True)
class SimulateJob:
    """One command. fleet: the file, None for options alone; flags: what was typed over it, by
    field of the file. Files None for none, `-` for standard output. sweep: axes as typed."""

    traces: list[str]
    fleet: str | None
    flags: Mapping[str, Any]
    tokenizer: str | None = None
    split_models: bool = False
    mapping: Sequence[str] = ()
    skip_bad_rows: bool = False
    json: str | None = None
    ledger: str | None = None
    html: str | None = None
    perfetto: str | None = None
    svg: str | None = None
    table: str | None = None
    sweep: Sequence[str] = ()
    objective: str | None = None
    threads: int | None = None
    command: str = ""
    routers: Sequence[str] = field(default=())
    most_workers: int = 64

    def files(self) -> list[str]:
        """Every output that was asked for."""
        every = (self.json, self.ledger, self.html, self.perfetto, self.svg, self.table)
        return [path for path in every if path is not None]

    def setting(self) -> Setting:
        """How the trace is read."""
        return Setting(tokenizer=self.tokenizer, split_models=self.split_models)

    def fleet_file(self, axes: Sequence[Axis] = ()) -> tuple[FleetFile, Said]:
        """The file with the options over it, and where its fields were said: those of axes and of
        the routers to try are typed too. Raises HitpathError."""
        file = FleetFile() if self.fleet is None else read_fleet(self.fleet)
        typed = {*self.flags, *(AXES[axis.name] for axis in axes)}
        typed |= {"router.name"} if self.routers else set()
        said = Said(self.fleet, file, typed)
        with naming(said):
            return put_over(file, self.flags), said

    def check(self) -> None:
        """Raise OutputError or SettingError before anything is read."""
        read = (self.flags.get(f"worker.{name}") for name in ("model", "hardware", "fit"))
        check_outputs(self.files(), self.traces, self.tokenizer, (self.fleet, *read))
        if not self.traces:
            raise SettingError("--trace", "needed: what is to be served")
        one_run = {"--ledger": self.ledger, "--html": self.html, "--perfetto": self.perfetto}
        if self.threads is not None and not 1 <= self.threads <= MOST_THREADS:
            cause = f"is not from 1 to {MOST_THREADS:,}"
            raise SettingError(f"--threads {self.threads}", cause)
        if self.sweep:
            for option, path in one_run.items():
                if path is not None:
                    raise SettingError(option, "is of one run; leave out --sweep")
            if self.table is not None:
                sweep_writer(self.table)
        else:
            of_sweeps = {
                "--table": self.table,
                "--objective": self.objective,
                "--threads": self.threads,
            }
            for option, value in of_sweeps.items():
                if value is not None:
                    raise SettingError(option, "needs --sweep")

    def page_wanted(self) -> bool:
        """Not where standard output is taken."""
        return not any(map(is_stdout, self.files()))


def run_simulate(job: SimulateJob) -> None:
    """One run, or a grid of them with `sweep`. Raises HitpathError."""
    job.check()
    axes = parse_axes(job.sweep)
    file, said = job.fleet_file(axes)
    announce_compilation("hitpath.sim.serving", 30)
    if axes:
        write_sweep(job, _swept(job, file, axes, said), page=True)
        return
    with shown_progress() as progress:
        trace = _read(job, progress)
        with naming(said):
            simulation = simulate_trace(trace, job.setting(), file, progress)
    write_simulation(job, simulation)


def _swept(job: SimulateJob, file: FleetFile, axes: tuple[Axis, ...], said: Said) -> Sweep:
    """The whole grid; what an interrupt leaves is written and told."""

    def keep(done: Sweep) -> None:
        write_sweep(job, done, page=False)
        if sys.stderr is not None:
            print(_interrupted(job, done), file=sys.stderr, flush=True)

    with shown_progress() as progress:
        trace = _read(job, progress)
        with naming(said):
            return run_sweep(
                trace,
                job.setting(),
                file,
                axes,
                job.objective,
                num_threads=job.threads,
                progress=progress,
                interrupted=keep,
            )


def _read(job: SimulateJob, progress: Any) -> Any:
    return read_for_serving(
        job.traces,
        job.setting(),
        skip_bad_rows=job.skip_bad_rows,
        mapping=job.mapping,
        progress=progress,
    )


def write_simulation(job: SimulateJob, simulation: Simulation) -> None:
    """All files whole, then the page."""
    if job.html is not None:
        html = render_serving(simulation, job.command) + b"\n"
        write_whole(job.html, lambda out: _write(out, html))
    if job.json is not None:
        write_json(job.json, simulation_document(simulation))
    if job.ledger is not None:
        write_whole(job.ledger, lambda out: write_simulation_ledger(simulation, out))
    if job.perfetto is not None:
        timeline = timeline_of(simulation)
        write_whole(job.perfetto, lambda out: write_perfetto(timeline, job.command, out))
    if job.svg is not None:
        svg = simulation_svg(simulation).encode() + b"\n"
        write_whole(job.svg, lambda out: _write(out, svg))
    if job.page_wanted():
        _print(lambda page: print_simulation(simulation, page))


def write_sweep(job: SimulateJob, sweep: Sweep, page: bool) -> None:
    """All files whole, then the page."""
    if job.json is not None:
        write_json(job.json, sweep_document(sweep))
    if job.table is not None:
        write = sweep_writer(job.table)
        write_whole(job.table, lambda out: write(sweep, out))
    if job.svg is not None and sweep.cells:
        svg = sweep_svg(sweep).encode() + b"\n"
        write_whole(job.svg, lambda out: _write(out, svg))
    if page and job.page_wanted():
        _print(lambda out: print_sweep(sweep, out))


def _interrupted(job: SimulateJob, sweep: Sweep) -> str:
    """How far it came, and where that stands."""
    files = [path for path in (job.json, job.table) if path is not None]
    files += [job.svg] if job.svg is not None and sweep.cells else []
    names = " ".join("standard output" if is_stdout(path) else path for path in files)
    where = f"written to {names}" if files else "no file was asked for"
    cells = f"{len(sweep.cells):,} of {sweep.num_cells:,} cells"
    return f"hitpath: {cells}, {one_line(where)}"


def run_size(job: SimulateJob) -> None:
    """The smallest fleet that keeps the SLO. Raises HitpathError."""
    job.check()
    file, said = job.fleet_file()
    announce_compilation("hitpath.sim.serving", 30)
    with shown_progress() as progress:
        trace = _read(job, progress)
        with naming(said):
            sizing = find_size(
                trace,
                job.setting(),
                file,
                tuple(job.routers) or DEFAULT_ROUTERS,
                job.most_workers,
                progress,
            )
    if job.json is not None:
        write_json(job.json, size_document(sizing))
    if job.page_wanted():
        _print(lambda page: print_size(sizing, page))


def _print(show: Any) -> None:
    def shown(page: Page) -> None:
        show(page)

    print_page(shown)


def _write(out: Any, content: bytes) -> None:
    out.write(content)

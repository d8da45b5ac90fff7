"""The experiment behind "57x faster response": four schedulers on the same eight pods.

$ python examples/llmd_73_capacity.py              all runs, the summary and every criterion
$ python examples/llmd_73_capacity.py --rows       and every stage beside what was measured
$ python examples/llmd_73_capacity.py --measured FILE    other measured rows, of the same columns
$ python examples/llmd_73_capacity.py --fit        choose the five fitted numbers anew
$ python examples/llmd_73_capacity.py --docs       write the tables and plots of docs/57x.md
$ python examples/llmd_73_capacity.py --trace FILE the load as a trace that hitpath reads

Settings: llmd_73_capacity.toml. What the figures mean, and what does not fit: docs/57x.md.
"""

import argparse
import sys
import time
from pathlib import Path

import msgspec
from llmd_73.ablations import run_others, run_variants
from llmd_73.fit import fit
from llmd_73.judge import checks
from llmd_73.ladder import ladder_of
from llmd_73.measured import FILE, SUMMARY_OVER_ALL_RATES, Measured, read_measured
from llmd_73.report import Medians
from llmd_73.settings import Experiment, Fitted, load_experiment
from llmd_73.simulate import run_all, run_scheduler
from llmd_73.workload import write_trace

from llmd_73 import pages

DOCS = Path(__file__).resolve().parents[1] / "docs"

MeasuredRows = dict[tuple[str, float], Measured]


def main() -> int:
    """With --check exit code 1 where a criterion is not met."""
    options = _options()
    experiment, measured = load_experiment(), read_measured(options.measured)
    if options.fit:
        return _fit(experiment, measured, options.fit_seeds, options.fit_steps)
    if options.trace:
        run = run_scheduler(experiment, "precise", 0, measured)
        write_trace(options.trace, run.workload, run.outcome.stage_start_s)
        return 0
    begun = time.perf_counter()
    medians = run_all(experiment, measured, options.seeds, num_threads=options.threads)
    took_s = time.perf_counter() - begun
    _print_summary(medians)
    if options.rows:
        print("\n" + pages.rows_table(medians, measured))
    found = checks(medians, measured)
    print()
    for check in found:
        print(f"{'met    ' if check.met else 'NOT MET'}  {check.name}: {check.found}")
    runs = options.seeds * len(medians)
    print(f"\n{runs} runs in {took_s:.1f} s on {options.threads} threads")
    if options.docs:
        _write_docs(experiment, measured, medians, options.threads)
    return 1 if options.check and not all(check.met for check in found) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measured", type=Path, default=FILE, help="measured rows, as CSV")
    parser.add_argument("--seeds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rows", action="store_true", help="print every stage")
    parser.add_argument("--check", action="store_true", help="exit code 1 where one is not met")
    parser.add_argument("--fit", action="store_true", help="choose the fitted numbers anew")
    parser.add_argument("--fit-seeds", type=int, default=5)
    parser.add_argument("--fit-steps", type=int, default=60)
    parser.add_argument("--docs", action="store_true", help="write tables and plots of docs/57x.md")
    parser.add_argument("--trace", type=Path, help="write the load as a hitpath trace")
    return parser.parse_args()


def _print_summary(medians: dict[str, Medians]) -> None:
    """The report's summary, simulated and (measured)."""
    print(f"{'':10}{'output tokens/s':>20}{'TTFT p90, s':>20}{'TTFT mean, s':>20}", end="")
    print(f"{'queue':>16}{'KV use, %':>16}{'hit rate':>10}")
    for name, of in medians.items():
        ours, theirs = of.summary, SUMMARY_OVER_ALL_RATES[name]
        figures = (
            (ours.output_tokens_per_s, 0, 20),
            (ours.ttft_p90_s, 3, 20),
            (ours.ttft_mean_s, 3, 20),
            (ours.queue_mean, 1, 16),
            (100 * ours.kv_use_mean, 1, 16),
        )
        cells = [
            f"{value:.{digits}f} ({measured:.{digits}f})".rjust(width)
            for (value, digits, width), measured in zip(figures, theirs, strict=True)
        ]
        print(f"{name:10}{''.join(cells)}{ours.hit_rate:>10.1%}")


def _fit(experiment: Experiment, measured: MeasuredRows, num_seeds: int, num_steps: int) -> int:
    def told(step: int, loss: float, fitted: Fitted) -> None:
        numbers = ", ".join(f"{k} {v:g}" for k, v in msgspec.structs.asdict(fitted).items())
        print(f"step {step}: loss {loss:.3f} with {numbers}", flush=True)

    best = fit(experiment, measured, num_seeds=num_seeds, num_steps=num_steps, told=told)
    print("\n[fitted]")
    for name, value in msgspec.structs.asdict(best).items():
        print(f"{name} = {value:g}")
    return 0


def _write_docs(
    experiment: Experiment, measured: MeasuredRows, medians: dict[str, Medians], num_threads: int
) -> None:
    runs = {name: run_scheduler(experiment, name, 0, measured) for name in medians}
    ladders = {name: ladder_of(run) for name, run in runs.items()}
    by_stage = {
        name: {
            float(stage.rate): ladder_of(run, number)
            for number, stage in enumerate(experiment.load.stages, start=1)
        }
        for name, run in runs.items()
    }
    changed = run_variants(experiment, measured, 3, num_threads)
    pages.fill_in(
        DOCS / "57x.md",
        {
            "summary": pages.summary_table(medians),
            "checks": pages.checks_table(checks(medians, measured)),
            "ladder": pages.ladder_table(ladders),
            "stages": pages.stage_ladders_table(by_stage),
            "others": pages.others_table(run_others(experiment, measured, 3, num_threads)),
            "seeds": pages.seeds_table(medians["estimated"]),
            "ablations": pages.ablations_table(changed),
            "rows": pages.rows_table(medians, measured),
        },
    )
    for name, svg in (
        ("ttft", pages.ttft_plot(medians, measured)),
        ("output", pages.output_plot(medians, measured)),
        ("hits", pages.hit_plot(medians)),
        ("ladder", pages.ladder_plot(ladders)),
        ("seeds", pages.seeds_plot(medians["estimated"])),
    ):
        (DOCS / f"57x-{name}.svg").write_text(svg, "utf-8")


if __name__ == "__main__":
    sys.exit(main())

"""A grid of simulated fleets: JSON, a table as CSV or Parquet."""

import csv
import io
from collections.abc import Callable
from dataclasses import asdict
from typing import IO, Any

from hitpath.core import SettingError
from hitpath.report.arrow import table_of
from hitpath.report.simulate_document import fleet_part, goodput_part
from hitpath.report.simulate_words import workload_of
from hitpath.serving_spine.cells import Cell
from hitpath.serving_spine.sweep import Sweep

SCHEMA = "hitpath.sweep/1"


def sweep_document(sweep: Sweep) -> dict[str, Any]:
    """The whole grid; `complete` is false where it was interrupted."""
    best = sweep.best
    prepared = sweep.prepared
    return {
        "schema": SCHEMA,
        "complete": sweep.complete,
        "num_cells": sweep.num_cells,
        "axes": [{"axis": axis.name, "values": list(axis.values)} for axis in sweep.axes],
        "objective": sweep.objective,
        "best": None if best is None else dict(best.at),
        "fleet": fleet_part(prepared.plan),
        "workload": workload_of(prepared),
        "cells": [_cell(sweep, cell) for cell in sweep.cells],
        "warnings": list(sweep.notes),
    }


def _cell(sweep: Sweep, cell: Cell) -> dict[str, Any]:
    return {
        "at": dict(cell.at),
        "num_sent": cell.num_sent,
        "num_served": cell.num_served,
        "num_preemptions": cell.num_preemptions,
        "prompt_tokens": cell.prompt_tokens,
        "hit_tokens": cell.hit_tokens,
        "hit_rate": cell.hit_rate,
        "clairvoyant_hit_tokens": cell.clairvoyant_tokens,
        "clairvoyant_hit_rate": cell.clairvoyant_rate,
        "latency": asdict(cell.latency),
        "throughput": asdict(cell.throughput),
        "goodput": goodput_part(cell.goodput),
        "queue": asdict(cell.queue),
        "kv_use": asdict(cell.kv_use),
        "regret": sweep.regret(cell),
        "clairvoyant_regret": sweep.hit_regret(cell),
    }


_COUNTS = ("num_sent", "num_served", "num_preemptions", "prompt_tokens", "hit_tokens")
_RATES = (
    "hit_rate",
    "clairvoyant_hit_rate",
    "ttft_mean_s",
    "ttft_p50_s",
    "ttft_p90_s",
    "ttft_p99_s",
    "tpot_mean_s",
    "tpot_p90_s",
    "e2e_p90_s",
    "output_tokens_per_s",
    "requests_per_s",
    "goodput_per_s",
    "queue_mean",
    "kv_use_mean",
    "regret",
    "clairvoyant_regret",
)


def sweep_rows(sweep: Sweep) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """(flat rows, types by column): the axes as typed, then the figures."""
    axes = [axis.name for axis in sweep.axes]
    types = dict.fromkeys(axes, "string") | dict.fromkeys(_COUNTS, "int64")
    types |= dict.fromkeys(_RATES, "float64") | {"slo_met": "bool"}
    return [_row(sweep, cell) for cell in sweep.cells], types


def _row(sweep: Sweep, cell: Cell) -> dict[str, Any]:
    latency, goodput = cell.latency, cell.goodput
    return {
        **cell.at,
        **{name: getattr(cell, name) for name in _COUNTS},
        "hit_rate": cell.hit_rate,
        "clairvoyant_hit_rate": cell.clairvoyant_rate,
        "ttft_mean_s": latency.ttft_s.mean,
        "ttft_p50_s": latency.ttft_s.p50,
        "ttft_p90_s": latency.ttft_s.p90,
        "ttft_p99_s": latency.ttft_s.p99,
        "tpot_mean_s": latency.tpot_s.mean,
        "tpot_p90_s": latency.tpot_s.p90,
        "e2e_p90_s": latency.e2e_s.p90,
        **asdict(cell.throughput),
        "goodput_per_s": None if goodput is None else goodput.per_s,
        "queue_mean": cell.queue.mean,
        "kv_use_mean": cell.kv_use.mean,
        "regret": sweep.regret(cell),
        "clairvoyant_regret": sweep.hit_regret(cell),
        "slo_met": None if goodput is None else goodput.met,
    }


def sweep_writer(path: str) -> Callable[[Sweep, IO[bytes]], None]:
    """By the file's ending. Raises SettingError for another."""
    if path.endswith(".csv"):
        return _write_csv
    if path.endswith(".parquet"):
        return _write_parquet
    raise SettingError(f"--table {path}", "ends neither in .csv nor in .parquet")


def _write_csv(sweep: Sweep, file: IO[bytes]) -> None:
    rows, types = sweep_rows(sweep)
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(types), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    file.write(text.getvalue().encode())


def _write_parquet(sweep: Sweep, file: IO[bytes]) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table_of(*sweep_rows(sweep)), file, compression="zstd")

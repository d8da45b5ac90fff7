"""The measured rows: half of the report's rates. The other half is kept back for judging."""

import csv
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("measured.csv")

SUMMARY_OVER_ALL_RATES = {
    "precise": (8730.0, 0.542, 0.298, 0.1, 59.3),
    "estimated": (6944.4, 31.083, 13.316, 8.1, 66.2),
    "random": (4428.7, 92.551, 45.281, 27.3, 59.0),
    "load": (4266.4, 94.865, 46.987, 28.9, 54.3),
}
"""The report's table: output tokens/s, TTFT p90 and mean in s, mean waiting queue, mean KV use in
per cent. Nothing is fitted to it."""


class Measured(NamedTuple):
    """One row of the report: a stage under a scheduler."""

    offered_qps: float
    scheduler: str
    output_tokens_per_s: float
    requests_per_s: float
    ttft_p90_s: float
    ttft_mean_s: float
    itl_mean_s: float


def read_measured(path: Path = FILE) -> dict[tuple[str, float], Measured]:
    """(scheduler, offered rate) -> row. Another file, with other rates, may stand in its place."""
    rows: dict[tuple[str, float], Measured] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for fields in csv.DictReader(file):
            numbers = {name: float(v) for name, v in fields.items() if name != "scheduler"}
            row = Measured(scheduler=fields["scheduler"], **numbers)
            rows[row.scheduler, row.offered_qps] = row
    return rows

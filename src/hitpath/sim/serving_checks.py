"""What the parts of a fleet file must be to each other, and what a reader is told where one of them
changes nothing."""

from collections.abc import Sequence

from hitpath.routing.router import Router
from hitpath.sim.serving_file import FleetFile
from hitpath.sim.serving_places import FieldError

LEAST_SCRAPE_S = 1e-6
"""Between two looks at metrics; the true figures of the moment are 0."""


def check_parts(file: FleetFile) -> None:
    """Raise FieldError for a part that nothing in the file uses, and for a time that no run ends
    with."""
    if 0 < (file.router.scrape_interval_s or 0.0) < LEAST_SCRAPE_S:
        raise FieldError(
            "router.scrape_interval_s", f"is neither 0 nor from {LEAST_SCRAPE_S:g} s on"
        )
    if file.load_overlaps and file.host is None and file.remote is None:
        raise FieldError("load_overlaps", "is of [host] or [remote], and the fleet has neither")


def check_groups(file: FleetFile, groups: Sequence[tuple[str, int]], num_workers: int) -> None:
    """groups: (role, block size) of each. Raise FieldError where they do not go together."""
    _check_roles(file, [role for role, _ in groups])
    sizes = [size for _, size in groups]
    for number, size in enumerate(sizes):
        if size != sizes[0]:
            cause = f"{size:,} tokens, workers[0] {sizes[0]:,}: a fleet has one block size"
            raise FieldError(f"workers[{number}].block_size", cause)
    for number, change in enumerate(file.changes):
        if change.worker >= num_workers:
            there = "there is worker 0 only" if num_workers == 1 else f"0 to {num_workers - 1:,}"
            raise FieldError(f"changes[{number}].worker", f"{change.worker} is none: {there}")


def _check_roles(file: FleetFile, roles: Sequence[str]) -> None:
    parted = {role for role in roles if role != "both"}
    if not parted:
        if file.transfer is not None:
            cause = "no worker is for prefill or decode: nothing is handed over"
            raise FieldError("transfer", cause)
        return
    first = next(number for number, role in enumerate(roles) if role != "both")
    place = f"workers[{first}].role" if file.workers else "worker.role"
    if len(parted) == 1:
        missing = "decode" if "prefill" in parted else "prefill"
        raise FieldError(place, f"{roles[first]} workers need others for {missing}")
    if file.transfer is None:
        cause = "needed, with bytes_per_s: prefill workers hand the KV over to decode workers"
        raise FieldError("transfer", cause)


def notes_on(file: FleetFile, router: Router) -> list[str]:
    """What of the router's settings it never looks at."""
    part, notes = file.router, []
    if router.index.source != "resident":
        said = {"index_lag_s": part.index_lag_s, "index_loss_frac": part.index_loss_frac}
        for name in (name for name, value in said.items() if value):
            notes.append(f"router {router.name} follows no KV events: {name} changes nothing")
    if part.scrape_interval_s and not router.needs:
        notes.append(
            f"router {router.name} reads none of the engines' metrics: scrape_interval_s changes "
            "nothing"
        )
    return notes

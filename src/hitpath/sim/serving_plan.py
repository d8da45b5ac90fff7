"""From a fleet file to settings: every worker's rules, times and cache, with what they were taken
from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from hitpath.core import InputError, SettingError
from hitpath.cost.efficiency import IDEAL
from hitpath.cost.kv import has_constant_kv
from hitpath.cost.paths import Replica
from hitpath.sim.serving import records
from hitpath.sim.serving.records import FleetSettings, Role, WorkerGroup, WorkerSettings
from hitpath.sim.serving.step_time import StepModel
from hitpath.sim.serving_checks import check_groups, check_parts, notes_on
from hitpath.sim.serving_engines import EngineRules, engine_rules
from hitpath.sim.serving_file import FleetFile, Tier, Worker, fleet_of
from hitpath.sim.serving_hardware import (
    capacity_of,
    kv_bytes_per_token,
    replica_of_worker,
    steps_of,
)
from hitpath.sim.serving_places import field_errors, option_of
from hitpath.sim.serving_router import RouterPlan, plan_router, step_terms

DEFAULT_ENGINE = "vllm"
FIRST_SAMPLE_S = 2.0**-14
"""Doubled until there are 1,024 to 2,048 samples of a run."""


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """One group, everything told. capacity_from: "given", "memory" or "unlimited"; replica: None
    where steps have constant times."""

    name: str
    count: int
    role: Role
    engine: str
    settings: WorkerSettings
    capacity_from: str
    replica: Replica | None
    steps: StepModel
    kv_bytes_per_token: float | None

    @property
    def capacity_tokens(self) -> int | None:
        """Whole blocks of it; None is unlimited."""
        blocks = self.settings.capacity_blocks
        return None if blocks is None else blocks * self.settings.block_size


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """What the kernel gets, and what reports say of it."""

    settings: FleetSettings
    groups: tuple[GroupPlan, ...]
    router: RouterPlan
    notes: tuple[str, ...]

    @property
    def worker_names(self) -> tuple[str, ...]:
        """In the order of their numbers."""
        return tuple(f"worker {i}" for i in range(self.settings.num_workers))

    @property
    def num_gpus(self) -> int | None:
        """Of all workers; None where steps have constant times."""
        if any(group.replica is None for group in self.groups):
            return None
        return sum(g.count * g.replica.num_gpus for g in self.groups if g.replica is not None)


_RIVALS: Mapping[str, tuple[str, ...]] = {
    "worker.capacity_tokens": ("worker.unlimited", "worker.memory_frac"),
    "worker.unlimited": ("worker.capacity_tokens", "worker.memory_frac"),
    "worker.memory_frac": ("worker.capacity_tokens", "worker.unlimited"),
    "worker.model": ("worker.step_s", "worker.token_s"),
    "worker.hardware": ("worker.step_s", "worker.token_s"),
    "load.scale": ("load.rate_per_s",),
    "load.rate_per_s": ("load.scale",),
}
"""What a typed field takes the place of, where the file says it; a group's own, of `[worker]`."""


def put_over(file: FleetFile, flags: Mapping[str, Any]) -> FleetFile:
    """The file with what was typed over it, by field ("seed", "worker.tp", "load.scale"). What is
    typed for workers holds for every group. Raises SettingError."""
    replaced = {rival: None for name in flags for rival in _RIVALS.get(name, ())}
    parts: dict[str, dict[str, Any]] = {}
    for name, value in {**replaced, **flags}.items():
        part, _, field = name.rpartition(".")
        parts.setdefault(part, {})[field] = value
    changed: dict[str, Any] = parts.pop("", {})
    workers = parts.get("worker", {})
    if "count" in workers and len(file.workers) > 1:
        raise SettingError("--workers", f"the fleet has {len(file.workers)} groups")
    if workers:
        unsaid = dict.fromkeys(workers)
        changed["workers"] = tuple(msgspec.structs.replace(g, **unsaid) for g in file.workers)
    for part, fields in parts.items():
        changed[part] = msgspec.structs.replace(getattr(file, part), **fields)
    made = msgspec.to_builtins(msgspec.structs.replace(file, **changed))
    try:
        return fleet_of(made, "")
    except InputError as error:
        raise SettingError(option_of(error.field), error.cause) from error


def plan_fleet(file: FleetFile, own_block_size: int | None) -> FleetPlan:
    """own_block_size: of the trace's ids, None where it has tokens. Raises HitpathError."""
    notes: list[str] = []
    check_parts(file)
    groups = tuple(
        _group(file, number, own_block_size, notes) for number in range(len(file.workers) or 1)
    )
    num_workers = sum(group.count for group in groups)
    check_groups(file, [(group.role, group.settings.block_size) for group in groups], num_workers)
    first, host = groups[0], _tier("host", file.host, groups[0])
    load_s = 0.0 if host is None else host.link.s_per_token
    terms = [
        term
        for group in groups
        for term in [step_terms(group.steps, group.capacity_tokens, load_s)] * group.count
    ]
    router = plan_router(
        file.router.name, num_workers, file.seed, first.settings.block_size, own_block_size, terms
    )
    part = file.router
    settings = FleetSettings(
        workers=tuple(WorkerGroup(g.count, g.settings, g.steps, g.role) for g in groups),
        router=router.router,
        scrape_interval_s=part.scrape_interval_s or 0.0,
        scrape_age_s=part.scrape_age_s or 0.0,
        index_lag_s=part.index_lag_s or 0.0,
        index_loss_frac=part.index_loss_frac or 0.0,
        max_in_flight=part.max_in_flight,
        transfer=_transfer(file, groups),
        host=host,
        remote=_tier("remote", file.remote, first),
        load_overlaps=file.load_overlaps,
        changes=tuple(records.Change(c.time_s, c.worker, c.change) for c in file.changes),
        ttft_constant_s=file.ttft_constant_s,
        sample_s=file.sample_s or FIRST_SAMPLE_S,
        seed=file.seed,
    )
    notes += [*router.notes, *notes_on(file, router.router), *_notes_on(groups)]
    return FleetPlan(settings, groups, router, tuple(dict.fromkeys(notes)))


def _merged(base: Worker, group: Worker) -> Worker:
    said = {f: v for f in group.__struct_fields__ if (v := getattr(group, f)) is not None}
    rivals = [r for f in said for r in _RIVALS.get(f"worker.{f}", ())]
    unsaid = dict.fromkeys(rival.removeprefix("worker.") for rival in rivals)
    return msgspec.structs.replace(base, **{**unsaid, **said})


def _group(file: FleetFile, number: int, own_block_size: int | None, notes: list[str]) -> GroupPlan:
    """Errors are of the group's own field, or of the one in `[worker]` where only that is said."""
    own = file.workers[number] if file.workers else Worker()

    def place_of(name: str) -> str:
        of_all = getattr(own, name, None) is None and getattr(file.worker, name, None) is not None
        return f"worker.{name}" if of_all or not file.workers else f"workers[{number}].{name}"

    with field_errors(place_of):
        return _planned(_merged(file.worker, own), number, own_block_size, file.outputs, notes)


def _planned(
    worker: Worker, number: int, own_block_size: int | None, outputs: str, notes: list[str]
) -> GroupPlan:
    replica = replica_of_worker(worker)
    hardware = None if replica is None else replica.hardware
    engine = worker.engine or DEFAULT_ENGINE
    rules = engine_rules(engine, hardware)
    block_size = worker.block_size or own_block_size or rules.block_size
    if worker.block_size is None and own_block_size not in (None, rules.block_size):
        notes.append(
            f"blocks of {block_size:,} tokens, the trace's own: {engine} has {rules.block_size}"
        )
    per_token = worker.kv_bytes_per_token or kv_bytes_per_token(replica)
    capacity, capacity_from = capacity_of(worker, replica, per_token, rules)
    settings = _settings(worker, rules, block_size, capacity, outputs)
    steps = steps_of(worker, replica, settings)
    return GroupPlan(
        f"group {number}", worker.count or 1, worker.role or "both", engine, settings,
        capacity_from, replica, steps, per_token,
    )  # fmt: skip


def _notes_on(groups: Sequence[GroupPlan]) -> list[str]:
    """What a reader must know of the workers' times and caches before quoting a number."""
    notes = []
    for group in groups:
        replica = group.replica
        if replica is None:
            continue
        if not has_constant_kv(replica.shape):
            notes.append(
                f"{replica.shape.name} has sliding windows or states: its prefixes are looked up "
                "here as full attention's, whose hits a real engine reaches at most"
            )
        if replica.roofline.efficiency == IDEAL.name and not replica.hardware.measured:
            notes.append(_IDEAL)
    if any(_differs(group, groups[0]) for group in groups):
        notes.append(_UNLIKE)
    return notes


def _differs(group: GroupPlan, first: GroupPlan) -> bool:
    """In what a step takes (the longest one, where times are constant) or a cache holds."""
    takes = [one.steps.overhead_s + float(one.steps.linear_s[-1]) for one in (group, first)]
    same = group.replica is first.replica and takes[0] == takes[1]
    return not same or group.capacity_tokens != first.capacity_tokens


_IDEAL = (
    "efficiency ideal is a bound: every peak of the hardware is reached, a step has no overhead; "
    "servers are slower (--efficiency achievable, or --fit with measured rows)"
)
_UNLIKE = (
    "the groups of workers differ: what a mean prompt takes alone, the KV bytes that transfers and "
    "tiers move, and what of `evicted` a larger cache would keep are of the first group"
)


def _settings(
    worker: Worker, rules: EngineRules, block_size: int, capacity: int | None, outputs: str
) -> WorkerSettings:
    def either(said: Any, rule: Any) -> Any:
        return rule if said is None else said

    blocks = None if capacity is None else capacity // block_size
    if blocks == 0:
        cause = f"holds not one block of {block_size:,} tokens"
        raise SettingError(f"--capacity-tokens {capacity}", cause)
    max_batch = either(worker.max_batch_tokens, rules.max_batch_tokens)
    max_running = either(worker.max_running, min(rules.max_running, max_batch))
    return WorkerSettings(
        block_size=block_size,
        capacity_blocks=blocks,
        max_batch_tokens=max_batch,
        max_running=max_running,
        chunked_prefill=either(worker.chunked_prefill, True),
        watermark_frac=either(worker.watermark_frac, 0.0),
        reserve_full_prompt=either(worker.reserve_full_prompt, True),
        last_token=either(worker.last_token, True),
        visible=either(worker.visible, rules.visible),
        wait_for_twins=either(worker.wait_for_twins, rules.wait_for_twins),
        cache_outputs=outputs == "insert",
        replies=either(worker.replies, rules.replies),
        mixed=either(worker.mixed, rules.mixed),
        free_copies=either(worker.free_copies, rules.free_copies),
        late_results=either(worker.late_results, rules.late_results),
    )


def _transfer(file: FleetFile, groups: Sequence[GroupPlan]) -> records.Link | None:
    if file.transfer is None:
        return None
    per_token = _told_bytes("transfer", groups[0])
    return records.Link(per_token, file.transfer.bytes_per_s, file.transfer.latency_s)


def _tier(name: str, tier: Tier | None, group: GroupPlan) -> records.Tier | None:
    if tier is None:
        return None
    rate = tier.bytes_per_s
    if rate is None and name == "host" and group.replica is not None:
        pcie = group.replica.hardware.pcie_bytes_per_s
        rate = None if pcie is None else pcie * group.replica.num_gpus
    if rate is None:
        raise SettingError(f"{name}.bytes_per_s", "needed: the rate is not known here")
    size = group.settings.block_size
    blocks = None if tier.tokens is None else tier.tokens // size
    if blocks == 0:
        raise SettingError(f"{name}.tokens", f"hold not one block of {size:,} tokens")
    link = records.Link(_told_bytes(name, group), rate, tier.latency_s)
    return records.Tier(blocks, link)


def _told_bytes(name: str, group: GroupPlan) -> float:
    if group.kv_bytes_per_token is None:
        cause = f"needed, for {name}: how many bytes of KV move a token"
        raise SettingError("worker.kv_bytes_per_token", cause)
    return group.kv_bytes_per_token

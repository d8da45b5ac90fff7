"""From a fleet file to settings: every worker's rules, times and cache, with what they were taken
from.

A cache that is not told is what memory leaves: memory_frac of the GPUs' memory minus the weights,
over the KV bytes of a token. Activations, graphs and the engine's own needs are not in it: a real
engine has somewhat less, and prints how many tokens it has.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec

from hitpath.core import InputError, SettingError
from hitpath.cost.kv import has_constant_kv
from hitpath.cost.parameters import num_parameters
from hitpath.cost.paths import Replica
from hitpath.cost.pricing import load_pricing
from hitpath.sim.serving import records
from hitpath.sim.serving.records import FleetSettings, Role, WorkerGroup, WorkerSettings
from hitpath.sim.serving.step_time import StepModel, fixed_steps, step_model
from hitpath.sim.serving_engines import EngineRules, engine_rules
from hitpath.sim.serving_file import FleetFile, Tier, Worker, fleet_of
from hitpath.sim.serving_router import RouterPlan, plan_router, step_terms

DEFAULT_ENGINE = "vllm"


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
    "worker.capacity_tokens": ("worker.unlimited",),
    "worker.unlimited": ("worker.capacity_tokens",),
    "worker.model": ("worker.step_s", "worker.token_s"),
    "worker.hardware": ("worker.step_s", "worker.token_s"),
    "load.scale": ("load.rate_per_s",),
    "load.rate_per_s": ("load.scale",),
}
"""What a typed field takes the place of, where the file says it."""


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
        raise SettingError(_option_of(error.field), error.cause) from error


_OPTIONS = {
    "worker.count": "--workers",
    "router.name": "--router",
    "router.index_lag_s": "--index-lag",
    "router.index_loss_frac": "--index-loss",
    "load.rate_per_s": "--rate",
    "gpu_hour_usd": "--gpu-hour",
}


def _option_of(field: str) -> str:
    """What is typed for a field."""
    return _OPTIONS.get(field, f"--{field.rpartition('.')[2].replace('_', '-')}")


def plan_fleet(file: FleetFile, own_block_size: int | None) -> FleetPlan:
    """own_block_size: of the trace's ids, None where it has tokens. Raises HitpathError."""
    notes: list[str] = []
    told = file.workers or (Worker(),)
    groups = tuple(
        _group(_merged(file.worker, group), number, len(told), own_block_size, file.outputs, notes)
        for number, group in enumerate(told)
    )
    num_workers = sum(group.count for group in groups)
    first, host = groups[0], _tier("host", file.host, groups[0])
    terms = step_terms(
        first.steps, first.capacity_tokens, 0.0 if host is None else host.link.s_per_token
    )
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
        sample_s=file.sample_s or 1.0,
        seed=file.seed,
    )
    return FleetPlan(settings, groups, router, (*notes, *router.notes))


def _merged(base: Worker, group: Worker) -> Worker:
    said = {f: v for f in group.__struct_fields__ if (v := getattr(group, f)) is not None}
    return msgspec.structs.replace(base, **said)


def _group(
    worker: Worker,
    number: int,
    of: int,
    own_block_size: int | None,
    outputs: str,
    notes: list[str],
) -> GroupPlan:
    place = "" if of == 1 else f"workers[{number}]: "
    replica = _replica(worker, place)
    hardware = None if replica is None else replica.hardware
    engine = worker.engine or DEFAULT_ENGINE
    rules = engine_rules(engine, hardware)
    block_size = worker.block_size or own_block_size or rules.block_size
    if worker.block_size is None and own_block_size not in (None, rules.block_size):
        notes.append(
            f"blocks of {block_size:,} tokens, the trace's own: {engine} has {rules.block_size}"
        )
    per_token = worker.kv_bytes_per_token or _kv_bytes_per_token(replica)
    capacity, capacity_from = _capacity(worker, replica, per_token, rules, place)
    settings = _settings(worker, rules, block_size, capacity, outputs)
    steps = _steps(worker, replica, settings)
    return GroupPlan(
        f"group {number}", worker.count or 1, worker.role or "both", engine, settings,
        capacity_from, replica, steps, per_token,
    )  # fmt: skip


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
    )


def _replica(worker: Worker, place: str) -> Replica | None:
    """None where constant times are told instead of a model's."""
    constant = worker.step_s is not None or worker.token_s is not None
    if constant:
        if worker.model is not None or worker.hardware is not None:
            cause = "constant times and a model's times are two things: give one"
            raise SettingError(f"{place}step_s", cause)
        return None
    if worker.model is None or worker.hardware is None:
        cause = "needed, both, to know what a step takes (or step_s and token_s in a fleet file)"
        raise SettingError(f"{place}--model, --hardware", cause)
    return _loaded(
        worker.model,
        worker.hardware,
        worker.tp or 1,
        worker.weights or "bf16",
        worker.kv_dtype or "bf16",
        worker.efficiency or "ideal",
        worker.mla or "faster",
        worker.fit,
    )


@lru_cache(maxsize=64)
def _loaded(
    model: str,
    hardware: str,
    tp: int,
    weights: str,
    kv: str,
    efficiency: str,
    mla: str,
    fit: str | None,
) -> Replica:
    return load_pricing(
        model,
        hardware,
        num_gpus=tp,
        weights=weights,
        kv_dtype=kv,
        efficiency=efficiency,
        mla=mla,
        fit=fit,
    ).replica


def _kv_bytes_per_token(replica: Replica | None) -> float | None:
    """None where it is no constant, or no model is told."""
    if replica is None or not has_constant_kv(replica.shape):
        return None
    return replica.work.held_bytes(1)


def _capacity(
    worker: Worker,
    replica: Replica | None,
    per_token: float | None,
    rules: EngineRules,
    place: str,
) -> tuple[int | None, str]:
    """(tokens or None, where from)."""
    if worker.unlimited:
        if worker.capacity_tokens is not None:
            raise SettingError(f"{place}unlimited", "and capacity_tokens contradict each other")
        return None, "unlimited"
    if worker.capacity_tokens is not None:
        return worker.capacity_tokens, "given"
    option = f"{place}--capacity-tokens"
    if replica is None:
        raise SettingError(option, "needed where steps have constant times (or unlimited = true)")
    if per_token is None:
        cause = f"needed: KV a token of {replica.shape.name} is no constant, memory holds no number"
        raise SettingError(option, cause)
    if replica.hardware.memory_bytes is None:
        raise SettingError(option, f"needed: the memory of {replica.hardware.name} is not known")
    room = (worker.memory_frac or rules.memory_frac) * replica.hardware.memory_bytes
    weights = num_parameters(replica.shape) * replica.formats.weight_bytes
    left = room * replica.num_gpus - weights
    if left < per_token:
        cause = (
            f"{replica.shape.name} takes {weights / 1e9:,.1f} GB of weights, {replica.num_gpus} x "
            f"{replica.hardware.name} give {room * replica.num_gpus / 1e9:,.1f} GB: no KV fits"
        )
        raise SettingError(option, cause)
    return int(left // per_token), "memory"


def _steps(worker: Worker, replica: Replica | None, settings: WorkerSettings) -> StepModel:
    lookup = worker.lookup_s_per_block or 0.0
    if replica is not None:
        return _steps_of(replica, settings.max_batch_tokens, settings.max_running, lookup)
    made = fixed_steps(
        settings.max_batch_tokens, settings.max_running, worker.step_s or 0.0, worker.token_s or 0.0
    )
    return StepModel(
        made.linear_s, made.head_s, made.link_s_per_token, made.overhead_s, made.attention, lookup
    )


_made: dict[tuple[int, int, int, float], tuple[Replica, StepModel]] = {}


def _steps_of(replica: Replica, max_batch: int, max_running: int, lookup: float) -> StepModel:
    """Made once: a sweep asks for the same again and again."""
    key = (id(replica), max_batch, max_running, lookup)
    if key not in _made:
        _made[key] = (replica, step_model(replica, max_batch, max_running, lookup))
    return _made[key][1]


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
        cause = "needed: how many bytes of KV move a token"
        raise SettingError(f"{name}: worker.kv_bytes_per_token", cause)
    return group.kv_bytes_per_token

"""A worker's hardware: its model's times, its steps, and what its memory leaves for KV.

A cache that is not told is what memory leaves: memory_frac of the GPUs' memory minus the weights,
over the KV bytes of a token. Activations, graphs and the engine's own needs are not in it: a real
engine has somewhat less, and prints how many tokens it has.
"""

from functools import lru_cache
from typing import TypeVar

from hitpath.core import SettingError
from hitpath.cost.kv import has_constant_kv
from hitpath.cost.parameters import num_parameters
from hitpath.cost.paths import Replica
from hitpath.cost.pricing import load_pricing
from hitpath.sim.serving.records import WorkerSettings
from hitpath.sim.serving.step_time import StepModel, fixed_steps, step_model
from hitpath.sim.serving_engines import EngineRules
from hitpath.sim.serving_file import Worker

T = TypeVar("T")
_OF_A_MODEL = (
    "model", "hardware", "tp", "weights", "kv_dtype", "efficiency", "fit", "mla", "memory_frac",
)  # fmt: skip
_NO_TIMES = "needed, both, to know what a step takes (or step_s and token_s in a fleet file)"


def replica_of_worker(worker: Worker) -> Replica | None:
    """None where constant times are told instead of a model's."""
    if worker.step_s is not None or worker.token_s is not None:
        of_model = [name for name in _OF_A_MODEL if getattr(worker, name) is not None]
        if of_model:
            cause = "constant times (step_s, token_s) and a model's times are two things: give one"
            raise SettingError(of_model[0], cause)
        return None
    if worker.model is None or worker.hardware is None:
        option = "--model, --hardware" if worker.model is None else "--hardware, --model"
        raise SettingError(option, _NO_TIMES)
    return _loaded(
        worker.model,
        worker.hardware,
        _or(worker.tp, 1),
        _or(worker.weights, "bf16"),
        _or(worker.kv_dtype, "bf16"),
        _or(worker.efficiency, "ideal"),
        _or(worker.mla, "faster"),
        worker.fit,
    )


def _or(told: T | None, default: T) -> T:
    """What is told, be it empty: an empty name is refused where it is looked up."""
    return default if told is None else told


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


def kv_bytes_per_token(replica: Replica | None) -> float | None:
    """None where it is no constant, or no model is told."""
    if replica is None or not has_constant_kv(replica.shape):
        return None
    return replica.work.held_bytes(1)


def capacity_of(
    worker: Worker, replica: Replica | None, per_token: float | None, rules: EngineRules
) -> tuple[int | None, str]:
    """(tokens or None, where from)."""
    if worker.unlimited:
        if worker.capacity_tokens is not None:
            raise SettingError("unlimited", "and capacity_tokens contradict each other")
        return None, "unlimited"
    if worker.capacity_tokens is not None:
        if worker.memory_frac is not None:
            raise SettingError("memory_frac", "and capacity_tokens are two sizes of one cache")
        return worker.capacity_tokens, "given"
    option = "--capacity-tokens"
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


def steps_of(worker: Worker, replica: Replica | None, settings: WorkerSettings) -> StepModel:
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

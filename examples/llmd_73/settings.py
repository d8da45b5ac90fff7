"""llmd_73_capacity.toml as frozen records."""

import tomllib
from pathlib import Path
from typing import NamedTuple

import msgspec

FILE = Path(__file__).parent.with_name("llmd_73_capacity.toml")


class Stage(NamedTuple):
    """Requests a second, and for how many seconds they are sent."""

    rate: int
    seconds: int

    @property
    def num_requests(self) -> int:
        return self.rate * self.seconds


class Pods(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    count: int
    model: str
    hardware: str
    num_gpus: int
    kv_tokens: int
    block_tokens: int
    max_batch_tokens: int
    max_running: int
    reserve_full_prompt: bool


class Load(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    groups: int
    users_per_group: int
    prefix_tokens: int
    question_tokens: int
    output_tokens: int
    max_in_flight: int
    warm_up: Stage
    stages: tuple[Stage, ...]

    @property
    def num_prompts(self) -> int:
        return self.groups * self.users_per_group


class Metrics(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    scrape_interval_s: float
    scrape_age_s: float


class Fixed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    link_frac: float
    memory_frac: float


class Fitted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """At most five numbers; see fit.py."""

    step_overhead_s: float
    compute_frac: float
    ttft_constant_s: float
    prompt_scale: float
    counted_frac: float


class Experiment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    pods: Pods
    load: Load
    metrics: Metrics
    schedulers: dict[str, str]
    fixed: Fixed
    fitted: Fitted

    @property
    def prompt_tokens(self) -> int:
        """Of every prompt, as the engine's tokeniser counts it."""
        return self.prefix_tokens + round(self.load.question_tokens * self.fitted.prompt_scale)

    @property
    def prefix_tokens(self) -> int:
        """Of a group's shared prefix, as the engine's tokeniser counts it."""
        return round(self.load.prefix_tokens * self.fitted.prompt_scale)


def load_experiment(path: Path = FILE) -> Experiment:
    """Raises msgspec.ValidationError for a file of another shape."""
    return msgspec.convert(tomllib.loads(path.read_text("utf-8")), Experiment, strict=False)

"""What differs between vLLM's releases, and what its operator sets.

Checked in the releases named in docs/exactness.md; "from" is the first checked release that has it.

    from 0.19   admission wants room for the whole prompt (`scheduler_reserve_full_isl`)
    from 0.22   sliding windows are modelled (older ones find and keep other blocks)
    from 0.24   freed blocks without a name are reused first; `watermark`; behind several groups a
                speculative one also keeps the block that it will give back
    from 0.26   a block larger than a hash has a name from the prompt's last hash inside it on
    from 0.28   the hit-rate counters count a request once, when it is admitted; chunks of models
                with state layers end at junctions (older ones are not modelled there)
    from 0.30   sliding-window and state layers keep only what a resend of the prompt, or a shared
                prefix that was seen to be shared, needs (`prefix_cache_retention_interval` = 0)
    from 0.32   a speculative group may match up to the prompt's end before it gives a block back;
                the tail that names a block ends before the prompt's last token; the state at the
                prompt's last block counts as named anew in each step that ends there
"""

import math
from dataclasses import dataclass
from typing import Literal

from hitpath.core import SettingError

NEWEST = "0.32"
DEFAULT_BLOCK_SIZE = 16

LayerKind = Literal["full", "window", "state"]


@dataclass(frozen=True, slots=True)
class LayerGroup:
    """Layers that share a block table. `window`: tokens that a layer looks at, its own among them;
    only for "window". `block_size` is that of the server's log, after its own adjustments."""

    kind: LayerKind = "full"
    block_size: int = DEFAULT_BLOCK_SIZE
    window: int = 0

    def __post_init__(self) -> None:
        if self.block_size < 1 or (self.kind == "window") != (self.window > 0):
            raise SettingError("layer group", f"{self} is none")


@dataclass(frozen=True, slots=True)
class VllmRules:
    """The rules of one release."""

    unnamed_first: bool
    has_watermark: bool
    has_windows: bool
    counts_every_try: bool
    names_tails: bool
    keeps_dropped: bool
    retention_interval: int | None
    looks_ahead: bool
    tail_before_last: bool
    renames_state: bool
    cuts_at_junctions: bool


def rules_of(version: str) -> VllmRules:
    """The rules of a release such as "0.32" or "0.30.1". Raises SettingError for no version."""
    try:
        major, minor, *_ = (int(part) for part in version.split("."))
    except ValueError:
        raise SettingError(f"--engine vllm@{version}", "no version; say vllm@0.32") from None
    at = (major, minor)
    if at > (0, 32):
        cause = f"newer than {NEWEST}, the newest release that is modelled"
        raise SettingError(f"--engine vllm@{version}", cause)
    if at < (0, 19):
        raise SettingError(f"--engine vllm@{version}", "releases before 0.19 are not modelled")
    return VllmRules(
        unnamed_first=at >= (0, 24),
        has_watermark=at >= (0, 24),
        has_windows=at >= (0, 22),
        counts_every_try=at < (0, 28),
        names_tails=at >= (0, 26),
        keeps_dropped=at >= (0, 24),
        retention_interval=0 if at >= (0, 30) else None,
        looks_ahead=at >= (0, 32),
        tail_before_last=at >= (0, 32),
        renames_state=at >= (0, 32),
        cuts_at_junctions=at >= (0, 28),
    )


@dataclass(frozen=True, slots=True)
class VllmSettings:
    """One vLLM worker. `num_blocks` as the server logs it: one of them is the null block.

    `drops_last_block`: EAGLE or MTP drafts. `num_lookahead`: slots kept for drafts behind each
    step's tokens. `watermark_frac`: blocks kept free when a request is admitted while others run.
    `reserves_whole_prompt`: `scheduler_reserve_full_isl`.
    `retention_interval`: None takes the release's own, DENSE keeps all.
    """

    num_blocks: int
    groups: tuple[LayerGroup, ...] = (LayerGroup(),)
    version: str = NEWEST
    drops_last_block: bool = False
    num_lookahead: int = 0
    watermark_frac: float = 0.0
    reserves_whole_prompt: bool = True
    retention_interval: int | None = None
    max_model_tokens: int = 1 << 20
    max_in_flight_tokens: int | None = None

    def __post_init__(self) -> None:
        rules = rules_of(self.version)
        if self.num_blocks < 2:
            raise SettingError("--capacity-tokens", "vLLM needs two blocks: one is its null block")
        if self.watermark_frac and not rules.has_watermark:
            raise SettingError("watermark", f"vLLM {self.version} has none")
        if not rules.has_windows and any(group.kind == "window" for group in self.groups):
            cause = f"sliding windows are not modelled for vLLM {self.version}"
            raise SettingError("layer groups", cause)
        if not self.groups:
            raise SettingError("layer groups", "none are given")
        sizes = {group.block_size for group in self.groups if group.kind == "state"}
        if sizes - {self.hash_size}:
            cause = "state layers whose block is larger than the hash block are not modelled"
            raise SettingError("layer groups", cause)

    @property
    def hash_size(self) -> int:
        """Tokens of a hash: the greatest size that divides all groups' blocks."""
        return math.gcd(*(group.block_size for group in self.groups))

    @property
    def alignment(self) -> int:
        """Hits are multiples of it: the least common multiple of the groups' blocks."""
        return math.lcm(*(group.block_size for group in self.groups))

    @property
    def interval(self) -> int | None:
        """The retention interval in force; None: all is kept."""
        if self.retention_interval is None:
            return rules_of(self.version).retention_interval
        return None if self.retention_interval == DENSE else self.retention_interval


DENSE = -1

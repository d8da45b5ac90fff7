"""What differs between SGLang's releases, and what its operator sets.

up to 0.5.18   RadixCache; a finished request is one leaf behind its prompt, and counts a second
               hit for each node of its path
from 0.5.20    UnifiedRadixCache; the leaf of a finished request is split where its prompt ends,
               so that the output can go without it; (from 0.5.23) what a request has inserted
               before counts no second hit
"""

from dataclasses import dataclass
from typing import Literal

from hitpath.core import SettingError
from hitpath.sim.models.radix import RadixPolicy

NEWEST = "0.5.23"
LOAD_BACK_TOKENS = 10
"""`load_back_threshold`: fewer tokens of the host are computed anew."""

WritePolicy = Literal["write_through", "write_through_selective"]


@dataclass(frozen=True, slots=True)
class SglangRules:
    """The rules of one release."""

    unified: bool
    splits_prompts: bool
    counts_once: bool


def rules_of(version: str) -> SglangRules:
    """The rules of a release such as "0.5.23". Raises SettingError for no version, or an older one
    than 0.5.12."""
    try:
        at = tuple(int(part) for part in version.split("."))
    except ValueError:
        raise SettingError(f"--engine sglang@{version}", "no version; say sglang@0.5.23") from None
    if at[:3] > (0, 5, 23):
        cause = f"newer than {NEWEST}, the newest release that is modelled"
        raise SettingError(f"--engine sglang@{version}", cause)
    if at < (0, 5, 12):
        raise SettingError(f"--engine sglang@{version}", "releases before 0.5.12 are not modelled")
    newer = at >= (0, 5, 20)
    return SglangRules(unified=newer, splits_prompts=newer, counts_once=at >= (0, 5, 23))


@dataclass(frozen=True, slots=True)
class SglangSettings:
    """One SGLang worker. `capacity_tokens`: `max_total_num_tokens` of its log. `host_tokens`: the
    host's pool (HiCache), 0 for none. `page_size` as its `/server_info` says."""

    capacity_tokens: int
    page_size: int = 1
    policy: RadixPolicy = "lru"
    version: str = NEWEST
    host_tokens: int = 0
    write_policy: WritePolicy = "write_through"
    load_back_tokens: int = LOAD_BACK_TOKENS
    as_radix_cache: bool = False
    """RadixCache's rules in any release (what its own simulated queue uses)."""

    def __post_init__(self) -> None:
        rules = rules_of(self.version)
        if self.page_size < 1 or self.capacity_tokens < self.page_size:
            raise SettingError("--capacity-tokens", f"holds not one page of {self.page_size}")
        if self.host_tokens and not (rules.unified and not self.as_radix_cache):
            raise SettingError(
                "--engine sglang:host", "a host tier is modelled from SGLang 0.5.20 on"
            )

    @property
    def write_through_hits(self) -> int:
        """Hits of a node from which it is copied to the host."""
        return 1 if self.write_policy == "write_through" else 2

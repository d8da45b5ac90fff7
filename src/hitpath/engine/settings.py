"""Every switch of the engine, in one frozen record, checked when it is made. No torch."""

from dataclasses import dataclass
from typing import Literal, get_args

from hitpath.core import SettingError, one_of

DtypeName = Literal["float32", "bfloat16"]
IndexName = Literal["blocks", "radix"]
PolicyName = Literal["lru", "lfu", "priority"]
AdmissionName = Literal["fcfs", "longest_hit"]
AttentionName = Literal["auto", "folded", "sdpa", "plain", "flashinfer"]
DeviceName = Literal["cpu", "cuda"]
GraphsName = Literal["off", "cuda", "checked"]

MOST_RUNNING = 256


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What runs, and how. Each mechanism has its switch, so that its effect can be measured apart.

    dtype             of weights, activations and KV; None: the checkpoint's
    prefix_cache      False: nothing is looked up or kept
    index             blocks: chained block keys; radix: a tree of token runs
    block_size        tokens of a block (the radix tree's page)
    num_blocks        of the KV cache; None: as many as `kv_cache_bytes` holds
    max_model_len     prompt and output of one choice; None: the model's, cut to the KV cache
    max_batch_tokens  the budget of one step; decodes come first
    max_running       choices in a step; max_waiting: more than that is Overloaded
    chunked_prefill   False: a prompt is computed in one step, whatever the budget
    eviction          which idle block goes first
    admission         longest_hit: the waiting request with the largest cached share goes first
    wait_for_twin     a request whose prefix is being computed waits for it instead of repeating it
    max_wait_s        ageing: after this long, a request goes first in its order of arrival
    attention         folded: own blocked products; sdpa: torch's; plain: the obvious formula;
                      flashinfer: its paged kernels, on cuda; auto: these where they are installed
                      and have a kernel for the model, else folded
    cascade           requests that share leading blocks read them once a step
    prepack           weights in oneDNN's own layout (bfloat16 on a CPU)
    int8_shared       idle and shared blocks are kept in int8, a scale per head and token
    compact_share     part of the KV bytes that int8 blocks get, with int8_shared
    num_threads       torch's; None leaves them
    device            cuda has not been run by hitpath's makers: no GPU was at hand
    graphs            captured steps of fixed shape for decodes and short hits: cuda, or checked,
                      the same anywhere, every replay compared with what was captured
    """

    dtype: DtypeName | None = None
    prefix_cache: bool = True
    index: IndexName = "blocks"
    block_size: int = 16
    num_blocks: int | None = None
    kv_cache_bytes: int = 1 << 30
    max_model_len: int | None = None
    max_batch_tokens: int = 2048
    max_running: int = 64
    max_waiting: int = 1024
    chunked_prefill: bool = True
    eviction: PolicyName = "lru"
    admission: AdmissionName = "fcfs"
    wait_for_twin: bool = True
    max_wait_s: float = 2.0
    attention: AttentionName = "auto"
    cascade: bool = True
    prepack: bool = True
    int8_shared: bool = False
    compact_share: float = 0.5
    num_threads: int | None = None
    device: DeviceName = "cpu"
    graphs: GraphsName = "off"

    def __post_init__(self) -> None:
        if self.dtype is not None:
            one_of("dtype", self.dtype, get_args(DtypeName))
        one_of("index", self.index, get_args(IndexName))
        one_of("eviction", self.eviction, get_args(PolicyName))
        one_of("admission", self.admission, get_args(AdmissionName))
        one_of("attention", self.attention, get_args(AttentionName))
        one_of("device", self.device, get_args(DeviceName))
        one_of("graphs", self.graphs, get_args(GraphsName))
        if self.graphs == "cuda" and self.device != "cuda":
            raise SettingError("graphs cuda", "needs device cuda")
        if self.attention == "flashinfer" and self.device != "cuda":
            raise SettingError("attention flashinfer", "needs device cuda")
        for name in ("block_size", "kv_cache_bytes", "max_batch_tokens", "max_running"):
            _at_least_one(name, getattr(self, name))
        for name in ("num_blocks", "max_model_len", "num_threads"):
            if getattr(self, name) is not None:
                _at_least_one(name, getattr(self, name))
        if self.block_size > 4096:
            raise SettingError("block_size", f"{self.block_size} is more than 4,096 tokens")
        if self.max_running > MOST_RUNNING:
            raise SettingError("max_running", f"{self.max_running} is more than {MOST_RUNNING}")
        if self.max_batch_tokens < self.max_running:
            cause = f"{self.max_batch_tokens} is less than a token for each of {self.max_running}"
            raise SettingError("max_batch_tokens", cause)
        if self.max_waiting < 0 or not self.max_wait_s >= 0:
            raise SettingError("max_waiting, max_wait_s", "must not be negative")
        if not 0 < self.compact_share < 1:
            raise SettingError("compact_share", "must be above 0 and below 1")
        if self.int8_shared and not self.prefix_cache:
            raise SettingError("int8_shared", "needs the prefix cache")


def _at_least_one(name: str, value: int) -> None:
    if value < 1:
        raise SettingError(name, f"{value} is less than 1")

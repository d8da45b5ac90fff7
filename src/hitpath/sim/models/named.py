"""Engine models by name: NAME[@VERSION][:option=value,option=value].

    vllm    vllm@0.30    "vllm:window=128,drop_last=yes"    "sglang@0.5.23:policy=lfu,host=200000"

`capacity_tokens` is one worker's: whole blocks, pages or tokens of it, for each group of layers;
vLLM's null block comes on top, as its own figure of KV cache tokens does not count it either.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from hitpath.core import MAX_TOKENS, SettingError
from hitpath.routing.rule import Option
from hitpath.routing.typed import typed_options
from hitpath.sim.models.contract import EngineModel
from hitpath.sim.models.llamacpp import LlamaModel, LlamaSettings
from hitpath.sim.models.own_engine import OwnModel, OwnPolicy, OwnSettings
from hitpath.sim.models.radix import RadixPolicy
from hitpath.sim.models.sglang import SglangModel
from hitpath.sim.models.sglang_rules import LOAD_BACK_TOKENS, SglangSettings, WritePolicy
from hitpath.sim.models.sglang_rules import NEWEST as NEWEST_SGLANG
from hitpath.sim.models.trtllm import TrtModel, TrtSettings
from hitpath.sim.models.vllm import VllmModel
from hitpath.sim.models.vllm_chunks import VllmInChunks
from hitpath.sim.models.vllm_rules import DENSE, LayerGroup, VllmSettings, rules_of
from hitpath.sim.models.vllm_rules import NEWEST as NEWEST_VLLM

DEFAULT_BLOCK_SIZES = {"vllm": 16, "sglang": 1, "trtllm": 32, "llamacpp": 1, "hitpath": 16}
"""Tokens of the unit in which each engine counts, where the setting does not say."""
_NEWEST = {"vllm": NEWEST_VLLM, "sglang": NEWEST_SGLANG}
_RADIX: tuple[RadixPolicy, ...] = ("lru", "lfu", "slru", "priority")
_WRITES: tuple[WritePolicy, ...] = ("write_through", "write_through_selective")
_OWN: tuple[OwnPolicy, ...] = ("lru", "lfu", "priority")
_OF_RELEASE = -2
_MOST_GROUPS = 64


def _number(name: str, default: float, meaning: str, low: float = 0) -> Option:
    return Option(name, default, meaning, low=low, high=MAX_TOKENS, whole=True)


def _word(name: str, meaning: str, words: tuple[str, ...], default: int = 0) -> Option:
    return Option(name, default, meaning, high=len(words) - 1, words=words)


def _yes(name: str, default: bool, meaning: str) -> Option:
    return _word(name, meaning, ("no", "yes"), int(default))


OPTIONS: Mapping[str, tuple[Option, ...]] = {
    "vllm": (
        _number("window", 0, "tokens that sliding-window layers look at, 0: there are none"),
        Option("windows", 1, "groups of such layers", low=1, high=_MOST_GROUPS, whole=True),
        _yes("full", True, "whether a group of layers has full attention"),
        Option("states", 0, "groups of state layers (Mamba)", high=_MOST_GROUPS, whole=True),
        _number("retention", _OF_RELEASE, "`prefix_cache_retention_interval`; -1 keeps all, "
                "-2 the release's own", low=_OF_RELEASE),
        _yes("drop_last", False, "EAGLE or MTP drafts: the last matching block is given back"),
        _number("lookahead", 0, "slots kept for drafts behind each step's tokens"),
        Option("watermark", 0, "share of blocks kept free at admission", high=0.99),
        _yes("reserve", True, "whether admission needs room for the whole prompt"),
        _number("blocks", 0, "`num_gpu_blocks` as logged, 0: from the capacity"),
    ),
    "sglang": (
        _word("policy", "who is evicted first", _RADIX),
        _number("host", 0, "tokens of the host's pool (HiCache), 0: there is none"),
        _word("write", "when a node is copied to the host", _WRITES),
        _number("load_back", LOAD_BACK_TOKENS, "fewest host tokens that are loaded back"),
    ),
    "trtllm": (_yes("partial", True, "whether part of a block may be reused"),),
    "llamacpp": (
        Option("slots", 4, "`--parallel`", low=1, high=1024, whole=True),
        _yes("unified", True, "one cache for all slots (`--kv-unified`)"),
        _number("host", 0, "tokens that `--cache-ram` can hold, -1: no limit set", low=-1),
        Option("similarity", 0.1, "`--slot-prompt-similarity`", high=1),
        _yes("clears_idle", True, "`--cache-idle-slots`"),
    ),
    "hitpath": (_word("eviction", "who is evicted first", _OWN),),
}  # fmt: skip
"""Engine -> what may stand behind its colon."""


@dataclass(frozen=True, slots=True)
class NamedEngine:
    """What was typed, read. `values`: of every option of the engine, words by their number."""

    typed: str
    engine: str
    version: str
    values: Mapping[str, float]

    def whole(self, name: str) -> int:
        """A whole number, or a word's."""
        return int(self.values[name])

    def is_on(self, name: str) -> bool:
        """A yes."""
        return self.values[name] == 1

    def told(self) -> str:
        """Name, version and all settings, as it could have been typed."""
        own = {option.name: option for option in OPTIONS[self.engine]}
        shown = [f"{name}={_shown(own[name], value)}" for name, value in self.values.items()
                 if name != "retention" or value != _OF_RELEASE]  # fmt: skip
        return f"{self.engine}{'@' + self.version if self.version else ''}:{', '.join(shown)}"


def _shown(option: Option, value: float) -> str:
    return option.words[int(value)] if option.words else f"{value:.15g}"


def read_engine(typed: str) -> NamedEngine:
    """Raises SettingError for an engine or version that is not modelled, and for an option that the
    engine has not or a value that it cannot have."""
    option = f"--engine {typed}"
    head, _, rest = typed.partition(":")
    engine, at, version = head.partition("@")
    if engine not in DEFAULT_BLOCK_SIZES:
        raise SettingError(option, f"not one of {', '.join(DEFAULT_BLOCK_SIZES)}")
    if at and engine not in _NEWEST:
        raise SettingError(option, f"{engine} has no versions here")
    if version and not re.fullmatch(r"[0-9.]+", version):
        raise SettingError(option, f"no version behind @; say {engine}@{_NEWEST[engine]}")
    if at and not version:
        raise SettingError(option, f"no version behind @; say {engine}@{_NEWEST[engine]}")
    own = {one.name: one for one in OPTIONS[engine]}
    values = {name: one.default for name, one in own.items()}
    values.update(typed_options(option, own, rest))
    return NamedEngine(typed, engine, version or _NEWEST.get(engine, ""), values)


def default_block_size(typed: str) -> int:
    """Tokens of the unit in which the engine counts."""
    return DEFAULT_BLOCK_SIZES[typed.partition(":")[0].partition("@")[0]]


def make_model(
    typed: str,
    capacity_tokens: int,
    block_size: int | None = None,
    most_tokens: int | None = None,
) -> Callable[[], EngineModel]:
    """What makes one worker of the engine. most_tokens: all that it will ever be given, prompts and
    outputs, whole blocks; room beyond that is never used, and takes none here. Raises SettingError
    as `read_engine`, where not one block fits, and for settings that do not go together."""
    asked = read_engine(typed)
    size = block_size or DEFAULT_BLOCK_SIZES[asked.engine]
    if asked.engine == "vllm":
        vllm = _vllm(asked, capacity_tokens // size, size)
        if most_tokens is not None:
            used = most_tokens // size * len(vllm.groups) / (1 - vllm.watermark_frac)
            vllm = replace(vllm, num_blocks=min(vllm.num_blocks, math.ceil(used) + 2))
        model = VllmInChunks if asked.whole("states") else VllmModel
        return lambda: model(vllm)
    if asked.engine == "sglang":
        sglang = _sglang(asked, capacity_tokens, size)
        return lambda: SglangModel(sglang)
    if asked.engine == "trtllm":
        trtllm = TrtSettings(capacity_tokens // size, size, asked.is_on("partial"))
        return lambda: TrtModel(trtllm)
    if asked.engine == "hitpath":
        own = OwnSettings(capacity_tokens // size, size, _OWN[asked.whole("eviction")])
        return lambda: OwnModel(own)
    if size != 1:
        raise SettingError(f"--block-size {size}", "llama.cpp has no blocks")
    llama = _llamacpp(asked, capacity_tokens)
    return lambda: LlamaModel(llama)


def _vllm(asked: NamedEngine, whole: int, size: int) -> VllmSettings:
    window, given = asked.whole("window"), asked.whole("retention")
    groups = (LayerGroup("full", size),) * asked.is_on("full")
    if window:
        groups += (LayerGroup("window", size, window),) * asked.whole("windows")
    groups += (LayerGroup("state", size),) * asked.whole("states")
    if asked.whole("states") and not rules_of(asked.version).cuts_at_junctions:
        cause = f"the steps of state layers are not modelled for vLLM {asked.version}"
        raise SettingError(f"--engine {asked.typed}", cause)
    if not groups:
        raise SettingError(f"--engine {asked.typed}", "full=no needs window or states")
    if asked.whole("blocks") == 1:
        raise SettingError(f"--engine {asked.typed}", "blocks=1 is vLLM's null block alone")
    retention = {_OF_RELEASE: None, -1: DENSE}.get(given, given)
    return VllmSettings(
        num_blocks=asked.whole("blocks") or whole * len(groups) + 1,
        groups=groups,
        version=asked.version,
        drops_last_block=asked.is_on("drop_last"),
        num_lookahead=asked.whole("lookahead"),
        watermark_frac=asked.values["watermark"],
        reserves_whole_prompt=asked.is_on("reserve"),
        retention_interval=retention,
    )


def _sglang(asked: NamedEngine, capacity_tokens: int, size: int) -> SglangSettings:
    return SglangSettings(
        capacity_tokens,
        size,
        policy=_RADIX[asked.whole("policy")],
        version=asked.version,
        host_tokens=asked.whole("host"),
        write_policy=_WRITES[asked.whole("write")],
        load_back_tokens=asked.whole("load_back"),
    )


def _llamacpp(asked: NamedEngine, capacity_tokens: int) -> LlamaSettings:
    host = asked.whole("host")
    return LlamaSettings(
        asked.whole("slots"),
        capacity_tokens,
        host_tokens=None if host < 0 else host,
        similarity=asked.values["similarity"],
        unified=asked.is_on("unified"),
        clears_idle=asked.is_on("clears_idle"),
    )

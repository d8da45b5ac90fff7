"""Engine models by name, and the requests of a trace as they take them.

    vllm[@0.32]   sglang[@0.5.23]   trtllm   llamacpp   hitpath

`capacity_tokens` is one worker's: whole blocks, pages or tokens of it; vLLM's null block comes on
top, as its own figure of KV cache tokens does not count it either.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from hitpath.core import SettingError
from hitpath.sim.models.contract import EngineModel, Request
from hitpath.sim.models.llamacpp import LlamaModel, LlamaSettings
from hitpath.sim.models.own_engine import OwnModel, OwnSettings
from hitpath.sim.models.replay import Arrival
from hitpath.sim.models.sglang import SglangModel
from hitpath.sim.models.sglang_rules import NEWEST as NEWEST_SGLANG
from hitpath.sim.models.sglang_rules import SglangSettings
from hitpath.sim.models.trtllm import TrtModel, TrtSettings
from hitpath.sim.models.vllm import VllmModel
from hitpath.sim.models.vllm_rules import NEWEST as NEWEST_VLLM
from hitpath.sim.models.vllm_rules import LayerGroup, VllmSettings
from hitpath.traces.table import Ints, Symbols, Trace

DEFAULT_BLOCK_SIZES = {"vllm": 16, "sglang": 1, "trtllm": 32, "llamacpp": 1, "hitpath": 16}
"""Tokens of the unit in which each engine counts, where the setting does not say."""

MOST_TOKENS = 1 << 27
"""Tokens of all prompts: a model looks at each one, at about a million a second."""


def make_model(
    name: str, capacity_tokens: int, block_size: int | None = None
) -> Callable[[], EngineModel]:
    """What makes one worker of the engine. Raises SettingError for an engine or version that is
    not modelled, and where not one block fits."""
    engine, _, version = name.partition("@")
    if engine not in DEFAULT_BLOCK_SIZES:
        known = ", ".join(DEFAULT_BLOCK_SIZES)
        raise SettingError(f"--engine {name}", f"not one of {known}")
    if version and engine not in ("vllm", "sglang"):
        raise SettingError(f"--engine {name}", f"{engine} has no versions here")
    size = block_size or DEFAULT_BLOCK_SIZES[engine]
    if engine == "llamacpp" and size != 1:
        raise SettingError(f"--block-size {size}", "llama.cpp has no blocks")
    whole = capacity_tokens // size
    if engine == "vllm":
        vllm = VllmSettings(whole + 1, (LayerGroup("full", size),), version or NEWEST_VLLM)
        return lambda: VllmModel(vllm)
    if engine == "sglang":
        sglang = SglangSettings(capacity_tokens, size, version=version or NEWEST_SGLANG)
        return lambda: SglangModel(sglang)
    if engine == "trtllm":
        trtllm = TrtSettings(whole, size)
        return lambda: TrtModel(trtllm)
    if engine == "hitpath":
        own = OwnSettings(whole, size)
        return lambda: OwnModel(own)
    llama = LlamaSettings(1, capacity_tokens)
    return lambda: LlamaModel(llama)


def arrivals_of(
    trace: Trace, roots: Ints, workers: Ints, keep_outputs: bool, number_of_row: Sequence[int]
) -> list[Arrival]:
    """The requests in the order `number_of_row`, with the context that `roots` gives each and the
    worker that `workers` gives it. Ids of blocks become as many tokens as they stand for: equal
    ids, equal tokens. Raises SettingError for more tokens than a model can look at."""
    total = int(trace.prompt_tokens.sum())
    if total > MOST_TOKENS:
        cause = f"{total:,} tokens are more than {MOST_TOKENS:,}: take a part of the trace"
        raise SettingError("--engine", cause)
    return [_arrival(trace, roots, workers, keep_outputs, row) for row in number_of_row]


def _arrival(trace: Trace, roots: Ints, workers: Ints, keep_outputs: bool, row: int) -> Arrival:
    prompt = _tokens(trace, trace.prompts.flat, trace.prompts.offsets, row)
    prompt = _filled(prompt, int(trace.prompt_tokens[row]), row)
    output: list[int] = []
    if keep_outputs and trace.has_output[row]:
        output = _tokens(trace, trace.outputs.flat, trace.outputs.offsets, row)
    arrives, ends = float(trace.arrival_s[row]), float(trace.finish_s[row])
    if not trace.common_clock:
        arrives, ends = float(row), float("nan")
    return Arrival(
        Request(row, prompt, int(roots[row])),
        int(workers[row]),
        arrives,
        None if np.isnan(ends) else max(ends, arrives),
        output,
    )


def _tokens(trace: Trace, flat: Symbols, offsets: Ints, row: int) -> list[int]:
    ids: list[int] = flat[offsets[row] : offsets[row + 1]].tolist()
    size = trace.block_size
    return ids if size is None else list(_expanded(ids, size))


def _expanded(ids: Sequence[int], block_size: int) -> Iterator[int]:
    for number in ids:
        yield from range(number * block_size, (number + 1) * block_size)


def _filled(tokens: list[int], length: int, row: int) -> list[int]:
    """As many as the prompt has: a partial last block is cut, a tail without an id (nobody else's,
    for all that the file says) is made up."""
    missing = length - len(tokens)
    return tokens[:length] + [-1 - row] * max(missing, 0)

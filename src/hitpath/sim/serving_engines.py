"""What each engine's name stands for in a fleet: block size, budgets, when blocks are visible.

vllm       vLLM 0.32: blocks of 16. The API server's defaults (engine/arg_utils.py,
           get_batch_defaults): 8,192 tokens and 1,024 requests a step from 70 GiB a GPU on, but
           not for the A100; else 2,048 and 256. A block is visible when the step that fills it is
           scheduled, of a reply as of a prompt
sglang     SGLang 0.5.23: pages of 1 token. Chunks of 8,192 tokens, 2,048 below 25 GB a GPU
           (server_args.py); visible once the step's result is processed, replies when they end.
           Prompts come first, in steps of their own (scheduler.py, get_next_batch_to_run, without
           enable_mixed_chunk). What is in the tree already is freed at once where it was computed
           again. With overlap (the default) results are handled when the next step is on its way
trtllm     TensorRT-LLM 1.x: blocks of 32, 8,192 tokens and 2,048 requests a step (llmapi
           defaults); a prompt is visible once it is computed whole, a reply when it ends; who would
           compute what another request is computing waits for it
hitpath    this project's engine: blocks of 16, 2,048 tokens and 64 requests a step; a block is
           visible after the step that fills it, a second copy is given back, and the same wait
llamacpp   is refused: its slots are no cache that requests share
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hitpath.core import SettingError
from hitpath.cost.device import Hardware
from hitpath.sim.serving.records import Replies, Visible

GIB = float(1 << 30)


@dataclass(frozen=True, slots=True)
class EngineRules:
    """What holds where the fleet says nothing else. Tokens and requests are of one step."""

    block_size: int
    max_batch_tokens: int
    max_running: int
    visible: Visible
    replies: Replies
    wait_for_twins: bool = False
    mixed: bool = True
    free_copies: bool = False
    late_results: bool = False
    memory_frac: float = 0.9


_SGLANG = EngineRules(
    1,
    8192,
    2048,
    "processed",
    "ended",
    mixed=False,
    free_copies=True,
    late_results=True,
    memory_frac=0.88,
)
_LARGE: Mapping[str, EngineRules] = {
    "vllm": EngineRules(16, 8192, 1024, "schedule", "growing"),
    "sglang": _SGLANG,
    "trtllm": EngineRules(32, 8192, 2048, "prompt", "ended", wait_for_twins=True),
    "hitpath": EngineRules(
        16, 2048, 64, "processed", "growing", wait_for_twins=True, free_copies=True
    ),
}
_SMALL: Mapping[str, EngineRules] = {
    **_LARGE,
    "vllm": EngineRules(16, 2048, 256, "schedule", "growing"),
    "sglang": replace(_SGLANG, max_batch_tokens=2048),
}
ENGINE_NAMES = tuple(_LARGE)


def engine_rules(name: str, hardware: Hardware | None) -> EngineRules:
    """Of an engine on this hardware; where it is not told, or its memory is not known, of a large
    GPU. Raises SettingError for a name that is none, and for llama.cpp."""
    if name.partition("@")[0] == "llamacpp":
        cause = "its slots are no cache that requests share; see hitpath analyze"
        raise SettingError(f"--engine {name}", cause)
    if name not in _LARGE:
        raise SettingError(f"--engine {name}", f"not one of {', '.join(ENGINE_NAMES)}")
    return (_SMALL if _is_small(name, hardware) else _LARGE)[name]


def _is_small(engine: str, hardware: Hardware | None) -> bool:
    if hardware is None or hardware.memory_bytes is None:
        return False
    if engine == "sglang":
        return hardware.memory_bytes < 25e9
    return hardware.memory_bytes < 70 * GIB or hardware.name.startswith("a100")

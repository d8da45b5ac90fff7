"""The router of a fleet: from its text, in blocks that the trace has, with the engine's times.

A router with an index of its own counts in its own blocks. Where the trace has ids of larger
blocks, what two prompts share inside one is not known: the index then counts in the smallest
multiple of the trace's own that is no finer, and keeps as many tokens as before.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hitpath.core import SettingError
from hitpath.routing.registry import make_router
from hitpath.routing.router import Router
from hitpath.routing.terms import StepTerms
from hitpath.sim.serving.step_time import StepModel, chunk_attention_s, decode_attention_s

_CONTEXT, _NEW, _SEQUENCES = 8192, 1024, 64
"""Where the straight lines are laid through an engine's times: tokens, tokens, sequences."""


@dataclass(frozen=True, slots=True)
class RouterPlan:
    """text: as typed. block_tokens: in which its own index counts, 0 where it keeps none."""

    text: str
    router: Router
    block_tokens: int
    notes: tuple[str, ...] = ()


def plan_router(
    text: str,
    num_workers: int,
    seed: int,
    block_size: int,
    own_block_size: int | None,
    terms: StepTerms | Sequence[StepTerms],
) -> RouterPlan:
    """terms: of all workers, or of each. block_size: of the engines. own_block_size: of the trace's
    ids, None where it has tokens. Raises SettingError."""
    router = make_router(text, num_workers, seed, terms)
    index = router.index
    if index.source != "history":
        return RouterPlan(text, router, 0)
    wanted = index.block_tokens or block_size
    if own_block_size is None or wanted % own_block_size == 0:
        return RouterPlan(text, router, wanted)
    name, _, options = text.partition(":")
    if any(part.strip().startswith("block") for part in options.split(",")):
        cause = f"the trace has ids of {own_block_size}-token blocks: only multiples can be had"
        raise SettingError(f"--router {text}", cause)
    size = -(-wanted // own_block_size) * own_block_size
    coarser = {
        "block": size,
        "max_blocks": -(-index.max_blocks * wanted // size),
        "capacity": -(-index.capacity_blocks * wanted // size),
    }
    typed = {part.partition("=")[0].strip() for part in options.split(",")}
    added = [f"{option}={value}" for option, value in coarser.items() if option not in typed]
    changed = f"{name}:{','.join(filter(None, (options, *added)))}"
    note = (
        f"router {name} counts in blocks of {size:,} tokens, not {wanted:,}: the trace has ids of "
        f"{own_block_size:,}-token blocks"
    )
    return RouterPlan(text, make_router(changed, num_workers, seed, terms), size, (note,))


def step_terms(steps: StepModel, capacity_tokens: int | None, load_s: float) -> StepTerms:
    """Straight lines through an engine's times: through one token and a full step, through 8,192
    and 16,384 tokens of context, through one and 64 sequences. capacity_tokens None: unlimited."""
    most = len(steps.linear_s) - 1
    sequences = min(_SEQUENCES, len(steps.head_s) - 1, most)
    return StepTerms(
        prefill_s=_slope(steps.linear_s, most) + steps.link_s_per_token,
        pair_s=_pair_s(steps),
        context_s=_context_s(steps),
        sequence_s=_slope(steps.linear_s, sequences) + _slope(steps.head_s, sequences),
        step_s=float(steps.linear_s[min(1, most)] + steps.head_s[1]) + steps.overhead_s,
        load_s=load_s,
        max_batch_tokens=most,
        capacity_tokens=capacity_tokens or 0,
    )


def _slope(table: "np.ndarray[tuple[int], np.dtype[np.float64]]", to: int) -> float:
    return 0.0 if to < 2 else max(0.0, float(table[to] - table[1]) / (to - 1))


def _pair_s(steps: StepModel) -> float:
    near, far = (
        float(chunk_attention_s(steps.attention, context, _NEW))
        for context in (_CONTEXT, 2 * _CONTEXT)
    )
    return max(0.0, (far - near) / (_CONTEXT * _NEW))


def _context_s(steps: StepModel) -> float:
    count = _SEQUENCES
    times = []
    for context in (_CONTEXT, 2 * _CONTEXT):
        seen = np.array([count * min(context, w) for w in steps.windows] or [0], dtype=np.int64)
        times.append(float(decode_attention_s(steps.attention, count, count * context, seen)))
    return max(0.0, (times[1] - times[0]) / (count * _CONTEXT))

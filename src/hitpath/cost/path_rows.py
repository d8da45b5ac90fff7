"""The price of many requests at once: a row a request, numpy arrays in and out.

The formulas are the paths' own (attention_work, model_work, roofline), which take arrays as well
as numbers; here they run over blocks of rows that fit into a processor's cache.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hitpath.cost.attention import LatentForm
from hitpath.cost.device import Hardware
from hitpath.cost.formats import Formats
from hitpath.cost.paths import Replica, hit_path, replica_of
from hitpath.cost.roofline import Ops
from hitpath.cost.shapes import ModelShape

Floats = NDArray[np.float64]

ARRAYS = Ops(least=np.minimum, most=np.maximum, expm1=np.expm1)
_BLOCK_ROWS = 1 << 14
_FEW_BLOCKS = 8
_MOST_STEPS = 1 << 12
"""Rows of more steps are priced each alone, in closed form: no prompt's length decides the time."""


class PricedRows(NamedTuple):
    """Prefill of each row: seconds (no lookup, no queue) and FLOPs."""

    seconds: Floats
    flops: Floats


def price_rows(
    shape: ModelShape,
    hardware: Hardware,
    prompt_tokens: ArrayLike,
    hit_tokens: ArrayLike,
    *,
    num_gpus: int = 1,
    formats: Formats | None = None,
    efficiency: str = "ideal",
    latent_form: LatentForm | None = None,
    chunk_tokens: int | None = None,
) -> PricedRows:
    """The prefill of each request alone: paths.hit_path of its prompt and hit tokens, at least the
    last token computed. A prompt of no tokens costs nothing. Counts are whole numbers with
    0 <= hit <= prompt; ValueError where they are not."""
    replica = replica_of(shape, hardware, num_gpus, formats, efficiency, latent_form)
    return price_with(replica, prompt_tokens, hit_tokens, chunk_tokens)


def price_with(
    replica: Replica,
    prompt_tokens: ArrayLike,
    hit_tokens: ArrayLike,
    chunk_tokens: int | None = None,
) -> PricedRows:
    """The same for a replica that is there already."""
    prompt = np.asarray(prompt_tokens, dtype=np.float64)
    hit = np.asarray(hit_tokens, dtype=np.float64)
    if prompt.shape != hit.shape or prompt.ndim != 1:
        raise ValueError(f"shapes {prompt.shape} and {hit.shape}: one entry a request is needed")
    if not np.all((hit >= 0) & (hit <= prompt)):
        raise ValueError("hit tokens are not from 0 to the prompt's")
    seconds, flops = np.zeros(len(prompt)), np.zeros(len(prompt))

    def price(start: int) -> None:
        rows = slice(start, start + _BLOCK_ROWS)
        _price_block(replica, prompt[rows], hit[rows], chunk_tokens, seconds[rows], flops[rows])

    starts = range(0, len(prompt), _BLOCK_ROWS)
    if len(starts) < _FEW_BLOCKS:
        for start in starts:
            price(start)
    else:
        # numpy lets go of the interpreter in a block's arithmetic, and no block sees another.
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            for _ in threads.map(price, starts):
                pass
    return PricedRows(seconds, flops)


def _price_block(
    replica: Replica,
    prompt: Floats,
    hit: Floats,
    chunk_tokens: int | None,
    seconds: Floats,
    flops: Floats,
) -> None:
    """Add the block's prefill to `seconds` and `flops`, step by step."""
    real = prompt > 0
    context = np.minimum(hit, prompt - 1)
    left = np.where(real, prompt - context, 0.0)
    head = replica.work.head.step(1, ARRAYS)
    seconds += real * replica.roofline.matrix_seconds(head, ARRAYS)
    flops += real * head.flops
    if real.all() and chunk_tokens is None:
        _add_step(replica, context, left, seconds, flops)
        return
    long = left > (np.inf if chunk_tokens is None else chunk_tokens * _MOST_STEPS)
    for row in np.flatnonzero(long).tolist():
        path = hit_path(replica, int(prompt[row]), int(hit[row]), chunk_tokens=chunk_tokens)
        seconds[row], flops[row] = path.ttft_s, path.flops
    rows = np.flatnonzero(real & ~long)
    while rows.size:
        new = left[rows] if chunk_tokens is None else np.minimum(left[rows], chunk_tokens)
        more_s, more_flops = np.zeros(rows.size), np.zeros(rows.size)
        _add_step(replica, context[rows], new, more_s, more_flops)
        seconds[rows] += more_s
        flops[rows] += more_flops
        context[rows] += new
        left[rows] -= new
        rows = rows[left[rows] > 0]


def _add_step(
    replica: Replica, context: Floats, new: Floats, seconds: Floats, flops: Floats
) -> None:
    work, roofline = replica.work, replica.roofline
    for kernel in work.linear_step(new, ARRAYS):
        seconds += roofline.matrix_seconds(kernel, ARRAYS)
        flops += kernel.flops
    for layers, mixer in work.attention:
        forms = [form.times(layers) for form in mixer.step(context, new, ARRAYS)]
        best_s, best_flops = roofline.attention_seconds(forms[0], ARRAYS), forms[0].flops
        for form in forms[1:]:
            form_s = roofline.attention_seconds(form, ARRAYS)
            best_flops = np.where(form_s < best_s, form.flops, best_flops)
            best_s = np.minimum(form_s, best_s)
        seconds += best_s
        flops += best_flops
    rate = roofline.link_bytes_per_s
    if rate is not None:
        seconds += work.sent_bytes(new) / rate
    seconds += roofline.step_overhead_s

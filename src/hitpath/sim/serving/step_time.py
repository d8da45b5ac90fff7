"""Seconds of one engine step, as tables and coefficients that a kernel can use.

A step runs decodes (one new token of each of several sequences) and chunks of prompts together:

    seconds = linear(all new tokens) + head(sequences that emit a token) + links + overhead
              + attention(decodes, on the sums over the batch) + attention of each chunk

All rates and formulas are those of `hitpath.cost`: the linear layers of so many tokens are a table
(exact for dense layers and for experts), and attention is a straight line in a few amounts, for
each kind of layer and each form that it may run in (the faster one runs). `step_model` holds what
it made against `cost` and refuses a model that comes out otherwise.

Bytes of a batch add up: blocks that several sequences share are read once for each of them. The
decodes of a batch are one call of a kernel, bound by one side of the roofline; a chunk is one of
its own.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hitpath._jit import kernel
from hitpath.core import ABSENT, SettingError
from hitpath.cost.attention_work import HeadsWork, LatentWork, MixerWork, StateWork
from hitpath.cost.path_rows import ARRAYS
from hitpath.cost.paths import NUMBERS, Replica

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

GROUP, WINDOW_NUMBER, WINDOW, FLOPS_PAIRS, FLOPS_CACHED, FLOPS_NEW = 0, 1, 2, 3, 4, 5
BYTES_CACHED, BYTES_READ, BYTES_NEW, BYTES_SEQUENCES, BYTES_HELD = 6, 7, 8, 9, 10
NUM_COLUMNS = 11
"""A row of `StepModel.attention`: number of its kind of layer (rows of one number are the forms
that it may run in, one after the other), which of the model's windows it has (ABSENT: none) and
how many tokens that is, then seconds by amount. Arithmetic: pairs of a new token
and one that it sees, cached tokens, new tokens. Traffic: cached tokens, those of them that a window
reads, new tokens, sequences, sequences that had anything cached."""

_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class StepModel:
    """linear_s [max_batch_tokens + 1]: of so many new tokens in a step. head_s [max_running + 1]:
    of so many emitting sequences. attention [rows, NUM_COLUMNS]. lookup_s_per_block: hashing and
    looking up, for each whole block of a prompt at its admission."""

    linear_s: Floats
    head_s: Floats
    link_s_per_token: float
    overhead_s: float
    attention: Floats
    lookup_s_per_block: float = 0.0

    @property
    def windows(self) -> list[int]:
        """Sizes of the model's sliding windows, by their numbers."""
        return distinct_windows(self.attention)

    def __post_init__(self) -> None:
        if not 0 <= self.lookup_s_per_block < np.inf:
            raise SettingError("lookup_s_per_block", f"{self.lookup_s_per_block:g} is no time")


def instant_steps(max_batch_tokens: int, max_running: int) -> StepModel:
    """Steps that take no time: caches and queues alone."""
    return fixed_steps(max_batch_tokens, max_running, 0.0)


def fixed_steps(
    max_batch_tokens: int, max_running: int, overhead_s: float, s_per_token: float = 0.0
) -> StepModel:
    """Steps of a constant time and a time for each new token, whatever their context."""
    linear = np.arange(max_batch_tokens + 1, dtype=np.float64) * s_per_token
    head = np.zeros(max_running + 1)
    return StepModel(linear, head, 0.0, overhead_s, np.zeros((0, NUM_COLUMNS)))


def step_model(
    replica: Replica,
    max_batch_tokens: int,
    max_running: int,
    lookup_s_per_block: float = 0.0,
) -> StepModel:
    """The steps of a replica. Raises SettingError where they are not those of `cost`."""
    roofline, work = replica.roofline, replica.work
    tokens = np.arange(1, max_batch_tokens + 1, dtype=np.float64)
    linear = np.zeros(max_batch_tokens + 1)
    for part in work.linear_step(tokens, ARRAYS):
        linear[1:] += roofline.matrix_seconds(part, ARRAYS)
    sequences = np.arange(1, max_running + 1, dtype=np.float64)
    head = np.zeros(max_running + 1)
    head[1:] = roofline.matrix_seconds(work.head.step(sequences, ARRAYS), ARRAYS)
    rate = roofline.link_bytes_per_s
    model = StepModel(
        linear_s=linear,
        head_s=head,
        link_s_per_token=0.0 if rate is None else float(work.sent_bytes(1)) / rate,
        overhead_s=roofline.step_overhead_s,
        attention=_attention(replica),
        lookup_s_per_block=lookup_s_per_block,
    )
    _check(replica, model)
    return model


def distinct_windows(attention: Floats) -> list[int]:
    """Sizes of the windows in a table of attention, in rising order."""
    sizes = np.unique(attention[:, WINDOW])
    return [int(size) for size in sizes if size]


def _attention(replica: Replica) -> Floats:
    rows = []
    for group, (layers, mixer) in enumerate(replica.work.attention):
        for form in _forms(mixer):
            rows.append([group, ABSENT, form[0], *(layers * np.array(form[1:]))])
    table = np.array(rows, dtype=np.float64).reshape(-1, NUM_COLUMNS)
    for number, window in enumerate(distinct_windows(table)):
        table[table[:, WINDOW] == window, WINDOW_NUMBER] = number
    roofline = replica.roofline
    table[:, FLOPS_PAIRS:BYTES_CACHED] /= roofline.num_gpus * roofline.attention_flops_per_s
    table[:, BYTES_CACHED:] /= roofline.num_gpus * roofline.memory_bytes_per_s
    return table


def _forms(mixer: MixerWork) -> list[list[float]]:
    """One layer's forms: window, then FLOPs and bytes by amount (the columns from WINDOW on)."""
    match mixer:
        case HeadsWork():
            kv, other = mixer.kv_bytes_per_token, mixer.other_bytes_per_token
            window = mixer.window_tokens or 0
            return [[window, mixer.flops_per_pair, 0, 0, 0, kv, kv + other, 0, 0]]
        case LatentWork():
            return [_latent(mixer, form == "absorbed") for form in mixer.forms]
        case StateWork():
            state = mixer.state_bytes
            return [[0, 0, 0, mixer.flops_per_token, 0, 0, 0, state, state]]


def _latent(mixer: LatentWork, absorbed: bool) -> list[float]:
    layer, kept, wide = mixer.latent, mixer.latent_bytes_per_token, mixer.activation_bytes
    heads = layer.num_heads
    if absorbed:
        width = 2 * layer.kv_lora_rank + layer.qk_rope_head_dim
        return [0, 2 * heads * width, 0, 0, kept, 0, kept + wide * heads * width, 0, 0]
    expanded = layer.qk_nope_head_dim + layer.v_head_dim
    width = expanded + layer.qk_rope_head_dim
    again = 2 * heads * layer.kv_lora_rank * expanded
    cached = kept + wide * heads * 2 * expanded
    return [0, 2 * heads * width, again, 0, cached, 0, kept + wide * heads * width, 0, 0]


def _check(replica: Replica, model: StepModel) -> None:
    """Against the formulas that the coefficients were taken from, on a grid."""
    sizes = {1, 2, 15, 16, 17, 511, 4096, 8191, len(model.linear_s) - 1}
    news = [new for new in sorted(sizes) if new < len(model.linear_s)]
    for cached in (0, 1, 2, 15, 127, 128, 129, 1023, 1024, 4095, 4096, 4097, 100_001):
        for new in news:
            ours = _seconds_of_one(model, cached, new)
            theirs = _step_of_cost(replica, cached, new)
            if not np.isclose(ours, theirs, rtol=_TOLERANCE, atol=0.0):
                cause = f"a step of {new:,} tokens behind {cached:,} takes {ours} s, not {theirs} s"
                raise SettingError(f"--model {replica.shape.name}", cause)


def _step_of_cost(replica: Replica, cached: int, new: int) -> float:
    work, roofline = replica.work, replica.roofline
    parts = work.linear_step(new, NUMBERS)
    total = sum(roofline.matrix_seconds(part, NUMBERS) for part in parts)
    for layers, mixer in work.attention:
        forms = [form.times(layers) for form in mixer.step(cached, new, NUMBERS)]
        total += min(roofline.attention_seconds(form, NUMBERS) for form in forms)
    total += roofline.matrix_seconds(work.head.step(1, NUMBERS), NUMBERS)
    if roofline.link_bytes_per_s is not None:
        total += work.sent_bytes(new) / roofline.link_bytes_per_s
    return float(total + roofline.step_overhead_s)


def _seconds_of_one(model: StepModel, cached: int, new: int) -> float:
    return (
        float(model.linear_s[new] + model.head_s[1])
        + model.link_s_per_token * new
        + model.overhead_s
        + float(chunk_attention_s(model.attention, cached, new))
    )


@kernel
def _row_s(
    row: Floats, pairs: int, cached: int, read: int, new: int, sequences: int, held: int
) -> float:
    """Of one kind of layer in one form: the longer of arithmetic and traffic."""
    arithmetic = row[FLOPS_PAIRS] * pairs + row[FLOPS_CACHED] * cached + row[FLOPS_NEW] * new
    traffic = row[BYTES_CACHED] * cached + row[BYTES_READ] * read + row[BYTES_NEW] * new
    traffic += row[BYTES_SEQUENCES] * sequences + row[BYTES_HELD] * held
    return float(max(arithmetic, traffic))


@kernel
def chunk_attention_s(attention: Floats, cached: int, new: int) -> float:
    """Attention of `new` tokens of one sequence behind `cached` ones, all kinds of layers."""
    total = 0.0
    best = 0.0
    for i in range(len(attention)):
        row = attention[i]
        window = int(row[WINDOW])
        read = cached
        growing = new
        if window > 0:
            read = min(cached, window - 1)
            growing = min(max(window - cached, 0), new)
        pairs = growing * cached + growing * (growing + 1) // 2 + (new - growing) * window
        seconds = _row_s(row, pairs, cached, read, new, 1, min(cached, 1))
        if i > 0 and row[GROUP] == attention[i - 1][GROUP]:
            best = min(best, seconds)
        else:
            total += best
            best = seconds
    return total + best


@kernel
def decode_attention_s(attention: Floats, count: int, cached: int, in_window: Ints) -> float:
    """Attention of one new token of each of `count` sequences. cached: tokens behind which they
    stand, summed. in_window[number]: the sum over them of what a window sees, new token included
    (the lesser of context and window)."""
    total = 0.0
    best = 0.0
    for i in range(len(attention)):
        row = attention[i]
        number = int(row[WINDOW_NUMBER])
        pairs = cached + count
        if number >= 0:
            pairs = in_window[number]
        seconds = _row_s(row, pairs, cached, pairs - count, count, count, count)
        if i > 0 and row[GROUP] == attention[i - 1][GROUP]:
            best = min(best, seconds)
        else:
            total += best
            best = seconds
    return total + best

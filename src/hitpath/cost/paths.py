"""The two paths of one request: what they compute and move, and how long that takes.

The *miss path* runs a whole prompt through the model; the *hit path* runs the tokens that are not
cached, against the cached ones. A hit never covers the last token: it has to be computed to
know the first output token. So a hit path with all but one token cached is one decode step.

    TTFT = linear + attention + lm_head + all-reduce + steps x overhead + lookup + queue

Parts run one after the other, each bound by its own side of the roofline; an all-reduce is not
overlapped. Chunked prefill runs `chunk_tokens` of each sequence a step: FLOPs stay the same (but
for unabsorbed MLA, which expands its context again in every step), weights and context are read
again. lm_head is applied to the last token only.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from hitpath.core import MAX_TOKENS, SettingError
from hitpath.cost.attention import LatentForm
from hitpath.cost.chunks import attention_over_steps
from hitpath.cost.device import Hardware
from hitpath.cost.formats import Formats
from hitpath.cost.model_work import ModelWork, model_work
from hitpath.cost.roofline import Bound, Ops, Roofline, Work, intensity, load_roofline
from hitpath.cost.shapes import ModelShape

NUMBERS = Ops(least=min, most=max, expm1=math.expm1)

PARTS = ("linear", "attention", "lm_head", "allreduce")


@dataclass(frozen=True, slots=True)
class Replica:
    """A model in its formats on the GPUs that serve it together."""

    shape: ModelShape
    hardware: Hardware
    formats: Formats
    roofline: Roofline
    work: ModelWork

    @property
    def num_gpus(self) -> int:
        return self.roofline.num_gpus


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a path, all its steps and GPUs together. `sent_bytes`: what each GPU sends to
    others. `layers`: layers that it is in."""

    flops: float
    weight_bytes: float
    kv_bytes: float
    other_bytes: float
    sent_bytes: float
    layers: int
    bound: Bound
    time_s: float

    @property
    def intensity(self) -> float | None:
        """FLOP a byte of weights and KV; None where there are none."""
        return intensity(self.flops, self.weight_bytes + self.kv_bytes)

    @property
    def intensity_all_bytes(self) -> float | None:
        """FLOP a byte of all that is read and written; the bound follows from this one."""
        return intensity(self.flops, self.weight_bytes + self.kv_bytes + self.other_bytes)

    @property
    def flops_per_layer(self) -> float:
        """Mean over the layers that the part is in."""
        if isinstance(self.flops, int) and self.flops % self.layers == 0:
            return self.flops // self.layers
        return self.flops / self.layers


@dataclass(frozen=True, slots=True)
class Path:
    """A request (or a batch of equal ones) from its arrival to its first token. Tokens are of one
    sequence; parts are of all sequences."""

    tokens_computed: int
    tokens_cached: int
    batch: int
    num_steps: int
    parts: dict[str, Part]
    overhead_s: float
    lookup_s: float
    queue_s: float

    @property
    def ttft_s(self) -> float:
        """Seconds until the first token."""
        return self.compute_s + self.overhead_s + self.lookup_s + self.queue_s

    @property
    def compute_s(self) -> float:
        """Seconds of all parts, without overheads."""
        return sum(part.time_s for part in self.parts.values())

    @property
    def flops(self) -> float:
        """FLOPs of all parts."""
        return sum(part.flops for part in self.parts.values())

    @property
    def intensity(self) -> float | None:
        """FLOP a byte of weights and KV over the whole path."""
        moved = sum(part.weight_bytes + part.kv_bytes for part in self.parts.values())
        return intensity(self.flops, moved)


def replica_of(
    shape: ModelShape,
    hardware: Hardware,
    num_gpus: int = 1,
    formats: Formats | None = None,
    efficiency: str = "ideal",
    latent_form: LatentForm | None = None,
) -> Replica:
    """A model on so many GPUs, tensor parallel. `efficiency`: see efficiency.load_efficiency.
    Raises SettingError for what the model or the hardware cannot do or does not tell."""
    formats = formats or Formats()
    work = model_work(shape, formats, num_gpus, latent_form)
    roofline = load_roofline(hardware, formats, num_gpus, efficiency)
    return Replica(shape, hardware, formats, roofline, work)


def miss_path(
    replica: Replica,
    prompt_tokens: int,
    *,
    batch: int = 1,
    chunk_tokens: int | None = None,
    queue_s: float = 0.0,
) -> Path:
    """The whole prompt."""
    return hit_path(
        replica, prompt_tokens, 0, batch=batch, chunk_tokens=chunk_tokens, queue_s=queue_s
    )


def hit_path(
    replica: Replica,
    prompt_tokens: int,
    cached_tokens: int,
    *,
    batch: int = 1,
    chunk_tokens: int | None = None,
    lookup_s: float = 0.0,
    queue_s: float = 0.0,
) -> Path:
    """What is left of the prompt behind the cached tokens, at least its last token. With nothing
    cached it is the miss path (and a lookup in vain, where `lookup_s` is given)."""
    _check("--prompt", prompt_tokens, MAX_TOKENS)
    _check("--batch", batch, 1 << 20)
    if chunk_tokens is not None:
        _check("--chunk", chunk_tokens, MAX_TOKENS)
    if not 0 <= cached_tokens <= prompt_tokens:
        raise SettingError("--cached", f"{cached_tokens:,} of {prompt_tokens:,} tokens")
    cached = min(cached_tokens, prompt_tokens - 1)
    new = prompt_tokens - cached
    totals = _Totals(replica, batch)
    num_steps = 0
    for context, tokens, count in steps(cached, new, chunk_tokens):
        totals.add_steps(context, tokens, count)
        num_steps += count
    return Path(
        tokens_computed=new,
        tokens_cached=cached,
        batch=batch,
        num_steps=num_steps,
        parts=totals.parts(),
        overhead_s=num_steps * replica.roofline.step_overhead_s,
        lookup_s=lookup_s,
        queue_s=queue_s,
    )


def decode_step(replica: Replica, context_tokens: int, batch: int = 1) -> Path:
    """One step that computes the last of `context_tokens` tokens of each sequence."""
    return hit_path(replica, context_tokens, context_tokens - 1, batch=batch)


def tpot_s(replica: Replica, prompt_tokens: int, output_tokens: int, batch: int = 1) -> float:
    """Seconds an output token: a decode step in the middle of the output, whose context is the
    prompt and half the output.

    It is the same on both paths, for after the first token both have the same tokens in the cache
    and the same step to run. That is why a prefix cache shortens TTFT and leaves TPOT alone.
    """
    return decode_step(replica, prompt_tokens + output_tokens // 2, batch).ttft_s


def steps(cached: int, new: int, chunk_tokens: int | None) -> Iterator[tuple[int, int, int]]:
    """(context of the first, tokens of each, how many) of equal steps: all the whole ones, then
    the last if it is shorter."""
    chunk = new if chunk_tokens is None else min(chunk_tokens, new)
    count, rest = divmod(new, chunk)
    yield cached, chunk, count
    if rest:
        yield cached + count * chunk, rest, 1


def _check(option: str, value: int, most: int) -> None:
    if not 1 <= value <= most:
        raise SettingError(f"{option} {value}", f"is not from 1 to {most:,}")


class _Totals:
    """Sums over the steps of a path."""

    def __init__(self, replica: Replica, batch: int) -> None:
        self._replica, self._batch = replica, batch
        self._linear, self._attention = Work(), Work()
        self._linear_s = self._attention_s = 0.0
        self._sent: float = 0

    def add_steps(self, context: int, tokens: int, count: int) -> None:
        work, roofline, batch = self._replica.work, self._replica.roofline, self._batch
        for kernel in work.linear_step(batch * tokens, NUMBERS):
            self._linear += kernel.times(count)
            self._linear_s += count * roofline.matrix_seconds(kernel, NUMBERS)
        for layers, mixer in work.attention:
            done, seconds = attention_over_steps(
                mixer, roofline, layers * batch, context, tokens, count, NUMBERS
            )
            self._attention += done
            self._attention_s += seconds
        self._sent += count * work.sent_bytes(batch * tokens)

    def parts(self) -> dict[str, Part]:
        """With the head, which the last step applies to one token of each sequence."""
        replica, roofline = self._replica, self._replica.roofline
        head = replica.work.head.step(self._batch, NUMBERS)
        head_s = roofline.matrix_seconds(head, NUMBERS)
        attending = sum(group.count for group in replica.shape.layers if group.mixers)
        matrix, attention = roofline.matrix_flops_per_s, roofline.attention_flops_per_s
        return {
            "linear": _part(
                self._linear,
                replica.shape.num_layers,
                roofline.bound(self._linear, matrix),
                self._linear_s,
            ),
            "attention": _part(
                self._attention,
                attending,
                roofline.bound(self._attention, attention),
                self._attention_s,
            ),
            "lm_head": _part(head, 1, roofline.bound(head, matrix), head_s),
            "allreduce": _allreduce(replica, self._sent),
        }


def _part(work: Work, layers: int, bound: Bound, time_s: float) -> Part:
    return Part(
        flops=work.flops,
        weight_bytes=work.weight_bytes,
        kv_bytes=work.kv_bytes,
        other_bytes=work.other_bytes,
        sent_bytes=0,
        layers=layers,
        bound=bound,
        time_s=time_s,
    )


def _allreduce(replica: Replica, sent: float) -> Part:
    """What each GPU sends, over its links; the additions are not counted."""
    rate = replica.roofline.link_bytes_per_s
    bound: Bound = "none" if rate is None or not sent else "link"
    return Part(0, 0, 0, 0, sent, replica.shape.num_layers, bound, sent / rate if rate else 0.0)

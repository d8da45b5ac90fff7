"""What attention and state layers do and move in one step: new tokens behind cached ones.

Of each sequence the cached context is read once a step and the KV of the new tokens is written
once; queries are read and outputs written in the activations' type. Softmax, rotary embedding
and norms are not counted. A prefix that several sequences of a batch share is read once for
each of them, as paged attention does without a cascade.

Every formula takes numbers or numpy arrays (see roofline.Ops). attention.py has the same FLOPs as
exact counts of one request; the tests hold the two against each other.
"""

from dataclasses import dataclass

from hitpath.cost.attention import LatentForm
from hitpath.cost.formats import STATE_BYTES, Formats
from hitpath.cost.roofline import Amount, Ops, Work
from hitpath.cost.shapes import (
    FullAttention,
    LatentAttention,
    Mixer,
    SlidingAttention,
    StateLayer,
)


@dataclass(frozen=True, slots=True)
class HeadsWork:
    """Grouped-query attention; `window_tokens` None: over the whole context."""

    flops_per_pair: int
    kv_bytes_per_token: float
    other_bytes_per_token: float
    window_tokens: int | None

    def step(self, cached: Amount, new: Amount, ops: Ops) -> tuple[Work, ...]:
        """One layer and sequence. A window's first new token sees itself and window - 1 more."""
        window = self.window_tokens
        read = cached if window is None else ops.least(cached, window - 1)
        return (
            Work(
                flops=self.flops_per_pair * pairs(cached, new, window, ops),
                kv_bytes=self.kv_bytes_per_token * (read + new),
                other_bytes=self.other_bytes_per_token * new,
            ),
        )

    def breaks(self, context: int, chunk: int) -> list[int]:
        """Steps at which the work may stop (or begin again) to be a straight line in the steps:
        around those where the window fills."""
        if self.window_tokens is None:
            return []
        window = self.window_tokens
        fills = [(w - context) // chunk for w in (window - chunk, window - 1, window)]
        return [step + i for step in fills for i in (0, 1)]

    def held_bytes(self, tokens: int) -> float:
        """What one layer keeps of a prefix."""
        kept = tokens if self.window_tokens is None else min(tokens, self.window_tokens)
        return self.kv_bytes_per_token * kept


@dataclass(frozen=True, slots=True)
class LatentWork:
    """MLA in each form that may run (attention.py): the roofline takes the faster one.

    Unabsorbed, the latents of the context are expanded once more in every step, written and read
    back; the expansion of the new tokens is a linear layer's product and counted there.
    """

    latent: LatentAttention
    latent_bytes_per_token: float
    activation_bytes: float
    forms: tuple[LatentForm, ...]

    def step(self, cached: Amount, new: Amount, ops: Ops) -> tuple[Work, ...]:
        """One layer and sequence, one Work a form."""
        return tuple(
            (self._absorbed if form == "absorbed" else self._unabsorbed)(cached, new, ops)
            for form in self.forms
        )

    def breaks(self, context: int, chunk: int) -> list[int]:
        """None: straight lines throughout."""
        return []

    def held_bytes(self, tokens: int) -> float:
        """What one layer keeps of a prefix."""
        return self.latent_bytes_per_token * tokens

    def _absorbed(self, cached: Amount, new: Amount, ops: Ops) -> Work:
        layer = self.latent
        width = 2 * layer.kv_lora_rank + layer.qk_rope_head_dim
        return Work(
            flops=2 * layer.num_heads * width * pairs(cached, new, None, ops),
            kv_bytes=self.latent_bytes_per_token * (cached + new),
            other_bytes=self.activation_bytes * layer.num_heads * width * new,
        )

    def _unabsorbed(self, cached: Amount, new: Amount, ops: Ops) -> Work:
        layer, heads = self.latent, self.latent.num_heads
        expanded = layer.qk_nope_head_dim + layer.v_head_dim
        width = expanded + layer.qk_rope_head_dim
        flops = width * pairs(cached, new, None, ops) + layer.kv_lora_rank * expanded * cached
        return Work(
            flops=2 * heads * flops,
            kv_bytes=self.latent_bytes_per_token * (cached + new),
            other_bytes=self.activation_bytes * heads * (width * new + 2 * expanded * cached),
        )


@dataclass(frozen=True, slots=True)
class StateWork:
    """A state layer: its state is written once a step, and read where there is one already."""

    flops_per_token: int
    state_bytes: float

    def step(self, cached: Amount, new: Amount, ops: Ops) -> tuple[Work, ...]:
        """One layer and sequence."""
        held = ops.least(cached, 1)
        return (Work(flops=self.flops_per_token * new, kv_bytes=self.state_bytes * (held + 1)),)

    def breaks(self, context: int, chunk: int) -> list[int]:
        """Behind a first step that had no state to read."""
        return [1]

    def held_bytes(self, tokens: int) -> float:
        """What one layer keeps of a prefix, however long."""
        return self.state_bytes * min(tokens, 1)


MixerWork = HeadsWork | LatentWork | StateWork


def mixer_work(
    mixer: Mixer, formats: Formats, num_gpus: int, latent_form: LatentForm | None
) -> MixerWork:
    """What one layer does on so many GPUs. Where there are fewer KV heads than GPUs every head is
    kept on several; the latents of MLA are kept on every one. `latent_form` None: either."""
    match mixer:
        case FullAttention():
            return _heads(mixer, formats, num_gpus, None)
        case SlidingAttention():
            return _heads(mixer.heads, formats, num_gpus, mixer.window_tokens)
        case LatentAttention():
            kept = mixer.kv_lora_rank + mixer.qk_rope_head_dim
            return LatentWork(
                latent=mixer,
                latent_bytes_per_token=num_gpus * kept * formats.kv_bytes,
                activation_bytes=formats.activation_bytes,
                forms=("absorbed", "unabsorbed") if latent_form is None else (latent_form,),
            )
        case StateLayer():
            elements = mixer.state_elements + mixer.conv_state_elements
            return StateWork(mixer.flops_per_token, elements * STATE_BYTES)


def _heads(heads: FullAttention, formats: Formats, num_gpus: int, window: int | None) -> HeadsWork:
    kept_heads = max(heads.num_kv_heads, num_gpus)
    queries = heads.num_heads * heads.head_dim
    return HeadsWork(
        flops_per_pair=4 * queries,
        kv_bytes_per_token=2 * kept_heads * heads.head_dim * formats.kv_bytes,
        other_bytes_per_token=2 * queries * formats.activation_bytes,
        window_tokens=window,
    )


def pairs(cached: Amount, new: Amount, window: int | None, ops: Ops) -> Amount:
    """Pairs of a new token and a token that it sees, as attention.attended_pairs counts them."""
    if window is None:
        return new * cached + new * (new + 1) // 2
    growing = ops.least(ops.most(window - cached, 0), new)
    return growing * cached + growing * (growing + 1) // 2 + (new - growing) * window

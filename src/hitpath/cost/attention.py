"""FLOPs of attention: the score and value products, 2 FLOPs a multiply-add, causal and exact.

The new tokens stand behind `cached` ones; token i of them sees the cached ones, its i - 1 new
predecessors and itself. Softmax, rotary embedding and norms are not counted.

MLA has two equivalent forms (the docstring of vLLM's vllm/v1/attention/backends/mla/common.py
writes both out). *Unabsorbed*: keys and values are expanded from the latents, heads are small;
expanding the new tokens' latents is the linear layer kv_b_proj and counted there, but a cached
prefix has to be expanded again, and that is counted here. *Absorbed*: queries are taken into
the latent space (which costs what kv_b_proj costs, so the linear count holds for both) and each
head works on the whole latent. vLLM prefills unabsorbed and decodes absorbed; requests of at most
512 new tokens go the way of decoding (flashattn_mla.py: reorder_batch_threshold). So the
default is unabsorbed without a cached prefix and absorbed behind one.
"""

from typing import Literal

from hitpath.cost.shapes import (
    FullAttention,
    LatentAttention,
    Mixer,
    ModelShape,
    SlidingAttention,
    StateLayer,
)

LatentForm = Literal["absorbed", "unabsorbed"]


def attention_flops(
    shape: ModelShape, cached: int, new: int, latent_form: LatentForm | None = None
) -> int:
    """FLOPs of all attention and state layers for `new` tokens behind `cached` ones."""
    return sum(
        group.count * sum(mixer_flops(mixer, cached, new, latent_form) for mixer in group.mixers)
        for group in shape.layers
    )


def mixer_flops(mixer: Mixer, cached: int, new: int, latent_form: LatentForm | None = None) -> int:
    """FLOPs of one attention or state layer for `new` tokens behind `cached` ones."""
    match mixer:
        case FullAttention():
            return 4 * mixer.num_heads * mixer.head_dim * attended_pairs(cached, new)
        case SlidingAttention():
            pairs = attended_pairs(cached, new, mixer.window_tokens)
            return 4 * mixer.heads.num_heads * mixer.heads.head_dim * pairs
        case LatentAttention():
            return _latent_flops(mixer, cached, new, latent_form or default_latent_form(cached))
        case StateLayer():
            return new * mixer.flops_per_token


def default_latent_form(cached: int) -> LatentForm:
    """Which form of MLA an engine runs: see the module."""
    return "absorbed" if cached else "unabsorbed"


def attended_pairs(cached: int, new: int, window_tokens: int | None = None) -> int:
    """Pairs of a new token and a token it sees, itself included: t L + t (t + 1) / 2 without a
    window; with one, each token sees the last `window_tokens` at most."""
    if window_tokens is None:
        return new * cached + new * (new + 1) // 2
    growing = min(max(window_tokens - cached, 0), new)  # tokens that the window does not cap yet
    return growing * cached + growing * (growing + 1) // 2 + (new - growing) * window_tokens


def _latent_flops(mixer: LatentAttention, cached: int, new: int, form: LatentForm) -> int:
    pairs = attended_pairs(cached, new)
    if form == "absorbed":
        width = 2 * mixer.kv_lora_rank + mixer.qk_rope_head_dim
        return 2 * mixer.num_heads * width * pairs
    expanded = mixer.qk_nope_head_dim + mixer.v_head_dim
    width = expanded + mixer.qk_rope_head_dim
    again = cached * mixer.kv_lora_rank * expanded
    return 2 * mixer.num_heads * (width * pairs + again)

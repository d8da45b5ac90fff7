"""What a cached prefix holds: elements that grow with it, windows that fill, states that stay.

Full attention keeps 2 x KV heads x head size a token and layer. MLA keeps one latent and one
rotary key (DeepSeek-V2, arXiv 2405.04434, section 2.1). A sliding window keeps its last tokens
only; a state layer keeps one state a sequence (shapes as vLLM allocates them: the recurrent
state, and kernel - 1 inputs of the convolution).
"""

from hitpath.cost.shapes import (
    FullAttention,
    LatentAttention,
    Mixer,
    ModelShape,
    SlidingAttention,
    StateLayer,
)


def kv_elements_per_token(shape: ModelShape) -> int:
    """Elements that each further token adds for good, over all full and latent layers. Windows
    and states are not in it: see kv_elements."""
    return sum(group.count * sum(map(_growing, group.mixers)) for group in shape.layers)


def kv_elements(shape: ModelShape, tokens: int) -> int:
    """Elements of KV of a prefix of so many tokens, windows capped, without states."""
    windows = sum(
        group.count * sum(_windowed(mixer, tokens) for mixer in group.mixers)
        for group in shape.layers
    )
    return tokens * kv_elements_per_token(shape) + windows


def state_elements(shape: ModelShape) -> int:
    """Elements of the states of one sequence, at whatever length; 0 without state layers."""
    return sum(
        group.count * (mixer.state_elements + mixer.conv_state_elements)
        for group in shape.layers
        for mixer in group.mixers
        if isinstance(mixer, StateLayer)
    )


def kv_bytes(
    shape: ModelShape, tokens: int, kv_element_bytes: float, state_element_bytes: float = 2.0
) -> float:
    """Bytes that a cached prefix of so many tokens occupies: its KV and, where there are state
    layers, one state (what a hit needs; engines that keep a state each block hold more)."""
    states = state_elements(shape) * state_element_bytes if tokens else 0
    return kv_elements(shape, tokens) * kv_element_bytes + states


def has_constant_kv(shape: ModelShape) -> bool:
    """Whether every layer adds the same for each token: no window and no state."""
    return not any(
        isinstance(mixer, SlidingAttention | StateLayer)
        for group in shape.layers
        for mixer in group.mixers
    )


def _growing(mixer: Mixer) -> int:
    match mixer:
        case FullAttention():
            return 2 * mixer.num_kv_heads * mixer.head_dim
        case LatentAttention():
            return mixer.kv_lora_rank + mixer.qk_rope_head_dim
        case _:
            return 0


def _windowed(mixer: Mixer, tokens: int) -> int:
    if not isinstance(mixer, SlidingAttention):
        return 0
    return min(tokens, mixer.window_tokens) * _growing(mixer.heads)

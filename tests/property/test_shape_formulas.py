"""Closed forms of the shapes against loops over positions, heads and elements."""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitpath.core import InputError
from hitpath.cost import state_layers
from hitpath.cost.attention import attended_pairs, attention_flops, mixer_flops
from hitpath.cost.config import READERS, shape_from_config
from hitpath.cost.kv import has_constant_kv, kv_elements, kv_elements_per_token
from hitpath.cost.parameters import (
    active_linear_parameters,
    active_parameters,
    linear_parameters,
    num_parameters,
    touched_expert_share,
    touched_linear_parameters,
)
from hitpath.cost.shapes import (
    Dense,
    Experts,
    FullAttention,
    LatentAttention,
    LayerGroup,
    ModelShape,
    SlidingAttention,
)

small = st.integers(1, 6)
lengths = st.integers(0, 40)

full = st.builds(
    FullAttention,
    num_heads=small,
    num_kv_heads=small,
    head_dim=small,
    qkv_bias=st.booleans(),
    output_bias=st.booleans(),
    output_gate=st.booleans(),
    vector_parameters=st.integers(0, 9),
)
sliding = st.builds(SlidingAttention, heads=full, window_tokens=st.integers(1, 30))
latent = st.builds(
    LatentAttention,
    num_heads=small,
    q_lora_rank=st.none() | small,
    kv_lora_rank=small,
    qk_nope_head_dim=small,
    qk_rope_head_dim=small,
    v_head_dim=small,
    bias=st.booleans(),
)
states = st.builds(
    lambda heads, keys, values: state_layers.gated_delta_net(
        8,
        num_key_heads=1,
        num_value_heads=heads,
        key_head_dim=keys,
        value_head_dim=values,
        d_conv=4,
    ),
    small,
    small,
    small,
)
dense = st.builds(Dense, intermediate=small, gated=st.booleans(), biases=st.booleans())
experts = st.integers(1, 6).flatmap(
    lambda number: st.builds(
        Experts,
        num_experts=st.just(number),
        top_k=st.integers(1, number),
        intermediate=small,
        gated=st.booleans(),
        shared_intermediate=st.integers(0, 4),
        shared_gate=st.booleans(),
        router_bias=st.booleans(),
        expert_biases=st.booleans(),
        latent=st.none() | small,
    )
)
groups = st.builds(
    LayerGroup,
    count=st.integers(1, 4),
    mixers=st.lists(full | sliding | latent | states, max_size=2).map(tuple),
    feed_forward=st.none() | dense | experts,
    norm_parameters=st.integers(0, 20),
)
shapes = st.builds(
    ModelShape,
    name=st.just("random"),
    source=st.just(""),
    d_model=small,
    vocabulary=small,
    tied_embeddings=st.booleans(),
    layers=st.lists(groups, max_size=3).map(tuple),
    final_norm_parameters=st.integers(0, 9),
    head_bias=st.booleans(),
)


def seen(position: int, window: int | None) -> Iterable[int]:
    """The positions that a token sees, itself among them."""
    return [other for other in range(position + 1) if window is None or position - other < window]


@given(lengths, lengths, st.none() | st.integers(1, 50))
def test_pairs_against_a_loop_over_positions(cached, new, window):
    counted = sum(len(list(seen(cached + i, window))) for i in range(new))
    assert attended_pairs(cached, new, window) == counted


def multiply_adds(queries: int, keys: int, width: int) -> int:
    """Of a product of queries x width with width x keys, by a loop over its elements."""
    return sum(1 for _ in range(queries) for _ in range(keys) for _ in range(width))


@settings(max_examples=40)
@given(full, st.integers(0, 8), st.integers(0, 5), st.none() | st.integers(1, 9))
def test_attention_against_the_products_it_makes(heads, cached, new, window):
    counted = 0
    for position in range(cached, cached + new):
        keys = len(list(seen(position, window)))
        for _ in range(heads.num_heads):
            counted += 2 * multiply_adds(1, keys, heads.head_dim)  # scores
            counted += 2 * multiply_adds(1, heads.head_dim, keys)  # values
    mixer = heads if window is None else SlidingAttention(heads=heads, window_tokens=window)
    assert mixer_flops(mixer, cached, new) == counted


@settings(max_examples=40)
@given(latent, st.integers(0, 8), st.integers(0, 5))
def test_both_forms_of_latent_attention_against_their_products(mixer, cached, new):
    """By vLLM's description, mla/common.py: expansion of the new latents is a linear layer."""
    nope, rope, v, rank = (
        mixer.qk_nope_head_dim,
        mixer.qk_rope_head_dim,
        mixer.v_head_dim,
        mixer.kv_lora_rank,
    )
    absorbed = unabsorbed = 0
    for _ in range(mixer.num_heads):
        for position in range(cached, cached + new):
            keys = position + 1
            absorbed += multiply_adds(1, keys, rank + rope) + multiply_adds(1, rank, keys)
            unabsorbed += multiply_adds(1, keys, nope + rope) + multiply_adds(1, v, keys)
        unabsorbed += multiply_adds(cached, nope, rank) + multiply_adds(cached, v, rank)
    assert mixer_flops(mixer, cached, new, "absorbed") == 2 * absorbed
    assert mixer_flops(mixer, cached, new, "unabsorbed") == 2 * unabsorbed


@given(shapes, lengths, lengths, lengths)
def test_chunking_never_changes_flops(shape, cached, first, second):
    """But for unabsorbed latents, which each chunk expands again."""
    whole = attention_flops(shape, cached, first + second, "absorbed")
    parts = attention_flops(shape, cached, first, "absorbed")
    parts += attention_flops(shape, cached + first, second, "absorbed")
    assert whole == parts


@given(shapes, lengths, lengths)
def test_flops_and_kv_never_fall_with_length(shape, cached, new):
    for form in (None, "absorbed", "unabsorbed"):
        flops = attention_flops(shape, cached, new, form)
        assert 0 <= flops <= attention_flops(shape, cached, new + 1, form)
    assert attention_flops(shape, cached, new, "absorbed") <= attention_flops(
        shape, cached + 1, new, "absorbed"
    )
    assert kv_elements(shape, cached) <= kv_elements(shape, cached + 1)


@given(shapes, lengths)
def test_kv_against_a_loop_over_positions(shape, tokens):
    counted = 0
    for group in shape.layers:
        for mixer in group.mixers:
            kept = range(tokens)
            match mixer:
                case FullAttention():
                    one = 2 * mixer.num_kv_heads * mixer.head_dim
                case SlidingAttention():
                    one = 2 * mixer.heads.num_kv_heads * mixer.heads.head_dim
                    kept = [p for p in kept if tokens - p <= mixer.window_tokens]
                case LatentAttention():
                    one = mixer.kv_lora_rank + mixer.qk_rope_head_dim
                case _:
                    one = 0
            counted += group.count * sum(one for _ in kept)
    assert kv_elements(shape, tokens) == counted
    if has_constant_kv(shape):
        assert counted == tokens * kv_elements_per_token(shape)


@given(shapes, st.integers(1, 50))
def test_parameters_nest(shape, tokens):
    assert active_linear_parameters(shape) <= linear_parameters(shape) <= num_parameters(shape)
    assert active_linear_parameters(shape) <= active_parameters(shape) <= num_parameters(shape)
    touched = touched_linear_parameters(shape, tokens)
    slack = 1e-9 * linear_parameters(shape)
    assert active_linear_parameters(shape) - slack <= touched <= linear_parameters(shape) + slack
    assert touched <= touched_linear_parameters(shape, tokens + 1) + slack
    doubled = replace(shape, layers=shape.layers + shape.layers)
    assert linear_parameters(doubled) == 2 * linear_parameters(shape)
    routed = any(isinstance(group.feed_forward, Experts) for group in shape.layers)
    if not routed:
        assert num_parameters(shape) == active_parameters(shape)


@given(st.integers(1, 1000), st.data(), st.integers(0, 5000))
def test_touched_share_is_a_share_and_rises(num_experts, data, tokens):
    top_k = data.draw(st.integers(1, num_experts))
    share = touched_expert_share(num_experts, top_k, tokens)
    assert 0 <= share <= touched_expert_share(num_experts, top_k, tokens + 1) <= 1
    if tokens:
        assert share >= top_k / num_experts * (1 - 1e-12)


class Counted:
    """A number that counts the multiplications, additions and exponentials made with it."""

    flops = 0

    def __add__(self, other):
        Counted.flops += 1
        return Counted()

    __mul__ = __sub__ = __add__

    def exp(self):
        Counted.flops += 1
        return Counted()


def total(numbers):
    """n numbers are n additions, as in n multiply-adds."""
    result = Counted()
    for number in numbers:
        result = result + number
    return result


def convolution(channels, taps):
    for _ in range(channels):
        total(Counted() * Counted() for _ in range(taps))


@given(small, small, st.integers(1, 4))
def test_mamba_against_its_recurrence(channels, size, taps):
    layer = state_layers.mamba(
        4,
        d_inner=channels,
        d_state=size,
        d_conv=taps,
        dt_rank=2,
        projection_bias=False,
        conv_bias=False,
        inner_norms=False,
    )
    Counted.flops = 0
    convolution(channels, taps)
    for _ in range(channels):
        dt, u, skip = Counted(), Counted(), Counted()
        scaled = dt * u
        state = [(dt * Counted()).exp() * Counted() + scaled * Counted() for _ in range(size)]
        total(element * Counted() for element in state) + skip * u
    assert layer.flops_per_token == Counted.flops


@given(small, small, small, st.integers(1, 3), st.integers(1, 4))
def test_mamba2_against_its_recurrence(heads, width, size, num_groups, taps):
    layer = state_layers.mamba2(
        4,
        num_heads=heads,
        head_dim=width,
        d_state=size,
        num_groups=num_groups,
        d_conv=taps,
        projection_bias=False,
        conv_bias=False,
        gated_norm=False,
    )
    Counted.flops = 0
    convolution(heads * width + 2 * num_groups * size, taps)
    for _ in range(heads):
        dt, skip = Counted(), Counted()
        decay = (dt * Counted()).exp()
        for _ in range(width):
            x = Counted()
            scaled = dt * x
            state = [decay * Counted() + scaled * Counted() for _ in range(size)]
            total(element * Counted() for element in state) + skip * x
    assert layer.flops_per_token == Counted.flops


@given(small, small, small, small, st.integers(1, 4))
def test_gated_delta_net_against_its_recurrence(key_heads, value_heads, keys, values, taps):
    layer = state_layers.gated_delta_net(
        4,
        num_key_heads=key_heads,
        num_value_heads=value_heads,
        key_head_dim=keys,
        value_head_dim=values,
        d_conv=taps,
    )
    Counted.flops = 0
    convolution(2 * key_heads * keys + value_heads * values, taps)
    for _ in range(value_heads):
        decay, strength = Counted(), Counted()
        state = [[decay * Counted() for _ in range(values)] for _ in range(keys)]
        for column in range(values):
            predicted = total(state[row][column] * Counted() for row in range(keys))
            delta = (Counted() - predicted) * strength
            for row in range(keys):
                state[row][column] = state[row][column] + Counted() * delta
            total(state[row][column] * Counted() for row in range(keys))
    assert layer.flops_per_token == Counted.flops


FIELDS = sorted(
    {
        "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads", "vocab_size", "head_dim", "sliding_window", "use_sliding_window",
        "max_window_layers", "layer_types", "tie_word_embeddings", "num_experts",
        "num_local_experts", "n_routed_experts", "num_experts_per_tok", "moe_intermediate_size",
        "first_k_dense_replace", "kv_lora_rank", "q_lora_rank", "qk_nope_head_dim",
        "qk_rope_head_dim", "v_head_dim", "decoder_sparse_step", "mlp_only_layers",
        "hybrid_override_pattern", "layers_block_type", "attn_layer_period", "text_config",
        "mamba_d_state", "mamba_d_conv", "mamba_expand", "mamba_n_heads", "mamba_d_head",
        "sliding_window_pattern", "shared_intermediate_size", "max_position_embeddings",
    }
)  # fmt: skip
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 12),
    st.integers(-(10**30), 10**30),
    st.floats(),
    st.sampled_from(["auto", "M*-E", "full_attention"]),
    st.lists(
        st.sampled_from(["full_attention", "sliding_attention", "mamba", "attention", 3]),
        max_size=4,
    ),
)


REFERENCE = Path(__file__).parents[1] / "reference" / "transformers" / "parameters.json"
CONFIGS = json.loads(REFERENCE.read_text())["models"]


@settings(max_examples=300)
@given(st.sampled_from(CONFIGS), st.dictionaries(st.sampled_from(FIELDS), values, max_size=3))
def test_any_config_is_a_shape_or_one_named_error(config, changed):
    shape = error = None
    try:
        shape = shape_from_config({**config, **changed}, "x", "", "config.json")
    except InputError as caught:
        error = caught
    if shape is not None:
        assert num_parameters(shape) > 0
    else:
        assert (error.place, bool(error.field)) == ("config.json", True)


@pytest.mark.parametrize("model_type", sorted(READERS))
def test_a_config_of_nothing_names_a_field(model_type):
    with pytest.raises(InputError) as error:
        shape_from_config({"model_type": model_type}, "x", "", "config.json")
    assert "missing" in error.value.cause

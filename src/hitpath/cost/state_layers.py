"""State layers from their sizes: parameters, state, and the FLOPs of their recurrence.

FLOPs are counted from the recurrences as the papers write them, one for each multiplication,
addition and exponential; projections are linear layers and counted there. Chunked prefill
kernels do more arithmetic for the same result; a hit avoids at least what stands here.
"""

from hitpath.cost.shapes import StateLayer


def mamba(
    d_model: int,
    *,
    d_inner: int,
    d_state: int,
    d_conv: int,
    dt_rank: int,
    projection_bias: bool,
    conv_bias: bool,
    inner_norms: bool,
) -> StateLayer:
    """Mamba-1 (arXiv 2312.00752, equation 2 and algorithm 2). `inner_norms`: learned norms of
    dt, B and C (Jamba).

    A token and channel: dt u (1), D u added (2); a token, channel and state: exp(dt A) (2),
    dt u B (1), the update h (2), C h (2).
    """
    linear = d_model * 2 * d_inner + d_inner * (dt_rank + 2 * d_state) + dt_rank * d_inner
    linear += d_inner * d_model
    vectors = d_inner * d_conv + d_inner + d_inner * d_state + d_inner  # taps, dt bias, A, D
    vectors += d_inner if conv_bias else 0
    vectors += 2 * d_inner + d_model if projection_bias else 0
    vectors += dt_rank + 2 * d_state if inner_norms else 0
    return StateLayer(
        kind="mamba",
        linear_parameters=linear,
        vector_parameters=vectors,
        state_elements=d_inner * d_state,
        conv_state_elements=d_inner * (d_conv - 1),
        flops_per_token=7 * d_inner * d_state + 3 * d_inner + 2 * d_conv * d_inner,
    )


def mamba2(
    d_model: int,
    *,
    num_heads: int,
    head_dim: int,
    d_state: int,
    num_groups: int,
    d_conv: int,
    projection_bias: bool,
    conv_bias: bool,
    gated_norm: bool,
) -> StateLayer:
    """Mamba-2 (arXiv 2405.21060, the recurrent form of section 2): one decay a head.

    A token and channel: dt x (1), D x added (2); a token, channel and state: x B (1), the update
    h (2), C h (2); a token and head: exp(dt A) (2).
    """
    d_inner = num_heads * head_dim
    conv_channels = d_inner + 2 * num_groups * d_state
    projected = d_inner + conv_channels + num_heads  # gate; x, B and C; dt
    vectors = conv_channels * d_conv + 3 * num_heads  # taps; dt bias, A, D
    vectors += conv_channels if conv_bias else 0
    vectors += projected + d_model if projection_bias else 0
    vectors += d_inner if gated_norm else 0
    return StateLayer(
        kind="mamba2",
        linear_parameters=d_model * projected + d_inner * d_model,
        vector_parameters=vectors,
        state_elements=d_inner * d_state,
        conv_state_elements=conv_channels * (d_conv - 1),
        flops_per_token=(
            5 * d_inner * d_state + 3 * d_inner + 2 * num_heads + 2 * d_conv * conv_channels
        ),
    )


def gated_delta_net(
    d_model: int,
    *,
    num_key_heads: int,
    num_value_heads: int,
    key_head_dim: int,
    value_head_dim: int,
    d_conv: int,
) -> StateLayer:
    """Gated DeltaNet (arXiv 2412.06464, equation 10), as in Qwen3-Next: key heads are shared by
    value heads, the state is one key x value matrix a value head.

    A token and element of the state: decay (1), k S (2), the update (2), q S (2); a token and
    value channel: the difference and its strength beta (2).
    """
    key_width, value_width = num_key_heads * key_head_dim, num_value_heads * value_head_dim
    conv_channels = 2 * key_width + value_width
    projected = conv_channels + value_width + 2 * num_value_heads  # q, k, v; gate; beta, decay
    state = num_value_heads * key_head_dim * value_head_dim
    return StateLayer(
        kind="gated_delta_net",
        linear_parameters=d_model * projected + value_width * d_model,
        vector_parameters=conv_channels * d_conv + 2 * num_value_heads + value_head_dim,
        state_elements=state,
        conv_state_elements=conv_channels * (d_conv - 1),
        flops_per_token=7 * state + 2 * value_width + 2 * d_conv * conv_channels,
    )

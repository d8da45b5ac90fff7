"""Both paths against loops over positions, on random shapes: causal, windowed, chunked, partial."""

import math
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hitpath.cost import state_layers
from hitpath.cost.attention import attention_flops
from hitpath.cost.break_even import (
    PrefixCurves,
    compute_bound_from,
    crossover,
    first_below,
    last_not_below,
)
from hitpath.cost.device import Hardware
from hitpath.cost.formats import ELEMENT_BYTES, Formats
from hitpath.cost.kv import kv_bytes
from hitpath.cost.matrices import Widths, always_widths, mixer_widths, routed_widths, sum_of
from hitpath.cost.parameters import (
    active_linear_parameters,
    head_parameters,
    linear_parameters,
    touched_linear_parameters,
)
from hitpath.cost.path_rows import price_rows, price_with
from hitpath.cost.paths import (
    PARTS,
    Path,
    Replica,
    decode_step,
    hit_path,
    miss_path,
    replica_of,
    tpot_s,
)
from hitpath.cost.shapes import (
    Dense,
    Experts,
    FullAttention,
    LatentAttention,
    LayerGroup,
    ModelShape,
    SlidingAttention,
    StateLayer,
)

# Shapes: heads divide by 1, 2 and 4.

small = st.integers(1, 6)
full = st.builds(
    FullAttention,
    num_heads=st.sampled_from([4, 8]),
    num_kv_heads=st.sampled_from([1, 2, 4]),
    head_dim=small,
    output_gate=st.booleans(),
)
sliding = st.builds(SlidingAttention, heads=full, window_tokens=st.integers(1, 30))
latent = st.builds(
    LatentAttention,
    num_heads=st.sampled_from([4, 8]),
    q_lora_rank=st.none() | small,
    kv_lora_rank=small,
    qk_nope_head_dim=small,
    qk_rope_head_dim=small,
    v_head_dim=small,
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
dense = st.builds(Dense, intermediate=small, gated=st.booleans())
experts = st.integers(1, 6).flatmap(
    lambda number: st.builds(
        Experts,
        num_experts=st.just(number),
        top_k=st.integers(1, number),
        intermediate=small,
        gated=st.booleans(),
        shared_intermediate=st.integers(0, 4),
        latent=st.none() | small,
    )
)


def shapes_of(mixers, parts=dense | experts):
    groups = st.builds(
        LayerGroup,
        count=st.integers(1, 4),
        mixers=st.lists(mixers, max_size=2).map(tuple),
        feed_forward=st.none() | parts,
        norm_parameters=st.integers(0, 20),
    )
    return st.builds(
        ModelShape,
        name=st.just("random"),
        source=st.just(""),
        d_model=st.just(8),
        vocabulary=small,
        tied_embeddings=st.booleans(),
        layers=st.lists(groups, min_size=1, max_size=3).map(tuple),
        final_norm_parameters=st.integers(0, 9),
    )


shapes = shapes_of(full | sliding | latent | states)
plain_shapes = shapes_of(full | sliding)
prompts = st.integers(1, 60)
chunks = st.none() | st.integers(1, 25)
gpus = st.sampled_from([1, 2, 4])
batches = st.integers(1, 4)
formats = st.builds(
    Formats,
    weights=st.sampled_from(["bf16", "fp8", "int4"]),
    kv=st.sampled_from(["bf16", "fp8", "int4"]),
)
machines = st.builds(
    lambda peak, memory, link: Hardware(
        name="toy",
        title="toy",
        kind="gpu",
        source="",
        peak_flops_per_s={"bf16": peak, "fp8": 2 * peak},
        memory_bytes_per_s=memory,
        memory_bytes=1e9,
        link_bytes_per_s=link,
        pcie_bytes_per_s=link,
    ),
    st.floats(1e3, 1e9),
    st.floats(1e2, 1e8),
    st.floats(1e2, 1e8),
)
TOY = Hardware("toy", "toy", "gpu", "", {"bf16": 3e6, "fp8": 6e6}, 1e5, 1e9, 3e4, 3e4)
forms = st.sampled_from(["absorbed", "unabsorbed"])


def chunked(cached: int, prompt: int, chunk: int | None) -> list[list[int]]:
    """Positions of each step."""
    positions = list(range(cached, prompt))
    size = chunk or len(positions)
    return [positions[i : i + size] for i in range(0, len(positions), size)]


def seen(position: int, window: int | None) -> list[int]:
    """Positions that a token sees, itself among them."""
    return [p for p in range(position + 1) if window is None or position - p < window]


def looped_mixer(
    mixer, cached: int, prompt: int, chunk: int | None, tp: int, kv: float, act: float, form: str
) -> tuple[int, float, float]:
    """(FLOPs, KV bytes, other bytes) of one layer and sequence, position by position."""
    flops, kv_moved, other = 0, 0.0, 0.0
    for positions in chunked(cached, prompt, chunk):
        context = range(positions[0])
        match mixer:
            case FullAttention() | SlidingAttention():
                window = mixer.window_tokens if isinstance(mixer, SlidingAttention) else None
                heads = mixer.heads if isinstance(mixer, SlidingAttention) else mixer
                for p in positions:
                    flops += sum(4 * heads.num_heads * heads.head_dim for _ in seen(p, window))
                needed = {o for p in positions for o in seen(p, window)} & set(context)
                kept = max(heads.num_kv_heads, tp)
                kv_moved += 2 * kept * heads.head_dim * kv * (len(needed) + len(positions))
                other += 2 * heads.num_heads * heads.head_dim * act * len(positions)
            case LatentAttention():
                n, rank, rope = mixer.num_heads, mixer.kv_lora_rank, mixer.qk_rope_head_dim
                nope, v = mixer.qk_nope_head_dim, mixer.v_head_dim
                for p in positions:
                    for _ in seen(p, None):
                        flops += 2 * n * ((rank + rope) + rank if form == "absorbed" else 0)
                        flops += 2 * n * ((nope + rope) + v if form == "unabsorbed" else 0)
                    width = rank + rope + rank if form == "absorbed" else nope + rope + v
                    other += n * width * act  # queries in, outputs out
                kv_moved += tp * (rank + rope) * kv * (len(context) + len(positions))
                if form == "unabsorbed":
                    for _ in context:
                        flops += 2 * n * rank * (nope + v)
                        other += 2 * n * (nope + v) * act  # written and read back
            case StateLayer():
                flops += sum(mixer.flops_per_token for _ in positions)
                held = (mixer.state_elements + mixer.conv_state_elements) * 2
                kv_moved += held * (2 if context else 1)
    return flops, kv_moved, other


@settings(max_examples=80)
@given(shapes, prompts, st.floats(0, 1), chunks, batches, gpus, formats, forms)
def test_attention_against_a_loop_over_positions(
    shape, prompt, share, chunk, batch, tp, given_formats, form
):
    cached = min(int(share * prompt), prompt - 1)
    replica = replica_of(shape, TOY, tp, given_formats, latent_form=form)
    path = hit_path(replica, prompt, cached, batch=batch, chunk_tokens=chunk)
    flops, kv_moved, other = 0, 0.0, 0.0
    for group in shape.layers:
        for mixer in group.mixers:
            one = looped_mixer(
                mixer, cached, prompt, chunk, tp, ELEMENT_BYTES[given_formats.kv], 2, form
            )
            flops += group.count * batch * one[0]
            kv_moved += group.count * batch * one[1]
            other += group.count * batch * one[2]
    part = path.parts["attention"]
    assert part.flops == flops
    assert part.kv_bytes == pytest.approx(kv_moved, rel=1e-12)
    assert part.other_bytes == pytest.approx(other, rel=1e-12)
    assert part.weight_bytes == 0
    if chunk is None:
        assert part.flops == batch * attention_flops(shape, cached, prompt - cached, form)


@settings(max_examples=60)
@given(shapes, prompts, st.floats(0, 1), chunks, batches, gpus, formats)
def test_weights_against_a_loop_over_steps(shape, prompt, share, chunk, batch, tp, given_formats):
    cached = min(int(share * prompt), prompt - 1)
    replica = replica_of(shape, TOY, tp, given_formats)
    path = hit_path(replica, prompt, cached, batch=batch, chunk_tokens=chunk)
    steps = chunked(cached, prompt, chunk)
    linear, head = path.parts["linear"], path.parts["lm_head"]
    size = ELEMENT_BYTES[given_formats.weights]
    assert path.num_steps == len(steps)
    assert linear.flops == sum(
        2 * batch * active_linear_parameters(shape) for step in steps for _ in step
    )
    read = sum(size * touched_linear_parameters(shape, batch * len(step)) for step in steps)
    assert linear.weight_bytes == pytest.approx(read, rel=1e-9)
    assert head.flops == 2 * head_parameters(shape) * batch
    assert head.weight_bytes == size * head_parameters(shape)
    assert linear.kv_bytes == head.kv_bytes == 0


@settings(max_examples=60)
@given(shapes, prompts, st.floats(0, 1), chunks, batches, gpus)
def test_all_reduces_against_a_loop_over_layers(shape, prompt, share, chunk, batch, tp):
    cached = min(int(share * prompt), prompt - 1)
    path = hit_path(replica_of(shape, TOY, tp), prompt, cached, batch=batch, chunk_tokens=chunk)
    sent = 0.0
    for step in chunked(cached, prompt, chunk):
        for group in shape.layers:
            for _ in range(group.count):
                for block in (bool(group.mixers), group.feed_forward is not None):
                    if block:  # a ring: reduce-scatter and all-gather, n - 1 of n pieces each
                        sent += 2 * (tp - 1) / tp * batch * len(step) * shape.d_model * 2
    part = path.parts["allreduce"]
    assert part.sent_bytes == pytest.approx(sent)
    assert part.time_s == pytest.approx(sent / 3e4)
    assert part.bound == ("link" if sent else "none")


# Widths: every matrix of a layer, written out once more


def matrices_of(mixer, d: int) -> list[tuple[int, int, str]]:
    """(inputs, outputs, how it is divided between GPUs); fused products are one."""
    match mixer:
        case FullAttention():
            q = mixer.num_heads * mixer.head_dim
            fused = (2 if mixer.output_gate else 1) * q + 2 * mixer.num_kv_heads * mixer.head_dim
            return [(d, fused, "columns"), (q, d, "rows")]
        case SlidingAttention():
            return matrices_of(mixer.heads, d)
        case LatentAttention():
            n, nope, rope = mixer.num_heads, mixer.qk_nope_head_dim, mixer.qk_rope_head_dim
            r, v, kv_a = mixer.kv_lora_rank, mixer.v_head_dim, mixer.kv_lora_rank + rope
            last = [(r, n * (nope + v), "columns"), (n * v, d, "rows")]
            if mixer.q_lora_rank is None:
                return [(d, n * (nope + rope), "columns"), (0, kv_a, "whole"), *last]
            q = mixer.q_lora_rank
            return [(d, q + kv_a, "whole"), (q, n * (nope + rope), "columns"), *last]
    return []


def widths_of(matrices: Iterable[tuple[int, int, str]], tp: int) -> int:
    ways = {"columns": (tp, 1), "rows": (1, tp), "whole": (tp, tp)}
    return sum(i * ways[how][0] + o * ways[how][1] for i, o, how in matrices)


@given(full | sliding | latent, gpus)
def test_widths_of_attention_against_its_matrices(mixer, tp):
    matrices = matrices_of(mixer, 8)
    assert mixer_widths(mixer, 8).over(tp) == widths_of(matrices, tp)
    shape = ModelShape(
        name="one",
        source="",
        d_model=8,
        vocabulary=1,
        tied_embeddings=True,
        layers=(LayerGroup(count=1, mixers=(mixer,), feed_forward=None, norm_parameters=0),),
        final_norm_parameters=0,
    )
    products = [(8 if i == 0 else i) * o for i, o, _ in matrices]  # 0: read together with queries
    assert sum(products) == linear_parameters(shape)


@given(dense | experts, gpus)
def test_widths_of_feed_forward_parts_against_their_matrices(part, tp):
    d = 8
    gates = 2 if part.gated else 1
    up_down = [(gates * part.intermediate, part.intermediate)]
    if isinstance(part, Dense):
        matrices = [(d, up, "columns") for up, _ in up_down]
        matrices += [(down, d, "rows") for _, down in up_down]
        assert always_widths(part, d).over(tp) == widths_of(matrices, tp)
        return
    into = d if part.latent is None else part.latent
    routed = [(into, up, "columns") for up, _ in up_down] * part.top_k
    routed += [(down, into, "rows") for _, down in up_down] * part.top_k
    assert routed_widths(part, d).over(tp) == widths_of(routed, tp)
    always = [(d, part.num_experts, "columns")]
    if part.shared_intermediate:
        shared = part.shared_intermediate
        always += [(d, gates * shared, "columns"), (shared, d, "rows")]
    if part.latent is not None:
        always += [(d, part.latent, "whole"), (part.latent, d, "whole")]
    assert always_widths(part, d).over(tp) == widths_of(always, tp)


@given(shapes, prompts, batches, gpus)
def test_what_flows_in_and_out_of_linear_layers(shape, prompt, batch, tp):
    total = Widths()
    for group in shape.layers:
        layer = sum_of(mixer_widths(mixer, 8) for mixer in group.mixers)
        layer += always_widths(group.feed_forward, 8)
        if isinstance(group.feed_forward, Experts):
            layer += routed_widths(group.feed_forward, 8)
        total += layer.times(group.count)
    path = miss_path(replica_of(shape, TOY, tp), prompt, batch=batch)
    assert path.parts["linear"].other_bytes == 2 * batch * prompt * total.over(tp)


# Identities


def same(one: Path, other: Path) -> bool:
    return one == other


@given(shapes, prompts, chunks, batches, gpus)
def test_nothing_cached_is_the_miss_path(shape, prompt, chunk, batch, tp):
    replica = replica_of(shape, TOY, tp)
    hit = hit_path(replica, prompt, 0, batch=batch, chunk_tokens=chunk)
    assert same(hit, miss_path(replica, prompt, batch=batch, chunk_tokens=chunk))


@given(shapes, prompts, chunks, batches, gpus, st.booleans())
def test_all_but_one_cached_is_a_decode_step(shape, prompt, chunk, batch, tp, whole):
    """Whether all or all but one were found cached: the last token is computed."""
    replica = replica_of(shape, TOY, tp)
    cached = prompt if whole else prompt - 1
    hit = hit_path(replica, prompt, cached, batch=batch, chunk_tokens=chunk)
    assert same(hit, decode_step(replica, prompt, batch))
    assert hit.tokens_computed == 1
    flops = 2 * batch * (active_linear_parameters(shape) + head_parameters(shape))
    assert hit.parts["linear"].flops + hit.parts["lm_head"].flops == flops


@given(shapes, prompts, st.floats(0, 1), st.integers(1, 25), batches, formats)
def test_chunking_never_changes_flops_but_of_unabsorbed_latents(
    shape, prompt, share, chunk, batch, given_formats
):
    cached = min(int(share * prompt), prompt - 1)
    absorbed = replica_of(shape, TOY, 1, given_formats, latent_form="absorbed")
    one = hit_path(absorbed, prompt, cached, batch=batch)
    many = hit_path(absorbed, prompt, cached, batch=batch, chunk_tokens=chunk)
    for name in PARTS:
        assert one.parts[name].flops == many.parts[name].flops
        assert one.parts[name].weight_bytes <= many.parts[name].weight_bytes * (1 + 1e-9)
        assert one.parts[name].kv_bytes <= many.parts[name].kv_bytes
        assert one.parts[name].other_bytes == pytest.approx(many.parts[name].other_bytes)
    expanding = replica_of(shape, TOY, 1, given_formats, latent_form="unabsorbed")
    whole = hit_path(expanding, prompt, cached, batch=batch).parts["attention"].flops
    parts = hit_path(expanding, prompt, cached, batch=batch, chunk_tokens=chunk)
    again = sum(
        group.count
        * 2
        * mixer.num_heads
        * mixer.kv_lora_rank
        * (mixer.qk_nope_head_dim + mixer.v_head_dim)
        * sum(len(range(step[0])) for step in chunked(cached, prompt, chunk)[1:])
        for group in shape.layers
        for mixer in group.mixers
        if isinstance(mixer, LatentAttention)
    )
    assert parts.parts["attention"].flops == whole + batch * again


@given(shapes, prompts, st.integers(0, 40), batches)
def test_tpot_is_a_decode_step_in_the_middle_of_the_output(shape, prompt, output, batch):
    replica = replica_of(shape, TOY)
    step = decode_step(replica, prompt + output // 2, batch)
    assert tpot_s(replica, prompt, output, batch) == step.ttft_s


@given(shapes, st.integers(0, 60), formats)
def test_what_one_gpu_holds_is_the_kv_of_the_prefix(shape, tokens, given_formats):
    held = replica_of(shape, TOY, 1, given_formats).work.held_bytes(tokens)
    assert held == pytest.approx(kv_bytes(shape, tokens, ELEMENT_BYTES[given_formats.kv]))


# Monotone where physics says so


@settings(max_examples=60)
@given(plain_shapes, st.integers(2, 60), batches, gpus, machines)
def test_a_longer_cached_prefix_never_costs_more(shape, prompt, batch, tp, machine):
    """Without chunks (each reads its context again) and states (a first hit has to read one)."""
    replica = replica_of(shape, machine, tp)
    times = [hit_path(replica, prompt, c, batch=batch).ttft_s for c in range(prompt)]
    flops = [hit_path(replica, prompt, c, batch=batch).flops for c in range(prompt)]
    assert all(b <= a * (1 + 1e-12) for a, b in pairwise(times))
    assert all(b <= a for a, b in pairwise(flops))


@settings(max_examples=60)
@given(shapes, st.integers(1, 50), st.floats(0, 1), chunks, batches, gpus, machines)
def test_more_work_never_takes_less_time(shape, prompt, share, chunk, batch, tp, machine):
    cached = min(int(share * prompt), prompt - 1)
    replica = replica_of(shape, machine, tp)

    def ttft(prompt_tokens: int, cached_tokens: int, sequences: int) -> float:
        path = hit_path(replica, prompt_tokens, cached_tokens, batch=sequences, chunk_tokens=chunk)
        return path.ttft_s * (1 + 1e-12)

    before = hit_path(replica, prompt, cached, batch=batch, chunk_tokens=chunk).ttft_s
    assert before <= ttft(prompt + 1, cached, batch)  # a new token more
    assert before <= ttft(prompt + 1, cached + 1, batch)  # a cached token more before them
    assert before <= ttft(prompt, cached, batch + 1)


@settings(max_examples=60)
@given(shapes, prompts, st.floats(0, 1), chunks, batches, gpus, machines, st.floats(1, 10))
def test_faster_hardware_and_smaller_formats_never_take_longer(
    shape, prompt, share, chunk, batch, tp, machine, factor
):
    cached = min(int(share * prompt), prompt - 1)

    def ttft(hardware: Hardware, given_formats: Formats) -> float:
        replica = replica_of(shape, hardware, tp, given_formats)
        return hit_path(replica, prompt, cached, batch=batch, chunk_tokens=chunk).ttft_s

    before = ttft(machine, Formats()) * (1 + 1e-12)
    peaks = {name: peak * factor for name, peak in machine.peak_flops_per_s.items()}
    for faster in (
        replace(machine, peak_flops_per_s=peaks),
        replace(machine, memory_bytes_per_s=machine.memory_bytes_per_s * factor),
        replace(machine, link_bytes_per_s=machine.link_bytes_per_s * factor),
    ):
        assert ttft(faster, Formats()) <= before
    for smaller in (Formats(weights="fp8"), Formats(weights="int4"), Formats(kv="fp8")):
        assert ttft(machine, smaller) <= before


@settings(max_examples=40)
@given(shapes, prompts, st.floats(0, 1), chunks, batches, gpus)
def test_the_faster_form_of_latent_attention_is_taken(shape, prompt, share, chunk, batch, tp):
    cached = min(int(share * prompt), prompt - 1)
    times = [
        hit_path(
            replica_of(shape, TOY, tp, latent_form=form),
            prompt,
            cached,
            batch=batch,
            chunk_tokens=chunk,
        ).parts["attention"]
        for form in (None, "absorbed", "unabsorbed")
    ]
    assert times[0].time_s <= min(times[1].time_s, times[2].time_s) * (1 + 1e-12)


# Many rows at once


@settings(max_examples=60)
@given(
    shapes,
    st.lists(st.tuples(st.integers(0, 60), st.floats(0, 1)), min_size=1, max_size=30),
    chunks,
    gpus,
    formats,
    machines,
)
def test_rows_are_priced_as_one_by_one(shape, rows, chunk, tp, given_formats, machine):
    prompt = [p for p, _ in rows]
    hit = [int(share * p) for p, share in rows]
    priced = price_rows(
        shape, machine, prompt, hit, num_gpus=tp, formats=given_formats, chunk_tokens=chunk
    )
    replica = replica_of(shape, machine, tp, given_formats)
    for i, (p, c) in enumerate(zip(prompt, hit, strict=True)):
        if not p:
            assert priced.seconds[i] == priced.flops[i] == 0
            continue
        one = hit_path(replica, p, c, chunk_tokens=chunk)
        assert priced.seconds[i] == pytest.approx(one.ttft_s, rel=1e-12)
        assert priced.flops[i] == pytest.approx(one.flops, rel=1e-12)


def test_rows_longer_than_a_block_and_rows_that_are_none():
    shape = ModelShape(
        name="one",
        source="",
        d_model=8,
        vocabulary=3,
        tied_embeddings=True,
        layers=(
            LayerGroup(
                count=2,
                mixers=(FullAttention(num_heads=4, num_kv_heads=2, head_dim=2),),
                feed_forward=Dense(intermediate=16),
                norm_parameters=0,
            ),
        ),
        final_norm_parameters=0,
    )
    replica = replica_of(shape, TOY)
    prompt = np.arange(40_000) % 97
    priced = price_with(replica, prompt, prompt // 2)
    again = price_with(replica, prompt[::-1], prompt[::-1] // 2)
    assert np.array_equal(priced.seconds, again.seconds[::-1])
    assert np.array_equal(priced.flops, again.flops[::-1])
    one = hit_path(replica, 96, 48)
    assert priced.seconds[prompt == 96] == pytest.approx(one.ttft_s)
    for bad in (([1, 2], [1]), ([1.0], [2.0]), ([3], [-1]), ([[1]], [[0]]), ([math.nan], [0])):
        with pytest.raises(ValueError, match=r"shapes|hit tokens"):
            price_with(replica, *bad)


# Searches against loops

rising = st.lists(st.integers(0, 3), min_size=1, max_size=40).map(
    lambda rises: [sum(rises[: i + 1]) for i in range(len(rises))]
)


@given(rising, rising)
def test_searches_against_loops_over_all_places(costs, values):
    high = min(len(costs), len(values)) - 1
    below = [x for x in range(high + 1) if costs[x] < values[x]]
    not_below = [x for x in range(high + 1) if costs[x] >= values[x]]
    found = first_below(costs.__getitem__, values.__getitem__, 0, high)
    assert found == (below[0] if below else None)
    found = last_not_below(costs.__getitem__, values.__getitem__, 0, high)
    assert found == (not_below[-1] if not_below else None)


@settings(max_examples=60)
@given(
    shapes,
    st.integers(1, 20),
    chunks,
    batches,
    gpus,
    machines,
    st.floats(0, 2),
    st.floats(0, 2),
)
def test_crossovers_against_loops_over_all_prefixes(
    shape, new, chunk, batch, tp, machine, constant, slope
):
    replica = replica_of(shape, machine, tp)
    curves = PrefixCurves(replica, new, batch, chunk)
    scale = curves.miss_s(60)

    def fetch_s(tokens: int) -> float:
        return scale * (constant / 4 + slope * tokens / 60)

    pays = [
        c
        for c in range(1, 61)
        if hit_path(replica, c + new, c, batch=batch, chunk_tokens=chunk).ttft_s + fetch_s(c)
        < miss_path(replica, c + new, batch=batch, chunk_tokens=chunk).ttft_s
    ]
    found = crossover(curves, fetch_s, 60)
    assert found.from_tokens == (min(pays) if pays else None)
    always = next((c for c in range(1, 61) if all(d in pays for d in range(c, 61))), None)
    assert found.always_from_tokens == always


@settings(max_examples=60)
@given(shapes, batches, gpus, machines)
def test_where_it_turns_compute_bound_against_a_loop(shape, batch, tp, machine):
    assume(linear_parameters(shape))
    replica: Replica = replica_of(shape, machine, tp)
    bounds = [
        miss_path(replica, tokens, batch=batch).parts["linear"].bound for tokens in range(1, 200)
    ]
    first = next((i + 1 for i, bound in enumerate(bounds) if bound == "compute"), None)
    found = compute_bound_from(replica, batch)
    if first is not None:
        assert found == first
        assert set(bounds[first - 1 :]) == {"compute"}
    else:
        assert found is None or found >= 200

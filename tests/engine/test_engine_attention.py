"""Groups of sharers against every other partition; own attention against the plain formula."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hitpath.engine.attention import LayerKind, OneByOne
from hitpath.engine.batch import Batch, Span, SpanGroup
from hitpath.engine.folded import Folded
from hitpath.engine.grouping import Grouper, best_groups
from hitpath.engine.kv_tensors import KVShape, KVTensors, Slots
from hitpath.engine.records import GenerationRequest, SamplingParams
from hitpath.engine.scheduler import Work
from hitpath.engine.sequence import Clocks, Sequence
from hitpath.engine.settings import MOST_RUNNING

BLOCK = 32  # a group needs 64 tokens: two blocks


def work_of(table, num_new=1, order=0):
    tokens = np.zeros(len(table) * BLOCK + num_new, dtype=np.uint32)
    request = GenerationRequest(str(order), tokens, SamplingParams())
    sequence = Sequence(request, 0, order, len(tokens) + 10, Clocks(0.0), 0)
    sequence.blocks = np.array([*table, 900 + order], dtype=np.int32)
    sequence.num_computed = len(table) * BLOCK
    return Work(sequence, num_new)


def saved_blocks(tables, partition):
    saved = 0
    for places in partition:
        rows = [tables[place] for place in places]
        shared = 0
        while all(len(row) > shared and row[shared] == rows[0][shared] for row in rows):
            shared += 1
        if len(places) > 1 and shared < 2:
            return -1
        saved += (len(places) - 1) * shared
    return saved


def partitions(items):
    if not items:
        yield []
        return
    first, *rest = items
    for smaller in partitions(rest):
        yield [[first], *smaller]
        for i, group in enumerate(smaller):
            yield [*smaller[:i], [first, *group], *smaller[i + 1 :]]


@given(st.lists(st.lists(st.integers(0, 1), max_size=6), min_size=1, max_size=6))
@settings(max_examples=60)
def test_no_partition_saves_more(paths):
    # Equal paths from the root are equal blocks, as in a cache.
    tables = [
        [sum((bit + 1) * 3**j for j, bit in enumerate(path[: i + 1])) for i in range(len(path))]
        for path in paths
    ]
    works = [work_of(table, order=i) for i, table in enumerate(tables)]
    found = best_groups(works, list(range(len(works))), BLOCK)
    assert sorted(place for places, _ in found for place in places) == list(range(len(works)))
    for places, shared in found:
        assert all(tables[place][:shared] == tables[places[0]][:shared] for place in places)
    best = max(
        saved_blocks(tables, partition) for partition in partitions(list(range(len(tables))))
    )
    assert sum((len(places) - 1) * shared for places, shared in found) == best


def test_wide_chunks_and_single_tokens_do_not_mix():
    works = [
        work_of([1, 2, 3], 1, 0),
        work_of([1, 2, 3], 1, 1),
        work_of([1, 2, 3], 90, 2),
        work_of([1, 2, 3], 100, 3),
        work_of([1, 2, 3], 200, 4),
    ]
    groups = Grouper(BLOCK, cascade=True).group(works, 0)
    told = {tuple(w.sequence.order for w in g.works): g.num_shared for g in groups}
    assert told == {(0, 1): 3, (2, 3): 3, (4,): 0}
    apart = Grouper(BLOCK, cascade=False).group(works, 0)
    assert all(group.num_shared == 0 for group in apart)


def test_a_partition_is_remembered_until_something_changes():
    grouper = Grouper(BLOCK, cascade=True)
    works = [work_of([1, 2, 3], 1, i) for i in range(3)]
    first = grouper.group(works, 0)
    works[0].sequence.blocks = np.array([7, 8, 9, 10], dtype=np.int32)
    assert grouper.group(works, 0) == first, "tables only grow: not looked at again"
    assert len(grouper.group(works, 1)) == 2
    assert len(grouper.group(works[1:], 1)) == 1


CASES = {
    "sharers of one width": ([(64, [1, 1, 1])], [40, 50, 45]),
    "sharers of unequal width": ([(64, [1, 5, 3])], [40, 17, 0]),
    "a hit alone": ([(0, [16])], [150]),
    "short ones together": ([(0, [1, 1, 4])], [3, 90, 40]),
    "a long chunk": ([(0, [200])], [70]),
    "all of them": ([(64, [2, 2]), (0, [150]), (0, [1, 3]), (0, [7])], [9, 30, 0, 5, 0, 111]),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("window", [None, 1, 30, 10_000])
@pytest.mark.parametrize("cap", [None, 2.0])
@pytest.mark.parametrize("heads", [(4, 1), (4, 4), (6, 2)])
def test_own_attention_is_the_plain_formula(case, window, cap, heads):
    num_heads, num_kv_heads = heads
    generator = torch.Generator().manual_seed(1)
    shape = KVShape(1, num_kv_heads, 8, num_blocks=60, block_size=16)
    kv = KVTensors(shape, torch.float32, torch.device("cpu"))
    kv._all.normal_(generator=generator)
    numbers = torch.randperm(60, generator=generator).tolist()
    groups, row, cached = [], 0, iter(CASES[case][1])
    for shared, widths in CASES[case][0]:
        head = [numbers.pop() for _ in range(shared // 16)]
        spans = []
        for num_new in widths:
            before = shared + next(cached)
            count = -(-(before + num_new) // 16) - len(head)
            blocks = np.array(head + [numbers.pop() for _ in range(count)], dtype=np.int32)
            spans.append(Span(row, num_new, before, blocks))
            row += num_new
        groups.append(SpanGroup(tuple(spans), shared))
    nothing = torch.zeros(row, dtype=torch.int64)
    batch = Batch(nothing, nothing, Slots(nothing, None), tuple(groups))
    queries = torch.randn(row, num_heads, 8, generator=generator)
    kind = LayerKind(0, window, cap)
    plain = OneByOne(kv, fused=False).plan(batch).attend(kind, queries)
    windows = frozenset() if window is None else frozenset([window])
    own = Folded(kv, windows).plan(batch).attend(kind, queries)
    torch.testing.assert_close(own, plain, atol=1e-5, rtol=1e-5)
    fused = OneByOne(kv, fused=True).plan(batch).attend(kind, queries)
    torch.testing.assert_close(fused, plain, atol=1e-5, rtol=1e-5)


def test_sharers_read_their_prefix_once():
    shape = KVShape(1, 2, 8, num_blocks=40, block_size=16)
    kv = KVTensors(shape, torch.float32, torch.device("cpu"))
    kv._all.normal_()
    spans = tuple(
        Span(i, 1, 320 + 3, np.array([*range(20), 20 + i], dtype=np.int32)) for i in range(8)
    )
    read = {}
    for name, groups in (
        ("together", (SpanGroup(spans, 320),)),
        ("apart", tuple(SpanGroup((span,), 0) for span in spans)),
    ):
        nothing = torch.zeros(8, dtype=torch.int64)
        plan = Folded(kv, frozenset()).plan(Batch(nothing, nothing, Slots(nothing, None), groups))
        before = kv.moved.read
        plan.attend(LayerKind(0, None, None), torch.randn(8, 4, 8))
        read[name] = (kv.moved.read - before) // kv.bytes_per_token
    assert read == {"together": 320 + 8 * 4, "apart": 8 * 324}


def test_a_chain_of_nested_prefixes_does_not_exhaust_the_stack():
    """The deepest tree that can run: each of 256 sequences continues the one before it."""
    works = [work_of(list(range(2 * i + 2)), order=i) for i in range(MOST_RUNNING)]
    found = best_groups(works, list(range(len(works))), BLOCK)
    assert sorted(place for places, _ in found for place in places) == list(range(len(works)))

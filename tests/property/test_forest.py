"""The prefix forest against comparing every pair of sequences."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hitpath.index.forest import build_forest, match_by_label, node_paths, visits

sequences = st.lists(
    st.tuples(st.integers(0, 2), st.lists(st.integers(0, 2), max_size=12), st.integers(-1, 2)),
    min_size=1,
    max_size=30,
)


def common(a, b):
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return n


def build(rows, dtype):
    flat = np.array([s for _, seq, _ in rows for s in seq], dtype=dtype)
    lengths = np.array([len(seq) for _, seq, _ in rows], dtype=np.int64)
    roots = np.array([root for root, _, _ in rows], dtype=np.int64)
    return build_forest(flat, np.cumsum(lengths) - lengths, lengths, roots), flat


@given(sequences, st.sampled_from([np.uint32, np.uint64]))
def test_match_is_the_longest_common_prefix_with_anything_earlier(rows, dtype):
    forest, flat = build(rows, dtype)
    forest.check()
    labels = np.array([label for _, _, label in rows], dtype=np.int64)
    labelled = match_by_label(forest, forest.end, labels)
    offsets, nodes = node_paths(forest, forest.end)
    counts = visits(forest, forest.end)
    for i, (root, seq, label) in enumerate(rows):
        earlier = [r for r in rows[:i] if r[0] == root]
        assert forest.match[i] == max((common(seq, r[1]) for r in earlier), default=0)
        same = [r for r in earlier if r[2] == label and label >= 0]
        assert labelled[i] == max((common(seq, r[1]) for r in same), default=0)
        # The path spells the sequence, and all who pass a node pass the whole of it.
        path = nodes[offsets[i] : offsets[i + 1]]
        tree = forest.tree
        spelled = [s for n in path for s in flat[tree.first[n] : tree.first[n] + tree.length[n]]]
        assert spelled == seq
        for node in path:
            end = tree.depth[node] + tree.length[node]
            through = sum(r[0] == root and common(seq, r[1]) >= end for r in rows)
            assert counts[node] == through


@given(sequences)
def test_nodes_own_disjoint_symbols(rows):
    forest, flat = build(rows, np.uint64)
    tree = forest.tree
    owned = np.zeros(len(flat) + 1, dtype=np.int64)
    for node in range(tree.num_roots, forest.num_nodes):
        owned[tree.first[node] : tree.first[node] + tree.length[node]] += 1
    assert owned.max(initial=0) <= 1

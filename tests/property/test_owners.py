"""Who shares with whom, against a dictionary of whole prefixes."""

from collections import Counter, defaultdict

from hypothesis import given
from hypothesis import strategies as st

from hitpath.core import Setting
from hitpath.spine import analyze_trace
from support import trace_of_rows

TENANTS = st.sampled_from(["a", "b", "c", None])


@st.composite
def rows(draw: st.DrawFn):
    made = []
    for i in range(draw(st.integers(1, 10))):
        row = {"id": i, "arrival_s": i, "tokens": draw(st.lists(st.integers(0, 1), max_size=10))}
        tenant = draw(TENANTS)
        if tenant is not None:
            row["tenant"] = tenant
        if draw(st.booleans()):
            row["output_ids"] = draw(st.lists(st.integers(0, 1), max_size=4))
            row["finish_s"] = i + draw(st.sampled_from([0, 0.5, 2.5]))
        if draw(st.booleans()):
            row["context"] = {"salt": "s"}
        made.append(row)
    return made


def expected(made, hits, size):
    """(pair -> tokens, pair -> requests): each hit block by who first had its whole prefix."""
    events = [(row["arrival_s"], 1, row["id"], row["tokens"]) for row in made]
    events += [
        (row["finish_s"], 0, row["id"], row["tokens"] + row["output_ids"])
        for row in made
        if "output_ids" in row
    ]
    # A request that finishes as it arrives comes behind its own arrival.
    events.sort(key=lambda e: (e[0], e[2], -e[1]))
    first: dict[tuple, str | None] = {}
    tokens, requests = Counter(), defaultdict(set)
    for _, is_arrival, i, sequence in events:
        row = made[i]
        context = "context" in row
        for end in range(size, len(sequence) + 1, size):
            key = (context, tuple(sequence[:end]))
            if is_arrival and end <= hits[i]:
                pair = (row.get("tenant"), first[key])
                tokens[pair] += size
                requests[pair].add(i)
            first.setdefault(key, row.get("tenant"))
    return tokens, {pair: len(ids) for pair, ids in requests.items()}


@given(rows(), st.sampled_from(["ignore", "insert"]), st.sampled_from([None, 8]))
def test_pairs_against_a_dictionary(tmp_path_factory, made, outputs, capacity):
    size = 2
    trace = trace_of_rows(tmp_path_factory.mktemp("t"), made)
    engine = "unlimited" if capacity is None else "lru"
    setting = Setting(engine=engine, capacity_tokens=capacity, block_size=size, outputs=outputs)
    found = analyze_trace(trace, setting)
    if len(trace.tenant.names) < 2:
        assert found.pairs is None
        return
    hits = found.ledger.rungs.model[0].tolist()
    tokens, requests = expected(made, hits, size)
    named = {pair: n for pair, n in tokens.items() if None not in pair}
    assert found.pairs is not None
    assert {(p.name, p.brought_by): p.hit_tokens for p in found.pairs.pairs} == named
    assert all(p.num_requests == requests[p.name, p.brought_by] for p in found.pairs.pairs)
    assert found.pairs.unnamed_tokens == sum(tokens.values()) - sum(named.values())
    assert sum(tokens.values()) == sum(hits)


@given(rows())
def test_first_uses_are_what_a_name_loses_alone(tmp_path_factory, made):
    """Against a replay of each tenant's requests without the others, cache unlimited."""
    folder = tmp_path_factory.mktemp("t")
    setting = Setting(block_size=2, outputs="insert")
    made = [{"tenant": "a", **row} for row in made]
    found = analyze_trace(trace_of_rows(folder, made), setting)
    if found.pairs is None:
        return
    for tenant in {row["tenant"] for row in made}:
        own = [row for row in made if row["tenant"] == tenant]
        alone = analyze_trace(trace_of_rows(folder, own), setting).ledger.hit.sum()
        together = found.ledger.hit[[row["id"] for row in own]].sum()
        assert found.pairs.lost_alone(tenant) == together - alone

"""The oracle against cases worked out by hand, and against itself."""

from __future__ import annotations

import random

import pytest

from oracle.traffic import random_requests
from oracle.world import (
    CAUSES,
    Request,
    cap,
    clairvoyant_exhaustive,
    clairvoyant_greedy,
    lru_hit_blocks,
    run,
)

A, B, C = (0,), (1,), (2,)


def causes_of(row):
    """Only the causes that are not zero."""
    return {name: tokens for name, tokens in row.causes.items() if tokens}


def test_cap():
    assert cap(7, 8, 4, False) == 4  # 4 * (7 // 4)
    assert cap(8, 8, 4, False) == 8
    assert cap(8, 8, 4, True) == 4  # 4 * min(8 // 4, 7 // 4)
    assert cap(8, 9, 4, True) == 8  # 4 * min(2, 8 // 4)
    assert cap(0, 0, 4, True) == 0
    assert cap(0, 0, 4, False) == 0


def test_the_same_prompt_twice():
    # block 2, prompt 5: blocks [0:2], [0:4] and the partial id [0:5]
    first, second = run([Request((1, 2, 3, 4, 5))] * 2, block_size=2)
    assert first.rungs == [0, 0, 0, 0, 0, 0, 0, 0, 5]
    assert causes_of(first) == {"cold": 5}
    # 2 whole blocks hit = 4; the fifth token was computed before, but is no whole block
    assert second.rungs == [4, 4, 4, 4, 4, 5, 5, 5, 5]
    assert causes_of(second) == {"rounding": 1}
    assert second.reasons["rounding"] == {"last_token": 0, "block": 1}
    assert (first.partial_hit_tokens, second.partial_hit_tokens) == (0, 1)


def test_last_token_rule():
    # block 2, prompt 4: at most (4 - 1) // 2 = 1 block counts; tokens 2 and 3 lie below
    # floor(4 / 2) * 2 = 4, so the last-token rule took them
    row = run([Request((1, 2, 3, 4))] * 2, block_size=2, last_token=True)[1]
    assert row.rungs == [2, 2, 2, 2, 2, 4, 4, 4, 4]
    assert row.reasons["rounding"] == {"last_token": 2, "block": 0}


def test_a_partial_block_takes_a_whole_block_of_capacity():
    # capacity 2, block 2. (1,2,3,4,5) inserts tail first: [0:5], [0:4], [0:2]; [0:5] is dropped.
    # the second time 2 blocks hit. (9,) then inserts one partial id and drops [0:4], the oldest,
    # so the third time 1 block hits, 2 tokens were evicted and 1 rounded.
    prompt = Request((1, 2, 3, 4, 5))
    rows = run([prompt, prompt, Request((9,)), prompt], block_size=2, capacity_blocks=2)
    assert [row.modelled_hit for row in rows] == [0, 4, 0, 2]
    assert [row.partial_hit_tokens for row in rows] == [0, 0, 0, 0]
    assert causes_of(rows[3]) == {"evicted": 2, "rounding": 1}
    assert rows[3].reasons["evicted"] == {"capacity": 2, "not_stored": 0}
    blocks = lru_hit_blocks([prompt, prompt, Request((9,)), prompt], 2, 2, False)
    assert blocks == [0, 2, 0, 1]


def test_elsewhere():
    # worker 1 holds 4 tokens, worker 0 holds 2 of them: r0 = 2, r3 = 4
    rows = run(
        [Request((1, 2), worker=0), Request((1, 2, 3, 4), worker=1), Request((1, 2, 3, 4, 5, 6))],
        block_size=2,
        num_workers=2,
    )
    assert rows[1].rungs == [0, 0, 0, 2, 2, 2, 2, 2, 4]
    assert causes_of(rows[1]) == {"elsewhere": 2, "cold": 2}
    assert rows[2].rungs == [2, 2, 2, 4, 4, 4, 4, 4, 6]


def test_contexts():
    # the same 3 model tokens under: salt s, adapter a, both, and in another model. Block 1.
    rows = run(
        [
            Request((1,), salt="s"),
            Request((1, 2), adapter="a"),
            Request((1, 2, 3), salt="s", adapter="a"),
            Request((1, 2, 3, 4), model="other"),
            Request((1, 2, 3, 4)),
        ],
        block_size=1,
    )
    # against (no salt, no adapter): m_salt = 1, m_adapter = 2, both = 3; the other model never
    assert rows[4].rungs == [0, 0, 0, 0, 0, 0, 3, 3, 4]
    assert rows[4].reasons["isolated"] == {"salt": 1, "adapter": 1, "several": 1}
    assert causes_of(rows[4]) == {"isolated": 3, "cold": 1}
    # against (s, a): (s, none) differs in the adapter only, 1; (none, a) in the salt only, 2
    assert rows[2].reasons["isolated"] == {"salt": 2, "adapter": 0, "several": 0}
    # against (none, a): (s, none) differs in both
    assert rows[1].reasons["isolated"] == {"salt": 0, "adapter": 0, "several": 1}


def test_outputs_at_arrival():
    # block 2: prompt (1,2,3) + output (4,5) is one sequence of 5: ids [0:2], [0:4], [0:5].
    # Its own partial id (1,2,3) is none, so the same prompt again finds 1 block and no partial.
    first = Request((1, 2, 3), output=(4, 5))
    again, turn = Request((1, 2, 3)), Request((1, 2, 3, 4, 5, 6))
    rows = run([first, again, turn], block_size=2, outputs="insert")
    assert (rows[1].modelled_hit, rows[1].partial_hit_tokens) == (2, 0)
    # (1,2,3,4,5,6): blocks [0:2], [0:4] hit; the token match is 5
    assert rows[2].rungs == [4, 4, 4, 4, 4, 5, 5, 5, 6]
    # and (1,2,3,4,5) itself hits its partial id too: 5 % 2 = 1 token
    rows = run([first, Request((1, 2, 3, 4, 5))], block_size=2, outputs="insert")
    assert (rows[1].modelled_hit, rows[1].partial_hit_tokens) == (4, 1)


def test_outputs_ignored_are_computed_but_not_stored():
    # the cache saw only (1,2,3): r0 = r4_stored = 2. The match with prompt + output is 5: r4 = 4
    requests = [Request((1, 2, 3), output=(4, 5)), Request((1, 2, 3, 4, 5, 6))]
    row = run(requests, block_size=2, outputs="ignore")[1]
    assert row.rungs == [2, 2, 2, 2, 4, 5, 5, 5, 6]
    assert row.reasons["evicted"] == {"capacity": 0, "not_stored": 2}
    assert causes_of(row) == {"evicted": 2, "rounding": 1, "cold": 1}


@pytest.mark.parametrize("outputs", ["insert", "ignore"])
def test_the_finish_time(outputs):
    # the output (3,4) is there from 5.0 on; a finish and an arrival at 5.0: the finish comes first
    first = Request((1, 2), output=(3, 4), arrival_s=0.0, finish_s=5.0)
    early, late = Request((1, 2, 3, 4), arrival_s=4.0), Request((1, 2, 3, 4), arrival_s=5.0)
    assert run([first, early], block_size=2, outputs=outputs)[1].rungs[:6] == [2] * 6
    stored = 4 if outputs == "insert" else 2
    row = run([first, late], block_size=2, outputs=outputs)[1]
    assert row.rungs[:6] == [stored] * 4 + [4, 4]


def test_a_finish_before_its_own_arrival_waits_for_it():
    # finish 1.0 < arrival 3.0: it takes place at 3.0, after its own arrival, before the next one
    first = Request((1, 2), output=(3, 4), arrival_s=3.0, finish_s=1.0)
    rows = run([first, Request((1, 2, 3, 4), arrival_s=3.0)], block_size=2, outputs="insert")
    assert [row.modelled_hit for row in rows] == [0, 4]


def test_no_partial_id_before_the_finish():
    # prompt (1,2,3) in blocks of 2 with a finish at 9: until then only [0:2] is stored, so the
    # same prompt at 1 finds no partial id; it stores its own (it has no output), found at 2.
    first = Request((1, 2, 3), output=(4,), arrival_s=0.0, finish_s=9.0)
    again = [Request((1, 2, 3), arrival_s=t) for t in (1.0, 2.0)]
    rows = run([first, *again], block_size=2, outputs="insert")
    assert [row.partial_hit_tokens for row in rows] == [0, 0, 1]


def test_finishes_evict_in_time_order():
    # capacity 2, block 1. a = (1)+(2) finishes at 3, b = (5)+(6) at 2. Arrivals: [1], then [5, 1].
    # At 2 b inserts 6, 5 -> oldest first: 6, 5 (1 dropped). At 3 a inserts (1,2), (1): 5 is gone.
    a = Request((1,), output=(2,), arrival_s=0.0, finish_s=3.0)
    b = Request((5,), output=(6,), arrival_s=0.0, finish_s=2.0)
    rows = run(
        [a, b, Request((5, 6), arrival_s=3.0)], block_size=1, capacity_blocks=2, outputs="insert"
    )
    assert rows[2].rungs == [0, 0, 0, 0, 2, 2, 2, 2, 2]
    # with both at 3 the index decides: a first, so b is what is left
    b = Request((5,), output=(6,), arrival_s=0.0, finish_s=3.0)
    rows = run(
        [a, b, Request((5, 6), arrival_s=3.0)], block_size=1, capacity_blocks=2, outputs="insert"
    )
    assert rows[2].rungs[0] == 2


def test_reported_below_the_model():
    # modelled 4, reported 1: unexplained 3; causes start at 4: rounding 1. 1 + 3 + 1 = 5
    row = run([Request((1, 2, 3, 4, 5)), Request((1, 2, 3, 4, 5), reported=1)], block_size=2)[1]
    assert (row.hit, row.modelled_hit, row.unexplained, row.excess) == (1, 4, 3, 0)
    assert causes_of(row) == {"rounding": 1}


def test_reported_above_the_model():
    # rungs 0 0 0 0 0 0 3 3 5 (a salt apart). Reported 2: excess 2; isolated 3 - 2 = 1; cold 2
    rows = run([Request((1, 2, 3), salt="s"), Request((1, 2, 3, 4, 5), reported=2)], block_size=2)
    assert (rows[1].hit, rows[1].unexplained, rows[1].excess) == (2, 0, 2)
    assert causes_of(rows[1]) == {"isolated": 1, "cold": 2}
    assert rows[1].reasons["isolated"] == {"salt": 1, "adapter": 0, "several": 0}


def test_reported_above_the_prompt_is_excluded_but_stored():
    rows = run([Request((1, 2), reported=3), Request((1, 2))], block_size=2)
    assert rows[0].excluded
    assert (rows[0].causes, rows[0].unexplained, rows[0].excess) == ({}, 0, 0)
    assert (rows[1].excluded, rows[1].hit) == (False, 2)


def test_an_empty_prompt():
    for last_token in (False, True):
        row = run([Request((1, 2)), Request(())], block_size=2, last_token=last_token)[1]
        assert row.rungs == [0] * 9
        assert (row.hit, causes_of(row), row.partial_hit_tokens) == (0, {}, 0)


def test_origin():
    # the hit is 6 tokens; the session's own earlier prompt shares 3 (2 in whole blocks), another
    # session of the tenant 4, another tenant all 6: 2 + (4 - 2) + (6 - 4)
    rows = run(
        [
            Request((1, 2, 3), session="s", tenant="t"),
            Request((1, 2, 3, 4), session="x", tenant="t"),
            Request((1, 2, 3, 4, 5, 6), session="y", tenant="u"),
            Request((1, 2, 3, 4, 5, 6, 7), session="s", tenant="t"),
            Request((1, 2), session="s"),
        ],
        block_size=2,
    )
    assert rows[3].origin == {"same_session": 2, "other_session": 2, "other_tenant": 2}
    assert rows[4].origin is None


def test_clairvoyant_by_hand():
    # block 1, capacity 1: a b a. LRU never hits; keeping a through b hits once.
    requests = [Request(A), Request(B), Request(A)]
    assert lru_hit_blocks(requests, 1, 1, False) == [0, 0, 0]
    assert clairvoyant_greedy(requests, 1, 1, False) == [0, 0, 1]
    assert clairvoyant_exhaustive(requests, 1, 1, False) == 1
    # with the last-token rule a prompt of one block never hits
    assert clairvoyant_exhaustive(requests, 1, 1, True) == 0


def test_clairvoyant_next_use_under_the_last_token_rule():
    # Block 1, capacity 2, last-token rule: a, b, c alone cannot hit, and enter all the same.
    #   a  b  c  cx  a  ax  bx
    # After c one of a, b, c must go. a counts next at index 5, b at 6, c at 3: the furthest is b,
    # and c (3) and a (5) hit: 2. But index 4 computes a anyway, so dropping a costs nothing:
    # c (3), a (5), b (6) hit: 3.
    prompts = [A, B, C, (2, 9), A, (0, 9), (1, 9)]
    requests = [Request(tokens) for tokens in prompts]
    assert clairvoyant_greedy(requests, 1, 2, True) == [0, 0, 0, 1, 0, 1, 0]
    better = clairvoyant_greedy(requests, 1, 2, True, until_refetch=True)
    assert better == [0, 0, 0, 1, 0, 1, 1]
    assert clairvoyant_exhaustive(requests, 1, 2, True) == 3


def tiny_trace(rng: random.Random) -> list[Request]:
    prompts: list[tuple[int, ...]] = []
    for _ in range(rng.randint(2, 10)):
        start: tuple[int, ...] = ()
        if prompts and rng.random() < 0.8:
            start = rng.choice(prompts)
            start = start[: rng.randint(0, len(start))]
        new = tuple(rng.randrange(4) for _ in range(rng.randint(0, 2)))
        prompts.append((start + new)[:5])
    return [Request(p, salt=rng.choice([None, None, None, "s"])) for p in prompts]


@pytest.mark.parametrize("last_token", [False, True])
def test_greedy_is_the_optimum(last_token):
    for seed in range(600):
        rng = random.Random(seed)
        requests, size = tiny_trace(rng), rng.choice([1, 1, 2])
        capacity = rng.choice([0, 1, 2, 3, 3, None])
        best = clairvoyant_exhaustive(requests, size, capacity, last_token)
        plain = sum(clairvoyant_greedy(requests, size, capacity, last_token))
        refetch = clairvoyant_greedy(requests, size, capacity, last_token, until_refetch=True)
        assert sum(refetch) == best, seed
        assert plain == best or (last_token and plain < best), seed
        assert sum(lru_hit_blocks(requests, size, capacity, last_token)) <= best, seed


@pytest.mark.parametrize("outputs", ["insert", "ignore"])
@pytest.mark.parametrize("last_token", [False, True])
def test_conservation(outputs, last_token):
    seen = dict.fromkeys([*CAUSES, "excess", "unexplained", "excluded", "partial", "not_stored"], 0)
    for seed in range(60):
        rng = random.Random(seed)
        size = rng.choice([1, 2, 3, 4])
        requests = random_requests(rng, block_size=size, num_workers=3)
        rows = run(
            requests,
            block_size=size,
            capacity_blocks=rng.choice([None, 0, 1, 5, 20]),
            last_token=last_token,
            outputs=outputs,
            num_workers=3,
        )
        for request, row in zip(requests, rows, strict=True):
            check_row(request, row, last_token)
            for name, tokens in row.causes.items():
                seen[name] += tokens
            seen["excess"] += row.excess
            seen["unexplained"] += row.unexplained
            seen["excluded"] += row.excluded
            seen["partial"] += row.partial_hit_tokens
            seen["not_stored"] += row.reasons.get("evicted", {}).get("not_stored", 0)
    # the traffic reaches every label that this model has
    silent = {name for name, tokens in seen.items() if tokens == 0}
    only_when_ignored = {"not_stored"} if outputs == "insert" else set()
    assert silent == {"ineligible", "in_flight", "diverged"} | only_when_ignored


def check_row(request, row, last_token):
    num_tokens = len(request.tokens)
    assert len(row.rungs) == 9
    assert row.rungs == sorted(row.rungs)
    assert row.rungs[8] == num_tokens
    if last_token and num_tokens:
        assert row.modelled_hit < num_tokens
    if row.origin is not None:
        assert sum(row.origin.values()) == row.modelled_hit
        assert min(row.origin.values()) >= 0
    if row.excluded:
        assert row.reported > num_tokens
        assert row.causes == {}
        return
    assert min(row.causes.values()) >= 0
    assert row.hit + sum(row.causes.values()) + row.unexplained == num_tokens
    for cause, reasons in row.reasons.items():
        assert min(reasons.values()) >= 0
        assert sum(reasons.values()) == row.causes[cause]


def test_run_agrees_with_lru_hit_blocks():
    for seed in range(40):
        rng = random.Random(seed)
        requests = random_requests(rng, block_size=2, num_workers=1)
        for last_token in (False, True):
            rows = run(requests, block_size=2, capacity_blocks=9, last_token=last_token)
            blocks = lru_hit_blocks(requests, 2, 9, last_token)
            assert [row.modelled_hit for row in rows] == [2 * b for b in blocks]

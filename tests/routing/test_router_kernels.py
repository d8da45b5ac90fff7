"""Each router three ways: the compiled rule, the thin object, and plain Python by the formula."""

import numpy as np
import pytest
import router_oracle
from hypothesis import given, settings
from hypothesis import strategies as st

from hitpath.routing import kinds
from hitpath.routing.dispatch import NUM_COUNTERS, pick
from hitpath.routing.registry import ROUTERS, RULES, make_router, options_of
from hitpath.routing.terms import StepTerms
from hitpath.routing.view import View, ask_of

TERMS = StepTerms(
    prefill_s=1e-4,
    pair_s=2e-9,
    context_s=3e-8,
    sequence_s=1e-5,
    step_s=0.01,
    load_s=2e-6,
    max_batch_tokens=64,
    capacity_tokens=400,
)

# Small numbers, so that ties, thresholds and overloads are common.
TYPED = {
    "least-loaded": ["", "load=tokens", "load=scraped"],
    "prefix-hash": ["", "abs=1,load_factor=1", "abs=0"],
    "sglang": ["", "abs=1,rel=1.1", "threshold=0,miss=tree", "abs=2,rel=1,threshold=0.9"],
    "vllm": ["abs=3"],
    "smg": ["", "abs=2,rel=1.2", "abs=20,rel=1,threshold=0.05", "cap=off,abs=6,rel=1"],
    "vllm-kv": ["", "host=0.5", "temperature=0.3"],
    "production-stack": ["", "min=20"],
    "llmd-load": ["", "queue=0", "kv=0.5"],
    "llmd-approx": ["", "length=0.3,length_tokens=40", "block=0", "max_blocks=2"],
    "llmd-precise": ["", "host=0", "normalise=ratio", "prefix=1,queue=1,kv=1"],
    "dynamo": ["", "decay=2,host=0.5", "temperature=0.7", "unique=0,requests=2", "cost_block=4"],
    "aibrix": ["", "gap=1", "gate=relative,gap=2,factor=1", "deviations=0.2"],
    "ray": ["", "imbalanced=2", "rate=0.6"],
    "preble": ["", "rebalance=1.5", "evict=1,prefill_us=7"],
    "hitpath": [
        "",
        "decode_price=0,load_price=0,queue_price=0,evict_price=0",
        "memory=0,active=0",
        "memory=90",
    ],
}
CASES = [(name, text) for name in ROUTERS for text in TYPED.get(name, [""])]


@st.composite
def moments(draw):
    """(ask, view) as dicts: at most 7 workers, at least one of them alive."""
    count = draw(st.integers(1, 7))

    def numbers(high):
        return draw(st.lists(st.integers(0, high), min_size=count, max_size=count))

    prompt = draw(st.integers(1, 80))
    match = [min(m, prompt) for m in numbers(80)]
    view = {
        "match": match,
        "match_host": [min(prompt, a + b) for a, b in zip(match, numbers(20), strict=True)],
        "waiting": numbers(4),
        "running": numbers(6),
        "kv_use": [n / 8 for n in numbers(8)],
        "in_flight": numbers(draw(st.sampled_from([3, 12, 40]))),
        "prefill_tokens": numbers(draw(st.sampled_from([0, 150]))),
        "active_tokens": numbers(300),
        "sent": numbers(5),
        "index_tokens": numbers(draw(st.sampled_from([2, 400]))),
        "decoding": numbers(5),
        "decoding_context": numbers(300),
        "active_unique": numbers(200),
        "active_shared": [min(a, prompt) for a in numbers(80)],
    }
    for name in ("decoding", "active_unique", "active_shared"):
        if draw(st.integers(0, 3)) == 0:
            view[name] = [-1] * count  # the caller does not count it
    alive = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    alive[draw(st.integers(0, count - 1))] = True
    view["alive"] = alive
    ask = {
        "row": draw(st.integers(0, 1 << 40)),
        "prompt_tokens": prompt,
        "session": draw(st.sampled_from([0, 1, (1 << 64) - 1])),
        "prefix_hash": draw(st.integers(0, (1 << 64) - 1)),
        "expected_output_tokens": draw(st.integers(0, 30)),
        "time_s": draw(st.sampled_from([0.0, 0.5, 100.0])),
    }
    return ask, view


def arrays(view):
    kinds_of = {"kv_use": np.float64, "alive": np.bool_}
    return View(**{k: np.array(v, dtype=kinds_of.get(k, np.int64)) for k, v in view.items()})


def request(ask):
    return ask_of(
        ask["row"],
        ask["prompt_tokens"],
        session=ask["session"],
        prefix_hash=ask["prefix_hash"],
        expected_output_tokens=ask["expected_output_tokens"],
        time_s=ask["time_s"],
    )


def named(router, name):
    """The numbers of a router by the names of its options."""
    rule = RULES[name]
    numbers = dict(zip([o.name for o in rule.options], router.params, strict=False))
    return {**numbers, "block": router.index.block_tokens, "max_blocks": router.index.max_blocks}


@pytest.mark.parametrize(("name", "text"), CASES)
@settings(max_examples=25, deadline=None)
@given(moment=moments(), seed=st.integers(0, 2**63 - 1), turn=st.integers(0, 3))
def test_kernel_object_and_formula_agree(name, text, moment, seed, turn):
    ask, view = moment
    router = make_router(f"{name}:{text}", len(view["alive"]), seed, TERMS)
    given_view = arrays(view)
    before = [a.copy() for a in given_view]
    counter = np.zeros(NUM_COUNTERS, dtype=np.int64)
    counter[0] = router.counter[0] = turn % len(view["alive"])
    plain_counter = [int(counter[0])]
    worker = pick(
        router.kind,
        router.params,
        router.ring,
        request(ask),
        given_view,
        counter,
        np.uint64(seed),
    )
    decision = router.pick(request(ask), given_view)
    fleet = router_oracle.Fleet(ask, view, seed)
    may, must = router_oracle.RULES[name](fleet, named(router, name), router.ring, plain_counter)
    assert decision.worker == worker
    assert worker in may
    assert must is None or worker == must
    assert view["alive"][worker]
    assert np.array_equal(counter, router.counter)
    if must is not None:
        assert counter[0] == plain_counter[0]
    for array, copy in zip(given_view, before, strict=True):
        assert np.array_equal(array, copy)


def test_every_router_has_a_formula_in_plain_python():
    assert set(router_oracle.RULES) == set(ROUTERS) == set(RULES)
    assert {rule.kind for rule in RULES.values()} == {
        value for name, value in vars(kinds).items() if name.isupper()
    }


@pytest.mark.parametrize("name", ROUTERS)
@settings(max_examples=10, deadline=None)
@given(moment=moments(), seed=st.integers(0, 2**63 - 1))
def test_one_worker_gets_everything_and_nobody_dead(name, moment, seed):
    ask, view = moment
    view = {**view, "alive": [w == 0 for w in range(len(view["alive"]))]}
    router = make_router(name, len(view["alive"]), seed, TERMS)
    assert router.pick(request(ask), arrays(view)).worker == 0
    view["alive"][0] = False
    with pytest.raises(ValueError, match="no worker is alive"):
        router.pick(request(ask), arrays(view))


@pytest.mark.parametrize("name", ROUTERS)
def test_a_router_reads_only_the_scraped_figures_that_it_names(name):
    """Whatever the figures that it does not name are, the choice is the same."""
    rng = np.random.default_rng(5)
    router = make_router(name, 6, 1, TERMS)
    for row in range(60):
        prompt = int(rng.integers(1, 100))
        match = rng.integers(0, prompt + 1, 6)
        view = View(
            match=match,
            match_host=np.minimum(match + rng.integers(0, 5, 6), prompt),
            **{k: rng.integers(0, 9, 6) for k in ("waiting", "running")},
            kv_use=rng.random(6),
            **{
                k: rng.integers(0, 50, 6)
                for k in ("in_flight", "prefill_tokens", "active_tokens", "sent", "index_tokens")
            },
            **{k: rng.integers(0, 50, 6) for k in ("decoding", "decoding_context")},
            **{k: rng.integers(0, prompt + 1, 6) for k in ("active_unique", "active_shared")},
            alive=np.ones(6, dtype=np.bool_),
        )
        hidden = {"waiting", "running", "kv_use"} - set(router.needs)
        other = view._replace(**{k: rng.permutation(getattr(view, k)) + 1 for k in hidden})
        ask = ask_of(row, prompt, session=row + 1, prefix_hash=row * 977, time_s=1.0)
        router.counter[:] = row % 3
        first = router.pick(ask, view).worker
        router.counter[:] = row % 3
        assert router.pick(ask, other).worker == first


def test_all_options_have_a_meaning_and_a_default_in_their_range():
    for rule in RULES.values():
        names = [own.name for own in options_of(rule)]
        assert len(set(names)) == len(names)
        for own in options_of(rule):
            assert own.meaning
            assert own.term or own.low <= own.default <= own.high

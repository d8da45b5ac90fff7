"""What every engine model has to do, whatever its rules: one suite for all of them."""

import pytest

from hitpath.sim.models.contract import Reach, Request
from models.worlds import LARGE, MODELS, serve


@pytest.fixture(params=MODELS, name="model")
def _model(request):
    return MODELS[request.param]()


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_lost_or_counted_twice(model, seed):
    served = serve(model, seed, 80, model.check)
    assert served.hits
    model.new_step()  # copies to a host are made
    device = model.occupancy()
    assert device.used == 0
    assert device.cached + device.free == device.total


def test_small_caches_evict_and_refuse(model):
    runs = [serve(model, seed, 100) for seed in range(6)]
    assert sum(run.evicted for run in runs) > 0
    assert sum(run.refused + run.preempted for run in runs) > 0


@pytest.mark.parametrize("name", MODELS)
def test_the_same_traffic_gives_the_same_hits(name):
    first, again = (serve(MODELS[name](), 7, 120) for _ in range(2))
    assert first == again


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", MODELS)
def test_looking_changes_nothing(name, seed):
    model, probe = MODELS[name](), Request(10_000, [0, 1, 2] * 9)

    def look():
        before = [model.occupancy(tier) for tier in ("device", "host")]
        hit, reach = model.lookup(probe), model.reach(probe)
        assert model.lookup(probe) == hit
        assert reach.hit == hit.tokens
        assert reach.hit <= reach.resident <= reach.in_flight < len(probe.tokens)
        assert before == [model.occupancy(tier) for tier in ("device", "host")]

    assert serve(model, seed, 60, look) == serve(MODELS[name](), seed, 60)


def test_a_hit_is_never_the_whole_prompt_and_none_without_reading(model):
    prompt = [0, 1, 2] * 9
    for number in range(3):
        hit = model.admit(Request(number, prompt))
        assert hit is not None
        assert hit.tokens < len(prompt)
        model.processed(number)
        model.finish(number)
        model.new_step()
    assert model.lookup(Request(8, prompt, reads_cache=False)).tokens == 0
    assert model.lookup(Request(9, prompt, context="other")).tokens == 0
    assert model.reach(Request(9, prompt, context="other")) == Reach(0, 0, 0)


def test_numbers_that_do_not_run_are_refused(model):
    for call in (model.processed, model.finish, model.preempt):
        with pytest.raises(KeyError):
            call(5)
    with pytest.raises(KeyError):
        model.extend(5, 1)
    with pytest.raises(KeyError):
        model.generate(5, [1])


def test_clearing_leaves_nothing_and_waits_for_running_requests(model):
    prompt = [0, 1, 2] * 9
    assert model.admit(Request(0, prompt)) is not None
    model.processed(0)
    assert not model.clear()
    model.finish(0)
    model.new_step()
    assert model.clear()
    model.check()
    assert model.occupancy().cached == 0
    assert model.lookup(Request(1, prompt)).tokens == 0


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("length", [1, 3, 4, 5, 8, 9, 16, 17, 33, 64])
def test_resends_hit_by_the_closed_form(name, length):
    """floor((L - 1) / unit) x unit, less what is given back."""
    make, unit, given_back = LARGE[name]
    model, prompt = make(), list(range(100, 100 + length))
    for number in range(3):
        hit = model.admit(Request(number, prompt))
        assert hit is not None
        expected = max((length - 1) // unit * unit - given_back, 0) if number else 0
        assert hit.tokens == expected
        model.processed(number)
        model.finish(number)
        model.new_step()


@pytest.mark.parametrize("name", LARGE)
def test_outputs_are_reusable_but_for_the_last_token(name):
    make, unit, given_back = LARGE[name]
    model, tokens = make(), list(range(40))
    assert model.admit(Request(0, tokens)) is not None
    for token in range(900, 921):
        model.processed(0)
        model.generate(0, [token])
        tokens = [*tokens, token]
        if token < 920:
            assert model.extend(0, 1)
    model.finish(0)
    model.new_step()
    hit = model.admit(Request(1, [*tokens, 1, 2, 3]))
    assert hit is not None
    assert hit.tokens == 60 // unit * unit - given_back

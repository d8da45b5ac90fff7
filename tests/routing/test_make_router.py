"""Routers by text: defaults, options, and errors that say what is wrong."""

import numpy as np
import pytest

from hitpath.core import SettingError
from hitpath.routing.registry import ROUTERS, RULES, make_router, options_of
from hitpath.routing.router import Router
from hitpath.routing.terms import StepTerms
from hitpath.routing.view import IndexSettings

TERMS = StepTerms(prefill_s=2e-4, pair_s=3e-9, step_s=0.02, capacity_tokens=1000)


def numbers(router: Router, name: str) -> dict[str, float]:
    return dict(zip([o.name for o in RULES[name].options], router.params, strict=False))


def test_defaults_and_options():
    router = make_router("llmd-precise: prefix=3.5 , queue=0", 8, 7)
    got = numbers(router, "llmd-precise")
    assert (got["prefix"], got["queue"], got["kv"], got["normalise"]) == (3.5, 0, 2, 1)
    assert router.needs == ("kv_use",)
    assert router.index == IndexSettings("resident")
    assert (router.name, router.seed) == ("llmd-precise: prefix=3.5 , queue=0", 7)


def test_options_of_the_index():
    text = "llmd-approx:index=resident,block=64,max_blocks=9,capacity=5,ttl=1.5"
    assert make_router(text, 2, 0).index == IndexSettings("resident", 64, 9, 5, 1.5)
    own = make_router("llmd-approx", 2, 0).index
    assert own == IndexSettings("history", 16, 256, 31_250, 0.0)
    assert make_router("dynamo:index=history,ttl=120", 2, 0).index.ttl_s == 120


def test_needs_follow_the_options():
    assert make_router("least-loaded", 2, 0).needs == ()
    assert make_router("least-loaded:load=scraped", 2, 0).needs == ("waiting", "running")
    assert make_router("llmd-approx:kv=0", 2, 0).needs == ("waiting",)
    assert make_router("hitpath", 2, 0, TERMS).needs == ("kv_use", "running")
    assert make_router("hitpath:memory=0,decode_price=0", 2, 0, TERMS).needs == ()


def test_step_times_come_from_the_engine_or_are_typed():
    got = numbers(make_router("hitpath:step_ms=5", 2, 0, TERMS), "hitpath")
    assert got["prefill_us"] == pytest.approx(200)
    assert got["pair_ns"] == pytest.approx(3)
    assert (got["step_ms"], got["memory"], got["batch"]) == (5, 1000, 8192)
    typed = make_router("preble:prefill_us=50,decode_ms=20", 2, 0)
    assert numbers(typed, "preble")["prefill_us"] == 50


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("llmd", "no such router; there are random, round-robin"),
        ("", "no such router"),
        ("random:seed=3", "no option 'seed'; there are: none"),
        ("random:block=16", "no option 'block'"),
        ("llmd-load:block=16", "no option 'block'"),
        ("dynamo:temprature=1", "no option 'temprature'; there are: overlap, decay"),
        ("dynamo:temperature", "temperature has no value; write temperature="),
        ("dynamo:temperature=", "temperature has no value"),
        ("dynamo:temperature=hot", "temperature=hot is no number"),
        ("dynamo:temperature=nan", "temperature=nan is not from 0 to"),
        ("dynamo:temperature=-1", "temperature=-1 is not from 0 to"),
        ("dynamo:temperature=inf", "temperature=inf is not from 0 to"),
        ("dynamo:cost_block=1.5", "cost_block=1.5 is no whole number"),
        ("dynamo:cost_block=0", "cost_block=0 is not from 1 to"),
        ("dynamo:decay=1,decay=2", "decay is given twice"),
        ("dynamo:index=gossip", "index=gossip is not one of resident, history"),
        ("sglang:gate=off", "gate=off is not one of fleet, spill"),
        ("sglang:threshold=1.1", "threshold=1.1 is not from 0 to 1"),
        ("hitpath", "needs the engine's step times: prefill_us"),
        ("preble:prefill_us=3", "needs the engine's step times: decode_ms"),
    ],
)
def test_what_is_wrong_is_said(text, message):
    with pytest.raises(SettingError, match=message) as caught:
        make_router(text, 3, 0)
    assert str(caught.value).startswith(f"--router {text}: ")


def test_numbers_of_workers_and_seeds():
    with pytest.raises(SettingError, match="is not from 1 to"):
        make_router("random", 0, 0)
    with pytest.raises(SettingError, match="must be from 0"):
        make_router("random", 1, -1)
    with pytest.raises(SettingError, match="is no text"):
        make_router(None, 1, 0)  # type: ignore[arg-type]


def test_one_line_each_with_a_source():
    for name, line in ROUTERS.items():
        assert "\n" not in line
        assert line.endswith("]")
        assert 20 < len(line) < 250, name
        assert isinstance(make_router(name, 3, 0, TERMS).params, np.ndarray)
        assert len(make_router(name, 3, 0, TERMS).params) >= len(RULES[name].options)
        assert options_of(RULES[name])[: len(RULES[name].options)] == RULES[name].options

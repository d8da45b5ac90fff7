"""Engines by name over traces in memory, beside the caches that the analysis has."""

import random

import numpy as np
import pytest

from hitpath.core import Setting, SettingError
from hitpath.sim.models.from_trace import arrivals_of
from hitpath.sim.models.named import DEFAULT_BLOCK_SIZES, make_model
from hitpath.sim.models.replay import replay
from hitpath.sim.rungs import root_codes
from hitpath.spine import analyze_trace
from hitpath.traces import read_trace
from oracle.world import Request as Asked
from support import chained_trace, shared_data, token_trace


def replayed(trace, name, capacity_tokens, block_size=None, keep_outputs=False):
    roots = root_codes(trace, False)
    workers = np.zeros(len(trace), dtype=np.int64)
    arrivals = arrivals_of(trace, roots, workers, keep_outputs, range(len(trace)))
    return replay(arrivals, make_model(name, capacity_tokens, block_size), 1)


@pytest.mark.parametrize(
    "name", [*DEFAULT_BLOCK_SIZES, "vllm@0.30", "vllm@0.22.1", "sglang@0.5.18"]
)
def test_known_names_make_a_worker(name):
    assert make_model(name, 4096)().occupancy().total > 0


@pytest.mark.parametrize(
    "name", ["vllm@0.1", "vllm@0.33", "vllm@x", "sglang@0.6.0", "sglang@0.5.1", "lru", "trtllm@1"]
)
def test_what_is_not_modelled_is_refused_by_name(name):
    with pytest.raises(SettingError, match=name.replace(".", r"\.")):
        make_model(name, 4096)


def test_sizes_that_cannot_be():
    with pytest.raises(SettingError, match="no blocks"):
        make_model("llamacpp", 4096, 16)
    with pytest.raises(SettingError, match="two blocks"):
        make_model("vllm", 8, 16)


def asked(seed, count=60):
    rng = random.Random(seed)
    stems = [tuple(rng.randrange(3) for _ in range(rng.randint(4, 50))) for _ in range(4)]
    made = []
    for i in range(count):
        stem = rng.choice(stems)
        tokens = (*stem[: rng.randint(0, len(stem))], rng.randrange(3), 9)
        made.append(Asked(tokens, arrival_s=float(i), salt=rng.choice([None, None, "s"])))
    return made


@pytest.mark.parametrize("name", ["vllm", "vllm@0.22", "hitpath", "sglang"])
@pytest.mark.parametrize("seed", range(3))
def test_with_room_for_all_it_is_the_unlimited_cache_with_the_last_token_rule(name, seed):
    trace = token_trace(asked(seed))
    setting = Setting(last_token=True, block_size=4)
    ledger = analyze_trace(trace, setting).ledger
    out = replayed(trace, name, 100_000, 4)
    assert out.hit.tolist() == ledger.rungs.model[0].tolist()


def test_block_ids_stand_for_their_tokens():
    requests = asked(7)
    by_ids = replayed(chained_trace(requests, 4), "vllm", 100_000, 4)
    by_tokens = replayed(token_trace(requests), "vllm", 100_000, 4)
    assert by_ids.hit.tolist() == by_tokens.hit.tolist()


def test_more_tokens_than_a_model_can_look_at_are_refused():
    path = shared_data("mooncake") / "conversation_trace.jsonl"
    with pytest.raises(SettingError, match="take a part"):
        replayed(read_trace([str(path)]), "vllm", 100_000)


def test_real_sessions_of_a_coding_agent_hit_what_the_analysis_says():
    path = shared_data("coding_agent_sessions") / "trace_0291.json"
    trace = read_trace([str(path)])
    ledger = analyze_trace(trace, Setting(last_token=True, block_size=64)).ledger
    assert replayed(trace, "vllm", 1 << 28, 64).hit.tolist() == ledger.rungs.model[0].tolist()

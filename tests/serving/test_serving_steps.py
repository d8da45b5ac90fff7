"""Step times are those of the cost model: a request alone takes what `hitpath price` says."""

from dataclasses import replace

import numpy as np
import pytest
from serving_toys import fleet_of, serve

from hitpath.core import SettingError
from hitpath.cost.decode_rows import step_seconds
from hitpath.cost.model_table import built_in_models
from hitpath.cost.paths import decode_step, hit_path
from hitpath.cost.pricing import load_pricing
from hitpath.sim.serving import step_time
from hitpath.sim.serving.records import Link, WorkerGroup, WorkerSettings
from hitpath.sim.serving.step_time import decode_attention_s, step_model

KINDS = {
    "dense": "llama-2-7b",
    "grouped heads": "llama-3.1-8b",
    "sliding windows": "gemma-3-4b",
    "experts": "qwen3-30b-a3b",
    "experts and windows": "gpt-oss-20b",
    "latent attention": "deepseek-v2-lite",
    "attention and states": "jamba-v0.1",
    "states alone": "mamba-codestral-7b",
}
CHUNK = 1024


def replica_of(model, num_gpus=1):
    setting = "compute=0.6,memory=0.7,link=0.8,overhead_s=0.004"
    return load_pricing(model, "h100-sxm", num_gpus=num_gpus, efficiency=setting).replica


def worker(replica, lookup_s=0.0, **others):
    settings = WorkerSettings(max_batch_tokens=CHUNK, max_running=64, **others)
    return settings, step_model(replica, CHUNK, 64, lookup_s)


@pytest.mark.parametrize("model", KINDS.values(), ids=KINDS)
def test_a_lone_request_takes_the_price_of_its_path(model):
    replica = replica_of(model)
    prompt = list(range(5003))
    longer = prompt[:4000] + [9] * 1203
    _, outcome = serve([prompt, longer], [40, 40], [0.0, 64.0], fleet_of(*worker(replica)))
    assert outcome.hit_tokens.tolist() == [0, 4000]
    for row, (tokens, hit) in enumerate([(5003, 0), (5203, 4000)]):
        path = hit_path(replica, tokens, hit, chunk_tokens=CHUNK)
        assert outcome.ttft_s[row] == pytest.approx(path.ttft_s, rel=1e-9)
        rest = sum(decode_step(replica, tokens + i).ttft_s for i in range(1, 40))
        assert outcome.e2e_s[row] - outcome.ttft_s[row] == pytest.approx(rest, rel=1e-6)


def test_on_several_gpus_with_lookup_and_client():
    replica = replica_of("llama-3.3-70b", 4)
    settings, steps = worker(replica, lookup_s=1e-5)
    fleet = fleet_of(settings, steps, ttft_constant_s=0.125)
    _, outcome = serve([list(range(3000))], [1], [5.0], fleet)
    path = hit_path(replica, 3000, 0, chunk_tokens=CHUNK, lookup_s=1e-5 * (3000 // 16))
    assert outcome.ttft_s[0] == pytest.approx(path.ttft_s + 0.125, rel=1e-9)
    assert outcome.finish_s[0] - 5.0 == pytest.approx(path.ttft_s, rel=1e-9)


@pytest.mark.parametrize("model", KINDS.values(), ids=KINDS)
def test_a_batch_of_equal_contexts_is_a_decode_step_of_cost(model):
    replica = replica_of(model)
    steps = step_model(replica, CHUNK, 64)
    for context in (2, 127, 128, 512, 1024, 1025, 5000, 100_000):
        for batch in (1, 7, 64):
            sees = np.array(
                [batch * min(context, window) for window in steps.windows], dtype=np.int64
            )
            seconds = decode_attention_s(steps.attention, batch, batch * (context - 1), sees)
            seconds += steps.linear_s[batch] + steps.head_s[batch]
            seconds += steps.link_s_per_token * batch + steps.overhead_s
            expected = step_seconds(replica, np.array([context]), batch)[0]
            assert seconds == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("num_gpus", [1, 8])
def test_every_built_in_model_has_the_steps_of_cost(num_gpus):
    """step_model holds them against cost itself, on a grid."""
    made = 0
    for name in built_in_models():
        try:
            replica = replica_of(name, num_gpus)
        except SettingError:
            continue
        step_model(replica, 4096, 16)
        made += 1
    assert made > 20


def test_steps_that_are_not_those_of_cost_are_refused(monkeypatch):
    forms = step_time._forms

    def wrong(mixer):
        return [[window, pairs * (1 + 1e-8), *rest] for window, pairs, *rest in forms(mixer)]

    monkeypatch.setattr(step_time, "_forms", wrong)
    with pytest.raises(SettingError, match=r"llama-3\.1-8b: a step of"):
        step_model(replica_of("llama-3.1-8b"), CHUNK, 64)


def test_handing_over_takes_the_transfer_and_one_more_step():
    replica = replica_of("llama-3.1-8b")
    settings, steps = worker(replica)
    fleet = fleet_of(settings, steps)
    fleet = replace(
        fleet,
        workers=(
            WorkerGroup(1, settings, steps, "prefill"),
            WorkerGroup(1, settings, steps, "decode"),
        ),
        transfer=Link(131_072, 50e9, 0.003),
    )
    _, outcome = serve([list(range(4000))], [10], [0.0], fleet)
    prefill = hit_path(replica, 4000, 0, chunk_tokens=CHUNK).ttft_s
    moved = 0.003 + 4000 * 131_072 / 50e9
    first = decode_step(replica, 4000).ttft_s
    assert outcome.decode_worker[0] == 1
    assert outcome.first_token_s[0] == pytest.approx(prefill + moved + first, rel=1e-9)
    assert outcome.per_worker.output_tokens.tolist() == [0, 10]

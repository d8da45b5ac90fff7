"""What each metric counts, on scenarios whose sums are known."""

import re

import pytest

from hitpath.engine.events import Admitted, Evicted, Preempted, RequestDone, StepDone
from hitpath.engine.records import Timings, Usage
from hitpath.engine.settings import EngineSettings
from hitpath.serve.metrics import Metrics
from serve.asking import asked_of, hit, text_of
from serve.running import tiny_server


def values_of(page):
    return {
        name: float(value)
        for name, value in re.findall(r"^(hitpath_\S+) (\S+)$", page, re.MULTILINE)
    }


def page_of(metrics):
    return values_of(metrics.page("")[0].decode())


def test_the_sums_of_a_run_are_those_of_its_answers():
    running, engine = tiny_server()
    with running as server, server.client() as client:
        answers = []
        for prompt, choices in (("a", 1), ("a", 1), ("b", 2), ("c", 1)):
            asked = asked_of(text_of(prompt), 5, n=choices)
            answers.append(client.completions.create(**asked))
        client.completions.create(**asked_of(text_of("c"), 5, extra_body={"cache_salt": "s"}))
        found = values_of(server.ask("GET", "/metrics")[1])
        stats = engine.stats()
    prompts, hits = 6 * 100, 2 * hit(100)  # the second choice of b finds what the first computed
    assert found["hitpath_prompt_tokens_total"] == prompts == stats.prompt_tokens
    assert found["hitpath_hit_tokens_total"] == hits == stats.hit_tokens
    assert found["hitpath_avoided_prefill_tokens_total"] == hits
    assert found["hitpath_computed_tokens_total"] == prompts - hits == stats.computed_tokens
    assert found["hitpath_output_tokens_total"] == 30 == stats.output_tokens
    assert found['hitpath_finished_total{reason="length"}'] == 6
    assert found['hitpath_finished_total{reason="abort"}'] == 0
    for name, count in (("queue", 6), ("lookup", 6), ("tokenise", 6), ("decode", 6)):
        assert found[f"hitpath_{name}_seconds_count"] == count
    for name in ("prefill", "time_to_first_token"):
        paths = [
            found[f'hitpath_{name}_seconds_count{{path="{path}"}}'] for path in ("hit", "miss")
        ]
        assert paths == [2, 4]
    assert found["hitpath_step_seconds_count"] == stats.steps
    told = sum(one.timings["decode_s"] for one in answers)
    assert found["hitpath_decode_seconds_sum"] > told * 0.999
    gauges = [found[f'hitpath_kv_blocks{{state="{s}"}}'] for s in ("free", "cached", "used")]
    assert gauges == [stats.free_blocks, stats.cached_blocks, 0]
    assert (found["hitpath_running"], found["hitpath_waiting"]) == (0, 0)
    posts = 'hitpath_http_responses_total{path="/v1/completions",status="200"}'
    assert found[posts] == 5


def test_evictions_have_their_reasons_and_ages():
    settings = EngineSettings(num_blocks=40, max_model_len=512, num_threads=1)
    running, engine = tiny_server(settings)
    with running as server, server.client() as client:
        for number in range(8):
            client.completions.create(**asked_of(text_of(f"{number}", 200), 1))
        server.ask("DELETE", "/v1/cache")
        found = values_of(server.ask("GET", "/metrics")[1])
        stats = engine.stats()
    reasons = {
        r: found[f'hitpath_evicted_blocks_total{{reason="{r}"}}'] for r in ("capacity", "cleared")
    }
    assert reasons == {
        "capacity": stats.evictions["capacity"],
        "cleared": stats.evictions["cleared"],
    }
    assert all(count > 0 for count in reasons.values())
    total = sum(reasons.values())
    names = (
        "block_residency_seconds",
        "block_idle_before_eviction_seconds",
        "block_hits_before_eviction",
    )
    assert [found[f"hitpath_{name}_count"] for name in names] == [total] * 3
    idle, resident = (found[f"hitpath_{name}_sum"] for name in (names[1], names[0]))
    assert 0 < idle <= resident


def done(cached, output, reason="stop"):
    return RequestDone(
        "r", 0, reason, Usage(100, cached, output), Timings(1.0, 0.5, 0.25, 2.0, 4.0)
    )


def test_a_preempted_request_counts_once_but_its_reruns_are_computed_twice():
    metrics = Metrics()
    metrics.observe(Admitted("r", 0, 100, 16, 1.0, 0.25, resumed=False))
    metrics.observe(StepDone(0.1, 0, 84, 1, 0, 0, 0, 7))
    metrics.observe(Preempted("r", 0, 101))
    metrics.observe(Admitted("r", 0, 100, 96, 3.0, 0.5, resumed=True))
    metrics.observe(StepDone(0.1, 0, 5, 1, 0, 0, 0, 7))
    metrics.observe(done(16, 3))
    found = page_of(metrics)
    assert found["hitpath_prompt_tokens_total"] == 100
    assert found["hitpath_hit_tokens_total"] == 16
    assert found["hitpath_avoided_prefill_tokens_total"] == 112
    assert found["hitpath_computed_tokens_total"] == 89
    assert found["hitpath_preemptions_total"] == 1
    assert (found["hitpath_queue_seconds_count"], found["hitpath_queue_seconds_sum"]) == (1, 1.0)
    assert found["hitpath_lookup_seconds_sum"] == 0.25
    assert found['hitpath_time_to_first_token_seconds_sum{path="hit"}'] == 3.75
    assert found['hitpath_prefill_seconds_sum{path="hit"}'] == 2.0


def test_what_ended_before_its_first_token_has_no_time_to_it():
    metrics = Metrics()
    metrics.observe(done(0, 0, "abort"))
    found = page_of(metrics)
    assert found['hitpath_finished_total{reason="abort"}'] == 1
    for path in ("hit", "miss"):
        assert found[f'hitpath_time_to_first_token_seconds_count{{path="{path}"}}'] == 0
    assert found["hitpath_decode_seconds_count"] == 0


def test_every_evicted_block_is_one_observation():
    metrics = Metrics()
    metrics.observe(Evicted("capacity", "lru", 16, "r", (0.5, 2.0), (5.0, 70.0), (0, 3)))
    found = page_of(metrics)
    assert found['hitpath_evicted_blocks_total{reason="capacity"}'] == 2
    assert found["hitpath_block_idle_before_eviction_seconds_sum"] == 2.5
    assert found['hitpath_block_residency_seconds_bucket{le="60.0"}'] == 1
    assert found['hitpath_block_hits_before_eviction_bucket{le="0.0"}'] == 1
    assert found["hitpath_block_hits_before_eviction_sum"] == 3


@pytest.mark.parametrize(
    ("accept", "kind"), [("", "text/plain"), ("application/openmetrics-text", "openmetrics")]
)
def test_both_forms_that_prometheus_asks_for(accept, kind):
    body, content_type = Metrics().page(accept)
    assert kind in content_type
    assert body.endswith(b"# EOF\n") == ("openmetrics" in kind)

"""Single rules of the engines, with figures that vLLM's and SGLang's own code gave."""

import pytest

from hitpath.core import SettingError
from hitpath.sim.models.contract import Request
from hitpath.sim.models.llamacpp import LlamaSettings
from hitpath.sim.models.sglang import SglangModel
from hitpath.sim.models.sglang_queue import order_waiting
from hitpath.sim.models.sglang_rules import SglangSettings
from hitpath.sim.models.trtllm import TrtModel, TrtSettings
from hitpath.sim.models.vllm import VllmModel
from hitpath.sim.models.vllm_rules import DENSE, LayerGroup, VllmSettings
from hitpath.sim.models.vllm_steps import StepSettings, VllmScheduler

B = 4
FULL = LayerGroup("full", B)


def serve(model, number, tokens, outputs=(), **more):
    hit = model.admit(Request(number, tokens, **more))
    for i, token in enumerate(outputs):
        model.processed(number)
        model.generate(number, [token])
        if i < len(outputs) - 1:
            assert model.extend(number, 1)
    model.processed(number)
    model.finish(number)
    model.new_step()
    return hit.tokens


def test_vllm_frees_unnamed_blocks_first_and_the_tail_of_a_chain_before_its_head():
    """Measured: pool of 8, A of 14 tokens, B of 8; the free queue after each end (0.32)."""
    model = VllmModel(VllmSettings(9, (FULL,)))
    model.admit(Request(0, list(range(14))))
    model.admit(Request(1, list(range(100, 108))))
    model.finish(0)
    assert model.pool.queue() == [4, 7, 8, 3, 2, 1]
    model.finish(1)
    assert model.pool.queue() == [4, 7, 8, 3, 2, 1, 6, 5]


def test_vllm_up_to_0_22_appends_all():
    model = VllmModel(VllmSettings(9, (FULL,), version="0.22"))
    model.admit(Request(0, list(range(14))))
    model.finish(0)
    assert model.pool.queue() == [5, 6, 7, 8, 4, 3, 2, 1]


def test_vllm_shows_what_is_scheduled_in_the_same_step_and_no_more():
    model = VllmModel(VllmSettings(64, (FULL,)))
    prompt = list(range(20))
    assert model.admit(Request(0, prompt), 6).tokens == 0
    assert model.lookup(Request(1, prompt)).tokens == 4
    assert model.reach(Request(1, prompt)).in_flight == 16
    assert model.extend(0, 14)
    assert model.lookup(Request(1, prompt)).tokens == 16


@pytest.mark.parametrize(
    ("interval", "expected"), [(DENSE, [40, 36, 32, 24, 60]), (0, [36, 36, 0, 0, 36])]
)
def test_vllm_window_layers_keep_little_since_0_30(interval, expected):
    """Measured with vLLM 0.32, window 8: an extension of a prompt of 40, its resend, prompts that
    share 32 and 24 of it, and the next turn of a chat with 21 tokens of output."""
    groups = (FULL, LayerGroup("window", B, 8))

    def fresh():
        return VllmModel(VllmSettings(400, groups, retention_interval=interval or None))

    prompt, hits = list(range(40)), []
    for follower in (
        [*prompt, *[1] * 8],
        prompt,
        [*prompt[:32], *[1] * 8],
        [*prompt[:24], *[1] * 8],
    ):
        model = fresh()
        serve(model, 0, prompt)
        hits.append(serve(model, 1, follower))
    model, outputs = fresh(), list(range(500, 521))
    serve(model, 0, prompt, outputs)
    hits.append(serve(model, 1, [*prompt, *outputs, *[1] * 10]))
    assert hits == expected


def test_vllm_learns_a_junction_on_the_second_request():
    """Measured: A+B, A+C, A+D, A+E with A of 32 tokens: 0, 0, 32, 32."""
    model = VllmModel(VllmSettings(400, (FULL, LayerGroup("window", B, 8))))
    hits = [serve(model, i, [*range(32), *[100 + i] * 9]) for i in range(4)]
    assert hits == [0, 0, 32, 32]


def test_vllm_scheduler_preempts_the_last_and_looks_it_up_again():
    scheduler = VllmScheduler(VllmSettings(13, (FULL,)), StepSettings(max_tokens=100))
    for number in range(2):
        scheduler.submit(Request(number, list(range(number * 50, number * 50 + 20))), 20)
    preempted, hits = [], {}
    for step_number in range(60):
        step = scheduler.schedule()
        preempted += step.preempted
        hits |= {number: hit.tokens for number, hit in step.admitted.items() if step_number}
        scheduler.update(step, {number: [7] for number in scheduler.due(step)})
    assert preempted == [1]
    assert set(hits) == {1}
    assert not scheduler.running
    assert scheduler.counters.queries == 40


def test_sglang_shows_nothing_before_the_result_is_processed():
    model = SglangModel(SglangSettings(1000))
    prompt = list(range(30))
    model.admit(Request(0, prompt))
    twin = Request(1, prompt)
    assert model.lookup(twin).tokens == 0
    assert model.reach(twin).in_flight == 29
    model.processed(0)
    assert model.lookup(twin).tokens == 29


def test_sglang_puts_off_a_twin_under_lpm_only():
    model = SglangModel(SglangSettings(1000))
    waiting = [Request(i, [*range(40), i]) for i in range(3)]
    assert order_waiting(waiting, model, "fcfs") == (waiting, set())
    order, put_off = order_waiting(waiting, model, "lpm")
    assert [request.number for request in order] == [0, 1, 2]
    assert put_off == {1, 2}


def test_sglang_loads_back_from_the_host_but_not_a_few_tokens():
    model = SglangModel(SglangSettings(60, host_tokens=400))
    serve(model, 0, list(range(40)))
    serve(model, 1, list(range(100, 155)))
    hit = model.lookup(Request(2, [*range(40), 1]))
    assert (hit.device_tokens, hit.host_tokens) == (0, 40)
    assert serve(model, 2, [*range(40), 1]) == 40
    serve(model, 3, list(range(200, 255)))
    assert model.lookup(Request(4, [*range(9), 1])).tokens == 0


def test_trtllm_takes_part_of_a_block_and_waits_for_a_twin():
    model = TrtModel(TrtSettings(100, 32))
    prompt = list(range(100))
    model.admit(Request(0, prompt))
    assert model.waits(Request(1, prompt))
    model.processed(0)
    assert not model.waits(Request(1, prompt))
    model.finish(0)
    assert model.lookup(Request(2, [*prompt[:70], 5])).tokens == 70
    assert model.lookup(Request(3, prompt)).tokens == 99


def test_settings_that_cannot_be_are_refused():
    for make in (
        lambda: VllmSettings(1),
        lambda: VllmSettings(9, (FULL,), version="0.22", watermark_frac=0.1),
        lambda: VllmSettings(9, (FULL,), version="newest"),
        lambda: VllmSettings(9, (FULL,), version="0.18"),
        lambda: VllmSettings(9, ()),
        lambda: VllmSettings(9, (FULL, LayerGroup("state", 8))),
        lambda: LayerGroup("window", 4),
        lambda: StepSettings(max_tokens=0),
        lambda: SglangSettings(3, 4),
        lambda: SglangSettings(64, version="0.5.18", host_tokens=64),
        lambda: SglangSettings(64, version="x"),
        lambda: LlamaSettings(0, 10),
        lambda: TrtSettings(0),
        lambda: VllmScheduler(
            VllmSettings(9, (FULL, LayerGroup("state", B)), version="0.26"), StepSettings()
        ),
    ):
        with pytest.raises(SettingError):
            make()

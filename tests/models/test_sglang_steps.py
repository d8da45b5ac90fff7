"""SGLang's steps: when a prefix can be hit, what a step may take on, and who has to go."""

import pytest

from hitpath.core import SettingError
from hitpath.sim.models.contract import Request
from hitpath.sim.models.sglang_budget import SglangSteps
from hitpath.sim.models.sglang_rules import SglangSettings
from hitpath.sim.models.sglang_steps import SglangScheduler


def worker(capacity=1000, page=1, **steps):
    return SglangScheduler(SglangSettings(capacity, page), SglangSteps(**steps))


def one_step(made):
    """A step and its result; every token is a 7."""
    step = made.schedule()
    made.update(dict.fromkeys(made.due(), 7))
    made.model.check()
    return step


def to_the_end(made, most=200):
    steps = []
    for _ in range(most):
        step = one_step(made)
        if step is None and not made.due() and not made.waiting:
            return steps
        steps.append(step)
    raise AssertionError("it does not end")


@pytest.mark.parametrize(("overlap", "hits"), [(False, [0, 0, 40, 40]), (True, [0, 0, 0, 40])])
def test_a_prefix_can_be_hit_once_its_result_is_processed(overlap, hits):
    """Two at once, one with the next step and one with the step behind it: with overlap the next
    step begins before the result of the first is there."""
    made, prefix = worker(overlap=overlap), list(range(40))
    found = {}
    for arriving in ((0, 1), (2,), (3,)):
        for number in arriving:
            made.submit(Request(number, [*prefix, 100 + number]), 4)
        found |= one_step(made).admitted
    assert [found[number] for number in range(4)] == hits


@pytest.mark.parametrize("overlap", [False, True])
def test_a_chunk_can_be_hit_when_the_next_step_begins(overlap):
    made, prompt = worker(overlap=overlap, chunk_tokens=16), list(range(50))
    made.submit(Request(0, prompt), 2)
    assert one_step(made).scheduled == {0: 16}
    made.submit(Request(1, [*prompt[:30], 99]), 2)
    second = one_step(made)
    assert second.scheduled == {0: 16}, "the next chunk leaves nothing for another"
    third, fourth = one_step(made), one_step(made)
    assert third.scheduled == {0: 16}
    assert fourth.scheduled == {0: 2, 1: 1}
    assert fourth.admitted == {1: 30}


def test_whoever_ends_by_length_is_not_decoded_once_more_but_who_stops_is():
    made = worker(overlap=True)
    made.submit(Request(0, [1, 2, 3]), 2)
    steps = to_the_end(made)
    assert [step and step.kind for step in steps] == ["prefill", "decode"]
    made.submit(Request(1, [1, 2, 3]), 9)
    made.schedule()
    made.update({})
    made.schedule()  # the first decode has begun when the first token is known to be the last
    assert made.update({1: 7}, stopped=[1]) == [1]
    assert made.model.tree.peek([1, 2, 3, 7, 7], None) == (4, 0), "its last token is computed, too"


def test_what_is_expected_of_running_requests_is_set_aside():
    """All of the output of those that begin in the same step, 0.7 of it later; a request needs its
    prompt, its whole output and a page."""
    made = worker(capacity=700, overlap=False)
    for number in range(4):
        made.submit(Request(number, [number] * 100), 100)
    assert one_step(made).admitted == {0: 0, 1: 0, 2: 0}
    assert [job.number for job in made.waiting] == [3]
    assert one_step(made).kind == "decode", "700 - 3 x (100 + 99 x 0.7) = 192, and 201 are needed"


def test_the_ratio_falls_with_each_decode_and_begins_anew_when_all_is_done():
    made = worker(overlap=False)
    made.submit(Request(0, [1, 2, 3]), 4)
    ratios = []
    for _ in range(5):
        one_step(made)
        ratios.append(round(made.ratio, 6))
    step = (0.7 - 0.7 * 0.14) / 600
    assert ratios == [0.7, *(round(0.7 - i * step, 6) for i in (1, 2, 3)), 0.7]


def test_the_one_with_the_least_output_is_retracted_and_hits_its_prompt_again():
    made = worker(capacity=80, overlap=False, conservativeness=0.01)
    made.submit(Request(0, [0] * 10), 50)
    one_step(made)
    made.submit(Request(1, [1] * 10), 45)
    admitted, retracted = [], []
    for _ in range(200):
        step = one_step(made)
        retracted += made.retracted
        if step is not None and step.admitted:
            admitted.append(step.admitted)
        if not made.waiting and not made.running:
            break
    assert retracted == [1]
    assert [*admitted[0]] == [1]
    assert admitted[1][1] >= 9


def test_what_an_empty_worker_has_no_room_for_is_refused():
    made = worker(capacity=64, page=16)
    assert not made.submit(Request(0, [1] * 40), 5), "three pages, one more, and a token"
    assert made.submit(Request(1, [1] * 30), 50)
    assert made.waiting[0].max_output == 15


@pytest.mark.parametrize(
    ("settings", "cause"),
    [
        (SglangSettings(64, host_tokens=64), "host tier"),
        (SglangSettings(64, version="0.5.20"), "0.5.20 are not modelled"),
    ],
)
def test_what_is_not_modelled_is_refused(settings, cause):
    with pytest.raises(SettingError, match=cause):
        SglangScheduler(settings, SglangSteps())


def test_steps_that_could_run_nothing_are_refused():
    with pytest.raises(SettingError, match="cannot run"):
        SglangSteps(max_running=0)

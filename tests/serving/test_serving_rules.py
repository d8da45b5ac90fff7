"""Rules that engines differ in, and what a router counts itself: small cases worked out by hand."""

from dataclasses import replace

import pytest
from serving_toys import fleet_of, serve

from hitpath.sim.serving.layout import FAILED_WORKER
from hitpath.sim.serving.records import Change, Link, WorkerGroup, WorkerSettings
from hitpath.sim.serving.step_time import fixed_steps

SETTINGS = WorkerSettings(block_size=2, max_batch_tokens=8, max_running=8)
STEPS = fixed_steps(8, 8, 1.0)


def served(prompts, output_tokens, times, told=None, num_workers=1, router="round-robin", **said):
    fleet = fleet_of(replace(SETTINGS, **said), STEPS, num_workers, router, checked=True)
    return serve(prompts, output_tokens, times, fleet, told)[1]


def test_blocks_that_active_requests_share_count_once():
    """Four requests of prompt A are four blocks, as one is; B goes where they are not. The last
    one comes when all of A have ended: B's worker has more blocks."""
    a, b, c = [1] * 8, [2] * 8, [3] * 8
    prompts = [a, b, a, a, a, c]
    times = [0.0, 0.125, 0.25, 0.375, 0.5, 60.0]
    router = "dynamo:prefill_scale=0,cost_block=2"
    outcome = served(
        prompts, [10, 90, 10, 10, 10, 1], times, num_workers=2, router=router, max_batch_tokens=64
    )
    first, second = outcome.worker[:2].tolist()
    assert first != second
    assert outcome.worker.tolist() == [first, second, first, first, first, first]


def test_with_plain_tokens_the_fourth_goes_elsewhere():
    """The same with `unique=0`: A's worker has 16 tokens and more, B's 8."""
    prompts = [[1] * 8, [2] * 8, [1] * 8, [1] * 8]
    times = [0.0, 0.125, 0.25, 0.375]
    router = "dynamo:prefill_scale=0,cost_block=2,unique=0"
    outcome = served(prompts, [50] * 4, times, num_workers=2, router=router, max_batch_tokens=64)
    assert sorted(outcome.worker[:2].tolist()) == [0, 1]
    assert sorted(outcome.worker[2:].tolist()) == [0, 1]


@pytest.mark.parametrize(("mixed", "finish"), [(True, [4.0, 7.0]), (False, [6.0, 6.0])])
def test_prompts_in_steps_of_their_own_go_first(mixed, finish):
    """A decodes from 1 s on when a prompt of two chunks comes. Mixed: A has its four tokens after
    four steps; the prompt has 7, 7 and 2 tokens beside A's. Else A waits for two steps."""
    outcome = served([[1] * 4, [2] * 16], [4, 4], [0.0, 0.5], mixed=mixed)
    assert outcome.finish_s.tolist() == finish


@pytest.mark.parametrize(("free_copies", "peak"), [(False, 6), (True, 4)])
def test_a_copy_is_given_back_at_once_or_at_the_end(free_copies, peak):
    """Two equal prompts of two blocks in one step, visible after it: 4 blocks, and 2 are the same.
    The third token of each needs a block of its own."""
    outcome = served(
        [[1] * 4, [1] * 4], [3, 3], [0.0, 0.0], visible="processed", free_copies=free_copies
    )
    assert outcome.hit_tokens.tolist() == [0, 0]
    assert outcome.per_worker.peak_blocks.tolist() == [peak]


@pytest.mark.parametrize(
    ("visible", "replies", "hit"),
    [("schedule", "growing", 8), ("processed", "growing", 8), ("schedule", "ended", 4)],
)
def test_a_reply_is_found_while_it_is_written(visible, replies, hit):
    """Steps end at 1, 2, ...: in the one from 5 s on the reply's fifth token is computed. Four of
    them, two blocks, are there, and the prompt's two; the last token of a prompt is computed."""
    prompt, reply = [1, 2, 3, 4], [5, 6, 7, 8, 9, 10, 11, 12]
    outcome = served(
        [prompt, prompt + reply[:5]], [8, 1], [0.0, 5.0], [reply, None], visible=visible,
        replies=replies,
    )  # fmt: skip
    assert outcome.hit_tokens.tolist() == [0, hit]


@pytest.mark.parametrize(("visible", "hit"), [("schedule", 8), ("processed", 8), ("prompt", 0)])
def test_a_prompt_is_found_by_chunks_or_as_a_whole(visible, hit):
    """The first chunk of 8 tokens is computed at 1 s; the other 4 are beside the second request."""
    prompt = list(range(12))
    outcome = served([prompt, prompt[:9]], [1, 1], [0.0, 0.5], visible=visible)
    assert outcome.admit_s.tolist() == [0.0, 1.0]
    assert outcome.hit_tokens.tolist() == [0, hit]


@pytest.mark.parametrize(("late", "hits"), [(False, [0, 8, 8]), (True, [0, 0, 8])])
def test_late_results_are_not_seen_by_the_next_step(late, hits):
    """The first prompt is computed at 1 s; the second comes then, the third a step later."""
    prompt = list(range(9))
    outcome = served(
        [prompt] * 3, [1, 1, 1], [0.0, 1.0, 2.0], max_batch_tokens=16, visible="processed",
        late_results=late,
    )  # fmt: skip
    assert outcome.hit_tokens.tolist() == hits
    assert outcome.finish_s.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(("late", "finish"), [(False, [1.0, 2.0, 2.0]), (True, [1.0, 2.0, 3.0])])
def test_who_ended_holds_its_blocks_until_the_next_step_is_there(late, finish):
    """Two blocks of two requests are in use when a third ends: late, there is no room for its two
    beside the second, which is put together with them."""
    outcome = served(
        [[1] * 4, [2] * 4, [3] * 4], [1, 1, 1], [0.0, 0.5, 0.5], capacity_blocks=4,
        late_results=late,
    )  # fmt: skip
    assert outcome.finish_s.tolist() == finish


def test_no_time_passes_for_kv_that_arrives_nowhere():
    """Computed at 1 s, on its way for 100 s, and its decode worker fails at 2 s."""
    fleet = replace(
        fleet_of(SETTINGS, STEPS, checked=True),
        workers=tuple(WorkerGroup(1, SETTINGS, STEPS, role) for role in ("prefill", "decode")),
        transfer=Link(0.0, 1.0, 100.0),
        changes=(Change(2.0, 1, "fail"),),
    )
    _, outcome = serve([[1] * 4], [3], [0.0], fleet)
    assert outcome.ending.tolist() == [FAILED_WORKER]
    assert outcome.end_s == 2.0

"""Queues whose mean wait is known in closed form."""

import numpy as np
import pytest
from serving_toys import alone, distinct_requests, fleet_of

from hitpath.sim.serving.records import Arrivals
from hitpath.sim.serving.simulate import simulate_serving
from hitpath.sim.serving.step_time import fixed_steps

NUM = 200_000
MOST = 64


def waits(times, prompt_tokens, steps, num_workers=1, router="round-robin"):
    tree, requests = distinct_requests(len(times), prompt_tokens)
    fleet = fleet_of(alone(MOST), steps, num_workers, router)
    outcome = simulate_serving(tree, None, requests, Arrivals.at(times), fleet)
    outcome.check(requests)
    return outcome.admit_s - outcome.sent_s, outcome


def poisson(rate, seed):
    return np.cumsum(np.random.default_rng(seed).exponential(1 / rate, NUM))


def close(values, expected):
    """Whether the mean is within 3.3 standard errors (99.9 %), from means of 100 stretches."""
    means = values.reshape(100, -1).mean(axis=1)
    error = means.std(ddof=1) / np.sqrt(len(means))
    assert error < 0.1 * expected, "too few to tell"
    assert abs(means.mean() - expected) < 3.3 * error


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_equal_requests_one_at_a_time_wait_as_in_m_d_1(load):
    """Deterministic service s: mean wait = load x s / (2 (1 - load))."""
    wait, outcome = waits(poisson(load, 5), 1, fixed_steps(MOST, 1, 1.0))
    close(wait, load / (2 * (1 - load)))
    assert outcome.per_worker.busy_s[0] == NUM
    queue = outcome.per_worker.waiting_integral[0]
    assert queue == pytest.approx(wait.sum(), rel=1e-9)  # Little: every waiting second is someone's


@pytest.mark.parametrize("load", [0.5, 0.75])
def test_requests_of_all_lengths_wait_as_pollaczek_and_khinchine_say(load):
    """Mean wait = rate x E[s^2] / (2 (1 - load)), whatever the service times s."""
    lengths = np.random.default_rng(8).integers(1, MOST, NUM)
    service = lengths.astype(np.float64)
    rate = load / service.mean()
    wait, _ = waits(poisson(rate, 9), lengths, fixed_steps(MOST, 1, 0.0, 1.0))
    close(wait, rate * (service**2).mean() / (2 * (1 - load)))


def test_random_routing_makes_a_queue_of_its_own_of_every_worker():
    """A fair split of a Poisson stream is Poisson again: M/D/1 at each of four workers."""
    wait, _ = waits(poisson(4 * 0.6, 3), 1, fixed_steps(MOST, 1, 1.0), 4, "random")
    close(wait, 0.6 / (2 * 0.4))


def test_turns_and_the_least_loaded_wait_less_than_chance():
    times = poisson(4 * 0.6, 3)
    means = [
        waits(times, 1, fixed_steps(MOST, 1, 1.0), 4, router)[0].mean()
        for router in ("random", "round-robin", "least-loaded")
    ]
    assert means[0] > 2 * max(means[1:])

"""The 57x experiment meets its criteria on the measured rows: all schedulers, five seeds.

docs/57x.md has the figures of nine seeds, and what does not fit.
"""

import re
from pathlib import Path

import msgspec
import numpy as np
import pytest
from llmd_73.fit import START, loss, with_fitted
from llmd_73.judge import checks, first_overloaded
from llmd_73.ladder import ladder_of, rungs
from llmd_73.measured import read_measured
from llmd_73.settings import load_experiment
from llmd_73.simulate import run_all, run_scheduler

pytestmark = pytest.mark.long

SCHEDULERS = ("random", "load", "estimated", "precise")


@pytest.fixture(scope="module")
def medians():
    return run_all(load_experiment(), read_measured(), num_seeds=5)


@pytest.fixture(scope="module")
def run():
    return run_scheduler(load_experiment(), "estimated", 1, read_measured())


def test_the_fitted_numbers_are_those_of_the_fit():
    """`python examples/llmd_73_capacity.py --fit`, on the 32 rows of measured.csv."""
    assert msgspec.structs.asdict(load_experiment().fitted) == PINNED


PINNED = {
    "step_overhead_s": 0.00887,
    "compute_frac": 0.46732,
    "ttft_constant_s": 0.11356,
    "prompt_scale": 1.02221,
    "counted_frac": 0.9243,
}


def test_they_are_nearer_to_the_measured_rows_than_what_the_fit_began_with(medians):
    began = run_all(with_fitted(load_experiment(), START), read_measured(), num_seeds=5)
    assert loss(medians, read_measured()) < loss(began, read_measured())


def test_every_criterion_is_met_but_one(medians):
    """By Little's law the measured TTFTs of `estimated` alone make a longer queue than the report
    says (docs/57x.md): no model that meets them can meet it."""
    missed = [check.name for check in checks(medians, read_measured()) if not check.met]
    assert missed == ["mean queue of estimated within 25 %"]


@pytest.mark.parametrize(
    ("scheduler", "said", "follows"),
    [("random", 27.3, True), ("load", 28.9, True), ("estimated", 8.1, False)],
)
def test_whether_the_reports_queue_follows_from_its_own_ttft(scheduler, said, follows):
    """Little's law over the rows that were handed out: waiting requests = successes x (TTFT less
    what a request alone needs) / time, of 8 pods."""
    experiment, measured = load_experiment(), read_measured()
    alone_s = measured[scheduler, 3.0].ttft_mean_s
    waited_s = time_s = 0.0
    for stage in experiment.load.stages:
        row = measured.get((scheduler, float(stage.rate)))
        if row is not None:
            served = min(stage.num_requests, 1024)
            waited_s += served * max(row.ttft_mean_s - alone_s, 0)
            counted = served * experiment.load.output_tokens * experiment.fitted.counted_frac
            time_s += counted / row.output_tokens_per_s
    queue = waited_s / time_s / experiment.pods.count
    assert (abs(queue / said - 1) < 0.25) is follows, queue


def test_the_factor_of_the_post_comes_out(medians):
    ratio = medians["estimated"].summary.ttft_p90_s / medians["precise"].summary.ttft_p90_s
    assert 40 < ratio < 90
    assert 35 <= first_overloaded(medians["estimated"]) <= 46


def test_the_page_says_what_comes_out(medians):
    """Nine seeds there and five here: within 10 %."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "57x.md").read_text("utf-8")
    for name in SCHEDULERS:
        cells = re.search(rf"^\| {name} \| ([^|]+)\| ([^|]+)\| ([^|]+)\|", page, re.M).groups()
        output, p90, mean = (float(cell.split(" (")[0].replace(",", "")) for cell in cells)
        ours = medians[name].summary
        assert output == pytest.approx(ours.output_tokens_per_s, rel=0.1)
        assert p90 == pytest.approx(ours.ttft_p90_s, rel=0.1)
        assert mean == pytest.approx(ours.ttft_mean_s, rel=0.1)


def test_the_pages_pictures_are_drawn_for_light_and_dark():
    folder = Path(__file__).resolve().parents[2] / "docs"
    page = (folder / "57x.md").read_text("utf-8")
    for name in ("ttft", "output", "hits", "ladder", "seeds"):
        assert f"(57x-{name}.svg)" in page
        drawn = (folder / f"57x-{name}.svg").read_text("utf-8")
        assert "prefers-color-scheme:dark" in drawn
        assert "nan" not in drawn


def test_precise_hits_most_and_load_least_of_what_could_be_hit(medians):
    rates = {name: medians[name].summary.hit_rate for name in SCHEDULERS}
    assert rates["precise"] > 0.9 > rates["estimated"] > 0.6
    assert rates["random"] < 0.25
    assert rates["load"] < 0.25


def test_the_breaker_lets_1024_requests_of_a_stage_through(run):
    workload, outcome = run
    for number, stage in enumerate(workload.stages):
        served = int(outcome.served[workload.stage == number].sum())
        assert served == (1024 if stage.rate >= 40 else stage.num_requests)


def test_stages_do_not_overlap(run):
    workload, outcome = run
    for number in range(1, len(workload.stages)):
        begins = outcome.sent_s[workload.stage == number].min()
        before = outcome.served & (workload.stage == number - 1)
        assert begins >= outcome.finish_s[before].max()


def test_every_prompt_token_has_one_label(run):
    for stage in (None, 3, 9):
        ladder = ladder_of(run, stage)
        assert sum(ladder) == pytest.approx(1)
        assert min(ladder) >= 0
    assert ladder_of(run).cold == 0, "the warm-up asks every prompt once"


def test_rungs_never_fall(run):
    steps = rungs(run)[:, run.outcome.served]
    assert (steps[1:] >= steps[:-1]).all()
    assert (steps[-1] == run.workload.experiment.prompt_tokens).all()


def test_what_was_ever_computed_against_a_plain_loop(run):
    """In order of admission: a prompt asked before, else a group of which a prompt was."""
    workload, outcome = run
    experiment = workload.experiment
    block, tokens = experiment.pods.block_tokens, experiment.prompt_tokens
    prompts, groups = set(), set()
    steps = rungs(run)
    for row in np.argsort(outcome.admit_s, kind="stable"):
        if np.isnan(outcome.admit_s[row]):
            break
        prompt = int(workload.prompt[row])
        seen = experiment.prefix_tokens if prompt // 5 in groups else 0
        seen = tokens if prompt in prompts else seen
        whole = min(seen, tokens - 1) // block * block
        assert steps[3, row] == max(whole, steps[2, row])
        assert steps[4, row] == max(seen, steps[3, row])
        prompts.add(prompt)
        groups.add(prompt // 5)


def test_no_hit_is_longer_than_what_was_ever_computed(run):
    """The simulator's caches against the order of requests alone, which shares no code with it."""
    workload, outcome = run
    first = np.zeros(750, dtype=bool)
    for row in np.argsort(outcome.admit_s, kind="stable")[: outcome.served.sum()]:
        if outcome.hit_tokens[row] > workload.experiment.prefix_tokens:
            assert first[workload.prompt[row]], "a question that nobody asked before"
        first[workload.prompt[row]] = True

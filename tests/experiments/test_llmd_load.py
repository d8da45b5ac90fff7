"""The load of the 57x experiment is the report's: counts, order, rates, and one file of it."""

import csv
import json
from collections import Counter

import numpy as np
import pytest
from llmd_73.measured import FILE, read_measured
from llmd_73.settings import load_experiment
from llmd_73.workload import build_workload, trace_rows, write_trace

import hitpath
from hitpath.index.forest import node_paths
from support import shared_data


@pytest.fixture(scope="module")
def workload():
    return build_workload(load_experiment(), "precise", read_measured(), seed=3)


def test_the_measured_rows_are_those_that_were_handed_out():
    rows = read_measured()
    assert len(rows) == 32
    assert Counter(name for name, _ in rows) == dict.fromkeys(
        ("random", "load", "estimated", "precise"), 8
    )
    published = shared_data("llmd_73_capacity.csv")
    with published.open(newline="") as theirs, FILE.open(newline="") as ours:
        assert list(csv.reader(ours)) == list(csv.reader(theirs))


def test_the_counts_are_the_reports(workload):
    assert workload.num_requests == 16_334 + 750
    assert len(workload.stages) == 17
    assert sum(stage.num_requests for stage in workload.stages[1:]) == 16_334


def test_every_stage_starts_again_at_the_first_prompt(workload):
    warm_up = workload.prompt[workload.stage == 0]
    assert sorted(warm_up) == list(range(750))
    for stage in range(1, 17):
        prompts = workload.prompt[workload.stage == stage]
        assert np.array_equal(prompts, np.resize(warm_up, len(prompts)))


def test_arrivals_are_stretched_to_the_rate_that_was_achieved(workload):
    measured = read_measured()
    for number, stage in enumerate(workload.stages):
        times = workload.time_s[workload.stage == number]
        row = measured.get(("precise", float(stage.rate))) if number else None
        rate = stage.rate if row is None else row.requests_per_s
        assert times[0] == 0
        assert len(times) / times[-1] == pytest.approx(rate)
        assert np.all(np.diff(times) >= 0)


def test_gaps_within_a_stage_are_exponential(workload):
    gaps = np.diff(workload.time_s[workload.stage == 9])
    assert gaps.std() / gaps.mean() == pytest.approx(1, abs=0.1)


def test_prompts_of_a_group_share_its_whole_blocks_and_no_more(workload):
    """7,200 tokens times the scale, in blocks of 64; the straddling block is the user's own."""
    experiment = workload.experiment
    block = experiment.pods.block_tokens
    forest = workload.engine_forest
    assert forest.num_nodes == 1 + 150 + 750 + workload.num_requests
    offsets, nodes = node_paths(forest, forest.end)
    for prompt in (0, 4, 5, 749):
        group, own = nodes[offsets[prompt] : offsets[prompt + 1]]
        shared = experiment.prefix_tokens // block
        assert forest.tree.length[group] == shared
        assert forest.tree.length[own] == experiment.prompt_tokens // block - shared
    same = {int(nodes[offsets[p]]) for p in range(5)}
    assert len(same) == 1
    assert int(nodes[offsets[5]]) not in same


def test_each_reply_stays_behind_its_prompt_and_is_like_no_other(workload):
    """1,000 tokens behind the prompt, but for the last one, which has no KV."""
    experiment, requests = workload.experiment, workload.requests()
    tree, ends = workload.engine_forest.tree, requests.output_end_node
    assert len(np.unique(ends)) == workload.num_requests
    assert np.array_equal(tree.parent[ends], requests.end_node)
    whole = (experiment.prompt_tokens + 999) // experiment.pods.block_tokens
    assert set(tree.depth[ends] + tree.length[ends]) == {whole}


def test_the_estimating_index_knows_groups_and_never_users(workload):
    """256 blocks of 16 tokens lie inside a prefix of 6,000."""
    ends = workload.router_forest.end
    assert len(np.unique(ends)) == 150
    assert np.array_equal(np.repeat(ends[::5], 5), ends)
    tree = workload.router_forest.tree
    assert set(tree.depth[ends] + tree.length[ends]) == {256}


def test_the_load_as_a_trace_is_read_by_hitpath(workload, tmp_path):
    path = tmp_path / "load.jsonl"
    write_trace(path, workload, np.arange(17) * 1000.0)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(rows) == workload.num_requests
    found = hitpath.analyze(rows[:900], block_size=64)
    tokens = workload.experiment.prompt_tokens
    assert found.prompt_tokens == 900 * tokens


def test_rows_of_the_trace_say_which_stage_they_are_of(workload):
    tenants = Counter(row["tenant"] for row in trace_rows(workload, np.zeros(17)))
    assert tenants["warm-up"] == 750
    assert tenants["60/s"] == 1500

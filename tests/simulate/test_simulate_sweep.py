"""A grid of fleets: axes, cells, regrets, files, an interrupt; and the search for a size."""

import csv
import json
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest

from hitpath.core import Setting, SettingError
from hitpath.report.simulate import SimulateJob, run_simulate, run_size
from hitpath.serving_spine import prepare, servable, sweep
from hitpath.serving_spine.cells import LESS_IS_BETTER, OBJECTIVES, measure
from hitpath.serving_spine.size import find_size
from hitpath.serving_spine.sweep import cells_of, parse_axes, run_sweep
from hitpath.sim.serving_file import FleetFile
from hitpath.sim.serving_plan import put_over
from hitpath.traces import read_trace
from hitpath.traces.synthetic import demo_rows
from support import write_jsonl

FLAGS = {
    "worker.model": "llama-3.1-8b",
    "worker.hardware": "h100-sxm",
    "worker.capacity_tokens": 150_000,
    "load.scale": 60.0,
    "outputs": "insert",
}
READ = Setting()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return str(write_jsonl(tmp_path_factory.mktemp("t") / "t.jsonl", demo_rows(0)[:200]))


@pytest.fixture(scope="module")
def trace(path):
    return servable(read_trace([path]), READ)


@pytest.fixture(scope="module")
def grid(trace):
    axes = parse_axes(["router=round-robin,longest-prefix", "workers=1,2,4"])
    return run_sweep(trace, READ, put_over(FleetFile(), FLAGS), axes)


def test_axes_are_parted():
    axes = parse_axes(["router=llmd-precise:prefix=3,queue=2,random", "capacity=1000,2_000"])
    assert axes[0].values == ("llmd-precise:prefix=3,queue=2", "random")
    assert axes[1].values == ("1000", "2_000")
    assert len(list(cells_of(axes))) == 4
    assert next(cells_of(axes)) == {"router": "llmd-precise:prefix=3,queue=2", "capacity": "1000"}


@pytest.mark.parametrize(
    "typed",
    [
        ["colour=red"],
        ["router"],
        ["workers=1,,2"],
        ["workers=1,1"],
        ["workers=1", "workers=2"],
        ["workers=" + ",".join(map(str, range(1, 200))), "seed=" + ",".join(map(str, range(99)))],
    ],
)
def test_what_is_no_grid_is_refused(typed):
    with pytest.raises(SettingError):
        parse_axes(typed)


@pytest.mark.parametrize("typed", ["workers=a", "workers=0", "workers=1.5", "router=x", "tp=3"])
def test_a_bad_cell_is_told_before_any_runs(trace, typed):
    with pytest.raises(SettingError):
        run_sweep(trace, READ, put_over(FleetFile(), FLAGS), parse_axes([typed]))


def test_every_cell_is_the_run_of_its_own(trace, grid):
    assert grid.complete
    assert [cell.at["workers"] for cell in grid.cells] == ["1", "2", "4"] * 2
    for cell in grid.cells[::3]:
        flags = {"router.name": cell.at["router"], "worker.count": int(cell.at["workers"])}
        alone = measure(prepare(trace, READ, put_over(FleetFile(), {**FLAGS, **flags})), cell.at)
        assert alone == cell


def test_with_one_worker_both_routers_are_one(grid):
    one, other = (cell for cell in grid.cells if cell.at["workers"] == "1")
    assert one.latency == other.latency
    assert one.hit_tokens == other.hit_tokens


def test_regret_is_against_the_best(grid):
    regrets = [grid.regret(cell) for cell in grid.cells]
    assert min(regrets) == 0
    best = grid.best
    for cell, regret in zip(grid.cells, regrets, strict=True):
        value, least = cell.latency.ttft_s.p90, best.latency.ttft_s.p90
        assert regret == pytest.approx((value - least) / least)


def test_nothing_hits_more_than_the_clairvoyant_order(grid):
    for cell in grid.cells:
        assert cell.hit_tokens <= cell.clairvoyant_tokens <= cell.prompt_tokens
        assert grid.hit_regret(cell) >= 0


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_objective_has_a_best(trace, grid, objective):
    axes = grid.axes[1:]
    file = put_over(FleetFile(), {**FLAGS, "slo": "ttft_p90<0.5"})
    found = run_sweep(trace, READ, file, axes, objective)
    values = [cell.value(objective) for cell in found.cells]
    best = min(values) if objective in LESS_IS_BETTER else max(values)
    assert found.best.value(objective) == best
    assert all(regret >= 0 for regret in map(found.regret, found.cells) if regret is not None)


def test_an_objective_that_is_none(trace):
    file, axes = put_over(FleetFile(), FLAGS), parse_axes(["workers=1"])
    for objective in ("speed", "goodput"):
        with pytest.raises(SettingError, match="--objective"):
            run_sweep(trace, READ, file, axes, objective)


def test_files_of_a_grid(path, tmp_path):
    files = {"json": "o.json", "svg": "o.svg"}
    axes = ["router=round-robin,least-loaded", "capacity=100000,200000,400000"]
    for table in ("o.csv", "o.parquet"):
        paths = {name: str(tmp_path / file) for name, file in files.items()}
        job = SimulateJob([path], None, FLAGS, sweep=axes, table=str(tmp_path / table), **paths)
        run_simulate(job)
    document = json.loads((tmp_path / "o.json").read_text())
    assert document["schema"] == "hitpath.sweep/1"
    assert document["complete"]
    assert len(document["cells"]) == document["num_cells"] == 6
    assert document["workload"]["miss_ttft_s"] > 0
    rows = list(csv.DictReader((tmp_path / "o.csv").read_text().splitlines()))
    table = pq.read_table(tmp_path / "o.parquet").to_pylist()
    for cell, row, typed in zip(document["cells"], rows, table, strict=True):
        assert cell["at"] == {"router": row["router"], "capacity": row["capacity"]}
        assert float(row["hit_rate"]) == typed["hit_rate"] == cell["hit_rate"]
        assert typed["ttft_p90_s"] == cell["latency"]["ttft_s"]["p90"]
        assert typed["regret"] == cell["regret"]
        assert typed["slo_met"] is None
    assert ElementTree.fromstring((tmp_path / "o.svg").read_text()).tag.endswith("svg")


def test_an_interrupt_leaves_what_is_done(path, tmp_path, monkeypatch):
    done = []

    def interrupted(prepared, at, between):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(at)
        return measure(prepared, at, between=between)

    monkeypatch.setattr(sweep, "measure", interrupted)
    out, table = tmp_path / "o.json", tmp_path / "o.csv"
    job = SimulateJob(
        [path], None, FLAGS, sweep=["workers=1,2,3,4"], json=str(out), table=str(table), threads=1
    )
    with pytest.raises(KeyboardInterrupt):
        run_simulate(job)
    document = json.loads(out.read_text())
    assert not document["complete"]
    assert len(document["cells"]) == 2
    assert len(table.read_text().splitlines()) == 3


def test_outputs_of_one_run_are_refused(path):
    with pytest.raises(SettingError, match="--ledger"):
        run_simulate(SimulateJob([path], None, FLAGS, sweep=["workers=1"], ledger="x.parquet"))
    with pytest.raises(SettingError, match="--table"):
        run_simulate(SimulateJob([path], None, FLAGS, sweep=["workers=1"], table="x.txt"))


SLO = "ttft_p90<1.2"


def test_the_smallest_fleet_is_found_by_trying_all(trace):
    file = put_over(FleetFile(), {**FLAGS, "slo": SLO, "gpu_hour_usd": 3.0})
    routers = ("round-robin", "least-loaded")
    sizing = find_size(trace, READ, file, routers, most_workers=8)
    for found in sizing.found:
        met = []
        for workers in range(1, 9):
            flags = {"router.name": found.router, "worker.count": workers}
            cell = measure(prepare(trace, READ, put_over(file, flags)), {}, with_bound=False)
            met.append(cell.goodput.met)
        assert met[found.workers - 1]
        assert not any(met[: found.workers - 1])
        assert found.not_monotone == (not met[found.workers])
    assert sizing.best.workers == min(found.workers for found in sizing.found)
    assert 1 < sizing.best.workers < 8
    assert sizing.usd_per_hour(2) == 6.0
    again = find_size(trace, READ, file, routers, most_workers=8)
    assert [(t.router, t.workers, t.met) for t in again.tried] == [
        (t.router, t.workers, t.met) for t in sizing.tried
    ]


def test_a_size_that_does_not_exist(path, tmp_path):
    out = tmp_path / "o.json"
    flags = {**FLAGS, "slo": "ttft_p90<0.000001"}
    job = SimulateJob([path], None, flags, json=str(out), routers=["random"], most_workers=3)
    run_size(job)
    document = json.loads(out.read_text())
    assert document["best"] is None
    assert [t["workers"] for t in document["tried"]] == [1, 2, 3]
    assert not any(t["met"] for t in document["tried"])


def test_a_search_needs_its_question(trace):
    file = put_over(FleetFile(), FLAGS)
    with pytest.raises(SettingError, match="--slo"):
        find_size(trace, READ, file)
    file = put_over(file, {"slo": SLO})
    with pytest.raises(SettingError, match="--max-workers"):
        find_size(trace, READ, file, most_workers=0)
    with pytest.raises(SettingError, match="--router: names none"):
        find_size(trace, READ, file, ("random", "random"))

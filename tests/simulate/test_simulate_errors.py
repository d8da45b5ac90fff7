"""What cannot be served is refused with its place and cause; nothing said is ignored in silence."""

import io
import json
import re
from dataclasses import replace

import pytest
from rich.console import Console

from hitpath.core import InputError, Setting, SettingError
from hitpath.report.simulate import SimulateJob, run_simulate, run_size
from hitpath.report.simulate_result import Simulated, Swept
from hitpath.report.simulate_sweep_terminal import print_sweep
from hitpath.report.simulate_terminal import print_simulation
from hitpath.serving_spine import servable, simulate_trace
from hitpath.serving_spine.sweep import parse_axes, run_sweep
from hitpath.sim.serving_file import FleetFile, Load, RouterPart, Worker
from hitpath.sim.serving_plan import plan_fleet
from hitpath.traces.synthetic import demo_rows
from support import trace_of_rows, write_jsonl

READ = Setting()
WORKER = "step_s = 0.01\ncapacity_tokens = 50_000\n"
STEADY = Worker(capacity_tokens=50_000, step_s=0.01)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("errors")
    write_jsonl(made / "t.jsonl", demo_rows(0)[:60])
    return made


@pytest.fixture(scope="module")
def trace(folder):
    return servable(trace_of_rows(folder, demo_rows(0)[:60]), READ)


@pytest.mark.parametrize(
    ("file", "told"),
    [
        (f"[worker]\nrole = 'prefill'\n{WORKER}",
         "worker.role: prefill workers need others for decode"),
        (f"[worker]\n{WORKER}[[workers]]\ncount = 2\n[[workers]]\nrole = 'decode'",
         "workers[1].role: decode workers need others for prefill"),
        (f"[worker]\n{WORKER}[[workers]]\nrole = 'prefill'\n[[workers]]\nrole = 'decode'",
         "transfer: needed"),
        (f"[worker]\n{WORKER}[transfer]\nbytes_per_s = 1e9", "transfer: no worker is for"),
        (f"load_overlaps = true\n[worker]\n{WORKER}", "load_overlaps: is of [host] or [remote]"),
        (f"[worker]\n{WORKER}[[changes]]\ntime_s = 1\nworker = 5\nchange = 'fail'",
         "changes[0].worker: 5 is none: there is worker 0 only"),
        (f"[worker]\n{WORKER}[[changes]]\ntime_s = 1\nworker = 0\nchange = 'fail'\n"
         "[[changes]]\ntime_s = 2\nworker = 9\nchange = 'fail'\n[[workers]]\ncount = 3",
         "changes[1].worker: 9 is none: 0 to 2"),
        (f"[worker]\n{WORKER}[load]\narrivals = 'poisson'\n[[load.stages]]\nrate_per_s = 1\n"
         "requests = 99", "load.stages[0]: asks for 99 requests, 60 are left"),
        (f"[worker]\n{WORKER}[load]\narrivals = 'poisson'", "load.arrivals: poisson: needs"),
        (f"[worker]\n{WORKER}[host]\ntokens = 100\nbytes_per_s = 1e9",
         "worker.kv_bytes_per_token: needed, for host"),
        (f"[worker]\n{WORKER}max_running = 900\nmax_batch_tokens = 200",
         "worker.max_running: 900 is more than max_batch_tokens 200"),
        (f"[worker]\n{WORKER}tp = 2", "worker.tp: constant times"),
        (f"[worker]\n{WORKER}memory_frac = 0.5", "worker.memory_frac: constant times"),
        ("[worker]\ncount = 2", "worker.model: needed, both"),
        ("[[workers]]\ncount = 2\nmodel = 'llama-3.1-8b'", "workers[0].hardware: needed, both"),
        (f"[worker]\n{WORKER}[router]\nscrape_age_s = 0.1", "router.scrape_age_s: needs a"),
        (f"[worker]\n{WORKER}[router]\nname = 'random:x=1'", "router.name: random:x=1: no option"),
        (f"[worker]\n{WORKER}[host]\ntokens = 100", "host.bytes_per_s: needed"),
        (f"[worker]\n{WORKER}kv_bytes_per_token = 9\n[host]\ntokens = 1\nbytes_per_s = 1e9",
         "host.tokens: hold not one block of 16 tokens"),
        (f"slo = 'x'\n[worker]\n{WORKER}", "slo: 'x' is not like"),
        (f"[worker]\n{WORKER}[load]\ndrain = false", "load.drain: is of stages"),
        (f"[[workers]]\n{WORKER}[[workers]]\nmodel = 'llama-3.1-8b'\nhardware = 'nothing'",
         "workers[1].hardware: nothing: "),
        (f"[worker]\nengine = 'llamacpp'\n{WORKER}", "worker.engine: llamacpp: its slots are no"),
        (f"[worker]\n{WORKER}[load]\nscale = 1e-18", "load.scale: 1e-18: sends the last"),
        (f"[[workers]]\n{WORKER}engine = 'vllm'\n[[workers]]\n{WORKER}engine = 'trtllm'",
         "workers[1].block_size: 32 tokens, workers[0] 16: a fleet has one"),
    ],
)  # fmt: skip
def test_an_error_of_the_file_names_file_and_field(folder, file, told):
    path = folder / "f.toml"
    path.write_text(file)
    with pytest.raises(InputError) as caught:
        run_simulate(SimulateJob([str(folder / "t.jsonl")], str(path), {}, json="-"))
    assert str(caught.value).startswith(f"{path}: {told}")
    assert "\n" not in str(caught.value)


def test_a_grid_and_a_search_name_file_and_field_too(folder):
    path = folder / "f.toml"
    path.write_text(f"slo = 'x'\n[worker]\n{WORKER}")
    grid = SimulateJob([str(folder / "t.jsonl")], str(path), {}, sweep=["workers=1,2"], json="-")
    for run, job in ((run_simulate, grid), (run_size, replace(grid, sweep=()))):
        with pytest.raises(InputError, match=r"f\.toml: slo: 'x' is not like"):
            run(job)
    grid = replace(grid, sweep=["router=random,llmd-precise", "max_running=10,99999"])
    path.write_text(f"[worker]\n{WORKER}max_batch_tokens = 64")
    with pytest.raises(SettingError, match="--max-running: 99,999 is more than"):
        run_simulate(grid)


def test_a_fleet_of_python_has_places_too(trace):
    fleet = {"worker": {"step_s": 0.01, "capacity_tokens": 50_000}}
    roles = {**fleet, "workers": [{"count": 1}, {"role": "decode"}]}
    with pytest.raises(InputError, match=r"^fleet: workers\[1\]\.role: decode workers need"):
        Simulated.of(trace, READ, roles)
    with pytest.raises(SettingError, match=r"^--engine llamacpp: its slots"):
        Simulated.of(trace, READ, fleet, engine="llamacpp")
    with pytest.raises(InputError, match=r"^fleet: worker\.engine: llamacpp: its slots"):
        Swept.of(trace, READ, {"worker": {**fleet["worker"], "engine": "llamacpp"}},
                 {"workers": [1]}, None)  # fmt: skip


def test_a_group_s_cache_takes_the_place_of_that_of_all(trace):
    worker = Worker(step_s=0.01, capacity_tokens=50_000)
    groups = (Worker(count=1), Worker(unlimited=True), Worker(capacity_tokens=320))
    plan = plan_fleet(FleetFile(worker=worker, workers=groups), None)
    assert [group.capacity_tokens for group in plan.groups] == [50_000, None, 320]
    with pytest.raises(SettingError, match="two sizes of one cache"):
        plan_fleet(
            FleetFile(
                worker=Worker(
                    model="llama-3.1-8b", hardware="h100-sxm", capacity_tokens=99, memory_frac=0.5
                )
            ),
            None,
        )


def test_an_error_of_an_option_names_the_option(folder):
    path = folder / "f.toml"
    path.write_text(f"[worker]\nengine = 'vllm'\n{WORKER}")
    job = SimulateJob([str(folder / "t.jsonl")], str(path), {"worker.engine": "llamacpp"}, json="-")
    with pytest.raises(SettingError, match=r"^--engine llamacpp: its slots are no cache that"):
        run_simulate(job)


@pytest.mark.parametrize(
    ("threads", "sweep", "told"),
    [
        (0, (), "--threads 0: is not from 1 to 1,024"),
        (-1, ("seed=1,2",), "--threads -1: is not from 1 to 1,024"),
        (2, (), "--threads: needs --sweep"),
    ],
)
def test_threads_are_of_a_sweep(folder, threads, sweep, told):
    job = SimulateJob([str(folder / "t.jsonl")], None, {}, threads=threads, sweep=sweep)
    with pytest.raises(SettingError, match=told):
        job.check()


def test_lag_and_loss_without_an_index_are_noted(trace):
    file = FleetFile(worker=STEADY, router=RouterPart(name="random", index_lag_s=0.5))
    notes = simulate_trace(trace, READ, file).analysis.warnings
    assert any("random follows no KV events" in note for note in notes)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"worker": Worker(capacity_tokens=16, step_s=0.01)},
         r"60 of 60 requests are larger than a worker's cache \(16 tokens; the smallest takes "),
        ({"changes": [{"time_s": 0.0, "worker": 0, "change": "fail"}]},
         "60 of 60 requests found no worker alive"),
    ],
)  # fmt: skip
def test_where_nothing_was_admitted_it_says_why(trace, changed, told):
    from hitpath.sim.serving_file import ChangePart

    if "changes" in changed:
        changed = {"changes": tuple(ChangePart(**change) for change in changed["changes"])}
    with pytest.raises(InputError, match=told):
        simulate_trace(trace, READ, FleetFile(**{"worker": STEADY, **changed}))


def page(show, width):
    console = Console(file=io.StringIO(), width=width)
    show(console)
    return console.file.getvalue()


def test_the_head_says_of_how_many_the_tokens_are(trace):
    load = Load(arrivals="poisson", rate_per_s=1e6)
    file = FleetFile(worker=STEADY, load=load, router=RouterPart(max_in_flight=5))
    simulation = simulate_trace(trace, READ, file)
    assert f"{simulation.serving.num_admitted} of 60 requests admitted" in page(
        lambda console: print_simulation(simulation, console), 120
    )


def test_requests_of_one_step_are_no_warning(trace):
    file = FleetFile(worker=STEADY, load=Load(arrivals="poisson", rate_per_s=1e6))
    warnings = simulate_trace(trace, READ, file).analysis.warnings
    assert not any("share their arrival time" in note for note in warnings)


AXES = ["router=round-robin,llmd-precise:prefix=3,queue=2", "workers=1,4", "block_size=16,64"]


@pytest.fixture(scope="module")
def grids(trace):
    """By number of axes, then one whose objective is no usual column."""
    file = FleetFile(worker=STEADY, slo="ttft_p90<0.1")
    found = [run_sweep(trace, READ, file, parse_axes(AXES[:num])) for num in (1, 2, 3)]
    return [*found, run_sweep(trace, READ, file, parse_axes(AXES), "e2e_p99")]


@pytest.mark.parametrize("width", [80, 110, 200])
@pytest.mark.parametrize("which", range(4))
def test_regret_and_bound_are_whole_at_any_width(grids, which, width):
    sweep = grids[which]
    text = page(lambda console: print_sweep(sweep, console), width)
    cells = text.partition("Cells ")[2].partition("Before you quote")[0]
    header, _, rows = cells.partition("  ───")
    objective = "goodput" if which < 3 else "e2e p99"
    words = [*(axis.name for axis in sweep.axes), "hit rate", objective, "regret", "to bound"]
    assert [word for word in words if word not in header] == []
    assert [f"{sweep.hit_regret(cell):.2%}"[:-1] in rows for cell in sweep.cells] == [True] * len(
        sweep.cells
    )
    assert len(re.findall(r"\bbest\b", rows)) == 1
    assert ("no room for TTFT p50" in text) == ("TTFT p50" not in header)
    assert max(map(len, text.splitlines())) <= width
    if width == 200:
        assert "TTFT p50" in header


def test_an_interrupted_grid_says_how_far_it_came(folder, tmp_path, monkeypatch, capsys):
    """The second cell is interrupted: the first stands in the files, and stderr says so."""
    from hitpath.serving_spine import sweep as sweep_module

    measured = []

    def measure(*args, **kwargs):
        measured.append(args)
        if len(measured) > 1:
            raise KeyboardInterrupt
        return original(*args, **kwargs)

    original = sweep_module.measure
    monkeypatch.setattr(sweep_module, "measure", measure)
    files = {"json": str(tmp_path / "i.json"), "table": str(tmp_path / "i.csv")}
    flags = {"worker.step_s": 0.01, "worker.capacity_tokens": 50_000}
    job = SimulateJob(
        [str(folder / "t.jsonl")], None, flags, sweep=["workers=1,2,3"], threads=1, **files
    )
    with pytest.raises(KeyboardInterrupt):
        run_simulate(job)
    told = f"hitpath: 1 of 3 cells, written to {files['json']} {files['table']}\n"
    assert capsys.readouterr().err.endswith(told)
    document = json.loads((tmp_path / "i.json").read_text())
    assert (document["complete"], len(document["cells"])) == (False, 1)

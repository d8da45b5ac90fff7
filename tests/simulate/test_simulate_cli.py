"""The two commands as typed: options reach the fleet, go over its file, are refused in a line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.main import get_command

from hitpath.cli_simulate import simulate, size
from hitpath.core import HitpathError, InputError, SettingError
from hitpath.traces.synthetic import demo_rows
from support import write_jsonl

app = typer.Typer()
for command in (simulate, size):
    app.command()(command)

FLEET = """
outputs = "insert"
slo = "ttft_p90<0.5"
[worker]
model = "llama-3.1-8b"
hardware = "h100-sxm"
capacity_tokens = 150_000
[[workers]]
count = 2
[router]
name = "least-loaded"
[load]
scale = 60.0
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("cli")
    write_jsonl(made / "t.jsonl", demo_rows(0)[:120])
    (made / "fleet.toml").write_text(FLEET)
    return made


@pytest.fixture
def call(folder, monkeypatch):
    def called(*words):
        monkeypatch.chdir(folder)
        get_command(app)([str(word) for word in words], standalone_mode=False)
        return json.loads((folder / "o.json").read_text())

    return called


def test_a_fleet_file_alone(call):
    document = call("simulate", "t.jsonl", "--fleet", "fleet.toml", "--json", "o.json")
    assert document["fleet"]["num_workers"] == 2
    assert document["fleet"]["router"]["name"] == "least-loaded"
    assert document["goodput"]["slo"] == "ttft_p90<0.5"
    assert document["setting"]["outputs"] == "insert"


def test_options_go_over_the_file(call):
    document = call(
        "simulate", "t.jsonl", "--fleet", "fleet.toml", "--json", "o.json", "--workers", 3,
        "--router", "llmd-precise:prefix=5", "--capacity-tokens", 200_000, "--block-size", 32,
        "--outputs", "ignore", "--index-lag", 0.5, "--index-loss", 0.25, "--max-in-flight", 50,
        "--max-batch-tokens", 4096, "--max-running", 99, "--engine", "sglang", "--gpu-hour", 4,
        "--scrape-interval-s", 0.1, "--scrape-age-s", 0.2, "--slo", "e2e_p99<9", "--seed", 5,
    )  # fmt: skip
    (group,) = document["fleet"]["groups"]
    assert (group["count"], group["capacity_tokens"], group["block_size"]) == (3, 200_000, 32)
    assert (group["max_batch_tokens"], group["max_running"]) == (4096, 99)
    assert (group["engine"], group["visible"]) == ("sglang", "processed")
    assert (group["replies"], group["mixed"]) == ("ended", False)
    assert group["free_copies"]
    assert group["late_results"]
    router = document["fleet"]["router"]
    assert (router["index_lag_s"], router["index_loss_frac"]) == (0.5, 0.25)
    assert (router["scrape_interval_s"], router["scrape_age_s"]) == (0.1, 0.2)
    assert router["max_in_flight"] == 50
    assert document["load"]["outputs"] == "ignore"
    assert document["goodput"]["slo"] == "e2e_p99<9"
    assert document["setting"]["seed"] == 5
    assert document["cost"]["usd_per_hour"] == 12


def test_without_a_capacity_it_is_what_memory_leaves(call):
    document = call(
        "simulate", "t.jsonl", "--model", "llama-3.1-8b", "--hardware", "h100-sxm", "--tp", 2,
        "--kv-dtype", "fp8", "--json", "o.json",
    )  # fmt: skip
    (group,) = document["fleet"]["groups"]
    assert group["capacity_from"] == "memory"
    # 0.9 of 2 x 80 GiB without 8.03 G parameters of 2 bytes, over 32 layers x 2 x 8 x 128 bytes
    expected = (0.9 * 2 * 80 * 2**30 - 8_030_261_248 * 2) / 65_536
    assert group["capacity_tokens"] == pytest.approx(expected, abs=17)
    assert group["num_gpus"] == 2


@pytest.mark.parametrize("kind", ["poisson", "constant", "closed"])
def test_arrivals(call, kind):
    think = ("--think-s", 0.5) if kind == "closed" else ()
    document = call(
        "simulate", "t.jsonl", "--model", "llama-3.1-8b", "--hardware", "h100-sxm",
        "--arrivals", kind, "--rate", 5, *think, "--json", "o.json",
    )  # fmt: skip
    assert document["load"]["arrivals"] == kind
    assert document["requests"]["served"] == 120


def test_axes_behind_one_sweep(call):
    document = call(
        "simulate", "t.jsonl", "--fleet", "fleet.toml", "--json", "o.json", "--sweep",
        "router=random,llmd-precise:prefix=3,queue=2", "workers=1,2", "--objective", "e2e_p90",
    )  # fmt: skip
    assert [axis["axis"] for axis in document["axes"]] == ["router", "workers"]
    assert document["num_cells"] == 4
    assert document["objective"] == "e2e_p90"


def test_a_size_with_its_price(call):
    document = call(
        "size", "--slo", "ttft_p90<5", "--trace", "t.jsonl", "--fleet", "fleet.toml", "--router",
        "random", "--router", "least-loaded", "--max-workers", 6, "--gpu-hour", 2.5, "--json",
        "o.json",
    )  # fmt: skip
    best = document["best"]
    assert best["workers"] <= 6
    assert best["usd_per_hour"] == 2.5 * best["workers"]
    assert {found["router"] for found in document["routers"]} == {"random", "least-loaded"}


@pytest.mark.parametrize(
    ("words", "error", "told"),
    [
        (["simulate", "t.jsonl"], SettingError, "--model, --hardware"),
        (["simulate", "none.jsonl", "--fleet", "fleet.toml"], InputError, "none.jsonl"),
        (["simulate", "t.jsonl", "--fleet", "none.toml"], InputError, "none.toml: no such file"),
        (["simulate", "t.jsonl", "--fleet", "t.jsonl"], InputError, "no TOML"),
        (["simulate", "t.jsonl", "--fleet", "."], InputError, ".: is a folder, not a file"),
        (["simulate", "t.jsonl", "--fleet", ""], InputError, '"": no such file'),
        (["simulate", "t.jsonl", "--model", "llama-3.1-8b", "--hardware", "l4", "--kv-dtype", ""],
         SettingError, "not one of fp32"),
        (["simulate", "t.jsonl", "--fleet", "fleet.toml", "--seed", "-1"], SettingError, "--seed"),
        (["simulate", "t.jsonl", "--fleet", "fleet.toml", "--arrivals", "x"], SettingError,
         "--arrivals: 'x' is not one of trace"),
        (["simulate", "t.jsonl", "--fleet", "fleet.toml", "--sweep", "colour=1"], SettingError,
         "no axis"),
        (["simulate", "t.jsonl", "--fleet", "fleet.toml", "--json", "fleet.toml"], HitpathError,
         "input"),
        (["size", "--trace", "t.jsonl", "--model", "llama-3.1-8b", "--hardware", "h100-sxm"],
         SettingError, "--slo"),
        (["size", "--slo", "ttft_p90<1", "--fleet", "fleet.toml"], SettingError, "--trace"),
    ],
)  # fmt: skip
def test_errors_are_one_line(call, words, error, told):
    with pytest.raises(error) as caught:
        call(*words)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_help_loads_no_kernels():
    """The command line stays fast: what simulates loads when it is used."""
    code = (
        "import sys, hitpath.cli_simulate; "
        "print([m for m in ('numba', 'numpy', 'pyarrow', 'msgspec') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_example_is_a_whole_fleet(call):
    example = Path(__file__).resolve().parents[2] / "examples" / "fleet.toml"
    document = call("simulate", "t.jsonl", "--fleet", example, "--json", "o.json")
    assert document["fleet"]["num_workers"] == 4
    assert document["requests"]["served"] == 120
    assert document["cost"]["gpu_hour_usd"] == 2.5

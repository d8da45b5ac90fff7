"""The models beside the engines' own cache managers, call by call: docs/exactness.md.

`make test-oracles` fetches the managers and runs this with many operations. Without them (the
folder that HITPATH_ORACLES names, .oracles by default) nothing here runs.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from models.install_oracles import RELEASES

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / os.environ.get("HITPATH_ORACLES", ".oracles")
OPERATIONS = int(os.environ.get("HITPATH_ORACLE_OPERATIONS", "1500"))

HYBRIDS = "one-window,window,sizes,gemma,two-windows"
STATES = "state,states"
STATE_STEPS_FROM = "0.28"
WINDOWS_FROM = "0.22"
STEPS_FROM = "0.22"


def drive(script, engine, version, *arguments, python=FOLDER / "venv" / "bin" / "python"):
    """Run a fuzz script beside one release; its findings, once it has found no difference."""
    source = FOLDER / f"{engine}-{version}"
    if not source.exists():
        pytest.skip(f"{source} is not there: make test-oracles fetches it")
    command = [python, f"tests/models/{script}.py", "--source", source]
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
    done = subprocess.run(
        [*command, *arguments],
        cwd=ROOT,
        env={"PYTHONPATH": paths, "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def at_least(version, first):
    return tuple(map(int, version.split("."))) >= tuple(map(int, first.split(".")))


def some(part=1):
    return str(max(OPERATIONS // part, 200))


@pytest.mark.parametrize("version", RELEASES["vllm"])
def test_vllm_manager_with_full_attention(version):
    found = drive("fuzz_vllm", "vllm", version, "--version", version, "--operations", some())
    total = found["kinds"]["full"]
    assert total["mismatches"] == 0
    assert total["hit_tokens"] > 0
    assert total["refused"] > 0


@pytest.mark.parametrize("version", RELEASES["vllm"])
def test_vllm_manager_with_windows_and_states(version):
    kinds = f"{HYBRIDS},{STATES}" if at_least(version, WINDOWS_FROM) else STATES
    options = ("--version", version, "--operations", some(10), "--kinds", kinds)
    found = drive("fuzz_vllm", "vllm", version, *options)["kinds"]
    assert all(total["mismatches"] == 0 and total["hit_tokens"] > 0 for total in found.values())


@pytest.mark.parametrize("version", [v for v in RELEASES["vllm"] if at_least(v, STEPS_FROM)])
def test_vllm_scheduler(version):
    kinds = f"full,{HYBRIDS}"
    if at_least(version, STATE_STEPS_FROM):
        kinds += f",{STATES}"
    options = ("--version", version, "--steps", some(50), "--kinds", kinds)
    found = drive("fuzz_vllm_steps", "vllm", version, *options)["kinds"]
    assert all(total["mismatches"] == 0 and total["finished"] > 0 for total in found.values())


@pytest.mark.parametrize("version", RELEASES["sglang"])
def test_sglang_radix_cache(version):
    options = ("--version", version, "--operations", some(4))
    found = drive("fuzz_sglang", "sglang", version, *options)["policies"]
    assert all(total["mismatches"] == 0 and total["evicted"] > 0 for total in found.values())


@pytest.mark.parametrize("cache", ["unified", "host"])
def test_sglang_unified_cache(cache):
    options = ("--version", "0.5.23", "--operations", some(4), "--cache", cache)
    found = drive("fuzz_sglang", "sglang", "0.5.23", *options)["policies"]
    assert all(total["mismatches"] == 0 and total["evicted"] > 0 for total in found.values())


@pytest.mark.parametrize("cache", ["rust", "rust-host"])
def test_sglangs_compiled_tree(cache):
    """It needs torch, which is here and not beside the oracles."""
    options = ("--version", "0.5.23", "--operations", some(4), "--cache", cache)
    found = drive("fuzz_sglang", "sglang", "0.5.23", *options, python=sys.executable)["policies"]
    assert all(total["mismatches"] == 0 and total["evicted"] > 0 for total in found.values())


def test_sglang_waiting_queue():
    found = drive("fuzz_sglang_queue", "sglang", "0.5.23", "--queues", some(20))
    assert found["mismatches"] == 0
    assert found["put_off"] > 0


@pytest.mark.parametrize("core", ["python", "rust"])
def test_sglang_scheduler(core):
    options = ("--steps", some(2 if core == "python" else 5), "--core", core)
    python = {"python": sys.executable} if core == "rust" else {}
    found = drive("fuzz_sglang_steps", "sglang", "0.5.23", *options, **python)["kinds"]
    assert set(found) == {"overlap", "plain"}
    assert all(total["mismatches"] == 0 and total["finished"] > 0 for total in found.values())
    assert sum(total["chunks"] for total in found.values()) > 0

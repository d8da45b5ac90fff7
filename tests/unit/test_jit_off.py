"""The kernels as plain Python give the same results, bit for bit."""

import os
import subprocess
import sys

import pytest

from hitpath.traces.synthetic import demo_rows
from support import write_jsonl

OPTIONS = (
    ["--engine", "lru", "--capacity-tokens", "30000", "--outputs", "insert"],
    ["--engine", "lru", "--capacity-tokens", "9000", "--workers", "3", "--router", "prefix"],
    ["--sample", "0.25"],
)


def run(path, options, **env):
    command = [sys.executable, "-m", "hitpath", "analyze", str(path), "--json", "-", *options]
    done = subprocess.run(command, capture_output=True, env={**os.environ, **env}, check=True)
    return done.stdout


@pytest.mark.parametrize("options", OPTIONS, ids=["clairvoyant", "fleet", "sample"])
def test_same_bytes_without_the_compiler(tmp_path, options):
    path = write_jsonl(tmp_path / "demo.jsonl", demo_rows(3)[:120])
    compiled = run(path, options)
    assert compiled == run(path, options), "two runs differ"
    assert compiled == run(path, options, NUMBA_DISABLE_JIT="1")
    assert len(compiled) > 1000

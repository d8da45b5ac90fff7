"""What was lost in GPU-seconds and in money, by the command's own options."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from hitpath.cli import app
from support import write_jsonl

NUM, LENGTH, AT, BLOCK = 9, 2_000, 40, 16


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """One id in the third block changes in every prompt."""
    head = np.random.default_rng(3).integers(0, 50_000, LENGTH).tolist()
    rows = [
        {"id": str(n), "arrival_s": n * 9, "session": "s", "model": "m",
         "tokens": [*head[:AT], 60_000 + n, *head[AT + 1 :]]}
        for n in range(NUM)
    ]  # fmt: skip
    return write_jsonl(tmp_path / "t.jsonl", rows)


def document(trace: Path, *options: str) -> dict[str, object]:
    out = trace.with_suffix(".out")
    command = ["doctor", str(trace), "--block-size", str(BLOCK), "--json", str(out), *options]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    found: dict[str, object] = json.loads(out.read_text())
    return found


def test_money_is_the_tokens_at_the_price_of_fresh_less_that_of_read_ones(trace: Path) -> None:
    found = document(trace, "--prices", "anthropic/claude-sonnet-4-5")
    lost = found["invalidated_tokens"]
    assert lost == (NUM - 1) * (LENGTH - AT - 1)
    worth = found["worth"]
    assert isinstance(worth, dict)
    usd = worth["edited_message"]["usd"]
    assert usd == pytest.approx((NUM - 1) * (LENGTH - AT - 1) * (3.00 - 0.30) / 1e6)
    assert worth["edited_message"]["gpu_s"] is None


def test_seconds_are_of_the_hardware_named(trace: Path) -> None:
    seconds = []
    for hardware in ("h100-sxm", "a100-sxm-80gb"):
        worth = document(trace, "--model", "llama-3.1-8b", "--hardware", hardware)["worth"]
        assert isinstance(worth, dict)
        seconds.append(worth["edited_message"]["gpu_s"])
    assert 0 < seconds[0] < seconds[1]


def test_the_page_for_a_person_counts_one_application_as_one(trace: Path) -> None:
    told = CliRunner().invoke(app, ["doctor", str(trace)]).output
    assert "1 application," in told
    assert "()" not in told


def test_a_capacity_in_gib_is_the_tokens_whose_kv_fits(trace: Path) -> None:
    bytes_a_token = 2 * 32 * 8 * 128 * 2  # llama-3.1-8b: K and V, layers, KV heads, head size, bf16
    gib = 2_016 * bytes_a_token / 2**30  # a prompt and one block more
    in_gib = document(
        trace, "--engine", "lru", "--capacity-gib", repr(gib), "--model", "llama-3.1-8b"
    )
    in_tokens = document(trace, "--engine", "lru", "--capacity-tokens", "2016")
    assert in_gib["hit_rate"] == in_tokens["hit_rate"]
    assert in_gib["defects"] == in_tokens["defects"]


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        (["--model", "qwen3-8b"], "--model: needs --hardware or --capacity-gib"),
        (["--engine", "lru", "--capacity-gib", "1"], "--capacity-gib: needs --model"),
    ],
)
def test_sizes_and_models_that_nothing_uses_are_refused(
    trace: Path, options: list[str], cause: str
) -> None:
    done = CliRunner().invoke(app, ["doctor", str(trace), *options])
    assert cause in str(done.exception)

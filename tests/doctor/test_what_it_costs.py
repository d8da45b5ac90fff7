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


def test_what_was_written_costs_the_price_of_a_write(tmp_path: Path) -> None:
    """Of 2,000 tokens 500 were read and 1,200 written, 300 of them for an hour: a lost token cost a
    fifth of a fresh one, three of a write and one of a write for an hour, each out of five."""
    head = np.random.default_rng(3).integers(0, 50_000, LENGTH).tolist()
    told = {"cached_tokens": 500, "cache_write_tokens": 1_200, "cache_write_1h_tokens": 300}
    rows = [
        {"id": str(n), "arrival_s": n * 9, "session": "s", "model": "m", "reported": told,
         "tokens": [*head[:AT], 60_000 + n, *head[AT + 1 :]]}
        for n in range(NUM)
    ]  # fmt: skip
    path = write_jsonl(tmp_path / "t.jsonl", rows)
    found = document(path, "--prices", "anthropic/claude-sonnet-4-5")
    lost = found["invalidated_tokens"]
    fresh, read, written, hour = 3.0, 0.3, 3.75, 6.0
    parts = (fresh * 300 + written * 900 + hour * 300) / 1_500 - read
    worth = found["worth_of_all"]
    assert isinstance(worth, dict)
    assert isinstance(lost, int)
    assert worth["usd"] == pytest.approx(lost * parts / 1e6)


def test_applications_and_kinds_are_parts_of_the_whole(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    heads = [rng.integers(0, 50_000, LENGTH).tolist() for _ in range(2)]
    rows = [
        {"id": f"{app}-{n}", "arrival_s": n * 9 + app, "session": f"s{app}", "model": "m",
         "tokens": [*head[: AT * (app + 1)], 60_000 + n, *head[AT * (app + 1) + 1 :]]}
        for n in range(5) for app, head in enumerate(heads)
    ]  # fmt: skip
    hardware = ("--model", "llama-3.1-8b", "--hardware", "h100-sxm", "--gpu-hour", "3.6")
    found = document(write_jsonl(tmp_path / "t.jsonl", rows), *hardware)
    total, kinds, applications = found["worth_of_all"], found["worth"], found["applications"]
    assert isinstance(total, dict)
    assert isinstance(kinds, dict)
    assert isinstance(applications, list)
    assert len(applications) == 2
    for name in ("gpu_s", "usd"):
        assert total[name] > 0
        assert sum(one[name] for one in applications) == pytest.approx(total[name])
        assert sum(one[name] for one in kinds.values()) == pytest.approx(total[name])
    assert total["usd"] == pytest.approx(total["gpu_s"] / 1_000)  # 3.6 USD an hour

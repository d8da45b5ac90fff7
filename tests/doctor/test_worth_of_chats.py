"""What was lost in chats, in the tokens of a tokenizer: counts by the ids themselves, money and
GPU-seconds worked out by hand. The rows are made by hand from the documented shape."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from typer.testing import CliRunner

from doctor.model_folders import model_folder
from doctor.planting import WORDS
from hitpath.cli import app
from hitpath.text.tokenizer import TextTokenizer, load_tokenizer
from support import write_jsonl

if TYPE_CHECKING:
    from pathlib import Path

NUM, NUM_WORDS = 4, 12_000
FRESH_USD, READ_USD = 3.00e-6, 0.30e-6
"""Anthropic's price list for Claude Sonnet 4.5, a token."""


def messages(turn: int) -> list[dict[str, str]]:
    """A request id ahead of long instructions, and a history that grows."""
    rng = random.Random(1)
    rules = " ".join(rng.choice(WORDS) for _ in range(NUM_WORDS))
    stamp = f"{random.Random(turn).getrandbits(64):016x}"
    found = [{"role": "system", "content": f"Request ID: {stamp}\n{rules}"}]
    for number in range(turn + 1):
        found.append({"role": "user", "content": f"What of the {WORDS[number]}?"})
        found.append({"role": "assistant", "content": f"The {WORDS[number]} is fine."})
    return found[:-1]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, TextTokenizer]:
    folder = tmp_path_factory.mktemp("worth")
    rows = [
        {"model": "claude-sonnet-4-5", "session_id": "s", "timestamp": 1_764_400_000 + 60 * turn,
         "messages": messages(turn)}
        for turn in range(NUM)
    ]  # fmt: skip
    path = write_jsonl(folder / "t.jsonl", rows)
    model = model_folder(folder / "model", "clean_chatml")
    return path, model, load_tokenizer(model)


def document(path: Path, tokenizer: str, *options: str) -> dict[str, Any]:
    out = path.with_suffix(".json")
    command = ["doctor", str(path), "--tokenizer", tokenizer, "--block-size", "1",
               "--json", str(out), *options]  # fmt: skip
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(out.read_text())
    return found


def shared(tokenizer: TextTokenizer) -> list[tuple[int, int, int]]:
    """(ids, first id that differs, ids behind the stamp that the turn before had too) a request."""
    found = []
    before = np.empty(0, dtype=np.uint32)
    for turn in range(NUM):
        text = tokenizer.render_chat(messages(turn), None)
        ids = tokenizer.encode(text)
        if turn:
            most = min(len(before), len(ids))
            first = int(np.flatnonzero(before[:most] != ids[:most])[0])
            end = len(tokenizer.encode(text[: text.index("\n", text.index("ID: "))]))
            old_text = tokenizer.render_chat(messages(turn - 1), None)
            old_end = len(
                tokenizer.encode(old_text[: old_text.index("\n", old_text.index("ID: "))])
            )
            one, other = before[old_end:], ids[end:]
            parted = np.flatnonzero(one != other[: len(one)])
            found.append((len(ids), first, int(parted[0]) if len(parted) else len(one)))
        before = ids
    return found


def test_invalidated_tokens_are_the_ids_behind_the_stamp(
    told: tuple[Path, str, TextTokenizer],
) -> None:
    path, model, tokenizer = told
    found = document(path, model)
    (defect,) = found["defects"]
    assert defect["kind"] == "request_id"
    assert found["unit"] == "tokens"
    assert defect["tokens_invalidated"] == sum(run for _, _, run in shared(tokenizer))


def test_money_is_the_tokens_at_the_price_of_fresh_less_that_of_read_ones(
    told: tuple[Path, str, TextTokenizer],
) -> None:
    path, model, tokenizer = told
    worth = document(path, model, "--prices", "anthropic/claude-sonnet-4-5")["worth"]
    lost = sum(run for _, _, run in shared(tokenizer))
    assert worth["request_id"]["usd"] == pytest.approx(lost * (FRESH_USD - READ_USD))


def test_seconds_are_the_flops_of_the_lost_tokens_on_the_hardware(
    told: tuple[Path, str, TextTokenizer],
) -> None:
    """Llama 3.1 8B: 32 layers of width 4,096, key and value heads 1,024 wide, 14,336 within. A
    token of place t takes 2 FLOPs a weight, and 4 x 4,096 x t FLOPs of attention a layer; an H100
    does 989.4e12 a second. Prompts this long are bound by compute."""
    path, model, tokenizer = told
    worth = document(path, model, "--model", "llama-3.1-8b", "--hardware", "h100-sxm")["worth"]
    weights = 32 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14_336)
    seconds = 0.0
    for _, first, run in shared(tokenizer):
        places = (2 * first + run) / 2 * run
        seconds += (2 * weights * run + 32 * 4 * 4096 * places) / 989.4e12
    assert worth["request_id"]["gpu_s"] == pytest.approx(seconds, rel=0.02)

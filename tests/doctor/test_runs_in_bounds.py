"""What would be quadratic in one prompt is not: runs of ids, lines of one form, marked blocks. Each
gives the same as the plain way. Times are of processor, so that a busy machine does not matter."""

import random
import time
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from hitpath.doctor import symbols
from hitpath.doctor.moved_lines import heal_moves
from hitpath.doctor.provider_marks import marks_of
from hitpath.doctor.request_rows import request_of
from hitpath.doctor.symbols import compare_symbols
from hitpath.doctor.textdiff import Run

MOST_S = 8  # the quadratic ways took 26 s and more


def heaviest(runs: list[Run]) -> int:
    """Symbols of the heaviest chain in one order on both sides, by trying all."""
    order = sorted(runs, key=lambda run: run[1])
    best: list[int] = []
    for a, _, n in order:
        before = [w for w, (c, _, m) in zip(best, order, strict=False) if c + m <= a]
        best.append(n + max(before, default=0))
    return max(best, default=0)


def shuffled_runs(rng: random.Random, num: int) -> list[Run]:
    lengths = [rng.randint(1, 40) for _ in range(num)]
    order = list(range(num))
    for _ in range(num // 3):
        i, j = rng.randrange(num), rng.randrange(num)
        order[i], order[j] = order[j], order[i]
    starts = np.cumsum([0, *lengths]).tolist()
    runs, b = [], 0
    for i in order:
        runs.append((starts[i], b, lengths[i]))
        b += lengths[i] + rng.randint(0, 3)
    return runs


@pytest.mark.parametrize("seed", range(6))
def test_the_chain_of_many_runs_is_the_heaviest(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbols, "_MOST_WEIGHED", 0)
    rng = random.Random(seed)
    runs = shuffled_runs(rng, rng.randint(1, 60))
    chain = symbols._increasing(runs)
    assert sum(n for _, _, n in chain) == heaviest(runs)
    assert all(a + n <= c and b + n <= d for (a, b, n), (c, d, _) in pairwise(chain))


def test_chunks_of_ids_in_another_order() -> None:
    rng = np.random.default_rng(2)
    chunks = rng.integers(1 << 17, size=(10_000, 20), dtype=np.uint32)
    one, other = chunks.ravel(), chunks[rng.permutation(len(chunks))].ravel()
    began = time.process_time()
    found = compare_symbols(one, other, same_session=True)
    assert time.process_time() - began < MOST_S
    assert "moved_block" in {change.kind for change in found.changes}


def test_lines_of_one_form_in_another_order() -> None:
    rng = random.Random(3)
    lines = [f"row number {n} stands here" for n in range(40_000)]
    there = "\n".join(["Rules of the house, read them.", *lines, "The last line of rules."])
    rng.shuffle(lines)
    here = "\n".join(["The last line of rules.", *lines, "Rules of the house, read them."])
    found: list[Any] = []
    began = time.process_time()
    healed = heal_moves(there, here, "system", found)
    assert time.process_time() - began < MOST_S
    assert healed == here
    assert {change.kind for change in found} == {"moved_block"}


def test_marks_of_thousands_of_blocks() -> None:
    blocks = ", ".join(
        f'{{"type": "text", "text": "part {n} of it", "cache_control": {{"type": "ephemeral"}}}}'
        for n in range(4_000)
    )
    row = f'{{"model": "claude", "messages": [{{"role": "user", "content": [{blocks}]}}]}}'
    request = request_of("openai_requests", row, "r", True, None)
    assert request is not None
    began = time.process_time()
    marks = marks_of(request)
    assert time.process_time() - began < MOST_S
    assert marks is not None
    assert [mark.block for mark in marks] == list(range(4_000))
    ends = [mark.end_frac for mark in marks]
    assert ends == sorted(set(ends))
    assert 0 < ends[0] < 0.001 < 0.999 < ends[-1] <= 1

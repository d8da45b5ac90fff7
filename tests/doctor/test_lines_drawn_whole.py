"""A line of drawn numbers is drawn whole, though two of them are by chance the same in another
order; a number that has a name of its own is not part of it."""

import random
from pathlib import Path

from doctor.test_fields_by_all_pairs import rows_with
from doctor.test_planted_kinds import kinds_of

SWAPPED = ["3 x 4 = 12; 31 x 4 = 124; 24 x 11 = 264", "4 x 3 = 12; 31 x 6 = 186; 39 x 8 = 312"]


def sums(seed: int) -> str:
    """Three small sums."""
    rng = random.Random(seed)
    pairs = [(rng.randrange(2, 40), rng.randrange(2, 13)) for _ in range(3)]
    return "; ".join(f"{one} x {other} = {one * other}" for one, other in pairs)


def test_what_stands_behind_numbers_in_another_order(tmp_path: Path) -> None:
    lines = [sums(n) for n in range(12)]
    lines[6:8] = SWAPPED
    for num_turns in (1, 3):
        rows = rows_with(lambda _, n: f"Warm-up: {lines[n]}", 12 // num_turns, num_turns)
        assert set(kinds_of(rows, tmp_path)) == {"random_sample"}


def test_a_number_with_a_name_behind_them(tmp_path: Path) -> None:
    rows = rows_with(lambda _, n: f"Warm-up: {sums(n)}\nBe brief.\nTurn: {n + 1}", 4, 3)
    assert set(kinds_of(rows, tmp_path)) == {"random_sample", "counter"}

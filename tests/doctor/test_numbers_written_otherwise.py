"""Several numbers of one word, a missing zero behind a sign: one number written otherwise; other
numbers, versions and ids are not."""

import pytest

from hitpath.doctor.leaf import leaf_changes

SAME = [
    ("Parcels up to 47x40x20 cm.", "Parcels up to 47.0x40.0x20.0 cm."),
    ("sizes of 10×20 mm", "sizes of 10.0×20.0 mm"),
    ("at 1e3x2e3 px", "at 1000x2000 px"),
    ("wait 5m20s then", "wait 5.0m20.0s then"),
    ("matrix [[1,2],[3,4]]", "matrix [[1.0,2.0],[3.0,4.0]]"),
    ("Box at (10, 20).", "Box at (10.0, 20.0)."),
    ("Mix 3:1 with water.", "Mix 3.0:1.0 with water."),
    ("Weights of 2-5 kg.", "Weights of 2.0-5.0 kg."),
    ("bias=-0.5 gain=2", "bias=-.5 gain=2"),
    ("gain +0.5 dB", "gain +.5 dB"),
    ("rate .25 now", "rate 0.25 now"),
]
OTHERS = [
    ("Map of 47x40 fields", "Map of 12x40 fields"),
    ("Map of 47x40 fields", "Map of 47x41.0 fields"),
    ("runs v1.10.0 now", "runs v1.1.0 now"),
    ("runs python3.10 now", "runs python3.1 now"),
    ("key a1b2 now", "key a1b02 now"),
    ("id 5e10a now", "id 5e1a now"),
    ("host 10.0.0.1 now", "host 10.0.0.01 now"),
    ("bias=-0.5 gain=2", "bias=.5 gain=2"),
    ("due 01.03.2026 now", "due 1.3.2026 now"),
]


@pytest.mark.parametrize("role", ["system", "user"])
@pytest.mark.parametrize(("old", "new"), SAME)
def test_the_same_numbers(old: str, new: str, role: str) -> None:
    for sides in ((old, new), (new, old)):
        assert {one.kind for one in leaf_changes(*sides, role)} == {"number_format"}


@pytest.mark.parametrize(("old", "new"), OTHERS)
def test_other_numbers(old: str, new: str) -> None:
    assert "number_format" not in {one.kind for one in leaf_changes(old, new, "system")}

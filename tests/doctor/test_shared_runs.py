"""What two prompts of ids share, beside the rule written slowly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitpath.doctor._shared_runs import GRAM, LEAST_RUN, shared_runs

IDS = st.lists(st.integers(0, 400), max_size=40)


def slow_runs(there: list[int], here: list[int], common: int) -> list[tuple[int, int, int]]:
    """Every stretch of GRAM ids that stands once there is looked for, left to right; what is found
    grows both ways, not into what was found before."""
    grams = [tuple(there[at : at + GRAM]) for at in range(len(there) - GRAM + 1)]
    behind = grams[common:]
    found: list[tuple[int, int, int]] = []
    at = common
    while at <= len(here) - GRAM:
        gram = tuple(here[at : at + GRAM])
        if behind.count(gram) != 1:
            at += 1
            continue
        place = common + behind.index(gram)
        size = 0
        while there[place + size : place + size + 1] == here[at + size : at + size + 1] != []:
            size += 1
        floor = max([common, *(b + n for _, b, n in found)])
        back = 0
        while place - back > common and at - back > floor:
            if there[place - back - 1] != here[at - back - 1]:
                break
            back += 1
        if size + back >= LEAST_RUN:
            found.append((place - back, at - back, size + back))
        at += size
    return found


@st.composite
def pairs(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Prompts made of the same stretches: in another order, left out, said twice."""
    parts = draw(st.lists(IDS, min_size=1, max_size=6))
    order = st.lists(st.sampled_from(range(len(parts))), max_size=7)
    one, other = ([x for n in draw(order) for x in parts[n]] for _ in range(2))
    return one + draw(IDS), other + draw(IDS)


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
@given(pair=pairs())
def test_runs_are_those_of_the_slow_rule(pair: tuple[list[int], list[int]], dtype: type) -> None:
    there, here = pair
    common = 0
    while there[common : common + 1] == here[common : common + 1] != []:
        common += 1
    arrays = [np.array(one, dtype=dtype) for one in pair]
    assert shared_runs(arrays[0], arrays[1], common) == slow_runs(there, here, common)


def test_a_repeated_stretch_is_no_anchor() -> None:
    phrase, rest = list(range(GRAM)), list(range(100, 100 + LEAST_RUN))
    there = np.array([*phrase, 50, *phrase, 51, *rest], dtype=np.uint32)
    here = np.array([60, *phrase, 61, *rest], dtype=np.uint32)
    assert shared_runs(there, here, 0) == [(18, 10, LEAST_RUN)]

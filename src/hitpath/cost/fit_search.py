"""Least squares of relative errors on the roofline's terms, with bounds, always the same answer.

    minimise  sum over figures of ((predicted - measured) / measured)^2,   x >= LEAST

Around any x the prediction is linear (fit_terms), so each step solves a small bounded least
squares exactly (every subset of unknowns at its bound is tried) and goes as far towards it as the
error falls. Several starts guard against the wrong side of a ridge, and a search along each
unknown ends it, for the least error may lie where a kernel changes sides.
"""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from hitpath.cost.fit_terms import NUM_UNKNOWNS, Floats, Terms

Free = NDArray[np.bool_]

LEAST = np.array([1.0, 1.0, 1.0, 0.0])
"""Efficiencies are at most 1, a step costs nothing less than nothing."""

_STARTS = (1.0, 1.5, 2.5, 5.0, 20.0)
_FOLLOWED = 6
_MOST_ROUNDS = 60
_MOST_HALVINGS = 24
_FINEST = 1e-7


def error_of(terms: Terms, x: Floats) -> float:
    """The sum of squares."""
    return float(np.sum((terms.predicted_s(x) / terms.figures_s - 1) ** 2))


def best_fit(terms: Terms, known: Floats, free: Free) -> Floats:
    """x of least error; where not `free` it is `known`. An efficiency that is in no figure is 1."""
    starts = []
    for compute, memory in product(_STARTS, _STARTS):
        start = np.where(free, [compute, memory, compute, 0.0], known)
        starts.append(_towards(terms, start, free))
    starts.sort(key=lambda x: error_of(terms, x))
    ends = [_followed(terms, start, free) for start in starts[:_FOLLOWED]]
    x = _along_each(terms, min(ends, key=lambda x: error_of(terms, x)), free)
    ideal = np.where(free & ~np.any(terms.design(x), axis=0), LEAST, x)
    return ideal if error_of(terms, ideal) <= error_of(terms, x) * (1 + 1e-9) else x


def _followed(terms: Terms, x: Floats, free: Free) -> Floats:
    """As far as steps lead."""
    for _ in range(_MOST_ROUNDS):
        further = _towards(terms, x, free)
        if np.allclose(further, x, rtol=1e-10, atol=1e-15):
            break
        x = further
    return x


def _towards(terms: Terms, x: Floats, free: Free) -> Floats:
    """One step; x itself where no step makes the error smaller."""
    before = error_of(terms, x)
    target = _bounded(terms, x, free)
    for halvings in range(_MOST_HALVINGS):
        further = x + (target - x) * 0.5**halvings
        if error_of(terms, further) < before:
            return further
    return x


def _bounded(terms: Terms, x: Floats, free: Free) -> Floats:
    """The bounded least squares with the design at x. Unknowns in no figure stay as they are."""
    design = terms.design(x) / terms.figures_s[:, None]
    size = np.linalg.norm(design, axis=0)
    unknowns = np.flatnonzero(free & (size > 0))
    best, least = x, np.inf
    for inside in product((True, False), repeat=len(unknowns)):
        chosen = unknowns[np.array(inside, dtype=bool)]
        tried = x.copy()
        tried[unknowns] = LEAST[unknowns]
        rest = tried.copy()
        rest[chosen] = 0
        left = 1 - design @ rest
        solved = np.linalg.lstsq(design[:, chosen] / size[chosen], left, rcond=None)[0]
        tried[chosen] = solved / size[chosen]
        error = float(np.sum((design @ tried - 1) ** 2))
        if np.all(tried[unknowns] >= LEAST[unknowns]) and error < least:
            best, least = tried, error
            if all(inside):
                break  # no bound matters
    return best


def _along_each(terms: Terms, x: Floats, free: Free) -> Floats:
    """Lengthen and shorten each unknown by ever finer shares while that makes the error smaller."""
    scale_s = float(np.min(terms.figures_s))
    least, share = error_of(terms, x), 0.1
    while share > _FINEST:
        moved = False
        for i in np.flatnonzero(free).tolist():
            size = max(x[i], 0.01 * scale_s) if i == NUM_UNKNOWNS - 1 else x[i]
            for change in (share * size, -share * size):
                tried = x.copy()
                tried[i] = max(x[i] + change, LEAST[i])
                error = error_of(terms, tried)
                if error < least * (1 - 1e-9):
                    x, least, moved = tried, error, True
        if not moved:
            share /= 2
    return x

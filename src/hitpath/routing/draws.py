"""Random draws that depend on (seed, row, number of the draw) and nothing else.

So a decision can be repeated alone, and the order in which requests are asked does not matter.
Ties are broken here too: `any_best` and its relatives pick uniformly among equals.
"""

import numpy as np

from hitpath._jit import kernel
from hitpath.routing.view import Flags, Floats

# splitmix64 (Steele, Lea, Flood 2014): its step and the two multipliers of its finaliser.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MUL_A = np.uint64(0xBF58476D1CE4E5B9)
_MUL_B = np.uint64(0x94D049BB133111EB)
_S11 = np.uint64(11)
_S27 = np.uint64(27)
_S30 = np.uint64(30)
_S31 = np.uint64(31)
_2_POW_MINUS_53 = 1.0 / (1 << 53)


@kernel
def mixed(value: np.uint64) -> np.uint64:
    """splitmix64's finaliser: a bijection of 64 bits in which neighbours are independent."""
    value = (value ^ (value >> _S30)) * _MUL_A
    value = (value ^ (value >> _S27)) * _MUL_B
    return value ^ (value >> _S31)


@kernel
def draw(seed: np.uint64, row: int, number: int) -> np.uint64:
    """64 random bits: draw `number` for the request in `row`."""
    state = mixed(seed + _STEP) + np.uint64(row) * _STEP
    return mixed(mixed(state) + np.uint64(number + 1) * _STEP)


@kernel
def uniform(seed: np.uint64, row: int, number: int) -> float:
    """A number from 0 to below 1, a multiple of 2**-53."""
    return float(draw(seed, row, number) >> _S11) * _2_POW_MINUS_53


@kernel
def below(seed: np.uint64, row: int, number: int, count: int) -> int:
    """A whole number from 0 to below `count`; the bias is under count / 2**64."""
    return int(draw(seed, row, number) % np.uint64(count))


@kernel
def count_of(among: Flags) -> int:
    """How many are set."""
    count = 0
    for w in range(len(among)):
        if among[w]:
            count += 1
    return count


@kernel
def nth_of(among: Flags, n: int) -> int:
    """The place of the n-th that is set, counted from 0; -1 where there are fewer."""
    for w in range(len(among)):
        if among[w]:
            if n == 0:
                return w
            n -= 1
    return -1


@kernel
def any_of(among: Flags, seed: np.uint64, row: int, number: int) -> int:
    """One of those that are set, uniformly; at least one must be."""
    return nth_of(among, below(seed, row, number, count_of(among)))


@kernel
def any_best(scores: Floats, among: Flags, seed: np.uint64, row: int, number: int) -> int:
    """The highest score among those that are set; among equals uniformly. At least one is set,
    and no score is NaN."""
    best = -np.inf
    count = 0
    for w in range(len(scores)):
        if among[w]:
            if count == 0 or scores[w] > best:
                best = scores[w]
                count = 1
            elif scores[w] == best:
                count += 1
    turn = below(seed, row, number, count) if count > 1 else 0
    for w in range(len(scores)):
        if among[w] and scores[w] == best:
            if turn == 0:
                return w
            turn -= 1
    return -1


@kernel
def first_best(scores: Floats, among: Flags) -> int:
    """The highest score among those that are set; among equals the lowest number."""
    best = -1
    for w in range(len(scores)):
        if among[w] and (best < 0 or scores[w] > scores[best]):
            best = w
    return best

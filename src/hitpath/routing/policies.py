"""Router policies: (request, match, loads) -> decision with its reason. No side effects.

`match` and `loads` have one entry a worker: tokens that the worker's cache holds of the
prompt, and tokens computed there so far (any monotone measure of load). All randomness comes
from the seed. `longest_match` is the kernel that simulation runs in bulk and `PrefixRouter`
runs for one request: there is one copy of the rule.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hitpath._jit import kernel
from hitpath.core import ABSENT, RouterName
from hitpath.keys import context_root, spread

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Decision:
    """`worker` from 0; `reason` is one line with the numbers that decided."""

    worker: int
    reason: str


class Policy(Protocol):
    """Contract: `pick` changes nothing and returns the same for the same arguments; ties go
    to the worker with the lowest number. `fixed` gives the decisions for rows 0..N-1 where
    they depend on neither match nor loads, else None; it agrees with `pick`."""

    def pick(self, row: int, session: str | None, match: Ints, loads: Ints) -> Decision:
        """Choose a worker for the request in `row` (its place in the order of arrival)."""

    def fixed(self, sessions: list[str | None]) -> Ints | None:
        """One worker a row, or None."""


@kernel
def longest_match(match: Ints, loads: Ints) -> int:
    """The worker with the longest match; among equals the least loaded, then the lowest."""
    best = 0
    for worker in range(1, len(match)):
        if match[worker] > match[best] or (
            match[worker] == match[best] and loads[worker] < loads[best]
        ):
            best = worker
    return best


@dataclass(frozen=True, slots=True)
class RandomRouter:
    """Uniformly random, from `seed` and the row alone: each row's draw is a hash of the two."""

    num_workers: int
    seed: int

    def pick(self, row: int, session: str | None, match: Ints, loads: Ints) -> Decision:
        worker = int(self._draws(np.array([row], dtype=np.uint64))[0])
        return Decision(worker, f"random draw {row} of seed {self.seed}")

    def fixed(self, sessions: list[str | None]) -> Ints:
        return self._draws(np.arange(len(sessions), dtype=np.uint64))

    def _draws(self, rows: NDArray[np.uint64]) -> Ints:
        root = np.uint64(context_root({"router": "random", "seed": self.seed}))
        mixed: Ints = (spread(rows ^ root) % np.uint64(self.num_workers)).astype(np.int64)
        return mixed


@dataclass(frozen=True, slots=True)
class RoundRobinRouter:
    """Workers in turn, by row."""

    num_workers: int

    def pick(self, row: int, session: str | None, match: Ints, loads: Ints) -> Decision:
        return Decision(row % self.num_workers, f"row {row} modulo {self.num_workers}")

    def fixed(self, sessions: list[str | None]) -> Ints:
        return np.arange(len(sessions), dtype=np.int64) % self.num_workers


@dataclass(frozen=True, slots=True)
class SessionRouter:
    """A session always goes to one worker (hash of its name and the seed); a request without
    a session is a session of its own."""

    num_workers: int
    seed: int

    def pick(self, row: int, session: str | None, match: Ints, loads: Ints) -> Decision:
        name = session if session is not None else f"row {row}"
        return Decision(self._worker(row, session), f"hash of session {name!r}")

    def fixed(self, sessions: list[str | None]) -> Ints:
        known: dict[str, int] = {}
        workers = np.empty(len(sessions), dtype=np.int64)
        for row, session in enumerate(sessions):
            if session is None:
                workers[row] = self._worker(row, None)
            elif session in known:
                workers[row] = known[session]
            else:
                workers[row] = known[session] = self._worker(row, session)
        return workers

    def _worker(self, row: int, session: str | None) -> int:
        fields = {"session": session, "row": row if session is None else None, "seed": self.seed}
        return context_root(fields) % self.num_workers


@dataclass(frozen=True, slots=True)
class PrefixRouter:
    """The worker that holds the longest prefix; among equals the least loaded."""

    num_workers: int

    def pick(self, row: int, session: str | None, match: Ints, loads: Ints) -> Decision:
        worker = int(longest_match(match, loads))
        return Decision(
            worker, f"match {match[worker]} of at most {match.max()}, load {loads[worker]}"
        )

    def fixed(self, sessions: list[str | None]) -> None:
        return None


def make_policy(name: RouterName, num_workers: int, seed: int) -> Policy:
    """The policy of that name."""
    policies: dict[str, Policy] = {
        "random": RandomRouter(num_workers, seed),
        "round-robin": RoundRobinRouter(num_workers),
        "session": SessionRouter(num_workers, seed),
        "prefix": PrefixRouter(num_workers),
    }
    return policies[name]


def fixed_or_absent(policy: Policy, sessions: list[str | None]) -> Ints:
    """`policy.fixed`, with ABSENT in every row where the policy decides by state."""
    fixed = policy.fixed(sessions)
    return np.full(len(sessions), ABSENT, dtype=np.int64) if fixed is None else fixed

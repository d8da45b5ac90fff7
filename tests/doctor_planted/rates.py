"""How often a planted thing changes: with every request, every n-th, now and then, once, with the
session or the turn."""

import random
from dataclasses import dataclass

from doctor_planted.bases import Step

RATES = ("every", "nth", "sometimes", "boundary", "session", "turn")


@dataclass(frozen=True)
class Rate:
    """epoch: requests of one epoch show the same; -1 means that nothing is planted there."""

    name: str
    period: int
    offset: int

    def epoch(self, step: Step) -> int:
        if self.name == "every":
            return step.number
        if self.name == "nth":
            return (step.number + self.offset) // self.period
        if self.name == "sometimes":
            planted = (step.number + self.offset) % self.period == 0
            return step.number if planted else -1
        if self.name == "boundary":
            return int(step.number >= self.offset)
        return step.session_index if self.name == "session" else step.turn


def make_rate(rng: random.Random, names: tuple[str, ...], num_steps: int) -> Rate:
    name = rng.choice(names)
    middle = num_steps // 2
    offset = rng.randrange(max(1, middle // 2), max(2, middle + middle // 2 + 1))
    return Rate(name, rng.randrange(2, 5), offset)

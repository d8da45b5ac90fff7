"""A router as a thin object: its numbers, and `pick`, which runs the kernel of simulation."""

from dataclasses import dataclass, field

import numpy as np

from hitpath.routing import kinds
from hitpath.routing.dispatch import NUM_COUNTERS, pick
from hitpath.routing.dynamo import costs as dynamo_costs
from hitpath.routing.hitpath_router import ttfts
from hitpath.routing.llmd import scores as llmd_scores
from hitpath.routing.view import Ask, Decision, Floats, IndexSettings, Ints, Ring, View


@dataclass(frozen=True, slots=True, eq=False)
class Router:
    """`name` as typed. kind, params and ring as `dispatch.pick` takes them. index: how
    `View.match` is to be filled. needs: the scraped figures of View among waiting, running and
    kv_use that this router reads; whoever has them not must refuse it. prefix_tokens:
    leading tokens that `Ask.prefix_hash` must be over, 0 where it is not read. counts_blocks:
    whether it reads View.active_unique or active_shared. `counter` moves with each pick; a
    simulation brings its own."""

    name: str
    kind: int
    params: Floats
    ring: Ring
    index: IndexSettings
    seed: int
    needs: tuple[str, ...] = ()
    prefix_tokens: int = 0
    counts_blocks: bool = False
    counter: Ints = field(default_factory=lambda: np.zeros(NUM_COUNTERS, dtype=np.int64))

    def pick(self, ask: Ask, view: View) -> Decision:
        """The worker for a request, with the numbers that it was chosen by. Raises ValueError
        where no worker is alive."""
        seed = np.uint64(self.seed)
        worker = int(pick(self.kind, self.params, self.ring, ask, view, self.counter, seed))
        if worker < 0:
            raise ValueError("no worker is alive")
        return Decision(worker, self._reason(ask, view, worker))

    def _reason(self, ask: Ask, view: View, worker: int) -> str:
        alive = view.alive
        facts = []
        if self.index.source != "none":
            match, most = view.match[worker], view.match[alive].max()
            facts.append(f"match {match:,} of {ask.prompt_tokens:,} tokens (most {most:,})")
        facts.append(
            f"{view.in_flight[worker]:,} in flight (fewest {view.in_flight[alive].min():,})"
        )
        for name in self.needs:
            if name in ("waiting", "running", "kv_use"):
                facts.append(f"{name.replace('_', ' ')} {getattr(view, name)[worker]:g}")
        scored = self._scores(ask, view)
        if scored is not None:
            label, values = scored
            facts.insert(0, f"{label} {values[worker]:.4g} of {_range(values[alive])}")
        return ", ".join(facts)

    def _scores(self, ask: Ask, view: View) -> tuple[str, Floats] | None:
        if self.kind == kinds.LLMD:
            return "score", llmd_scores(self.params, ask, view)
        if self.kind == kinds.DYNAMO:
            return "cost in blocks", dynamo_costs(self.params, ask, view)
        if self.kind == kinds.HITPATH:
            return "cost in seconds", ttfts(self.params, ask, view, True)
        return None


def _range(values: Floats) -> str:
    return f"{values.min():.4g} to {values.max():.4g}"

"""How long do a lookup and a store take in the prefix index, beside Dynamo's RadixTree?

    python bench/matching.py [--peers-python PATH]

500-block prompts (8k tokens at 16) that share a 64-block root, spread over 8 workers; queries are
whole prompts in random order. hitpath matches uint64 arrays (as its readers produce them) and, with
conversion included, lists, which is what Dynamo takes. `store` starts from an empty index, so that
growth is included (mostly the system's first touch of fresh memory); `store_again` comes after all
blocks were removed twice. Dynamo's stores are event bytes encoded beforehand. Before timing, both
must give the same answers. Last line: one JSON object.
"""

import json
import statistics
import tempfile
import time
from array import array
from pathlib import Path

import numpy as np

from _dynamo_driver import BLOCK_ROOT, Peer, machine, parser
from hitpath import __version__
from hitpath.index.arrays import ArrayIndex

NUM_BLOCKS = (1_000, 10_000, 100_000)
SEQUENCE_BLOCKS = 500
NUM_WORKERS = 8
NUM_QUERIES = 500


def make_sequences(num_blocks: int) -> np.ndarray:
    """uint64 [n, SEQUENCE_BLOCKS] with about `num_blocks` different keys."""
    rng = np.random.default_rng(num_blocks)
    own = SEQUENCE_BLOCKS - BLOCK_ROOT
    num = (num_blocks - BLOCK_ROOT) // own
    sequences = rng.integers(0, 2**64, (num, SEQUENCE_BLOCKS), dtype=np.uint64)
    sequences[:, :BLOCK_ROOT] = sequences[0, :BLOCK_ROOT]
    return sequences


class Ours:
    """hitpath's side; each method returns nanoseconds for its whole loop."""

    def __init__(self, sequences: np.ndarray, order: np.ndarray) -> None:
        self._root = sequences[0, :BLOCK_ROOT]
        self._own = [(i % NUM_WORKERS, s[BLOCK_ROOT:]) for i, s in enumerate(sequences)]
        self._queries = [sequences[i] for i in order]
        self._lists = [query.tolist() for query in self._queries]

    def store(self) -> int:
        self.index = ArrayIndex(NUM_WORKERS)
        for worker in range(NUM_WORKERS):
            self.index.store(worker, self._root)
        return self.store_again()

    def store_again(self) -> int:
        """After removals: the arrays have their size, as in a fleet that has run for a while."""
        start = time.perf_counter_ns()
        for worker, keys in self._own:
            self.index.store(worker, keys)
        return time.perf_counter_ns() - start

    def match(self) -> int:
        match, queries = self.index.match, self._queries
        start = time.perf_counter_ns()
        for query in queries:
            match(query)
        return time.perf_counter_ns() - start

    def match_lists(self) -> int:
        match, queries = self.index.match, self._lists
        start = time.perf_counter_ns()
        for query in queries:
            match(np.frombuffer(array("Q", query), dtype=np.uint64))
        return time.perf_counter_ns() - start

    def remove(self) -> int:
        start = time.perf_counter_ns()
        for worker, keys in self._own:
            self.index.remove(worker, keys)
        return time.perf_counter_ns() - start

    def answers(self, num: int) -> list[dict[str, int]]:
        """Worker -> blocks matched, for the first queries."""
        lengths = [self.index.match(query) for query in self._queries[:num]]
        return [{str(w): int(n) for w, n in enumerate(row) if n} for row in lengths]


def measure(num_blocks: int, folder: Path, peer: Peer | None, rounds: int) -> dict:
    """Median ns a block per operation, and how many times as long the peer takes."""
    sequences = make_sequences(num_blocks)
    order = np.random.default_rng(0).integers(0, len(sequences), NUM_QUERIES)
    ours = Ours(sequences, order)
    ours.store()
    if peer:
        np.save(folder / f"{num_blocks}.npy", sequences)
        np.save(folder / f"{num_blocks}_order.npy", order)
        peer.ask(do="load_sequences", name=str(num_blocks), num_workers=NUM_WORKERS)
        peer.ask(do="store")
        if peer.ask(do="answers", num=50) != ours.answers(50):
            raise SystemExit("hitpath and the peer match differently: the figures mean nothing")
    for call in (ours.match, ours.match_lists, ours.remove, ours.store_again):
        call()  # compile, warm up

    queried = NUM_QUERIES * SEQUENCE_BLOCKS
    stored = len(sequences) * (SEQUENCE_BLOCKS - BLOCK_ROOT)
    plan = [("store", stored), ("match", queried), ("match_lists", queried)]
    times: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, num in [*plan, ("remove", stored)]:
            times.setdefault(name, []).append(getattr(ours, name)() / num)
        ours.store_again()
        ours.remove()
        times.setdefault("store_again", []).append(ours.store_again() / stored)
        if peer:
            for name, num in plan[:2]:
                times.setdefault(f"dynamo_{name}", []).append(peer.ask(do=name) / num)
    row = {name: statistics.median(values) for name, values in times.items()}
    ratios = peer and {
        "store": row["dynamo_store"] / row["store"],
        "match": row["dynamo_match"] / row["match"],
        "match_lists": row["dynamo_match"] / row["match_lists"],
    }
    return {"num_blocks": num_blocks, "ns_per_block": row, "dynamo_over_hitpath": ratios}


def main() -> None:
    options = parser(__doc__).parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        peer = Peer(options.peers_python, folder) if options.peers_python else None
        version = peer.ask(do="version") if peer else None
        rows = [measure(num, folder, peer, options.rounds) for num in NUM_BLOCKS]
        if peer:
            peer.close()

    print(f"{'blocks':>8} {'operation':>13} {'ns/block':>9} {'dynamo takes':>13}")
    for row in rows:
        for operation, ns in row["ns_per_block"].items():
            ratio = (row["dynamo_over_hitpath"] or {}).get(operation)
            times = f"{ratio:.1f} x" if ratio else "-"
            print(f"{row['num_blocks']:>8} {operation:>13} {ns:>9.2f} {times:>13}")
    result = {
        "bench": "matching",
        "machine": machine(),
        "hitpath": __version__,
        "peer": version,
        "reason": None if peer else "no --peers-python given",
        "rounds": options.rounds,
        "sequence_blocks": SEQUENCE_BLOCKS,
        "num_workers": NUM_WORKERS,
        "rows": rows,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()

"""How fast are block keys made, beside Dynamo's block hashes? 8,192-token prompts, one core.

    python bench/hashing.py [--peers-python PATH]

Dynamo takes lists and gives local (unchained) hashes; hitpath takes uint32 arrays and gives chained
keys. So hitpath is shown from arrays (as its readers produce them) and from lists (conversion
included, by way of `array`, three times as fast as np.array), and each has its ratio. Last line:
one JSON object.
"""

import json
import statistics
import tempfile
import time
from array import array
from pathlib import Path

import numpy as np

from _dynamo_driver import Peer, machine, parser
from hitpath import __version__
from hitpath.keys import block_keys, block_keys_batch

NUM_PROMPTS = 100
PROMPT_TOKENS = 8192
BLOCK_SIZES = (16, 64, 512)


def timed(call) -> int:
    start = time.perf_counter_ns()
    call()
    return time.perf_counter_ns() - start


def ways(prompts: np.ndarray, block_size: int) -> dict:
    """Name -> what is timed, hitpath's side."""
    arrays = list(prompts)
    lists = prompts.tolist()
    flat = prompts.reshape(-1)
    offsets = np.arange(len(prompts) + 1, dtype=np.int64) * prompts.shape[1]
    roots = np.zeros(len(prompts), dtype=np.uint64)

    def batch():
        block_keys_batch(flat, offsets, block_size, roots, partial=False)

    def array_calls():
        for prompt in arrays:
            block_keys(prompt, block_size, 0)

    def list_calls():
        for prompt in lists:
            block_keys(np.frombuffer(array("I", prompt), dtype=np.uint32), block_size, 0)

    return {"batch": batch, "arrays": array_calls, "lists": list_calls}


def measure(prompts: np.ndarray, block_size: int, peer: Peer | None, rounds: int) -> dict:
    """Median ns a token per way, and how many times as long the peer takes."""
    calls = ways(prompts, block_size)
    times: dict[str, list[float]] = {name: [] for name in [*calls, "dynamo"]}
    for call in calls.values():
        call()  # compile, warm up
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(timed(call) / prompts.size)
        if peer:
            times["dynamo"].append(peer.ask(do="hash", block_size=block_size) / prompts.size)
    row = {name: statistics.median(values) for name, values in times.items() if values}
    ratios = {name: row["dynamo"] / row[name] for name in calls} if peer else None
    return {"block_size": block_size, "ns_per_token": row, "dynamo_over_hitpath": ratios}


def main() -> None:
    options = parser(__doc__).parse_args()
    rng = np.random.default_rng(1)
    prompts = rng.integers(0, 128_000, (NUM_PROMPTS, PROMPT_TOKENS), dtype=np.uint32)
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "prompts.npy", prompts)
        peer = Peer(options.peers_python, Path(folder)) if options.peers_python else None
        version = peer.ask(do="version") if peer else None
        if peer:
            peer.ask(do="load_prompts")
        rows = [measure(prompts, size, peer, options.rounds) for size in BLOCK_SIZES]
        if peer:
            peer.close()

    print(f"{'block size':>10} {'way':>8} {'ns/token':>9} {'M tokens/s':>11} {'dynamo takes':>13}")
    for row in rows:
        for name, ns in row["ns_per_token"].items():
            ratio = (row["dynamo_over_hitpath"] or {}).get(name)
            times = f"{ratio:.1f} x" if ratio else "-"
            print(f"{row['block_size']:>10} {name:>8} {ns:>9.2f} {1e3 / ns:>11.0f} {times:>13}")
    result = {
        "bench": "hashing",
        "machine": machine(),
        "hitpath": __version__,
        "peer": version,
        "reason": None if peer else "no --peers-python given",
        "rounds": options.rounds,
        "prompt_tokens": PROMPT_TOKENS,
        "rows": rows,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()

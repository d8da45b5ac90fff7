"""Both ends of a comparison with NVIDIA Dynamo (ai-dynamo-runtime), in two interpreters.

Dynamo stays out of hitpath's environment: the benches import `Peer` and `machine`, and `Peer`
starts this file under the interpreter given with --peers-python, as a server of one JSON line per
question. Inputs are files that both ends load. The timed region is the smallest loop of calls into
the Rust extension; lists and event bytes are made before it.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

import numpy as np

BLOCK_ROOT = 64  # blocks of the root that all sequences share


class Peer:
    """The other interpreter; `ask` sends one question and waits for the answer."""

    def __init__(self, python: str, inputs: Path) -> None:
        self._process = subprocess.Popen(
            [python, str(Path(__file__).resolve()), str(inputs)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "DYN_LOG": "error"},
        )

    def ask(self, **question):
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the peer ended with exit code {self._process.wait()}")
        return json.loads(line)

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(timeout=30)


def parser(description: str) -> argparse.ArgumentParser:
    """The options that both benches have."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument(
        "--peers-python", metavar="PATH", help="an interpreter that has ai-dynamo-runtime"
    )
    options.add_argument("--rounds", type=int, default=7, help="rounds, alternating (median)")
    return options


def machine() -> dict:
    """Where and with what a figure was measured."""
    model = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0].split(":")[1].strip() if names else model
    return {
        "cpu": model,
        "num_cpus": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": metadata.version("numpy"),
        "numba": metadata.version("numba"),
    }


# ---- the server, under the other interpreter ------------------------------------------------


class Server:
    """One method per question; a timing is in nanoseconds for the whole loop."""

    def __init__(self, inputs: Path) -> None:
        import dynamo._core as core

        self._core = core
        self._inputs = inputs

    def version(self) -> str:
        return "ai-dynamo-runtime " + metadata.version("ai-dynamo-runtime")

    def load_prompts(self) -> int:
        self._prompts = [row.tolist() for row in np.load(self._inputs / "prompts.npy")]
        return len(self._prompts)

    def hash(self, block_size: int) -> int:
        compute, prompts = self._core.compute_block_hash_for_seq, self._prompts
        start = time.perf_counter_ns()
        for prompt in prompts:
            compute(prompt, block_size)
        return time.perf_counter_ns() - start

    def load_sequences(self, name: str, num_workers: int) -> int:
        sequences = [row.tolist() for row in np.load(self._inputs / f"{name}.npy")]
        self._queries = [sequences[i] for i in np.load(self._inputs / f"{name}_order.npy")]
        root = sequences[0][:BLOCK_ROOT]
        self._roots = [(w, stored_event(None, root)) for w in range(num_workers)]
        self._events = [
            (i % num_workers, stored_event(root[-1], sequence[BLOCK_ROOT:]))
            for i, sequence in enumerate(sequences)
        ]
        return len(sequences)

    def store(self) -> int:
        self._tree = self._core.RadixTree()
        for worker, event in self._roots:
            self._tree.apply_event(worker, event)
        start = time.perf_counter_ns()
        for worker, event in self._events:
            self._tree.apply_event(worker, event)
        return time.perf_counter_ns() - start

    def match(self) -> int:
        find, queries = self._tree.find_matches, self._queries
        start = time.perf_counter_ns()
        for query in queries:
            find(query)
        return time.perf_counter_ns() - start

    def answers(self, num: int) -> list:
        """Worker -> blocks matched, for the first queries."""
        scores = [self._tree.find_matches(query).scores for query in self._queries[:num]]
        return [{worker: n for (worker, _rank), n in s.items()} for s in scores]


def stored_event(parent, keys) -> bytes:
    """One KV event. Block and token hashes are the same numbers here: the tree does not mind."""
    blocks = [{"block_hash": key, "tokens_hash": key} for key in keys]
    data = {"stored": {"parent_hash": parent, "blocks": blocks}}
    return json.dumps({"event_id": 1, "data": data, "dp_rank": 0}).encode()


def main() -> None:
    server = Server(Path(sys.argv[1]))
    for line in sys.stdin:
        question = json.loads(line)
        answer = getattr(server, question.pop("do"))(**question)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()

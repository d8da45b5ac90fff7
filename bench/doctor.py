"""How long the doctor takes: finding relatives of many requests of ids, a whole diagnosis of them,
and one of request bodies. The last line is JSON.

    python bench/doctor.py [--requests 100000] [--tokens 10400] [--bodies 2000]

Requests of ids: sessions of applications with a shared prompt each, a growing history, and one
stamped id a request that breaks the prefix; 10,400 tokens at most are 8,061 on average. They are
made in memory; nothing is written.
"""

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from hitpath.core import Setting
from hitpath.doctor.kept import KeptRows
from hitpath.doctor.relatives import NONE, find_families
from hitpath.report.doctor_run import examine, open_subject, subject_of
from hitpath.traces.rows import Row, TraceBuilder
from hitpath.traces.table import Trace

_APPLICATIONS, _TURNS = 20, 10


def trace_of_ids(num: int, length: int) -> Trace:
    """Requests of about `length` tokens. One session's prompts are views of one array."""
    rng = np.random.default_rng(0)
    heads = [rng.integers(0, 100_000, length // 2).astype(np.uint32) for _ in range(_APPLICATIONS)]
    builder = TraceBuilder()
    told = length // 2 // _TURNS
    for number in range(num):
        session, turn = divmod(number, _TURNS)
        if turn == 0:
            history = rng.integers(0, 100_000, told * _TURNS).astype(np.uint32)
        head = heads[session % _APPLICATIONS]
        stamp = np.array([number], dtype=np.uint32)
        prompt = np.concatenate([head[:100], stamp, head[100:], history[: told * (turn + 1)]])
        row = Row(id=str(number), arrival_s=float(number), prompt=prompt,
                  prompt_tokens=len(prompt), session=str(session))  # fmt: skip
        builder.attempt(lambda row=row: row, str(number))
    return builder.build("bench", "tokens", None)


def bodies(num: int, folder: Path) -> Path:
    """Chats of several turns with a clock in their system text."""
    rng = np.random.default_rng(1)
    words = ["".join(chr(97 + n // 26**k % 26) for k in range(5)) for n in range(3000)]

    def text(count: int) -> str:
        return " ".join(words[n] for n in rng.integers(0, len(words), count))

    path = folder / "bodies.jsonl"
    system = text(3000)
    with path.open("w") as file:
        for session in range(num // _TURNS):
            messages: list[dict[str, str]] = []
            for turn in range(_TURNS):
                messages.append({"role": "user", "content": text(60)})
                now = f"2026-11-29 {session % 24:02}:{turn * 5:02}:{turn:02}"
                first = {"role": "system", "content": f"Time: {now}\n{system}"}
                row = {"model": "m", "session_id": str(session), "messages": [first, *messages]}
                file.write(json.dumps(row) + "\n")
                messages.append({"role": "assistant", "content": text(200)})
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--tokens", type=int, default=10_400)
    parser.add_argument("--bodies", type=int, default=2_000)
    asked = parser.parse_args()
    find_families(trace_of_ids(50, 512))  # compile
    trace = trace_of_ids(asked.requests, asked.tokens)
    began, began_cpu = time.perf_counter(), time.process_time()
    families = find_families(trace)
    relatives_s = time.perf_counter() - began
    relatives_cpu_s = time.process_time() - began_cpu
    turns = np.arange(len(trace)) % _TURNS
    right = np.where(turns > 0, families.nearest == np.arange(len(trace)) - 1, True)
    print(f"relatives: {len(trace):,} requests, {trace.prompt_tokens.sum():,} tokens, "
          f"{relatives_s:.1f} s ({relatives_cpu_s:.1f} s of processor), "
          f"{right.mean():.2%} of the same session")  # fmt: skip
    tokens = int(trace.prompt_tokens.sum())
    with_relative = int(np.count_nonzero(families.nearest != NONE))
    del families
    began, began_cpu = time.perf_counter(), time.process_time()
    diagnosed = examine(subject_of(trace, KeptRows(), Setting()))
    ids_s, ids_cpu_s = time.perf_counter() - began, time.process_time() - began_cpu
    print(f"ids: analysed and diagnosed in {ids_s:.1f} s ({ids_cpu_s:.1f} s of processor), "
          f"{sum(d.num_requests for d in diagnosed.defects):,} requests with a defect")  # fmt: skip
    del trace, diagnosed
    with tempfile.TemporaryDirectory() as folder:
        path = bodies(asked.bodies, Path(folder))
        size = path.stat().st_size
        began, began_cpu = time.perf_counter(), time.process_time()
        subject = open_subject([str(path)], Setting())
        read_s = time.perf_counter() - began
        found = examine(subject, what_ifs=False)
        whole_s = time.perf_counter() - began
        whole_cpu_s = time.process_time() - began_cpu
    print(f"bodies: {asked.bodies:,} requests, {size / 1e6:,.0f} MB, read and analysed in "
          f"{read_s:.1f} s, all in {whole_s:.1f} s ({whole_cpu_s:.1f} s of processor)")  # fmt: skip
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({
        "bench": "doctor", "requests": asked.requests, "tokens": tokens,
        "relatives_s": round(relatives_s, 2), "relatives_cpu_s": round(relatives_cpu_s, 2),
        "with_relative": with_relative,
        "right_frac": float(right.mean()),
        "ids_s": round(ids_s, 2), "ids_cpu_s": round(ids_cpu_s, 2),
        "bodies": asked.bodies, "bodies_bytes": size,
        "bodies_read_s": round(read_s, 2), "bodies_s": round(whole_s, 2),
        "bodies_cpu_s": round(whole_cpu_s, 2),
        "num_defects": len(found.defects), "peak_bytes": peak,
    }))  # fmt: skip


if __name__ == "__main__":
    main()

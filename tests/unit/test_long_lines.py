"""Lines of a megabyte, each made so that a pattern that is tried again and again, or that can match
its blanks and digits in several ways, would take the square of its length: hours. All are read in
one process, which the system ends after 90 s of CPU time; they take a few."""

import resource
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli import ROOT

MEGABYTE = 1 << 20
CPU_S = 90
V1 = "INFO 11-10 11:42:50 Engine 000: Avg prompt throughput: 1.0 tokens/s, Prefix cache hit rate: "
V0 = "INFO 11-10 11:42:50 metrics.py:470] Prefix cache hit rate: GPU: 98.60%, CPU: 0.00%"
BATCH = "[2025-05-07 09:50:01 DP0 TP0] Prefill batch. #new-seq: 1, #new-token: 5, #cached-token: 3"
METRIC = 'vllm:prefix_cache_hits_total{engine="0"'
REQUEST = "INFO 05-11 12:04:19 [logger.py:39] Received request cmpl-1: prompt: 'x', "
LORA = "params: SamplingParams(n=1), prompt_token_ids: [1], lora_request: LoRARequest(lora_name='"

LINES = {
    # (beginning, what is repeated up to a megabyte, end)
    "container before statistics of vLLM": ("a" + " " * MEGABYTE, V1 + "98.6%, ", ""),
    "container before statistics of V0": ("a" + " " * MEGABYTE, V0, ""),
    "container before statistics of SGLang": ("a" + " " * MEGABYTE, BATCH, ""),
    "containers": ("", "a | ", V1 + "98.6%"),
    "processes": ("", "(EngineCore pid=", V1 + "98.6%"),
    "digits of a process": ("(pid=", "1", f") INFO {V1}98.6%"),
    "digits of a throughput": ("Avg prompt throughput: ", "9", " tokens/s"),
    "digits of a usage": ("GPU KV cache usage: ", "9", f"% {V1}98.6%"),
    "digits of a rate": (V1, "9", "%"),
    "digits of a batch": ("Prefill batch. #new-seq: ", "1", ""),
    "batches cut off": ("", "Prefill batch #", ""),
    "ranks": ("", "TP0 ", BATCH),
    "times": ("", "11-10 11:42:50", V1 + "98.6%"),
    "blanks behind a help": ("# HELP vllm:prefix_cache_hits ", " ", "x"),
    "blanks behind a type": ("# TYPE x counter", " ", "x"),
    "braces of a sample": ("tgi_x{", "} 1", "x"),
    "blanks of labels": (METRIC, " ", "} 1"),
    "labels": (METRIC, ',a="b"', "} 1"),
    "quotes of a label": (METRIC + ',a="', "\\", '"} 1'),
    "closed labels again and again": (METRIC, "}", " 1"),
    "blanks before JSON": ("", " ", "x"),
    "brackets": ("", "[ ", ""),
    "requests without an end": ("", "Received request ", ""),
    "a request's name": ("Received request ", "x", ": prompt: "),
    "a response's name": ("Generated response ", "x", " (streaming complete) details: "),
    "colours": ("", "\x1b[0;", REQUEST),
    "colours without an end": ("\x1b[", "0", REQUEST),
    "quotes of a prompt": (REQUEST.removesuffix("'x', "), "'\\", ""),
    "backslashes of a prompt": (REQUEST.removesuffix("x', "), "\\\\", "', " + LORA),
    "adapters without an end": (REQUEST, LORA, ""),
    "backslashes of an adapter": (REQUEST + LORA, "\\\\", ""),
    "marks of ids": (REQUEST, "prompt_token_ids: [", ""),
    "arguments": ("INFO args: Namespace(", "max_log_len=", ""),
    "names of columns": ("a,", "prompt,output,", "b"),
    "delimiters": ("", "a;b,c\t", ""),
    "quotes of cells": ("a,b\n", '"', ""),
    "paths in an error": ('{"id": 1, "arrival_s": 0, "tokens": [], "', " - at `", '": 1}'),
    "a number": ('{"id": 1, "arrival_s": ', "9", ', "tokens": [1]}'),
    "whole numbers in a cell": ("arrival_s,tokens\n0,", "1 ", "x"),
    "blanks in a cell": ("arrival_s,tokens\n0,1", " ", "x"),
    "Docker's lines": ("", '{"log": "a", "stream": "stdout"}', ""),
}

READ = """
import sys
from hitpath.core import HitpathError
from hitpath.traces import open_inputs, read_trace
from hitpath.traces.detect import statistics_in
from hitpath.traces.engine_logs import observe

for path in sys.argv[1:]:
    print(path, flush=True)
    try:
        inputs = open_inputs([path])
        if statistics_in(inputs):
            observe(inputs, skip_bad_rows=True)
        else:
            read_trace([path], inputs=inputs, skip_bad_rows=True)
    except HitpathError as error:
        assert len(str(error)) < 2_000
"""


def read_all(paths: list[Path]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", READ, *map(str, paths)],
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S)),
    )
    begun = done.stdout.splitlines()
    assert done.returncode == 0, (begun[-1:], done.stderr[-500:])
    assert len(begun) == len(paths)


def test_no_line_takes_the_square_of_its_length(tmp_path):
    paths = []
    for name, (begin, unit, end) in LINES.items():
        path = tmp_path / name.replace(" ", "-")
        path.write_text(begin + unit * (MEGABYTE // len(unit)) + end + "\n")
        paths.append(path)
    name = "prompt" * (MEGABYTE // 6)  # of a column: CSV has shorter ones
    pq.write_table(pa.table({name: [1], "b": [2]}), tmp_path / "names.parquet")
    read_all([*paths, tmp_path / "names.parquet"])


def test_no_number_of_columns_takes_its_square(tmp_path):
    """Ours, such as `context.c1`: each was looked for among all."""
    path = tmp_path / "t.csv"
    names = [f"context.c{i}" for i in range(120_000)]
    cells = ",".join("x" * len(names))
    path.write_text(f"arrival_s,prompt_tokens,{','.join(names)}\n0,1,{cells}\n1,1,{cells}\n")
    read_all([path])


@pytest.mark.parametrize("count", [40_000])
def test_no_number_of_servers_takes_its_square(tmp_path, count):
    """Ranks of one cache, processes of V0 whose GPUs hit nothing, stretches of time."""
    texts = {
        "ranks.log": (f"[2025-05-07 09:50:01 TP{i}] Prefill batch. #new-seq: 1, #new-token: {i}, "
                      "#cached-token: 3" for i in range(count)),
        "v0.log": (f"(VllmWorkerProcess pid={i}) INFO 11-10 11:42:50 Prefix cache hit rate: GPU: "
                   "0.00%, CPU: 0.00%" for i in range(count)),
        "back.log": (f"INFO 11-10 {23 - i % 24:02}:42:50 Engine 000: Prefix cache hit rate: "
                     f"{i % 90}.0%" for i in range(count)),
    }  # fmt: skip
    paths = []
    for name, lines in texts.items():
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n")
        paths.append(path)
    read_all(paths)

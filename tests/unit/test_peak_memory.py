"""Files larger than memory, measured: what `--sample` keeps of a file does not grow with the text
of its rows, and without it nothing stands in memory that the trace does not hold."""

import csv
import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.long

_GROWTH = """
import os, resource, sys
from hitpath.traces import open_inputs, read_trace
from hitpath.traces.engine_logs import observe
from hitpath.traces.sampling import Sampler

def read(how, path):
    if how == "statistics":
        observe(open_inputs([path]))
    else:
        mapping = ("arrival_s=when", "prompt_tokens=long") if how == "mapped" else ()
        sampler = Sampler(1000, 0) if how == "sampled" else None
        read_trace([path], sampler=sampler, mapping=mapping)

how, tiny, small, large = sys.argv[1:]
read(how, tiny)
if os.fork() == 0:  # with all code in memory, but with a peak of its own and not the caller's
    peaks = []
    for path in (small, large):
        read(how, path)
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    print((peaks[1] - peaks[0]) * (1 if sys.platform == "darwin" else 1024), flush=True)
    os._exit(0)
os.wait()
"""

TEXT = "Twelve words of a prompt that is the same in every row, é. " * 700  # 42 kB
IDS = ", ".join(map(str, range(8000)))
MESSAGES = [{"role": "user", "content": TEXT}]


Write = Callable[[Path, int], None]


def lines(row: Callable[[int], Any]) -> Write:
    def write(path: Path, num: int) -> None:
        with path.open("w", encoding="utf-8") as out:
            for i in range(num):
                told = row(i)
                out.write(told if isinstance(told, str) else json.dumps(told, ensure_ascii=False))
                out.write("\n")

    return write


def array(row: Callable[[int], Any]) -> Write:
    def write(path: Path, num: int) -> None:
        with path.open("w", encoding="utf-8") as out:
            for i in range(num):
                out.write("," if i else "[")
                out.write(json.dumps(row(i), ensure_ascii=False))
            out.write("]")

    return write


def table(path: Path, num: int) -> None:
    """Three times as many rows: finding out what it is looks at 4 MiB of a text."""
    with path.open("w", encoding="utf-8", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["id", "arrival_s", "prompt"])
        rows.writerows((i, i, TEXT) for i in range(3 * num))


def parquet(path: Path, num: int) -> None:
    """Ten times as many rows, for they are read in batches. Each text is another one: Parquet
    would keep it once."""
    columns = pa.schema({"id": pa.int64(), "arrival_s": pa.int64(), "prompt": pa.string()})
    with pq.ParquetWriter(path, columns, compression="none") as out:
        for begin in range(0, 10 * num, 10):
            ids = range(begin, begin + 10)
            texts = [f"{i} {TEXT[:4000]}" for i in ids]
            out.write_table(pa.table([ids, ids, texts], schema=columns))


SPAN = {
    "trace_id": "t",
    "start_time": "2026-02-26T10:00:01Z",
    "attributes": {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(MESSAGES)},
}
GENERATION = {
    "traceId": "t",
    "type": "GENERATION",
    "startTime": "2026-01-15T12:00:00Z",
    "input": {"messages": MESSAGES},
}
SPEND = {"call_type": "completion", "startTime": 1768478400.0, "messages": MESSAGES}
HELICONE = {
    "request_id": "r",
    "request_created_at": "2026-01-15 12:00:00",
    "request_body": {"messages": MESSAGES},
    "response_status": 200,
}
BIG: dict[str, Write] = {
    "hitpath messages": lines(lambda i: {"id": i, "arrival_s": i, "messages": MESSAGES}),
    "hitpath tokens": lines(lambda i: {"id": i, "arrival_s": i, "tokens": list(range(8000))}),
    "mooncake": lines(lambda i: f'{{"timestamp": {i}, "input_length": 128000, "block_size": 16, '
        f'"hash_ids": [{IDS}]}}'),
    "qwen-bailian": lines(lambda i: f'{{"chat_id": {i}, "parent_chat_id": -1, "timestamp": {i}, '
        f'"input_length": 128000, "hash_ids": [{IDS}]}}'),
    "lmcache": lines(lambda i: {"timestamp": i, "input": TEXT, "output": "", "session_id": "s"}),
    "openai": lines(lambda i: {"model": "m", "messages": MESSAGES}),
    "openai array": array(lambda i: {"model": "m", "messages": MESSAGES}),
    "sharegpt": lines(lambda i: {"id": i, "conversations": [
        {"from": "human", "value": TEXT}, {"from": "gpt", "value": "Yes."}]}),
    "sharegpt array": array(lambda i: {"id": i, "conversations": [
        {"from": "human", "value": TEXT}, {"from": "gpt", "value": "Yes."}]}),
    "otel": lines(lambda i: {**SPAN, "span_id": str(i)}),
    "otel array": array(lambda i: {**SPAN, "span_id": str(i)}),
    "litellm": lines(lambda i: {**SPEND, "id": str(i)}),
    "langfuse": lines(lambda i: {**GENERATION, "id": str(i)}),
    "langfuse array": array(lambda i: {**GENERATION, "id": str(i)}),
    "helicone": lines(lambda i: {**HELICONE, "request_id": str(i)}),
    "claude-code": lines(lambda i: {"type": "assistant", "sessionId": "s", "uuid": str(i),
        "timestamp": "2026-01-15T12:00:00Z", "message": {"id": str(i), "content": TEXT, "usage": {
            "input_tokens": 1, "cache_read_input_tokens": 1, "cache_creation_input_tokens": 1}}}),
    "aiperf": lines(lambda i: {"metadata": {"request_start_ns": i, "request_end_ns": i, "x": TEXT},
        "metrics": {"usage_prompt_tokens": {"value": 9, "unit": "tokens"}}}),
    "tracelab": lines(lambda i: {"session_id": "s", "trace_key": str(i), "input_tokens_total": 9,
        "prefix_tokens": 4, "newly_append_tokens": 5, "note": TEXT, "timing_events": [
            {"event_type": "user_message", "timestamp": "2026-06-01T05:40:20.151Z"}]}),
    "table": table,
    "parquet": parquet,
}  # fmt: skip
"""Name -> what writes a file with so many requests, some 42 kB each."""

# ---- what nobody reads: small rows in large files ----------------------------------------------

NOTE = "Nobody reads this note, é, of a row. " * 1100  # 42 kB
MESSAGE = [{"role": "user", "content": "Hi"}]
LATER = "2026-01-15T12:00:00Z"


def document(before: str, row: Callable[[int], Any], behind: str) -> Write:
    """One object that holds the rows in an array."""

    def write(path: Path, num: int) -> None:
        with path.open("w", encoding="utf-8") as out:
            out.write(before)
            for i in range(num):
                out.write(("," if i else "") + json.dumps(row(i), ensure_ascii=False))
            out.write(behind)

    return write


def folder(name: Callable[[int], str], text: Callable[[int], Any]) -> Write:
    def write(path: Path, num: int) -> None:
        path.mkdir()
        for i in range(num):
            told = text(i)
            whole = told if isinstance(told, str) else json.dumps(told, ensure_ascii=False)
            (path / name(i)).write_text(whole, encoding="utf-8")

    return write


def wide_table(header: str, row: Callable[[int], str]) -> Write:
    """A CSV with one column that nobody reads."""

    def write(path: Path, num: int) -> None:
        lines(lambda i: f'{row(i)},"{NOTE}"' if i else f"{header},note")(path, num + 1)

    return write


def wide_parquet(columns: dict[str, Callable[[int], Any]]) -> Write:
    """Row groups of 8 rows, each with a text of its own: Parquet would keep it once."""

    def some(rows: range) -> pa.Table:
        cells = {name: [of(i) for i in rows] for name, of in columns.items()}
        return pa.table({**cells, "note": [f"{i}{NOTE}" for i in rows]})

    def write(path: Path, num: int) -> None:
        with pq.ParquetWriter(path, some(range(1)).schema, compression="none") as out:
            for begin in range(0, num, 8):
                out.write_table(some(range(begin, begin + 8)))

    return write


def zipped(write: Write) -> Write:
    """Compressed at level 0, so that its size is that of the text."""

    def write_gz(path: Path, num: int) -> None:
        write(path, num)
        path.write_bytes(gzip.compress(path.read_bytes(), 0))

    return write_gz


SESSION = {"hash_id_scope": "local", "block_size": 64, "note": NOTE}
RUN = {"input_lens": [9], "output_lens": [9], "ttfts": [0.1], "start_times": [1.0], "errors": [""]}
GUIDED = {
    "input_metrics": {"text_tokens": 9}, "note": NOTE,
    "info": {"timings": {"request_start": 1.0, "request_end": 2.0}},
}  # fmt: skip
STATISTICS = (
    "INFO 01-15 12:00:00 [loggers.py:127] Engine 000: Avg prompt throughput: 512.3 tokens/s, Avg "
    "generation throughput: 50.1 tokens/s, Running: 3 reqs, Waiting: 0 reqs, GPU KV cache usage: "
    "1.2%, Prefix cache hit rate: 41.5%"
)
IGNORED: dict[str, Write] = {
    "hitpath lengths": lines(lambda i: {"id": i, "arrival_s": i, "prompt_tokens": 9, "note": NOTE}),
    "hitpath messages": lines(
        lambda i: {"id": i, "arrival_s": i, "messages": MESSAGE, "note": NOTE}),
    "hitpath tokens": lines(lambda i: {"id": i, "arrival_s": i, "tokens": [1, 2], "note": NOTE}),
    "hitpath block_keys": lines(lambda i: {"id": i, "arrival_s": i, "block_keys": [1],
        "block_size": 16, "prompt_tokens": 16, "note": NOTE}),
    "mooncake": lines(lambda i: {"timestamp": i, "input_length": 16, "hash_ids": [i],
        "block_size": 16, "note": NOTE}),
    "qwen-bailian": lines(lambda i: {"chat_id": i, "parent_chat_id": -1, "timestamp": i,
        "input_length": 16, "hash_ids": [i], "note": NOTE}),
    "coding-agent": folder(lambda i: f"s{i}.json", lambda i: {**SESSION, "id": f"s{i}",
        "requests": [{"t": 1, "type": "n", "in": 64, "hash_ids": [1]}]}),
    "ragpulse": lines(lambda i: {"timestamp": i, "hash_ids": {"user_input": [1]}, "note": NOTE}
        if i else {"user_input_id": 1, "token_length": 3}),
    "lmcache-agent": lines(lambda i: {"timestamp": i, "input": "Hi", "output": "",
        "session_id": "s", "note": NOTE}),
    "openai-requests": lines(lambda i: {"model": "m", "messages": MESSAGE, "note": NOTE}),
    "sharegpt": array(lambda i: {"id": i, "note": NOTE, "conversations": [
        {"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Yes."}]}),
    "otel-genai": document('{"resourceSpans": [{"scopeSpans": [{"spans": [',
        lambda i: {**SPAN, "spanId": str(i), "note": NOTE,
            "attributes": {"gen_ai.operation.name": "chat",
                "gen_ai.input.messages": json.dumps(MESSAGE)}}, "]}]}]}"),
    "otel-genai spans": lines(lambda i: {**SPAN, "span_id": str(i), "note": NOTE,
        "attributes": {"gen_ai.operation.name": "chat",
            "gen_ai.input.messages": json.dumps(MESSAGE)}}),
    "swe-agent": folder(lambda i: f"{i}.traj", lambda i: {"history": [], "info": NOTE,
        "trajectory": [{"response": "ok", "query": MESSAGE}]}),
    "litellm": lines(lambda i: {**SPEND, "id": str(i), "messages": MESSAGE, "note": NOTE}),
    "langfuse": lines(lambda i: {**GENERATION, "id": str(i), "input": {"messages": MESSAGE},
        "note": NOTE}),
    "helicone": lines(lambda i: {**HELICONE, "request_id": str(i), "note": NOTE,
        "request_body": {"messages": MESSAGE}}),
    "claude-code": BIG["claude-code"],
    "aiperf": BIG["aiperf"],
    "tracelab": BIG["tracelab"],
    "guidellm": document('{"metadata": {}, "benchmarks": [{"requests": {"successful": [',
        lambda i: {**GUIDED, "request_id": str(i)}, "]}}]}"),
    "inference-perf": array(lambda i: {"start_time": i, "end_time": i, "note": NOTE,
        "info": {"input_tokens": 9}}),
    "bench-serve": document('{"request_throughput": 1, "input_lens": [9], "output_lens": [9], '
        '"ttfts": [0.1], "errors": [""], "generated_texts": [', lambda i: NOTE, "]}"),
    "bench-serve lines": lines(lambda i: {**RUN, "generated_texts": [NOTE]}),
    "vllm-request-log": lines(lambda i: "INFO 01-15 12:00:00 [logger.py:42] Received request "
        f"cmpl-{i}-0: prompt: 'Hi', params: SamplingParams(n=1), prompt_token_ids: [1, 2], "
        f"lora_request: None.\nDEBUG 01-15 12:00:00 [x.py:1] {NOTE}"),
    "azure-llm": wide_table("TIMESTAMP,ContextTokens,GeneratedTokens",
        lambda i: f"2023-11-16 18:17:03.{i:06},9,9"),
    "burstgpt": wide_table("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type",
        lambda i: f"{i},ChatGPT,9,9,18,Conversation log"),
    "baseten": wide_parquet({"timestamp_start_unix_ms": lambda i: i, "input_tokens": lambda i: 64,
        "output_tokens": lambda i: 9, "total_hashes": lambda i: [i], "block_size": lambda i: 64,
        "prompt": lambda i: "Hi"}),
    "parquet": wide_parquet({"id": lambda i: i, "arrival_s": lambda i: i,
        "prompt_tokens": lambda i: 9}),
    "mapped": wide_table("when,long", lambda i: f"{i},9"),
    "statistics": lines(lambda i: f"{STATISTICS}\nDEBUG 01-15 12:00:00 [x.py:1] {NOTE}"),
    "gz": zipped(lines(lambda i: {"id": i, "arrival_s": i, "prompt_tokens": 9, "note": NOTE})),
}  # fmt: skip
"""As `BIG`, with rows of which the trace keeps next to nothing."""


NUM_REQUESTS = 72


def written(folder: Path, name: str, write: Write, times: int) -> tuple[Path, Path, Path]:
    """A file of one request or two, one of 3 MB, and one of so many times its size."""
    ending = ".jsonl.gz" if name == "gz" else ".jsonl"
    counts = (2, NUM_REQUESTS, times * NUM_REQUESTS)
    paths = [folder / f"{name}-{num}{ending}" for num in counts]
    for path, num in zip(paths, counts, strict=True):
        write(path, num)
    return paths[0], paths[1], paths[2]


def size_of(path: Path) -> int:
    return sum(p.stat().st_size for p in (path.iterdir() if path.is_dir() else [path]))


def growth(how: str, name: str, write: Write) -> float:
    """Bytes by which reading the larger file takes more memory, as a share of those that it has
    more. One case's files at a time: all of them are over a GiB."""
    times = 4 if how == "sampled" or name == "kept" else 8
    with TemporaryDirectory() as folder:
        paths = written(Path(folder), name, write, times)
        command = [sys.executable, "-c", _GROWTH, how, *map(str, paths)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        more = size_of(paths[2]) - size_of(paths[1])
    assert more > 8e6
    return int(ended.stdout) / more


def how_read(name: str) -> str:
    return name if name in ("mapped", "statistics") else "whole"


@pytest.mark.parametrize("name", BIG)
def test_a_sample_does_not_grow_with_the_text(name):
    assert growth("sampled", name, BIG[name]) < 0.5


@pytest.mark.parametrize("name", IGNORED)
def test_what_nobody_reads_is_not_in_memory(name):
    assert growth(how_read(name), name, IGNORED[name]) < 0.25


def test_what_is_kept_is_in_memory():
    """That the measure sees it: here the prompts, a byte a character."""
    assert growth("whole", "kept", BIG["openai"]) > 0.75

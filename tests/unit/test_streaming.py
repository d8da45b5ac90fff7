"""Files larger than memory: arrays are read element by element, and what `--sample` keeps of a
file does not grow with the text of its rows."""

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitpath.core import InputError
from hitpath.traces import json_array, read_trace
from hitpath.traces.json_array import begins_array, elements


class Bytes:
    """A stream that gives little at a time."""

    def __init__(self, text: bytes, most: int) -> None:
        self._text, self._most, self._at = text, most, 0

    def read(self, size: int) -> bytes:
        return self._take(min(size, self._most))

    def readline(self) -> bytes:
        end = self._text.find(b"\n", self._at)
        return self._take((len(self._text) if end < 0 else end + 1) - self._at)

    def _take(self, size: int) -> bytes:
        found = self._text[self._at : self._at + size]
        self._at += len(found)
        return found


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just('"\\,[]{}'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
OBJECTS = st.lists(st.dictionaries(st.text(max_size=4), JSON, max_size=3), min_size=1, max_size=6)


@settings(max_examples=100, deadline=None)
@given(OBJECTS, st.sampled_from([None, 0, 2]), st.integers(2, 40), st.booleans())
def test_elements_are_those_of_the_whole_document(rows, indent, most, ascii_only):
    """The reference is the standard library's reading of the whole text."""
    text = b" \n" + json.dumps(rows, indent=indent, ensure_ascii=ascii_only).encode() + b"\n \n"
    assert begins_array(text)
    found = list(elements(Bytes(text, max(most, 4)), "t"))
    assert [json.loads(element) for _, element in found] == rows
    several = b"\n" in text.strip()
    prefix = "t" if several else "t:2"
    assert [place for place, _ in found] == [f"{prefix}[{i}]" for i in range(len(rows))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'[{"a":1},', [("t:1[0]", b'{"a":1}'), ("t:1[1]", b"")]),
        (b'[{"a":1}', [("t:1[0]", b'{"a":1}')]),
        (b'[{"a":1},]', [("t:1[0]", b'{"a":1}'), ("t:1[1]", b"")]),
        (b'[{"a":1},,{"b":2}]', [("t:1[0]", b'{"a":1}'), ("t:1[1]", b""), ("t:1[2]", b'{"b":2}')]),
        (b'[{"a":1} {"b":2}]', [("t:1[0]", b'{"a":1} {"b":2}')]),
        (b'[{"a":1}] {"b":2}\n', [("t:1[0]", b'{"a":1}'), ("t:1", b'] {"b":2}')]),
        (b'[{"a":1}]\n\n{"b":2}\n[{"c":3}]\n',
         [("t:1[0]", b'{"a":1}'), ("t:3", b'{"b":2}'), ("t:4", b'[{"c":3}]')]),
        (b'[{"a":1},\n{"b":2}\n]\n{"c":3}\n',
         [("t[0]", b'{"a":1}'), ("t[1]", b'{"b":2}'), ("t", b']{"c":3}')]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("most", [4, 1 << 20])
def test_what_is_wrong_with_an_array(text, expected, most):
    """Each fault gives an element that is no JSON, except what the next line rightly begins."""
    assert list(elements(Bytes(text, most), "t")) == expected


@pytest.mark.parametrize("text", [b"[2025-11-26 10:00:00] INFO", b"[1,2]", b"[]", b"", b"{}", b"["])
def test_what_begins_no_array_of_objects(text):
    assert not begins_array(text)


CONVERSATION = {
    "id": "c",
    "conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}],
}


def shared(number: int) -> dict[str, Any]:
    return {**CONVERSATION, "id": f"c{number}"}


@pytest.mark.parametrize("chunk_bytes", [16, 1 << 20])
def test_an_array_that_is_cut_off(tmp_path, monkeypatch, chunk_bytes):
    """Refused at the element where it ends; with --skip-bad-rows the elements before are read."""
    monkeypatch.setattr(json_array, "_CHUNK_BYTES", chunk_bytes)
    text = json.dumps([shared(i) for i in range(4)])
    path = tmp_path / "t.json"
    path.write_text(text[:-20])
    with pytest.raises(InputError) as caught:
        read_trace([str(path)])
    assert caught.value.place.endswith("t.json:1[3]")
    trace = read_trace([str(path)], skip_bad_rows=True)
    assert trace.ids == ("c0/1", "c1/1", "c2/1")
    assert [problem.place for problem in trace.skipped] == [f"{path}:1[3]"]


def test_an_array_may_come_from_a_pipe(tmp_path):
    rows = json.dumps([shared(i) for i in range(4)])
    command = [sys.executable, "-m", "hitpath", "analyze", "-", "--json", "-"]
    ended = subprocess.run(command, input=rows.encode(), capture_output=True, check=True)
    assert json.loads(ended.stdout)["trace"]["num_requests"] == 4


# ---- peak memory -----------------------------------------------------------------------------

_GROWTH = """
import os, resource, sys
from hitpath.traces import read_trace
from hitpath.traces.sampling import Sampler
arguments = sys.argv[1:]
cases = list(zip(*(arguments[i::4] for i in range(4))))
samplers = {"sampled": Sampler(1000, 0), "whole": None}
for how, tiny, _, _ in cases:
    read_trace([tiny], sampler=samplers[how])
for how, _, small, large in cases:
    if os.fork() == 0:  # with all code in memory, but with a peak of its own
        peaks = []
        for path in (small, large):
            read_trace([path], sampler=samplers[how])
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


NUM_REQUESTS, TIMES = 72, 4


def written(folder: Path, name: str) -> tuple[Path, Path, Path]:
    """A file of one request, one of 3 MB, and one of four times its size."""
    paths = [folder / f"{name}-{num}.jsonl" for num in (1, NUM_REQUESTS, TIMES * NUM_REQUESTS)]
    for path, num in zip(paths, (1, NUM_REQUESTS, TIMES * NUM_REQUESTS), strict=True):
        BIG[name](path, num)
    return paths[0], paths[1], paths[2]


@pytest.fixture(scope="module")
def growths(tmp_path_factory) -> dict[str, float]:
    """Of each format: bytes by which reading the larger file takes more memory, as a share of
    those that it has more. "whole": one of them without sampling."""
    folder = tmp_path_factory.mktemp("big")
    files = {name: written(folder, name) for name in BIG}
    cases = [("sampled", name) for name in BIG] + [("whole", "openai")]
    arguments = [str(word) for how, name in cases for word in (how, *files[name])]
    command = [sys.executable, "-c", _GROWTH, *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    found = {}
    for (how, name), told in zip(cases, ended.stdout.split(), strict=True):
        _, small, large = files[name]
        more = large.stat().st_size - small.stat().st_size
        assert more > 8e6
        found[name if how == "sampled" else how] = int(told) / more
    return found


@pytest.mark.parametrize("name", BIG)
def test_memory_does_not_grow_with_the_text(growths, name):
    assert growths[name] < 0.5


def test_without_sampling_it_does(growths):
    """That the measure sees what is kept: here the prompts, a byte a character."""
    assert growths["whole"] > 0.75

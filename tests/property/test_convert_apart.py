"""Traces that are converted apart are together what they were together: plain or redacted, as JSON
lines or as Parquet, the two results give the document and the rows of the two originals."""

import io
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conversions import KEY, SETTINGS, answers, own_traces, prompts
from hitpath.core import HitpathError, Setting
from hitpath.report.convert.run import Conversion, run_convert
from hitpath.traces import Trace, read_trace
from samples import SAMPLES
from support import shared_data, write_jsonl

WAYS = [(redacted, ending) for redacted in (False, True) for ending in ("jsonl", "parquet")]


def told_by_number(trace: Trace, setting: Setting) -> tuple[Any, list[Any]]:
    """Answers in which every request is called by its place in the order of serving: requests
    without an id are called by their number, which is another in another file."""
    number = {name: i for i, name in enumerate(trace.ids)}
    shown, rows = answers(trace, setting)
    if not isinstance(shown, str):
        shown["excluded_rows"] = [number[name] for name in shown["excluded_rows"]]
        for prefix in shown["shared_prefixes"] or []:
            prefix["first_request"] = number[prefix["first_request"]]
    return shown, [{**row, "id": number[row["id"]]} for row in rows]


def check_apart(paths: list[str], folder: Path, ways=WAYS) -> None:
    """`paths`: the originals, which are converted one by one."""
    original = read_trace(paths, skip_bad_rows=True)
    expected = [told_by_number(original, setting) for setting in SETTINGS]
    key = folder / "key"
    key.write_bytes(KEY)
    for redacted, ending in ways:
        outs = [str(folder / f"out-{redacted}-{i}.{ending}") for i in range(len(paths))]
        for path, out in zip(paths, outs, strict=True):
            redact = str(key) if redacted else None
            run_convert(Conversion([path], out, redact=redact, skip_bad_rows=True))
        again = read_trace(outs)
        for setting, told in zip(SETTINGS, expected, strict=True):
            assert told_by_number(again, setting) == told


@pytest.mark.parametrize("kind", sorted(prompts))
@settings(max_examples=40)
@given(data=st.data())
def test_own_rows(kind, data):
    rows = data.draw(own_traces(kind))
    at = data.draw(st.integers(0, len(rows)))
    with TemporaryDirectory() as name:
        folder = Path(name)
        paths = [
            str(write_jsonl(folder / f"{letter}.jsonl", part))
            for letter, part in (("a", rows[:at]), ("b", rows[at:]))
        ]
        try:
            for path in paths:
                read_trace([path], skip_bad_rows=True)
        except HitpathError:
            return  # not one row that can be read in either: nothing to convert
        check_apart(paths, folder)


def lines_in_two(content: bytes) -> tuple[bytes, bytes]:
    lines = content.splitlines(keepends=True)
    return b"".join(lines[: len(lines) // 2]), b"".join(lines[len(lines) // 2 :])


def after_three_lines(content: bytes) -> tuple[bytes, bytes]:
    """Claude Code writes a call in several lines."""
    lines = content.splitlines(keepends=True)
    return b"".join(lines[:3]), b"".join(lines[3:])


def below_a_header(content: bytes) -> tuple[bytes, bytes]:
    header, *rows = content.splitlines(keepends=True)
    first, second = lines_in_two(b"".join(rows))
    return header + first, header + second


def below_tables(content: bytes) -> tuple[bytes, bytes]:
    """RAGPulse's tables of lengths go with either part."""
    lines = content.splitlines(keepends=True)
    tables = b"".join(line for line in lines if b"token_length" in line)
    first, second = lines_in_two(b"".join(line for line in lines if b"token_length" not in line))
    return tables + first, tables + second


def rows_of_a_table(content: bytes) -> tuple[bytes, bytes]:
    table = pq.read_table(io.BytesIO(content))
    return as_parquet(table[:1]), as_parquet(table[1:])


def as_parquet(table: pa.Table) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


def twice(*names: tuple[bytes, bytes]) -> Callable[[bytes], tuple[bytes, bytes]]:
    """The same twice, the second time under other names."""

    def split(content: bytes) -> tuple[bytes, bytes]:
        second = content
        for old, new in names:
            assert old in content
            second = second.replace(old, new)
        return content, second

    return split


SPLITS = {
    "formats-exports: Claude Code transcripts 1": after_three_lines,
    "trace-format: Coding-agent sessions 1": twice((b'"id": "sess"', b'"id": "other"')),
    "trace-format: RAGPulse 1": below_tables,
    "trace-format: ShareGPT 1": twice((b'"id": "c"', b'"id": "d"')),
    "trace-format: SWE-agent trajectories 1": twice(),
    "formats-results: GuideLLM 1": twice(
        (b'"request_id": "a"', b'"request_id": "c"'), (b'"request_id": "b"', b'"request_id": "d"')
    ),
    "formats-results: inference-perf 1": twice(),
    "formats-results: vllm bench serve and SGLang bench_serving 1": twice(),
    "formats-results: TraceLab 1": twice(),
    "formats-tables: Azure LLM inference traces 1": below_a_header,
    "formats-tables: BurstGPT 1": below_a_header,
    "baseten": rows_of_a_table,
    "own names in a table": below_a_header,
}
"""How a sample becomes two that one machine could have written; else by its lines."""
ONE_SERVER = "formats-results: vLLM request logs 1"
"""Several logs are several workers when they are read together, one is one server."""


def numbers(told: tuple[Any, list[Any]]) -> Any:
    """What does not name anybody."""
    shown, rows = told
    if isinstance(shown, str):
        return shown
    kept = ("hit_tokens", "prompt_tokens", "causes", "reported_hit_tokens")
    tiers = shown["tokens"].pop("hit_by_tier") or {}
    return (
        shown["hit_rate"],
        shown["tokens"],
        sorted(tiers.values()),
        [{name: row.get(name) for name in kept} for row in rows],
    )


@settings(max_examples=60)
@given(own_traces(), st.data())
def test_hashed_labels_are_the_same_in_both(rows, data):
    """Also the names of tiers and of a context's own fields."""
    at = data.draw(st.integers(1, len(rows)))
    with TemporaryDirectory() as name:
        folder = Path(name)
        paths = [str(write_jsonl(folder / "a.jsonl", rows[:at]))]
        if rows[at:]:
            paths.append(str(write_jsonl(folder / "b.jsonl", rows[at:])))
        key = folder / "key"
        key.write_bytes(KEY)
        outs = [path.replace(".jsonl", ".o.jsonl") for path in paths]
        try:
            for path, out in zip(paths, outs, strict=True):
                job = Conversion([path], out, redact=str(key), hash_labels=True, skip_bad_rows=True)
                run_convert(job)
        except HitpathError:
            return  # not one row that can be read
        original, again = read_trace(paths, skip_bad_rows=True), read_trace(outs)
        for setting in SETTINGS:
            assert numbers(answers(again, setting)) == numbers(answers(original, setting))


@pytest.mark.parametrize("name", sorted(SAMPLES.keys() - {ONE_SERVER}))
def test_every_format(name, tmp_path):
    ((file, content),) = SAMPLES[name].items()
    paths = []
    for letter, part in zip("ab", SPLITS.get(name, lines_in_two)(content), strict=True):
        paths.append(tmp_path / f"{letter}-{file}")
        paths[-1].write_bytes(part)
    check_apart(list(map(str, paths)), tmp_path)


LINES = [(False, "jsonl"), (True, "jsonl")]


@pytest.mark.parametrize("name", ["coding_agent_sessions", "lmcache_taubench", "otel_genai"])
def test_real_traces_file_by_file(name, tmp_path):
    files = [path for path in shared_data(name).iterdir() if path.suffix in (".json", ".jsonl")]
    check_apart(sorted(map(str, files)), tmp_path, LINES)


def test_every_second_request_of_ragpulse(tmp_path):
    trace, *tables = sorted(shared_data("ragpulse_sample").glob("*.jsonl"))
    lines = trace.read_bytes().splitlines(keepends=True)
    paths = []
    for letter, part in (("a", lines[::2]), ("b", lines[1::2])):
        paths.append(tmp_path / f"{letter}.jsonl")
        paths[-1].write_bytes(b"".join([*(table.read_bytes() for table in tables), *part]))
    check_apart(list(map(str, paths)), tmp_path, LINES)

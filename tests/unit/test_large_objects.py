"""Documents of more than a MiB are read by their parts, with the same result as in one piece.

The rows are written by hand from the documented shapes, with a text that nobody reads."""

import gzip
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hitpath.core import InputError
from hitpath.traces import Trace, read_trace
from hitpath.traces.detect import statistics_in
from hitpath.traces.sources import Input

NOTE = 'Nobody reads this: [{"é": "\\"]}, ' * 2000  # 70 kB
NUM = 24


def guide(number: int) -> dict[str, Any]:
    body = {"model": "m", "messages": [{"role": "user", "content": f"Hi {number}"}]}
    return {
        "request_id": f"r{number}",
        "request_args": json.dumps({"body": body}),
        "output": "fine",
        "note": NOTE,
        "info": {"timings": {"request_start": 1.7e9 + number, "request_end": 1.7e9 + number + 2}},
        "input_metrics": {"text_tokens": 100 + number},
        "output_metrics": {"text_tokens": 7},
    }


def benchmark(first: int, num: int, **totals: int) -> dict[str, Any]:
    requests = {
        "successful": [guide(first + i) for i in range(num)],
        "errored": [{"request_id": "e"}],
        "incomplete": None,
    }
    return {"metrics": {"request_totals": totals, "more": NOTE}, "requests": requests}


def report(**last: Any) -> dict[str, Any]:
    two = [benchmark(0, NUM, successful=90), benchmark(0, 2, errored=3)]
    return {"metadata": {"version": 1}, "benchmarks": two, "note": NOTE, **last}


def run(**fields: Any) -> dict[str, Any]:
    return {
        "request_throughput": 1.0,
        "completed": NUM,
        "input_lens": [100] * NUM,
        "output_lens": list(range(1, NUM + 1)),
        "ttfts": [0.25] * NUM,
        "itls": [[0.5] * i for i in range(NUM)],
        "generated_texts": [NOTE] * NUM,
        "errors": [""] * NUM,
        "start_times": list(range(NUM)),
        **fields,
    }


def span(number: int) -> dict[str, Any]:
    messages = [{"role": "user", "parts": [{"type": "text", "content": f"Hi {number}"}]}]
    return {
        "traceId": "t",
        "spanId": str(number),
        "startTimeUnixNano": str(10**18 + number),
        "note": NOTE,
        "attributes": [
            {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
            {"key": "gen_ai.input.messages", "value": {"stringValue": json.dumps(messages)}},
        ],
    }


def otlp() -> dict[str, Any]:
    scopes = [[span(i) for i in range(NUM)], [], [span(NUM)]]
    told = [{"scope": {"name": NOTE}, "spans": spans} for spans in scopes]
    return {"resourceSpans": [{"resource": {}, "scopeSpans": told}, {"scopeSpans": []}]}


LARGE: dict[str, tuple[str, list[Any]]] = {
    "guidellm": ("guidellm", [report()]),
    "guidellm, two reports": ("guidellm", [report(), report()]),
    "bench-serve": ("bench-serve", [run()]),
    "bench-serve, latencies": ("bench-serve", [run(latencies=[2.0] * NUM, itls=None)]),
    "bench-serve, two runs": ("bench-serve", [run(), run(start_times=list(range(50, 50 + NUM)))]),
    "otlp": ("otel-genai", [otlp()]),
    "spans": ("otel-genai", [{"spans": [span(i) for i in range(NUM)]}]),
}
"""Name -> (format, documents)."""


def write(folder: Path, documents: list[Any], indent: int | None = None) -> Path:
    path = folder / "t.json"
    path.write_text("\n".join(json.dumps(d, indent=indent) for d in documents) + "\n")
    return path


def assert_same(one: Trace, other: Trace) -> None:
    for field in fields(Trace):
        left, right = getattr(one, field.name), getattr(other, field.name)
        parts = [(left, right)]
        if hasattr(left, "__dataclass_fields__"):
            parts = [(getattr(left, f.name), getattr(right, f.name)) for f in fields(left)]
        for its, theirs in parts:
            if isinstance(its, np.ndarray):
                assert np.array_equal(its, theirs, equal_nan=its.dtype.kind == "f"), field.name
            else:
                assert its == theirs, field.name


@pytest.mark.parametrize("name", LARGE)
def test_a_large_document_gives_what_it_gives_in_one_piece(tmp_path, monkeypatch, name):
    kind, documents = LARGE[name]
    path = write(tmp_path, documents)
    trace = read_trace([str(path)])
    assert trace.format == kind
    (tmp_path / "t.json.gz").write_bytes(gzip.compress(path.read_bytes(), 1))
    with pa.output_stream(str(tmp_path / "t.json.zst"), compression="zstd") as out:
        out.write(path.read_bytes())
    for zipped in (tmp_path / "t.json.gz", tmp_path / "t.json.zst"):
        other = read_trace([str(zipped)])
        assert other.ids == trace.ids
        assert tuple(note.replace(str(zipped), str(path)) for note in other.notes) == trace.notes
    monkeypatch.setattr(Input, "large_object", None)
    assert_same(trace, read_trace([str(path)]))


@pytest.mark.parametrize("name", ["guidellm", "bench-serve", "otlp"])
def test_over_several_lines(tmp_path, monkeypatch, name):
    path = write(tmp_path, LARGE[name][1], indent=1)
    trace = read_trace([str(path)])
    monkeypatch.setattr(Input, "large_object", None)
    assert trace.ids == read_trace([str(path)]).ids


@pytest.mark.parametrize("ending", ["json", "json.gz"])
@pytest.mark.parametrize("name", LARGE)
def test_it_is_read_by_its_parts(tmp_path, monkeypatch, name, ending):
    """Neither finding out what it is nor reading it asks for a line."""

    def no_lines(*_: object) -> None:
        raise AssertionError

    path = write(tmp_path, LARGE[name][1])
    if ending == "json.gz":
        text, path = path.read_bytes(), tmp_path / f"t.{ending}"
        path.write_bytes(gzip.compress(text, 1))
    monkeypatch.setattr("hitpath.traces.files.Stream._raw_lines", no_lines)
    read_trace([str(path)])


def test_a_large_document_is_no_log(tmp_path):
    from hitpath.traces import open_inputs

    assert not statistics_in(open_inputs([str(write(tmp_path, [run()]))]))


@pytest.mark.parametrize("name", ["guidellm", "bench-serve", "otlp"])
def test_a_large_document_that_is_cut_off(tmp_path, name):
    """Refused; with --skip-bad-rows the requests before are read where each stands by itself."""
    text = json.dumps(LARGE[name][1][0])
    path = tmp_path / "t.json"
    path.write_text(text[: len(text) * 3 // 4])
    with pytest.raises(InputError) as caught:
        read_trace([str(path)])
    assert caught.value.place.startswith(f"{path}:1")
    if name == "bench-serve":  # a list a quantity: no request is whole
        with pytest.raises(InputError, match="no request left"):
            read_trace([str(path)], skip_bad_rows=True)
    else:
        trace = read_trace([str(path)], skip_bad_rows=True)
        assert 10 < len(trace) < NUM
        assert len(trace.skipped) == 2  # the request where it ends, and the document


@pytest.mark.parametrize(
    ("itls", "cause"),
    [
        ([[0.5, -1.0]], "not a time"),
        (["x"], "no list"),
        ([[True]], "no number"),
        ([[0.5, None]], None),
        ([None], None),
        ([[1, 2]], None),
    ],
)
def test_times_between_tokens(tmp_path, monkeypatch, itls, cause):
    path = write(tmp_path, [run(itls=itls + [[]] * (NUM - 1))])
    for large in (True, False):
        if not large:
            monkeypatch.setattr(Input, "large_object", None)
        if cause is None:
            gaps = [gap for gap in itls[0] or [] if gap is not None]
            assert read_trace([str(path)]).finish_s[0] == 0.25 + sum(gaps)
        else:
            with pytest.raises(InputError, match=cause) as caught:
                read_trace([str(path)])
            assert caught.value.place == f"{path}:1[0]"


def test_a_large_first_row_that_is_broken_is_a_row(tmp_path):
    """It begins as an object that does not end, but as none of a format that has parts."""
    path = tmp_path / "t.jsonl"
    path.write_text('{"trace_id": "' + "t" * (1 << 21) + "\n" + json.dumps(otlp()) + "\n")
    with pytest.raises(InputError):
        read_trace([str(path)])
    trace = read_trace([str(path)], skip_bad_rows=True)
    assert (trace.format, len(trace), len(trace.skipped)) == ("otel-genai", NUM + 1, 1)

"""The readers: what is taken and how, and for each wrong row its place, field and cause."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hitpath.core import ABSENT, InputError, Setting, SettingError
from hitpath.spine import analyze_trace
from hitpath.summary import Analysis
from hitpath.traces import Trace, read_trace
from support import shared_data

TOKENS: dict[str, Any] = {"id": "a", "arrival_s": 0, "tokens": list(range(40))}
KEYS: dict[str, Any] = {
    "id": "a",
    "arrival_s": 0,
    "block_keys": [1, 2],
    "block_size": 16,
    "prompt_tokens": 32,
}
MOONCAKE: dict[str, Any] = {
    "timestamp": 0,
    "input_length": 1000,
    "output_length": 5,
    "hash_ids": [1, 2],
}
REQUEST: dict[str, Any] = {"t": 0, "type": "n", "in": 128, "out": 3, "hash_ids": [1, 2]}
SESSION: dict[str, Any] = {"id": "s", "block_size": 64, "requests": [REQUEST]}
GOOD = {"hitpath": TOKENS, "block_keys": KEYS, "mooncake": MOONCAKE, "coding-agent": SESSION}
GONE = object()
ENDLESS = "9" * 5000  # more digits than Python turns into an int


class Literal:
    """JSON text that `json.dumps` would not write (1e400, NaN, duplicate keys)."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text[:12]


def to_json(value: Any) -> str:
    if isinstance(value, Literal):
        return value.text
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(k)}:{to_json(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(to_json, value)) + "]"
    return json.dumps(value)


def changed(row: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {k: v for k, v in {**row, **changes}.items() if v is not GONE}


def in_request(**changes: Any) -> dict[str, Any]:
    return {"requests": [changed(REQUEST, **changes)]}


def read(tmp_path: Path, content: str | bytes, **options: Any) -> Trace:
    path = tmp_path / "t.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_trace([str(path)], **options)


def read_rows(tmp_path: Path, *rows: dict[str, Any], **options: Any) -> Trace:
    return read(tmp_path, "".join(to_json(row) + "\n" for row in rows), **options)


def refusal(tmp_path: Path, content: str | bytes, **options: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        read(tmp_path, content, **options)
    return caught.value


def read_or_error(tmp_path: Path, *rows: dict[str, Any]) -> Trace | InputError:
    try:
        return read_rows(tmp_path, *rows)
    except InputError as error:
        return error


def check(error: InputError, place: str, field: str, cause: str) -> None:
    assert error.place.endswith(place)
    assert error.field == field
    assert cause in error.cause
    assert str(error).isprintable(), "one line, no control characters"
    assert len(error.cause) < 1000, "a cause must stay readable"


# (changes to a good hitpath row, field, cause)
BAD_HITPATH = [
    ({"id": GONE}, "id", "missing"),
    ({"id": 1.5}, "id", "float"),
    ({"id": None}, "id", "null"),
    ({"arrival_s": GONE}, "arrival_s", "missing"),
    ({"arrival_s": -1}, "arrival_s", "not a time"),
    ({"arrival_s": 1e13}, "arrival_s", "not a time"),
    ({"arrival_s": 2**64}, "arrival_s", "not a time"),
    ({"arrival_s": 10**400}, "arrival_s", "not a time"),
    ({"arrival_s": True}, "arrival_s", "bool"),
    ({"arrival_s": "0"}, "arrival_s", "str"),
    ({"arrival_s": Literal("1e400")}, "arrival_s", "out of range"),
    ({"arrival_s": Literal(ENDLESS)}, "arrival_s", "out of range"),
    ({"arrival_s": Literal("NaN")}, "", "malformed"),
    ({"arrival_s": Literal("Infinity")}, "", "malformed"),
    ({"tokens": GONE}, "", "needs exactly one of"),
    ({"prompt": "x"}, "", "has tokens and prompt"),
    ({"tokens": [1, -1]}, "tokens[1]", "-1 is not an integer"),
    ({"tokens": [1, 2**32]}, "tokens[1]", "2**32 - 1"),
    ({"tokens": [1, 2**64]}, "tokens[1]", "2**32 - 1"),
    ({"tokens": [1, 10**400]}, "tokens[1]", "2**32 - 1"),
    ({"tokens": [1, Literal(ENDLESS)]}, "tokens[1]", "out of range"),
    ({"tokens": [1, 1.0]}, "tokens[1]", "float"),
    ({"tokens": [1, True]}, "tokens[1]", "bool"),
    ({"tokens": [1, None]}, "tokens[1]", "null"),
    ({"tokens": "abc"}, "tokens", "str"),
    ({"prompt_tokens": 39}, "prompt_tokens", "39, but tokens hold 40"),
    ({"output_tokens": -1}, "output_tokens", "not a count"),
    ({"output_tokens": 2**40 + 1}, "output_tokens", "not a count"),
    ({"output_tokens": 1.0}, "output_tokens", "float"),
    ({"output_ids": [1], "output_tokens": 2}, "output_tokens", "2, but output_ids hold 1"),
    ({"output_ids": [-1]}, "output_ids[0]", "not an integer"),
    ({"output_block_keys": [1]}, "output_block_keys", "does not go with tokens"),
    ({"reply": "x"}, "reply", "does not go with tokens"),
    ({"tools": []}, "tools", "does not go with tokens"),
    ({"finish_s": -1}, "finish_s", "not a time"),
    ({"arrival_s": 5, "finish_s": 4}, "finish_s", "before the arrival"),
    ({"turn": 2**63}, "turn", ""),
    ({"turn": -(10**30)}, "turn", ""),
    ({"turn": -1}, "turn", ""),
    ({"turn": True}, "turn", "bool"),
    ({"session": 1.5}, "session", "float"),
    ({"worker": []}, "worker", "array"),
    ({"model": 5}, "model", "int"),
    ({"context": []}, "context", "array"),
    ({"tokens": GONE, "prompt": Literal('"\\udfff"')}, "", "half of a character"),
    ({"tokens": GONE, "messages": [1]}, "messages[0]", "int"),
    ({"tokens": GONE, "messages": "x"}, "messages", "str"),
    ({"tokens": GONE, "prompt": "x", "output_ids": [1]}, "output_ids", "does not go with prompt"),
    ({"reported": 5}, "reported", "int"),
    ({"reported": {"zz": 1}}, "reported", "zz"),
    ({"reported": {"cached_tokens": -1}}, "reported.cached_tokens", "not a count"),
    ({"reported": {"cached_tokens": 2**63}}, "reported.cached_tokens", "not a count"),
    ({"reported": {"cached_tokens": True}}, "reported.cached_tokens", "bool"),
    ({"reported": {"prompt_tokens": -1}}, "reported.prompt_tokens", "not a count"),
    ({"reported": {"cache_write_tokens": -1}}, "reported.cache_write_tokens", "not a count"),
    ({"reported": {"cached_by_tier": {"gpu": -5}}}, "reported.cached_by_tier.gpu", "not a count"),
    ({"reported": {"cached_by_tier": [5]}}, "reported.cached_by_tier", "array"),
    ({"reported": {"counting": "both"}}, "reported.counting", "neither inclusive nor exclusive"),
    ({"reported": {"counting": "x" * 100_000}}, "reported.counting", "neither inclusive"),
    ({"reported": {"queue_s": -5}}, "reported.queue_s", "not a time"),
    ({"reported": {"ttft_s": 1e300}}, "reported.ttft_s", "not a time"),
]
BAD_SEGMENTS = [
    ([["a", -1]], "segments[0][1]", "not a count"),
    ([["a", 2**63]], "segments[0][1]", "not a count"),
    ([["a", 2**27 + 1]], "segments", "more than"),
    ([["a", 2**26], ["b", 2**26 + 1]], "segments", "more than"),
    ([["a", 1, 2]], "segments[0]", "length 2"),
    ([["a", 1.0]], "segments[0][1]", "float"),
    ([["a", True]], "segments[0][1]", "bool"),
    (["a"], "segments[0]", "str"),
    ("a", "segments", "str"),
]
BAD_KEYS = [
    ({"block_keys": "ab"}, "block_keys", "str"),
    ({"block_keys": [1, -1]}, "block_keys[1]", "2**64 - 1"),
    ({"block_keys": [1, 2**64]}, "block_keys[1]", "2**64 - 1"),
    ({"block_keys": [1, 1.0]}, "block_keys[1]", "float"),
    ({"block_keys": [1, True]}, "block_keys[1]", "bool"),
    ({"block_keys": [1, None]}, "block_keys[1]", "null"),
    ({"block_keys": [1]}, "block_keys", "1 ids for 32 tokens in blocks of 16: not 2"),
    ({"block_keys": [1, 2, 3]}, "block_keys", "3 ids for 32 tokens"),
    ({"prompt_tokens": GONE}, "prompt_tokens", "missing"),
    ({"prompt_tokens": -1}, "prompt_tokens", "not a count"),
    ({"prompt_tokens": 2**63}, "prompt_tokens", "not a count"),
    ({"prompt_tokens": 0}, "block_keys", "2 ids for 0 tokens"),
    ({"block_size": GONE}, "block_size", "missing"),
    ({"block_size": 0}, "block_size", "0"),
    ({"block_size": -1}, "block_size", "-1"),
    ({"block_size": 2**63, "block_keys": [1]}, "block_size", ""),
    ({"block_size": 10**400, "block_keys": []}, "block_size", ""),
    ({"block_size": True}, "block_size", "bool"),
    ({"output_block_keys": [3]}, "output_tokens", "missing"),
    ({"output_block_keys": [3], "output_tokens": 100}, "output_block_keys", "3 ids for 132"),
    ({"output_block_keys": ["x", 2.5], "output_tokens": 32}, "output_block_keys[1]", "float"),
]
BAD_MOONCAKE = [
    ({"timestamp": GONE}, "timestamp", "missing"),
    ({"timestamp": -1}, "timestamp", "not a time"),
    ({"timestamp": 1e308}, "timestamp", "not a time"),
    ({"timestamp": 10**400}, "timestamp", ""),
    ({"timestamp": Literal("1e400")}, "timestamp", "out of range"),
    ({"timestamp": True}, "timestamp", "bool"),
    ({"input_length": -1}, "input_length", "not a count"),
    ({"input_length": 2**63}, "input_length", "not a count"),
    ({"input_length": 1000.0}, "input_length", "float"),
    ({"input_length": 0}, "hash_ids", "2 ids for 0 tokens"),
    ({"input_length": 5000}, "hash_ids", "2 ids for 5000 tokens", 512),
    ({"output_length": -1}, "output_length", "not a count"),
    ({"output_length": 10**400}, "output_length", "not a count"),
    ({"hash_ids": None}, "hash_ids", "null"),
    ({"hash_ids": {}}, "hash_ids", "object"),
    ({"hash_ids": "x"}, "hash_ids", "str"),
    ({"hash_ids": [-1, 2]}, "hash_ids[0]", "-1 is not an integer"),
    ({"hash_ids": [1, 2**64]}, "hash_ids[1]", "2**64 - 1"),
    ({"hash_ids": [1, 10**400]}, "hash_ids[1]", "2**64 - 1"),
    ({"hash_ids": [1, 2.0]}, "hash_ids[1]", "expected `int`"),
    ({"hash_ids": [1, None]}, "hash_ids[1]", "expected `int`"),
    ({"hash_ids": [[1], 2]}, "hash_ids[0]", "expected `int`"),
    ({"hash_ids": [1, True]}, "hash_ids[1]", "expected `int`"),
    ({"hash_ids": [1, "x" * 10**6]}, "hash_ids[1]", "expected `int`"),
    ({"hash_ids": Literal("[01,2]")}, "", "malformed"),
    ({"hash_ids": Literal("[1 2]")}, "", "malformed"),
    ({"hash_ids": Literal("[1,,2]")}, "", "malformed"),
    ({"hash_ids": Literal("[1,2,]")}, "", "malformed"),
    ({"hash_ids": Literal("[1,2")}, "", ""),
    ({"block_size": 0}, "block_size", "0"),
    ({"block_size": 16}, "hash_ids", "2 ids for 1000 tokens in blocks of 16"),
    ({"block_size": 2**63, "hash_ids": [1]}, "block_size", ""),
]
BAD_SESSION = [
    ({"requests": GONE}, "", "not recognised"),
    ({"requests": "x"}, "requests", "str"),
    ({"requests": {}}, "requests", "object"),
    ({"requests": None}, "requests", "null"),
    ({"requests": [1]}, "requests[0]", "int"),
    ({"requests": []}, "", "no request"),
    ({"requests": [{"t": 0, "requests": []}]}, "", "no request"),
    ({"requests": [{"t": 0, "requests": "x"}]}, "requests[0].requests", "str"),
    ({"requests": [REQUEST, {"t": 0, "type": "subagent"}]}, "requests[1].in", "missing"),
    ({"block_size": 0}, "block_size", "0"),
    ({"block_size": -1}, "block_size", "-1"),
    ({"block_size": "64"}, "block_size", "str"),
    ({"block_size": 2**63, "requests": [{"t": 0, "in": 5, "hash_ids": []}]}, "block_size", ""),
    ({"id": 5}, "id", "int"),
    (in_request(t=GONE), "requests[0].t", "missing"),
    (in_request(t=-1), "requests[0].t", "not a time"),
    (in_request(t=True), "requests[0].t", "bool"),
    (in_request(t=10**400), "requests[0].t", ""),
    (in_request(**{"in": -1}), "requests[0].in", "not a count"),
    (in_request(**{"in": 1.5}), "requests[0].in", "float"),
    (in_request(**{"in": GONE}), "requests[0].in", "missing"),
    (in_request(out=-1), "requests[0].out", "not a count"),
    (in_request(api_time=-1), "requests[0].api_time", "not a time"),
    (in_request(api_time=10**400), "requests[0].api_time", "not a time"),
    (in_request(hash_ids=GONE), "requests[0].hash_ids", "missing"),
    (in_request(hash_ids=[1]), "requests[0].hash_ids", "1 ids for 128 tokens"),
    (in_request(hash_ids=[1, -2]), "requests[0].hash_ids[1]", "not an integer"),
    (in_request(hash_ids=[1, 2**64]), "requests[0].hash_ids[1]", "not an integer"),
    (in_request(hash_ids=["a", "b"]), "requests[0].hash_ids[0]", "str"),
    (in_request(model=5), "requests[0].model", "int"),
    (
        {"requests": [{"t": -5, "requests": [changed(REQUEST, t=4)]}]},
        "requests[0].t",
        "not a time",
    ),
]


@pytest.mark.parametrize(("changes", "field", "cause"), BAD_HITPATH)
def test_a_bad_hitpath_row_is_refused_as_the_first(tmp_path, changes, field, cause):
    error = refusal(tmp_path, to_json(changed(TOKENS, **changes)) + "\n")
    check(error, "t.jsonl:1", field, cause)


@pytest.mark.parametrize(("changes", "field", "cause"), BAD_HITPATH)
def test_a_bad_hitpath_row_is_skipped_as_the_third(tmp_path, changes, field, cause):
    rows = [changed(TOKENS, id="first"), changed(TOKENS, **changes), changed(TOKENS, id="last")]
    if "tokens" in changes and changes["tokens"] is GONE and not cause.startswith("needs"):
        for name in ("prompt", "messages"):
            if name in changes:
                rows[0] = rows[2] = {"id": "x", "arrival_s": 0, "prompt": "x"}
        rows[2] = {**rows[2], "id": "last"}
    content = "\n\n".join(map(to_json, rows))
    check(refusal(tmp_path, content), "t.jsonl:3", field, cause)
    trace = read(tmp_path, content, skip_bad_rows=True)
    assert len(trace) == 2
    (problem,) = trace.skipped
    assert problem.place.endswith("t.jsonl:3")
    assert problem.field == field


@pytest.mark.parametrize(("segments", "field", "cause"), BAD_SEGMENTS)
def test_bad_segments_are_refused(tmp_path, segments, field, cause):
    row = changed(TOKENS, tokens=GONE, segments=segments)
    check(refusal(tmp_path, to_json(row)), "t.jsonl:1", field, cause)


@pytest.mark.parametrize(("changes", "field", "cause"), BAD_KEYS)
def test_bad_block_keys_are_refused(tmp_path, changes, field, cause):
    content = to_json(changed(KEYS, id="first")) + "\n" + to_json(changed(KEYS, **changes))
    if "block_size" not in changes:
        check(refusal(tmp_path, content), "t.jsonl:2", field, cause)
    check(refusal(tmp_path, to_json(changed(KEYS, **changes))), "t.jsonl:1", field, cause)


@pytest.mark.parametrize("case", BAD_MOONCAKE)
def test_a_bad_mooncake_row_is_refused(tmp_path, case):
    changes, field, cause, *_ = case
    row = to_json(changed(MOONCAKE, **changes))
    content = row if "block_size" in changes else to_json(MOONCAKE) + "\n" + row
    place = "t.jsonl:1" if "block_size" in changes else "t.jsonl:2"
    check(refusal(tmp_path, content), place, field, cause)


@pytest.mark.parametrize(("changes", "field", "cause"), BAD_SESSION)
@pytest.mark.parametrize("indent", [None, 2])
def test_a_bad_session_is_refused(tmp_path, changes, field, cause, indent):
    text = json.dumps(changed(SESSION, **changes), indent=indent)
    error = refusal(tmp_path, text)
    assert "t.jsonl" in error.place
    check(error, error.place, field, cause)


# (whole content, place, field, cause)
BAD_CONTENT = [
    (b"", "t.jsonl", "", "no requests"),
    (b"\n\n  \r\n\t\n", "t.jsonl", "", "no requests"),
    (b"\0" * 10, "t.jsonl:1", "", "not a format that hitpath knows"),
    (b'{"id":"a"}\0', "t.jsonl:1", "", "malformed"),
    (b"\xff\xfe" + "{}".encode("utf-16-le"), "t.jsonl", "", "is UTF-16, as PowerShell"),
    (b'{"id":"\xff","arrival_s":0,"tokens":[1]}', "t.jsonl:1", "", "UTF-8"),
    (b"{}", "t.jsonl:1", "", "not recognised"),
    (b'{"a":1}', "t.jsonl:1", "", "fields: a"),
    (b'{"a\\nb\\u001b[31m":1}', "t.jsonl:1", "", "not recognised"),
    (b"1", "t.jsonl:1", "", "not recognised"),
    (b"null", "t.jsonl:1", "", "not recognised"),
    (b"[1]", "t.jsonl:1", "", "not recognised"),
    (b'[{"id":"a","arrival_s":0,"tokens":[1]}]', "t.jsonl:1", "", "not recognised"),
    (b"[" * 100_000, "t.jsonl:1", "", "deep"),
    (b'{"a":' * 100_000, "t.jsonl:1", "", "deep"),
    (
        b'{"id":"a","arrival_s":0,"messages":[],"tools":' + b"[" * 9999 + b"]" * 9999 + b"}",
        "t.jsonl:1",
        "",
        "deep",
    ),
    (b"x" * 1_000_000, "t.jsonl:1", "", "not a format that hitpath knows"),
    (
        b'127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 2326',
        "t.jsonl:1",
        "",
        "no JSON lines, no table, no log with requests or statistics",
    ),
    (b"<!DOCTYPE html>\n<html>", "t.jsonl:1", "", "not a format that hitpath knows"),
    (b"\x7fELF\2\1\n[1", "t.jsonl:1", "", "not a format that hitpath knows"),
    (b"[2026-01-01 10:00:00] up", "t.jsonl:1", "", "malformed"),
    (b"{\n", "t.jsonl:1", "", ""),
    (b"[\n", "t.jsonl:1", "", ""),
    (b"{\n}\n", "t.jsonl", "", ""),
    (to_json(TOKENS).encode()[:30], "t.jsonl:1", "", "truncated"),
    (to_json(TOKENS).encode() + b"\n" + to_json(TOKENS).encode()[:30], "t.jsonl:2", "", "trunc"),
    (to_json(TOKENS).encode() + b"\r\n\r\n5", "t.jsonl:3", "", "object"),
    (json.dumps(SESSION).encode() + b"\njunk", "t.jsonl", "", "malformed"),
    (json.dumps(SESSION, indent=1).encode()[:-20], "t.jsonl", "", "truncated"),
]


@pytest.mark.parametrize(
    ("content", "place", "field", "cause"), BAD_CONTENT, ids=lambda v: repr(v)[:24]
)
def test_content_that_is_no_trace_is_refused(tmp_path, content, place, field, cause):
    error = refusal(tmp_path, content)
    if place == "t.jsonl":
        place = error.place[error.place.index("t.jsonl") :]
    check(error, place, field, cause)


def test_a_byte_order_mark_is_read_over_or_named(tmp_path):
    content = b"\xef\xbb\xbf" + to_json(TOKENS).encode()
    try:
        cause = f"{len(read(tmp_path, content))} row"
    except InputError as error:
        cause = error.cause
    assert "1 row" in cause or "byte order mark" in cause or "BOM" in cause


@pytest.mark.parametrize(
    ("first", "second", "place", "cause"),
    [
        (TOKENS, MOONCAKE, "t.jsonl:2", "missing"),
        (MOONCAKE, TOKENS, "t.jsonl:2", "missing"),
        (TOKENS, SESSION, "t.jsonl:2", "missing"),
        (TOKENS, {"id": "b", "arrival_s": 0, "prompt": "x"}, "t.jsonl:2", "has tokens"),
        (TOKENS, {"id": "b", "arrival_s": 0, "segments": [["a", 3]]}, "t.jsonl:2", "has tokens"),
        (TOKENS, changed(KEYS, id="b"), "t.jsonl:2", "has tokens"),
        (KEYS, changed(KEYS, id="b", block_size=32, block_keys=[1]), "t.jsonl:2", "16 before"),
        (
            changed(MOONCAKE, block_size=512),
            changed(MOONCAKE, block_size=500),
            "t.jsonl:2",
            "512 before",
        ),
        (MOONCAKE, changed(MOONCAKE, input_length=10_000, hash_ids=[1]), "t.jsonl:2", "1 ids"),
        (TOKENS, TOKENS, "t.jsonl:2", "'a' stands at"),
        (changed(TOKENS, id=1), changed(TOKENS, id="1"), "t.jsonl:2", "stands at"),
        (changed(TOKENS, id="a\nb\x1b"), changed(TOKENS, id="a\nb\x1b"), "t.jsonl:2", "stands at"),
        (changed(TOKENS, id=""), changed(TOKENS, id=""), "t.jsonl:2", "stands at"),
    ],
)
def test_rows_that_contradict_each_other_are_refused(tmp_path, first, second, place, cause):
    error = refusal(tmp_path, to_json(first) + "\n" + to_json(second))
    check(error, place, error.field, cause)


def test_a_name_with_line_ends_stays_on_one_line(tmp_path):
    row = changed(TOKENS, reported={"cached_by_tier": {"a\nb\x1b[2J": -1}})
    assert str(refusal(tmp_path, to_json(row))).isprintable()


def test_bad_rows_are_counted_and_listed_with_their_places(tmp_path):
    lines = [
        to_json(TOKENS),
        to_json(changed(TOKENS, id="b", arrival_s=-1)),
        "",
        "junk",
        to_json(TOKENS),
        "[]",
        to_json(MOONCAKE),
        to_json(changed(TOKENS, id="z")),
    ]
    trace = read(tmp_path, "\n".join(lines), skip_bad_rows=True)
    assert trace.ids == ("a", "z")
    listed = [(p.place.rsplit(":", 1)[1], p.field) for p in trace.skipped]
    assert listed == [("2", "arrival_s"), ("4", ""), ("5", "id"), ("6", ""), ("7", "id")]


def test_a_bad_first_row_is_skipped_as_any_other(tmp_path):
    trace = read(tmp_path, "junk\n" + to_json(TOKENS), skip_bad_rows=True)
    assert trace.ids == ("a",)
    assert [p.place.rsplit(":", 1)[1] for p in trace.skipped] == ["1"]


def test_mooncake_rows_with_wrong_id_counts_are_skipped(tmp_path):
    bad = changed(MOONCAKE, input_length=10_000, hash_ids=[1])
    trace = read_rows(tmp_path, MOONCAKE, bad, MOONCAKE, skip_bad_rows=True)
    assert len(trace) == 2
    assert [(p.place.rsplit(":", 1)[1], p.field) for p in trace.skipped] == [("2", "hash_ids")]


def test_bad_requests_of_a_session_are_skipped(tmp_path):
    requests = [REQUEST, changed(REQUEST, t=-1), changed(REQUEST, hash_ids=[1]), REQUEST]
    trace = read_rows(tmp_path, changed(SESSION, requests=requests), skip_bad_rows=True)
    assert len(trace) == 2
    assert [p.field for p in trace.skipped] == ["requests[1].t", "requests[2].hash_ids"]


# What is taken, and as what.


def analysed(trace: Trace, **setting: Any) -> Analysis:
    analysis = analyze_trace(trace, Setting(**setting))
    analysis.ledger.check()
    return analysis


def hit_tokens(trace: Trace, **setting: Any) -> int:
    ledger = analysed(trace, **setting).ledger
    return ledger.total(ledger.hit)


def test_the_three_formats_are_found_out_by_content(tmp_path):
    assert read_rows(tmp_path, TOKENS).format == "hitpath"
    assert read_rows(tmp_path, MOONCAKE).format == "mooncake"
    assert read_rows(tmp_path, SESSION).format == "coding-agent"
    assert read(tmp_path, json.dumps(SESSION, indent=2)).format == "coding-agent"


@pytest.mark.parametrize(
    ("row", "identity"),
    [
        (TOKENS, "tokens"),
        (KEYS, "chained"),
        (changed(TOKENS, tokens=GONE, prompt="x"), "text"),
        (changed(TOKENS, tokens=GONE, messages=[{"role": "user", "content": "x"}]), "text"),
        (changed(TOKENS, tokens=GONE, segments=[["a", 3]]), "tokens"),
        (MOONCAKE, "chained"),
        (SESSION, "chained"),
    ],
)
def test_identity_follows_from_what_the_prompt_is(tmp_path, row, identity):
    assert read_rows(tmp_path, row).identity == identity


def test_rows_are_taken_in_order_of_arrival_then_of_the_file(tmp_path):
    rows = [changed(TOKENS, id=i, arrival_s=t) for i, t in enumerate([5, 1, 5, 0, 1])]
    trace = read_rows(tmp_path, *rows)
    assert trace.ids == ("3", "1", "4", "0", "2")
    assert any("order of arrival" in note for note in trace.notes)


def test_crlf_blank_lines_and_a_missing_last_line_end(tmp_path):
    rows = [to_json(changed(TOKENS, id=i)) for i in range(3)]
    assert read(tmp_path, "\r\n\r\n \n".join(rows)).ids == ("0", "1", "2")


def test_fields_that_are_not_known_are_noted_with_their_count(tmp_path):
    trace = read_rows(tmp_path, TOKENS, changed(TOKENS, id="b", mood=1), changed(TOKENS, id="c"))
    assert any("'mood'" in note and "1 rows" in note for note in trace.notes)


def test_equal_segments_are_equal_tokens_wherever_they_stand(tmp_path):
    rows = [
        {"id": 0, "arrival_s": 0, "segments": [["sys", 64], ["a", 16]]},
        {"id": 1, "arrival_s": 1, "segments": [["sys", 64], ["b", 16]]},
        {"id": 2, "arrival_s": 2, "segments": [["a", 16], ["sys", 64]]},
        {"id": 3, "arrival_s": 3, "segments": [["sys", 32]]},
    ]
    trace = read_rows(tmp_path, *rows)
    assert hit_tokens(trace) == 64 + 0 + 32
    first, _, third, _ = np.split(trace.prompts.flat, trace.prompts.offsets[1:-1])
    assert np.array_equal(np.sort(first), np.sort(third))


def test_a_reply_segment_is_the_beginning_of_the_next_turn(tmp_path):
    rows = [
        {"id": 0, "arrival_s": 0, "segments": [["u", 16]], "reply": "r", "output_tokens": 16},
        {"id": 1, "arrival_s": 1, "segments": [["u", 16], ["r", 16]]},
    ]
    assert hit_tokens(read_rows(tmp_path, *rows)) == 16
    assert hit_tokens(read_rows(tmp_path, *rows), outputs="insert") == 32


def test_string_keys_never_meet_integer_keys(tmp_path):
    rows = [
        changed(KEYS, block_keys=["a", "b"]),
        changed(KEYS, id="b", arrival_s=1, block_keys=[2**64 - 1, 2**64 - 2]),
        changed(KEYS, id="c", arrival_s=2, block_keys=["a", "b"]),
    ]
    told = read_or_error(tmp_path, *rows)
    if isinstance(told, InputError):
        assert told.field.startswith("block_keys")
    else:
        assert hit_tokens(told) == 32


@pytest.mark.parametrize("ids", [([1, 9], [2, 9]), ([1, 2], [2, 1]), ([5, 1], [1, 5])])
@pytest.mark.parametrize("setting", [{}, {"engine": "lru", "capacity_tokens": 4096}])
def test_the_same_id_behind_another_parent_is_no_hit(tmp_path, ids, setting):
    rows = [changed(MOONCAKE, hash_ids=i, timestamp=t) for t, i in enumerate(ids)]
    told = read_or_error(tmp_path, *rows)
    if isinstance(told, InputError):
        assert told.field == "hash_ids"
    else:
        assert hit_tokens(told, **setting) == 0


def test_coarser_blocks_never_join_ids_that_are_not_chained(tmp_path):
    rows = [changed(MOONCAKE, hash_ids=[t, 9], timestamp=t) for t in range(2)]
    trace = read_rows(tmp_path, *rows)
    with pytest.raises(SettingError, match="--block-size 1024"):
        analysed(trace, block_size=1024)


def test_an_id_cannot_hold_more_tokens_than_were_computed(tmp_path):
    """The same id for 88 tokens and then for 512: at most 600 tokens exist to be hit."""
    rows = [changed(MOONCAKE, input_length=n, timestamp=n) for n in (600, 1024)]
    told = read_or_error(tmp_path, *rows)
    if isinstance(told, InputError):
        assert told.field == "hash_ids"
    else:
        assert hit_tokens(told) <= 600


def test_ids_are_local_to_a_session_file_unless_it_says_global(tmp_path):
    paths = []
    for name in ("a", "b"):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(changed(SESSION, id=name)))
        paths.append(str(path))
    assert hit_tokens(read_trace(paths)) == 0
    for name in ("a", "b"):
        text = json.dumps(changed(SESSION, id=name, hash_id_scope="global"))
        (tmp_path / f"{name}.json").write_text(text)
    assert hit_tokens(read_trace(paths)) == 128


def test_an_unknown_scope_of_ids_is_refused_or_noted(tmp_path):
    row = changed(SESSION, hash_id_scope="galaxy")
    told = read_or_error(tmp_path, row)
    if isinstance(told, InputError):
        assert told.field == "hash_id_scope"
    else:
        assert any("hash_id_scope" in note for note in told.notes)


def test_sub_agents_nest_and_add_up_their_clocks(tmp_path):
    inner = {"t": 2, "type": "subagent", "requests": [changed(REQUEST, t=0.5)]}
    middle = {"t": 5, "type": "subagent", "requests": [REQUEST, inner]}
    trace = read_rows(tmp_path, changed(SESSION, requests=[REQUEST, middle, REQUEST]))
    assert trace.arrival_s.tolist() == [0, 5, 7.5, 0]
    assert len(set(trace.ids)) == 4
    assert trace.own_clocks


def test_a_request_that_holds_requests_loses_none_of_them(tmp_path):
    """An entry with ids of its own and a nested request is two requests."""
    both = changed(REQUEST, requests=[REQUEST])
    trace = read_rows(tmp_path, changed(SESSION, requests=[both]))
    assert trace.prompt_tokens.tolist() == [REQUEST["in"]] * 2
    assert [trace.session.of(row) for row in range(2)] == [SESSION["id"], f"{SESSION['id']}/0"]


@pytest.mark.parametrize(("depth", "too_deep"), [(50, False), (5000, True)])
def test_very_deep_sub_agents_are_read_or_refused(tmp_path, depth, too_deep):
    inner = '[{"t":0,"requests":' * depth + f"[{json.dumps(REQUEST)}]" + "}]" * depth
    text = json.dumps(changed(SESSION, requests=0)).replace('"requests": 0', f'"requests":{inner}')
    if too_deep:
        assert "deep" in refusal(tmp_path, text).cause
    else:
        assert len(read(tmp_path, text)) == 1


def test_no_model_is_not_another_model(tmp_path):
    trace = read_rows(tmp_path, changed(SESSION, requests=[REQUEST] * 3))
    assert not any("another model" in note for note in analysed(trace).warnings)
    models = [changed(REQUEST, model=m) for m in ("a", "b", "b", "b")]
    trace = read_rows(tmp_path, changed(SESSION, requests=models))
    assert any(n.startswith("128 hit tokens") for n in analysed(trace).warnings)
    assert hit_tokens(trace, split_models=True) == 256


def test_two_sessions_of_one_name_are_an_error_with_both_places(tmp_path):
    paths = []
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text(json.dumps(SESSION))
        paths.append(str(tmp_path / f"{name}.json"))
    with pytest.raises(InputError, match=r"b\.json: id: .*a\.json"):
        read_trace(paths)


def test_sessions_of_different_block_sizes_are_refused(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(SESSION))
    (tmp_path / "b.json").write_text(json.dumps(changed(SESSION, id="t", block_size=32)))
    with pytest.raises(InputError, match=r"b\.json: block_size: 32, but 64 before"):
        read_trace([str(tmp_path / "a.json"), str(tmp_path / "b.json")])


@pytest.mark.parametrize(
    ("lengths_ids", "size"),
    [
        ([(1000, 2)], 512),
        ([(512, 1), (513, 2)], 512),
        ([(5, 3)], 2),
        ([(100, 7)], 16),
        ([(0, 0)], 512),
        ([(600, 2), (601, 2), (1200, 3), (1199, 3)], 512),
    ],
)
def test_the_block_size_of_mooncake_rows_is_what_they_prove(tmp_path, lengths_ids, size):
    rows = [
        changed(MOONCAKE, input_length=n, hash_ids=list(range(k)), timestamp=i)
        for i, (n, k) in enumerate(lengths_ids)
    ]
    assert read_rows(tmp_path, *rows).block_size == size


def test_a_block_size_that_rows_leave_open_is_asked_for(tmp_path):
    with pytest.raises(SettingError, match=r"--block-size: .* from 700 to .*give one"):
        read_rows(tmp_path, changed(MOONCAKE, input_length=700, hash_ids=[1]))


@pytest.mark.parametrize("asked", [500, 512, 700])
def test_block_size_settles_what_mooncake_rows_leave_open(tmp_path, asked):
    assert read_rows(tmp_path, MOONCAKE, block_size=asked).block_size == asked


def test_a_finer_block_than_the_ids_own_is_refused_with_the_reason(tmp_path):
    trace = read_rows(tmp_path, MOONCAKE)
    with pytest.raises(SettingError, match="multiples of 512"):
        analysed(trace, block_size=16)


# Reported counts: absent is not zero, and rows that contradict themselves leave all sums.


@pytest.mark.parametrize(
    ("reported", "field"),
    [
        ({"cached_tokens": 41}, "reported.cached_tokens"),
        ({"cached_by_tier": {"gpu": 30, "host": 30}}, "reported.cached_tokens"),
        ({"cached_tokens": 11, "cached_by_tier": {"gpu": 5}}, "reported.cached_by_tier"),
        ({"cached_tokens": 0, "cached_by_tier": {"gpu": 5}}, "reported.cached_by_tier"),
        ({"prompt_tokens": 39, "counting": "inclusive"}, "reported.prompt_tokens"),
        (
            {"prompt_tokens": 40, "counting": "exclusive", "cached_tokens": 16},
            "reported.prompt_tokens",
        ),
        ({"prompt_tokens": 4000, "counting": "exclusive"}, "reported.prompt_tokens"),
    ],
)
def test_a_row_that_contradicts_itself_leaves_all_sums_but_warms_the_cache(
    tmp_path, reported, field
):
    trace = read_rows(
        tmp_path, changed(TOKENS, reported=reported), changed(TOKENS, id="b", arrival_s=1)
    )
    assert [p.field for p in trace.excluded.values()] == [field]
    ledger = analysed(trace).ledger
    assert ledger.total(ledger.prompt) == 40
    assert ledger.total(ledger.hit) == 32


@pytest.mark.parametrize(
    ("reported", "hit"),
    [
        (None, ABSENT),
        ({}, ABSENT),
        ({"cached_by_tier": {}}, ABSENT),
        ({"cached_by_tier": None, "cached_tokens": None}, ABSENT),
        ({"cached_tokens": 0}, 0),
        ({"cached_by_tier": {"gpu": 0}}, 0),
        ({"cached_by_tier": {"gpu": 5, "host": 7}}, 12),
        ({"cached_tokens": 12, "cached_by_tier": {"gpu": 5, "host": 7}}, 12),
        ({"cached_tokens": 16, "prompt_tokens": 40, "counting": "inclusive"}, 16),
        ({"cached_tokens": 16, "prompt_tokens": 24, "counting": "exclusive"}, 16),
        (
            {
                "cached_tokens": 16,
                "prompt_tokens": 4,
                "cache_write_tokens": 20,
                "counting": "exclusive",
            },
            16,
        ),
        ({"cached_tokens": 40}, 40),
    ],
)
def test_reported_counts_are_taken_as_told(tmp_path, reported, hit):
    trace = read_rows(tmp_path, changed(TOKENS, reported=reported))
    assert trace.reported_hit.tolist() == [hit]
    assert not trace.excluded
    analysed(trace)


def test_a_prompt_count_without_its_counting_is_noted_not_compared(tmp_path):
    trace = read_rows(tmp_path, changed(TOKENS, reported={"prompt_tokens": 10}))
    assert not trace.excluded
    assert any("counting" in note for note in trace.notes)


@pytest.mark.parametrize(
    "rows",
    [
        [changed(TOKENS, id=i, tokens=[]) for i in range(4)],
        [changed(TOKENS, id=i, tokens=[1, 2]) for i in range(4)],
        [changed(TOKENS)],
        [changed(TOKENS, id=i, reported={"cached_tokens": 99}) for i in range(3)],
        [changed(TOKENS, tokens=GONE, prompt="")],
        [changed(TOKENS, tokens=GONE, messages=[])],
        [changed(TOKENS, tokens=GONE, messages=[{}, {"role": 5, "content": [7, {"x": None}]}])],
        [changed(TOKENS, tokens=GONE, segments=[])],
        [changed(MOONCAKE, input_length=0, hash_ids=[])],
        [changed(MOONCAKE, input_length=5, hash_ids=[])],
        [changed(MOONCAKE, input_length=2**40, hash_ids=[1], block_size=2**40)] * 3,
        [changed(TOKENS, id=i, worker=w) for i, w in enumerate(["a", None, "b"])],
        [SESSION],
    ],
)
@pytest.mark.parametrize(
    "setting",
    [
        {},
        {"last_token": True, "outputs": "insert"},
        {"engine": "lru", "capacity_tokens": 2**40},
        {"engine": "lru", "capacity_tokens": None},
    ],
)
def test_corner_traces_keep_the_ledgers_sum(tmp_path, rows, setting):
    trace = read_rows(tmp_path, *rows)
    if "capacity_tokens" in setting and setting["capacity_tokens"] is None:  # just one block
        setting = {**setting, "capacity_tokens": trace.block_size or 16}
    analysed(trace, **setting)


@pytest.mark.parametrize(
    "name",
    [
        "mooncake/conversation_trace.jsonl",
        "coding_agent_sessions",
    ],
)
def test_real_files_are_read_whole(name):
    trace = read_trace([str(shared_data(name))])
    assert len(trace) == {"mooncake/conversation_trace.jsonl": 12_031}.get(name, 829)
    assert not trace.skipped
    assert not trace.excluded

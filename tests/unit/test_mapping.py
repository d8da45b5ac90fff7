"""`--map`: any columns as our fields. The reference is the same trace as hitpath JSONL, which
other tests check by themselves. All rows are written by hand."""

import csv
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli import call, is_one_line
from hitpath.core import InputError, SettingError
from hitpath.traces import Trace, read_trace
from hitpath.traces.hitpath_jsonl import HitpathRow, Reported
from hitpath.traces.mapping import converter_of
from support import write_jsonl

REPORTED: dict[str, Any] = {
    "prompt_tokens": 8,
    "counting": "inclusive",
    "cached_tokens": 4,
    "cached_by_tier": {"device": 3, "host": 1},
    "cache_write_tokens": 2,
    "ttft_s": 0.25,
    "cost": 0.5,
    "currency": "USD",
}
LABELS: dict[str, Any] = {
    "session": "s",
    "turn": 1,
    "tenant": "t",
    "model": "m",
    "worker": "w",
    "finish_s": 9.5,
    "context": {"salt": "x", "adapter": None, "lora.rank": 8},
}
KINDS: dict[str, dict[str, Any]] = {
    "tokens": {"tokens": [1, 2, 3, 4, 5, 6, 7, 8], "output_ids": [9], "output_tokens": 1},
    "block_keys": {"block_keys": [5, 6], "block_size": 4, "prompt_tokens": 8, "reported": REPORTED},
    "key strings": {
        "block_keys": ["0a", "12", "0012"],
        "block_size": 4,
        "prompt_tokens": 11,
        "output_block_keys": ["z"],
        "output_tokens": 1,
    },
    "prompt": {"prompt": 'hello\n\nthere, "you"', "reply": "yes"},
    "messages": {
        "messages": [{"role": "user", "content": "hi"}, {"role": "tool", "tool_call_id": "c"}],
        "tools": [{"name": "f"}],
        "reply": "y",
    },
    "segments": {"segments": [["sys", 20], ["user", 3]], "reply": "r", "output_tokens": 9},
    "lengths": {"prompt_tokens": 8, "output_tokens": 3, "reported": REPORTED},
}


def rows_of_kind(kind: str) -> list[dict[str, Any]]:
    some = {name: LABELS[name] for name in ("session", "model")}
    prompt = KINDS[kind]
    return [
        {"id": "a", "arrival_s": 0.5, **prompt, **LABELS},
        {"id": "b", "arrival_s": 1, **prompt, **some},
        {"id": "c", "arrival_s": 2, **{k: v for k, v in prompt.items() if k != "reported"}},
    ]


def cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list | dict) else value


def words(value: Any) -> Any:
    """Lists of numbers and names as other tools write them in CSV."""
    if isinstance(value, list) and all(isinstance(item, int | str) for item in value):
        return " ".join(map(str, value))
    return cell(value)


def spread(row: dict[str, Any]) -> dict[str, Any]:
    """A row whose contexts and reports are columns of their own, under strange names."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if name in ("context", "reported"):
            flat.update({f"{name}.{inner}": v for inner, v in value.items()})
        else:
            flat[name] = value
    tiers = flat.pop("reported.cached_by_tier", {})
    flat.update({f"reported.cached_by_tier.{tier}": count for tier, count in tiers.items()})
    return flat


def strange(name: str) -> str:
    return f"The {name}!"


def mapping_of(rows: list[dict[str, Any]]) -> list[str]:
    names = dict.fromkeys(name for row in rows for name in row)
    return [f"{name}={strange(name)}" for name in names]


def write_csv(path: Path, rows: list[dict[str, Any]], as_cell: Any = cell) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows([{name: as_cell(value) for name, value in row.items()} for row in rows])
    return str(path)


def write_parquet(path: Path, rows: list[dict[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    rows = [
        {k: json.dumps(v) if "segments" in k else v for k, v in row.items()} for row in rows
    ]  # arrays of two types are no Arrow type
    pq.write_table(pa.table({name: [row.get(name) for row in rows] for name in names}), path)
    return str(path)


def same(one: Trace, other: Trace) -> None:
    for name in ("ids", "identity", "block_size", "contexts", "excluded", "has_times"):
        assert getattr(one, name) == getattr(other, name), name
    for name in ("session", "tenant", "model", "worker"):
        assert getattr(one, name).names == getattr(other, name).names
    columns = [
        *("arrival_s", "finish_s", "prompt_tokens", "output_tokens", "has_output", "context"),
        *("turn", "reported_hit", "reported_written", "ttft_s"),
    ]
    for name in columns:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    for runs, others in ((one.prompts, other.prompts), (one.outputs, other.outputs)):
        np.testing.assert_array_equal(runs.flat, others.flat)
        np.testing.assert_array_equal(runs.offsets, others.offsets)
    assert one.reported_tiers.keys() == other.reported_tiers.keys()
    for tier, counts in one.reported_tiers.items():
        np.testing.assert_array_equal(counts, other.reported_tiers[tier])


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_row_reads_the_same_from_every_kind_of_file(tmp_path, kind):
    rows = rows_of_kind(kind)
    expected = read_trace([str(write_jsonl(tmp_path / "t.jsonl", rows))])
    flat = [{strange(name): value for name, value in spread(row).items()} for row in rows]
    mapping = mapping_of([spread(row) for row in rows])
    files = [
        write_csv(tmp_path / "json.csv", flat),
        write_csv(tmp_path / "words.csv", flat, words if kind != "block_keys" else cell),
        write_parquet(tmp_path / "t.parquet", flat),
        str(write_jsonl(tmp_path / "flat.jsonl", flat)),
    ]
    for path in files:
        same(read_trace([path], mapping=mapping), expected)
    same(read_trace([write_csv(tmp_path / "own.csv", rows)]), expected)
    same(read_trace([write_csv(tmp_path / "own flat.csv", [spread(r) for r in rows])]), expected)
    same(read_trace([write_parquet(tmp_path / "own.parquet", rows)]), expected)
    whole = mapping_of(rows)
    nested = [{strange(name): value for name, value in row.items()} for row in rows]
    same(read_trace([write_csv(tmp_path / "nested.csv", nested)], mapping=whole), expected)


def test_every_field_of_ours_can_be_mapped():
    for name in HitpathRow.__struct_fields__:
        assert converter_of(name) is not None, name
    for name in Reported.__struct_fields__:
        assert converter_of(f"reported.{name}") is not None, name
    for name in ("context.salt", "context.a.b", "reported.cached_by_tier.gpu.0"):
        assert converter_of(name) is not None, name
    for name in ("", "x", "context", "context.", "reported.x", "reported.cached_by_tier."):
        assert (converter_of(name) is not None) == (name == "context"), name


def table(tmp_path: Path, header: str, *rows: str, name: str = "t.csv") -> str:
    path = tmp_path / name
    path.write_text("\n".join([header, *rows]) + "\n")
    return str(path)


@pytest.mark.parametrize(
    ("unit", "first", "second", "begin"),
    [
        ("", "0.5", "2", 0.5),
        (":s", "1.7e9", "1700000001.5", 1.7e9),
        (":ms", "500", "2000", 0.5),
        (":us", "500000.0", "2000000", 0.5),
        (":ns", "1700000000500000000", "1700000002000000000", 1_700_000_000.5),
        (":iso", "2024-05-10 00:00:00.5", "2024-05-10T00:00:02Z", 1_715_299_200.5),
        (":iso", "2024-05-10T02:00:00.5+02:00", "2024-05-10 00:00:02.0000000", 1_715_299_200.5),
    ],
)
def test_times_in_every_unit(tmp_path, unit, first, second, begin):
    path = table(tmp_path, "when,n", f"{first},1", f"{second},2")
    trace = read_trace([path], mapping=[f"arrival_s=when{unit}", "prompt_tokens=n"])
    assert trace.arrival_s[0] == begin
    assert trace.arrival_s[1] - trace.arrival_s[0] == 1.5


def test_a_column_whose_name_holds_a_colon_is_a_column(tmp_path):
    path = table(tmp_path, "a:b,n:ms", "1,2")
    trace = read_trace([path], mapping=["arrival_s=a:b", "prompt_tokens=n:ms"])
    assert trace.prompt_tokens.tolist() == [2]


@pytest.mark.parametrize(
    ("pair", "cells", "field", "cause"),
    [
        ("arrival_s=x", "soon", "arrival_s (x)", "is not a number (for ISO 8601 put :iso"),
        ("arrival_s=x:iso", "1.5", "arrival_s (x)", "is not an ISO 8601 time"),
        ("arrival_s=x:iso", "2024-13-01", "arrival_s (x)", "is not an ISO 8601 time"),
        ("arrival_s=x", "-1", "arrival_s", "is not a time"),
        ("arrival_s=x", "1e13", "arrival_s", "is not a time"),
        ("arrival_s=x", "inf", "arrival_s (x)", "is not a number"),
        ("turn=x", "1_000", "turn (x)", "is not a number"),
        ("turn=x", "\u0663", "turn (x)", "is not a number"),
        ("turn=x", "9" * 5000, "turn (x)", "is not a number"),
        ("turn=x", "1e400", "turn (x)", "is not a number"),
        ("turn=x", "2.5", "turn (x)", "is not a whole number"),
        ("tokens=x", "1 b 3", "tokens (x)[1]", "is not a number"),
        ("tokens=x", '"[1, 2"', "tokens (x)", "truncated"),
        ("tokens=x", '"[1, true]"', "tokens[1]", "expected `int`, got `bool`"),
        ("tokens=x", "4294967296", "tokens[0]", "is not an integer from 0 to 2**32"),
        ("messages=x", "hello", "messages (x)", "JSON is malformed"),
        ("messages=x", "{}", "messages", "expected `array"),
        ("context=x", "[]", "context", "expected `object"),
        ("reported.cached_tokens=x", "many", "reported.cached_tokens (x)", "is not a number"),
        ("reported.counting=x", "maybe", "reported.counting", "neither inclusive nor"),
        ("reported.ttft_s=x", "-2", "reported.ttft_s", "is not a time"),
        ("model_is_label=x", "perhaps", "model_is_label (x)", "is not true or false"),
    ],
)
def test_a_value_that_does_not_fit_is_named_with_its_column(tmp_path, pair, cells, field, cause):
    path = table(tmp_path, "when,n,x", "0,1,", f"1,2,{cells}")
    mapping = [pair] if pair.startswith("arrival_s") else ["arrival_s=when", pair]
    if not pair.startswith(("tokens", "messages")):
        mapping.append("prompt_tokens=n")
    first = table(tmp_path, "when,n,x", f"1,2,{cells}", name="first.csv")
    with pytest.raises(InputError) as caught:
        read_trace([first], mapping=mapping)
    assert caught.value.place == f"{first}:2"
    assert caught.value.field == field
    assert cause in caught.value.cause
    assert str(caught.value).isprintable()
    if not pair.startswith(("arrival_s", "tokens", "messages")):
        with pytest.raises(InputError) as caught:
            read_trace([path], mapping=mapping)
        assert caught.value.place == f"{path}:3"
        assert len(read_trace([path], mapping=mapping, skip_bad_rows=True)) == 1


def test_an_empty_cell_is_absent_and_never_zero(tmp_path):
    path = table(tmp_path, "when,n,hit,out", "0,10,,", "1,10,0,0", "2,10,nan, ", "3,10,4.0,2.0")
    trace = read_trace(
        [path],
        mapping=[
            *("arrival_s=when", "prompt_tokens=n"),
            *("reported.cached_tokens=hit", "output_tokens=out"),
        ],
    )
    assert trace.reported_hit.tolist() == [-1, 0, -1, 4]
    assert trace.output_tokens.tolist() == [-1, 0, -1, 2]


def test_null_and_nan_in_parquet_are_absent_and_an_empty_text_is_not(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(
        pa.table(
            {
                "arrival_s": [0.0, 1.0, 2.0],
                "prompt": ["a", "", "c"],
                "reply": ["", None, "x"],
                "turn": [1.0, float("nan"), None],
            }
        ),
        path,
    )
    trace = read_trace([str(path)])
    assert trace.output_tokens.tolist() == [0, -1, 1]
    assert trace.prompt_tokens.tolist() == [1, 0, 1]
    assert trace.turn.tolist() == [1, -1, -1]


def test_structs_of_parquet_are_objects_without_the_fields_that_only_others_have(tmp_path):
    chats = [
        [{"role": "user", "content": "hi"}],
        [{"role": "tool", "content": "x", "tool_call_id": "c"}],
    ]
    rows = [{"id": i, "arrival_s": i, "messages": chat} for i, chat in enumerate(chats)]
    expected = read_trace([str(write_jsonl(tmp_path / "t.jsonl", rows))])
    path = tmp_path / "t.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    same(read_trace([str(path)]), expected)


def test_a_null_that_json_tells_stays(tmp_path):
    chat = [{"role": "assistant", "content": None}, {"role": "user", "content": "hi"}]
    rows = [{"id": 0, "arrival_s": 0, "messages": chat}]
    expected = read_trace([str(write_jsonl(tmp_path / "t.jsonl", rows))])
    renamed = [{"id": 0, "arrival_s": 0, "chat": chat}]
    path = str(write_jsonl(tmp_path / "renamed.jsonl", renamed))
    same(read_trace([path], mapping=["messages=chat"]), expected)
    path = write_csv(tmp_path / "t.csv", renamed)
    same(read_trace([path], mapping=["messages=chat"]), expected)


def test_a_struct_with_what_json_lacks_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    chats = [[{"role": "user", "content": "hi", "at": float("inf")}]]
    pq.write_table(pa.table({"arrival_s": [0], "messages": chats}), path)
    with pytest.raises(InputError, match="inf is not a value that JSON has"):
        read_trace([str(path)])


def test_a_value_for_every_row(tmp_path):
    path = table(tmp_path, "when,keys,n", "0,a b,32", "1,a c,32")
    trace = read_trace(
        [path],
        mapping=[
            *("arrival_s=when", "block_keys=keys", "prompt_tokens=n"),
            *("block_size==16", "model==m-8b", "context.salt==x=y"),
        ],
    )
    assert trace.block_size == 16
    assert trace.model.names == ("m-8b",)
    assert trace.contexts[0].salt == "x=y"
    np.testing.assert_array_equal(trace.prompts.flat, [0, 1, 0, 2])


def test_values_alone_make_rows_of_every_row(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [1, 2, 3]}), path)
    trace = read_trace([str(path)], mapping=["prompt_tokens==7", "model==m"])
    assert trace.prompt_tokens.tolist() == [7, 7, 7]


def test_a_column_with_our_name_is_taken_unless_it_is_mapped_or_said_to_be_another(tmp_path):
    path = table(tmp_path, "arrival_s,tokens,session,model,my model", "0,12,s,m,n")
    with pytest.raises(InputError, match=r"prompt_tokens and tokens|needs exactly one of|tokens"):
        read_trace([path], mapping=["turn=tokens", "prompt_tokens=model"])
    trace = read_trace([path], mapping=["prompt_tokens=tokens"])
    assert trace.prompt_tokens.tolist() == [12]
    assert trace.model.names == ("m",)
    trace = read_trace([path], mapping=["prompt_tokens=tokens", "model=my model", "session="])
    assert trace.model.names == ("n",)
    assert not trace.session.known
    assert "columns not read: model, session" in trace.notes


def test_the_numbers_of_rows_are_ids_over_all_inputs(tmp_path):
    one = table(tmp_path, "when,n", "0,1", "1,2", name="a.csv")
    other = table(tmp_path, "when,n", "2,3", name="b.csv")
    mapping = ["arrival_s=when", "prompt_tokens=n"]
    assert read_trace([one, other], mapping=mapping).ids == ("0", "1", "2")
    named = ["id=n", *mapping]
    assert read_trace([one, other], mapping=named).ids == ("1", "2", "3")


def test_without_times_the_order_of_the_rows_stands(tmp_path):
    path = table(tmp_path, "n", "5", "6")
    trace = read_trace([path], mapping=["prompt_tokens=n"])
    assert not trace.has_times
    assert "no times in this trace" in " ".join(trace.notes)
    assert trace.arrival_s.tolist() == [0, 1]


JSON_ROWS = [
    {"t": 1000, "usage": {"in": 7, "details": {"hit": 3}}, "usage.out": "2", "who": 9},
    {"t": 2000, "usage": {"in": 8.0, "details": {}}, "usage.out": None, "who": "x"},
]
PATHS = [
    *("arrival_s=t:ms", "prompt_tokens=usage.in", "reported.cached_tokens=usage.details.hit"),
    *("output_tokens=usage.out", "session=who"),
]


@pytest.mark.parametrize("form", ["lines", "array", "document"])
def test_fields_of_json_rows_are_found_by_their_paths(tmp_path, form):
    path = tmp_path / "t.json"
    if form == "lines":
        write_jsonl(path, JSON_ROWS)
    else:
        path.write_text(json.dumps(JSON_ROWS, indent=2 if form == "document" else None))
    trace = read_trace([str(path)], mapping=PATHS)
    assert trace.arrival_s.tolist() == [1, 2]
    assert trace.prompt_tokens.tolist() == [7, 8]
    assert trace.reported_hit.tolist() == [3, -1]
    assert trace.output_tokens.tolist() == [2, -1]
    assert trace.session.names == ("9", "x")


def test_a_path_that_no_row_has_is_a_mistake(tmp_path):
    path = str(write_jsonl(tmp_path / "t.jsonl", JSON_ROWS))
    with pytest.raises(InputError, match=r"session: no row has 'usage\.who'"):
        read_trace([path], mapping=[*PATHS[:-1], "session=usage.who"])


def test_fields_of_json_rows_that_nobody_reads_are_counted(tmp_path):
    path = str(write_jsonl(tmp_path / "t.jsonl", JSON_ROWS))
    notes = " ".join(read_trace([path], mapping=PATHS[:3]).notes)
    assert "'who' is not one that hitpath reads (2 rows)" in notes
    assert "'usage.out'" in notes
    assert "'usage'" not in notes


@pytest.mark.parametrize(
    ("row", "cause"), [("[1]", "is no JSON object"), ('{"t": 1', "truncated"), ("3", "no JSON")]
)
def test_a_json_row_that_is_none_is_named_and_may_be_skipped(tmp_path, row, cause):
    path = tmp_path / "t.jsonl"
    path.write_text(f"{json.dumps(JSON_ROWS[0])}\n{row}\n{json.dumps(JSON_ROWS[1])}\n")
    with pytest.raises(InputError, match=cause):
        read_trace([str(path)], mapping=PATHS)
    trace = read_trace([str(path)], mapping=PATHS, skip_bad_rows=True)
    assert (len(trace), len(trace.skipped)) == (2, 1)


def test_a_mapping_holds_for_files_of_every_kind_at_once(tmp_path):
    one = table(tmp_path, "when,n", "0,1")
    other = str(write_jsonl(tmp_path / "t.jsonl", [{"when": 1, "n": 2}]))
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"when": [2], "n": [3]}), path)
    trace = read_trace([one, other, str(path)], mapping=["arrival_s=when", "prompt_tokens=n"])
    assert trace.prompt_tokens.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("mapping", "cause"),
    [
        (["arrival_s"], "is not ours=theirs"),
        (["=x"], "is not ours=theirs"),
        (["arrival_s=="], "is not ours=theirs"),
        ([""], "is not ours=theirs"),
        (["prompt_token=x"], "no field of ours; some are prompt_tokens"),
        (["reported.cached=x"], "some are reported.cached_tokens"),
        (["\u00e4\n=x"], "no field of ours; some are arrival_s"),
        (["turn=x", "turn=y"], "turn is mapped twice"),
        (["turn=", "turn=y"], "turn is mapped twice"),
        (["block_size==large"], "'large' is not a number"),
        (["arrival_s==2024-01-01"], "is not a number"),
    ],
)
def test_a_mapping_that_is_none_is_refused_before_anything_is_read(mapping, cause):
    with pytest.raises(SettingError) as caught:
        read_trace(["nothing here"], mapping=mapping)
    assert caught.value.option.startswith("--map")
    assert cause in caught.value.cause
    assert str(caught.value).isprintable()


def test_a_column_that_is_not_there_is_named_beside_those_that_are(tmp_path):
    path = table(tmp_path, "when,n", "0,1")
    for mapping in (["arrival_s=when:min"], ["prompt_tokens=n_in"]):
        with pytest.raises(InputError) as caught:
            read_trace([path], mapping=mapping, skip_bad_rows=True)
        assert caught.value.place == path
        assert caught.value.cause.endswith("columns: when, n")


@pytest.mark.parametrize(
    "header",
    [
        "ts_ms,input_tokens,output_tokens",
        "request_time_ns,n_in,n_out,cached_tokens",
        "start time,prompt length,completion length,cache hit",
        "created,context_len,response tokens",
    ],
)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_an_unknown_table_is_told_a_mapping_that_works(tmp_path, header, kind):
    names = header.split(",")
    path = table(tmp_path, header, ",".join("3" for _ in names))
    if kind == "parquet":
        path = str(tmp_path / "t.parquet")
        pq.write_table(pa.table({name: [3] for name in names}), path)
    with pytest.raises(InputError) as caught:
        read_trace([path])
    cause = caught.value.cause
    assert ", ".join(names) in cause
    example = cause.partition("as in ")[2].partition(" (columns")[0]
    typed = [word for word in shlex.split(example) if word != "--map"]
    trace = read_trace([path], mapping=typed)
    assert trace.prompt_tokens.tolist() == [3]
    assert trace.output_tokens.tolist() == [3]
    assert trace.arrival_s[0] == {"ts_ms": 0.003, "request_time_ns": 3e-9}.get(names[0], 3)


def test_an_unknown_table_without_any_hint_is_told_what_to_say(tmp_path):
    path = table(tmp_path, "alpha,beta", "1,2")
    with pytest.raises(InputError, match="--map arrival_s=COLUMN --map prompt_tokens=COLUMN"):
        read_trace([path])
    with pytest.raises(InputError, match="format not recognised"):
        read_trace([path], skip_bad_rows=True)


def test_an_unknown_table_beside_a_readable_trace_is_listed_where_rows_may_be_skipped(tmp_path):
    good = table(tmp_path, "arrival_s,prompt_tokens", "0,1", name="good.csv")
    bad = table(tmp_path, "alpha,beta", "1,2", name="bad.csv")
    trace = read_trace([good, bad], skip_bad_rows=True)
    assert [problem.place for problem in trace.skipped] == [f"{bad}:1"]


def test_a_mapping_goes_before_a_format_that_would_be_recognised(tmp_path):
    path = table(
        tmp_path,
        "TIMESTAMP,ContextTokens,GeneratedTokens,session",
        "2023-11-16 18:17:03.9799600,4808,10,s",
    )
    trace = read_trace([path], mapping=["prompt_tokens=GeneratedTokens"])
    assert trace.format == "mapped"
    assert trace.prompt_tokens.tolist() == [10]
    assert trace.session.names == ("s",)


def test_the_command_line_takes_mappings(tmp_path):
    path = table(tmp_path, "when,key list,req", "0,a b,r1", "1,a c,r2", name="my trace.csv")
    options = [
        *("--map", "arrival_s=when", "--map", "block_keys=key list", "--map", "id=req"),
        *("--map", "block_size==16", "--map", "prompt_tokens==32"),
    ]
    ended = call("analyze", path, *options, "--json", "-")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["tokens"]["hit"] == 16
    ended = call("explain", "r2", path, *options, "--json", "-")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["hit_tokens"] == 16
    ended = call("analyze", path, *options, "--sample", "0.5", "--json", "-")
    assert ended.code == 0, ended.err
    ended = call("analyze", path, "--map", "turns=x")
    assert ended.code == 2
    assert is_one_line(ended.err)

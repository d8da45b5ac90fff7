"""A converted trace calls everything what the first file called it: keys, stretches, scopes,
sessions, requests. `tests/property/test_convert_apart.py` holds what that is for."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hitpath
from cli import call
from hitpath.report.convert.own_rows import Plain, own_rows
from hitpath.traces import read_trace
from hitpath.traces.partial_ids import id_of_partial
from hitpath.traces.sampling import Sampler
from hitpath.traces.segments import SegmentTokens
from support import trace_of_rows, write_jsonl


def written(trace):
    return list(own_rows(trace, Plain(trace)))


def lines_of(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize(
    "prompt",
    [
        {"block_keys": ["b", "a", "ü"], "block_size": 4, "prompt_tokens": 9},
        {"block_keys": [2**64 - 1, 0, 7], "block_size": 4, "prompt_tokens": 9},
        {"tokens": [3, 1, 2**32 - 1]},
        {"segments": [["b", 200], ["a", 1], ["a", 64], ["b", 64]]},
        {"segments": [["b", 200], ["a", 1]], "unit": "bytes"},
        {"tokens": [5, 6], "unit": "bytes"},
        {"prompt": "Wörter"},
        {"prompt_tokens": 3},
    ],
)
@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_prompts_are_written_as_they_were(tmp_path, prompt, ending):
    source = write_jsonl(tmp_path / "t.jsonl", [{"id": "1", "arrival_s": 0.0, **prompt}])
    hitpath.convert(source, tmp_path / f"o.{ending}")
    row = written(read_trace([str(tmp_path / f"o.{ending}")]))[0]
    shown = json.loads(json.dumps(row))
    assert {name: shown[name] for name in prompt} == prompt


def test_outputs_are_written_as_they_were(tmp_path):
    row = {"id": "1", "arrival_s": 0}
    keys = {"block_keys": ["p", "q"], "block_size": 4, "prompt_tokens": 6, "output_tokens": 4}
    for told in (
        {**keys, "output_block_keys": ["r", "q"]},
        {"segments": [["a", 70]], "reply_segments": [["b", 3], ["a", 65]]},
        {"tokens": [1], "output_ids": []},
    ):
        shown = json.loads(json.dumps(written(trace_of_rows(tmp_path, [row | told]))[0]))
        assert {name: shown[name] for name in told} == told


def test_names_of_stretches_are_those_of_their_tokens():
    tokens = SegmentTokens()
    told = [("a", 1), ("b", 64), ("b", 200), ("a", 65), ("a", 64), ("b", 63)]
    symbols = [tokens.tokens(*stretch) for stretch in told]
    stretches = tokens.stretches()
    for stretch, symbol in zip(told, symbols, strict=True):
        assert stretches.of(symbol) == [stretch]
    assert stretches.names == ("a", "b")
    assert stretches.of(symbols[0][:0]) == []


def test_the_id_of_a_partial_block_comes_back(tmp_path):
    """The table has a symbol of (id, number of tokens) in its place."""
    ids = [0, 1, 7, 2**32, 2**63, 2**64 - 1]
    for rest in (1, 2, 511):
        rows = [{"timestamp": i, "input_length": rest, "hash_ids": [n]} for i, n in enumerate(ids)]
        source = write_jsonl(tmp_path / "t.jsonl", rows)
        trace = read_trace([str(source)])
        assert trace.prompts.flat.tolist() != ids
        assert [id_of_partial(symbol, rest) for symbol in trace.prompts.flat.tolist()] == ids
        assert [row["block_keys"] for row in written(trace)] == [[n] for n in ids]


def test_contents_of_ragpulse_keep_their_names(tmp_path):
    """Written by hand from the documented shape."""
    rows = [
        {"sys_prompt_id": 1, "token_length": 5},
        {"passage_id": 1, "token_length": 70},
        {"timestamp": "1", "hash_ids": {"sys_prompt": [1], "passages_ids": [1, 1]}},
    ]
    trace = read_trace([str(write_jsonl(tmp_path / "t.jsonl", rows))])
    assert written(trace)[0]["segments"] == [
        ("sys_prompt:1", 5),
        ("passages_ids:1", 70),
        ("passages_ids:1", 70),
    ]


def test_names_of_basetens_blocks_are_kept(tmp_path):
    """Written by hand from the documented columns."""
    rows = [
        {
            "timestamp_start_unix_ms": 1000 + i,
            "prompt": "",
            "input_tokens": 40,
            "output_tokens": 4,
            "total_hashes": ["h2", "h0", f"part{i}"],
            "block_size": 16,
        }
        for i in range(2)
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    trace = read_trace([str(tmp_path / "t.parquet")])
    assert [row["block_keys"] for row in written(trace)] == [row["total_hashes"] for row in rows]


def test_ids_of_files_without_ids_are_told_from_names(tmp_path):
    """Two such files have the same numbers. Two requests of one name are still an error."""
    rows = [{"timestamp": i, "input_length": 512, "hash_ids": [i]} for i in range(2)]
    outs = []
    for letter in "ab":
        source = write_jsonl(tmp_path / f"{letter}.jsonl", rows)
        outs.append(str(tmp_path / f"{letter}.o.jsonl"))
        hitpath.convert(source, outs[-1])
    assert lines_of(tmp_path / "a.o.jsonl")[1]["id"] == "1"
    again = read_trace(outs)
    assert again.ids == ("0", "0#2", "1", "1#2")
    assert any(note.startswith("2 requests without an id that stands once") for note in again.notes)
    assert hitpath.analyze(outs).hit_tokens == 1024
    named = [{"id": "0", "arrival_s": 0, "tokens": [1]}]
    paths = [str(write_jsonl(tmp_path / f"{letter}.n.jsonl", named)) for letter in "ab"]
    with pytest.raises(hitpath.HitpathError, match=r"id: '0' stands at .*a\.n\.jsonl:1 too"):
        read_trace(paths)


def test_a_made_id_gives_way_to_any_other(tmp_path):
    made = {"id": "0", "id_may_repeat": True}
    rows = [{"id": "0"}, {"id": "0#2"}, made, made, {"id": "0#5"}, made]
    rows = [{"arrival_s": i, "tokens": [1], **row} for i, row in enumerate(rows)]
    assert trace_of_rows(tmp_path, rows).ids == ("0", "0#2", "0#3", "0#4", "0#5", "0#6")


SESSION = {"block_size": 64, "requests": [{"t": 0.0, "in": 64, "out": 1, "hash_ids": [1]}]}


def test_local_ids_of_one_session_stay_local(tmp_path):
    """Written by hand from the documented shape. One session alone has a scope too."""
    outs = []
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"id": name, **SESSION}))
        outs.append(tmp_path / f"{name}.jsonl")
        hitpath.convert(tmp_path / f"{name}.json", outs[-1])
    assert [lines_of(out)[0]["id_scope"] for out in outs] == ["a", "b"]
    assert hitpath.analyze(outs).hit_tokens == 0


def test_scopes_that_a_file_names_reach_over_files(tmp_path):
    row = {"arrival_s": 0, "block_keys": [1], "block_size": 16, "prompt_tokens": 16}
    rows = [{**row, "id": scope, "id_scope": scope} for scope in ("x", "y")]
    outs = []
    for letter in "ab":
        named = [{**row, "id": f"{letter}{row['id']}"} for row in rows]
        outs.append(tmp_path / f"{letter}.o.jsonl")
        hitpath.convert(write_jsonl(tmp_path / f"{letter}.jsonl", named), outs[-1])
    assert hitpath.analyze(outs).hit_tokens == 32


def test_sessions_of_two_tenants_keep_their_own_name(tmp_path):
    rows = [
        {"id": tenant, "arrival_s": 0, "tokens": [1], "session": "s", "tenant": tenant}
        for tenant in "ab"
    ]
    trace = trace_of_rows(tmp_path, rows)
    assert trace.session.names == ("a/s", "b/s")
    assert [row["session"] for row in written(trace)] == ["s", "s"]


def test_a_worker_without_a_name_gets_none(tmp_path):
    rows = [{"id": i, "arrival_s": i, "tokens": [1]} for i in range(2)]
    trace = trace_of_rows(tmp_path, [{**rows[0], "worker": "w"}, rows[1]])
    assert trace.worker.of(1) == "(not named)"
    assert ["worker" in row for row in written(trace)] == [True, False]


def test_a_context_of_another_model(tmp_path):
    rows = [
        {"id": "1", "arrival_s": 0, "tokens": [1] * 32, "model": "a", "context": {"model": "b"}},
        {"id": "2", "arrival_s": 1, "tokens": [1] * 32, "model": "a"},
        {"id": "3", "arrival_s": 2, "tokens": [1] * 32, "context": {"model": "b"}},
    ]
    source = write_jsonl(tmp_path / "t.jsonl", rows)
    hitpath.convert(source, tmp_path / "o.jsonl")
    found, again = hitpath.analyze(source), hitpath.analyze(tmp_path / "o.jsonl")
    assert again.document["by"] == found.document["by"]
    assert again.hit_tokens == found.hit_tokens == 32


def test_a_sampled_trace_keeps_no_names(tmp_path):
    """Of which there may be more than there is memory for."""
    keys = {"block_keys": ["k"], "block_size": 4, "prompt_tokens": 4}
    for told in (keys, {"segments": [["a", 40]]}):
        sampler = Sampler.from_share(0.5, 0)
        trace = trace_of_rows(tmp_path, [{"id": 1, "arrival_s": 0, **told}], sampler=sampler)
        assert (trace.names.keys, trace.names.stretches) == (None, None)


def test_rows_that_left_all_sums_are_told_in_mooncake(tmp_path):
    rows = [{"id": str(i), "arrival_s": i, "tokens": [1] * 64, "excluded": "x"} for i in range(3)]
    rows.append({"id": "3", "arrival_s": 3, "tokens": [1] * 64})
    source = write_jsonl(tmp_path / "t.jsonl", rows)
    notes = hitpath.convert(source, tmp_path / "m.jsonl", to="mooncake", block_size=16)
    assert len(lines_of(tmp_path / "m.jsonl")) == 4
    told = [note for note in notes if "contradict themselves" in note]
    assert len(told) == 1
    assert told[0].startswith("3 requests contradict themselves and are replayed like the others")


def test_groups_of_rows_are_bounded_by_tokens(tmp_path):
    prompt = list(range(1_000, 51_000))
    rows = [{"id": str(i), "arrival_s": i, "tokens": prompt} for i in range(100)]
    hitpath.convert(rows, tmp_path / "t.parquet")
    file = pq.ParquetFile(tmp_path / "t.parquet")
    sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    assert sizes == [21, 21, 21, 21, 16]
    assert read_trace([str(tmp_path / "t.parquet")]).prompt_tokens.sum() == 5_000_000


@pytest.mark.parametrize("names", ['"\x1b]0;gone\x07","\u202ex"', '"\x9b2J","\u2028"'])
def test_what_is_told_holds_no_control_characters(tmp_path, names):
    source, out = tmp_path / "t.csv", tmp_path / "o.jsonl"
    source.write_text(f"arrival_s,prompt_tokens,{names}\n0,1,2,3\n")
    done = call("convert", source, "--out", out)
    assert (done.code, done.err) == (0, "")
    assert "columns not read: " in done.text
    assert all(line.isprintable() for line in done.text.split("\n"))
    assert all(note.isprintable() for note in read_trace([str(source)]).notes)

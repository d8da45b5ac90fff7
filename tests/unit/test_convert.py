"""`hitpath convert`: what the files hold, and what is refused. Redaction: test_redact.py."""

import gzip
import json
import re
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli import call
from hitpath.core import Setting
from hitpath.report.convert.mooncake_rows import mooncake_rows
from hitpath.report.convert.own_rows import Plain, own_rows
from hitpath.spine import analyze_trace
from hitpath.traces import read_trace
from support import shared_data, trace_of_rows, write_jsonl

TEXT_ROWS = [
    {"id": f"r{i}", "arrival_s": i, "prompt": f"The same beginning. {end}", "reply": "Yes."}
    for i, end in enumerate(["Who?", "When?", "Where to?"])
]


def lines_of(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "key"
    path.write_bytes(b"0123456789abcdef")
    return path


def test_compressed_files_are_the_same_bytes_each_time(tmp_path):
    source = write_jsonl(tmp_path / "t.jsonl", TEXT_ROWS)
    plain = tmp_path / "o.jsonl"
    assert call("convert", source, "--out", plain).code == 0
    for ending in ("gz", "zst"):
        files = [tmp_path / f"{name}.jsonl.{ending}" for name in "ab"]
        for file in files:
            assert call("convert", source, "--out", file).code == 0
        assert files[0].read_bytes() == files[1].read_bytes()
        assert len(read_trace([str(files[0])])) == 3
    assert gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()) == plain.read_bytes()


def test_rows_on_standard_output_leave_it_clean(tmp_path):
    source = write_jsonl(tmp_path / "t.jsonl", TEXT_ROWS)
    done = call("convert", source, "--out", "-")
    assert done.code == 0
    assert [json.loads(line)["id"] for line in done.out.splitlines()] == ["r0", "r1", "r2"]
    assert "wrote 3 requests" in done.err
    assert "give --tokenizer" in done.err


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--to", "vidur"], "--to vidur"),
        (["--to", "mooncake", "--redact", "KEY"], "--redact"),
        (["--hash-labels"], "--hash-labels"),
        (["--block-size", "16"], "--block-size"),
        (["--every", "1"], "--every"),
        (["--to", "mooncake", "--every", "0"], "--every"),
        (["--to", "mooncake", "--every", "nan"], "--every"),
        (["--to", "mooncake", "--every", "1"], "--every"),
        (["--to", "mooncake", "--block-size", "-3"], "--block-size"),
        (["--to", "mooncake", "--block-size", "0"], "--block-size"),
        (["--to", "mooncake", "--block-size", "99999999999999999999"], "--block-size"),
        (["--block-size", "0"], "--block-size"),
        (["--redact", "absent"], "--redact"),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path, options, named, key):
    source, out = write_jsonl(tmp_path / "t.jsonl", TEXT_ROWS), tmp_path / "o.jsonl"
    options = [str(key) if o == "KEY" else o for o in options]
    refused = call("convert", source, "--out", out, *options)
    assert refused.code == 2
    assert refused.err.startswith(f"hitpath: error: {named}: ")
    assert not out.exists()


def test_an_output_over_the_input_or_the_key_is_refused(tmp_path, key):
    source = write_jsonl(tmp_path / "t.jsonl", TEXT_ROWS)
    before = source.read_bytes()
    refused = call("convert", source, "--out", source)
    assert (refused.code, source.read_bytes()) == (2, before)
    refused = call("convert", source, "--out", key, "--redact", key)
    assert (refused.code, key.read_bytes()) == (2, b"0123456789abcdef")


@pytest.mark.parametrize("ending", ["parquet", "PARQUET", "Parquet"])
def test_mooncake_is_no_table(tmp_path, ending):
    source, out = write_jsonl(tmp_path / "t.jsonl", TEXT_ROWS), tmp_path / f"o.{ending}"
    refused = call("convert", source, "--out", out, "--to", "mooncake")
    assert (refused.code, out.exists()) == (2, False)
    assert "is JSONL, not Parquet" in refused.err


MOONCAKE_SOURCE = [
    {"id": 1, "arrival_s": 100.0, "tokens": [*range(20)], "session": "s", "output_tokens": 9},
    {"id": 2, "arrival_s": 100.5, "tokens": [*range(10), 99], "model": "m"},
    {"id": 3, "arrival_s": 102.0004, "tokens": [*range(12)], "output_tokens": 0},
    {"id": 4, "arrival_s": 103, "tokens": []},
]


def mooncake(source, out, *options):
    """(rows written, what was said)."""
    done = call("convert", source, "--out", out, "--to", "mooncake", *options)
    assert (done.code, done.err) == (0, "")
    return lines_of(out), done.text


def check_replayable(rows, size):
    """What aiperf 0.13.0, guidellm 0.8.1, ai-dynamo-runtime 1.6.1 and vllm 0.32.0 ask of a file."""
    lengths, times = {}, [row["timestamp"] for row in rows]
    assert times == sorted(times)  # vllm sends no row before those above it
    for row in rows:
        # A session_id makes turns of rows (aiperf, Dynamo).
        assert list(row) == ["timestamp", "input_length", "output_length", "hash_ids"]
        assert all(type(row[name]) is int for name in list(row)[:3])
        assert row["timestamp"] >= 0
        assert row["input_length"] >= 1  # Dynamo refuses 0
        assert row["output_length"] >= 1  # aiperf refuses 0, the others a row without
        whole, rest = divmod(row["input_length"], size)
        assert len(row["hash_ids"]) == whole + (rest > 0)  # guidellm: exactly
        for place, number in enumerate(row["hash_ids"]):
            told = (place, rest if place == whole else size)
            assert lengths.setdefault(number, told) == told  # aiperf: one length to an id
    assert sorted(lengths) == [*range(len(lengths))]  # guidellm: from 0, int32


def test_mooncake_rows(tmp_path):
    source, out = write_jsonl(tmp_path / "t.jsonl", MOONCAKE_SOURCE), tmp_path / "o.jsonl"
    rows, text = mooncake(source, out, "--block-size", 8)
    assert rows == [
        {"timestamp": 0, "input_length": 20, "output_length": 9, "hash_ids": [0, 1, 2]},
        {"timestamp": 500, "input_length": 11, "output_length": 1, "hash_ids": [3, 4]},  # model m
        {"timestamp": 2000, "input_length": 12, "output_length": 1, "hash_ids": [0, 5]},
    ]
    check_replayable(rows, 8)
    for note in (
        "blocks of 8 tokens: a replayer must be told so",
        "2 contexts",
        "1 requests have no prompt token and are left out",
        "1 requests do not tell the length of the output: their output_length is 1",
        "1 requests have an output of no token: their output_length is 1",
        "1 sessions are not named",
    ):
        assert note in text
    assert "byte of text" not in text
    assert "rows stand behind" not in text


def test_mooncake_says_that_bytes_are_replayed_as_tokens(tmp_path):
    source = write_jsonl(tmp_path / "t.jsonl", TEXT_ROWS)
    rows, text = mooncake(source, tmp_path / "o.jsonl")
    assert [row["input_length"] for row in rows] == [len(row["prompt"]) for row in TEXT_ROWS]
    assert "each byte of text is replayed as a token" in text


def test_mooncake_of_ids_of_whole_blocks_gives_each_tail_an_id_of_its_own(tmp_path):
    session = {
        "id": "s",
        "block_size": 64,
        "requests": [
            {"t": 5, "in": 130, "out": 1, "hash_ids": [1, 2]},
            {"t": 6, "in": 130, "out": 1, "hash_ids": [1, 2]},
            {"t": 7, "in": 128, "out": 1, "hash_ids": [1, 2]},
        ],
    }
    source = tmp_path / "s.json"
    source.write_text(json.dumps(session))
    rows, text = mooncake(source, tmp_path / "o.jsonl", "--block-size", 64)
    assert [row["hash_ids"] for row in rows] == [[0, 1, 2], [0, 1, 3], [0, 1]]
    assert [row["timestamp"] for row in rows] == [0, 1000, 2000]
    assert "2 prompts end in tokens without a block id" in text


def test_mooncake_lays_clocks_one_after_the_other(tmp_path):
    rows = [
        {"id": i, "arrival_s": t, "tokens": [token], "clock": clock}
        for i, (clock, t, token) in enumerate(
            # The third row is a sub-agent's: it stands behind a later row of its parent.
            [("a", 0, 7), ("a", 3, 8), ("a", 1, 9), ("b", 0, 7), ("b", 2, 9)]
        )
    ]
    source = write_jsonl(tmp_path / "t.jsonl", rows)
    rows, text = mooncake(source, tmp_path / "o.jsonl")
    assert [row["timestamp"] for row in rows] == [0, 1000, 3000, 3000, 5000]
    assert [row["hash_ids"] for row in rows] == [[0], [1], [2], [0], [1]]
    assert "one after the other" in text
    assert "1 rows stand behind rows of a later time: sorted by time" in text


def test_mooncake_needs_times_and_prompts(tmp_path):
    rows = [{"id": i, "arrival_s": None, "tokens": [1]} for i in range(2)]
    source, out = write_jsonl(tmp_path / "t.jsonl", rows), tmp_path / "o.jsonl"
    refused = call("convert", source, "--out", out, "--to", "mooncake")
    assert "give --every SECONDS" in refused.err
    rows, text = mooncake(source, out, "--every", 0.25)
    assert [row["timestamp"] for row in rows] == [0, 250]
    assert "one request every 0.25 s" in text
    for fields, cause in (({"prompt_tokens": 5}, "needs block ids"), ({"tokens": []}, "nothing")):
        rows = [{"id": i, "arrival_s": i, **fields} for i in range(2)]
        source, out = write_jsonl(tmp_path / "l.jsonl", rows), tmp_path / "none.jsonl"
        refused = call("convert", source, "--out", out, "--to", "mooncake")
        assert (refused.code, out.exists()) == (2, False)
        assert cause in refused.err


@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 1), max_size=12), st.sampled_from([None, "m", "n"])),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from([1, 2, 4]),
)
def test_mooncake_ids_are_numbered_prefixes(tmp_path_factory, prompts, size):
    """Against a dictionary of whole prefixes; and the analysis of both gives the same hits."""
    folder = tmp_path_factory.mktemp("m")
    prompts = [([1], None), *prompts]
    rows = [
        {"id": i, "arrival_s": i, "tokens": tokens} | ({"model": model} if model else {})
        for i, (tokens, model) in enumerate(prompts)
    ]
    trace = trace_of_rows(folder, rows)
    written = list(mooncake_rows(trace, size, None)[0])
    check_replayable(written, size)
    number = defaultdict(lambda: len(number))
    filled = [i for i, (tokens, _) in enumerate(prompts) if tokens]
    for row, i in zip(written, filled, strict=True):
        tokens, model = prompts[i]
        ends = [min(end, len(tokens)) for end in range(size, len(tokens) + size, size)]
        assert row["hash_ids"] == [number[model, tuple(tokens[:end])] for end in ends]
    again = read_trace([str(write_jsonl(folder / "o.jsonl", written))], block_size=size)
    hits = [analyze_trace(t, Setting(block_size=size)).ledger.hit.tolist() for t in (trace, again)]
    assert [hits[0][i] for i in filled] == hits[1]


@given(st.data(), st.sampled_from([8, 16]), st.sampled_from([None, "a", "b"]))
def test_mooncake_of_block_ids_is_replayable(tmp_path_factory, data, size, clock):
    """Ids with and without one of the rest, in blocks of 8 or two of them, on one clock or two:
    as many hit tokens as an endless cache of whole prefixes gives, row by row."""
    rows, prompts = [], {}
    for i in range(data.draw(st.integers(1, 8))):
        ids = data.draw(st.lists(st.integers(0, 2), max_size=6))
        chained = [int("1" + "".join(map(str, ids[: n + 1]))) for n in range(len(ids))]
        rest = data.draw(st.integers(0, 7))  # tokens without an id
        length = 8 * len(ids) + rest
        prompts[i] = ([*ids] if rest == 0 else [*ids, -i - 1], length)
        own = {} if clock is None else {"clock": data.draw(st.sampled_from(["a", clock]))}
        at = {"arrival_s": data.draw(st.integers(0, 9))}
        told = {"block_keys": chained, "block_size": 8, "prompt_tokens": length}
        rows.append({"id": str(i), **at, **told, **own, "output_tokens": i})
    if not any(length for _, length in prompts.values()):
        return
    trace = trace_of_rows(tmp_path_factory.mktemp("m"), rows)
    written = list(mooncake_rows(trace, size, None)[0])
    check_replayable(written, size)
    lengths = [length for _, length in prompts.values() if length]
    assert sorted(row["input_length"] for row in written) == sorted(lengths)
    per_id = size // 8
    expected = Counter()
    for ids, length in prompts.values():
        expected.update(tuple(ids[: (n + 1) * per_id]) for n in range(length // size))
    found = Counter(
        number for row in written for number in row["hash_ids"][: row["input_length"] // size]
    )
    assert sorted(found.values()) == sorted(expected.values())


@pytest.mark.parametrize(
    ("name", "size", "num_hit"),
    [
        ("mooncake/conversation_trace.jsonl", 512, 54_063_104),
        ("coding_agent_sessions", 64, 68_319_360),
        ("ragpulse_sample", 16, 285_808),
        ("lmcache_taubench", 64, 62_784),
        ("otel_genai", 16, 1_472),
    ],
)
def test_mooncake_of_real_traces_is_replayable(tmp_path, name, size, num_hit):
    """Hits counted over the written ids alone, in the order of the file."""
    rows, _ = mooncake(shared_data(name), tmp_path / "o.jsonl", "--block-size", size)
    check_replayable(rows, size)
    seen, hit = set(), 0
    for row in rows:
        whole = row["hash_ids"][: row["input_length"] // size]
        hit += size * next((n for n, i in enumerate(whole) if i not in seen), len(whole))
        seen.update(whole)
    assert hit == num_hit


def test_own_rows_of_labels_that_are_no_context(tmp_path):
    """A label that isolates nothing is written so that it still isolates nothing."""
    rows = [
        {"id": i, "arrival_s": i, "tokens": [1] * 40, "model": f"m{i}", "model_is_label": True}
        for i in range(2)
    ]
    trace = trace_of_rows(tmp_path, rows)
    written = list(own_rows(trace, Plain(trace)))
    assert all(row["model_is_label"] for row in written)
    assert analyze_trace(trace, Setting()).ledger.hit.tolist() == [0, 32]
    assert analyze_trace(trace, Setting(split_models=True)).ledger.hit.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("rows", "field"),
    [
        ([{"clock": "a"}, {}], "clock"),
        ([{}, {"clock": "a"}], "clock"),
        ([{"arrival_s": None}, {}], "arrival_s"),
        ([{"model_is_label": True}, {}], "model_is_label"),
        ([{"id_scope": "a"}], "id_scope"),
        ([{"tokens": None, "prompt": "a", "unit": "bytes"}], "unit"),
        ([{"reply_segments": [["a", 1]]}], "reply_segments"),
        ([{"arrival_s": None, "finish_s": 3}], "finish_s"),
    ],
)
def test_what_all_rows_must_have(tmp_path, rows, field):
    rows = [{"id": i, "arrival_s": i, "tokens": [1, 2]} | row for i, row in enumerate(rows)]
    refused = call("analyze", write_jsonl(tmp_path / "t.jsonl", rows))
    assert refused.code == 2
    assert f": {field}: " in refused.err


def test_rows_on_their_own_clocks_stand_in_the_order_of_the_file(tmp_path):
    rows = [
        {"id": i, "arrival_s": t, "block_keys": ["k"], "block_size": 4, "prompt_tokens": 4}
        | {"clock": clock, "id_scope": clock}
        for i, (clock, t) in enumerate([("a", 9), ("a", 5), ("b", 0)])
    ]
    trace = trace_of_rows(tmp_path, rows)
    assert trace.ids == ("0", "1", "2")
    assert trace.own_clocks
    assert trace.gaps_known
    assert analyze_trace(trace, Setting()).ledger.hit.tolist() == [0, 4, 0]
    shared = trace_of_rows(tmp_path, [{**row, "id_scope": "one"} for row in rows])
    assert not shared.gaps_known
    assert analyze_trace(shared, Setting()).ledger.hit.tolist() == [0, 4, 4]


def test_stretches_of_a_reply_go_on_in_the_next_prompt(tmp_path):
    rows = [
        {"id": 1, "arrival_s": 0, "segments": [["a", 8]], "reply_segments": [["b", 4], ["c", 4]]},
        {"id": 2, "arrival_s": 1, "segments": [["a", 8], ["b", 4], ["c", 4]]},
    ]
    trace = trace_of_rows(tmp_path, rows)
    found = analyze_trace(trace, Setting(outputs="insert", block_size=4))
    assert found.ledger.hit.tolist() == [0, 16]
    assert trace.output_tokens.tolist() == [8, -1]
    assert np.array_equal(trace.has_output, [True, False])


@pytest.fixture
def shown():
    """The blocks of JSON lines on the page: redacted, the trace, Mooncake rows."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "convert.md").read_text()
    redacted, trace, rows = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    return page, redacted, trace, rows


def test_the_page_shows_what_is_written(tmp_path, key, shown):
    page, redacted, trace, rows = shown
    source, out = tmp_path / "chat.jsonl", tmp_path / "o.jsonl"
    source.write_text(trace)
    assert f"`{key.read_text()}`" in page
    assert call("convert", source, "--out", out, "--redact", key).code == 0
    assert out.read_text() == redacted
    written, _ = mooncake(source, out)
    assert out.read_text() == rows
    check_replayable(written, 512)
    for size, told in (
        (512, "2,048 of 3,344 tokens hit, 61.24 %"),
        (16, "2,112 of 3,344, 63.16 %"),
    ):
        found = [mooncake(source, out, "--block-size", size)[0], lines_of(source)]
        for read in found:
            traced = trace_of_rows(tmp_path, read, block_size=size)
            ledger = analyze_trace(traced, Setting(block_size=size)).ledger
            hit, prompt = int(ledger.hit.sum()), int(ledger.prompt.sum())
            assert f"{hit:,} of {prompt:,}" in told
            assert f"{100 * hit / prompt:.2f} %" in told
        assert told in " ".join(page.split())

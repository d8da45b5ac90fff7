"""CSV and Parquet as rows: delimiters, quotes, places, streaming, damage, wrapping. All rows are
written by hand."""

import gzip
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hitpath.core import InputError
from hitpath.traces import Trace, read_trace
from hitpath.traces.files import expand
from hitpath.traces.sources import Input
from hitpath.traces.tabular import ParquetTable

HEADER = ["arrival_s", "id", "prompt_tokens", "session"]
ROWS = [[str(i), f"r{i}", str(100 + i), f"s{i % 3}"] for i in range(5)]


def csv_of(rows: list[list[str]], delimiter: str = ",", end: str = "\n") -> str:
    return "".join(delimiter.join(cells) + end for cells in rows)


PLAIN = csv_of([HEADER, *ROWS])


def put(path: Path, content: str | bytes) -> str:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def parquet(path: Path, table: Any, **options: Any) -> str:
    pq.write_table(table if isinstance(table, pa.Table) else pa.table(table), path, **options)
    return str(path)


def refusal(path: str, **options: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        read_trace([path], **options)
    assert str(caught.value).isprintable(), "one line, no control characters"
    return caught.value


def told(trace: Trace) -> list[tuple[str, float, int, str | None]]:
    sessions = [trace.session.of(i) for i in range(len(trace))]
    numbers = (trace.arrival_s.tolist(), trace.prompt_tokens.tolist())
    return list(zip(trace.ids, *numbers, sessions, strict=True))


EXPECTED = [(f"r{i}", float(i), 100 + i, f"s{i % 3}") for i in range(5)]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n", "\n  \n"])
@pytest.mark.parametrize("begin", ["", "\ufeff", "\n\n"])
def test_every_delimiter_and_line_end_gives_the_same_rows(tmp_path, delimiter, end, begin):
    path = put(tmp_path / "t.csv", begin + csv_of([HEADER, *ROWS], delimiter, end))
    assert told(read_trace([path])) == EXPECTED


@pytest.mark.parametrize(
    "content",
    [
        PLAIN[:-1],
        "".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in [HEADER, *ROWS]),
        csv_of([["", *HEADER], *([str(i), *row] for i, row in enumerate(ROWS))]),
        csv_of([[f" {name} " for name in HEADER], *ROWS]),
        csv_of([HEADER, *([a, b, f" {c}.0 ", d] for a, b, c, d in ROWS)]),
    ],
    ids=["no last end", "quoted", "an unnamed index", "spaces", "floats"],
)
def test_what_other_tools_write_is_read(tmp_path, content):
    assert told(read_trace([put(tmp_path / "t.csv", content)])) == EXPECTED


def test_a_parquet_file_gives_the_same_rows(tmp_path):
    columns = dict(zip(HEADER, map(list, zip(*ROWS, strict=True)), strict=True))
    typed = {**columns, "arrival_s": list(range(5)), "prompt_tokens": list(range(100, 105))}
    assert told(read_trace([parquet(tmp_path / "t.parquet", typed)])) == EXPECTED
    assert told(read_trace([parquet(tmp_path / "words.parquet", columns)])) == EXPECTED


def test_text_in_quotes_keeps_every_byte_of_its_lines(tmp_path):
    prompts = ["one\n\n \ntwo", 'say ""hi"", they said', "tab\there; semi", "\u00fcnder"]
    lines = [f'{i},"{text}"\n' for i, text in enumerate(prompts)]
    trace = read_trace([put(tmp_path / "t.csv", "arrival_s,prompt\n" + "\n".join(lines))])
    runs = trace.prompts
    for i, text in enumerate(prompts):
        found = bytes(runs.flat[runs.offsets[i] : runs.offsets[i + 1]].tolist()).decode()
        assert found == text.replace('""', '"')


def test_a_field_longer_than_the_csv_module_allows_by_itself_is_read(tmp_path):
    long = "x" * 300_000
    trace = read_trace([put(tmp_path / "t.csv", f"arrival_s,prompt\n0,{long}\n1,{long}\n")])
    assert trace.prompt_tokens.tolist() == [300_000, 300_000]


BROKEN = [
    (b"1,b\n", "2 fields; the header names 3 columns"),
    (b"1,b,7,8\n", "4 fields"),
    (b'1,"b"x,7\n', "not CSV"),
    (b"1,b\xff,7\n", "not valid UTF-8"),
    (b"1,b,seven\n", "'seven' is not a number"),
    (b"1,b,7.5\n", "'7.5' is not a whole number"),
    (b"1,b,-7\n", "-7 is not a count"),
    (b"x,b,7\n", "'x' is not a number"),
    (b"1,b,\n", "needs exactly one of"),
    (b"1,a,7\n", "'a' stands at"),
]


@pytest.mark.parametrize(("row", "cause"), BROKEN, ids=[cause for _, cause in BROKEN])
def test_a_broken_row_is_named_and_may_be_skipped(tmp_path, row, cause):
    content = b'arrival_s,id,prompt_tokens\n\n0,"a",1\n\n' + row + b"2,c,3\n"
    path = put(tmp_path / "t.csv", content)
    error = refusal(path)
    assert error.place == f"{path}:5"
    assert cause in error.cause
    trace = read_trace([path], skip_bad_rows=True)
    assert trace.ids == ("a", "c")
    assert [(problem.place, problem.cause) for problem in trace.skipped] == [
        (error.place, error.cause)
    ]


def test_a_row_after_one_of_several_lines_has_its_own_line_as_its_place(tmp_path):
    path = put(tmp_path / "t.csv", 'arrival_s,prompt\n0,"a\n\nb"\n1,c\nx,d\n')
    assert refusal(path).place == f"{path}:6"


def test_a_quote_that_is_never_closed_is_told_where_it_opens(tmp_path):
    path = put(tmp_path / "t.csv", 'arrival_s,prompt\n0,a\n1,"b\n2,c\n3,d\n')
    error = refusal(path)
    assert (error.place, "unexpected end" in error.cause) == (f"{path}:3", True)
    assert len(read_trace([path], skip_bad_rows=True)) == 1


def test_an_unclosed_quote_does_not_swallow_a_whole_large_file(tmp_path):
    path = put(tmp_path / "t.csv", b'arrival_s,prompt\n0,"a\n' + b"1,b\n" * (20 << 20))
    assert "field larger than" in refusal(path).cause


@pytest.mark.parametrize("header", [b'arrival_s,"prompt\n', b"arrival_s,\xff\xfe\n", b",\n"])
def test_what_is_no_header_is_refused_at_its_line(tmp_path, header):
    path = put(tmp_path / "t.csv", header + b"0,1\n")
    assert refusal(path).place == f"{path}:1"


def test_a_mapping_of_something_without_columns_is_refused(tmp_path):
    error = refusal(put(tmp_path / "t.csv", b"\xff\xfa\n0,1\n"), mapping=["prompt_tokens=n"])
    assert "neither JSON nor a line with the names of columns" in error.cause


def test_a_table_without_rows_has_no_requests(tmp_path):
    assert "no request left" in refusal(put(tmp_path / "t.csv", csv_of([HEADER]))).cause
    empty = parquet(tmp_path / "t.parquet", {"arrival_s": [], "prompt_tokens": []})
    assert "no request left" in refusal(empty).cause
    full = put(tmp_path / "full.csv", PLAIN)
    assert told(read_trace([empty, full])) == EXPECTED


def zstd(data: bytes) -> bytes:
    packed = pa.compress(data, codec="zstd", asbytes=True)
    assert isinstance(packed, bytes)
    return packed


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv.gz", gzip.compress(PLAIN.encode(), mtime=0)),
        ("t.csv.zst", zstd(PLAIN.encode())),
        ("t.tsv", csv_of([HEADER, *ROWS], "\t").encode()),
        ("t.txt", PLAIN.encode()),
        ("no ending", PLAIN.encode()),
    ],
)
def test_the_content_says_what_a_file_is(tmp_path, name, content):
    assert told(read_trace([put(tmp_path / name, content)])) == EXPECTED


def test_folders_and_globs_of_tables_are_read_in_the_order_of_their_names(tmp_path):
    for i, name in enumerate(("a.csv", "b.csv.gz")):
        part = csv_of([HEADER, *ROWS[i * 2 : i * 2 + 2]]).encode()
        put(tmp_path / name, gzip.compress(part, mtime=0) if name.endswith("gz") else part)
    put(tmp_path / "README.txt", "hello")
    parquet(
        tmp_path / "c.parquet",
        {"arrival_s": [4], "id": ["r4"], "prompt_tokens": [104], "session": ["s1"]},
    )
    expected = [*EXPECTED[:4], EXPECTED[4]]
    assert told(read_trace([str(tmp_path)])) == expected
    assert told(read_trace([str(tmp_path / "[abc].*")])) == expected


def test_a_table_beside_json_traces_in_a_folder_is_not_taken_for_a_trace(tmp_path):
    put(tmp_path / "t.jsonl", '{"id": "j", "arrival_s": 0, "tokens": [1]}\n')
    put(tmp_path / "results.csv", "model,rate\nm,0.5\n")
    parquet(tmp_path / "ledger.parquet", {"request": ["a"]})
    assert read_trace([str(tmp_path)]).ids == ("j",)


def from_stdin(monkeypatch: pytest.MonkeyPatch, content: bytes, **options: Any) -> Trace:
    read_end, write_end = os.pipe()
    os.write(write_end, content)
    os.close(write_end)
    with os.fdopen(read_end) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        return read_trace(["-"], **options)


def test_csv_is_read_from_standard_input(monkeypatch):
    assert told(from_stdin(monkeypatch, PLAIN.encode())) == EXPECTED


def a_parquet_file(folder: Path) -> bytes:
    path = parquet(folder / "whole.parquet", {"arrival_s": [0, 1], "prompt_tokens": [1, 2]})
    return Path(path).read_bytes()


def test_parquet_is_refused_where_its_end_cannot_be_read_first(tmp_path, monkeypatch):
    content = a_parquet_file(tmp_path)
    with pytest.raises(InputError, match="read from its end") as caught:
        from_stdin(monkeypatch, content)
    assert caught.value.place == "stdin"
    for name, packed in (
        ("t.parquet.gz", gzip.compress(content, mtime=0)),
        ("t.parquet.zst", zstd(content)),
    ):
        assert "read from its end" in refusal(put(tmp_path / name, packed)).cause
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(content))
    writer.start()
    assert "read from its end" in refusal(str(pipe)).cause
    writer.join()


def test_a_cut_or_overwritten_parquet_file_is_refused_with_its_name(tmp_path):
    content = a_parquet_file(tmp_path)
    for name, damaged in (
        ("cut.parquet", content[:-9]),
        ("magic.parquet", content[:4]),
        ("footer.parquet", content[:-60] + b"\0" * 52 + content[-8:]),
    ):
        error = refusal(put(tmp_path / name, damaged), skip_bad_rows=True)
        assert name in error.place
        assert "Parquet" in error.cause


def test_parquet_is_read_batch_by_batch_over_all_row_groups(tmp_path):
    number = 2_000
    table = {
        "arrival_s": list(range(number)),
        "block_keys": [[i % 7, i] for i in range(number)],
        "block_size": [16] * number,
        "prompt_tokens": [32] * number,
    }
    path = parquet(tmp_path / "t.parquet", table, row_group_size=700)
    seen: list[tuple[int, int]] = []
    trace = read_trace([path], progress=lambda stage, done, total: seen.append((done, total)))
    assert trace.ids == tuple(map(str, range(number)))
    assert trace.prompts.flat.reshape(-1, 2).tolist() == table["block_keys"]
    assert len(seen) > 5
    assert seen[-1] == (number, number)


def test_a_row_group_does_not_stand_in_memory_as_a_whole(tmp_path):
    rows = 20_000
    words = pa.array([f"{i:0>2000}" for i in range(rows)])
    table = pa.table({"prompt": words, "arrival_s": list(range(rows))})
    path = parquet(tmp_path / "t.parquet", table, compression="none", use_dictionary=False)
    assert Path(path).stat().st_size > 40_000_000
    del table, words
    before = pa.total_allocated_bytes()
    (source,) = expand([path])
    found = ParquetTable(Input(source)).rows(["prompt", "arrival_s"], pytest.fail)
    assert next(found)[1]["prompt"] == "0" * 2000
    assert pa.total_allocated_bytes() - before < 10_000_000
    assert sum(1 for _ in found) == rows - 1


def test_only_the_columns_that_are_needed_are_read(tmp_path):
    """The last column is damaged on disk, and nobody asks for it."""
    table = {"arrival_s": [0, 1], "prompt_tokens": [1, 2], "notes": ["fine " * 500] * 2}
    path = parquet(
        tmp_path / "t.parquet", table, compression="none", use_dictionary=False,
        write_page_checksum=True,
    )  # fmt: skip
    content = Path(path).read_bytes().replace(b"fine fine", b"fine FINE")
    trace = read_trace([put(tmp_path / "damaged.parquet", content)])
    assert trace.prompt_tokens.tolist() == [1, 2]
    assert "columns not read: notes" in trace.notes
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        read_trace([str(tmp_path / "damaged.parquet")], mapping=["model=notes"])


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Tokyo"])
def test_columns_of_times_need_no_unit(tmp_path, unit, zone):
    per_s = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    moments = pa.array([1_700_000_000 * per_s, 1_700_000_002 * per_s], pa.timestamp(unit, zone))
    spans = pa.array([None, 3 * per_s], pa.duration(unit))
    table = pa.table({"when": moments, "prompt_tokens": [1, 2], "first": spans})
    path = parquet(tmp_path / "t.parquet", table)
    trace = read_trace([path], mapping=["arrival_s=when", "reported.ttft_s=first"])
    assert trace.arrival_s.tolist() == [1_700_000_000, 1_700_000_002]
    assert str(trace.ttft_s.tolist()) == "[nan, 3.0]"
    ending = ["arrival_s=when:iso", "reported.ttft_s=first:ms"]
    assert read_trace([path], mapping=ending).arrival_s.tolist() == trace.arrival_s.tolist()


def test_nanoseconds_are_no_obstacle(tmp_path):
    moments = pa.array([1_700_000_000_123_456_789], pa.timestamp("ns"))
    path = parquet(tmp_path / "t.parquet", pa.table({"when": moments, "prompt_tokens": [1]}))
    arrival_s = read_trace([path], mapping=["arrival_s=when"]).arrival_s[0]
    assert arrival_s == pytest.approx(1_700_000_000.123456789, abs=1e-6)


@pytest.mark.parametrize(
    ("array", "cause"),
    [
        (pa.array([True, False]), "True is not a number"),
        (pa.array([1.5, 2.0]), "1.5 is not a whole number"),
        (pa.array([b"1", b"2"]), "is not a number"),
        (pa.array([[1], [2]]), "is not a number"),
        (pa.array([1, 2], pa.date32()), "is not a number"),
        (pa.array([1, 2], pa.timestamp("s")), "is not a number"),
        (pa.array([-1, 2]), "-1 is not a count"),
        (pa.array([2**63, 2], pa.uint64()), "is not a count"),
    ],
    ids=str,
)
def test_a_column_of_another_type_is_refused_in_its_first_row(tmp_path, array, cause):
    table = pa.table({"arrival_s": [0, 1], "prompt_tokens": array})
    path = parquet(tmp_path / "t.parquet", table)
    error = refusal(path)
    assert error.place == f"{path}:1"
    assert error.field == "prompt_tokens"
    assert cause in error.cause


def test_a_column_that_stands_twice_is_refused(tmp_path):
    names = ["arrival_s", "prompt_tokens", "arrival_s"]
    table = pa.Table.from_arrays([pa.array([0])] * 3, names=names)
    for path in (
        parquet(tmp_path / "t.parquet", table),
        put(tmp_path / "t.csv", csv_of([names, ["0", "1", "2"]])),
    ):
        error = refusal(path)
        assert (error.field, error.cause) == ("arrival_s", "two columns have this name")


def test_dictionaries_and_large_types_are_only_other_wrappings(tmp_path):
    table = pa.table(
        {
            "arrival_s": pa.array([0, 1], pa.decimal128(5, 0)).cast(pa.float32()),
            "prompt_tokens": pa.array([1, 2], pa.uint8()),
            "session": pa.array(["s", None]).dictionary_encode(),
            "tenant": pa.array(["t", "t"], pa.large_string()),
            "model": pa.array([b"m", b"m"]),
        }
    )
    trace = read_trace([parquet(tmp_path / "t.parquet", table)])
    assert [trace.session.of(i) for i in (0, 1)] == ["s", None]
    assert trace.tenant.names == ("t",)
    assert trace.model.names == ("m",)

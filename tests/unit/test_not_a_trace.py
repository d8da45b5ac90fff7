"""Files that are no trace, or not yet: each told by what it is, and none read whole to find out."""

import json
from itertools import chain, repeat
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli import call
from hitpath.core import InputError
from hitpath.traces import container_logs, read_trace, sources
from hitpath.traces.decode import is_beginning_of_json, other_encoding
from hitpath.traces.files import Source
from hitpath.traces.sources import Input

ROW = '{"id": "a", "arrival_s": 0, "tokens": [1, 2, 3]}'
ROWS = [{"id": str(i), "arrival_s": i, "tokens": [1] * 32 + [i]} for i in range(3)]


def refusal(path: Path, **options: object) -> InputError:
    with pytest.raises(InputError) as caught:
        read_trace([str(path)], **options)  # type: ignore[arg-type]
    assert str(caught.value).isprintable()
    return caught.value


# Other encodings


@pytest.mark.parametrize("skip_bad_rows", [False, True])
@pytest.mark.parametrize(
    ("encoding", "told"),
    [
        ("utf-16", "UTF-16"),
        ("utf-16-le", "UTF-16LE"),
        ("utf-16-be", "UTF-16BE"),
        ("utf-32", "UTF-32"),
    ],
)
@pytest.mark.parametrize(
    "text",
    [
        ROW,
        "arrival_s,prompt_tokens\r\n0,1\r\n",
        "INFO 11-10 11:42:50 Engine 000: Prefix cache hit rate: 98.6%",
        '[{"id": 1}]',
    ],
)
def test_text_that_powershell_wrote_is_named(tmp_path, text, encoding, told, skip_bad_rows):
    path = tmp_path / "t.jsonl"
    path.write_bytes((text + "\n").encode(encoding))
    error = refusal(path, skip_bad_rows=skip_bad_rows)
    cause = f"is {told}, as PowerShell's > writes it, not UTF-8: iconv -f {told} -t UTF-8 FILE"
    assert (error.place, error.cause) == (str(path), cause)
    assert refusal(path, mapping=["prompt_tokens=n"]).cause == cause


@pytest.mark.parametrize(
    "beginning",
    [
        b"",
        b"\0\0",
        b"\0\0\0\0",
        b"\1\0\2\0\3\0",
        b"ab",
        ROW.encode(),
        "é漢".encode(),
        b"a\0b\0" * 99,
    ],
)
def test_other_bytes_are_not_called_so(beginning):
    is_it = beginning.startswith(b"a\0")
    assert (other_encoding(beginning) is not None) == is_it


def test_a_note_of_a_folder_may_be_in_any_encoding(tmp_path):
    (tmp_path / "README.txt").write_bytes("A note.\n".encode("utf-16"))
    (tmp_path / "m.txt").write_text('vllm:prefix_cache_hits_total{engine="0"} 1.0\n')
    assert call("analyze", tmp_path).code == 0


# Parquet


def test_a_parquet_file_that_is_cut_off_is_named(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"arrival_s": [0.0], "prompt_tokens": [1]}), path)
    data = path.read_bytes()
    for size in (4, 7, 8, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:size])
        error = refusal(path)
        assert error.cause == (
            f"is cut off: Parquet ends with PAR1, this file of {size:,} bytes does not"
        )
        ended = call("query", path, "SELECT 1")
        assert (ended.code, ended.err.count("\n")) == (2, 1)


def test_decimal_numbers_are_numbers(tmp_path):
    """Databases keep counts and times as decimals (Decimal128, Decimal256)."""
    from decimal import Decimal as D

    path = tmp_path / "t.parquet"
    columns = {
        "id": pa.array([D(7), D(8)], pa.decimal128(20, 0)),
        "arrival_s": pa.array([D("1.50"), D("2.25")], pa.decimal256(40, 2)),
        "tokens": pa.array([[D(1), D(2)], [D(3)]], pa.list_(pa.decimal128(10, 0))),
        "turn": pa.array([None, D("2.00")], pa.decimal128(10, 2)),
        "reported": pa.array(
            [{"cached_tokens": D(1)}, {"cached_tokens": None}],
            pa.struct([("cached_tokens", pa.decimal128(5, 0))]),
        ),
    }
    pq.write_table(pa.table(columns), path)
    trace = read_trace([str(path)])
    assert trace.ids == ("7", "8")
    assert trace.arrival_s.tolist() == [1.5, 2.25]
    assert trace.prompts.flat.tolist() == [1, 2, 3]
    assert trace.turn.tolist() == [-1, 2]
    assert trace.reported_hit.tolist() == [1, -1]
    columns["tokens"] = pa.array([[D("1.5")], [D(3)]], pa.list_(pa.decimal128(10, 1)))
    pq.write_table(pa.table(columns), path)
    assert refusal(path).field == "tokens[0]"


# What hitpath itself wrote


@pytest.fixture
def outputs(tmp_path) -> Path:
    trace = tmp_path / "t.jsonl"
    trace.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    names = {"--json": "o.json", "--per-request": "o.jsonl", "--ledger": "o.parquet"}
    options = [x for option, name in names.items() for x in (option, tmp_path / name)]
    assert call("analyze", trace, *options).code == 0
    return tmp_path


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("o.json", "is a result of hitpath (hitpath.analysis/1), and no trace"),
        ("o.jsonl", "is what `hitpath analyze --per-request` writes, and no trace"),
        ("o.parquet", "is a ledger, as `hitpath analyze --ledger` writes it, and no trace: ask it"),
        ("o.csv", "is a ledger"),
    ],
)
@pytest.mark.parametrize("command", ["analyze", "convert", "explain"])
def test_our_own_results_are_known(outputs, name, cause, command):
    table = pq.read_table(outputs / "o.parquet")
    (outputs / "o.csv").write_text(
        ",".join(table.column_names) + "\n" + ",".join("0" for _ in table.column_names) + "\n"
    )
    words = {
        "analyze": ["analyze", outputs / name],
        "convert": ["convert", outputs / name, "--out", outputs / "x.jsonl"],
        "explain": ["explain", "1", outputs / name],
    }[command]
    ended = call(*words)
    assert ended.code == 2
    assert cause in ended.err
    assert "hitpath query LEDGER" in ended.err or name not in ("o.parquet", "o.csv")


def test_a_ledger_can_be_read_where_a_mapping_says_so(outputs):
    maps = ["--map", "reported.cached_tokens=hit_tokens", "--map", "excluded="]
    ended = call("analyze", outputs / "o.parquet", *maps)
    assert (ended.code, ended.err) == (0, "")


# No file is read whole for what is only looked for


class Endless(Input):
    """A source whose lines never end, and are counted."""

    def __init__(self, first: bytes, then: bytes) -> None:
        super().__init__(Source("endless", None))
        self.num = 0
        lines = chain([first], repeat(then))
        self._rest = container_logs.unwrapped(enumerate(map(self._counted, lines), 1))

    def _counted(self, line: bytes) -> bytes:
        self.num += 1
        return line


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (b"{bad\n", b"{bad}\n"),
        (b"{bad\n", b"\n"),
        (b'{"id": 1, "arr\n', b"{bad}\n"),
        (b'{"a": [\n', b"{bad}\n"),
        (b"[1,\n", b"x\n"),
        (b"x\n", b"x\n"),
        (b"x\n", b"\n"),
    ],
)
@pytest.mark.parametrize("skip_bad_rows", [False, True])
def test_a_broken_first_row_does_not_have_all_read(monkeypatch, first, then, skip_bad_rows):
    """It may be the beginning of one document over several lines, which stands in memory."""
    from hitpath.traces.detect import find_format, statistics_in

    monkeypatch.setattr(sources, "_MOST_PEEKED", 5_000)
    source = Endless(first, then)
    monkeypatch.setattr(source._stream, "beginning", lambda: b"")
    assert not statistics_in([source])
    if skip_bad_rows:
        assert find_format(source, True) is None
        assert source.problem is not None
        assert "none of the rows looked at" in source.problem.cause
    else:
        with pytest.raises(InputError):
            find_format(source, False)
    assert source.num <= 5_001


def test_blank_lines_before_the_first_are_not_kept():
    lines = enumerate(chain(repeat(b"\n", 10**6), [b"x\n"]), 1)
    source = Endless(b"x\n", b"x\n")
    source._rest = container_logs.unwrapped(lines)
    assert next(source.peek()) == (10**6 + 1, b"x")
    assert len(source._head) == 1


def test_a_good_row_behind_some_bad_ones_is_still_found(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text("{bad\n" * 50_000 + "\n" * 50_000 + ROW + "\n")
    trace = read_trace([str(path)], skip_bad_rows=True)
    assert (len(trace), trace.skipped.num, len(trace.skipped)) == (1, 50_000, 10_000)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        (b"{", True),
        (b'{"requests": [\n{"t": 0},\n', True),
        (b'{"a": "b', True),
        (b"{bad", False),
        (b'{"a": 1}\n{"b": 2}', False),
        (b'{"a": 1}', False),
        (b'{"a": 1,\n{"b": 2}', False),
        (b"[" * 5000, False),
    ],
)
def test_the_beginning_of_a_document(text, is_one):
    assert is_beginning_of_json(text) == is_one


def test_a_document_over_several_lines_is_read_whatever_its_size(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "_DOCUMENT_BYTES", 50)
    monkeypatch.setattr(sources, "_MOST_PEEKED", 5)
    session = {
        "id": "s",
        "block_size": 64,
        "requests": [{"t": i, "in": 64, "hash_ids": [1]} for i in range(9)],
    }
    path = tmp_path / "t.json"
    path.write_text(json.dumps(session, indent=1))
    assert len(read_trace([str(path)])) == 9

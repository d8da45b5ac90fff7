"""Ids and bytes that are put one behind the other as they are read, and lists parsed in batches."""

import gzip
import json

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitpath.core import InputError
from hitpath.traces import read_trace
from hitpath.traces.in_sequence import InSequence, reserved
from hitpath.traces.integers import IdParser
from hitpath.traces.table import encode_labels, runs_of

NUMBERS = st.integers(0, 30) | st.integers(0, 2**64 - 1)
LISTS = st.lists(
    st.lists(NUMBERS, max_size=6).map(json.dumps)
    | st.sampled_from(
        ["[ 1 ,2\t]", "[01]", "[-1]", "[1.5]", "null", "[1, ]", "[99999999999999999999]", "[1\n]"]
    ),
    max_size=8,
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(LISTS, max_size=4), st.sampled_from([0, 40, 4000]), st.booleans())
def test_lists_in_a_batch_are_those_by_themselves(batches, text_bytes, passing):
    parser, alone = IdParser(text_bytes, passing), IdParser(0)
    for batch in batches:
        found = parser.parse_all([msgspec.Raw(text.encode()) for text in batch])
        for text, ids in zip(batch, found, strict=True):
            try:
                expected = alone.parse(msgspec.Raw(text.encode()), "ids", "t").tolist()
            except InputError:
                assert ids is None
            else:
                if ids is None:  # not a plain list, but one of integers
                    ids = alone.parse_slowly(msgspec.Raw(text.encode()), "ids", "t")
                assert ids.tolist() == expected


def mooncake(number: int) -> str:
    ids = list(range(number, number + 3))
    return json.dumps({"timestamp": number, "input_length": 48, "hash_ids": ids, "block_size": 16})


def test_mooncake_in_batches(tmp_path):
    """Some 1,500 rows are several batches; a bad row is told with its place, the others stay."""
    rows = [mooncake(i) for i in range(1500)]
    rows[700] = rows[700].replace("[700,", '[700, "x",')
    rows[701] = rows[701][:-1]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(rows))
    with pytest.raises(InputError) as caught:
        read_trace([str(path)])
    assert (caught.value.place, caught.value.field) == (f"{path}:701", "hash_ids[1]")
    trace = read_trace([str(path)], skip_bad_rows=True)
    kept = [i for i in range(1500) if i not in (700, 701)]
    assert [problem.place for problem in trace.skipped] == [f"{path}:701", f"{path}:702"]
    assert trace.arrival_s.tolist() == [i / 1000 for i in kept]
    assert trace.prompts.flat.reshape(-1, 3).tolist() == [[i, i + 1, i + 2] for i in kept]


def test_what_does_not_fit_goes_into_further_chunks():
    sequence = InSequence(10)
    texts = [b"abc", b"defg", b"hijk", b"", b"l"]
    rows = [sequence.add(text) for text in texts]
    assert [row.tobytes() for row in rows] == texts
    assert rows[0].base is rows[1].base is not rows[2].base
    assert runs_of(rows, np.uint8, in_sequence=True).flat.tobytes() == b"".join(texts)


def test_prompts_of_text_are_not_copied(tmp_path):
    """Of a compressed file the size of the text is not known: then they are, once."""
    rows = [
        {"timestamp": i, "input": f"{i} " * 200, "output": "", "session_id": "s"} for i in range(40)
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path, zipped = tmp_path / "t.jsonl", tmp_path / "z.jsonl.gz"
    path.write_text(text)
    zipped.write_bytes(gzip.compress(text.encode()))
    trace, other = read_trace([str(path)]), read_trace([str(zipped)])
    assert trace.prompts.flat.base is not None
    assert len(trace.prompts.flat.base) == len(text)
    assert trace.prompts.flat.tobytes() == "".join(row["input"] for row in rows).encode()
    assert trace.prompts.flat.tobytes() == other.prompts.flat.tobytes()


def test_memory_that_is_not_there_is_not_reserved():
    assert len(reserved(1 << 50, np.uint64)) == 0
    assert len(reserved(3, np.uint64)) == 3


def test_rows_in_sequence_of_another_type_are_converted():
    sequence = InSequence(10)
    rows = [sequence.add(b"ab"), sequence.add(b"c")]
    flat = runs_of(rows, np.uint32, in_sequence=True).flat
    assert (flat.dtype, flat.tolist()) == (np.uint32, [97, 98, 99])


def test_a_label_that_no_row_has():
    labels = encode_labels([None, None])
    assert (labels.codes.tolist(), labels.names) == ([-1, -1], ())

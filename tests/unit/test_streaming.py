"""Files larger than memory: arrays are read element by element. (Peak memory: test_peak_memory.)"""

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitpath.core import InputError
from hitpath.traces import json_array, open_inputs, read_trace
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


_FEW_OPEN = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
from hitpath.traces import open_inputs, read_trace
from hitpath.traces.detect import statistics_in
inputs = open_inputs(sys.argv[1:])
assert not statistics_in(inputs)
print(len(read_trace(sys.argv[1:], inputs=inputs)))
"""


@pytest.mark.parametrize("indent", [None, 1])
def test_a_folder_of_more_files_than_may_be_open(tmp_path, indent):
    for i in range(100):
        session = {
            "id": f"s{i}",
            "block_size": 64,
            "requests": [{"t": 1, "in": 64, "hash_ids": [1]}],
        }
        (tmp_path / f"s{i}.json").write_text(json.dumps(session, indent=indent) + "\n")
    command = [sys.executable, "-c", _FEW_OPEN, str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr) == ("100\n", "")


def test_a_file_that_was_only_looked_at_is_read_from_its_beginning(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(shared(i)) + "\n" for i in range(3)))
    (source,) = open_inputs([str(path)])
    looked_at = next(source.peek())
    source.release()
    assert [line for _, line in source.lines()] == path.read_bytes().splitlines()
    assert looked_at == (1, path.read_bytes().splitlines()[0])

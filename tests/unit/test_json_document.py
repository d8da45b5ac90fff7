"""A large JSON object in pieces: against the standard library's reading of the whole text."""

import json
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitpath.traces import json_document
from hitpath.traces.json_document import large_object, parts

EACH = ("runs[].requests.ok", "runs[].requests.bad", "rows")
KEEP = ("runs[].totals", "name")
WAYS = ("", "runs", "runs[]", "runs[].requests")

SCALAR = st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.just('"\\,:[]{}')
JSON = st.recursive(
    SCALAR,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
REQUESTS = st.fixed_dictionaries(
    {"ok": st.lists(JSON, max_size=4)}, optional={"bad": st.lists(JSON, max_size=3), "x": JSON}
)
RUN = st.fixed_dictionaries({"requests": REQUESTS | JSON}, optional={"totals": JSON, "x": JSON})
DOCUMENT = st.fixed_dictionaries(
    {}, optional={"runs": st.lists(RUN, max_size=3) | JSON, "rows": JSON, "name": JSON, "x": JSON}
)


def expected(value: Any, path: str, plain: str, found: list[tuple[str, str, Any]]) -> Any:
    """The rest of a document, its elements into `found`, the obvious way."""
    if plain in EACH and isinstance(value, list):
        found += [(plain, f"{path}[{i}]", v) for i, v in enumerate(value)]
        return []
    if plain in WAYS and isinstance(value, dict):
        dot = "." if path else ""
        return {
            k: expected(v, f"{path}{dot}{k}", f"{plain}{dot}{k}", found) for k, v in value.items()
        }
    if plain in WAYS and isinstance(value, list):
        return [expected(v, f"{path}[{i}]", f"{plain}[]", found) for i, v in enumerate(value)]
    return value if plain in (*WAYS, *EACH, *KEEP) else None


@settings(max_examples=300, deadline=None)
@given(
    st.lists(DOCUMENT, min_size=1, max_size=3),
    st.sampled_from([None, 0, 2]),
    st.integers(1, 50),
    st.booleans(),
)
def test_pieces_are_those_of_the_whole(documents, indent, chunk_bytes, ascii_only):
    texts = [json.dumps(d, indent=indent, ensure_ascii=ascii_only) for d in documents]
    stream = BytesIO("\n".join(texts).encode())
    stream.read = lambda _, read=stream.read: read(chunk_bytes)  # type: ignore[method-assign]
    told: list[tuple[str, str, Any]] = []
    for document in documents:
        rest = expected(document, "", "", told)
        told.append(("", "", rest))
    assert [(p.array, p.path, json.loads(p.text)) for p in parts(stream, "t", EACH, KEEP)] == told


@pytest.mark.parametrize("at", range(1, 60))
def test_an_object_that_is_cut_off_anywhere_is_refused(at):
    """A piece that is no JSON comes last; those before are right."""
    text = b'{"name": "n", "rows": [{"a": 1}, {"b": "]"}], "x": [1, 2]}'
    assert len(text) == 58
    found = list(parts(BytesIO(text[:at]), "t", EACH, KEEP))
    whole = [part for part in found if part.array]
    assert [p.text for p in whole[:-1]] == [b'{"a": 1}', b'{"b": "]"}'][: max(0, len(whole) - 1)]
    if at < 58:
        with pytest.raises(json.JSONDecodeError):
            json.loads(found[-1].text)


@pytest.mark.parametrize(
    ("text", "rests"),
    [
        (b'{"a": 1} x\n{"name": 2}', ['{"a":null}', "x", '{"name":2}']),
        (b'{"a": 1}\n\n \x00\n', ['{"a":null}', "\x00"]),
        (b'{"a": 1}]', ['{"a":null}', "]"]),
        (b'\xef\xbb\xbf{"name": 1}', ['{"name":1}']),
        (b"", []),
        (b"{]", ["{]"]),
        (b"{,}", ["{,}"]),
        (b'{"name"}', ['{"name"}']),
        (b'{"rows": [1,,2]}', ['{"rows":[]}']),
        (b'{"rows": [1}, 2]', ['{"rows":[},2]']),
    ],
)
def test_what_is_wrong(text, rests):
    found = [part.text.decode() for part in parts(BytesIO(text), "t", EACH, KEEP) if not part.array]
    assert [rest.replace(" ", "") for rest in found] == rests


@pytest.mark.parametrize("name", ["", ".", "runs[]", "runs[].requests", "[]", "\u0000"])
def test_a_name_is_no_path(name):
    """Nor is a name of an object inside taken for one at the top."""
    inner = {"rows": [1], "name": 2, "runs": [{"requests": {"ok": [1]}}], "requests": {"ok": [1]}}
    for document in ({name: inner}, {"runs": [{name: inner, "requests": {name: [1]}}]}):
        (part,) = parts(BytesIO(json.dumps(document).encode()), "t", EACH, KEEP)
        assert "1" not in part.text.decode()


def test_places_are_lines():
    text = b'\n{"rows": [1,\n2]}\n{"rows": [3]}\n'
    found = [(p.place, p.path) for p in parts(BytesIO(text), "t", EACH, KEEP)]
    first = [("t:2", "rows[0]"), ("t:2", "rows[1]"), ("t:2", "")]
    assert found == [*first, ("t:4", "rows[0]"), ("t:4", "")]


@pytest.mark.parametrize(
    ("head", "names"),
    [
        (b'{"a": [1, {"c": 2}, "b', {"a": "["}),
        (b' {"a": 1, "b\\u0063": "x", "d', {"a": "1", "bc": '"'}),
        (b'{"a":', {"a": ""}),
        (b"{", {}),
        (b'{"a": 1}', None),
        (b"{}", None),
        (b"[1", None),
        (b"", None),
        (b'{"a": 1]', None),
    ],
)
def test_what_a_large_object_begins_with(head, names):
    assert large_object(head) == names


def test_what_nobody_reads_is_not_kept(monkeypatch):
    monkeypatch.setattr(json_document, "_CHUNK_BYTES", 64)
    text = json.dumps({"x": "y" * 10_000, "name": "n"}).encode()
    (part,) = parts(BytesIO(text), "t", EACH, KEEP)
    assert part.text == b'{"x":null, "name":"n"}'

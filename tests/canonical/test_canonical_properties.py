"""Canonical forms change no meaning, twice is as once, and every change is exact.

The meaning is read back by Python's own json and unicodedata, and by a plain inverse written here.
"""

import copy
import json
import re
import string
import unicodedata
from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hitpath.canonical import (
    Options,
    apply_changes,
    canonical_json,
    canonical_json_text,
    canonical_request,
    coarsen_clock,
    compose,
    find_volatile,
    json_text_kept,
    kept_stretches,
    normalise_space,
    normalise_unicode,
    stable_tools,
    volatile_to_tail,
)
from hitpath.canonical.change import Change

CHARACTERS = st.sampled_from(
    "aB3 \t\r\n\u00a0\u200b\u200d\u200c\ufeff\u00e9e\u0301\u212a한ᄒ\ud800😀{}[]:,\"'"
)
TEXTS = st.text(CHARACTERS, max_size=30)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), FLOATS, TEXTS)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["b", "a", "required", "enum", "type", "é"]), inner),
    ),
    max_leaves=12,
)
SNIPPETS = st.sampled_from(
    [
        "Current time: 2025-03-03 14:22:31.5",
        "Today is Monday, March 3, 2025.",
        "now 2:22 PM",
        "[step 12]",
        "request id: 8f21-77",
        "0b9c2f7e-1111-4222-8333-123456789abc",
        "x-anthropic-billing-header: cc_version=2; cch=a1",
        "time=1741011751123",
        "cutoff 2024-01-01",
        "Step 1: read",
        "[clock 2: at the end]",
        "现在 2025年3月3日 下午3时22分",
        "plain words",
        "\n",
        " ",
    ]
)
PROSE = st.lists(SNIPPETS, max_size=8).map(" ".join)


def typed(value: Any) -> Any:
    """A value in which 1, 1.0 and True differ, and keys have no order."""
    if isinstance(value, dict):
        return {key: typed(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [typed(member) for member in value]
    return (type(value).__name__, repr(value))


@given(VALUES)
def test_json_means_the_same_and_is_stable(value: Any) -> None:
    before = copy.deepcopy(value)
    text = canonical_json(value).value
    assert typed(value) == typed(before)
    assert typed(json.loads(text)) == typed(value)
    again = canonical_json(json.loads(text))
    assert again == (text, ())
    text.encode()  # always UTF-8, lone surrogates and all


@given(VALUES, st.randoms())
def test_json_of_one_meaning_is_one_text(value: Any, random: Any) -> None:
    def shuffled(part: Any) -> Any:
        if isinstance(part, dict):
            keys = list(part)
            random.shuffle(keys)
            return {key: shuffled(part[key]) for key in keys}
        return [shuffled(x) for x in part] if isinstance(part, list) else part

    assert canonical_json(shuffled(value)).value == canonical_json(value).value


@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_json_text_agrees_with_json(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    found = canonical_json_text(text)
    if isinstance(value, dict | list):
        assert found.value == canonical_json(value).value
    else:
        assert found == (text, ())
    assert apply_changes(text, found.changes) == found.value
    assert canonical_json_text(found.value) == (found.value, ())
    for kept in json_text_kept(text):
        there = found.value[kept.new_start : kept.new_start + kept.num_chars]
        assert there == text[kept.start : kept.start + kept.num_chars]


@given(TEXTS)
def test_json_inside_any_text(text: str) -> None:
    found = canonical_json_text(text, inside=True)
    assert apply_changes(text, found.changes) == found.value
    assert canonical_json_text(found.value, inside=True) == (found.value, ())


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30))
def test_numbers_keep_their_exact_value(number: Decimal) -> None:
    written = str(number).replace("+", "")
    found = canonical_json_text(f"[{written}]").value[1:-1]
    assert Decimal(found) == number
    is_decimal = bool(set(written) & set(".eE"))
    assert bool(set(found) & set(".eE")) == is_decimal


def plainly_spaced(text: str) -> str:
    """What normalise_space does, the obvious way."""
    while True:
        old = text
        text = re.sub("[\u00ad\u180e\u200b\u2060-\u2064\ufeff]", "", text)
        text = re.sub(
            "(^|[\\s\x00-\x7f])[\u200c\u200d]+|[\u200c\u200d]+($|[\\s\x00-\x7f])", r"\1\2", text
        )
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        text = re.sub("[ \t\u00a0\u2007\u202f]+(?=\n|$)", "", text)
        text = re.sub("[\u00a0\u2007\u202f]", " ", text)
        if text == old:
            return text


@given(TEXTS)
def test_space_is_as_said(text: str) -> None:
    found = normalise_space(text)
    assert found.value == plainly_spaced(text)
    assert apply_changes(text, found.changes) == found.value
    assert normalise_space(found.value) == (found.value, ())
    for kept in kept_stretches(len(text), found.changes):
        there = found.value[kept.new_start : kept.new_start + kept.num_chars]
        assert there == text[kept.start : kept.start + kept.num_chars]


@given(TEXTS)
def test_unicode_is_pythons(text: str) -> None:
    for form in ("NFC", "NFD"):
        found = normalise_unicode(text, form)
        assert found.value == unicodedata.normalize(form, text)
        assert apply_changes(text, found.changes) == found.value


EDITS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 3), st.text("xyz", max_size=4)), max_size=5
)


def edited(text: str, edits: list[tuple[int, int, str]], kind: str) -> list[Change]:
    at, changes = 0, []
    for gap, size, new in edits:
        at += gap
        if at + size > len(text):
            break
        if size or new:
            changes.append(Change(kind, "", at, size, new))
        at += size
    return changes


@given(st.text(string.ascii_uppercase, max_size=20), EDITS, EDITS)
def test_composed_changes_do_what_both_do(text: str, one: Any, other: Any) -> None:
    first = edited(text, one, "first")
    between = apply_changes(text, first)
    second = edited(between, other, "second")
    both = compose(first, second)
    assert apply_changes(text, both) == apply_changes(between, second)


@given(PROSE)
def test_clocks_become_coarser_once(text: str) -> None:
    for unit in ("minute", "hour", "day"):
        found = coarsen_clock(text, unit)
        assert apply_changes(text, found.changes) == found.value
        assert coarsen_clock(found.value, unit) == (found.value, ())


def put_back(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The inverse of volatile_to_tail for messages of plain texts that end with a user's."""
    text, _, block = messages[-1]["content"].partition(
        "\n\n[values of this request, moved here from the instructions above]\n"
    )
    values = dict(line.split(": ", 1) for line in block.split("\n") if line)
    restored = [
        {
            **message,
            "content": re.sub(
                r"\[((?:clock|id|count|attribution) \d+): at the end\]",
                lambda found: values.get(found[1], found[0]),
                message["content"],
            ),
        }
        for message in messages[:-1]
    ]
    return [*restored, {**messages[-1], "content": text}]


ROLES = st.sampled_from(["system", "developer", "user", "assistant", "tool"])


@given(st.lists(st.tuples(ROLES, PROSE), min_size=1, max_size=4), PROSE)
def test_the_tail_can_be_put_back(said: list[tuple[str, str]], question: str) -> None:
    messages = [{"role": role, "content": text} for role, text in said]
    messages.append({"role": "user", "content": "Q " + question})
    found = volatile_to_tail(messages)
    assert put_back(found.value) == messages
    assert volatile_to_tail(found.value) == (found.value, ())
    for message, new in zip(messages, found.value, strict=True):
        if message["role"] in ("system", "developer"):
            assert not [one for one in find_volatile(new["content"]) if one.is_sure]
        elif message is not messages[-1]:
            assert new == message
    for at, message in enumerate(messages):
        here = [c for c in found.changes if c.json_path == f"messages[{at}].content"]
        assert apply_changes(message["content"], here) == found.value[at]["content"]


OPTIONS = st.builds(
    Options,
    tools=st.booleans(),
    keys=st.booleans(),
    sort_required=st.booleans(),
    space=st.booleans(),
    unicode=st.sampled_from([None, "NFC"]),
    json_texts=st.booleans(),
    json_inside=st.booleans(),
    clock=st.sampled_from([None, "hour", "day"]),
    tail=st.booleans(),
    all_texts=st.booleans(),
)
SCHEMAS = st.dictionaries(
    st.sampled_from(["type", "properties", "required", "enum", "description", "default"]),
    st.one_of(PROSE, st.lists(st.sampled_from(["z", "a", "m"]), max_size=3), VALUES),
)
NAMES = st.sampled_from(["search", "book", "Zoo", "a"])
TOOLS = st.one_of(
    st.builds(
        lambda n, s: {"type": "function", "function": {"name": n, "parameters": s}}, NAMES, SCHEMAS
    ),
    st.builds(
        lambda n, s, d: {"name": n, "input_schema": s, "description": d}, NAMES, SCHEMAS, PROSE
    ),
    st.builds(lambda n: {"type": n}, NAMES),
    st.builds(
        lambda n: {"name": n, "input_schema": {}, "cache_control": {"type": "ephemeral"}}, NAMES
    ),
)
CONTENTS = st.one_of(
    PROSE,
    TEXTS,
    st.none(),
    st.lists(PROSE.map(lambda text: {"type": "text", "text": text}), max_size=2),
    st.builds(lambda text: [{"type": "tool_result", "content": text}], PROSE),
    VALUES.map(json.dumps),
    st.lists(st.builds(lambda t, x: {"type": t, "text": x}, VALUES, VALUES), max_size=2),
    VALUES,
)
MESSAGES = st.lists(
    st.one_of(st.builds(lambda r, c: {"role": r, "content": c}, ROLES, CONTENTS), VALUES),
    max_size=4,
)
BODIES = st.one_of(
    st.builds(lambda m, t: {"messages": m, "tools": t}, MESSAGES, st.lists(TOOLS, max_size=3)),
    st.builds(
        lambda s, m, t: {"system": s, "messages": m, "tools": t},
        CONTENTS, MESSAGES, st.lists(TOOLS, max_size=3),
    ),
    st.builds(lambda s, m: {"instructions": s, "input": m}, PROSE, st.one_of(PROSE, MESSAGES)),
    VALUES.filter(lambda value: isinstance(value, dict)),
)  # fmt: skip


@given(BODIES, OPTIONS)
@settings(max_examples=300)
def test_a_whole_request_twice_is_as_once(body: dict[str, Any], options: Options) -> None:
    before = copy.deepcopy(body)
    found = canonical_request(body, options)
    assert typed(body) == typed(before)
    again = canonical_request(found.value, options)
    assert again.changes == ()
    assert json.dumps(again.value) == json.dumps(found.value)
    json.loads(json.dumps(found.value))


@given(st.lists(TOOLS, max_size=5), st.randoms())
def test_tools_are_the_same_tools(tools: list[Any], random: Any) -> None:
    def unmarked(some: list[Any]) -> list[str]:
        bare = [{k: v for k, v in tool.items() if k != "cache_control"} for tool in some]
        return sorted(json.dumps(tool, sort_keys=True) for tool in bare)

    stable = stable_tools(tools).value
    assert unmarked(stable) == unmarked(tools)
    marks = [tool.get("cache_control") for tool in tools]
    assert [tool.get("cache_control") for tool in stable] == marks
    if not any(marks):
        mixed = list(tools)
        random.shuffle(mixed)
        assert json.dumps(stable_tools(mixed).value) == json.dumps(stable)

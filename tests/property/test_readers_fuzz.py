"""Arbitrary and mutated input: the readers answer with a trace or with an error of ours, and
what they accept keeps the ledger's sum through the whole analysis."""

import json
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cli import call, is_one_line
from hitpath.core import HitpathError, InputError, Setting, SettingError
from hitpath.spine import analyze_trace
from hitpath.summary import sum_up_lengths
from hitpath.traces import Trace, read_trace

PROMPTS: tuple[dict[str, Any], ...] = (
    {"tokens": [1, 2, 3, 4, 5, 6, 7, 8]},
    {"tokens": [1, 2, 3, 4], "output_ids": [5, 6], "output_tokens": 2},
    {"block_keys": [1, "x"], "block_size": 4, "prompt_tokens": 8},
    {
        "block_keys": [1, 2],
        "block_size": 4,
        "prompt_tokens": 7,
        "output_block_keys": [9],
        "output_tokens": 4,
    },
    {"prompt": "hello there", "reply": "yes"},
    {"messages": [{"role": "user", "content": "hello"}], "tools": [{"name": "f"}], "reply": "y"},
    {"segments": [["sys", 20], ["user", 3]], "reply": "r", "output_tokens": 9},
)
LABELS: dict[str, Any] = {
    "session": "s",
    "parent": "p",
    "turn": 1,
    "tenant": "t",
    "model": "m",
    "worker": "w",
    "finish_s": 9.5,
    "context": {"salt": "x", "adapter": None},
    "reported": {
        "prompt_tokens": 8,
        "counting": "inclusive",
        "cached_tokens": 4,
        "cached_by_tier": {"gpu": 4},
        "ttft_s": 0.5,
    },
}
MOONCAKE: dict[str, Any] = {
    "timestamp": 5,
    "input_length": 1000,
    "output_length": 5,
    "hash_ids": [1, 2],
    "session_id": "s",
    "block_size": 512,
}
SESSION: dict[str, Any] = {
    "id": "s",
    "block_size": 4,
    "hash_id_scope": "local",
    "requests": [
        {"t": 0, "type": "n", "in": 8, "out": 3, "hash_ids": [1, 2], "model": "m", "api_time": 1},
        {"t": 1, "type": "subagent", "agent_id": "a", "requests": [
            {"t": 0, "type": "n", "in": 9, "out": 3, "hash_ids": [1, 2]},
        ]},
    ],
}  # fmt: skip
SETTINGS = (
    Setting(),
    Setting(last_token=True, outputs="insert"),
    Setting(engine="lru", capacity_tokens=2048),
    Setting(split_models=True, outputs="insert", engine="lru", capacity_tokens=600),
    Setting(block_size=1024),
)

NASTY = st.one_of(
    st.sampled_from(
        [
            None,
            True,
            False,
            -1,
            0,
            1,
            2**31,
            2**32,
            2**40,
            2**63 - 1,
            2**63,
            2**64 - 1,
            2**64,
            10**400,
            -(2**63) - 1,
            0.5,
            -0.0,
            1e308,
            5e-324,
            "",
            "a\nb",
            "\x1b[2J",
            "[/red]",
            "\x00",
            [],
            {},
            [[]],
            "512",
        ]
    ),
    st.integers(-3, 40),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=6),
    st.lists(st.integers(0, 9), max_size=4),
)
JSON = st.recursive(
    NASTY, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner)
)


@st.composite
def hitpath_rows(draw: st.DrawFn) -> list[Any]:
    prompt = draw(st.sampled_from(PROMPTS))
    rows = []
    for i in range(draw(st.integers(1, 4))):
        labels = draw(st.sets(st.sampled_from(sorted(LABELS)), max_size=4))
        rows.append({"id": i, "arrival_s": i, **prompt, **{k: LABELS[k] for k in sorted(labels)}})
    return rows


@st.composite
def mooncake_rows(draw: st.DrawFn) -> list[Any]:
    return [
        {
            **MOONCAKE,
            "timestamp": draw(st.integers(0, 9)),
            "hash_ids": draw(st.lists(st.integers(0, 3), min_size=2, max_size=2)),
        }
        for _ in range(draw(st.integers(1, 4)))
    ]


ROWS = st.one_of(hitpath_rows(), mooncake_rows(), st.just([SESSION]))


def _slots(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """(container, key) of everything inside `value`."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in list(inside):
        found.append((value, key))
        if isinstance(item, dict | list):
            _slots(item, found)
    return found


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """Valid rows of one format after a few deletions, doublings, replacements and byte flips."""
    rows = json.loads(json.dumps(draw(ROWS)))
    for _ in range(draw(st.integers(0, 3))):
        slots = _slots(rows, [])
        if not slots:
            break
        container, key = draw(st.sampled_from(slots))
        what = draw(st.sampled_from(["delete", "double", "replace", "replace", "add"]))
        if what == "delete":
            del container[key]
        elif what == "replace":
            container[key] = deepcopy(draw(NASTY))
        elif isinstance(container, list):
            container.insert(key, json.loads(json.dumps(container[key])))
        else:
            container[draw(st.sampled_from(["zz", "turn", "block_size", "prompt"]))] = deepcopy(
                draw(NASTY)
            )
    ends = draw(st.sampled_from(["\n", "\r\n", "\n\n"]))
    data = bytearray((ends.join(json.dumps(row) for row in rows)).encode())
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        if data:
            at = draw(st.integers(0, len(data) - 1))
            data[at : at + 1] = draw(st.binary(max_size=2))
    return bytes(data)


def answer(data: bytes, name: str, skip: bool) -> Trace | None:
    """The trace, or None where it is refused with an error that is fit to print."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        return trace_or_none([str(path)], skip)


def trace_or_none(paths: list[str], skip: bool) -> Trace | None:
    try:
        return read_trace(paths, skip_bad_rows=skip)
    except (InputError, SettingError) as error:
        told = str(error)
    assert told.isprintable()
    return None


def keeps_its_sum(trace: Trace, setting: Setting) -> None:
    try:
        if trace.identity == "lengths_only":
            sum_up_lengths(trace, setting)
            return
        analysis = analyze_trace(trace, setting)
    except HitpathError:
        return
    analysis.ledger.check()
    counted = int(trace.prompt_tokens[trace.counted].sum())
    assert analysis.ledger.total(analysis.ledger.prompt) == counted


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200), st.sampled_from(["t.jsonl", "t.jsonl.gz", "t.jsonl.zst"]))
def test_arbitrary_bytes(data, name):
    answer(data, name, skip=True)
    answer(data, name, skip=False)


@settings(max_examples=150, deadline=None)
@given(st.lists(JSON, max_size=3), st.booleans())
def test_arbitrary_json_lines(values, skip):
    answer("\n".join(map(json.dumps, values)).encode(), "t.jsonl", skip)


@settings(max_examples=400, deadline=None)
@given(mutated(), st.booleans(), st.sampled_from(SETTINGS))
def test_mutated_rows_give_a_sound_ledger_or_an_error(data, skip, setting):
    trace = answer(data, "t.jsonl", skip)
    if trace is not None:
        keeps_its_sum(trace, setting)


@settings(max_examples=100, deadline=None)
@given(st.lists(mutated(), min_size=2, max_size=2))
def test_files_put_together(contents):
    with TemporaryDirectory() as folder:
        for i, data in enumerate(contents):
            (Path(folder) / f"{i}.jsonl").write_bytes(data)
        trace = trace_or_none([folder], True)
    if trace is not None:
        keeps_its_sum(trace, Setting())


@settings(max_examples=120, deadline=None)
@given(
    mutated(),
    st.sampled_from(
        [
            ["--json", "-"],
            [],
            ["--skip-bad-rows"],
            ["--skip-bad-rows", "--per-request", "-", "--outputs", "insert"],
            ["--skip-bad-rows", "--ledger", "-", "--last-token"],
            ["--skip-bad-rows", "--sample", "0.5"],
        ]
    ),
)
def test_the_command_never_ends_in_a_traceback(data, options):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.jsonl"
        path.write_bytes(data)
        ended = call("analyze", path, *options)
    assert ended.code in (0, 2)
    if ended.code == 2:
        assert ended.out == b""
        assert is_one_line(ended.err)
    else:
        assert ended.err == ""
        assert ended.out
        assert b"\x1b" not in ended.out.replace(b"\\u001b", b"") or "--ledger" in options

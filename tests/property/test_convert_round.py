"""Converting loses nothing that an analysis uses: the converted trace, plain or redacted, as JSON
lines or as Parquet, gives the same document and the same rows."""

import io
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitpath.core import HitpathError, Setting, SettingError
from hitpath.report.convert.run import Conversion, run_convert
from hitpath.report.document import document
from hitpath.report.lengths import lengths_document, write_lengths_per_request
from hitpath.report.rows import write_per_request
from hitpath.spine import analyze_trace
from hitpath.summary import sum_up_lengths
from hitpath.traces import Trace, read_trace
from hitpath.traces.detect import FORMATS
from samples import SAMPLES, write_sample
from support import shared_data, write_jsonl

KEY = bytes(range(32))
SETTINGS = (
    Setting(),
    Setting(last_token=True, outputs="insert"),
    Setting(engine="lru", capacity_tokens=96, split_models=True),
    Setting(block_size=64),
)


def answers(trace: Trace, setting: Setting) -> tuple[Any, list[Any]]:
    """(document, rows), or the error's text; without what names the file and how it was read."""
    lines = io.BytesIO()
    if trace.identity == "lengths_only":
        lengths = sum_up_lengths(trace, Setting())
        told = lengths_document(lengths)
        write_lengths_per_request(lengths, lines)
    else:
        try:
            analysis = analyze_trace(trace, setting)
        except SettingError as error:
            return str(error), []
        told = document(analysis, None)
        write_per_request(analysis, lines)
    told["trace"].pop("format")
    told["trace"].pop("num_skipped_rows")
    told.pop("skipped_rows")
    told.pop("warnings")
    told["excluded_rows"] = [row["id"] for row in told["excluded_rows"]]
    return told, [json.loads(line) for line in lines.getvalue().splitlines()]


def check_all_ways(paths: list[str], folder: Path, formats=("jsonl", "parquet")) -> None:
    original = read_trace(paths, skip_bad_rows=True)
    expected = [answers(original, setting) for setting in SETTINGS]
    key = folder / "key"
    key.write_bytes(KEY)
    for redact in (None, str(key)):
        for ending in formats:
            out = str(folder / f"out-{redact is None}.{ending}")
            run_convert(Conversion(paths, out, redact=redact, skip_bad_rows=True))
            again = read_trace([out])
            for setting, told in zip(SETTINGS, expected, strict=True):
                assert answers(again, setting) == told


tokens = st.lists(st.integers(0, 2), max_size=40)
names = st.sampled_from(["a", "b", "ü\n"])
prompts = {
    "tokens": st.fixed_dictionaries(
        {"tokens": tokens}, optional={"output_ids": st.lists(st.integers(0, 2), max_size=20)}
    ),
    "prompt": st.fixed_dictionaries(
        {"prompt": st.text("aé ", max_size=40)}, optional={"reply": st.text("aé", max_size=9)}
    ),
    "messages": st.fixed_dictionaries(
        {"messages": st.lists(st.just({"role": "user", "content": "hi"}), max_size=3)},
        optional={"reply": st.just("yes"), "tools": st.just([{"name": "f"}])},
    ),
    "segments": st.fixed_dictionaries(
        {"segments": st.lists(st.tuples(names, st.integers(0, 40)), max_size=3)},
        optional={"reply_segments": st.lists(st.tuples(names, st.integers(0, 9)), max_size=2)},
    ),
    "lengths": st.fixed_dictionaries(
        {"prompt_tokens": st.integers(0, 99)}, optional={"output_tokens": st.integers(0, 9)}
    ),
}
labels = st.fixed_dictionaries(
    {},
    optional={
        "session": names,
        "tenant": names,
        "worker": names,
        "turn": st.integers(1, 9),
        "context": st.fixed_dictionaries(
            {}, optional={"salt": names, "adapter": names, "media_salt": names, "kv": names}
        ),
        "reported": st.fixed_dictionaries(
            {},
            optional={
                "cached_tokens": st.integers(0, 60),
                "cached_by_tier": st.dictionaries(names, st.integers(0, 30), max_size=2),
                "cache_write_tokens": st.integers(0, 9),
                "ttft_s": st.floats(0, 9),
                "prompt_tokens": st.integers(0, 60),
                "counting": st.sampled_from(["inclusive", "exclusive"]),
            },
        ),
        "excluded": st.just("told so"),
    },
)


@st.composite
def block_prompts(draw: st.DrawFn) -> dict[str, Any]:
    length, output = draw(st.integers(0, 50)), draw(st.none() | st.integers(0, 20))
    ids = st.integers(0, 3)
    told: dict[str, Any] = {
        "block_keys": [draw(ids) for _ in range(draw(st.sampled_from([length, length + 7])) // 8)],
        "block_size": 8,
        "prompt_tokens": length,
    }
    if output is not None:
        told["output_tokens"] = output
        count = (length + output) // 8 - length // 8
        told["output_block_keys"] = [draw(ids) for _ in range(count)]
    return told


@st.composite
def traces(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows of one kind; what all rows must have, all have."""
    kind = draw(st.sampled_from([*prompts, "block_keys"]))
    timed, clocks, scopes, models = (draw(st.booleans()) for _ in range(4))
    is_label = draw(st.booleans())
    rows = []
    for i in range(draw(st.integers(1, 8))):
        arrival_s = draw(st.floats(0, 20))
        row = {"id": f"r{i}", "arrival_s": arrival_s if timed else None}
        row |= draw(block_prompts() if kind == "block_keys" else prompts[kind])
        row |= draw(labels)
        if timed and draw(st.booleans()):
            row["finish_s"] = arrival_s + draw(st.floats(0, 5))
        if models and draw(st.booleans()):
            row["model"] = draw(names)
        if is_label:
            row["model_is_label"] = True
        if clocks:
            row["clock"] = draw(names)
        if scopes and draw(st.booleans()):
            row["id_scope"] = draw(names)
        rows.append(row)
    return rows


@settings(max_examples=150)
@given(traces())
def test_own_rows_of_every_kind_go_round(rows):
    with TemporaryDirectory() as name:
        path = str(write_jsonl(Path(name) / "t.jsonl", rows))
        try:
            read_trace([path], skip_bad_rows=True)
        except HitpathError:
            return  # not one row that can be read: nothing to convert
        check_all_ways([path], Path(name))


def test_there_is_a_sample_of_every_format(tmp_path):
    formats = set()
    for number, name in enumerate(SAMPLES):
        folder = tmp_path / str(number)
        folder.mkdir()
        formats.add(read_trace(write_sample(name, folder)).format)
    assert formats == {known.name for known in FORMATS}


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_every_format_goes_round(name, tmp_path):
    check_all_ways(write_sample(name, tmp_path), tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        "coding_agent_sessions",
        "ragpulse_sample",
        "lmcache_taubench",
        "claude_code_log",
        "otel_genai",
    ],
)
def test_real_traces_go_round(name, tmp_path):
    check_all_ways([str(shared_data(name))], tmp_path, formats=("jsonl",))

"""What tests of converted traces share: traces of hitpath's own rows of every kind, and what an
analysis says of a trace apart from how it was read."""

import io
import json
from typing import Any

from hypothesis import strategies as st

from hitpath.core import Setting, SettingError
from hitpath.report.document import document
from hitpath.report.lengths import lengths_document, write_lengths_per_request
from hitpath.report.rows import write_per_request
from hitpath.spine import analyze_trace
from hitpath.summary import sum_up_lengths
from hitpath.traces import Trace

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
        {"segments": st.lists(st.tuples(names, st.integers(0, 100)), max_size=4)},
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
            {},
            optional={
                **dict.fromkeys(("salt", "adapter", "media_salt", "kv"), names),
                "model": names,
            },
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
def block_prompts(draw: st.DrawFn, ids: st.SearchStrategy[Any]) -> dict[str, Any]:
    """Ids of whole blocks, mostly with one of the rest."""
    length, output = draw(st.integers(0, 50)), draw(st.none() | st.integers(0, 20))
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


prompts["numbers of blocks"] = block_prompts(st.integers(0, 3))
prompts["names of blocks"] = block_prompts(st.sampled_from(["k", "l", "0", "ü\n"]))


@st.composite
def own_traces(draw: st.DrawFn, kind: str | None = None) -> list[dict[str, Any]]:
    """Rows of one kind of prompt; what all rows must have, all have."""
    kind = draw(st.sampled_from(sorted(prompts))) if kind is None else kind
    timed, clocks, scopes, models = (draw(st.booleans()) for _ in range(4))
    is_label = draw(st.booleans())
    rows = []
    for i in range(draw(st.integers(1, 8))):
        arrival_s = draw(st.floats(0, 20))
        row = {"id": f"r{i}", "arrival_s": arrival_s if timed else None}
        row |= draw(prompts[kind])
        row |= draw(labels)
        if timed and draw(st.booleans()):
            row["finish_s"] = arrival_s + draw(st.floats(0, 5))
        if models and draw(st.booleans()):
            row["model"] = draw(names)
        if is_label:
            row["model_is_label"] = True
        if clocks:
            row["clock"] = draw(names)
        if scopes and "block_keys" in row and draw(st.booleans()):
            row["id_scope"] = draw(names)
        rows.append(row)
    return rows

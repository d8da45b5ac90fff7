"""Mutated result files and request logs: a sound trace, or an error of ours in one line."""

import copy
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hitpath.core import HitpathError, Setting
from hitpath.spine import analyze
from hitpath.summary import LengthsAnalysis
from hitpath.traces import read_trace

BODY = {"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}]}
AIPERF = [
    {
        "metadata": {
            "x_request_id": f"r{i}",
            "x_correlation_id": "s",
            "turn_index": i,
            "request_start_ns": 1_763_066_701_865_462_000 + i,
            "request_end_ns": 1_763_066_703_082_535_666,
            "benchmark_phase": "profiling",
            "was_cancelled": False,
        },
        "metrics": {
            "usage_prompt_tokens": {"value": 100, "unit": "tokens"},
            "usage_prompt_cache_read_tokens": {"value": 64, "unit": "tokens"},
            "usage_prompt_cache_write_tokens": {"value": 9, "unit": "tokens"},
            "time_to_first_token": {"value": 5.5, "unit": "ms"},
        },
        "error": None,
    }
    for i in range(3)
]
GUIDELLM = {
    "benchmarks": [
        {
            "metrics": {"request_totals": {"successful": 2, "errored": 1}},
            "requests": {
                "errored": [],
                "successful": [
                    {
                        "request_id": f"r{i}",
                        "request_args": json.dumps({"body": BODY}),
                        "output": "b",
                        "info": {"timings": {"request_start": 5.0 + i, "request_end": 9.0}},
                        "input_metrics": {"text_tokens": 9, "cached_tokens": 4},
                        "output_metrics": {"text_tokens": 3},
                    }
                    for i in range(2)
                ],
            },
        }
    ]
}
PERF = [
    {
        "start_time": 1.5 + i,
        "end_time": 4.5,
        "request": json.dumps({"prompt": "Say this", "add_special_tokens": False}),
        "info": {
            "input_tokens": 9,
            "lora_adapter": None,
            "response_metrics": {
                "output_tokens": 2,
                "output_token_times": [2.5 + i, 3.5],
                "server_usage": {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}},
            },
        },
        "error": None,
    }
    for i in range(2)
]
BENCH = {
    "completed": 2,
    "request_throughput": 1.0,
    "total_input_tokens": 30,
    "duration": 3.0,
    "input_lens": [10, 20],
    "output_lens": [4, 5],
    "ttfts": [0.25, 0.5],
    "itls": [[0.25], [0.5]],
    "start_times": [1.0, 2.0],
    "errors": ["", ""],
    "cached_tokens": [4, 8],
    "cached_tokens_details": [{"device": 4}, None],
}
TRACELAB = [
    {
        "input_tokens_total": 10,
        "prefix_tokens": 6,
        "newly_append_tokens": 4,
        "claude_cache_creation_input_tokens": 3,
        "output_tokens": 2,
        "session_id": "s",
        "round_index": i,
        "trace_key": f"k{i}",
        "timing_events": [
            {"event_type": "user_message", "timestamp": "2026-06-01T05:40:20.151Z"},
            {"event_type": "text", "timestamp": "2026-06-01T05:40:29Z"},
        ],
    }
    for i in range(2)
]
FILES: tuple[list[Any], ...] = (AIPERF, [GUIDELLM], [PERF], [BENCH], TRACELAB)
"""The rows of each format, or its document."""

LOG = (
    b"INFO 05-11 12:00:00 api_server.py:495] args: Namespace(host=None, max_log_len=None, seed=0)\n"
    b"INFO 05-11 12:04:19 [logger.py:42] Received request cmpl-a-0: prompt: 'it\\'s \\u2028', "
    b"params: SamplingParams(n=1), prompt_token_ids: [1, 2, 3], prompt_embeds shape: None, "
    b"lora_request: LoRARequest(lora_name='x', lora_int_id=1), prompt_adapter_request: None.\n"
    b'(APIServer pid=1) DEBUG 05-11 12:04:20 [l.py:37] Request cmpl-b details: prompt: "b\'s", '
    b"prompt_token_ids: [1, 2, 3, 4], prompt_embeds shape: None.\n"
    b"(APIServer pid=1) INFO 05-11 12:04:20 [l.py:47] Received request cmpl-b: params: "
    b"SamplingParams(n=1), lora_request: None.\n"
    b"INFO 05-11 12:04:21 [l.py:9] Generated response cmpl-b: output: 'ok', output_token_ids: "
    b"[8, 9], finish_reason: stop\n"
)
LOG_PARTS = (
    b"None", b"'", b'"', b"\\", b"\\U0010ffff", b"\\ud800", b"[", b"]", b", ", b"\n", b"\r",
    b"\x00", b"\xff", b"Received request ", b" details: ", b"prompt: ",
    b"prompt_token_ids: [", b"params: ",
    b"12-31 23:59:59", b"02-29 00:00:00", b"99-99 99:99:99", b"2025-05-11T12:04:19.125Z ",
    b"4294967296", b"-1", b"1e3", b"max_log_len=3", b"args: ", b"\x1b[32m",
)  # fmt: skip
NASTY = st.one_of(
    st.sampled_from(
        [None, True, -1, 0, 1, 2**40, 2**63, 10**400, 0.5, -0.0, 1e308, "", "a\nb", "\ud800",
         [], {}, [[]], [None], "512", {"body": {"prompt": [1, -1]}}, {"body": BODY}]
    ),
    st.integers(-3, 40),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=6),
    st.lists(st.integers(0, 9), max_size=4),
)  # fmt: skip


def _slots(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """(container, key) of everything inside `value`."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in list(inside):
        found.append((value, key))
        if isinstance(item, dict | list):
            _slots(item, found)
    return found


def _flipped(draw: st.DrawFn, text: bytes, parts: st.SearchStrategy[bytes], most: int) -> bytes:
    data = bytearray(text)
    for _ in range(draw(st.integers(0, most))):
        at = draw(st.integers(0, max(len(data) - 1, 0)))
        data[at : at + draw(st.integers(0, 3))] = draw(parts)
    return bytes(data)


@st.composite
def mutated_documents(draw: st.DrawFn) -> bytes:
    """The rows of one format, or its document, after some changes."""
    rows = copy.deepcopy(draw(st.sampled_from(FILES)))
    for _ in range(draw(st.integers(0, 4))):
        slots = _slots(rows, [])
        if not slots:
            break
        container, key = draw(st.sampled_from(slots))
        what = draw(st.sampled_from(["delete", "double", "replace", "replace"]))
        if what == "delete":
            del container[key]
        elif what == "replace":
            container[key] = copy.deepcopy(draw(NASTY))
        elif isinstance(container, list):
            container.insert(key, copy.deepcopy(container[key]))
    text = "\n".join(json.dumps(row, indent=draw(st.sampled_from([None, 1]))) for row in rows)
    return _flipped(draw, text.encode(), st.binary(max_size=2), draw(st.sampled_from([0, 0, 2])))


@st.composite
def mutated_logs(draw: st.DrawFn) -> bytes:
    """A log after some parts of it were replaced."""
    return _flipped(draw, LOG, st.sampled_from(LOG_PARTS) | st.binary(max_size=2), 4)


def is_sound(data: bytes, skip: bool) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "r.json"
        path.write_bytes(data)
        try:
            trace = read_trace([str(path)], skip_bad_rows=skip)
            found = analyze([str(path)], Setting(), skip_bad_rows=skip)
        except HitpathError as error:
            told = str(error)
        else:
            told = ""
    assert told.isprintable()
    if told:
        return
    counted = int(trace.prompt_tokens[trace.counted].sum())
    if isinstance(found, LengthsAnalysis):
        found.check()
        assert found.prompt_tokens == counted
    else:
        found.ledger.check()
        assert found.ledger.total(found.ledger.prompt) == counted


@settings(max_examples=300, deadline=None)
@given(mutated_documents(), st.booleans())
def test_mutated_result_files(data, skip):
    is_sound(data, skip)


@settings(max_examples=300, deadline=None)
@given(mutated_logs(), st.booleans())
def test_mutated_logs(data, skip):
    is_sound(data, skip)


def test_the_files_that_are_mutated_are_good_ones():
    """Else the tests above would prove nothing."""
    for rows in FILES:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "r.json"
            path.write_text("\n".join(map(json.dumps, rows)))
            assert len(read_trace([str(path)])) >= 2
    with TemporaryDirectory() as folder:
        path = Path(folder) / "r.log"
        path.write_bytes(LOG)
        assert len(read_trace([str(path)])) == 2

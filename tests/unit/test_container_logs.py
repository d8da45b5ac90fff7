"""Logs as Docker's json-file driver and Fluent Bit store them are read as the lines inside.

Written by hand from the documented shapes; the lines of the logs are those of test_vllm_log.py.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from hitpath.traces import open_inputs, read_trace
from hitpath.traces.detect import statistics_in
from hitpath.traces.engine_logs import observe
from support import shared_data

PARAMS = "SamplingParams(n=1)"


def request(name: str, ids: list[int]) -> str:
    return (
        f"INFO 05-11 12:04:19 [logger.py:39] Received request {name}: prompt: 'x', params: "
        f"{PARAMS}, prompt_token_ids: {ids}, lora_request: None."
    )


def stored(text: str, stream: str = "stderr", **rest: str) -> str:
    return json.dumps({"log": text, "stream": stream, **rest}) + "\n"


def put(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def docker(text: str, stream: str = "stderr") -> list[str]:
    """As dockerd cuts a line: every 16 KiB, with the line end in the last part."""
    time = "2026-05-11T12:04:19.123456789Z"
    whole = text + "\n"
    parts = [whole[i : i + 16_384] for i in range(0, len(whole), 16_384)]
    return [stored(part, stream, time=time) for part in parts]


def test_a_request_log_in_json_is_the_log(tmp_path):
    texts = [request("cmpl-a", [1, 2]), "INFO 05-11 12:04:20 [x.py:1] another line", "",
             request("cmpl-b", [1, 3])]  # fmt: skip
    plain = read_trace([put(tmp_path / "plain.log", "\n".join(texts) + "\n")])
    for ending, make in (("docker", docker), ("fluent", lambda text: [stored(text)])):
        wrapped = "".join(part for text in texts for part in make(text))
        trace = read_trace([put(tmp_path / f"{ending}.log", "\n" + wrapped)])
        assert trace.ids == plain.ids == ("cmpl-a", "cmpl-b")
        assert trace.prompts.flat.tolist() == [1, 2, 1, 3]
        assert trace.arrival_s.tolist() == plain.arrival_s.tolist()


def test_parts_of_a_long_line_are_joined_by_stream(tmp_path):
    long = list(range(10_000, 30_000))
    parts = docker(request("cmpl-a", long))
    assert len(parts) > 5
    mixed = [line for part in parts for line in (part, *docker("between", "stdout"))]
    trace = read_trace([put(tmp_path / "t.log", "".join([*mixed, *docker(request("b", [1]))]))])
    assert np.array_equal(trace.prompts.flat[: len(long)], long)
    assert trace.ids == ("cmpl-a", "b")


def test_marked_parts_are_joined_whatever_their_length(tmp_path):
    text = request("cmpl-a", [1, 2])
    lines = stored(text[:40], logtag="P") + stored(text[40:], logtag="F")
    assert read_trace([put(tmp_path / "t.log", lines)]).prompts.flat.tolist() == [1, 2]


def test_the_end_of_a_log_in_the_middle_of_a_line_is_told(tmp_path):
    long = docker(request("cmpl-a", list(range(10_000, 30_000))))
    text = "".join([*docker(request("b", [1])), *long[:-1]])
    trace = read_trace([put(tmp_path / "t.log", text)], skip_bad_rows=True)
    assert trace.ids == ("b",)
    assert [(p.place[-7:], p.cause) for p in trace.skipped] == [("t.log:2", "the list is cut off")]


@pytest.mark.parametrize("name", ["vllm_log_v1.txt", "sglang_log.txt"])
def test_statistics_in_json_are_the_statistics(tmp_path, name):
    plain = shared_data("engine_logs") / name
    lines = plain.read_text().splitlines()
    path = put(tmp_path / name, "".join(part for line in lines for part in docker(line)))
    inputs = open_inputs([path])
    assert statistics_in(inputs)
    found, expected = observe(inputs), observe(open_inputs([str(plain)]))
    assert found.headline
    assert [(one.rate, one.hit, one.total) for one in found.observations] == [
        (one.rate, one.hit, one.total) for one in expected.observations
    ]


def test_json_rows_with_other_fields_are_left_as_they_are(tmp_path):
    row = {"id": 1, "arrival_s": 0, "tokens": [1], "log": 'x"log"', "stream": "other"}
    assert len(read_trace([put(tmp_path / "t.jsonl", json.dumps(row) + "\n")])) == 1

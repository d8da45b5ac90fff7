"""A row's parts put together are the prompt that its reader made, each with its place."""

import json
from pathlib import Path
from typing import Any

import pytest

from doctor.planting import as_anthropic, as_responses, traffic
from hitpath.doctor.diagnose import Requests
from hitpath.doctor.flat import flat_prompt
from hitpath.doctor.kept import KeptRows, keep_rows
from hitpath.doctor.prompt import Prompt
from hitpath.traces import Trace, open_inputs, read_trace
from support import shared_data, write_jsonl


def requests_of(paths: list[str]) -> tuple[Trace, Requests]:
    kept = KeptRows()
    inputs = keep_rows(open_inputs(paths), kept)
    trace = read_trace(paths, inputs=inputs, keep_places=True)
    return trace, Requests(trace, kept)


def check_tiling(trace: Trace, requests: Requests, row: int) -> Prompt:
    """Spans leave nothing out, and are the reader's bytes."""
    found = requests.of(row)
    assert found is not None
    spans = found.prompt.spans()
    assert spans[0][2] == 0
    assert [stop for *_, stop in spans[:-1]] == [start for _, _, start, _ in spans[1:]]
    assert found.prompt.rendered == requests.symbols(row).tobytes()
    assert spans[-1][3] == trace.prompt_tokens[row]
    return found.prompt


REAL = (
    "tau_bench/airline_gpt4o_requests.jsonl",
    "lmcache_taubench/09867e5c74f53656f91797020d262e3b.jsonl",
    "otel_genai/prefix_sharing_example.json",
    "otel_genai/simple_chain.json",
)


@pytest.mark.parametrize("name", REAL)
def test_real_rows_are_rendered_as_their_reader_does(name: str) -> None:
    trace, requests = requests_of([str(shared_data(name))])
    for row in range(len(trace)):
        prompt = check_tiling(trace, requests, row)
        assert any(part.path for part in prompt.parts)


def rows_in(shape: str) -> list[dict[str, Any]]:
    make = {"openai": dict, "anthropic": as_anthropic, "responses": as_responses}[shape]
    return [make(sent.body) for sent in traffic("agent", 1, num_sessions=2, num_turns=3)]


@pytest.mark.parametrize(
    ("shape", "paths"),
    [
        ("openai", {"tools[0]", "messages[0].content", "messages[1].content"}),
        ("anthropic", {"tools[0]", "system", "messages[0].content[0].text"}),
        ("responses", {"tools[0]", "instructions", "input[0].content[0].text"}),
    ],
)
def test_paths_are_those_of_the_request(shape: str, paths: set[str], tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "t.jsonl", rows_in(shape))
    trace, requests = requests_of([str(file)])
    for row in range(len(trace)):
        prompt = check_tiling(trace, requests, row)
        assert paths <= {part.path for part in prompt.parts}
        assert {part.segment for part in prompt.parts} >= {"tools", "system", "template glue"}


def test_wrapped_bodies_have_the_paths_of_the_body(tmp_path: Path) -> None:
    rows = [{"custom_id": str(i), "body": row} for i, row in enumerate(rows_in("openai"))]
    trace, requests = requests_of([str(write_jsonl(tmp_path / "t.jsonl", rows))])
    prompt = check_tiling(trace, requests, 0)
    assert "messages[0].content" in {part.path for part in prompt.parts}


def test_an_array_over_several_lines_keeps_its_rows(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    file.write_text(json.dumps(rows_in("openai"), indent=1))
    trace, requests = requests_of([str(file)])
    for row in range(len(trace)):
        check_tiling(trace, requests, row)


def test_each_turn_of_sharegpt_is_a_request(tmp_path: Path) -> None:
    told = [
        {"from": speaker, "value": f"{speaker} says {i}"}
        for i, speaker in enumerate(["human", "gpt", "human", "gpt"])
    ]
    file = write_jsonl(tmp_path / "t.jsonl", [{"id": "c", "conversations": told}])
    trace, requests = requests_of([str(file)])
    assert len(trace) == 2
    prompt = check_tiling(trace, requests, 1)
    assert [part.path for part in prompt.parts if part.path] == [
        "conversations[0].value",
        "conversations[1].value",
        "conversations[2].value",
    ]


def test_a_text_is_cut_at_its_templates_markers() -> None:
    text = (
        "<|im_start|>system\nBe.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )
    prompt = flat_prompt(text, "prompt")
    assert prompt.rendered.decode() == text
    assert [message.role for message in prompt.messages] == ["system", "user"]
    bases = [part.base for part in prompt.parts]
    assert [text[b : b + 3] for b in bases][:2] == ["<|i", "Be."]


def test_rows_beyond_memory_are_read_from_disk() -> None:
    kept = KeptRows(memory_bytes=50)
    for number in range(20):
        kept.keep(f"f:{number}", b"row %d " % number * 3)
    assert kept.text("f:0") == b"row 0 " * 3
    assert kept.text("f:19") == b"row 19 " * 3
    assert kept.text("f:20") is None

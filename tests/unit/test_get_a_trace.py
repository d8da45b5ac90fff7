"""docs/get-a-trace.md: its commands do what it says, and recordings answer what it promises."""

import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli import ROOT, call
from hitpath.text.tokenizer import load_tokenizer
from hitpath.traces import read_trace
from recording import (
    ANTHROPIC,
    DONE,
    EXAMPLES,
    FakeServer,
    Handler,
    conversation,
    engine,
    exchange,
    fake_server,
    proxy,
    row_of,
)

pytestmark = pytest.mark.long

GUIDE = ROOT / "docs" / "get-a-trace.md"
TEKKEN = "mistral:tekken_240911"


@pytest.fixture
def upstream() -> Iterator[FakeServer]:
    with fake_server() as server:
        yield server


def recorded(upstream: FakeServer, out: Path, prompts: str, *, usage: bool = True) -> Path:
    upstream.answer = engine(16)
    with proxy(upstream, out, "--prompts", prompts) as running:
        for body in conversation(4):
            if not usage:
                del body["stream_options"]
            assert running.post("/v1/chat/completions", body)[0] == 200
    assert len(running.rows) == 4, running.said
    return out


def test_token_ids_give_the_model_and_the_report_on_one_page(upstream, tmp_path):
    out = recorded(upstream, tmp_path / "t.jsonl", "tokens")
    shown = call("analyze", out, "--last-token", "--json", "-")
    assert shown.code == 0, shown.err
    tokens = json.loads(shown.out)["tokens"]
    # The fake engine, which shares no code with hitpath, and the model agree to the token.
    assert tokens["hit"] > 0
    assert tokens["unexplained"] == tokens["excess"] == 0
    assert json.loads(shown.out)["excluded_rows"] == []
    trace = read_trace([str(out)])
    assert trace.reported_hit.sum() == tokens["hit"]
    assert (trace.ttft_s >= 0).all()
    assert (trace.finish_s >= trace.arrival_s).all()


def test_lengths_give_the_reported_hit_rate_and_no_text(upstream, tmp_path):
    with_text = recorded(upstream, tmp_path / "text.jsonl", "text")
    out = recorded(upstream, tmp_path / "t.jsonl", "lengths")
    assert "prefix" not in out.read_text()
    told = json.loads(call("analyze", out, "--json", "-").out)
    assert told["tokens"]["hit"] > 0
    assert told["tokens"]["causes"]["evicted"] is None
    # The same view of a recording that holds text.
    mapped = call("analyze", with_text, "--map", "messages=", "--map", "tools=", "--json", "-")
    assert mapped.code == 0, mapped.err
    assert json.loads(mapped.out)["tokens"] == told["tokens"]


def test_text_without_usage_still_tells_what_is_shared(upstream, tmp_path):
    out = recorded(upstream, tmp_path / "t.jsonl", "text", usage=False)
    assert "reported" in json.loads(out.read_text().splitlines()[0])  # the time to the first token
    told = json.loads(call("analyze", out, "--json", "-").out)
    assert told["tokens"]["hit"] > 0
    lengths = call("analyze", out, "--map", "messages=", "--map", "tools=", "--json", "-")
    assert lengths.code == 2
    assert "prompt_tokens" in lengths.err


def test_text_is_compared_with_the_report_in_the_models_tokens(upstream, tmp_path):
    tokenizer = load_tokenizer(TEKKEN)

    def answer(handler: Handler) -> None:
        length = len(
            tokenizer.encode(tokenizer.render_chat(json.loads(handler.body)["messages"], []))
        )
        usage = {"prompt_tokens": length, "completion_tokens": 1, "total_tokens": length + 1,
                 "prompt_tokens_details": {"cached_tokens": 0}}  # fmt: skip
        handler.json({**DONE, "usage": usage})

    upstream.answer = answer
    messages = [{"role": "user", "content": "What is a prefix cache? " * 20}]
    with proxy(upstream, tmp_path / "t.jsonl") as running:
        for _ in range(2):
            running.post("/v1/chat/completions", {"model": "m", "messages": messages})
    told = json.loads(
        call("analyze", tmp_path / "t.jsonl", "--tokenizer", TEKKEN, "--json", "-").out
    )
    assert told["excluded_rows"] == []
    assert told["tokens"]["hit"] == 0
    assert told["tokens"]["unexplained"] > 0  # the prompt stood there twice, and nothing was hit


# The guide


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(), re.DOTALL)


def commands() -> list[str]:
    """The lines of all shell blocks, those that go on joined, without comments."""
    text = "".join(blocks("bash")).replace("\\\n", "")
    return [line.split(" #")[0].strip() for line in text.splitlines()]


def stored(tmp_path: Path) -> None:
    """Every file that the guide's commands read, as its section says that it comes about."""
    tokenizer = load_tokenizer(TEKKEN)
    rows = []
    for turn, body in enumerate(conversation(4)):
        length = len(tokenizer.encode(tokenizer.render_chat(body["messages"], [])))
        hit = {"cached_tokens": 16 * (turn > 0)}
        usage = {"prompt_tokens": length, "prompt_tokens_details": hit}
        rows.append(row_of(exchange(body, {**DONE, "usage": usage}), "text"))
    put(tmp_path / "trace.jsonl", rows)
    # Lines that the RequestLogger of vLLM 0.32.0 wrote for made-up requests.
    (tmp_path / "server.log").write_text("".join(
        f"(APIServer pid=12) DEBUG 11-29 17:06:1{i} [request_logger.py:55] Request chatcmpl-{i} "
        f"details: prompt: \"<|im_start|>user\\nHi it's\", prompt_token_ids: {list(range(40))}, "
        "prompt_embeds shape: None.\n"
        f"(APIServer pid=12) INFO 11-29 17:06:1{i} [request_logger.py:65] Received request "
        f"chatcmpl-{i}: params: SamplingParams(n=1), lora_request: None.\n" for i in range(2)
    ))  # fmt: skip
    # Lines and rows that the request logger and the metrics exporter of SGLang 0.5.23 wrote for
    # made-up requests.
    lines, metrics = [], []
    for i in range(2):
        ids, at = list(range(40 + i)), 1764000000.5 + i
        told = {"id": f"r{i}", "finish_reason": {"type": "stop"}, "prompt_tokens": len(ids),
                "completion_tokens": 2, "cached_tokens": 39 * i, "request_received_ts": at,
                "first_token_latency": 0.2, "request_finished_ts": at + 0.5}  # fmt: skip
        request = {"rid": f"r{i}", "text": "0 1", "input_ids": ids, "extra_key": None}
        events = {"received": {"rid": f"r{i}", "obj": {**request, "text": None}},
                  "finished": {"rid": f"r{i}", "obj": request, "out": {
                      "text": "hi", "output_ids": [1, 2], "meta_info": told}}}  # fmt: skip
        for name, data in events.items():
            event = {"timestamp": "2026-11-29T17:04:23.304025", "event": f"request.{name}", **data}
            lines.append(f"[2026-11-29 17:04:23] {json.dumps(event)}\n")
        metrics.append({"request_parameters": json.dumps({"rid": f"r{i}"}), **told})
    (tmp_path / "requests").mkdir()
    (tmp_path / "requests" / "vm_0.log").write_text("".join(lines))
    (tmp_path / "metrics").mkdir()
    put(tmp_path / "metrics" / "sglang-request-metrics-20261129_17.log", metrics)
    store_litellm(tmp_path)
    store_spans(tmp_path / "spans.jsonl")
    store_claude_code(tmp_path)


def put(path: Path, rows: list[Any]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def store_litellm(folder: Path) -> None:
    """What the guide's callback writes of two payloads of LiteLLM 1.110.2, shortened."""
    (snippet,) = (block for block in blocks("python") if "CustomLogger" in block)
    snippet = snippet.replace("from litellm.integrations.custom_logger import CustomLogger", "")
    made: dict[str, Any] = {"CustomLogger": object}
    exec(snippet, made)
    for i, hit in enumerate((0, 1408)):
        usage = {"completion_tokens": 2, "prompt_tokens": 1500, "total_tokens": 1502,
                 "prompt_tokens_details": {"cached_tokens": hit}}  # fmt: skip
        payload = {
            "id": f"chatcmpl-{i}", "trace_id": f"t{i}", "call_type": "acompletion",
            "status": "success", "cache_hit": None, "startTime": 1795971758.9 + i,
            "endTime": 1795971759.0 + i, "completionStartTime": 1795971759.0 + i, "model": "m",
            "metadata": {"usage_object": usage}, "prompt_tokens": 1500, "completion_tokens": 2,
            "messages": [{"role": "user", "content": "Hi"}],
            "response": {"id": f"chatcmpl-{i}", "usage": usage, "choices": [
                {"index": 0, "message": {"content": "Hello", "role": "assistant"}}]},
        }  # fmt: skip
        call_it = made["log"].async_log_success_event
        asyncio.run(call_it({"standard_logging_object": payload}, None, None, None))
    assert (folder / "litellm.jsonl").exists()


def store_spans(path: Path) -> None:
    """Two spans of opentelemetry-instrumentation-genai-openai 1.3b0 as OTLP JSON, a line each."""
    text = "What is a prefix cache? " * 20
    messages = [{"role": "user", "parts": [{"content": text, "type": "text"}], "name": None}]
    tokenizer, rows = load_tokenizer(TEKKEN), []
    chat = tokenizer.render_chat([{"role": "user", "content": text}], [])
    length = len(tokenizer.encode(chat))
    for i in range(2):
        attributes = [
            {"key": key, "value": {kind: value}}
            for key, kind, value in (
                ("gen_ai.operation.name", "stringValue", "chat"),
                ("gen_ai.request.model", "stringValue", "m"),
                ("gen_ai.usage.input_tokens", "intValue", str(length)),
                ("gen_ai.usage.cache_read.input_tokens", "intValue", str(64 * i)),
                ("gen_ai.input.messages", "stringValue", json.dumps(messages)),
            )
        ]
        span = {"traceId": "467161654a8c592b532d0b1f24f26cbe", "spanId": f"1498c50cbeab298{i}",
                "name": "chat m", "kind": 3, "attributes": attributes,
                "startTimeUnixNano": str(1795971758 * 10**9 + i * 10**9),
                "endTimeUnixNano": str(1795971759 * 10**9 + i * 10**9)}  # fmt: skip
        rows.append({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})
    put(path, rows)


def store_claude_code(home: Path) -> None:
    """A transcript and saved bodies, written by hand from the documented shapes."""
    project = home / ".claude" / "projects" / "MY-PROJECT"
    project.mkdir(parents=True)
    usages = [
        {"input_tokens": 3, "cache_read_input_tokens": 1000 * i,
         "cache_creation_input_tokens": 1000, "output_tokens": 9}
        for i in range(2)
    ]  # fmt: skip
    put(project / "s.jsonl", [
        {"type": "assistant", "sessionId": "s", "timestamp": f"2026-09-01T10:00:0{i}.000Z",
         "requestId": f"req_{i}", "message": {"id": f"msg_{i}", "model": "claude", "usage": usage}}
        for i, usage in enumerate(usages)
    ])  # fmt: skip
    bodies = home / "bodies"
    bodies.mkdir()
    index = []
    for i, usage in enumerate(usages):
        # The names come in another order than the calls.
        name = f"{'ba'[i]}.request.json"
        (bodies / name).write_text(json.dumps({**ANTHROPIC, "max_tokens": 9, "stream": True}))
        answer = {"id": f"msg_{i}", "content": [{"type": "text", "text": "a"}], "usage": usage}
        (bodies / f"req_{i}.response.json").write_text(json.dumps(answer))
        index.append({"timestamp": f"2026-09-01T10:00:0{i}.000Z", "session_id": "s",
                      "query_source": "main", "model": "claude", "request_id": f"req_{i}",
                      "message_id": f"msg_{i}", "message_uuid": f"u{i}",
                      "request_file": str(bodies / name),
                      "response_file": f"req_{i}.response.json"})  # fmt: skip
    put(bodies / "index.jsonl", index)
    (snippet,) = (block for block in blocks("python") if "index.jsonl" in block)
    (home / "claude_bodies.py").write_text(snippet)


def test_every_command_of_the_guide_does_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    stored(tmp_path)
    tokens: dict[tuple[str, str], dict[str, Any]] = {}
    for line in commands():
        name, *arguments = [os.path.expanduser(word) for word in shlex.split(line)] or [""]
        if name == "hitpath":
            output = ("--json", "-") if "--out" not in arguments else ()
            ended = call(*arguments, *output)
            assert ended.code == 0, (line, ended.err)
            if arguments[0] == "analyze":
                option = "".join(o for o in ("--map", "--tokenizer") if o in arguments)
                tokens[Path(arguments[1]).name, option] = json.loads(ended.out)["tokens"]
            elif arguments[0] == "diff":
                changed = json.loads(ended.out)
                assert changed["a"]["tokens"] == changed["b"]["tokens"]
        elif name in ("sed", "head") or "claude_bodies.py" in line:
            line = line.replace("python ", f"{shlex.quote(sys.executable)} ")
            ran = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
            assert ran.returncode == 0, (line, ran.stderr)
    assert tokens["trace.jsonl", ""]["hit"] > 0
    in_tokens = tokens["trace.jsonl", "--tokenizer"]
    assert in_tokens["hit"] == 48
    lengths = tokens["trace.jsonl", "--map"]
    assert (lengths["hit"], lengths["prompt"]) == (48, in_tokens["prompt"])
    assert tokens["server.log", ""]["hit"] == 32  # 40 tokens twice: two whole blocks of 16
    sglang = tokens["sglang.jsonl", "--map"]
    assert (sglang["hit"], sglang["unexplained"]) == (39, 1)  # 40 of 41 were computed before
    assert tokens["sglang-request-metrics-*.log", "--map"]["hit"] == 39
    assert tokens["litellm.jsonl", ""]["hit"] > 0
    assert tokens["litellm.jsonl", "--map"]["hit"] == 1408
    assert tokens["spans.jsonl", ""]["hit"] > 0
    assert tokens["spans.jsonl", "--tokenizer"]["hit"] == 64
    transcripts = tokens["MY-PROJECT", ""]
    assert (transcripts["hit"], transcripts["prompt"]) == (1000, 1003 + 2003)
    assert tokens["claude.jsonl", ""]["hit"] > 0
    rows = [json.loads(line) for line in Path("claude.jsonl").read_text().splitlines()]
    assert [row["custom_id"] for row in rows] == ["req_0", "req_1"]  # order of the calls


def test_the_options_that_the_guide_names_exist():
    """Those of hitpath and of the proxy; those of engines stand in its footnotes."""
    help_of = subprocess.run([sys.executable, str(EXAMPLES / "record_proxy.py"), "--help"],
                             capture_output=True, text=True, check=True).stdout  # fmt: skip
    text = GUIDE.read_text()
    section = text[text.index("## A recipe") : text.index("- **Usage must be told.**")]
    ours = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", section)) - {"--return-input-ids"}
    theirs = {"--tokenizer", "--map"}
    assert ours - theirs <= set(re.findall(r"--[a-z-]+", help_of))
    shown = call("analyze", "--help").text
    assert all(option in shown for option in theirs | {"--sample", "--last-token", "--block-size"})

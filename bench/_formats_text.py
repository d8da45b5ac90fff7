"""Files of the formats that hold text, see _formats.py."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from _calls import BEGIN_S, MODEL, TOOLS, Chat, chats, iso, write_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def openai_bodies(path: Path, num: int, seed: int) -> None:
    write_lines(
        path,
        (
            {
                "model": MODEL,
                "messages": c.messages,
                "tools": TOOLS,
                "temperature": 0.7,
                "max_tokens": 512,
                "stream": True,
            }
            for c in chats(num, seed)
        ),
    )


def lmcache(path: Path, num: int, seed: int) -> None:
    write_lines(
        path,
        (
            {
                "timestamp": int(c.arrival_s * 1e6),
                "input": "\n".join(m["content"] for m in c.messages),
                "output": c.reply,
                "session_id": f"s{c.session}",
            }
            for c in chats(num, seed)
        ),
    )


def _shared(num: int, seed: int) -> Iterator[str]:
    names = {"system": "system", "user": "human", "assistant": "gpt"}

    def conversation(calls: list[Chat]) -> dict[str, Any]:
        told = [*calls[-1].messages[1:], {"role": "assistant", "content": calls[-1].reply}]
        turns = [{"from": names[m["role"]], "value": m["content"]} for m in told]
        return {"id": f"c{calls[0].session}_0", "conversations": turns}

    for _, calls in groupby(chats(num, seed), lambda c: c.session):
        yield json.dumps(conversation(list(calls)), ensure_ascii=False)


def sharegpt(path: Path, num: int, seed: int) -> None:
    """One array in one line, as it is published."""
    path.write_text(f"[{', '.join(_shared(num, seed))}]\n", encoding="utf-8")


def sharegpt_lines(path: Path, num: int, seed: int) -> None:
    write_lines(path, _shared(num, seed))


def _span(c: Chat) -> dict[str, Any]:
    def attribute(name: str, value: Any) -> dict[str, Any]:
        kind = "intValue" if isinstance(value, int) else "stringValue"
        return {"key": name, "value": {kind: str(value)}}

    parts = [
        {"role": m["role"], "parts": [{"type": "text", "content": m["content"]}]}
        for m in c.messages
    ]
    reply = [{"role": "assistant", "parts": [{"type": "text", "content": c.reply}]}]
    return {
        "traceId": f"{c.session:032x}",
        "spanId": f"{c.number:016x}",
        "name": "chat",
        "kind": 3,
        "startTimeUnixNano": str(int(c.arrival_s * 1e9)),
        "endTimeUnixNano": str(int(c.finish_s * 1e9)),
        "attributes": [
            attribute("gen_ai.operation.name", "chat"),
            attribute("gen_ai.request.model", MODEL),
            attribute("gen_ai.conversation.id", f"s{c.session}"),
            attribute("gen_ai.input.messages", json.dumps(parts, ensure_ascii=False)),
            attribute("gen_ai.output.messages", json.dumps(reply, ensure_ascii=False)),
            attribute("gen_ai.usage.input_tokens", c.prompt_tokens),
            attribute("gen_ai.usage.cache_read.input_tokens", c.prompt_tokens // 2),
        ],
    }


def otel(path: Path, num: int, seed: int) -> None:
    """OTLP JSON as the collector's file exporter writes it: a batch of 64 spans a line."""

    def rows() -> Iterator[Any]:
        for _, batch in groupby(chats(num, seed), lambda c: c.number // 64):
            spans = {"scope": {"name": "vllm"}, "spans": [_span(c) for c in batch]}
            yield {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [spans]}]}

    write_lines(path, rows())


def otel_spans(path: Path, num: int, seed: int) -> None:
    """A span a line with plain attributes, as exporters in Python print it."""

    def row(c: Chat) -> dict[str, Any]:
        span = _span(c)
        plain = {a["key"]: next(iter(a["value"].values())) for a in span["attributes"]}
        for name in ("gen_ai.usage.input_tokens", "gen_ai.usage.cache_read.input_tokens"):
            plain[name] = int(plain[name])
        plain["gen_ai.usage.output_tokens"] = c.output_tokens
        return {
            "trace_id": span["traceId"],
            "span_id": span["spanId"],
            "name": "chat",
            "start_time": iso(c.arrival_s),
            "end_time": iso(c.finish_s),
            "attributes": plain,
        }

    write_lines(path, map(row, chats(num, seed)))


def swe_agent(folder: Path, num: int, seed: int) -> None:
    """A run a file; each step keeps the messages as they were sent."""
    folder.mkdir()
    for session, calls in groupby(chats(num, seed), lambda c: c.session):
        told = list(calls)
        steps = [
            {
                "action": "ls",
                "observation": "ok",
                "response": c.reply,
                "thought": "",
                "execution_time": 0.5,
                "query": c.messages,
            }
            for c in told
        ]
        document = {
            "environment": "swe",
            "trajectory": steps,
            "history": told[-1].messages,
            "info": {},
        }
        (folder / f"run{session:05}.traj").write_text(json.dumps(document, ensure_ascii=False))


def langfuse(path: Path, num: int, seed: int) -> None:
    """The export to storage, with prompts."""
    write_lines(
        path,
        (
            {
                "id": f"o{c.number}",
                "trace_id": f"t{c.session}",
                "project_id": "p",
                "type": "GENERATION",
                "parent_observation_id": None,
                "environment": "default",
                "name": "chat",
                "level": "DEFAULT",
                "start_time": iso(c.arrival_s),
                "end_time": iso(c.finish_s),
                "metadata": {},
                "completion_start_time": iso(c.arrival_s + 0.3),
                "provided_model_name": MODEL,
                "session_id": f"s{c.session}",
                "user_id": None,
                "input": json.dumps({"messages": c.messages, "tools": TOOLS}, ensure_ascii=False),
                "output": json.dumps({"role": "assistant", "content": c.reply}, ensure_ascii=False),
                "usage_details": {
                    "input": c.prompt_tokens - c.prompt_tokens // 2,
                    "input_cached_tokens": c.prompt_tokens // 2,
                    "output": c.output_tokens,
                    "total": c.prompt_tokens + c.output_tokens,
                },
            }
            for c in chats(num, seed)
        ),
    )


def helicone(path: Path, num: int, seed: int) -> None:
    write_lines(
        path,
        (
            {
                "request_id": f"r{c.number}",
                "request_created_at": iso(c.arrival_s)[:-1].replace("T", " "),
                "response_status": 200,
                "request_model": MODEL,
                "request_user_id": "u",
                "provider": "OPENAI",
                "request_properties": {"Helicone-Session-Id": f"s{c.session}"},
                "delay_ms": 1_500,
                "country_code": "US",
                "time_to_first_token": 300,
                "prompt_tokens": c.prompt_tokens,
                "completion_tokens": c.output_tokens,
                "prompt_cache_read_tokens": 0,
                "prompt_cache_write_tokens": 0,
                "cache_reference_id": "00000000-0000-0000-0000-000000000000",
                "request_body": {"model": MODEL, "messages": c.messages, "tools": TOOLS},
                "response_body": {
                    "choices": [{"message": {"role": "assistant", "content": c.reply}}],
                    "usage": {
                        "prompt_tokens": c.prompt_tokens,
                        "completion_tokens": c.output_tokens,
                        "prompt_tokens_details": {"cached_tokens": c.prompt_tokens // 2},
                    },
                },
            }
            for c in chats(num, seed)
        ),
    )


def claude_code(path: Path, num: int, seed: int) -> None:
    """Per call a user's line with its text and two lines of the answer."""

    def rows() -> Iterator[Any]:
        for c in chats(num, seed):
            base = {
                "sessionId": f"s{c.session}",
                "cwd": "/home/me/project",
                "version": "2.0.14",
                "gitBranch": "main",
                "isSidechain": False,
                "userType": "external",
                "timestamp": iso(c.arrival_s),
            }
            yield {**base, "type": "user", "uuid": f"u{c.number}", "message": c.messages[-1]}
            hit = c.prompt_tokens // 16 * 15
            usage = {
                "input_tokens": 4,
                "cache_read_input_tokens": hit,
                "output_tokens": 2,
                "cache_creation_input_tokens": c.prompt_tokens - hit,
                "service_tier": "standard",
            }
            message = {
                "id": f"msg_{c.number}",
                "type": "message",
                "role": "assistant",
                "model": "claude-opus-4-5",
            }
            for part, content in enumerate((c.reply, "tool")):
                usage = {**usage, "output_tokens": c.output_tokens if part else 2}
                told = {**message, "content": [{"type": "text", "text": content}], "usage": usage}
                yield {
                    **base,
                    "type": "assistant",
                    "uuid": f"a{c.number}.{part}",
                    "requestId": f"req_{c.number}",
                    "message": told,
                }

    write_lines(path, rows())


def guidellm(path: Path, num: int, seed: int) -> None:
    """One document with one benchmark; each request keeps its body and output."""

    def request(c: Chat) -> dict[str, Any]:
        body = {"model": MODEL, "messages": c.messages, "stream": True, "max_tokens": 512}
        return {
            "type_": "generative_request_stats",
            "request_id": f"r{c.number}",
            "response_id": f"chatcmpl-{c.number}",
            "request_args": json.dumps({"body": body, "headers": None}),
            "output": c.reply,
            "reasoning_output": None,
            "tool_calls": None,
            "info": {
                "request_id": f"r{c.number}",
                "status": "completed",
                "scheduler_node_id": 0,
                "conversation_id": f"s{c.session}",
                "turn_index": c.turn - 1,
                "timings": {
                    "queued": c.arrival_s,
                    "resolve_start": c.arrival_s,
                    "request_start": c.arrival_s,
                    "first_token_iteration": c.arrival_s + 0.3,
                    "request_end": c.finish_s,
                },
            },
            "input_metrics": {
                "text_tokens": c.prompt_tokens,
                "text_words": 10,
                "text_characters": 100,
                "cached_tokens": c.prompt_tokens // 2,
            },
            "output_metrics": {
                "text_tokens": c.output_tokens,
                "text_words": 10,
                "text_characters": 100,
            },
        }

    successful = [request(c) for c in chats(num, seed)]
    totals = {"successful": num, "errored": 0, "incomplete": 0, "total": num}
    benchmark = {
        "type_": "generative_benchmark",
        "metrics": {"request_totals": totals},
        "requests": {"successful": successful, "errored": [], "incomplete": []},
    }
    document = {"metadata": {"version": 1, "guidellm_version": "0.8.1"}, "benchmarks": [benchmark]}
    path.write_text(json.dumps(document))


def inference_perf(path: Path, num: int, seed: int) -> None:
    """One array over several lines, as `json.dumps(..., indent=2)` writes it."""
    rows = [
        {
            "start_time": c.arrival_s - BEGIN_S,
            "end_time": c.finish_s - BEGIN_S,
            "request": json.dumps({"model": MODEL, "messages": c.messages, "max_tokens": 512}),
            "response": c.reply,
            "info": {
                "request_metrics": {"text": {"input_tokens": c.prompt_tokens}},
                "lora_adapter": None,
                "response_metrics": {
                    "output_tokens": c.output_tokens,
                    "output_token_times": [
                        c.arrival_s - BEGIN_S + 0.1 + 0.02 * k for k in range(20)
                    ],
                    "server_usage": {
                        "prompt_tokens": c.prompt_tokens,
                        "completion_tokens": c.output_tokens,
                        "prompt_tokens_details": {"cached_tokens": c.prompt_tokens // 2},
                    },
                },
            },
            "error": None,
        }
        for c in chats(num, seed)
    ]
    path.write_text(json.dumps(rows, indent=2))


def vllm_log(path: Path, num: int, seed: int) -> None:
    """Requests at INFO with text and ids, a line of statistics every ten."""

    def rows() -> Iterator[str]:
        for c in chats(num, seed):
            when = datetime.fromtimestamp(c.arrival_s, UTC).strftime("%m-%d %H:%M:%S")
            text = "\n".join(m["content"] for m in c.messages)
            ids = [(c.session * 7919 + k * 31) % 120_000 for k in range(c.prompt_tokens)]
            yield (
                f"INFO {when} [logger.py:42] Received request cmpl-{c.number}-0: "
                f"prompt: {text!r}, params: SamplingParams(n=1, presence_penalty=0.0, "
                "temperature=0.7, top_p=1.0, max_tokens=512), "
                f"prompt_token_ids: {ids}, prompt_embeds shape: None, lora_request: None."
            )
            if c.number % 10 == 0:
                yield (
                    f"INFO {when} [loggers.py:127] Engine 000: Avg prompt throughput: 512.3 "
                    "tokens/s, Avg generation throughput: 50.1 tokens/s, Running: 3 reqs, "
                    "Waiting: 0 reqs, GPU KV cache usage: 1.2%, Prefix cache hit rate: 41.5%"
                )

    write_lines(path, rows())

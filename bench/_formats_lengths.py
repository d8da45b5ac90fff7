"""Files of the formats that tell lengths only, see _formats.py."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from _calls import BEGIN_S, MODEL, NO_BLOCKS, iso, lengths, write_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def litellm(path: Path, num: int, seed: int) -> None:
    """Spend logs without stored prompts, which is LiteLLM's default."""
    write_lines(
        path,
        (
            {
                "request_id": f"chatcmpl-{c.number}",
                "call_type": "acompletion",
                "api_key": "88dc28d0f030c55ed4ab77ed",
                "spend": 0.0012,
                "total_tokens": c.prompt_tokens + c.output_tokens,
                "prompt_tokens": c.prompt_tokens,
                "completion_tokens": c.output_tokens,
                "startTime": iso(BEGIN_S + c.arrival_s),
                "endTime": iso(BEGIN_S + c.finish_s),
                "completionStartTime": iso(BEGIN_S + c.arrival_s + c.ttft_s),
                "model": MODEL,
                "model_id": "",
                "model_group": "m",
                "api_base": "http://localhost:8000/v1",
                "user": "",
                "metadata": {
                    "user_api_key_alias": None,
                    "status": "success",
                    "additional_usage_values": {
                        "prompt_tokens_details": {"cached_tokens": c.cached_tokens}
                    },
                },
                "cache_hit": "False",
                "cache_key": "Cache OFF",
                "request_tags": "[]",
                "team_id": "t",
                "end_user": "",
                "session_id": f"s{c.session}",
                "status": "success",
                "messages": "{}",
                "response": "{}",
                "proxy_server_request": "{}",
            }
            for c in lengths(num, NO_BLOCKS, seed)
        ),
    )


def aiperf(path: Path, num: int, seed: int) -> None:
    """Records of AIPerf 0.13 with the metrics of a streamed run and its inter-chunk latencies."""

    def metric(value: float, unit: str) -> dict[str, Any]:
        return {"value": value, "unit": unit}

    write_lines(
        path,
        (
            {
                "metadata": {
                    "session_num": c.session,
                    "x_request_id": f"r{c.number}",
                    "x_correlation_id": f"s{c.session}",
                    "conversation_id": f"session_{c.session:06}",
                    "turn_index": c.turn - 1,
                    "request_start_ns": int((BEGIN_S + c.arrival_s) * 1e9),
                    "request_ack_ns": int((BEGIN_S + c.arrival_s) * 1e9) + 2_000_000,
                    "request_end_ns": int((BEGIN_S + c.finish_s) * 1e9),
                    "worker_id": "worker_1",
                    "record_processor_id": "record_processor_1",
                    "benchmark_phase": "profiling",
                    "was_cancelled": False,
                    "cancellation_time_ns": None,
                },
                "metrics": {
                    "input_sequence_length": metric(c.prompt_tokens, "tokens"),
                    "output_sequence_length": metric(c.output_tokens, "tokens"),
                    "output_token_count": metric(c.output_tokens, "tokens"),
                    "time_to_first_token": metric(c.ttft_s * 1e3, "ms"),
                    "time_to_second_token": metric(20.123, "ms"),
                    "request_latency": metric((c.finish_s - c.arrival_s) * 1e3, "ms"),
                    "inter_token_latency": metric(20.456, "ms"),
                    "output_token_throughput_per_user": metric(49.7, "tokens/sec/user"),
                    "inter_chunk_latency": metric(
                        [20.1 + k % 7 for k in range(min(c.output_tokens, 200))], "ms"
                    ),
                    "usage_prompt_tokens": metric(c.prompt_tokens, "tokens"),
                    "usage_completion_tokens": metric(c.output_tokens, "tokens"),
                    "usage_prompt_cache_read_tokens": metric(c.cached_tokens, "tokens"),
                },
                "error": None,
            }
            for c in lengths(num, NO_BLOCKS, seed)
        ),
    )


def bench_serve(path: Path, num: int, seed: int) -> None:
    """One run with its details (inter-token latencies and texts are most of it)."""
    told = list(lengths(num, NO_BLOCKS, seed))
    path.write_text(
        json.dumps(
            {
                "date": "20260115-120000",
                "backend": "openai",
                "model_id": MODEL,
                "num_prompts": num,
                "completed": num,
                "duration": 100.0,
                "request_throughput": num / 100,
                "input_lens": [c.prompt_tokens for c in told],
                "output_lens": [c.output_tokens for c in told],
                "ttfts": [c.ttft_s for c in told],
                "itls": [
                    [0.02 + k % 5 / 1e4 for k in range(min(100, c.output_tokens))] for c in told
                ],
                "start_times": [c.arrival_s for c in told],
                "generated_texts": ["ok " * 30] * num,
                "errors": [""] * num,
            }
        )
    )


def tracelab(path: Path, num: int, seed: int) -> None:
    write_lines(
        path,
        (
            {
                "provider": "claude",
                "session_id": f"s{c.session}",
                "round_index": c.turn - 1,
                "trace_key": f"k{c.number}",
                "user": "u1",
                "model": "claude-opus-4-5",
                "input_tokens_total": c.prompt_tokens,
                "prefix_tokens": c.cached_tokens,
                "newly_append_tokens": c.prompt_tokens - c.cached_tokens,
                "claude_cache_creation_input_tokens": 0,
                "output_tokens": c.output_tokens,
                "stop_reason": "tool_use",
                "timing_events": [
                    {"event_type": "user_message", "timestamp": iso(BEGIN_S + c.arrival_s)},
                    {"event_type": "text", "timestamp": iso(BEGIN_S + c.finish_s)},
                    {
                        "event_type": "tool_use",
                        "timestamp": iso(BEGIN_S + c.finish_s),
                        "tool_name": "Bash",
                    },
                ],
            }
            for c in lengths(num, NO_BLOCKS, seed)
        ),
    )


def azure(path: Path, num: int, seed: int) -> None:
    with path.open("w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["TIMESTAMP", "ContextTokens", "GeneratedTokens"])
        for c in lengths(num, NO_BLOCKS, seed):
            moment = datetime.fromtimestamp(BEGIN_S + c.arrival_s, UTC).isoformat(
                " ", "microseconds"
            )
            rows.writerow([moment, c.prompt_tokens, c.output_tokens])


def burstgpt(path: Path, num: int, seed: int) -> None:
    with path.open("w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(
            ["Timestamp", "Model", "Request tokens", "Response tokens", "Total tokens", "Log Type"]
        )
        for c in lengths(num, NO_BLOCKS, seed):
            total = c.prompt_tokens + c.output_tokens
            row = [
                int(c.arrival_s),
                "ChatGPT",
                c.prompt_tokens,
                c.output_tokens,
                total,
                "Conversation log",
            ]
            rows.writerow(row)


def own_columns(path: Path, num: int, seed: int) -> None:
    """A table with names of its own, read with --map."""
    with path.open("w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["when", "request", "n_in", "n_out", "hit", "user"])
        for c in lengths(num, NO_BLOCKS, seed):
            rows.writerow(
                [
                    int(c.arrival_s * 1000),
                    f"r{c.number}",
                    c.prompt_tokens,
                    c.output_tokens,
                    c.cached_tokens,
                    f"s{c.session}",
                ]
            )


OWN_COLUMNS = (
    "arrival_s=when:ms",
    "id=request",
    "prompt_tokens=n_in",
    "output_tokens=n_out",
    "reported.cached_tokens=hit",
    "session=user",
)


def engine_log(path: Path, num: int, seed: int) -> None:
    """vLLM's statistics line every ten seconds, with lines of requests between."""

    def rows() -> Iterator[str]:
        for c in lengths(num, NO_BLOCKS, seed):
            when = datetime.fromtimestamp(BEGIN_S + 10 * c.number, UTC).strftime("%m-%d %H:%M:%S")
            yield (
                f"(APIServer pid=1) INFO {when} [loggers.py:257] Engine 000: "
                f"Avg prompt throughput: {c.prompt_tokens / 10:.1f} tokens/s, "
                f"Avg generation throughput: {c.output_tokens / 10:.1f} tokens/s, "
                f"Running: {c.turn} reqs, Waiting: 0 reqs, GPU KV cache usage: 1.2%, "
                f"Prefix cache hit rate: {c.session % 100}.{c.turn % 10}%"
            )
            yield (
                "(APIServer pid=1) INFO:     127.0.0.1:5000 - "
                '"POST /v1/chat/completions HTTP/1.1" 200 OK'
            )

    write_lines(path, rows())

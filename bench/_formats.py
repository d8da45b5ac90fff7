"""A file of each format for readers.py, in the shapes that their writers give them.

`FORMATS` is name -> Kind: the writer, which takes (path, number of requests, seed), and the number
of requests of a file of some 20 to 50 MB. Those with ids of tokens or blocks are made here.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable  # noqa: TC003 (Kind is evaluated)
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import _formats_lengths as told
import _formats_text as text
from _calls import BEGIN_S, MODEL, NO_BLOCKS, TOOLS, Lengths, chats, lengths, write_lines

if TYPE_CHECKING:
    from collections.abc import Iterator


def mooncake(path: Path, num: int, seed: int) -> None:
    write_lines(
        path,
        (
            f'{{"timestamp": {int(c.arrival_s * 1000)}, "input_length": {c.prompt_tokens}, '
            f'"output_length": {c.output_tokens}, "hash_ids": [{c.ids}]}}'
            for c in lengths(num, 512, seed)
        ),
    )


def bailian(path: Path, num: int, seed: int) -> None:
    def rows() -> Iterator[str]:
        before: dict[int, int] = {}
        for c in lengths(num, 16, seed):
            yield (
                f'{{"chat_id": {c.number}, "parent_chat_id": {before.get(c.session, -1)}, '
                f'"timestamp": {c.arrival_s}, "input_length": {c.prompt_tokens}, '
                f'"output_length": {c.output_tokens}, '
                f'"type": "text", "turn": {c.turn}, "hash_ids": [{c.ids}]}}'
            )
            before[c.session] = c.number

    write_lines(path, rows())


def coding_agent(folder: Path, num: int, seed: int) -> None:
    """A folder of sessions; ids are local to a session, of whole blocks of 64 tokens."""
    folder.mkdir()
    by_session: dict[int, list[Lengths]] = {}
    for c in lengths(num, NO_BLOCKS, seed):
        by_session.setdefault(c.session % (num // 100 + 1), []).append(c)
    for name, calls in by_session.items():
        requests, tokens = [], 15_000
        for c in calls:
            tokens += c.output_tokens // 4 + 150
            requests.append(
                {
                    "t": round(c.arrival_s - calls[0].arrival_s, 3),
                    "type": "n",
                    "model": "claude-opus-4-5",
                    "in": tokens,
                    "out": c.output_tokens,
                    "hash_ids": list(range(1, tokens // 64 + 1)),
                    "input_types": ["text", "tool_result"],
                    "output_types": ["tool_use"],
                    "stop": "tool_use",
                    "api_time": c.ttft_s,
                    "think_time": 1.5,
                }
            )
        document = {
            "id": f"trace_{name:04}",
            "models": ["claude-opus-4-5"],
            "block_size": 64,
            "hash_id_scope": "local",
            "tool_tokens": 12_319,
            "system_tokens": 2_882,
            "requests": requests,
        }
        (folder / f"trace_{name:04}.json").write_text(json.dumps(document))


def ragpulse(folder: Path, num: int, seed: int) -> None:
    """The trace and its five tables."""
    folder.mkdir()
    write_lines(
        folder / "0_trace.jsonl",
        (
            {
                "timestamp": str(int(c.arrival_s)),
                "input_length": 3_000,
                "output_length": c.output_tokens,
                "hash_ids": {
                    "sys_prompt": [c.session % 3],
                    "passages_ids": [(c.session * k) % 997 for k in range(1, 9)],
                    "history": [c.number % 500] if c.turn > 1 else [],
                    "web_search": [],
                    "user_input": [c.number % 5_000],
                },
                "session_id": f"s{c.session}",
            }
            for c in lengths(num, NO_BLOCKS, seed)
        ),
    )
    tables = (
        ("sys_prompt", 3, 400),
        ("passage", 997, 280),
        ("history", 500, 300),
        ("user_input", 5_000, 40),
    )
    for order, (name, count, mean) in enumerate(tables, 1):
        write_lines(
            folder / f"{order}_{name}.jsonl",
            ({f"{name}_id": i, "token_length": mean + i % 50} for i in range(count)),
        )


def hitpath_tokens(path: Path, num: int, seed: int) -> None:
    """Token ids of 5 digits, up to 2,000 a prompt."""
    write_lines(
        path,
        (
            {
                "id": f"r{c.number}",
                "arrival_s": c.arrival_s,
                "session": f"s{c.session}",
                "turn": c.turn,
                "tokens": [
                    (c.session * 7919 + k * 31) % 120_000
                    for k in range(min(2_000, c.prompt_tokens))
                ],
                "output_tokens": c.output_tokens,
                "finish_s": c.finish_s,
            }
            for c in lengths(num, NO_BLOCKS, seed)
        ),
    )


def hitpath_keys(path: Path, num: int, seed: int) -> None:
    write_lines(
        path,
        (
            f'{{"id": "r{c.number}", "arrival_s": {c.arrival_s}, "session": "s{c.session}", '
            f'"block_size": 64, "prompt_tokens": {c.prompt_tokens}, '
            f'"output_tokens": {c.output_tokens}, "block_keys": [{c.ids}]}}'
            for c in lengths(num, 64, seed)
        ),
    )


def hitpath_lengths(path: Path, num: int, seed: int) -> None:
    write_lines(
        path,
        (
            {
                "id": f"r{c.number}",
                "arrival_s": c.arrival_s,
                "prompt_tokens": c.prompt_tokens,
                "output_tokens": c.output_tokens,
                "session": f"s{c.session}",
                "turn": c.turn,
                "model": MODEL,
                "finish_s": c.finish_s,
                "reported": {"cached_tokens": c.cached_tokens, "ttft_s": c.ttft_s},
            }
            for c in lengths(num, NO_BLOCKS, seed)
        ),
    )


def hitpath_messages(path: Path, num: int, seed: int) -> None:
    write_lines(
        path,
        (
            {
                "id": f"r{c.number}",
                "arrival_s": c.arrival_s,
                "session": f"s{c.session}",
                "messages": c.messages,
                "tools": TOOLS,
                "reply": c.reply,
            }
            for c in chats(num, seed)
        ),
    )


def baseten(path: Path, num: int, seed: int) -> None:
    """Ids of 64-token blocks beside the literal prompt."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = chats(num, seed)
    rows = [
        {
            "timestamp_start_unix_ms": int((BEGIN_S + c.arrival_s) * 1000),
            "prompt": "\n".join(m["content"] for m in next(texts).messages),
            "input_tokens": c.prompt_tokens,
            "output_tokens": c.output_tokens,
            "total_hashes": json.loads(f"[{c.ids}]"),
            "block_size": 64,
            "provided_session_id": f"s{c.session}",
            "cached_tokens_reference": c.cached_tokens,
            "duration_e2e_ms": int(1e3 * (c.finish_s - c.arrival_s)),
            "duration_ttft_ms": int(1e3 * c.ttft_s),
        }
        for c in lengths(num, 64, seed)
    ]
    pq.write_table(pa.Table.from_pylist(rows), path)


class Kind(NamedTuple):
    """write: the writer; num: requests of a whole file; ending: of the path, "" for a folder."""

    write: Callable[[Path, int, int], None]
    num: int
    ending: str = ".jsonl"
    mapping: tuple[str, ...] = ()


FORMATS: dict[str, Kind] = {
    "mooncake": Kind(mooncake, 120_000),
    "qwen-bailian": Kind(bailian, 15_000),
    "coding-agent": Kind(coding_agent, 10_000, ""),
    "ragpulse": Kind(ragpulse, 25_000, ""),
    "hitpath tokens": Kind(hitpath_tokens, 3_000),
    "hitpath block_keys": Kind(hitpath_keys, 40_000),
    "hitpath messages": Kind(hitpath_messages, 3_000),
    "hitpath lengths": Kind(hitpath_lengths, 100_000),
    "lmcache-agent": Kind(text.lmcache, 3_000),
    "openai-requests": Kind(text.openai_bodies, 3_000),
    "sharegpt": Kind(text.sharegpt, 15_000, ".json"),
    "sharegpt lines": Kind(text.sharegpt_lines, 15_000),
    "otel-genai": Kind(text.otel, 4_000),
    "otel-genai spans": Kind(text.otel_spans, 4_000),
    "swe-agent": Kind(text.swe_agent, 3_000, ""),
    "litellm": Kind(told.litellm, 30_000),
    "langfuse": Kind(text.langfuse, 4_000),
    "helicone": Kind(text.helicone, 4_000),
    "claude-code": Kind(text.claude_code, 10_000),
    "aiperf": Kind(told.aiperf, 10_000),
    "guidellm": Kind(text.guidellm, 4_000, ".json"),
    "inference-perf": Kind(text.inference_perf, 4_000, ".json"),
    "bench-serve": Kind(told.bench_serve, 20_000, ".json"),
    "tracelab": Kind(told.tracelab, 50_000),
    "vllm-request-log": Kind(text.vllm_log, 2_500, ".log"),
    "azure-llm": Kind(told.azure, 400_000, ".csv"),
    "burstgpt": Kind(told.burstgpt, 400_000, ".csv"),
    "baseten": Kind(baseten, 8_000, ".parquet"),
    "mapped": Kind(told.own_columns, 400_000, ".csv", told.OWN_COLUMNS),
    "engine-statistics": Kind(told.engine_log, 60_000, ".log"),
}


if __name__ == "__main__":
    # In a process of its own, so that who runs the readers stays small.
    name, num, seed, path = sys.argv[1:]
    FORMATS[name].write(Path(path), int(num), int(seed))

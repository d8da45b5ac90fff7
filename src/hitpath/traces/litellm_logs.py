"""LiteLLM: rows of the proxy's spend log, and the payload that it hands to callbacks.

Source: BerriAI/litellm 1.110.2 (types/utils.py StandardLoggingPayload, proxy/schema.prisma
LiteLLM_SpendLogs, proxy/spend_tracking, llms/anthropic/chat/transformation.py). `prompt_tokens`
includes what was read from and written to a cache, for Anthropic too. `cache_hit` is LiteLLM's
own cache of responses: such a call reached no engine.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from hitpath.traces.export_fields import (
    Fields,
    converted,
    first_row,
    messages_body,
    prompt_text,
    stored_replies,
)
from hitpath.traces.exports import Call, ExportRows
from hitpath.traces.request_bodies import Content, Counts, Usage, counts_of
from hitpath.traces.rows import TraceBuilder
from hitpath.traces.sources import Format, Input, ReadOptions
from hitpath.traces.table import Trace

NAME = "litellm"
_WRAPPERS = ("data",)
_RESPONSES = ("responses", "aresponses", "_aresponses_websocket")
_GENERATING = (
    "completion", "acompletion", "text_completion", "atext_completion",
    "anthropic_messages", "aanthropic_messages", *_RESPONSES,
    "generate_content", "agenerate_content", "generate_content_stream",
    "agenerate_content_stream", "pass_through_endpoint", "llm_passthrough_route",
    "allm_passthrough_route",
)  # fmt: skip
"""Call types that send a prompt for generated text (types/utils.py CallTypes)."""

_CACHED_ID = re.compile(r"_cache_hit\d+(\.\d+)?$")
_SHORTENED = re.compile(
    rb"\.\.\. \(litellm_truncated skipped \d+ chars\."
    rb"|\.\.\.truncated by litellm, this logger does not support large content"
    rb"|;base64,\[base64_data truncated: "
)
"""What LiteLLM puts in the place of text or media that it does not store."""
_REDACTED = [{"role": "user", "content": "redacted-by-litellm"}]


def recognises(value: object) -> bool:
    """Whether a first row or document is of this format."""
    row = first_row(value, *_WRAPPERS)
    return row is not None and {"call_type", "startTime"} <= row.keys()


def read(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> Trace:
    """All calls. Raises InputError."""
    rows = ExportRows(NAME, builder, options)
    for source in inputs:
        rows.read(source, _WRAPPERS, partial(_call, rows))
    return rows.build()


def _call(rows: ExportRows, row: Fields) -> Call | None:
    call_type = row.text("call_type") or ""
    identifier = row.text("id", "request_id")
    if _from_response_cache(row, identifier or ""):
        rows.leave_out(
            row.place,
            "were answered from LiteLLM's response cache (cache_hit): no engine worked, so they "
            "are left out and count as no prefix hit",
        )
        return None
    if call_type not in _GENERATING:
        rows.leave_out(row.place, "send no prompt for generated text (call_type): left out")
        return None
    if row.text("status") == "failure":
        rows.leave_out(row.place, "are calls that failed: left out")
        return None
    text, why_no_text = _text(row, call_type)
    start_s, end_s = row.start("startTime"), row.seconds("endTime")
    first_s = row.seconds("completionStartTime")
    # Where nothing was streamed, LiteLLM writes the end here.
    streamed = first_s is not None and first_s >= start_s and first_s != end_s
    metadata = row.object("metadata")
    counts = _counts(row, metadata)
    whole = not _SHORTENED.search(row.raw("response"))
    return Call(
        id=identifier,
        arrival_s=start_s,
        counts=counts,
        text=text,
        why_no_text=why_no_text,
        replies=stored_replies(row.json("response")) if text is not None and whole else [],
        output_tokens=row.count("completion_tokens") or counts.output,  # 0 is not known
        cost_usd=row.usd("response_cost", "spend"),
        finish_s=end_s,
        ttft_s=first_s - start_s if streamed and first_s is not None else None,
        session=row.text("session_id", "trace_id"),
        tenant=row.text("team_id") or _string(metadata.get("user_api_key_team_id")),
        model=row.text("model"),
    )


def _from_response_cache(row: Fields, identifier: str) -> bool:
    told = row.get(bool | str, "cache_hit")
    return str(told).lower() == "true" or _CACHED_ID.search(identifier) is not None


def _string(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _text(row: Fields, call_type: str) -> tuple[Content | str | None, str]:
    """(the whole prompt, else None, and why). Spend logs hold the request in
    `proxy_server_request`, callbacks its messages, and its tools among `model_parameters`."""
    name, value = "proxy_server_request", row.json("proxy_server_request")
    if not (isinstance(value, dict) and value):
        name, value = "messages", row.json("messages")
    if not value:
        return None, "the prompt is not stored"
    if _SHORTENED.search(row.raw(name)):
        return None, "the prompt is stored shortened (litellm_truncated and the like)"
    if name == "messages":
        value = _body(value, call_type, row.object("model_parameters"))
    found = prompt_text(value)
    if isinstance(found, Content) and _REDACTED in (found.messages, found.input):
        return None, "the prompt is redacted by LiteLLM"
    if found is None:
        return None, f"{name} is no prompt that can be read"
    return found, ""


def _body(value: Any, call_type: str, parameters: dict[str, Any]) -> Any:
    """The messages of a callback's payload with the parameters that make part of the prompt."""
    if call_type in _RESPONSES and isinstance(value, str | list):
        body: Any = {"input": value}
    elif isinstance(value, list):
        body = messages_body(value)
    else:
        return value
    names = ("tools", "functions", "instructions", "previous_response_id")
    return body and {**{k: parameters[k] for k in names if k in parameters}, **body}


def _counts(row: Fields, metadata: dict[str, Any]) -> Counts:
    """The prompt as LiteLLM counts it (0: not known), and what the first usage in the row that
    tells of caches tells of them."""
    usages = {
        "usage": row.object("usage"),
        "metadata.usage_object": metadata.get("usage_object"),
        "metadata.additional_usage_values": metadata.get("additional_usage_values"),
        "response.usage": row.object("response").get("usage"),
    }
    found = Counts()
    for name, usage in usages.items():
        if isinstance(usage, dict) and usage and found.hit is None and found.written is None:
            told = counts_of(converted(usage, Usage, name, row.place), row.place)
            found = replace(told, prompt=found.prompt or told.prompt)
    return replace(found, prompt=row.count("prompt_tokens") or found.prompt or None)


FORMAT = Format(NAME, "LiteLLM spend logs and callback payloads", recognises, read)

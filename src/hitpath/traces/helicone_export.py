"""Helicone: requests as its API and `@helicone/export` write them.

Source: Helicone/helicone (llm-mapper/types.ts HeliconeRequest, jawn LoggingHandler and request
store, packages/cost/usage), 2025. The provider's own usage in `response_body` tells what its
counts include. The columns do not: `prompt_tokens` of Anthropic excludes the cached tokens in
every version, of others in some only, and 0 stands for "not told". A `cache_reference_id` names
Helicone's own cache of responses: such a call reached no engine.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from hitpath.traces.export_fields import (
    Fields,
    converted,
    first_row,
    prompt_text,
    stored_replies,
)
from hitpath.traces.exports import Call, ExportRows
from hitpath.traces.request_bodies import Content, Counts, Usage, counts_of
from hitpath.traces.rows import TraceBuilder, check_seconds
from hitpath.traces.sources import Format, Input, ReadOptions
from hitpath.traces.table import Trace

NAME = "helicone"
_WRAPPERS = ("data",)
_NOT_CACHED = (None, "00000000-0000-0000-0000-000000000000")
_SUCCESSES = range(200, 300)


def recognises(value: object) -> bool:
    """Whether a first row or document is of this format."""
    row = first_row(value, *_WRAPPERS)
    return row is not None and {"request_id", "request_created_at"} <= row.keys()


def read(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> Trace:
    """All requests. Raises InputError."""
    rows = ExportRows(NAME, builder, options)
    for source in inputs:
        rows.read(source, _WRAPPERS, partial(_call, rows))
    return rows.build()


def _call(rows: ExportRows, row: Fields) -> Call | None:
    if row.text("cache_reference_id") not in _NOT_CACHED:
        rows.leave_out(
            row.place,
            "were answered from Helicone's response cache: no engine worked, so they are left out "
            "and count as no prefix hit",
        )
        return None
    status = row.get(int, "response_status")
    if status is not None and status not in _SUCCESSES:
        rows.leave_out(row.place, "have a response_status other than 2xx: left out")
        return None
    text, why_no_text = _text(row)
    start_s = row.start("request_created_at")
    properties = row.object("request_properties") or row.object("properties")
    return Call(
        id=row.text("request_id"),
        arrival_s=start_s,
        counts=_counts(row),
        text=text,
        why_no_text=why_no_text,
        replies=stored_replies(row.json("response_body")) if text is not None else [],
        output_tokens=row.count("completion_tokens") or None,
        finish_s=_later(row, start_s, "delay_ms"),
        ttft_s=_ttft_s(row),
        session=_property(properties, "helicone-session-id"),
        tenant=row.text("request_user_id"),
        model=row.text("request_model", "model", "response_model"),
    )


def _text(row: Fields) -> tuple[Content | str | None, str]:
    """(the whole prompt, else None, and why)."""
    body = row.object("request_body")
    if not body or "helicone_message" in body or not body.keys() - {"model"}:
        # A string is Helicone's preview: characters are dropped from it.
        return None, "request_body is not in the export (--include-body)"
    found = prompt_text(body)
    return found, "" if found is not None else "request_body is no prompt that can be read"


def _counts(row: Fields) -> Counts:
    """From the response's usage; from the columns only what they tell in every version."""
    usage = row.object("response_body").get("usage")
    if isinstance(usage, dict) and usage:
        told = counts_of(converted(usage, Usage, "response_body.usage", row.place), row.place)
        details = usage.get("prompt_tokens_details")
        if isinstance(details, dict) and "cache_write_details" in details and told.prompt:
            # Helicone's gateway made this usage: its prompt_tokens leave the writes out.
            return Counts(told.prompt + (told.written or 0), told.hit, told.written)
        return told
    told_tokens = row.count("prompt_tokens") or 0
    hit = row.count("prompt_cache_read_tokens") or 0
    written = row.count("prompt_cache_write_tokens") or 0
    if (row.text("provider") or "").upper() == "ANTHROPIC":
        prompt = told_tokens + hit + written
        return Counts(prompt, hit, written) if prompt else Counts()
    return Counts(None if hit or written else told_tokens or None)


def _later(row: Fields, start_s: float, name: str) -> float | None:
    delay_ms = row.get(int | float, name)
    if not delay_ms:
        return None  # 0 stands for "not told"
    return check_seconds(start_s + check_seconds(delay_ms / 1e3, name, row.place), name, row.place)


def _ttft_s(row: Fields) -> float | None:
    told_ms = row.get(int | float, "time_to_first_token")
    return check_seconds(told_ms / 1e3, "time_to_first_token", row.place) if told_ms else None


def _property(properties: dict[str, Any], wanted: str) -> str | None:
    """A property by its name, in any case; None where it is absent or no string."""
    found = (value for name, value in properties.items() if name.lower() == wanted)
    value = next(found, None)
    return value if isinstance(value, str) and value else None


FORMAT = Format(NAME, "Helicone requests", recognises, read)

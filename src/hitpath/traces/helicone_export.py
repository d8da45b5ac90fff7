"""Helicone: requests as its API and `@helicone/export` write them.

Source: Helicone/helicone (llm-mapper/types.ts HeliconeRequest, jawn LoggingHandler and request
store, packages/cost/usage), 2025. The provider's own usage in `response_body` tells what its
counts include. The columns do not: `prompt_tokens` of Anthropic excludes the cached tokens in
every version, of others in some only, and 0 stands for "not told" too: it is a count only beside
one above 0. A `cache_reference_id` names Helicone's own cache of responses: such a call reached
no engine.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
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
from hitpath.traces.rows import TraceBuilder, check_seconds, scaled_seconds, whole_prompt
from hitpath.traces.sources import Format, Input, ReadOptions
from hitpath.traces.table import Trace

NAME = "helicone"
_WRAPPERS = ("data",)
_NOT_CACHED = (None, "00000000-0000-0000-0000-000000000000")
_SUCCESSES = range(200, 300)
_UNTOLD = (
    "rows of Anthropic have no count above 0 in the columns of the cache and no usage of the "
    "response: Helicone writes 0 also for what was not told, so neither their hit nor their whole "
    "prompt is known"
)


def recognises(value: object) -> bool:
    """Whether a first row or document is of this format."""
    row = first_row(value, *_WRAPPERS)
    return row is not None and {"request_id", "request_created_at"} <= row.keys()


def read(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> Trace:
    """All requests. Raises InputError."""
    rows = ExportRows(NAME, builder, options)
    found: Counter[str] = Counter()
    for source in inputs:
        rows.read(source, _WRAPPERS, partial(_call, rows, found))
    if found[_UNTOLD]:
        builder.notes.append(f"{found[_UNTOLD]:,} {_UNTOLD}")
    return rows.build()


def _call(rows: ExportRows, found: Counter[str], row: Fields) -> Call | None:
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
    counts = _counts(row, found)
    properties = row.object("request_properties") or row.object("properties")
    return Call(
        id=row.text("request_id"),
        arrival_s=start_s,
        counts=counts,
        text=text,
        why_no_text=why_no_text,
        replies=stored_replies(row.json("response_body")) if text is not None else [],
        # The provider's own usage first, as for the prompt: it tells the thoughts of Gemini.
        output_tokens=row.count("completion_tokens") or None
        if counts.output is None
        else counts.output,
        cost_usd=row.usd("costUSD"),  # `cost` is in other units in some versions
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


def _counts(row: Fields, found: Counter[str]) -> Counts:
    """From the response's usage; from the columns only what they tell in every version."""
    response = row.object("response_body")
    for name in ("usage", "usageMetadata"):
        usage = response.get(name)
        if isinstance(usage, dict) and usage:
            return _counts_of_usage(usage, f"response_body.{name}", row.place)
    told_tokens = row.count("prompt_tokens")
    hit = row.count("prompt_cache_read_tokens")
    written = row.count("prompt_cache_write_tokens")
    if (row.text("provider") or "").upper() != "ANTHROPIC":
        return Counts(None if hit or written else told_tokens or None)
    if not hit and not written:
        found[_UNTOLD] += 1
        return Counts()
    return Counts(whole_prompt(told_tokens, hit, written), hit, written)


def _counts_of_usage(usage: dict[str, Any], name: str, place: str) -> Counts:
    told = counts_of(converted(usage, Usage, name, place), place)
    details = usage.get("prompt_tokens_details")
    if isinstance(details, dict) and "cache_write_details" in details:
        # Helicone's gateway made this usage: its prompt_tokens leave the writes out, nothing else.
        return replace(told, prompt=whole_prompt(told.prompt, 0, told.written))
    return told


def _later(row: Fields, start_s: float, name: str) -> float | None:
    delay_ms = row.get(int | float, name)
    if not delay_ms:
        return None  # 0 stands for "not told"
    delay_s = scaled_seconds(delay_ms, 1e3, name, row.place)
    return check_seconds(start_s + delay_s, name, row.place)


def _ttft_s(row: Fields) -> float | None:
    told_ms = row.get(int | float, "time_to_first_token")
    return scaled_seconds(told_ms, 1e3, "time_to_first_token", row.place) if told_ms else None


def _property(properties: dict[str, Any], wanted: str) -> str | None:
    """A property by its name, in any case; None where it is absent or no string."""
    found = (value for name, value in properties.items() if name.lower() == wanted)
    value = next(found, None)
    return value if isinstance(value, str) and value else None


FORMAT = Format(NAME, "Helicone requests", recognises, read)

"""Finding out by content which format a source is of, before any reader sees it."""

from hitpath.core import InputError
from hitpath.traces import (
    coding_agent,
    hitpath_jsonl,
    lmcache_agent,
    mooncake,
    openai_requests,
    otel_genai,
    qwen_bailian,
    ragpulse,
    sharegpt,
    swe_agent,
)
from hitpath.traces.decode import decode_outline
from hitpath.traces.sources import Format, Input

FORMATS: tuple[Format, ...] = (
    coding_agent.FORMAT,
    qwen_bailian.FORMAT,  # before Mooncake, whose fields its rows have too
    ragpulse.FORMAT,
    mooncake.FORMAT,
    hitpath_jsonl.FORMAT,
    lmcache_agent.FORMAT,
    openai_requests.FORMAT,
    sharegpt.FORMAT,
    otel_genai.FORMAT,
    swe_agent.FORMAT,
)
"""Asked in this order; the first that recognises a source reads it."""


def find_format(source: Input, skip_bad_rows: bool) -> Format | None:
    """The source's format; None for an empty one, or (with `source.problem`) one without a
    readable row under `skip_bad_rows`. Raises InputError."""
    first = next(source.peek(), None)
    if first is None:
        return None
    number, line = first
    place = f"{source.name}:{number}"
    for known in FORMATS:
        if known.sniffs(line):
            return known
    try:
        value = decode_outline(line, place)
    except InputError as problem:
        return _in_spite_of(problem, source, skip_bad_rows)
    return _format_of(value, place)


def _in_spite_of(problem: InputError, source: Input, skip_bad_rows: bool) -> Format | None:
    """The first line is no JSON: one document over several lines, or a bad row to skip."""
    if next(source.peek())[1].lstrip()[:1] in (b"{", b"["):
        try:
            value = decode_outline(source.document(), source.name)
        except InputError:
            pass  # not a document either: `problem` is what is told
        else:
            return _format_of(value, source.name)
    if not skip_bad_rows:
        raise problem
    for number, line in source.peek():
        try:
            return _format_of(decode_outline(line, source.name), f"{source.name}:{number}")
        except InputError:
            continue  # this row is bad as well; the reader lists it
    source.problem = problem
    return None


def _format_of(value: object, place: str) -> Format:
    for known in FORMATS:
        if known.recognises(value):
            return known
    if isinstance(value, dict):
        found = "fields: " + (", ".join(sorted(map(str, value))[:8]) or "none")
    else:
        found = f"a JSON {type(value).__name__}"
    raise InputError(place, "", f"format not recognised ({found}); docs/trace-format.md lists them")

"""Token counts of a GenAI span: how long the prompt was, and what of it came from a cache.

Whether `gen_ai.usage.input_tokens` includes the tokens read from a cache and those written to it
is told by the names beside it:

* `cache_read.input_tokens` and `cache_creation.input_tokens` (`cache_write.` since semantic-
  conventions-genai 440) are parts of it: the rule came with these names (semantic-conventions
  3163, 2026-01; also for Anthropic, whose own count leaves them out).
* `cached_tokens` beside `prompt_tokens` (SGLang) is a part of it: both are OpenAI's names.
* `cache_read_input_tokens` and `cache_creation_input_tokens` (or `cache_write_`) are older than
  the rule. They are parts of it for providers whose own count includes cached tokens, and in
  OpenLLMetry's spans of Anthropic, which adds them up (instrumentation-anthropic, `__init__.py`).
  They stand beside it where the span's own figures prove that: input less than its parts, or a
  total of all four; the whole is known then if both are told. Else it cannot be told.
"""

from dataclasses import dataclass

from hitpath.core import InputError
from hitpath.traces.otel_spans import Attributes, Span
from hitpath.traces.rows import check_seconds, check_tokens, whole_prompt

_INPUT = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
_OUTPUT = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")
_TOTAL = ("gen_ai.usage.total_tokens", "llm.usage.total_tokens")
_READ = ("gen_ai.usage.cache_read.input_tokens",)
_WRITTEN = ("gen_ai.usage.cache_write.input_tokens", "gen_ai.usage.cache_creation.input_tokens")
_CACHED = "gen_ai.usage.cached_tokens"
_OLD_READ = ("gen_ai.usage.cache_read_input_tokens", _CACHED)
_OLD_WRITTEN = (
    "gen_ai.usage.cache_creation_input_tokens",
    "gen_ai.usage.cache_write_input_tokens",
)
_FIRST_TOKEN = ("gen_ai.response.time_to_first_chunk", "gen_ai.latency.time_to_first_token")
_PROVIDER = ("gen_ai.provider.name", "gen_ai.system")
_COUNTING_ALL = {"openai", "azure.ai.openai", "az.ai.openai", "azure.ai.inference",
                 "az.ai.inference", "azure", "deepseek", "groq", "x_ai", "xai", "gcp.gemini",
                 "gemini"}  # fmt: skip
"""Providers whose own count of the prompt includes the cached tokens."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Counts of one call, in tokens; None where the span does not tell. prompt: all of it, the
    hit and the written tokens among them. unsure: why `prompt` is not known though it is told."""

    prompt: int | None
    hit: int | None
    written: int | None
    output: int | None
    unsure: str | None = None


def has_usage(attributes: Attributes) -> bool:
    """Whether a span counts its prompt."""
    return any(attributes.get(name) is not None for name in _INPUT)


def usage_of(span: Span) -> Usage:
    """Raises InputError for what is no count."""
    told = _count(span, _INPUT)
    output = _count(span, _OUTPUT)
    hit, written = _count(span, _READ), _count(span, _WRITTEN)
    if hit is not None or written is not None:
        return Usage(told, hit, written, output)
    hit, written = _count(span, _OLD_READ), _count(span, _OLD_WRITTEN)
    nothing_apart = hit is None and written is None
    if told is None or nothing_apart or _includes_parts(span.attributes):
        return Usage(told, hit, written, output)
    parts = (hit or 0) + (written or 0)
    whole_if_apart = whole_prompt(told, hit, written)
    total = _count(span, _TOTAL)
    is_apart = parts > 0 and (told < parts or total == told + parts + (output or 0))
    if whole_if_apart is not None and (is_apart or whole_if_apart == told):
        return Usage(whole_if_apart, hit, written, output)
    what = f"the {parts:,} tokens of the cache" if parts else "tokens of the cache"
    cause = f"{told:,}, and whether it includes {what} cannot be told from these names"
    if is_apart:
        absent = "read from" if hit is None else "written to"
        cause = f"{told:,} without {what}, and how many more were {absent} it is not told"
    return Usage(None, hit, written, output, cause)


def _includes_parts(attributes: Attributes) -> bool:
    """Whether older names are known to count parts of the whole."""
    provider = next((attributes[name] for name in _PROVIDER if attributes.get(name)), None)
    provider = provider.lower() if isinstance(provider, str) else ""
    openllmetry = "llm.request.type" in attributes
    return (
        provider in _COUNTING_ALL
        or (openllmetry and provider == "anthropic")
        or (_CACHED in attributes and _INPUT[0] not in attributes)
    )


def input_name(span: Span) -> str:
    """Where the span counts its prompt, or should."""
    return span.at + next((n for n in _INPUT if span.attributes.get(n) is not None), _INPUT[0])


def first_token_s(span: Span) -> float | None:
    """Seconds to the first chunk (conventions) or token (vLLM). Raises InputError."""
    for name in _FIRST_TOKEN:
        value = span.attributes.get(name)
        if value is None:
            continue
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise InputError(span.place, span.at + name, f"{value!r} is not a number of seconds")
        return check_seconds(value, span.at + name, span.place)
    return None


def _count(span: Span, names: tuple[str, ...]) -> int | None:
    """The first of these attributes that the span has."""
    for name in names:
        value = span.attributes.get(name)
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool):
            cause = f"{value!r} is not a number of tokens"
            raise InputError(span.place, span.at + name, cause)
        return check_tokens(value, span.at + name, span.place)
    return None

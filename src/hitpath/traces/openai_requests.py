"""Request bodies as sent: OpenAI completions, chat completions and responses, Anthropic messages.

A row is a body, or holds one (`body`, `request` or `params`, as batch files do). Tools,
instructions or system text, and messages are rendered as bytes in this order. Where the
response stands in the row too, its text is the reply and its usage is what was reported:
prompt counts of OpenAI and Gemini include the cached tokens, those of Anthropic and Bedrock do
not. The prompt of a completion is text or token ids; a trace is one of them, or with a tokenizer
tokens.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np

from hitpath.core import InputError
from hitpath.traces.conversations import Clock, build_text, rows_of
from hitpath.traces.decode import RowDecoder
from hitpath.traces.in_sequence import sequence_for
from hitpath.traces.prompts import TextPrompts
from hitpath.traces.request_bodies import (
    WRAPPERS,
    Content,
    Response,
    Usage,
    chat_prompt,
    completion_of,
    replies_of,
    take_replies,
    take_usage,
)
from hitpath.traces.rows import Row, TraceBuilder, symbols_from
from hitpath.traces.sources import Format, Input, ReadOptions
from hitpath.traces.table import Symbols, Trace

NAME = "openai-requests"

_OTHERS = {"arrival_s", "id", "traceId", "attributes", "startTime", "start_time", "call_type",
           "trajectory", "trajectory_format", "conversations", "hash_ids"}  # fmt: skip
"""Fields of other formats that hold messages too."""

_PASSED_OVER = (
    "temperature", "top_p", "top_k", "max_tokens", "max_completion_tokens", "max_output_tokens",
    "stream", "stream_options", "n", "stop", "stop_sequences", "seed", "presence_penalty",
    "frequency_penalty", "logprobs", "top_logprobs", "logit_bias", "user", "metadata", "store",
    "service_tier", "parallel_tool_calls", "tool_choice", "reasoning_effort", "reasoning",
    "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "truncation", "include",
    "background", "best_of", "inferenceConfig", "guardrailConfig", "performanceConfig",
    "requestMetadata", "additionalModelResponseFieldPaths",
)  # fmt: skip
"""Documented parameters that do not change the prompt."""


class Body(Content, kw_only=True):
    """A body; an unwrapped one has the rest beside it. The first three: of a completion; with
    echo its reply begins with the prompt."""

    prompt: str | list[Any] | dict[str, Any] | None = None
    suffix: str | None = None
    echo: bool | None = None
    id: str | int | None = None
    custom_id: str | int | None = None
    method: str | None = None
    url: str | None = None
    timestamp: int | float | str | None = None
    session_id: str | int | None = None
    usage: Usage | None = None
    usage_metadata: Usage | None = msgspec.field(default=None, name="usageMetadata")
    response: Response | str | None = None


class _Wrapped(msgspec.Struct, kw_only=True):
    """What may stand around a body."""

    custom_id: str | int | None = None
    method: str | None = None
    url: str | None = None
    timestamp: int | float | str | None = None
    session_id: str | int | None = None
    usage: Usage | None = None
    usage_metadata: Usage | None = msgspec.field(default=None, name="usageMetadata")
    response: Response | str | None = None
    body: msgspec.Raw = msgspec.Raw()
    request: msgspec.Raw = msgspec.Raw()
    params: msgspec.Raw = msgspec.Raw()


def _strict(name: str, base: type[Any]) -> type[Any]:
    """The struct with the parameters that change nothing, and no further field."""
    fields = [(field, msgspec.Raw, msgspec.Raw()) for field in _PASSED_OVER]
    return msgspec.defstruct(name, fields, bases=(base,), kw_only=True, forbid_unknown_fields=True)


_StrictBody = _strict("_StrictBody", Body)


class _StrictWrapped(_Wrapped, forbid_unknown_fields=True, kw_only=True):
    pass


def _is_body(value: object) -> bool:
    if not isinstance(value, dict) or value.keys() & _OTHERS:
        return False
    if "messages" in value or {"model", "prompt"} <= value.keys():
        return True
    return {"model", "input"} <= value.keys() and "output" not in value


def recognises(value: object) -> bool:
    """Whether a first row is a request body, or holds one."""
    if isinstance(value, list):
        return bool(value) and recognises(value[0])
    if not isinstance(value, dict):
        return False
    has_id = {"id", "model", "messages"} <= value.keys()  # a body that was given an id
    if value.keys() & (_OTHERS - {"id"} if has_id else _OTHERS):
        return False
    return has_id or _is_body(value) or any(_is_body(value.get(name)) for name in WRAPPERS)


def read(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> Trace:
    """All rows. Raises InputError."""
    prompts = TextPrompts(options.tokenizer, sequence_for(builder, inputs))
    rows = _Requests(builder, prompts)
    for source in inputs:
        for place, text in rows_of(source):
            builder.attempt(partial(rows.make, text, place), place, rows.comparable)
    rows.clock.add_note(builder)
    if rows.comparable():
        return builder.build(NAME, "tokens", None)
    return build_text(builder, NAME, prompts)


class _Requests:
    """Makes rows; keeps the clock, and whether prompts are text or token ids."""

    def __init__(self, builder: TraceBuilder, prompts: TextPrompts) -> None:
        self._prompts = prompts
        self._in_ids: bool | None = None
        self._first = ""
        ignored = builder.ignored_fields
        self._builder = builder
        self._wrapped: RowDecoder[_Wrapped] = RowDecoder(_Wrapped, _StrictWrapped, ignored)
        self._body: RowDecoder[Body] = RowDecoder(Body, _StrictBody, ignored)
        self.clock = Clock()

    def comparable(self) -> bool:
        """Whether reported counts are in the unit of the prompts."""
        return bool(self._in_ids) or self._prompts.comparable()

    def make(self, text: bytes, place: str) -> Row:
        """One row, or InputError."""
        around, body, prefix = self._split(text, place)
        if around.url is not None and not _is_generation(around.url):
            raise InputError(place, "url", f"{around.url!r} is no request for generated text")
        number = len(self._builder.rows) + len(self._builder.skipped)
        session = body.session_id if around.session_id is None else around.session_id
        time = body.timestamp if around.timestamp is None else around.timestamp
        session = None if session is None else str(session)
        prompt = self._prompt(body, session, prefix, place)
        own_id = body.id if around.custom_id is None else around.custom_id
        row = Row(
            id=str(number) if own_id is None else str(own_id),
            id_may_repeat=around.custom_id is None,
            arrival_s=self.clock.arrival_s(time, "timestamp", place),
            prompt=prompt,
            prompt_tokens=len(prompt),
            session=session,
            model=body.named_model,
            context=body.context,
        )
        text_is_output = not (self._in_ids or body.echo)
        prompts = self._prompts if text_is_output else None
        _take_response(row, around, prompts, _is_chat(body), place)
        return row

    def _prompt(self, body: Body, session: str | None, prefix: str, place: str) -> Symbols:
        field, told = f"{prefix}prompt", None
        if isinstance(body.prompt, dict):
            cause = "a template that the service keeps: the prompt is not known from this row"
            raise InputError(place, field, cause)
        if _is_chat(body):
            if body.prompt is not None:
                self._builder.ignored_fields["prompt"] += 1
            symbols = chat_prompt(body, self._prompts, session, prefix, place)
        elif isinstance(told := _one_prompt(body, prefix, place), list):
            symbols = symbols_from(told, np.uint32, field, place)
        else:
            symbols = self._prompts.prompt(told, session, field, place)
        self._check_kind(isinstance(told, list), prefix if told is None else field, place)
        return symbols

    def _check_kind(self, in_ids: bool, field: str, place: str) -> None:
        """Text and token ids stand in one trace only where a tokenizer makes text tokens."""
        if not self._prompts.in_bytes:
            return
        if self._in_ids is None:
            self._in_ids, self._first = in_ids, place
        elif self._in_ids != in_ids:
            kinds = ("token ids", "text") if in_ids else ("text", "token ids")
            cause = f"{kinds[0]}, but {self._first} has {kinds[1]}: give --tokenizer for both"
            raise InputError(place, field.rstrip("."), cause)

    def _split(self, text: bytes, place: str) -> tuple[Body | _Wrapped, Body, str]:
        """(what stands around, the body, the path that leads to it)."""
        if not _maybe_wrapped(text):
            body = self._body.decode(text, place)
            return body, body, ""
        wrapped = self._wrapped.decode(text, place)
        inside = [name for name in WRAPPERS if bytes(getattr(wrapped, name)) not in (b"", b"null")]
        if len(inside) != 1:
            found = " and ".join(inside) or "none"
            raise InputError(place, "", f"needs one of {', '.join(WRAPPERS)}; has {found}")
        try:
            body = self._body.decode(bytes(getattr(wrapped, inside[0])), place)
        except InputError as error:
            name = f"{inside[0]}.{error.field}" if error.field else inside[0]
            raise InputError(place, name, error.cause) from error
        return wrapped, body, f"{inside[0]}."


_outline = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _maybe_wrapped(text: bytes) -> bool:
    try:
        fields = _outline.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return False
    own = {"messages", "input", "prompt"}
    return not own & fields.keys() and bool(fields.keys() & set(WRAPPERS))


def _is_chat(body: Body) -> bool:
    """Whether a body is that of a chat; a prompt beside messages is none of OpenAI's."""
    return body.prompt is None or body.messages is not None or body.input is not None


def _one_prompt(body: Body, prefix: str, place: str) -> str | list[Any]:
    """A completion's only prompt: text, or token ids. Raises InputError for none or several, and
    for what a server joins with it in a way that the row does not tell."""
    for name in ("suffix", "system", "instructions", "tools", "functions"):
        if getattr(body, name):
            cause = "how the server joins it with the prompt is not known from this row"
            raise InputError(place, f"{prefix}{name}", cause)
    told = body.prompt
    assert not isinstance(told, dict)
    if isinstance(told, list) and told and isinstance(told[0], str | list):
        if len(told) > 1:
            cause = f"{len(told):,} prompts in one request: hitpath needs a row a prompt"
            raise InputError(place, f"{prefix}prompt", cause)
        told = told[0]
    if not isinstance(told, str | list) or told == []:
        raise InputError(place, f"{prefix}prompt", "neither text nor token ids")
    return told


def _is_generation(url: str) -> bool:
    return url.split("?")[0].rstrip("/").endswith(("/completions", "/responses", "/messages"))


def _take_response(
    row: Row, around: Body | _Wrapped, prompts: TextPrompts | None, chat: bool, place: str
) -> None:
    """What the response tells. prompts: None where its text is no output of this trace; chat:
    whether the reply is that of a chat, else the text of a completion."""
    told = around.response
    response = None if isinstance(told, str) else told
    while response is not None and response.body is not None:
        response = response.body
    if prompts is not None and chat:
        said = [] if response is None else replies_of(response)
        if isinstance(told, str):
            said = [{"role": "assistant", "content": told}]
        take_replies(row, said, prompts, place)
    elif prompts is not None:
        text = told if isinstance(told, str) else completion_of(response)
        if text is not None:
            row.output = prompts.reply(text, False, "response", place)
            row.output_tokens = len(row.output)
    usage = around.usage or around.usage_metadata
    if usage is None and response is not None:
        usage = response.usage or response.usage_metadata
    if usage is not None:
        take_usage(row, usage, place)


FORMAT = Format(NAME, "OpenAI or Anthropic request bodies", recognises, read)

"""The messages of a GenAI span as they were recorded before semantic-conventions 1.37.

Asked in this order: `gen_ai.prompt.0.role`, `gen_ai.prompt.0.content` and so on (OpenLLMetry,
instrumentation-openai, shared/chat_wrappers.py); events `gen_ai.user.message`, `gen_ai.choice` and
the like (conventions 1.28 to 1.36; as span events of Azure's SDK, whose event has the message as
JSON text in `gen_ai.event.content`, and of Strands, telemetry/tracer.py, whose event has `content`
and `message`); `gen_ai.prompt`, on the span or on its event `gen_ai.content.prompt` (1.27).
"""

import re
from contextlib import suppress
from typing import Any

from hitpath.core import InputError
from hitpath.traces.conversations import Message, plain_message
from hitpath.traces.decode import decode_any
from hitpath.traces.otel_blocks import as_block, text_of
from hitpath.traces.otel_messages import Call, as_recorded
from hitpath.traces.otel_spans import Attributes, Span

_ROLES = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}
_INDEXED = re.compile(r"gen_ai\.(prompt|completion)\.(\d{1,9})\.(.+)")
_CALL = re.compile(r"tool_calls\.(\d{1,9})\.(id|name|arguments)")
_FUNCTION = re.compile(r"(?:llm|gen_ai)\.request\.functions\.(\d{1,9})\.(.+)")


def older_call_of(span: Span) -> Call | None:
    """The messages; None where the span holds none. Raises InputError for events that are none."""
    events = span.events()
    return (
        _of_indexed(span.attributes, span)
        or _of_events(events, span)
        or _of_prompt(span.attributes, events, span)
    )


def _of_indexed(attributes: Attributes, span: Span) -> Call | None:
    """`gen_ai.prompt.0.role` and so on, as OpenLLMetry records them."""
    told: dict[str, dict[int, Attributes]] = {"prompt": {}, "completion": {}}
    functions: dict[int, Attributes] = {}
    for name, value in attributes.items():
        if found := _INDEXED.fullmatch(name):
            told[found[1]].setdefault(int(found[2]), {})[found[3]] = value
        elif found := _FUNCTION.fullmatch(name):
            functions.setdefault(int(found[1]), {})[found[2]] = value
    if not told["prompt"]:
        return None
    text = told["prompt"].get(0, {}).get("user")
    call = Call(
        replies=[
            _indexed_message(fields, "assistant")
            for _, fields in sorted(told["completion"].items())
            if fields.get("role") != "thinking"
        ],
        reply_name=f"{span.at}gen_ai.completion",
        tools=[_function(fields) for _, fields in sorted(functions.items())],
        text=text if isinstance(text, str) else None,
    )
    if call.text is not None:
        call.names = [f"{span.at}gen_ai.prompt.0.user"]
    else:
        for i, fields in sorted(told["prompt"].items()):
            call.messages.append(_indexed_message(fields, "user"))
            call.names.append(f"{span.at}gen_ai.prompt.{i}")
    return call


def _indexed_message(fields: Attributes, role: str) -> Message:
    calls: dict[int, Attributes] = {}
    for name, value in fields.items():
        if found := _CALL.fullmatch(name):
            calls.setdefault(int(found[1]), {})[found[2]] = value
    message: Message = {"role": fields.get("role") or role, "content": _content(fields)}
    if fields.get("tool_call_id") is not None:
        message["tool_call_id"] = fields["tool_call_id"]
    if calls:
        message["tool_calls"] = [
            {
                "id": call.get("id", ""),
                "type": "function",
                "function": {"name": call.get("name", ""), "arguments": call.get("arguments", "")},
            }
            for _, call in sorted(calls.items())
        ]
    return plain_message(message)


def _function(fields: Attributes) -> Any:
    """A tool in OpenAI's form; its parameters are JSON text."""
    parameters = fields.get("parameters", fields.get("input_schema"))
    with suppress(InputError, UnicodeEncodeError):
        if isinstance(parameters, str):
            parameters = decode_any(parameters.encode(), "")
    told = {"name": fields.get("name"), "description": fields.get("description")}
    return {"type": "function", "function": {**told, "parameters": parameters}}


def _of_events(events: list[tuple[str, Attributes]], span: Span) -> Call | None:
    """One event a message, with the message as JSON text or in fields of its own."""
    call = Call(reply_name=f"{span.path}events")
    for i, (name, told) in enumerate(events):
        place = f"{span.path}events[{i}].attributes"
        if name in _ROLES:
            call.messages.append(_event_message(told, _ROLES[name]))
            call.names.append(place)
        elif name == "gen_ai.choice":
            call.replies.append(_event_message(told, "assistant"))
    return call if call.messages else None


def _event_message(told: Attributes, role: str) -> Message:
    body = _body(told.get("gen_ai.event.content"))
    fields = body if isinstance(body, dict) else {**told, "content": told.get("content", body)}
    inner = fields.get("message", fields.get("message.content"))
    if inner is not None:  # a choice: its message, as an object or as JSON text of one
        inner = _body(inner)
        fields = {**fields, **inner} if isinstance(inner, dict) else {**fields, "content": inner}
    message: Message = {"role": fields.get("role") or role, "content": _content(fields)}
    calls = _body(fields.get("tool_calls"))
    if isinstance(calls, list) and calls:
        message["tool_calls"] = calls
    called = fields.get("tool_call_id", fields.get("id") if role == "tool" else None)
    if called is not None:
        message["tool_call_id"] = called
    return plain_message(message)


def _of_prompt(
    attributes: Attributes, events: list[tuple[str, Attributes]], span: Span
) -> Call | None:
    """`gen_ai.prompt`: JSON text of messages, or a plain prompt."""
    told, at = attributes, span.at
    for i, (name, fields) in enumerate(events):
        if name == "gen_ai.content.prompt" and fields.get("gen_ai.prompt") is not None:
            told, at = fields, f"{span.path}events[{i}].attributes."
            break
    prompt = _body(told.get("gen_ai.prompt"))
    if prompt is None:
        return None
    completion = next(
        (f for name, f in events if name == "gen_ai.content.completion"), attributes
    ).get("gen_ai.completion")
    call = Call(reply_name=f"{span.at}gen_ai.completion")
    call.replies = _listed(_body(completion), "assistant")
    if isinstance(prompt, str):
        call.text, call.names = prompt, [f"{at}gen_ai.prompt"]
    else:
        call.messages = _listed(prompt, "user")
        call.names = [f"{at}gen_ai.prompt[{i}]" for i in range(len(call.messages))]
    return call


def _listed(value: Any, role: str) -> list[Message]:
    """One message or several, or plain text."""
    if value is None:
        return []
    found = value if isinstance(value, list) else [value]
    return [
        as_recorded({"role": role, **m}) if isinstance(m, dict) else {"role": role, "content": m}
        for m in found
    ]


def _body(value: Any) -> Any:
    """JSON text of an object or a list of objects as that; everything else as it is."""
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    try:
        found = decode_any(value.encode(), "")
    except (InputError, UnicodeEncodeError):
        return value
    items = found if isinstance(found, list) else [found]
    return found if items and all(isinstance(item, dict) for item in items) else value


def _content(fields: Attributes) -> Any:
    """Text, or blocks: text blocks of any writer in one form."""
    content = fields.get("content")
    blocks = _body(content)
    if not isinstance(blocks, list) or not all(map(as_block, blocks)):
        return content  # text that only looks like JSON, too
    texts = [text_of(block) for block in blocks]
    return [
        block if text is None else {"type": "text", "text": text}
        for block, text in zip(blocks, texts, strict=True)
    ]

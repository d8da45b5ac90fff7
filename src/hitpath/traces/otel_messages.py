"""The messages of a GenAI span as OpenTelemetry's semantic conventions have them since 1.37.

`gen_ai.input.messages`, with `gen_ai.system_instructions`, `gen_ai.tool.definitions` and
`gen_ai.output.messages`, stand on the span, or on its event `gen_ai.client.inference.operation.
details`; structured, or as JSON text. otel_older.py has the forms before.
"""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from hitpath.core import InputError
from hitpath.traces.conversations import Message, plain_message
from hitpath.traces.decode import decode_any
from hitpath.traces.otel_spans import Attributes, Span

INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
SYSTEM, TOOLS = "gen_ai.system_instructions", "gen_ai.tool.definitions"
_DETAILS = "gen_ai.client.inference.operation.details"


@dataclass(slots=True)
class Call:
    """One call of a model. names: where each message stands. text: a prompt that is no chat, and
    then stands at the one name."""

    messages: list[Message] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    tools: list[Any] = field(default_factory=list)
    replies: list[Message] = field(default_factory=list)
    reply_name: str = OUTPUT
    text: str | None = None


def call_of(span: Span) -> Call | None:
    """The messages; None where the span holds none. Raises InputError for what is no message."""
    attributes, at = dict(span.attributes), span.at
    for i, (name, told) in enumerate(span.events()):
        if name == _DETAILS:
            if INPUT in told and attributes.get(INPUT) is None:
                at = f"{span.path}events[{i}].attributes."
            for key, value in told.items():
                if attributes.get(key) is None:
                    attributes[key] = value
    return None if attributes.get(INPUT) is None else _of_attributes(attributes, at, span.place)


def _of_attributes(attributes: Attributes, at: str, place: str) -> Call:
    call, name = Call(reply_name=at + OUTPUT), at + INPUT
    call.messages = [as_recorded(m) for m in _messages(attributes, INPUT, at, place)]
    call.names = [f"{name}[{i}]" for i in range(len(call.messages))]
    if attributes.get(SYSTEM) is not None:
        system = attributes[SYSTEM]
        with suppress(InputError):  # else it is plain text
            system = _json_of(attributes, SYSTEM, at, place)
        call.messages.insert(0, plain_message({"role": "system", "content": _parts(system)}))
        call.names.insert(0, at + SYSTEM)
    tools = _json_of(attributes, TOOLS, at, place)
    if tools is not None and not isinstance(tools, list):
        raise InputError(place, at + TOOLS, "is not a list of tools")
    call.tools = tools or []
    text = attributes.get("gen_ai.output.text")
    if isinstance(text, str):
        call.replies = [{"role": "assistant", "content": text}]
    else:
        call.replies = [as_recorded(m) for m in _messages(attributes, OUTPUT, at, place)]
    return call


def _json_of(attributes: Attributes, name: str, at: str, place: str) -> Any:
    """An attribute that is JSON, as a string of it or as it is; None where absent."""
    value = attributes.get(name)
    if not isinstance(value, str):
        return value
    try:
        return decode_any(value, place)
    except UnicodeEncodeError as error:
        raise InputError(place, at + name, "not valid Unicode") from error
    except InputError as error:
        raise InputError(place, at + name, error.cause) from error


def _messages(attributes: Attributes, name: str, at: str, place: str) -> list[Message]:
    value = _json_of(attributes, name, at, place)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(m, dict) for m in value):
        raise InputError(place, at + name, "is not a list of messages")
    return value


def as_recorded(message: Message) -> Message:
    """With `parts` (role, parts) as `content` (role, content)."""
    parts = message.get("parts")
    if len(message) == 2 and "role" in message and isinstance(parts, list) and len(parts) == 1:
        part = parts[0]  # one text, as most have: the general way takes much longer
        if isinstance(part, dict) and part.get("type") == "text":
            text = part.get("content")
            if isinstance(text, str):
                return {"role": message["role"], "content": text}
    rest = {k: v for k, v in message.items() if k not in ("parts", "finish_reason")}
    return plain_message({**rest, "content": _parts(parts)} if "parts" in message else rest)


def _parts(parts: Any) -> Any:
    if not isinstance(parts, list):
        return parts
    return [
        {"type": "text", "text": part.get("content")}
        if isinstance(part, dict) and part.get("type") == "text" and "content" in part
        else part
        for part in parts
    ]

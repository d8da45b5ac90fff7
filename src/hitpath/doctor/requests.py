"""From a row of a trace to its prompt with structure, format by format.

The shapes are those that the readers in `traces` take; a row that is of none of them, or that
renders to another text than its reader made, is a flat text.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from hitpath.core import InputError
from hitpath.doctor.build_prompt import PromptBuilder, Said
from hitpath.doctor.flat import flat_prompt
from hitpath.doctor.prompt import Prompt
from hitpath.traces import (
    hitpath_jsonl,
    lmcache_agent,
    openai_requests,
    otel_genai,
    sharegpt,
)
from hitpath.traces.otel_messages import call_of
from hitpath.traces.otel_older import older_call_of
from hitpath.traces.otel_spans import decode_span, spans_of
from hitpath.traces.request_bodies import Response, replies_of

_WRAPPERS = ("body", "request", "params")
_OWN = ("messages", "input", "prompt")
_ROLES = {"human": "user", "gpt": "assistant", "chatgpt": "assistant"}


@dataclass(frozen=True, slots=True)
class Request:
    """A row as it was sent. body: the request, raw: its text in the file; replies: messages of the
    answer, where the row has it; host: what the answer says of who gave it; said, tools: what the
    prompt was built of, empty for one text."""

    prompt: Prompt
    body: Any = None
    raw: bytes = b""
    replies: tuple[dict[str, Any], ...] = field(default=())
    host: str | None = None
    said: tuple[Said, ...] = ()
    tools: tuple[tuple[str, Any], ...] = ()


def built_of(said: Sequence[Said], tools: Sequence[tuple[str, Any]] = (), **known: Any) -> Request:
    """A chat. tools: (path, tool) each; known: what else is known of the row."""
    prompt = PromptBuilder().prompt(said, tools)
    return Request(prompt, said=tuple(said), tools=tuple(tools), **known)


def request_of(format_name: str, row: bytes, row_id: str) -> Request | None:
    """The request of a row; None where the shape is not one that is known here."""
    read = _READERS.get(format_name, _any_body)
    try:
        return read(row, row_id)
    except (msgspec.MsgspecError, RecursionError, UnicodeError, InputError):
        return None
    except (AttributeError, KeyError, TypeError, ValueError, IndexError):
        return None  # of another shape than its format has: nothing is known of its structure


def _any_body(row: bytes, row_id: str) -> Request | None:
    """A request body, or what holds one."""
    value = msgspec.json.decode(row)
    if not isinstance(value, dict):
        return None
    raw, body = row, value
    if not any(name in value for name in _OWN):
        name = next((n for n in _WRAPPERS if isinstance(value.get(n), dict)), None)
        if name is None:
            return None
        body, raw = value[name], raw_member(row, name)
    response = value.get("response")
    replies, host = _replies(response), _host(response)
    chat = _chat(body, body=body, raw=raw, replies=replies, host=host)
    if chat is None and isinstance(body.get("prompt"), str):
        return Request(flat_prompt(body["prompt"], "prompt"), body, raw, replies, host)
    return chat


def _chat(of: dict[str, Any], **known: Any) -> Request | None:
    """Tools, system text and instructions, messages of a body: as request_bodies has them."""
    said = [
        Said({"role": "system", "content": of[name]}, name, _top_path(of[name], name))
        for name in ("system", "instructions")
        if of.get(name) is not None
    ]
    told = of.get("input")
    if isinstance(of.get("messages"), list):
        said += [Said(m, f"messages[{i}]") for i, m in enumerate(of["messages"])]
    elif isinstance(told, str):
        said.append(Said({"role": "user", "content": told}, "input", "input"))
    elif isinstance(told, list):
        said += [Said(_item(item), f"input[{i}]") for i, item in enumerate(told)]
    else:
        return None
    tools = [
        (f"{name}[{i}]", tool)
        for name in ("tools", "functions")
        for i, tool in enumerate(of.get(name) or [])
    ]
    return built_of(said, tools, **known)


def _top_path(content: Any, name: str) -> str:
    """A system text of one block stands as that text."""
    is_one = isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict)
    if is_one and content[0].get("type") in ("text", "input_text", "output_text"):
        return f"{name}[0].text"
    return name


def _item(item: dict[str, Any]) -> dict[str, Any]:
    rest = {key: v for key, v in item.items() if key not in ("role", "type", "id", "status")}
    return {"role": item.get("role") or item.get("type") or "", **rest}


def _replies(response: Any) -> tuple[dict[str, Any], ...]:
    if isinstance(response, str):
        return ({"role": "assistant", "content": response},)
    if not isinstance(response, dict):
        return ()
    told = msgspec.convert(response, Response)
    while told.body is not None:
        told = told.body
    return tuple({"role": "assistant", **reply} for reply in replies_of(told))


def _host(response: Any) -> str | None:
    """OpenRouter's `provider`, OpenAI's `system_fingerprint`."""
    while isinstance(response, dict):
        told = [response.get(name) for name in ("provider", "system_fingerprint")]
        if any(isinstance(value, str) for value in told):
            return "/".join(str(value) for value in told if value is not None)
        response = response.get("body")
    return None


def _own(row: bytes, row_id: str) -> Request | None:
    """hitpath's JSONL."""
    value = msgspec.json.decode(row)
    reply = value.get("reply")
    replies = ({"role": "assistant", "content": reply},) if isinstance(reply, str) else ()
    if isinstance(value.get("messages"), list):
        own = {name: value.get(name) for name in ("messages", "tools")}
        return _chat(own, body=value, raw=row, replies=replies)
    if isinstance(value.get("prompt"), str):
        return Request(flat_prompt(value["prompt"], "prompt"), value, row, replies)
    return None


def _lmcache(row: bytes, row_id: str) -> Request:
    value = msgspec.json.decode(row)
    output = value.get("output")
    replies = ({"role": "assistant", "content": output},) if output else ()
    return Request(flat_prompt(value["input"], "input"), value, row, replies)


def _sharegpt(row: bytes, row_id: str) -> Request:
    """The turns before the answer whose number ends the row's id."""
    value = msgspec.json.decode(row)
    at = int(row_id.rpartition("/")[2].partition("#")[0])
    turns = value["conversations"]
    said = [
        Said(
            {"role": _ROLES.get(turn["from"], turn["from"]), "content": turn["value"]},
            f"conversations[{i}]",
            f"conversations[{i}].value",
        )
        for i, turn in enumerate(turns[:at])
    ]
    replies = ({"role": "assistant", "content": turns[at]["value"]},)
    return built_of(said, body=value, raw=row, replies=replies)


def _otel(row: bytes, row_id: str) -> Request | None:
    """The span of the row's id among those of a document."""
    for path, raw, decoded in spans_of(row, ""):
        span = decode_span(raw, path, "", decoded)
        names = (span.span_id, f"{span.trace_id}/{span.span_id}")
        if row_id in names:
            call = call_of(span) or older_call_of(span)
            if call is None:
                return None
            if call.text is not None:
                return Request(flat_prompt(call.text, call.names[0]), None, raw)
            said = list(map(Said, call.messages, call.names))
            tools = [(f"gen_ai.tool.definitions[{i}]", t) for i, t in enumerate(call.tools)]
            replies = tuple(call.replies[:1])
            return built_of(said, tools, raw=raw, replies=replies)
    return None


_READERS: dict[str, Callable[[bytes, str], Request | None]] = {
    openai_requests.NAME: _any_body,
    hitpath_jsonl.NAME: _own,
    lmcache_agent.NAME: _lmcache,
    sharegpt.NAME: _sharegpt,
    otel_genai.NAME: _otel,
}


def path_steps(path: str) -> list[str | int]:
    """The keys and indexes of a JSON path."""
    steps: list[str | int] = []
    for index, name, quoted in _STEP.findall(path):
        steps.append(int(index) if index else name or msgspec.json.decode(quoted))
    return steps


_STEP = re.compile(r"\[(\d+)\]|\.?([^.\[\]]+)|\[(\"(?:[^\"\\]|\\.)*\")\]")


def raw_member(text: bytes, step: str | int) -> bytes:
    """The text of a member of an object or an element of an array, b"" where there is none."""
    try:
        if isinstance(step, int):
            elements = _list_of_raw.decode(text)
            return bytes(elements[step]) if step < len(elements) else b""
        return bytes(_dict_of_raw.decode(text).get(step, b""))
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return b""


_list_of_raw = msgspec.json.Decoder(list[msgspec.Raw])
_dict_of_raw = msgspec.json.Decoder(dict[str, msgspec.Raw])

"""Requests with structure, and those of formats whose rows are requests or hold a whole body."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from hitpath.doctor.build_prompt import PromptBuilder, Said, block_numbers
from hitpath.doctor.flat import flat_prompt
from hitpath.doctor.in_row import InRow
from hitpath.doctor.prompt import Prompt
from hitpath.traces import hitpath_jsonl, lmcache_agent, sharegpt
from hitpath.traces.conversations import is_mark, plain_message
from hitpath.traces.mapping import Mapping
from hitpath.traces.request_bodies import WRAPPERS, Response, replies_of

_OWN = ("messages", "input", "prompt")
_ROLES = {"human": "user", "gpt": "assistant", "chatgpt": "assistant"}


@dataclass(frozen=True, slots=True)
class Request:
    """A row as it was sent. body: the request, raw: its text in the file, in which in_row leads;
    replies: messages of the answer, where the row has it; host: what the answer says of who gave
    it; said, tools: what the prompt was built of, empty for one text; is_framed: whether such a
    text gets the tokenizer's frame (bos, eos); items: the answer's output in the responses API."""

    prompt: Prompt
    body: Any = None
    raw: bytes = b""
    replies: tuple[dict[str, Any], ...] = field(default=())
    host: str | None = None
    said: tuple[Said, ...] = ()
    tools: tuple[tuple[str, Any], ...] = ()
    in_row: InRow = field(default_factory=InRow)
    is_framed: bool = True
    items: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a file. id: of the request in it; in_bytes: whether its trace counts in bytes;
    mapping: what `--map` says of its fields."""

    text: bytes
    id: str
    in_bytes: bool = True
    mapping: Mapping = field(default_factory=Mapping)


Reader = Callable[[Row], Request | None]


def built_of(said: Sequence[Said], tools: Sequence[tuple[str, Any]] = (), **known: Any) -> Request:
    """A chat. tools: (path, tool) each; known: what else is known of the row."""
    prompt = PromptBuilder().prompt(said, tools)
    return Request(prompt, said=tuple(said), tools=tuple(tools), **known)


def flat_request(text: str, path: str, **known: Any) -> Request:
    """A prompt of one string."""
    return Request(flat_prompt(text, path), **known)


def any_body(row: Row) -> Request | None:
    """A request body, or what holds one."""
    value = msgspec.json.decode(row.text)
    if not isinstance(value, dict):
        return None
    raw, body = row.text, value
    if not any(name in value for name in _OWN):
        name = next((n for n in WRAPPERS if isinstance(value.get(n), dict)), None)
        if name is None:
            return None
        body, raw = value[name], raw_member(row.text, name)
    response = value.get("response")
    known = {"replies": _replies(response), "host": host_of(response), "raw": raw}
    known["items"] = _items(response)
    return request_of_body(body, **known)


def request_of_body(body: dict[str, Any], **known: Any) -> Request | None:
    """A body: a chat, or a completion prompt."""
    chat = _chat(body, body=body, **known)
    if chat is None and isinstance(body.get("prompt"), str):
        framed = body.get("add_special_tokens") is not False
        return flat_request(body["prompt"], "prompt", body=body, is_framed=framed, **known)
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
        said += [Said(item_as_message(item), f"input[{i}]") for i, item in enumerate(told)]
    else:
        return None
    lists = [(name, of.get(name)) for name in ("tools", "functions")]
    if isinstance(of.get("toolConfig"), dict):
        lists.append(("toolConfig.tools", of["toolConfig"].get("tools")))
    tools = [
        (f"{name}[{i}]", tool)
        for name, told in lists
        for i, tool in enumerate(told or [])
        if not is_mark(tool)
    ]
    return built_of(said, tools, **known)


def _top_path(content: Any, name: str) -> str:
    """A system text of one block stands as that text."""
    is_one = isinstance(content, list) and isinstance(
        plain_message({"content": content})["content"], str
    )
    return f"{name}[{block_numbers(content)[0]}].text" if is_one else name


def item_as_message(item: dict[str, Any]) -> dict[str, Any]:
    """An item of the responses API as a message."""
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


def _items(response: Any) -> tuple[dict[str, Any], ...]:
    """The output of the responses API, as it was told."""
    while isinstance(response, dict) and isinstance(response.get("body"), dict):
        response = response["body"]
    told = response.get("output") if isinstance(response, dict) else None
    return tuple(i for i in told if isinstance(i, dict)) if isinstance(told, list) else ()


def host_of(response: Any) -> str | None:
    """OpenRouter's `provider`, OpenAI's `system_fingerprint`."""
    while isinstance(response, dict):
        told = [response.get(name) for name in ("provider", "system_fingerprint")]
        if any(isinstance(value, str) for value in told):
            return "/".join(str(value) for value in told if value is not None)
        response = response.get("body")
    return None


def own_row(row: Row) -> Request | None:
    """hitpath's JSONL."""
    return own_request(msgspec.json.decode(row.text), raw=row.text)


def own_request(value: dict[str, Any], **known: Any) -> Request | None:
    """The fields of such a row."""
    reply = value.get("reply")
    replies = ({"role": "assistant", "content": reply},) if isinstance(reply, str) else ()
    if isinstance(value.get("messages"), list):
        own = {name: value.get(name) for name in ("messages", "tools")}
        return _chat(own, body=value, replies=replies, **known)
    if isinstance(value.get("prompt"), str):
        return flat_request(value["prompt"], "prompt", body=value, replies=replies, **known)
    return None


def lmcache_row(row: Row) -> Request:
    """LMCache's agent traces."""
    value = msgspec.json.decode(row.text)
    output = value.get("output")
    replies = ({"role": "assistant", "content": output},) if output else ()
    return flat_request(value["input"], "input", body=value, raw=row.text, replies=replies)


def sharegpt_row(row: Row) -> Request:
    """The turns before the answer whose number ends the row's id."""
    value = msgspec.json.decode(row.text)
    at = number_in(row.id)
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
    return built_of(said, body=value, raw=row.text, replies=replies)


def number_in(row_id: str) -> int:
    """The number of a request within its row, which ends its id: `run/3`, `run/3#2`."""
    return int(row_id.rpartition("/")[2].partition("#")[0])


OWN_READERS: dict[str, Reader] = {
    hitpath_jsonl.NAME: own_row,
    lmcache_agent.NAME: lmcache_row,
    sharegpt.NAME: sharegpt_row,
}
"""Of formats whose rows are requests."""


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

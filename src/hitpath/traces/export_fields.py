"""Fields of the rows that gateways and tracing tools export: one name or another, JSON or a string
of JSON, and what of a stored input or output is a prompt or a reply.
"""

from functools import cache
from typing import Any

import msgspec

from hitpath.core import InputError
from hitpath.traces.conversations import Message, iso_seconds
from hitpath.traces.decode import as_input_error
from hitpath.traces.request_bodies import Content
from hitpath.traces.rows import check_seconds, check_tokens, check_usd

_decoder = cache(msgspec.json.Decoder)
_STRING, _ANY = msgspec.json.Decoder(str), msgspec.json.Decoder(Any)
_MOMENT = msgspec.json.Decoder(int | float | str)
_ERRORS = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)
_DIGITS = 13
"""A count of more digits is beyond every limit."""


def first_row(value: object, *wrappers: str) -> dict[str, Any] | None:
    """The first row of a document: it itself, the first of an array, or of a wrapper's array."""
    if isinstance(value, dict):
        inside = [value[name] for name in wrappers if isinstance(value.get(name), list)]
        return first_row(inside[0]) if inside else value
    if isinstance(value, list) and value:
        return first_row(value[0], *wrappers)
    return None


class Fields:
    """A row's fields under any of their names, decoded when asked for. Null is absent.

    around: the document that the row stands in, if any. Raises InputError with the name for a
    value of another type than asked.
    """

    def __init__(self, text: bytes, place: str, around: "Fields | None" = None) -> None:
        self.place = place
        self.around = around
        self._seen: dict[tuple[str, ...], Any] = {}
        try:
            self._raw: dict[str, msgspec.Raw] = _decoder(dict[str, msgspec.Raw]).decode(text)
        except _ERRORS as error:
            raise as_input_error(error, place) from error

    def _told(self, names: tuple[str, ...]) -> tuple[str, bytes] | None:
        for name in names:
            raw = self._raw.get(name)
            if raw is not None and (text := bytes(raw)) != b"null":
                return name, text
        return None

    def get(self, kind: Any, *names: str) -> Any:
        """The first of these that the row has, as `kind`; None where it has none."""
        return self._decoded(_decoder(kind), names)

    def _decoded(self, decoder: msgspec.json.Decoder[Any], names: tuple[str, ...]) -> Any:
        told = self._told(names)
        if told is None:
            return None
        try:
            return decoder.decode(told[1])
        except _ERRORS as error:
            problem = as_input_error(error, self.place)
            name = ".".join(filter(None, (told[0], problem.field)))
            raise InputError(self.place, name, problem.cause) from error

    def raw(self, *names: str) -> bytes:
        """Its JSON text, empty where absent."""
        told = self._told(names)
        return told[1] if told is not None else b""

    def text(self, *names: str) -> str | None:
        """A string; an empty one is absent (these tools write "" for what is not set)."""
        for name in names:
            if found := self._decoded(_STRING, (name,)):
                return str(found)
        return None

    def count(self, *names: str) -> int | None:
        """A number of tokens, as JSON's integer or (ClickHouse) as a string of digits."""
        return as_count(self._decoded(_ANY, names), names[0], self.place)

    def seconds(self, *names: str) -> float | None:
        """A moment: seconds since 1970, or ISO 8601."""
        told = self._decoded(_MOMENT, names)
        if told is None or told == "":
            return None
        if isinstance(told, str):
            return iso_seconds(told, names[0], self.place)
        return check_seconds(told, names[0], self.place)

    def usd(self, *names: str) -> float | None:
        """A cost in USD, as a number or (ClickHouse) as a string of one."""
        return as_usd(self._decoded(_MOMENT, names), names[0], self.place)

    def start(self, *names: str) -> float:
        """The same, required."""
        found = self.seconds(*names)
        if found is None:
            raise InputError(self.place, names[0], "missing")
        return found

    def json(self, *names: str) -> Any:
        """Any value; a string that holds a JSON object or array as what it holds."""
        if names not in self._seen:
            self._seen[names] = unfolded(self._decoded(_ANY, names))
        return self._seen[names]

    def object(self, *names: str) -> dict[str, Any]:
        """An object, as it is or as a string of JSON; empty where it is absent or none."""
        found = self.json(*names)
        return found if isinstance(found, dict) else {}


def as_count(told: object, name: str, place: str) -> int | None:
    """A number of tokens, None for none. Raises InputError."""
    if told is None:
        return None
    if isinstance(told, str) and told.isascii() and told.isdecimal() and len(told) <= _DIGITS:
        told = int(told)
    if type(told) is not int:
        raise InputError(place, name, f"{told!r:.80} is not a number of tokens")
    return check_tokens(told, name, place)


def as_usd(told: object, name: str, place: str) -> float | None:
    """A cost, None for none and for 0: these tools write 0 where they have no price of the model
    (LiteLLM's payload: `response_cost or 0.0`). Raises InputError for what is no cost."""
    if told is None:
        return None
    try:
        number = "" if isinstance(told, bool) else told
        return check_usd(float(number), name, place) or None  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InputError(place, name, f"{told!r:.80} is no cost in USD") from None


def unfolded(value: Any) -> Any:
    """A string that holds a JSON object or array as what it holds; any other value as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return msgspec.json.decode(value)
        except (*_ERRORS, UnicodeEncodeError):
            return value
    return value


def converted(value: Any, kind: Any, name: str, place: str) -> Any:
    """A decoded value as a struct. Raises InputError with the field's path."""
    try:
        return msgspec.convert(value, kind)
    except _ERRORS as error:
        problem = as_input_error(error, place)
        path = ".".join(filter(None, (name, problem.field)))
        raise InputError(place, path, problem.cause) from error


def prompt_text(value: Any) -> Content | str | None:
    """A stored input as what makes a prompt: a request body, messages, or a completion prompt.

    None for anything else, and where the service keeps the turns before: what the model saw is
    not known then.
    """
    value = unfolded(value)
    if isinstance(value, str):
        return value or None
    if isinstance(value, list):
        value = messages_body(value)
    if not isinstance(value, dict) or value.get("previous_response_id"):
        return None
    if not (value.get("messages") or value.get("input")):
        prompt = value.get("prompt")
        return prompt if isinstance(prompt, str) and prompt else None
    try:
        return msgspec.convert(value, Content)
    except _ERRORS:
        return None


def messages_body(values: list[Any]) -> dict[str, Any] | None:
    """A list of messages, or of items of the responses API, as a body; None for other lists."""
    if not values or not all(isinstance(v, dict) and v.keys() & {"role", "type"} for v in values):
        return None
    return {"messages" if all("role" in v for v in values) else "input": values}


def stored_replies(value: Any) -> list[Message]:
    """A stored output as messages: a message, a list of them, a response, or text."""
    inside = unfolded(value)
    if isinstance(inside, dict):
        choices = inside.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            inside = choices[0].get("message")
            return [inside] if isinstance(inside, dict) else []
        if {"content", "tool_calls"} & inside.keys():
            return [{k: v for k, v in inside.items() if k in ("role", "content", "tool_calls")}]
    if isinstance(inside, list) and all(isinstance(m, dict) and "role" in m for m in inside):
        return inside
    return [{"role": "assistant", "content": value}] if value and isinstance(value, str) else []

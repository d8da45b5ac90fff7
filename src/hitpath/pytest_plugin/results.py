"""What a prompt builder gives, as strings, numbers, lists and dicts; standard library only, for the
processes of its own start with it."""

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

_WANTED = "a prompt is text, token ids, messages or a request body"
_NO_TEXT = frozenset(["role", "type"])
_OF_A_STORE = ("id", "response_metadata", "usage_metadata")
"""Fields of LangChain's messages that no model sees: an id, and what the provider told."""


class NoPrompt(TypeError):
    """What a builder gave is no prompt: nothing could be compared."""


def prompt_of(value: Any) -> Any:
    """A builder's result. Raises NoPrompt for what is none, and for one without any text."""
    if value is None:
        raise NoPrompt(f"the prompt builder gave None (does it return?): {_WANTED}")
    made = plain(value)
    if isinstance(made, bool | int | float):
        raise NoPrompt(f"the prompt builder gave {made!r}: {_WANTED}")
    if isinstance(made, list):
        wrong = [one for one in made if isinstance(one, bool | float) or one is None]
        if wrong:
            raise NoPrompt(f"the prompt builder gave a list with {wrong[0]!r} in it: {_WANTED}")
    if not _says_something(made):
        empty = "an empty text" if isinstance(made, str) else "no text and no token"
        raise NoPrompt(
            f"the prompt builder gave {empty}, so there is nothing to compare: {_WANTED}"
        )
    return made


def _says_something(value: Any) -> bool:
    """Whether there is any text or token, roles apart."""
    if isinstance(value, str):
        return bool(value.strip())
    if isinstance(value, dict):
        return any(_says_something(inner) for key, inner in value.items() if key not in _NO_TEXT)
    if isinstance(value, list):
        return any(map(_says_something, value))
    return isinstance(value, int) and not isinstance(value, bool)


def plain(value: Any) -> Any:
    """A result as strings, numbers, lists and dicts. Raises NoPrompt for what is no prompt."""
    if isinstance(value, str | int | float | bool) or value is None:
        return _atom(value)
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "surrogateescape")
    if not isinstance(value, type):
        converted = _converted(value)
        if converted is not None:
            return plain(converted)
    if isinstance(value, Mapping):
        return {str(_atom(key)): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    raise NoPrompt(f"{_WANTED}, not {type(value).__name__}")


def _atom(value: Any) -> Any:
    """Members of an Enum by what they stand for, subclasses of str (Markup, numpy's) as text."""
    if isinstance(value, str) and type(value) is not str:
        value = getattr(value, "value", value)
        return str.__str__(value) if isinstance(value, str) else value
    return value


def _converted(value: Any) -> Any:
    """What an object of a library or of the application holds; None where it is no such object."""
    to_messages = getattr(value, "to_messages", None)  # LangChain's prompt values
    if callable(to_messages):
        text = getattr(value, "text", None)
        return text if isinstance(text, str) else to_messages()
    for name in ("model_dump", "to_dict", "tolist"):  # pydantic, Anthropic's types, arrays
        convert = getattr(value, name, None)
        if callable(convert):
            made = convert()
            is_stored = isinstance(made, dict) and "response_metadata" in made
            return {k: v for k, v in made.items() if k not in _OF_A_STORE} if is_stored else made
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return value._asdict()
    if is_dataclass(value):
        return asdict(value)  # type: ignore[arg-type]
    fields = getattr(type(value), "__attrs_attrs__", None)
    if fields is not None:
        return {field.name: getattr(value, field.name) for field in fields}
    if hasattr(type(value), "__fields__") and callable(getattr(value, "dict", None)):
        return value.dict()  # pydantic 1
    return None

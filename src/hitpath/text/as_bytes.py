"""Chat requests as UTF-8 bytes: each byte stands for one token.

The rendering is a plain one of our own (tools first, then each message under its role, then
the head of the reply, as most chat templates do), so that a prompt followed by its reply is
the beginning of the next turn. Figures from it are in bytes and say so.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec

_HEAD = b"<|%s|>\n"
_END = b"<|end|>\n"


def render_text(prompt: str) -> bytes:
    """A completion prompt. Raises UnicodeEncodeError for a lone surrogate."""
    return prompt.encode()


@lru_cache(maxsize=64)
def _head(role: str) -> bytes:
    return _HEAD % role.encode()


def _parts(message: dict[str, Any]) -> tuple[bytes, bytes, bytes]:
    content = message.get("content")
    if isinstance(content, str) and len(message) == 2 and "role" in message:
        body = content.encode()
    else:
        body = _mixed(message)
    return _head(str(message.get("role", ""))), body, _END


def _mixed(message: dict[str, Any]) -> bytes:
    """Text, and all that is not role and text as JSON behind it."""
    content = message.get("content")
    head = content.encode() if isinstance(content, str) else b""
    rest = {
        key: value
        for key, value in message.items()
        if key != "role" and not (key == "content" and isinstance(value, str | None))
    }
    return head + (msgspec.json.encode(rest) if rest else b"")


def render_message(message: dict[str, Any]) -> bytes:
    """One message as it stands inside a prompt."""
    return b"".join(_parts(message))


def render_chat(messages: Sequence[dict[str, Any]], tools: Sequence[Any] | None) -> bytes:
    """Messages (and tools) with the head of the coming reply; JSON keys keep their order."""
    parts: list[bytes] = []
    if tools:
        parts += (_head("tools"), msgspec.json.encode(tools), _END)
    for message in messages:
        parts += _parts(message)
    parts.append(_head("assistant"))
    return b"".join(parts)


def render_reply(reply: str, chat: bool) -> bytes:
    """The reply as it stands in the next turn's history."""
    return reply.encode() + (_END if chat else b"")

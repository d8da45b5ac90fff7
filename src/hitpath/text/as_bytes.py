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


def _content(message: dict[str, Any]) -> bytes:
    content = message.get("content")
    if isinstance(content, str) and len(message) == 2 and "role" in message:
        return content.encode()
    head = content.encode() if isinstance(content, str) else b""
    rest = {
        key: value
        for key, value in message.items()
        if key != "role" and not (key == "content" and isinstance(value, str | None))
    }
    return head + (msgspec.json.encode(rest) if rest else b"")


def render_message(message: dict[str, Any]) -> bytes:
    """One message as it stands inside a prompt."""
    return b"".join((_head(str(message.get("role", ""))), _content(message), _END))


def render_chat(messages: Sequence[dict[str, Any]], tools: Sequence[Any] | None) -> bytes:
    """Messages (and tools) with the head of the coming reply; JSON keys keep their order."""
    parts = []
    if tools:
        parts += [_head("tools"), msgspec.json.encode(tools), _END]
    parts += map(render_message, messages)
    parts.append(_head("assistant"))
    return b"".join(parts)


def render_reply(reply: str, chat: bool) -> bytes:
    """The reply as it stands in the next turn's history."""
    return reply.encode() + (_END if chat else b"")

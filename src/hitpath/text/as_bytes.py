"""Chat requests as UTF-8 bytes: each byte stands for one token.

The rendering is a plain one of our own (tools first, then each message under its role, then
the head of the reply, as most chat templates do), so that a prompt followed by its reply is
the beginning of the next turn. Figures from it are in bytes and say so.
"""

from typing import Any

import msgspec

_HEAD = b"<|%s|>\n"
_END = b"<|end|>\n"


def render_text(prompt: str) -> bytes:
    """A completion prompt. Raises UnicodeEncodeError for a lone surrogate."""
    return prompt.encode()


def _content(message: dict[str, Any]) -> bytes:
    content = message.get("content")
    head = content.encode() if isinstance(content, str) else b""
    rest = {
        key: value
        for key, value in message.items()
        if key != "role" and not (key == "content" and isinstance(value, str | None))
    }
    return head + (msgspec.json.encode(rest) if rest else b"")


def render_chat(messages: list[dict[str, Any]], tools: list[Any] | None) -> bytes:
    """Messages (and tools) with the head of the coming reply; JSON keys keep their order."""
    parts = []
    if tools:
        parts += [_HEAD % b"tools", msgspec.json.encode(tools), _END]
    for message in messages:
        parts += [_HEAD % str(message.get("role", "")).encode(), _content(message), _END]
    parts.append(_HEAD % b"assistant")
    return b"".join(parts)


def render_reply(reply: str, chat: bool) -> bytes:
    """The reply as it stands in the next turn's history."""
    return reply.encode() + (_END if chat else b"")

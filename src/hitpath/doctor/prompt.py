"""A prompt with its structure: the rendered text as parts, each with its place in the request.

The rendering is that of `text.as_bytes` (tools, then messages, then the head of the reply), so that
the parts' bytes one after the other are the symbols of a trace that counts in bytes. A part is

    string   a string of the request as it is (content)
    escaped  a string of the request inside JSON (a block of content): `text` is its value
    json     a subtree in compact JSON: a tool, tool calls, an image
    glue     what the rendering puts around them

Offsets are bytes of the rendering, counted from its beginning.
"""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any, Literal

import msgspec

from hitpath.canonical.tail import HEADER
from hitpath.doctor.in_row import Steps

Form = Literal["string", "escaped", "json", "glue"]
TOOLS, SYSTEM, ASSISTANT, GLUE = "tools", "system", "assistant history", "template glue"
NO_MESSAGE = -1


@dataclass(frozen=True, slots=True)
class Part:
    """One piece. path: where it stands in the request ("" for glue); message: the number of its
    message, NO_MESSAGE for tools; value: of a subtree, as it was decoded; base: characters of the
    string at `path` that stand before this piece of it; steps: where it stands in its plain
    message."""

    path: str
    segment: str
    form: Form
    text: str
    message: int = NO_MESSAGE
    value: Any = field(default=None, compare=False)
    base: int = 0
    steps: Steps = field(default=(), compare=False)

    @property
    def rendered(self) -> bytes:
        """Its bytes in the prompt."""
        if self.form == "escaped":
            return msgspec.json.encode(self.text)[1:-1]
        return self.text.encode()

    @property
    def is_image(self) -> bool:
        """Whether it is a block that holds or names an image."""
        return isinstance(self.value, dict) and "image" in str(self.value.get("type", ""))

    def offset_of(self, num_chars: int) -> int:
        """Bytes that its first characters take in the prompt."""
        head = self.text[:num_chars]
        return len(msgspec.json.encode(head)) - 2 if self.form == "escaped" else len(head.encode())


@dataclass(frozen=True, slots=True)
class Message:
    """The parts [begin, end) of one message, whose path in the request is `path`. key: equal for
    messages that are rendered alike."""

    path: str
    role: str
    segment: str
    begin: int
    end: int
    key: int


@dataclass(frozen=True)
class Prompt:
    """A whole prompt. tools: numbers of the parts that are tools; is_flat: one text without
    structure."""

    parts: tuple[Part, ...]
    messages: tuple[Message, ...]
    tools: tuple[int, ...] = ()
    is_flat: bool = False

    @property
    def is_one_text(self) -> bool:
        """Whether all of it is one string of the request, glue too."""
        return self.is_flat or (not self.tools and any(part.base for part in self.parts))

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where each part begins; the last entry is the prompt's end."""
        return tuple(accumulate((len(part.rendered) for part in self.parts), initial=0))

    @cached_property
    def rendered(self) -> bytes:
        """The whole text."""
        return b"".join(part.rendered for part in self.parts)

    def text_of(self, message: Message) -> str:
        """The words of one message, without what stands around them, and without the values that a
        fix has put at its end."""
        parts = self.parts[message.begin : message.end]
        return "\n".join(part.text.partition(HEADER)[0] for part in parts if part.form != "glue")

    def words_of(self, message: Message) -> str:
        """As text_of, without images: one that was encoded anew is still the same picture; and
        without the types of blocks: a block of text is that text."""
        parts = self.parts[message.begin : message.end]
        return "\n".join(
            part.text.partition(HEADER)[0]
            for part in parts
            if not (part.form == "glue" or part.is_image or part.path.endswith("].type"))
        )

    def spans(self) -> list[tuple[str, str, int, int]]:
        """(JSON path, segment, start, stop) of every part, in order: they leave nothing out."""
        starts = self.starts
        return [
            (part.path, part.segment, starts[i], starts[i + 1]) for i, part in enumerate(self.parts)
        ]

"""A prompt with a plan's fixes, in bytes: the same as forms.form_of gives, without its images.

A message is made once: most requests of a session have those of the one before.
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from hitpath.doctor.forms import block_of, place_of, target_of
from hitpath.doctor.prompt import SYSTEM, Part, Prompt
from hitpath.doctor.resolve import general_path
from hitpath.doctor.steps import Steps


class _Piece(NamedTuple):
    """rendered: bytes of some parts; moved: what was taken out; touched: the places that changed;
    is_new: whether the bytes are others."""

    rendered: bytes
    moved: tuple[str, ...]
    touched: tuple[str, ...]
    is_new: bool


class FixedBytes:
    """Renders prompts by one plan."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._messages: dict[tuple[int, str, bool], _Piece] = {}

    def rendered(self, prompt: Prompt, touched: set[str]) -> bytes | None:
        """The fixed prompt, None where it is as it was. touched: takes the places that changed."""
        pieces = [self._head(prompt)]
        moved = list(pieces[0].moved)
        target = target_of(prompt)
        for message in prompt.messages:
            holds_target = message.begin <= target < message.end
            key = (message.key, general_path(message.path), message.segment == SYSTEM)
            piece = self._messages.get(key)
            if piece is None:
                piece = self._piece(prompt.parts[message.begin : message.end])
                self._messages[key] = piece
            moved += piece.moved
            if holds_target and moved and self._steps.appends:
                piece = self._with_block(prompt, message.begin, message.end, target, moved)
            pieces.append(piece)
        end = prompt.messages[-1].end if prompt.messages else len(self._before(prompt))
        rest = prompt.parts[end:]
        if not any(piece.is_new for piece in pieces):
            return None
        for piece in pieces:
            touched.update(piece.touched)
        return b"".join((*(piece.rendered for piece in pieces), *(p.rendered for p in rest)))

    def _before(self, prompt: Prompt) -> tuple[Part, ...]:
        """The parts before the first message."""
        return prompt.parts[: prompt.messages[0].begin] if prompt.messages else prompt.parts[:-1]

    def _head(self, prompt: Prompt) -> _Piece:
        """Tools, in their new order."""
        parts = self._before(prompt)
        if not prompt.tools:
            return _Piece(b"".join(part.rendered for part in parts), (), (), False)
        order, tools = self._steps.tools([prompt.parts[number] for number in prompt.tools])
        new = dict(zip(prompt.tools, tools, strict=True))
        out = [new[n].rendered if n in new else part.rendered for n, part in enumerate(parts)]
        rendered = b"".join(out)
        touched = [
            place_of(prompt.parts[prompt.tools[old]])
            for old, tool in zip(order, tools, strict=True)
            if tool.kinds or tool.moved
        ]
        moved = tuple(text for tool in tools for text in tool.moved)
        is_new = rendered != b"".join(part.rendered for part in parts)
        return _Piece(rendered, moved, tuple(dict.fromkeys(touched)), is_new)

    def _piece(self, parts: Iterable[Part]) -> _Piece:
        """Parts of one message."""
        out: list[bytes] = []
        moved: list[str] = []
        touched: list[str] = []
        is_new = False
        for part in parts:
            own = part.rendered
            if part.form == "glue":
                out.append(own)
                continue
            new = self._steps.part(part, general_path(part.path))
            out.append(new.rendered)
            moved += new.moved
            is_new = is_new or new.rendered != own
            if new.kinds or new.moved:
                touched.append(place_of(part))
        return _Piece(b"".join(out), tuple(moved), tuple(touched), is_new)

    def _with_block(
        self, prompt: Prompt, begin: int, end: int, target: int, moved: list[str]
    ) -> _Piece:
        """The message that gets what was moved, behind its last text."""
        one = self._piece(prompt.parts[begin : target + 1])
        other = self._piece(prompt.parts[target + 1 : end])
        block = block_of(moved).encode()
        if prompt.parts[target].form == "escaped":
            block = msgspec.json.encode(block_of(moved))[1:-1]
        touched = (*one.touched, *other.touched)
        return _Piece(one.rendered + block + other.rendered, (), touched, True)

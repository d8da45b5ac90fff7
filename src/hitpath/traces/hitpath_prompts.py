"""Prompts and outputs of hitpath's own rows as symbols, by the kind that the rows have.

Names (string block keys, stretches) are numbered as they appear in the trace. The numbers mean
nothing outside of it, so the trace keeps the names (`table.Names`).
"""

from typing import TYPE_CHECKING

import numpy as np

from hitpath.core import InputError
from hitpath.traces.conversations import plain_message, plain_tools
from hitpath.traces.prompts import TextPrompts
from hitpath.traces.rows import NO_SYMBOLS, Symbols, check_tokens, symbols_from
from hitpath.traces.segments import MAX_SEGMENT_TOKENS, SegmentTokens, Stretches

if TYPE_CHECKING:
    from hitpath.traces.hitpath_jsonl import HitpathRow

LENGTHS = "lengths"
"""The kind of a row that has no prompt field, only `prompt_tokens`."""
_KEY_NAMES: dict[type, str] = {int: "integers", str: "strings"}


class OwnPrompts:
    """One trace's prompts. Each kind's method gives (prompt, output or None), or InputError."""

    def __init__(self, texts: TextPrompts) -> None:
        self._texts = texts
        self._segments = SegmentTokens()
        self._strings: dict[str, int] = {}
        self._key_type: type[int | str] | None = None

    @property
    def key_names(self) -> tuple[str, ...] | None:
        """Names of block ids by their number; None where the ids are numbers themselves."""
        return tuple(self._strings) if self._key_type is str else None

    def stretches(self) -> Stretches:
        """Names of the tokens that segments are made of."""
        return self._segments.stretches()

    def of(self, kind: str, data: "HitpathRow", place: str) -> tuple[Symbols, Symbols | None]:
        """Of a row of this kind: one of the five prompt fields, or LENGTHS. Raises InputError."""
        if kind == LENGTHS:  # the file tells how long the prompts are, not what they are
            return NO_SYMBOLS, None
        of_kind = {
            "tokens": self._of_tokens,
            "block_keys": self._of_block_keys,
            "messages": self._of_messages,
            "prompt": self._of_prompt,
            "segments": self._of_segments,
        }
        return of_kind[kind](data, place)

    def _of_tokens(self, data: "HitpathRow", place: str) -> tuple[Symbols, Symbols | None]:
        assert data.tokens is not None
        output = data.output_ids
        return (
            symbols_from(data.tokens, np.uint32, "tokens", place),
            None if output is None else symbols_from(output, np.uint32, "output_ids", place),
        )

    def _of_block_keys(self, data: "HitpathRow", place: str) -> tuple[Symbols, Symbols | None]:
        assert data.block_keys is not None
        output = data.output_block_keys
        return (
            self._keys(data.block_keys, "block_keys", place),
            None if output is None else self._keys(output, "output_block_keys", place),
        )

    def _keys(self, keys: list[int | str], name: str, place: str) -> Symbols:
        """Integers as they are; strings numbered as they appear. Not both in one trace."""
        if keys:
            wanted = self._key_type or type(keys[0])
            if set(map(type, keys)) != {wanted}:
                i, key = next((i, k) for i, k in enumerate(keys) if type(k) is not wanted)
                cause = f"{key!r}: the trace's other keys are {_KEY_NAMES[wanted]}"
                raise InputError(place, f"{name}[{i}]", cause)
            self._key_type = wanted
        if self._key_type is str:
            numbers = self._strings
            keys = [numbers.setdefault(str(key), len(numbers)) for key in keys]
        return symbols_from(keys, np.uint64, name, place)

    def _of_prompt(self, data: "HitpathRow", place: str) -> tuple[Symbols, Symbols | None]:
        assert data.prompt is not None
        prompt = self._texts.prompt(data.prompt, _session(data), "prompt", place)
        return prompt, self._reply(data, False, place)

    def _of_messages(self, data: "HitpathRow", place: str) -> tuple[Symbols, Symbols | None]:
        assert data.messages is not None
        messages = [plain_message(message) for message in data.messages]
        tools = plain_tools(data.tools or [])
        prompt = self._texts.chat(messages, tools, _session(data), "messages", place)
        return prompt, self._reply(data, True, place)

    def _reply(self, data: "HitpathRow", chat: bool, place: str) -> Symbols | None:
        if data.reply is None:
            return None
        return self._texts.reply(data.reply, chat, "reply", place)

    def _of_segments(self, data: "HitpathRow", place: str) -> tuple[Symbols, Symbols | None]:
        assert data.segments is not None
        prompt = self._joined(data.segments, "segments", place)
        reply = data.reply_segments
        if data.reply is not None:
            if data.output_tokens is None:
                cause = "missing: how long is the reply's segment?"
                raise InputError(place, "output_tokens", cause)
            reply = [(data.reply, data.output_tokens)]
        return prompt, None if reply is None else self._joined(reply, "reply_segments", place)

    def _joined(self, parts: list[tuple[str, int]], name: str, place: str) -> Symbols:
        """Named stretches, one behind the other."""
        total = 0
        for i, (_, num_tokens) in enumerate(parts):
            total += check_tokens(num_tokens, f"{name}[{i}][1]", place)
        if total > MAX_SEGMENT_TOKENS:
            raise InputError(place, name, f"more than {MAX_SEGMENT_TOKENS:,} tokens")
        try:
            tokens = [self._segments.tokens(stretch, length) for stretch, length in parts]
        except OverflowError as error:
            raise InputError(place, name, str(error)) from error
        return np.concatenate(tokens) if tokens else np.zeros(0, dtype=np.uint32)


def _session(data: "HitpathRow") -> str | None:
    return None if data.session is None else str(data.session)

"""Symbols as keyed hashes: who shares which beginning with whom stays, what they say does not.

Each token (byte of text) becomes a keyed hash of the whole prompt up to it, each named stretch of
`segments` one of the names up to it, each block id one of itself (`keyed.py`). Any two prompts
share exactly as many tokens as before, and so do those of two files redacted apart under one
key. Without the key nobody can try out texts against the hashes; lengths, times and the shape of
sharing remain visible.

Salts and other values of a context are hashed too (the model and the adapter's name stay, as
labels do). With `hash_labels` so are request ids, labels, models, adapters, and the names of tiers
and of a context's own fields.
"""

import hashlib
import os
import stat
from typing import Any

import numpy as np

from hitpath.core import SettingError
from hitpath.report.convert.keyed import KeyedHashes
from hitpath.report.convert.own_rows import (
    JsonRow,
    block_fields,
    block_names_of,
    segment_fields,
    stretches_of,
    symbols_of,
    token_fields,
)
from hitpath.traces.table import Trace

LEAST_KEY_BYTES = 16
MOST_KEY_BYTES = 1 << 20
_LABELS_IN_CONTEXT = ("adapter",)
_OWN_FIELDS = ("salt", "adapter", "media_salt")
"""Fields of a context whose names are of hitpath's format and say nothing."""
_IS_EXCLUDED = "excluded in the trace that this one was made from"


def read_key(path: str) -> bytes:
    """The key of 64 bytes that a regular file of LEAST_KEY_BYTES to MOST_KEY_BYTES gives. Raises
    SettingError."""
    try:
        content = _content(path)
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or str(error)
        raise SettingError("--redact", f"{path} cannot be read: {cause}") from error
    if len(content) < LEAST_KEY_BYTES:
        cause = f"{path} has {len(content)} bytes; a key needs at least {LEAST_KEY_BYTES}"
        raise SettingError("--redact", cause)
    if len(content) > MOST_KEY_BYTES:
        cause = f"{path} has more than {MOST_KEY_BYTES:,} bytes: this is no key"
        raise SettingError("--redact", cause)
    return hashlib.sha512(content).digest()


def _content(path: str) -> bytes:
    """Of a regular file, at most one byte more than a key may have. A pipe without a writer would
    be waited for, a device may never end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it is no regular file")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(MOST_KEY_BYTES + 1)
    finally:
        os.close(descriptor)


class Redacted:
    """Prompt fields of one trace under one key. Context values are hashed, labels on demand."""

    def __init__(self, trace: Trace, key: bytes, hash_labels: bool) -> None:
        self._trace = trace
        self._hashes = KeyedHashes(key)
        self._hash_labels = hash_labels
        self._ids: dict[int | str, str] = {}

    def of(self, row: int) -> JsonRow:
        """Prompt fields of one row."""
        trace = self._trace
        if trace.identity == "lengths_only":
            return {"prompt_tokens": int(trace.prompt_tokens[row])}
        if trace.block_size is not None:
            prompt, output = block_names_of(trace, row)
            ids = None if output is None else [self._id(i) for i in output]
            return block_fields(trace, row, [self._id(i) for i in prompt], ids)
        if trace.names.stretches is not None:
            return self._segments(row)
        return self._tokens(row)

    def _segments(self, row: int) -> JsonRow:
        prompt, output = stretches_of(self._trace, row)
        hashed = self._hashes.stretches([*prompt, *(output or [])])
        end = len(prompt)
        return segment_fields(self._trace, hashed[:end], None if output is None else hashed[end:])

    def _tokens(self, row: int) -> JsonRow:
        prompt, output = symbols_of(self._trace, row)
        joined: Any = prompt if output is None else np.concatenate([prompt, output])
        hashed = self._hashes.tokens(joined.astype(np.uint32, copy=False))
        end = len(prompt)
        return token_fields(self._trace, hashed[:end], None if output is None else hashed[end:])

    def _id(self, symbol: int | str) -> str:
        found = self._ids.get(symbol)
        if found is None:
            kind = "key" if isinstance(symbol, str) else "block"
            found = self._ids[symbol] = self._hashes.name(kind, str(symbol))
        return found

    def context(self, field: str, value: str) -> tuple[str, str]:
        """The value hashed, but for what is a label; the name only of a field of its own."""
        name = field if field in _OWN_FIELDS else self.label("field", field)
        if field in _LABELS_IN_CONTEXT:
            return name, self.label(field, value)
        return name, self._hashes.name(f"context.{field}", value)

    def label(self, name: str, value: str) -> str:
        """As it is, or hashed."""
        return self._hashes.name(name, value) if self._hash_labels else value

    def tier(self, name: str) -> str:
        """A label too."""
        return self.label("tier", name)

    def excluded(self, cause: str) -> str:
        """The cause may quote the trace."""
        return _IS_EXCLUDED

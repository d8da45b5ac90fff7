"""Symbols as keyed hashes: who shares which beginning with whom stays, what they say does not.

Token and text prompts become stretches of the trace's prefix tree: [[hash, length], ...], cut
wherever two prompts part or one ends, so that any two still share exactly as many tokens. The
name of a stretch is the keyed hash (BLAKE2b, RFC 7693) of the whole prompt up to its end. Block
ids become keyed hashes of 64 bits. Without the key nobody can try out texts against the hashes;
lengths, times and the shape of sharing remain visible.

Salts and other values of a context are hashed too (the model and the adapter's name stay, as
labels do); request ids and labels, models and adapters among them, are hashed with `hash_labels`.
"""

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hitpath.core import SettingError
from hitpath.index.forest import Forest, build_forest, node_paths
from hitpath.report.convert.own_rows import JsonRow, block_fields, symbols_of
from hitpath.traces.blocking import with_outputs
from hitpath.traces.table import Trace

LEAST_KEY_BYTES = 16
_HASH_BYTES = 8
_SHOWN_IN_CONTEXT = ("adapter",)
_IS_EXCLUDED = "excluded in the trace that this one was made from"


def read_key(path: str) -> bytes:
    """The key of 64 bytes that a file of at least LEAST_KEY_BYTES gives. Raises SettingError."""
    try:
        content = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or str(error)
        raise SettingError("--redact", f"{path} cannot be read: {cause}") from error
    if len(content) < LEAST_KEY_BYTES:
        cause = f"{path} has {len(content)} bytes; a key needs at least {LEAST_KEY_BYTES}"
        raise SettingError("--redact", cause)
    return hashlib.sha512(content).digest()


class Redacted:
    """Prompt fields of one trace under one key. Context values are hashed, labels on demand."""

    def __init__(self, trace: Trace, key: bytes, hash_labels: bool) -> None:
        self._trace = trace
        self._key = key
        self._hash_labels = hash_labels
        self._ids: dict[int, str] = {}
        has_symbols = trace.identity != "lengths_only"
        in_tokens = has_symbols and trace.block_size is None
        self._stretches = _Stretches(trace, key) if in_tokens else None

    def of(self, row: int) -> JsonRow:
        """Prompt fields of one row."""
        trace = self._trace
        if trace.identity == "lengths_only":
            return {"prompt_tokens": int(trace.prompt_tokens[row])}
        if self._stretches is not None:
            return self._stretches.of(row)
        prompt, output = symbols_of(trace, row)
        ids = None if output is None else [self._id(i) for i in output.tolist()]
        return block_fields(trace, row, [self._id(i) for i in prompt.tolist()], ids)

    def _id(self, symbol: int) -> str:
        found = self._ids.get(symbol)
        if found is None:
            found = self._ids[symbol] = self._hash("block", str(symbol))
        return found

    def _hash(self, kind: str, value: str) -> str:
        text = f"{kind}\0{value}".encode(errors="surrogatepass")
        return hashlib.blake2b(text, key=self._key, digest_size=_HASH_BYTES).hexdigest()

    def context(self, field: str, value: str) -> str:
        """Hashed, but for what is a label."""
        return self.label(field, value) if field in _SHOWN_IN_CONTEXT else self._hash(field, value)

    def label(self, name: str, value: str) -> str:
        """As it is, or hashed; names of ids and scopes are of one kind."""
        if not self._hash_labels:
            return value
        return self._hash("id" if name == "id_scope" else name, value)

    def excluded(self, cause: str) -> str:
        """The cause may quote the trace."""
        return _IS_EXCLUDED


class _Stretches:
    """The trace's prefix tree, each node named by the keyed hash of all that leads to its end."""

    def __init__(self, trace: Trace, key: bytes) -> None:
        num = len(trace)
        prompts, joined = trace.prompts, with_outputs(trace)
        flat = np.concatenate([prompts.flat, joined.flat]).astype(np.uint32, copy=False)
        starts = np.r_[prompts.offsets[:-1], len(prompts.flat) + joined.offsets[:-1]]
        lengths = np.r_[prompts.lengths, joined.lengths]
        # One root: equal tokens under different contexts get equal names, as in the trace itself.
        forest = build_forest(flat, starts, lengths, np.zeros(2 * num, dtype=np.int64))
        self._lengths = forest.tree.length.tolist()
        self._names = _names(forest, flat, key)
        self._offsets, self._nodes = node_paths(forest, forest.end)
        self._trace = trace
        self._unit = {"unit": "bytes"} if trace.identity == "text" else {}

    def of(self, row: int) -> JsonRow:
        """`segments`, and `reply_segments` where the row has an output."""
        prompt = self._path(row)
        told: JsonRow = {"segments": [self._stretch(node) for node in prompt], **self._unit}
        if self._trace.has_output[row]:
            rest = self._path(len(self._trace) + row)[len(prompt) :]
            told["reply_segments"] = [self._stretch(node) for node in rest]
        return told

    def _path(self, sequence: int) -> list[int]:
        begin, end = self._offsets[sequence], self._offsets[sequence + 1]
        return list(self._nodes[begin:end].tolist())

    def _stretch(self, node: int) -> list[str | int]:
        return [self._names[node], self._lengths[node]]


def _names(forest: Forest, flat: NDArray[np.uint32], key: bytes) -> list[str]:
    """Top down, so that a node goes on from its parent's state; roots have no name."""
    tree = forest.tree
    states = {0: hashlib.blake2b(b"prompt\0", key=key, digest_size=_HASH_BYTES)}
    names = [""] * forest.num_nodes
    parent, first, length = tree.parent.tolist(), tree.first.tolist(), tree.length.tolist()
    for node in np.argsort(tree.depth, kind="stable").tolist():
        if node < tree.num_roots:
            continue
        state = states[parent[node]].copy()
        state.update(flat[first[node] : first[node] + length[node]].tobytes())
        states[node] = state
        names[node] = state.hexdigest()
    return names

"""RAGPulse: prompts as lists of content ids, with five tables that tell each content's length.

The trace's rows and the tables (`sys_prompt_id`, `passage_id`, `history_id`, `web_search_id`,
`user_input_id`, each with `token_length`) are told apart row by row, by their fields. The ids
are those of contents, not chained: the same passage behind another prefix is no hit. A prompt
is its components in the order of COMPONENTS; each content stands for tokens of its own.
`timestamp` is a string of seconds from the beginning of the trace.
"""

import re
from collections.abc import Sequence
from functools import partial

import msgspec
import numpy as np
from numpy.typing import NDArray

from hitpath.core import InputError
from hitpath.traces.decode import RowDecoder
from hitpath.traces.rows import Row, Symbols, TraceBuilder, check_seconds, check_tokens
from hitpath.traces.segments import MAX_SEGMENT_TOKENS, SegmentTokens, Stretches
from hitpath.traces.sources import Format, Input, ReadOptions, lines_of
from hitpath.traces.table import Trace

NAME = "ragpulse"
COMPONENTS = {
    "sys_prompt": "sys_prompt_id",
    "passages_ids": "passage_id",
    "history": "history_id",
    "web_search": "web_search_id",
    "user_input": "user_input_id",
}
"""Component -> the field that holds its ids in the length table, in the order of the prompt."""

_MOST_KNOWN_TOKENS = 1 << 24
_NUMBER = re.compile(r"\d{1,13}(\.\d{1,9})?")


class _Components(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    sys_prompt: list[int] = []
    passages_ids: list[int] = []
    history: list[int] = []
    web_search: list[int] = []
    user_input: list[int] = []


class RagRow(msgspec.Struct, kw_only=True):
    """A row of the trace."""

    timestamp: str | int | float
    hash_ids: _Components
    input_length: int | None = None
    output_length: int | None = None
    session_id: str | int | None = None


class _Strict(RagRow, forbid_unknown_fields=True, kw_only=True):
    pass


class LengthRow(msgspec.Struct, kw_only=True):
    """A row of a length table: exactly one of the five ids."""

    token_length: int
    sys_prompt_id: int | None = None
    passage_id: int | None = None
    history_id: int | None = None
    web_search_id: int | None = None
    user_input_id: int | None = None


class _StrictLength(LengthRow, forbid_unknown_fields=True, kw_only=True):
    pass


def _is_length(value: dict[object, object]) -> bool:
    return "token_length" in value and any(name in value for name in COMPONENTS.values())


def recognises(value: object) -> bool:
    """Whether a first row is of the trace or of one of its tables."""
    if not isinstance(value, dict):
        return False
    ids = value.get("hash_ids")
    return _is_length(value) or (isinstance(ids, dict) and not ids.keys() - COMPONENTS.keys())


def read(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> Trace:
    """The tables, then all rows. Raises InputError."""
    lengths = _Lengths(builder)
    decoder = RowDecoder(RagRow, _Strict, builder.ignored_fields)
    waiting: list[tuple[str, RagRow | InputError]] = []
    for place, line in lines_of(inputs):
        if b'"token_length"' in line:
            lengths.add(line, place)
            continue
        try:
            waiting.append((place, decoder.decode(line, place)))
        except InputError as error:
            waiting.append((place, error))
    names = ", ".join(i.name for i in inputs)
    if not waiting:
        raise InputError(
            names, "", "only length tables: the trace itself (0_trace.jsonl) is missing"
        )
    rows = _RagRows(builder, lengths)
    rows.check_tables(waiting, names)
    for place, data in waiting:
        builder.attempt(partial(rows.make, data, place), place)
    if rows.differing:
        told, counted = rows.told, rows.counted
        builder.notes.append(
            f"input_length is not the sum of the components in {rows.differing:,} rows: together "
            f"{told:,} tokens there, {counted:,} in the components; the components are counted"
        )
    return builder.build(NAME, "tokens", None, stretches=rows.stretches())


class _Lengths:
    """The five tables: (component, id) -> tokens."""

    def __init__(self, builder: TraceBuilder) -> None:
        self._builder = builder
        self._decoder = RowDecoder(LengthRow, _StrictLength, builder.ignored_fields)
        self._of: dict[str, dict[int, int]] = {name: {} for name in COMPONENTS}

    def add(self, line: bytes, place: str) -> None:
        """One row of a table; a bad one goes to the builder."""
        try:
            self._take(self._decoder.decode(line, place), place)
        except InputError as error:
            self._builder.reject(error)

    def _take(self, row: LengthRow, place: str) -> None:
        told = [(c, f) for c, f in COMPONENTS.items() if getattr(row, f) is not None]
        if len(told) != 1:
            raise InputError(place, "", f"needs exactly one of {', '.join(COMPONENTS.values())}")
        component, field = told[0]
        number: int = getattr(row, field)
        length = check_tokens(row.token_length, "token_length", place)
        known = self._of[component].setdefault(number, length)
        if known != length:
            raise InputError(place, "token_length", f"{length}, but {field} {number} had {known}")

    @property
    def absent(self) -> set[str]:
        """Components without any table."""
        return {component for component, table in self._of.items() if not table}

    def of(self, component: str, number: int, at: str, place: str) -> int:
        """Tokens of one content. Raises InputError where no table tells them."""
        table = self._of[component]
        if number not in table:
            raise InputError(place, at, f"{number} is not in the table of {COMPONENTS[component]}")
        return table[number]


class _RagRows:
    """Makes rows; adds up where the trace's own lengths differ."""

    def __init__(self, builder: TraceBuilder, lengths: _Lengths) -> None:
        self._builder = builder
        self._lengths = lengths
        self._segments = SegmentTokens()
        self._contents: dict[str, NDArray[np.uint32]] = {}
        self._num_tokens = 0  # of `_contents`
        self.differing = self.told = self.counted = 0

    def stretches(self) -> Stretches:
        """The contents by their names, `component:id`."""
        return self._segments.stretches()

    def check_tables(self, waiting: Sequence[tuple[str, RagRow | InputError]], names: str) -> None:
        """InputError that names every table that the rows need and that was not given."""
        absent, needed = self._lengths.absent, set[str]()
        for _, data in waiting if absent else ():
            if isinstance(data, RagRow):  # else told when the row is made
                needed |= {component for component in absent if getattr(data.hash_ids, component)}
        if needed:
            wanted = [f"{COMPONENTS[c]} ({c})" for c in COMPONENTS if c in needed]
            cause = f"length tables missing: {', '.join(wanted)}; give those files with the trace"
            raise InputError(names, "hash_ids", cause)

    def make(self, data: RagRow | InputError, place: str) -> Row:
        """One row, or InputError."""
        if isinstance(data, InputError):
            raise data
        prompt = self._prompt(data.hash_ids, place)
        arrival_s = _seconds(data.timestamp, place)
        output = data.output_length
        row = Row(
            id=str(len(self._builder.rows) + len(self._builder.skipped)),
            id_may_repeat=True,
            arrival_s=arrival_s,
            prompt=prompt,
            prompt_tokens=len(prompt),
            output_tokens=None if output is None else check_tokens(output, "output_length", place),
            session=None if data.session_id is None else str(data.session_id),
        )
        if data.input_length is not None:
            told = check_tokens(data.input_length, "input_length", place)
            self.told += told
            self.counted += len(prompt)
            self.differing += told != len(prompt)
        return row

    def _prompt(self, ids: _Components, place: str) -> Symbols:
        contents: list[tuple[str, int]] = []
        for component in COMPONENTS:
            for i, number in enumerate(getattr(ids, component)):
                at = f"hash_ids.{component}[{i}]"
                length = self._lengths.of(component, number, at, place)
                contents.append((f"{component}:{number}", length))
        if sum(length for _, length in contents) > MAX_SEGMENT_TOKENS:
            raise InputError(place, "hash_ids", f"more than {MAX_SEGMENT_TOKENS:,} tokens")
        try:
            parts = [self._tokens_of(name, length) for name, length in contents]
        except OverflowError as error:
            raise InputError(place, "hash_ids", str(error)) from error
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint32)

    def _tokens_of(self, name: str, length: int) -> NDArray[np.uint32]:
        """The tokens of a content, which is often in one prompt after the other."""
        known = self._contents.get(name)
        if known is None:
            if self._num_tokens > _MOST_KNOWN_TOKENS:
                self._contents.clear()
                self._num_tokens = 0
            known = self._contents[name] = self._segments.tokens(name, length)
            self._num_tokens += length
        return known


def _seconds(value: str | int | float, place: str) -> float:
    if isinstance(value, str):
        if not _NUMBER.fullmatch(value):
            raise InputError(place, "timestamp", f"{value!r} is not a number of seconds")
        value = float(value)
    return check_seconds(value, "timestamp", place)


FORMAT = Format(NAME, "RAGPulse JSONL with its length tables", recognises, read)

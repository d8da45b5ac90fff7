"""Baseten's block ids: found to be of prompts, or of prompts with their outputs, and cut."""

from functools import partial
from typing import Any

import numpy as np

from hitpath.core import InputError, SettingError
from hitpath.traces.blocks import check_block_size, check_num_ids
from hitpath.traces.lengths import count_or_none
from hitpath.traces.rows import NO_SYMBOLS, Row, Symbols, TraceBuilder, symbols_from

IDS, SIZE = "total_hashes", "block_size"
_ENOUGH = 100


class BlockIds:
    """Ids of blocks, cut into prompt and output once it is known what they are of.

    Rows wait until _ENOUGH of them have a number of ids that fits one reading only; the reading
    that more of them fit holds for all. Where every row fits both, the ids are the prompts'.
    """

    def __init__(self, builder: TraceBuilder, asked: int | None) -> None:
        self.size = asked
        self.with_outputs: bool | None = None
        self._builder = builder
        self._numbers: dict[str, int] = {}
        self._kind: type[int] | type[str] | None = None
        self._told = False
        self._waiting: list[tuple[Row, str]] = []
        self._votes = [0, 0]

    @property
    def key_names(self) -> tuple[str, ...] | None:
        """Names of the ids by their number; None where the file's are numbers themselves."""
        return tuple(self._numbers) if self._kind is str else None

    def symbols(self, cells: dict[str, Any], place: str) -> Symbols:
        """The row's ids. Raises InputError, or SettingError where the size is not told."""
        size = count_or_none(cells, SIZE, place)
        if size is not None:
            check_block_size(size, SIZE, place)
            if self._told and size != self.size:
                raise InputError(place, SIZE, f"{size}, but {self.size} before")
            self.size, self._told = size, True
        if self.size is None:
            raise SettingError("--block-size", f"{place} does not tell the size of its blocks")
        found = cells.get(IDS) or []
        if type(found) is not list:
            raise InputError(place, IDS, f"{found!r:.40} is no list")
        if not found:
            return NO_SYMBOLS
        kind = str if type(found[0]) is str else int
        if self._kind not in (None, kind) or (
            kind is str and any(type(k) is not str for k in found)
        ):
            raise InputError(place, IDS, "some ids of this trace are integers, others are not")
        self._kind = kind
        if kind is str:
            found = [self._numbers.setdefault(key, len(self._numbers)) for key in found]
        return symbols_from(found, np.uint64, IDS, place)

    def add(self, row: Row, place: str) -> None:
        """The next row, its prompt all ids."""
        if self.with_outputs is not None:
            self._builder.attempt(partial(self._cut, row, place), place)
            return
        self._waiting.append((row, place))
        fits = [self._fits(row, with_outputs) for with_outputs in (False, True)]
        if fits[0] != fits[1]:
            self._votes[fits[1]] += 1
            if sum(self._votes) == _ENOUGH:
                self.decide()

    def decide(self) -> None:
        """Enough rows, or all: what the ids are of."""
        self.with_outputs = self._votes[True] > self._votes[False]
        for row, place in self._waiting:
            self._builder.attempt(partial(self._cut, row, place), place)
        self._waiting.clear()

    def _fits(self, row: Row, with_outputs: bool) -> bool:
        assert self.size is not None
        tokens = _tokens(row, with_outputs)
        return tokens // self.size <= len(row.prompt) <= -(-tokens // self.size)

    def _cut(self, row: Row, place: str) -> Row:
        assert self.size is not None
        with_outputs = bool(self.with_outputs)
        check_num_ids(len(row.prompt), _tokens(row, with_outputs), self.size, IDS, place)
        if with_outputs:
            whole = row.prompt_tokens // self.size
            row.prompt, row.output = row.prompt[:whole], row.prompt[whole:]
        return row


def _tokens(row: Row, with_outputs: bool) -> int:
    assert row.output_tokens is not None
    return row.prompt_tokens + (row.output_tokens if with_outputs else 0)

"""Qwen-Bailian usage traces: `timestamp` in SECONDS, ids of 16-token blocks, parent chains.

The last id of a row may stand for a partial block. A session is all that descends from one
root: a row whose `parent_chat_id` is -1, or whose parent is not in the file (then the parent's
id names the session).
"""

from collections.abc import Sequence
from functools import partial

import msgspec

from hitpath.core import InputError
from hitpath.traces.blocks import check_num_ids
from hitpath.traces.decode import RowDecoder
from hitpath.traces.integers import IdParser
from hitpath.traces.rows import Row, TraceBuilder, check_seconds, check_tokens
from hitpath.traces.sources import Format, Input, ReadOptions, lines_of
from hitpath.traces.table import Trace

NAME = "qwen-bailian"
BLOCK_SIZE = 16
_ROOT = "-1"


class BailianRow(msgspec.Struct, kw_only=True):
    """The fields that hitpath reads. `kind` (text, search, image, file) changes no figure."""

    chat_id: int | str
    parent_chat_id: int | str
    timestamp: int | float
    input_length: int
    hash_ids: msgspec.Raw
    output_length: int | None = None
    turn: int | None = None
    kind: str | None = msgspec.field(default=None, name="type")


class _Strict(BailianRow, forbid_unknown_fields=True, kw_only=True):
    pass


def recognises(value: object) -> bool:
    """Whether a first row is of this format."""
    return isinstance(value, dict) and {"chat_id", "parent_chat_id", "hash_ids"} <= value.keys()


def read(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> Trace:
    """All rows. Raises InputError."""
    decoder = RowDecoder(BailianRow, _Strict, builder.ignored_fields)
    ids = IdParser(sum(i.size_bytes for i in inputs), passing=builder.thins)
    builder.prompts_in_sequence = True
    parents: dict[str, str] = {}
    places: list[str] = []

    def make_row(line: bytes, place: str) -> Row:
        data = decoder.decode(line, place)
        row = Row(
            id=str(data.chat_id),
            arrival_s=check_seconds(data.timestamp, "timestamp", place),
            prompt=ids.parse(data.hash_ids, "hash_ids", place),
            prompt_tokens=check_tokens(data.input_length, "input_length", place),
            output_tokens=None
            if data.output_length is None
            else check_tokens(data.output_length, "output_length", place),
            turn=None if data.turn is None else check_tokens(data.turn, "turn", place),
            session=str(data.parent_chat_id),
        )
        check_num_ids(len(row.prompt), row.prompt_tokens, BLOCK_SIZE, "hash_ids", place)
        return row

    for place, line in lines_of(inputs):
        before = len(builder.rows)
        builder.attempt(partial(make_row, line, place), place)
        if len(builder.rows) > before:
            row = builder.rows[-1]
            parents[row.id] = str(row.session)
            places.append(place)
    _name_sessions(builder, parents, places)
    return builder.build(NAME, "chained", BLOCK_SIZE)


def _name_sessions(builder: TraceBuilder, parents: dict[str, str], places: list[str]) -> None:
    """Each row's session: the root of its chain. A row that is its own ancestor is a bad row."""
    roots: dict[str, str | None] = {}
    bad: list[int] = []
    for i, row in enumerate(builder.rows):
        row.session = _root(row.id, parents, roots)
        if row.session is None:
            cause = f"{parents[row.id]}: the chain of parents leads back to itself"
            builder.reject(InputError(places[i], "parent_chat_id", cause))
            bad.append(i)
    for i in reversed(bad):
        del builder.rows[i]


def _root(chat: str, parents: dict[str, str], roots: dict[str, str | None]) -> str | None:
    """The root of a chain, None for a ring; `roots` remembers what is known."""
    path: dict[str, None] = {}
    while chat not in roots and chat not in path:
        path[chat] = None
        parent = parents.get(chat, _ROOT)
        if parent == _ROOT:
            roots[chat] = chat
        else:
            chat = parent
    root = roots.get(chat)
    roots.update(dict.fromkeys(path, root))
    return root


FORMAT = Format(NAME, "Qwen-Bailian JSONL", recognises, read)

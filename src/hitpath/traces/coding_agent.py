"""Coding-agent sessions (kv-cache-tester's form): one JSON document a session.

Requests nest: a sub-agent holds requests with a clock of its own, whose zero is the moment at
which it stands in its parent. Block ids are chained, cover whole blocks only, and are local to
the file. The order is that of the file, a sub-agent's requests where it stands; sessions have
no common clock, so they are taken one after the other.

The ids do not carry the model. As published, a block counts as reusable whatever model
computed it; the analysis says how many tokens that is, and `--split-models` forbids it.
"""

from collections.abc import Sequence
from functools import partial

import msgspec

from hitpath.core import InputError
from hitpath.traces.blocks import check_block_size, check_num_ids
from hitpath.traces.decode import as_input_error
from hitpath.traces.integers import IdParser
from hitpath.traces.rows import Row, TraceBuilder, check_seconds, check_tokens
from hitpath.traces.sources import Format, Input, ReadOptions
from hitpath.traces.table import Trace, model_context

NAME = "coding-agent"


class _Entry(msgspec.Struct, kw_only=True, rename={"kind": "type", "num_in": "in"}):
    """A request, or (with `requests`) a sub-agent. The format has many more fields."""

    t: int | float
    kind: str = ""
    num_in: int | None = None
    out: int | None = None
    hash_ids: msgspec.Raw = msgspec.Raw()
    model: str | None = None
    api_time: int | float | None = None
    agent_id: str | None = None
    requests: list["_Entry"] | None = None


class _Session(msgspec.Struct, kw_only=True):
    id: str
    block_size: int
    requests: list[_Entry]
    hash_id_scope: str = "local"


_decoder = msgspec.json.Decoder(_Session)


def recognises(value: object) -> bool:
    """Whether a document is of this format."""
    return isinstance(value, dict) and "requests" in value and "block_size" in value


def read(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> Trace:
    """All sessions, one a file. Raises InputError."""
    block_size: int | None = None
    scopes: set[str] = set()
    ids = IdParser(sum(i.size_bytes for i in inputs), passing=builder.thins)
    builder.prompts_in_sequence = True
    for source in inputs:
        name = source.name
        try:
            session = _decoder.decode(source.document())
            source.forget()
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            builder.reject(as_input_error(error, name))
            continue
        check_block_size(session.block_size, "block_size", name)
        if session.hash_id_scope not in ("local", "global"):
            cause = f"{session.hash_id_scope!r} is neither local nor global"
            raise InputError(name, "hash_id_scope", cause)
        if block_size is not None and session.block_size != block_size:
            raise InputError(name, "block_size", f"{session.block_size}, but {block_size} before")
        block_size = session.block_size
        scope = None
        if session.hash_id_scope == "local":
            # Two sessions of one name are an error, but bad rows may be skipped.
            scope = f"{session.id} in {name}" if session.id in scopes else session.id
            scopes.add(session.id)
        _SessionRows(session, name, scope, builder, ids).add_all()
    builder.notes.append(
        f"{len(inputs):,} sessions with clocks of their own: taken one after the other"
    )
    return builder.build(NAME, "chained", block_size, own_clocks=True, model_is_label=True)


class _SessionRows:
    """Flattens one session: parents' clocks are added up, ids name the path of the request."""

    def __init__(
        self, session: _Session, name: str, scope: str | None, builder: TraceBuilder, ids: IdParser
    ) -> None:
        self._ids = ids
        self._session = session
        self._name = name
        self._scope = scope
        self._builder = builder

    def add_all(self) -> None:
        """Add every request in file order."""
        self._add(self._session.requests, "requests", 0.0, self._session.id, self._session.id)

    def _add(
        self, entries: list[_Entry], path: str, clock_s: float, label: str, session: str
    ) -> None:
        for i, entry in enumerate(entries):
            here = f"{path}[{i}]"
            try:
                start_s = clock_s + check_seconds(entry.t, f"{here}.t", self._name)
            except InputError as error:
                self._builder.reject(error)
                continue
            if entry.requests is not None:
                agent = f"{session}/{entry.agent_id or i}"
                if _has_ids(entry):
                    # It is a request as well as what it holds.
                    own = partial(self._row, entry, here, start_s, f"{label}/{i}", session)
                    self._builder.attempt(own, self._name)
                self._add(entry.requests, f"{here}.requests", start_s, f"{label}/{i}", agent)
                continue
            make = partial(self._row, entry, here, start_s, f"{label}/{i}", session)
            self._builder.attempt(make, self._name)

    def _row(self, entry: _Entry, here: str, start_s: float, row_id: str, session: str) -> Row:
        if entry.num_in is None or not _has_ids(entry):
            missing = "in" if entry.num_in is None else "hash_ids"
            raise InputError(self._name, f"{here}.{missing}", "missing")
        prompt_tokens = check_tokens(entry.num_in, f"{here}.in", self._name)
        ids_field = f"{here}.hash_ids"
        size = self._session.block_size
        prompt = self._ids.parse(entry.hash_ids, ids_field, self._name)
        check_num_ids(len(prompt), prompt_tokens, size, ids_field, self._name)
        arrival_s = check_seconds(start_s, f"{here}.t", self._name)
        return Row(
            id=row_id,
            arrival_s=arrival_s,
            prompt=prompt,
            prompt_tokens=prompt_tokens,
            output_tokens=None
            if entry.out is None
            else check_tokens(entry.out, f"{here}.out", self._name),
            finish_s=None
            if entry.api_time is None
            else arrival_s + check_seconds(entry.api_time, f"{here}.api_time", self._name),
            session=session,
            tenant=self._session.id,
            model=entry.model,
            context=model_context(entry.model),
            scope=self._scope,
            clock=self._session.id,
        )


def _has_ids(entry: _Entry) -> bool:
    return bytes(entry.hash_ids) not in (b"", b"null")


FORMAT = Format(NAME, "coding-agent session JSON", recognises, read)

"""Trace files -> one `Trace`. One module a format; the format is found out by content.

To add a format: a module with NAME, `recognises(first_row)` and `read(...)`, a line in
`_LINE_FORMATS` (JSONL) below, a row in docs/trace-format.md, a case in tests/unit/test_traces.py.
"""

from collections.abc import Iterator
from itertools import chain

from hitpath.core import InputError, Progress
from hitpath.traces import coding_agent, hitpath_jsonl, mooncake
from hitpath.traces.decode import decode_any
from hitpath.traces.files import Source, expand, lines
from hitpath.traces.rows import DEFAULT_BLOCK_SIZE, TraceBuilder
from hitpath.traces.sampling import Sampler
from hitpath.traces.table import Context, Labels, Problem, Runs, Trace

__all__ = ["Context", "Labels", "Problem", "Runs", "Trace", "TraceBuilder", "read_trace"]

_LINE_FORMATS = (
    (mooncake.NAME, mooncake.recognises),
    (hitpath_jsonl.NAME, hitpath_jsonl.recognises),
)
_KNOWN = "hitpath JSONL, Mooncake JSONL, coding-agent session JSON"


def read_trace(
    arguments: list[str],
    *,
    block_size: int | None = None,
    skip_bad_rows: bool = False,
    sampler: Sampler | None = None,
    progress: Progress | None = None,
) -> Trace:
    """Read files, folders, globs or `-` into one trace. `block_size`: the user's, if any.
    `sampler`: keep only some blocks of each prompt (`Trace.thinned`).

    Raises InputError (place, field, cause) for what cannot be read; with `skip_bad_rows` bad
    rows are listed in `Trace.skipped` instead.
    """
    builder = TraceBuilder(skip_bad_rows, sampler, block_size or DEFAULT_BLOCK_SIZE)
    inputs = [_Input(source, skip_bad_rows, progress) for source in expand(arguments)]
    first = next((i for i in inputs if i.format_name is not None), None)
    if first is None:
        raise InputError(", ".join(arguments), "", "no requests: the input is empty")
    for other in inputs:
        if other.format_name not in (None, first.format_name):
            cause = f"format is {other.format_name}, but {first.name} is {first.format_name}"
            raise InputError(other.name, "", cause)
    if first.format_name == coding_agent.NAME:
        documents = ((i.name, i.document()) for i in inputs if i.format_name is not None)
        trace = coding_agent.read(documents, builder)
    elif first.format_name == mooncake.NAME:
        size_bytes = sum(i.size_bytes for i in inputs)
        rows = chain.from_iterable(i.lines() for i in inputs)
        trace = mooncake.read(rows, builder, block_size, size_bytes)
    else:
        trace = hitpath_jsonl.read(chain.from_iterable(i.lines() for i in inputs), builder)
    if not len(trace):
        raise InputError(first.name, "", f"no request left: {len(trace.skipped)} bad rows")
    return trace


class _Input:
    """One source with its format found out from its beginning."""

    def __init__(self, source: Source, skip_bad_rows: bool, progress: Progress | None) -> None:
        self.name = source.name
        self.size_bytes = source.size_bytes
        self._source = source
        self._progress = progress
        self._document: bytes | None = None
        self._lines = lines(source, progress)
        self._head: list[tuple[int, bytes]] = []
        self.format_name = self._find_out(skip_bad_rows)

    def lines(self) -> Iterator[tuple[str, bytes]]:
        """(place, line) for every line that is not blank."""
        for number, line in chain(self._head, self._lines):
            yield f"{self.name}:{number}", line

    def document(self) -> bytes:
        """The whole source."""
        if self._document is None:
            # Standard input cannot be read twice: put together what was read so far.
            head = [line for _, line in self._head]
            self._document = b"\n".join([*head, *(line for _, line in self._lines)])
        return self._document

    def _find_out(self, skip_bad_rows: bool) -> str | None:
        """The format's name; None for an empty source. Raises InputError."""
        error: InputError | None = None
        for number, line in self._lines:
            self._head.append((number, line))
            try:
                first = decode_any(line, f"{self.name}:{number}")
            except InputError as problem:
                error = error or problem
                if self._is_document():
                    return coding_agent.NAME
                if skip_bad_rows:
                    continue
                raise error from None
            return self._name_of(first, number)
        if error is not None:
            raise error
        return None

    def _is_document(self) -> bool:
        """Whether the source is one JSON document spread over several lines."""
        if len(self._head) > 1 or self._head[0][1].strip() not in (b"{", b"["):
            return False
        document = decode_any(self.document(), self.name)
        if not (isinstance(document, dict) and coding_agent.recognises(document)):
            raise InputError(self.name, "", f"format not recognised; hitpath reads {_KNOWN}")
        return True

    def _name_of(self, first: object, number: int) -> str:
        place = f"{self.name}:{number}"
        if not isinstance(first, dict):
            raise InputError(place, "", f"a JSON object is needed, not {type(first).__name__}")
        if coding_agent.recognises(first):
            return coding_agent.NAME
        for name, recognises in _LINE_FORMATS:
            if recognises(first):
                return name
        fields = ", ".join(sorted(map(str, first))[:8]) or "none"
        raise InputError(
            place, "", f"format not recognised (fields: {fields}); hitpath reads {_KNOWN}"
        )

"""Finding out by content which format a source is of, before any reader sees it."""

from collections.abc import Iterator
from itertools import chain

from hitpath.core import InputError, Progress
from hitpath.traces import coding_agent, hitpath_jsonl, mooncake
from hitpath.traces.decode import decode_any
from hitpath.traces.files import Source, lines

_LINE_FORMATS = (
    (mooncake.NAME, mooncake.recognises),
    (hitpath_jsonl.NAME, hitpath_jsonl.recognises),
)
_KNOWN = "hitpath JSONL, Mooncake JSONL, coding-agent session JSON"


class Input:
    """One source and its format: `format_name`, or None where the source has no readable row.

    `problem`: why no row could be read, under `skip_bad_rows`; without it that is raised. A
    source is read once (it may be a pipe): what finding out consumed is kept and given again.
    """

    def __init__(self, source: Source, skip_bad_rows: bool, progress: Progress | None) -> None:
        self.name = source.name
        self.size_bytes = source.size_bytes
        self.problem: InputError | None = None
        self._rest = lines(source, progress)
        self._head: list[tuple[int, bytes]] = []
        self.format_name = self._find_out(skip_bad_rows)

    def lines(self) -> Iterator[tuple[str, bytes]]:
        """(place, line) for every line that is not blank."""
        for number, line in chain(self._head, self._rest):
            yield f"{self.name}:{number}", line

    def document(self) -> bytes:
        """The whole source."""
        self._head += self._rest
        return b"\n".join(line for _, line in self._head)

    def _find_out(self, skip_bad_rows: bool) -> str | None:
        first = next(self._rest, None)
        if first is None:
            return None
        self._head.append(first)
        number, line = first
        try:
            row = decode_any(line, f"{self.name}:{number}")
        except InputError as error:
            self.problem = error
        else:
            return self._name_of(row, number)
        if self._is_document():
            self.problem = None
            return coding_agent.NAME
        if not skip_bad_rows:
            raise self.problem
        return self._first_readable_row()

    def _is_document(self) -> bool:
        """Whether the source is one session document spread over several lines."""
        if not self._head[0][1].lstrip().startswith(b"{"):
            return False
        try:
            document = decode_any(self.document(), self.name)
        except InputError:
            return False
        return isinstance(document, dict) and coding_agent.recognises(document)

    def _first_readable_row(self) -> str | None:
        """The format of the first row that is of any; None leaves `problem` to be told."""
        self._head += self._rest
        for number, line in self._head[1:]:
            try:
                name = self._name_of(decode_any(line, self.name), number)
            except InputError:
                continue
            self.problem = None
            return name
        return None

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

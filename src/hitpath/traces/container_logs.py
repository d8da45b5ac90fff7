"""Lines of a log as Docker's json-file driver and Fluent Bit store them, one JSON object a line:
{"log": "...\\n", "stream": "stderr", "time": "..."}. They are read as the lines inside.

Docker cuts a line every 16 KiB (moby/moby, daemon/logger/copier.go); only its last part ends with
a line end. Kubernetes' runtimes mark the parts of a line instead (`logtag` P, the last one F).
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Literal

import msgspec

_CUT_BYTES = 16 << 10


class _Stored(msgspec.Struct):
    log: str
    stream: Literal["stdout", "stderr"]
    logtag: str | None = None


_decode = msgspec.json.Decoder(_Stored).decode


def unwrapped(numbered: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """(number, line) of the log where the first line that is not blank is stored so, else what
    came, without the blank lines before it. A line of several parts has the number of the first."""
    first = next((line for line in numbered if not line[1].isspace()), None)
    if first is None:
        return
    all_lines = chain((first,), numbered)
    yield from _lines(all_lines) if _stored(first[1]) is not None else all_lines


def _stored(line: bytes) -> _Stored | None:
    if b'"log"' not in line or b'"stream"' not in line:
        return None
    try:
        return _decode(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None


def _lines(numbered: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    parts: dict[str, tuple[int, list[bytes]]] = {}
    for number, line in numbered:
        stored = _stored(line)
        if stored is None:
            yield number, line  # cut off, or of somebody else: its reader decides
            continue
        text = stored.log.encode("utf-8", "replace")
        first, before = parts.pop(stored.stream, (number, []))
        before.append(text)
        if _goes_on(stored, text):
            parts[stored.stream] = (first, before)
        else:
            yield from _split(first, b"".join(before))
    for first, before in parts.values():
        yield from _split(first, b"".join(before))


def _goes_on(stored: _Stored, text: bytes) -> bool:
    if stored.logtag is not None:
        return stored.logtag == "P"
    return not text.endswith(b"\n") and len(text) >= _CUT_BYTES


def _split(number: int, text: bytes) -> Iterator[tuple[int, bytes]]:
    for line in text.removesuffix(b"\n").split(b"\n"):
        yield number, line + b"\n"

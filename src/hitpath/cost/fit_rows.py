"""Measured requests that the cost model is fitted to: JSONL, or CSV with a header.

    prompt_tokens  tokens of the prompt, cached ones included (inclusive, as OpenAI and vLLM count)
    cached_tokens  of these, how many were in the cache; 0 has to be written
    ttft_s         seconds from sending to the first token, without waiting for other requests
    tpot_s         optional: seconds an output token after the first; needs output_tokens
    output_tokens  optional: tokens generated
    batch          optional, 1: equal requests that ran together

Other fields are ignored, and a note names them.
"""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from hitpath.core import MAX_TOKENS, InputError, why_no_file
from hitpath.cost.struct_file import MAX_FILE_BYTES

Tokens = Annotated[int, msgspec.Meta(ge=1, le=MAX_TOKENS)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=1e6)]
_MOST_NAMED = 8


class MeasuredRow(msgspec.Struct, frozen=True, kw_only=True):
    """One request, or a batch of equal ones. Tokens are of one of them."""

    prompt_tokens: Tokens
    cached_tokens: Annotated[int, msgspec.Meta(ge=0, le=MAX_TOKENS)]
    ttft_s: Seconds
    tpot_s: Seconds | None = None
    output_tokens: Tokens | None = None
    batch: Annotated[int, msgspec.Meta(ge=1, le=1 << 20)] | None = None

    def __post_init__(self) -> None:
        if self.cached_tokens > self.prompt_tokens:
            cause = f"cached_tokens: {self.cached_tokens:,} of {self.prompt_tokens:,} tokens"
            raise ValueError(cause)
        if self.tpot_s is not None and (self.output_tokens is None or self.output_tokens < 2):
            raise ValueError("tpot_s: needs output_tokens of at least 2")


@dataclass(frozen=True, slots=True)
class MeasuredRows:
    """`places`: file and line of each row."""

    rows: tuple[MeasuredRow, ...]
    places: tuple[str, ...]
    notes: tuple[str, ...]


def read_measured_rows(path: Path) -> MeasuredRows:
    """Every row. Raises InputError at the first that is none, and for a file without rows."""
    text = _text(path)
    table = path.suffix.lower() == ".csv"
    rows, places = [], []
    ignored: dict[str, None] = {}
    for place, fields in _csv_rows(path, text) if table else _json_rows(path, text):
        rows.append(_row(place, fields, strict=not table))
        places.append(place)
        ignored.update(dict.fromkeys(name for name in fields if name not in _FIELDS))
    if not rows:
        raise InputError(str(path), "", "no rows")
    return MeasuredRows(tuple(rows), tuple(places), tuple(_notes(list(ignored))))


_FIELDS = MeasuredRow.__struct_fields__


def _notes(ignored: list[str]) -> Iterator[str]:
    if ignored:
        more = f" and {len(ignored) - _MOST_NAMED} more" if len(ignored) > _MOST_NAMED else ""
        yield f"fields that are not used: {', '.join(ignored[:_MOST_NAMED])}{more}"


def _text(path: Path) -> str:
    place = str(path)
    try:
        if not path.is_file():
            raise InputError(place, "", why_no_file(path))
        if path.stat().st_size > MAX_FILE_BYTES:
            raise InputError(place, "", f"larger than {MAX_FILE_BYTES >> 20} MiB")
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(place, "", f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(place, "", "not valid UTF-8") from error
    except ValueError as error:
        raise InputError(place, "", f"no path: {error}") from error


def _json_rows(path: Path, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        place = f"{path}:{number}"
        try:
            yield place, msgspec.json.decode(line, type=dict[str, Any])
        except RecursionError as error:
            raise InputError(place, "", "JSON is nested too deeply") from error
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise InputError(place, "", f"no JSON object: {error}") from error


def _csv_rows(path: Path, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        twice = {name for name in header if header.count(name) > 1}
        if twice:
            raise InputError(f"{path}:1", min(twice), "two columns of this name")
        for cells in reader:
            place = f"{path}:{reader.line_num}"
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) > len(header):
                raise InputError(place, "", f"{len(cells)} cells, the header has {len(header)}")
            pairs = zip(header, (cell.strip() for cell in cells), strict=False)
            yield place, {name: cell for name, cell in pairs if cell}
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}", "", f"no CSV: {error}") from error


def _row(place: str, fields: dict[str, Any], *, strict: bool) -> MeasuredRow:
    try:
        return msgspec.convert(fields, MeasuredRow, strict=strict)
    except msgspec.ValidationError as error:
        cause, _, where = str(error).partition(" - at `$.")
        if "missing required field" in cause:
            raise InputError(place, cause.split("`")[-2], "missing") from error
        field, colon, own = cause.partition(": ")
        if colon and field in _FIELDS:
            raise InputError(place, field, own) from error
        raise InputError(place, where.rstrip("`"), cause[:1].lower() + cause[1:]) from error

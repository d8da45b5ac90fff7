"""`hitpath convert`: read any trace, write it as hitpath's own rows or as Mooncake's."""

import gzip
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, Literal, cast, get_args

import msgspec

from hitpath.core import OutputError, Setting, SettingError, printable, real_number
from hitpath.report.convert.mooncake_rows import MOONCAKE_BLOCK_SIZE, mooncake_rows
from hitpath.report.convert.own_rows import JsonRow, Plain, PromptFields, own_rows
from hitpath.report.convert.parquet import write_parquet
from hitpath.report.convert.redact import Redacted, read_key
from hitpath.report.output import is_stdout, write_whole
from hitpath.report.run import check_outputs, shown_progress
from hitpath.text.tokenizer import load_tokenizer
from hitpath.traces import Trace, read_trace
from hitpath.traces.blocking import choose_block_size

_PARQUET = ".parquet"
_FOR_MOONCAKE = "is for --to mooncake"
_MOST_EVERY_S = 1e6
TargetName = Literal["hitpath", "mooncake"]
TARGETS: tuple[str, ...] = get_args(TargetName)
_TEXT_NOTE = (
    "text is written as it is rendered, a byte for a token: give --tokenizer here to keep token "
    "ids, it cannot be applied to the result"
)


@dataclass(frozen=True, slots=True)
class Conversion:
    """What to write. block_size: of Mooncake ids, None for MOONCAKE_BLOCK_SIZE where the trace
    allows it, else its own. every_s: spacing of requests without times. redact: a key file.
    mapping: `--map` as typed."""

    traces: list[str]
    out: str
    to: TargetName = "hitpath"
    block_size: int | None = None
    every_s: float | None = None
    redact: str | None = None
    hash_labels: bool = False
    tokenizer: str | None = None
    mapping: Sequence[str] = ()
    skip_bad_rows: bool = False

    def check(self) -> None:
        """Raise SettingError for options that contradict each other."""
        is_own, size, every_s = self.to == "hitpath", self.block_size, self.every_s
        parquet = self.out.lower().endswith(_PARQUET)
        for option, is_wrong, cause in (
            ("--redact", not is_own and self.redact is not None, "is for --to hitpath"),
            ("--hash-labels", self.hash_labels and self.redact is None, "needs --redact KEYFILE"),
            ("--block-size", is_own and size is not None, _FOR_MOONCAKE),
            ("--every", is_own and every_s is not None, _FOR_MOONCAKE),
            ("--to mooncake", not is_own and parquet, "is JSONL, not Parquet"),
        ):
            if is_wrong:
                raise SettingError(option, cause)
        Setting(block_size=size)  # raises where it is none
        if every_s is not None and not 0 < real_number("--every", every_s) <= _MOST_EVERY_S:
            cause = f"{every_s:g} s is not more than 0 s, up to {_MOST_EVERY_S:g} s"
            raise SettingError("--every", cause)


def run_convert(job: Conversion) -> None:
    """Read, write whole, say what was done (on standard error where the rows go to standard
    output). Raises HitpathError."""
    job.check()
    key = None if job.redact is None else read_key(job.redact)
    check_outputs([job.out], job.traces, job.tokenizer, (job.redact,))
    with shown_progress() as progress:
        trace = read_trace(
            job.traces,
            skip_bad_rows=job.skip_bad_rows,
            tokenizer=load_tokenizer(job.tokenizer),
            mapping=job.mapping,
            progress=progress,
        )
    _tell(trace, job, write_trace(trace, job, key))


def write_trace(trace: Trace, job: Conversion, key: bytes | None) -> list[str]:
    """Write the file whole; what there is to know of it, a sentence each. Raises HitpathError."""
    check_outputs([job.out], job.traces, job.tokenizer, (job.redact,))
    if job.to == "mooncake":
        size = _mooncake_block_size(trace, job.block_size)
        rows, notes = mooncake_rows(trace, size, job.every_s)
        notes.insert(0, f"blocks of {size} tokens: a replayer must be told so")
        notes += _excluded_note(trace, "are replayed like the others: the format has no mark")
    else:
        rows, notes = _own(trace, key, job.hash_labels)
        notes += _excluded_note(trace, "are marked excluded")
    _write(job.out, rows, string_keys=key is not None or trace.names.keys is not None)
    return notes


def _own(trace: Trace, key: bytes | None, hash_labels: bool) -> tuple[Iterator[JsonRow], list[str]]:
    fields: PromptFields = Plain(trace) if key is None else Redacted(trace, key, hash_labels)
    notes = []
    if trace.has_text and key is None:
        notes.append(_TEXT_NOTE)
    if key is not None:
        kept = "lengths and times" if hash_labels else "lengths, times, ids and labels"
        notes.append(f"{kept} stand as they were; prompts and salts are keyed hashes")
    return own_rows(trace, fields), notes


def _excluded_note(trace: Trace, what: str) -> list[str]:
    if not trace.excluded:
        return []
    first = next(iter(trace.excluded.values()))
    return [
        f"{len(trace.excluded):,} requests contradict themselves and {what}: "
        f"first {first.place}: {first.field}: {first.cause}"
    ]


def _mooncake_block_size(trace: Trace, asked: int | None) -> int:
    own = trace.block_size
    if asked is None and (own is None or MOONCAKE_BLOCK_SIZE % own == 0):
        asked = MOONCAKE_BLOCK_SIZE
    return choose_block_size(trace, asked)


def _write(out: str, rows: Iterator[JsonRow], string_keys: bool) -> None:
    name = out.lower()
    if name.endswith(_PARQUET):
        write_whole(out, lambda file: write_parquet(rows, file, string_keys))
    elif name.endswith(".gz"):
        write_whole(out, lambda file: _compressed(file, rows))
    elif name.endswith(".zst"):
        write_whole(out, lambda file: _zstd(file, rows))
    else:
        write_whole(out, lambda file: _write_lines(file.write, rows))


def _write_lines(write: Callable[[bytes], Any], rows: Iterator[JsonRow]) -> None:
    encoder = msgspec.json.Encoder()
    for row in rows:
        write(encoder.encode(row) + b"\n")


def _compressed(file: IO[bytes], rows: Iterator[JsonRow]) -> None:
    # No time and no name inside: the same trace gives the same bytes.
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
        _write_lines(packed.write, rows)


def _zstd(file: IO[bytes], rows: Iterator[JsonRow]) -> None:
    import pyarrow as pa

    with pa.CompressedOutputStream(pa.PythonFile(cast("Any", file), mode="w"), "zstd") as packed:
        _write_lines(packed.write, rows)


def _tell(trace: Trace, job: Conversion, notes: list[str]) -> None:
    stream = sys.stderr if is_stdout(job.out) else sys.stdout
    if stream is None:
        return
    skipped = f", {trace.skipped.num:,} bad rows left out" if trace.skipped else ""
    what = f"{len(trace):,} requests from {trace.format}{skipped}"
    try:
        print(printable(f"hitpath: wrote {what} to {job.out} as {job.to}"), file=stream)
        for note in (*trace.notes, *notes):
            print(f"  • {printable(note)}", file=stream)
        stream.flush()
    except OSError as error:
        raise OutputError("stdout", f"cannot be written: {error.strerror}") from error

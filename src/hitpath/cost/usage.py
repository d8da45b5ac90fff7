"""Token counts as providers report them, in disjoint buckets: a prompt token is counted once.

Two ways of reporting, which never mix:

    inclusive  the prompt's count holds the cached tokens (OpenAI, Gemini, DeepSeek, vLLM, SGLang):
               fresh = prompt - read - written
    exclusive  it does not (Anthropic, Bedrock): fresh = input_tokens, prompt = the sum of all;
               a `Usage` as it stands

A count that was not reported is ABSENT, never 0, and what depends on it is not known. The counts
of a stream are cumulative: a later one replaces an earlier one, and they are never added up.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hitpath.core import ABSENT, MAX_TOKENS, InputError
from hitpath.cost.prices import BUCKETS, PROMPT_BUCKETS, BucketName

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Usage:
    """One row a request; all columns int64 of one length, in tokens, ABSENT where not reported."""

    fresh: Counts
    read: Counts
    written_5m: Counts
    written_1h: Counts
    output: Counts

    def __post_init__(self) -> None:
        for name in BUCKETS:
            column = self.of(name)
            if column.shape != self.fresh.shape or column.ndim != 1:
                raise ValueError(f"{name} has shape {column.shape}, fresh {self.fresh.shape}")
            _check_counts(name, column)

    def __len__(self) -> int:
        return len(self.fresh)

    def of(self, bucket: BucketName) -> Counts:
        """The column of a bucket."""
        column: Counts = getattr(self, bucket)
        return column

    def take(self, rows: Counts) -> "Usage":
        """The rows with these numbers."""
        return Usage(
            self.fresh[rows],
            self.read[rows],
            self.written_5m[rows],
            self.written_1h[rows],
            self.output[rows],
        )

    def prompt_tokens(self) -> Counts:
        """Tokens of the whole prompt, cached ones included; ABSENT where a bucket is."""
        return _sum_unless_absent([self.of(name) for name in PROMPT_BUCKETS])

    def rows_not_adding_up(self, prompt_tokens: Counts) -> Counts:
        """Numbers of the rows whose buckets do not sum to the prompt that the provider counted
        (rows where either is absent say nothing)."""
        own = self.prompt_tokens()
        told = (own != ABSENT) & (prompt_tokens != ABSENT)
        return np.flatnonzero(told & (own != prompt_tokens))


def inclusive_usage(
    prompt: Counts,
    read: Counts,
    output: Counts,
    written_5m: Counts | None = None,
    written_1h: Counts | None = None,
) -> Usage:
    """From counts whose prompt holds the cached tokens. A written column left out: the provider
    writes for nothing, and says no counts of it.

    Raises InputError for a row whose parts exceed its prompt: such counts are exclusive ones.
    """
    none = np.zeros_like(prompt)
    parts = [read, none if written_5m is None else written_5m]
    parts.append(none if written_1h is None else written_1h)
    cached = _sum_unless_absent(parts)
    known = (prompt | cached) >= 0
    fresh = np.where(known, prompt - cached, ABSENT)
    over = known & (prompt < cached)
    if over.any():
        row = int(over.argmax())
        cause = f"{int(cached[row])} cached and written of {int(prompt[row])}: exclusive counts?"
        raise InputError(f"row {row}", "prompt_tokens", cause)
    return Usage(fresh, parts[0], parts[1], parts[2], output)


def stream_counts(events: Iterable[Mapping[str, int | None]]) -> dict[str, int | None]:
    """The counts of a whole response from those in its stream: of each, the last one told.

    Raises InputError where a count falls: it is then no cumulative one.
    """
    counts: dict[str, int | None] = {}
    for number, event in enumerate(events):
        for name, count in event.items():
            before = counts.get(name)
            if count is None:
                counts.setdefault(name, None)
            elif before is not None and count < before:
                raise InputError(f"event {number}", name, f"falls from {before} to {count}")
            else:
                counts[name] = count
    return counts


def _sum_unless_absent(columns: list[Counts]) -> Counts:
    """The sum of each row, ABSENT where one of its counts is. The sign of a bitwise or is that
    of any negative operand, and no count but ABSENT is negative."""
    signs, total = columns[0].copy(), columns[0].copy()
    for column in columns[1:]:
        signs |= column
        total += column
    if len(signs) and signs.min() < 0:
        total[signs < 0] = ABSENT
    return total


def _check_counts(name: str, column: Counts) -> None:
    if column.dtype != np.int64:
        raise ValueError(f"{name} is {column.dtype}, not int64")
    if len(column) and (column.min() < ABSENT or column.max() > MAX_TOKENS):
        row = int(np.flatnonzero((column < ABSENT) | (column > MAX_TOKENS))[0])
        raise InputError(f"row {row}", name, f"{int(column[row])} is no count of tokens")

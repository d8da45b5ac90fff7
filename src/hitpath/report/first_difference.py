"""Where two prompts part, for a person to read: the symbol on either side, and the text around.

Text is shown as it stands in the trace (bytes), or as a tokenizer decodes it; it is content.
"""

import codecs
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hitpath.summary import Analysis
from hitpath.summary.relatives import Relative, sequence_of
from hitpath.text.mistral import CONTROL, JOINT
from hitpath.traces.table import Symbols

Kind = Literal["text", "token", "block", "partial_block", "unnamed", "end"]
Decode = Callable[[Sequence[int]], str]
_NUM_BYTES, _NUM_TOKENS = 48, 12
_MARKS = str.maketrans({CONTROL: None, JOINT[-1]: None})


@dataclass(frozen=True, slots=True)
class Side:
    """What stands at the first difference. kind: `text` (bytes), `token`, `block`, the last
    `partial_block`, `unnamed` (the prompt goes on, the trace has no id for it), or the `end`.

    id: of the token or block as the file has it (block ids that are strings: their number in the
    order of appearance). text: how it goes on, where it is text or can be decoded.
    """

    kind: Kind
    id: int | None
    text: str | None


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """after: the end of what is shared, as text; None where there is none."""

    after: str | None
    here: Side
    there: Side


def first_difference(analysis: Analysis, row: int, relative: Relative) -> FirstDifference:
    """Where a request and its relative part. Raises SettingError for a tokenizer that can no
    longer be read."""
    trace, at = analysis.trace, relative.shared_symbols
    mine = sequence_of(analysis, row, with_output=False)
    theirs = sequence_of(analysis, relative.row, relative.with_output)
    num_mine = int(trace.prompt_tokens[row])
    num_theirs = int(trace.prompt_tokens[relative.row])
    if relative.with_output:
        num_theirs += int(trace.output_tokens[relative.row])
    if trace.block_size is not None:
        return FirstDifference(
            None,
            _block_side(trace.block_size, mine, num_mine, at),
            _block_side(trace.block_size, theirs, num_theirs, at),
        )
    if trace.prompts.flat.dtype == np.uint8:  # text, not stretches that were counted in bytes
        return _of_bytes(mine, theirs, at)
    return _of_tokens(mine, theirs, at, _decoder(analysis))


def _block_side(size: int, ids: Symbols, num_tokens: int, at: int) -> Side:
    if at < min(len(ids), num_tokens // size):
        return Side("block", int(ids[at]), None)
    if at < len(ids):  # its symbol is of our own making, not the file's id
        return Side("partial_block", None, None)
    return Side("unnamed" if at * size < num_tokens else "end", None, None)


def _of_bytes(mine: Symbols, theirs: Symbols, at: int) -> FirstDifference:
    start = at - _begun_character(mine[max(0, at - 4) : at])

    def side(symbols: Symbols) -> Side:
        if at >= len(symbols):
            return Side("end", None, None)
        return Side("text", None, _text_of(symbols[start : at + _NUM_BYTES]))

    after = _text_of(mine[max(0, start - _NUM_BYTES) : start])
    return FirstDifference(after or None, side(mine), side(theirs))


def _begun_character(shared: Symbols) -> int:
    """Bytes at the end that begin a character of which the rest differs."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(_bytes(shared))
    return len(decoder.getstate()[0])


def _text_of(symbols: Symbols) -> str:
    """Whole characters: what is cut off at either end is left out."""
    cut = 0
    while cut < min(3, len(symbols)) and symbols[cut] & 0xC0 == 0x80:
        cut += 1
    return codecs.getincrementaldecoder("utf-8")("replace").decode(_bytes(symbols[cut:]))


def _bytes(symbols: Symbols) -> bytes:
    return symbols.astype(np.uint8).tobytes()


def _of_tokens(mine: Symbols, theirs: Symbols, at: int, decode: Decode | None) -> FirstDifference:
    def text(ids: Symbols) -> str | None:
        return None if decode is None else decode(ids.tolist()).translate(_MARKS)

    def side(ids: Symbols) -> Side:
        if at >= len(ids):
            return Side("end", None, None)
        return Side("token", int(ids[at]), text(ids[at : at + _NUM_TOKENS]))

    after = text(mine[max(0, at - _NUM_TOKENS) : at])
    return FirstDifference(after or None, side(mine), side(theirs))


def _decoder(analysis: Analysis) -> Decode | None:
    """None without a tokenizer, or where the trace's ids are not its own."""
    if analysis.trace.identity != "tokens" or analysis.setting.tokenizer is None:
        return None
    from hitpath.report.html.excerpts import excerpts_of  # the page's modules are many

    excerpts = excerpts_of(analysis.trace, analysis.setting, allowed=True)
    return None if excerpts.why_not else excerpts.decode

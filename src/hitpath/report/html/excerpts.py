"""The text of a stretch of prompt, where the trace has text and it may be shown.

The text of prompts is content: it enters a page only where a person asked for it (--show-text).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from hitpath.core import Setting
from hitpath.text.mistral import JOINT
from hitpath.text.tokenizer import ByteTokenizer, TextTokenizer, load_tokenizer
from hitpath.traces.table import Trace

OPTION = "--show-text"
MOST_CHARACTERS = 160
_HEAD_CHARACTERS = 104
_TAIL_CHARACTERS = MOST_CHARACTERS - _HEAD_CHARACTERS - 3
_ENDS = 4 * MOST_CHARACTERS  # symbols to decode at each end: a character has at most four bytes
_NUM_TRIED, _TOKENS_TRIED, _ENOUGH_FRAC = 16, 256, 0.9
_MARKS = {"\n": "↵", "\t": "⇥", **dict.fromkeys(JOINT, "")}
_LEFT_OUT = f"it is content, so it is left out; {OPTION} puts it into the page"


@dataclass(frozen=True, slots=True)
class Excerpts:
    """What a page may show of the prompts' text. why_not: why it shows none, else empty."""

    trace: Trace
    why_not: str
    decode: Callable[[Sequence[int]], str] = ByteTokenizer().decode

    def of(self, row: int, begin_token: int, num_tokens: int) -> str:
        """Beginning and end of tokens [begin_token, begin_token + num_tokens) of one prompt, at
        most MOST_CHARACTERS, on one line; empty where none may be shown."""
        if self.why_not:
            return ""
        start, end = self.trace.prompts.offsets[row : row + 2].tolist()
        first = start + begin_token
        ids = self.trace.prompts.flat[first : min(first + num_tokens, end)]
        if len(ids) <= 2 * _ENDS:
            head = tail = _visible(self.decode(ids.tolist()))
            if sum(map(len, head)) <= MOST_CHARACTERS:
                return "".join(head)
        else:
            head, tail = (
                _visible(self.decode(part.tolist())) for part in (ids[:_ENDS], ids[-_ENDS:])
            )
        end_pieces = _within(reversed(tail), _TAIL_CHARACTERS)
        return f"{''.join(_within(head, _HEAD_CHARACTERS))} … {''.join(reversed(end_pieces))}"


def excerpts_of(trace: Trace, setting: Setting, allowed: bool) -> Excerpts:
    """allowed: whether a person asked for the text. Raises SettingError for a tokenizer that
    can no longer be read."""
    if trace.identity == "text" and trace.prompts.flat.dtype != np.uint8:
        return Excerpts(trace, "the trace counts bytes in stretches without their text")
    if trace.identity == "text":
        return Excerpts(trace, "" if allowed else _LEFT_OUT)
    if trace.identity != "tokens":
        return Excerpts(trace, "the trace has block ids, no text")
    if setting.tokenizer is None:
        return Excerpts(
            trace, "the trace has token ids, and no --tokenizer says what they stand for"
        )
    if not allowed:
        return Excerpts(trace, _LEFT_OUT)
    tokenizer = load_tokenizer(setting.tokenizer)
    if not _are_its_ids(trace, tokenizer):
        return Excerpts(trace, f"the trace's token ids are not those of {tokenizer.name}")
    return Excerpts(trace, "", tokenizer.decode)


def _are_its_ids(trace: Trace, tokenizer: TextTokenizer) -> bool:
    """Whether the text of some prompts gives their ids again. The trace does not say whose its
    ids are: they may be another model's, or stand for made-up segments."""
    tried = same = 0
    for begin, end in zip(
        trace.prompts.offsets[:_NUM_TRIED].tolist(),
        trace.prompts.offsets[1 : _NUM_TRIED + 1].tolist(),
        strict=False,
    ):
        ids = trace.prompts.flat[begin : min(end, begin + _TOKENS_TRIED)].tolist()
        again = tokenizer.encode(tokenizer.decode(ids)).tolist()
        tried += len(ids)
        same += (Counter(ids) & Counter(again)).total()
    return same >= _ENOUGH_FRAC * tried


def _visible(text: str) -> list[str]:
    """A piece a character; line ends and control characters by signs that can be seen."""
    return [
        c if c.isprintable() else _MARKS.get(c, c.encode("unicode_escape").decode()) for c in text
    ]


def _within(pieces: Iterable[str], most: int) -> list[str]:
    """The first pieces, at most so many characters."""
    kept = list(pieces)
    lengths = accumulate(map(len, kept))
    return [piece for piece, length in zip(kept, lengths, strict=True) if length <= most]

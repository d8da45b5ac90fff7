"""A growing conversation is not tokenised from the beginning at each turn.

`IncrementalTokenizer.encode(text, previous)` takes the longest common prefix of the new text and
the previous one, finds the last place in it where a cut is proved to be exact (text/seams.py has
the conditions, per kind of pre-tokenizer), keeps the tokens before it and tokenises the rest.

**When it equals tokenising the whole.** Let p be the length of the common prefix.

* A cut after an added token that stands at [s, e) of the previous text is used if
  s + margin <= p, where margin is the longest added token plus one: which tokens are split off
  up to e is then decided by characters that both texts share. Holds for every known kind of
  pre-tokenizer (ByteLevel, Split, Metaspace, Whitespace, WhitespaceSplit, BertPreTokenizer,
  Digits, Punctuation, Sequences of them, and none), since each works on one piece at a time.
* A seam between characters b-1 and b is used if b < p: the condition is on these two characters
  alone. ByteLevel and Split: no match of the regex reads a letter and then the space (newline),
  and the space always begins a match. Metaspace: the space begins a piece. Sequence: no stage
  before the parting one joins them.
* Otherwise (unknown kinds, nothing in common, a cut that is not settled) the text is tokenised
  from an earlier cut, at last from its beginning. Nothing is guessed.

The same theorem lets a long text be tokenised in stretches: the number of tokens before each cut
is known without offsets, and a stretch that was seen lately in another place (a system prompt that
moves, a message that is dropped, another session's document) is not tokenised again. All positions
are characters, all counts tokens.
Not thread-safe: one per thread.
"""

from array import array
from collections import OrderedDict
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hitpath.text.tokenizer import TextTokenizer, Tokens

SPACING_CHARS = 512  # between remembered cuts: finer costs calls, coarser costs tokens done twice
KNOWN_CHARS = 16_000_000  # of stretches whose tokens are remembered
TAIL_CHARS = 192  # near the end every cut is remembered: there the next turn departs


class Cut(NamedTuple):
    """A place where the text may be parted: the rest is tokenised from `start`, kept up to `end`.

    `start` = `end` at a seam; [start, end) is the added token else, whose one id is dropped.
    Valid in any text that shares the first `settled` characters.
    """

    start: int
    end: int
    settled: int


@dataclass(frozen=True, slots=True)
class Encoded:
    """A text, its tokens (uint32), and its cuts with the number of tokens before each `end`."""

    text: str
    tokens: Tokens
    cuts: tuple[Cut, ...]
    tokens_before: tuple[int, ...]


class IncrementalTokenizer:
    """Tokenises texts that begin like earlier ones.

    `seen_chars` and `encoded_chars` count what was asked for and what the tokenizer was really
    given; 1 - encoded_chars / seen_chars is the share that was reused.
    """

    def __init__(self, tokenizer: TextTokenizer) -> None:
        self.tokenizer = tokenizer
        self._rules = tokenizer.cuts
        self._known: dict[str, Tokens] = {}
        self._known_chars = 0
        self.seen_chars = 0
        self.encoded_chars = 0

    def encode(self, text: str, previous: Encoded | None = None) -> Encoded:
        """Exactly `tokenizer.encode(text)`, with what the next call needs.

        Raises UnicodeEncodeError for a lone surrogate.
        """
        self.seen_chars += len(text)
        kept = 0 if previous is None else self._num_kept(text, previous)
        if previous is None or kept == 0:
            cuts: tuple[Cut, ...] = ()
            before: tuple[int, ...] = ()
            parts: list[Tokens] = []
            begin = Cut(0, 0, 0)
        else:
            cuts, before = previous.cuts[:kept], previous.tokens_before[:kept]
            parts = [previous.tokens[: before[-1]]]
            begin = cuts[-1]
        new_cuts, new_parts = self._encode_rest(text, begin)
        counts = array("q")
        total = before[-1] if before else 0
        for part in new_parts:
            total += len(part)
            counts.append(total)
        tokens = np.concatenate(parts + new_parts) if parts or new_parts else _NO_TOKENS
        return Encoded(text, tokens, cuts + tuple(new_cuts), before + tuple(counts[:-1]))

    def _num_kept(self, text: str, previous: Encoded) -> int:
        """How many of the previous cuts hold here, by the last that is settled."""
        common = common_prefix(text, previous.text)
        cuts = previous.cuts
        for at in range(len(cuts) - 1, -1, -1):
            if cuts[at].settled <= common:
                return at + 1
        return 0

    def _encode_rest(self, text: str, begin: Cut) -> tuple[list[Cut], list[Tokens]]:
        """The cuts after `begin`, and the tokens of each stretch between them and to the end."""
        cuts = self._find(text, begin.end)
        parts = []
        left = begin
        for cut in [*cuts, Cut(len(text), len(text), 0)]:
            tokens = self._encode_stretch(text[left.start : cut.end])
            parts.append(tokens[1:] if left.end > left.start else tokens)
            left = cut
        return cuts, parts

    def _encode_stretch(self, stretch: str) -> Tokens:
        """Its tokens; those of a stretch that was seen lately, wherever that was, are known."""
        known = self._known.get(stretch)
        if known is not None:
            return known
        tokens = self.tokenizer.encode(stretch)
        self.encoded_chars += len(stretch)
        if len(stretch) <= 4 * SPACING_CHARS:
            if self._known_chars > KNOWN_CHARS:
                self._known.clear()
                self._known_chars = 0
            self._known[stretch] = tokens
            self._known_chars += len(stretch)
        return tokens

    def _find(self, text: str, begin: int) -> list[Cut]:
        """Cuts in (begin, len(text)), about SPACING_CHARS apart, all of them near the end.

        A long piece between added tokens begins with a cut, so that it has the same cuts wherever
        it stands.
        """
        found: list[Cut] = []
        last = begin
        added = self._added(text, begin)
        following = [*(cut.end for cut in added[1:]), len(text)]
        for cut, next_end in zip(added, following, strict=False):
            if (
                cut.end - last >= SPACING_CHARS
                or next_end - cut.end >= SPACING_CHARS
                or cut.end >= len(text) - TAIL_CHARS
            ):
                found += self._seams(text, last, cut.start)
                found.append(cut)
                last = cut.end
        return found + self._seams(text, last, len(text), to_the_end=True)

    def _added(self, text: str, begin: int) -> list[Cut]:
        rules = self._rules
        if rules.added is None:
            return []
        return [
            Cut(match.start(), match.end(), match.start() + rules.margin)
            for match in rules.added.finditer(text, begin)
            if match[0] in rules.plain and match.end() < len(text)
        ]

    def _seams(self, text: str, begin: int, end: int, to_the_end: bool = False) -> list[Cut]:
        """Seams between `begin` and `end`, SPACING_CHARS apart; and the last of the text."""
        seam = self._rules.seam
        if seam is None:
            return []
        found: list[Cut] = []
        position = begin + SPACING_CHARS
        while match := seam.search(text, position, end):
            at = match.end() - 1
            found.append(Cut(at, at, at + 1))
            position = at + SPACING_CHARS
        if to_the_end:
            since = max(found[-1].end if found else begin, end - TAIL_CHARS)
            *_, last = (None, *seam.finditer(text, since, end))
            if last is not None:
                found.append(Cut(last.end() - 1, last.end() - 1, last.end()))
        return found


_NO_TOKENS: Tokens = np.empty(0, dtype=np.uint32)


class TurnTokenizer:
    """Tokenises requests in arrival order; each continues what its session said last.

    A request of a new (or no) session starts from the latest request of any, which often has the
    same system prompt. At most `max_chars` characters of text are remembered, the least recently
    used sessions forgotten first. The tokens do not depend on any of this, only the time does.
    """

    def __init__(self, tokenizer: TextTokenizer, max_chars: int = 64_000_000) -> None:
        self.incremental = IncrementalTokenizer(tokenizer)
        self._max_chars = max_chars
        self._num_chars = 0
        self._last: OrderedDict[str | None, Encoded] = OrderedDict()

    def encode(self, text: str, session: str | None = None) -> Tokens:
        """The tokens of `text`, uint32. Raises UnicodeEncodeError for a lone surrogate."""
        previous = self._last.get(session)
        if previous is None and self._last:
            previous = next(reversed(self._last.values()))
        encoded = self.incremental.encode(text, previous)
        self._remember(session, encoded)
        return encoded.tokens

    def _remember(self, session: str | None, encoded: Encoded) -> None:
        replaced = self._last.pop(session, None)
        self._num_chars += len(encoded.text) - (len(replaced.text) if replaced else 0)
        self._last[session] = encoded
        while self._num_chars > self._max_chars and len(self._last) > 1:
            _, oldest = self._last.popitem(last=False)
            self._num_chars -= len(oldest.text)


def common_prefix(left: str, right: str) -> int:
    """Length of the longest common prefix, in characters."""
    low, high = 0, min(len(left), len(right))
    if left[:high] == right[:high]:
        return high
    while high - low > 1:  # left[:low] equal, left[:high] not
        middle = (low + high) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle
    return low

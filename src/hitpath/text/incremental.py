"""A growing conversation is not tokenised from the beginning at each turn.

`IncrementalTokenizer.encode(text, previous)` takes the longest common prefix of the new text and
the previous one, finds the last place in it where a cut is proved to be exact (text/seams.py has
the conditions, per kind of pre-tokenizer), keeps the tokens before it and tokenises the rest.

**When it equals tokenising the whole.** Let p be the length of the common prefix.

* A cut after an added token t that stands at [s, e) of the previous text is used if
  s + reach(t) <= p, where reach is the length of t, or more where t also stands inside a longer
  token w: then as far as w goes on from there. Which tokens are split off up to e is then decided
  by characters that both texts share: were the first difference a match of a word w at a <= s in
  one text only, w would go beyond p and have t inside, so that it ends at s + reach(t) at most.
  Holds for every known kind of pre-tokenizer (ByteLevel, Split, Metaspace, Whitespace,
  WhitespaceSplit, BertPreTokenizer, Digits, Punctuation, Sequences of them, and none), since each
  works on one piece at a time.
* A seam between characters b-1 and b is used if b < p, the beginning of a paragraph if b + 1 < p:
  the condition is on the characters up to there alone. ByteLevel and Split: no match of the regex
  reads both sides, and one of the two always matches by itself.
  Metaspace: the space begins a piece. Sequence: no stage before the parting one joins them.
* Otherwise (unknown kinds, nothing in common, a cut that is not settled) the text is tokenised
  from an earlier cut, at last from its beginning. Nothing is guessed.

The same theorem lets a long text be tokenised in stretches: the number of tokens before each cut
is known without offsets, and a stretch that was seen lately in another place (a system prompt that
moves, a message that is dropped, another session's document) is not tokenised again. For that
stretches begin and end where the text itself says so (added tokens, paragraphs) before they do at
a fixed distance. All positions are characters, all counts tokens.
Not thread-safe: one per thread.
"""

import re
from collections import OrderedDict
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from hitpath.text.tokenizer import TextTokenizer, Tokens

SPACING_CHARS = 512  # between remembered cuts: finer costs calls, coarser costs tokens done twice
LEAST_CHARS = 128  # of a stretch that is worth a call of its own
KNOWN_CHARS = 16_000_000  # of stretches whose tokens are remembered
TAIL_CHARS = 192  # near the end every cut is remembered: there the next turn departs


Cut = tuple[int, int, int]
"""(start, end, settled): a place where the text may be parted. The rest is tokenised from `start`,
kept up to `end`: they are equal at a seam; [start, end) is the added token else, whose one id is
dropped. Valid in any text that shares the first `settled` characters. Plain, for it is made often.
"""


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
        seam = self._rules.seam
        self._last_seam = None if seam is None else re.compile(f"(?s:.*)(?:{seam.pattern})")
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
            begin = (0, 0, 0)
        else:
            cuts, before = previous.cuts[:kept], previous.tokens_before[:kept]
            parts = [previous.tokens[: before[-1]]]
            begin = cuts[-1]
        new_cuts, new_parts = self._encode_rest(text, begin)
        first = before[-1] if before else 0
        counts = (*accumulate(map(len, new_parts[:-1]), initial=first),)[1:]
        tokens = np.concatenate(parts + new_parts)
        return Encoded(text, tokens, cuts + tuple(new_cuts), before + counts)

    def _num_kept(self, text: str, previous: Encoded) -> int:
        """How many of the previous cuts hold here, by the last one found that is settled."""
        before, cuts = previous.text, previous.cuts
        kept, unknown, shared = 0, len(cuts), 0
        while kept < unknown:  # the first `shared` characters settle cut `kept` - 1
            middle = (kept + unknown) // 2
            settled = cuts[middle][2]
            if settled <= len(before) and text.startswith(before[shared:settled], shared):
                kept, shared = middle + 1, max(shared, settled)
            else:
                unknown = middle
        return kept

    def _encode_rest(self, text: str, begin: Cut) -> tuple[list[Cut], list[Tokens]]:
        """The cuts after `begin`, and the tokens of each stretch between them and to the end."""
        start, end, _ = begin
        cuts = self._find(text, end)
        known, parts = self._known, []
        for next_start, next_end, _ in [*cuts, (0, len(text), 0)]:
            stretch = text[start:next_end]
            tokens = known.get(stretch)  # seen lately, wherever that was
            if tokens is None:
                tokens = self._encode_stretch(stretch)
            parts.append(tokens[1:] if end > start else tokens)
            start, end = next_start, next_end
        return cuts, parts

    def _encode_stretch(self, stretch: str) -> Tokens:
        """Its tokens, which are remembered."""
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
        """Cuts in (begin, len(text)]: added tokens that a long piece stands before or after,
        paragraphs, seams where these are far apart, all added tokens near the end; and the last
        seam.
        """
        found: list[Cut] = []
        last = begin
        added = self._added(text, begin)
        following = [*(start for start, _, _ in added[1:]), len(text)]
        for cut, next_start in zip(added, following, strict=False):
            start, end, _ = cut
            if (
                end - last >= LEAST_CHARS
                or next_start - end >= LEAST_CHARS
                or end >= len(text) - TAIL_CHARS
            ):
                self._add_inside(found, text, last, start)
                found.append(cut)
                last = end
        self._add_inside(found, text, last, len(text))
        self._add_last_seam(found, text, last)
        return found

    def _added(self, text: str, begin: int) -> list[Cut]:
        rules = self._rules
        if rules.added is None:
            return []
        reach, alone = rules.reach, rules.alone
        cuts = []
        for match in rules.added.finditer(text, begin):
            word = match[0]
            if word in reach:
                start, end = match.span()
                cuts.append((end if alone else start, end, start + reach[word]))
        return cuts

    def _add_inside(self, found: list[Cut], text: str, begin: int, end: int) -> None:
        """Paragraphs between `begin` and `end`, and seams where they are far apart."""
        paragraph = self._rules.paragraph
        last = begin
        if paragraph is not None and end - begin > LEAST_CHARS:
            at = text.find("\n\n", begin + LEAST_CHARS - 2, end) + 2  # quicker than the pattern
            while at > 1:
                if paragraph.match(text, at - 2, end):
                    if at - last > SPACING_CHARS:
                        self._add_seams(found, text, last, at)
                    found.append((at, at, at + 2))
                    last = at
                    at += LEAST_CHARS - 1
                at = text.find("\n\n", at - 1, end) + 2
        if end - last > SPACING_CHARS:
            self._add_seams(found, text, last, end)

    def _add_seams(self, found: list[Cut], text: str, begin: int, end: int) -> None:
        """Seams between `begin` and `end`, SPACING_CHARS apart."""
        seam = self._rules.seam
        position = begin + SPACING_CHARS
        while seam is not None and (match := seam.search(text, position, end)):
            at = match.end() - 1
            found.append((at, at, at + 1))
            position = at + SPACING_CHARS

    def _add_last_seam(self, found: list[Cut], text: str, begin: int) -> None:
        """The last seam of the text, near its end and behind all other cuts."""
        if self._last_seam is None:
            return
        since = max(found[-1][1] if found else begin, len(text) - TAIL_CHARS)
        if last := self._last_seam.match(text, since):
            at = last.end() - 1
            found.append((at, at, at + 1))


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

"""What differs between two texts: a patience diff over lines, then over tokens.

Pieces that stand once in both texts are anchors; between two anchors the same is done again. So
time grows with the text, not with its square, and what moved does not drag its surroundings along.
Offsets are characters.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from hitpath.doctor.shapes import KeyedLine, Shape, Token, tokens_of

_MOST_PAIRS = 40_000
"""Pieces of one side times those of the other up to which a gap without anchors is compared."""
_DEPTH = 24
_MOST_CHARS = 400_000
"""Of a stretch without equal lines that is compared token by token."""
_MOST_HUNKS = 1_000
"""Differences of one text beyond which it is another text."""
_MOST_SLID = 200
_LEAST_ALIKE = 0.5
"""Of two stretches: below it one took the other's place as a whole."""


class Hunk(NamedTuple):
    """Characters [there_start, there_stop) of the earlier text gave way to [start, stop) of this
    one. shape: of the one token that was replaced by another of its shape, else None."""

    there_start: int
    there_stop: int
    start: int
    stop: int
    shape: Shape | None = None


Run = tuple[int, int, int]
"""(place in the one sequence, place in the other, length) of what is equal in both."""


def common_length(one: str, other: str) -> int:
    """Leading characters that are the same."""
    most = min(len(one), len(other))
    if one[:most] == other[:most]:
        return most
    low, high = 0, most  # the first `low` are the same, the first `high` are not
    while high - low > 1:
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low


def equal_runs(one: Sequence[object], other: Sequence[object]) -> list[Run]:
    """Stretches of equal members in increasing order, as many as anchors find."""
    found: list[Run] = []
    _match(one, other, 0, len(one), 0, len(other), _DEPTH, found)
    found.sort()
    merged: list[Run] = []
    for a, b, n in found:
        if merged and merged[-1][0] + merged[-1][2] == a and merged[-1][1] + merged[-1][2] == b:
            merged[-1] = (merged[-1][0], merged[-1][1], merged[-1][2] + n)
        elif n:
            merged.append((a, b, n))
    return merged


def _match(
    one: Sequence[object],
    other: Sequence[object],
    a0: int,
    a1: int,
    b0: int,
    b1: int,
    depth: int,
    found: list[Run],
) -> None:
    begin_a, begin_b = a0, b0
    while a0 < a1 and b0 < b1 and one[a0] == other[b0]:
        a0, b0 = a0 + 1, b0 + 1
    found.append((begin_a, begin_b, a0 - begin_a))
    end_a = a1
    while a1 > a0 and b1 > b0 and one[a1 - 1] == other[b1 - 1]:
        a1, b1 = a1 - 1, b1 - 1
    found.append((a1, b1, end_a - a1))
    if a0 == a1 or b0 == b1 or not depth:
        return
    anchors = _anchors(one[a0:a1], other[b0:b1])
    if not anchors:
        if (a1 - a0) * (b1 - b0) <= _MOST_PAIRS:
            matcher = SequenceMatcher(None, one[a0:a1], other[b0:b1], autojunk=False)
            found += [(a0 + a, b0 + b, n) for a, b, n in matcher.get_matching_blocks()]
        return
    last_a, last_b = a0, b0
    for a, b in [*((a0 + a, b0 + b) for a, b in anchors), (a1, b1)]:
        _match(one, other, last_a, a, last_b, b, depth - 1, found)
        if a < a1:
            found.append((a, b, 1))
        last_a, last_b = a + 1, b + 1


def _anchors(one: Sequence[object], other: Sequence[object]) -> list[tuple[int, int]]:
    """Members that stand once in both, the most of them that stand in the same order."""
    places = _once(other)
    pairs = [(a, places[x]) for x, a in _once(one).items() if x in places]
    pairs.sort()
    tails: list[int] = []
    tail_at: list[int] = []
    before: list[int] = []
    for number, (_, b) in enumerate(pairs):
        at = bisect_left(tails, b)
        before.append(tail_at[at - 1] if at else -1)
        if at == len(tails):
            tails.append(b)
            tail_at.append(number)
        else:
            tails[at], tail_at[at] = b, number
    chain: list[tuple[int, int]] = []
    number = tail_at[-1] if tail_at else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]


def _once(members: Sequence[object]) -> dict[object, int]:
    """Members that stand there once, with their place."""
    places: dict[object, int] = {}
    for at, member in enumerate(members):
        places[member] = -1 if member in places else at
    return {member: at for member, at in places.items() if at >= 0}


def hunks_of(there: str, here: str) -> list[Hunk]:
    """All differences, in order. Tokens that a diff pairs (two clocks) are a hunk of their own."""
    if there == here:
        return []
    lines, others = there.splitlines(keepends=True), here.splitlines(keepends=True)
    hunks: list[Hunk] = []
    starts, other_starts = _starts(lines), _starts(others)
    last_a = last_b = 0
    runs = equal_runs(list(map(KeyedLine, lines)), list(map(KeyedLine, others)))
    for a, b, n in [*runs, (len(lines), len(others), 0)]:
        gaps = [(last_a, a, last_b, b)] if a > last_a or b > last_b else []
        gaps += [(a + k, a + k + 1, b + k, b + k + 1) for k in range(n)]
        for a0, a1, b0, b1 in gaps:
            old, new = there[starts[a0] : starts[a1]], here[other_starts[b0] : other_starts[b1]]
            if old != new:
                hunks += _in_tokens(old, new, starts[a0], other_starts[b0])
        last_a, last_b = a + n, b + n
    if len(hunks) > _MOST_HUNKS:
        first, last = hunks[0], hunks[-1]
        return [Hunk(first.there_start, last.there_stop, first.start, last.stop)]
    return _at_lines(_with_their_space(hunks, there, here), there, here)


def _with_their_space(hunks: list[Hunk], there: str, here: str) -> list[Hunk]:
    """The line end before or behind a line that came or went is part of it."""
    joined: list[Hunk] = []
    for hunk in hunks:
        last = joined[-1] if joined else None
        if last is not None and last.stop == hunk.start and last.there_stop == hunk.there_start:
            sides = {_one_side(last), _one_side(hunk)}
            texts = [
                there[h.there_start : h.there_stop] + here[h.start : h.stop] for h in (last, hunk)
            ]
            if len(sides) == 1 and None not in sides and not all(text.strip() for text in texts):
                joined[-1] = Hunk(last.there_start, hunk.there_stop, last.start, hunk.stop)
                continue
        joined.append(hunk)
    return joined


def _one_side(hunk: Hunk) -> str | None:
    """On which side alone something stands, if it is on one."""
    if hunk.start == hunk.stop:
        return "there"
    return "here" if hunk.there_start == hunk.there_stop else None


def _at_lines(hunks: list[Hunk], there: str, here: str) -> list[Hunk]:
    """What came or went may often be cut in several ways: `<a>1</a>\\n<` is `<a>1</a>\\n` too. It
    begins with a line where it can."""
    placed: list[Hunk] = []
    for hunk in hunks:
        side = _one_side(hunk)
        text, start, stop = (
            (here, hunk.start, hunk.stop)
            if side == "here"
            else (there, hunk.there_start, hunk.there_stop)
        )
        least = placed[-1] if placed else Hunk(0, 0, 0, 0)
        most = min(hunk.start - least.stop, hunk.there_start - least.there_stop, _MOST_SLID)
        by = 0
        while by < most and text[start - by - 1] == text[stop - by - 1]:
            if start == by or text[start - by - 1] == "\n":
                break
            by += 1
        if side and by and (start == by or text[start - by - 1] == "\n"):
            hunk = Hunk(hunk[0] - by, hunk[1] - by, hunk[2] - by, hunk[3] - by, hunk.shape)
        placed.append(hunk)
    return placed


def _starts(lines: list[str]) -> list[int]:
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    return starts


def _in_tokens(there: str, here: str, there_at: int, at: int) -> list[Hunk]:
    """The same of two stretches, token by token."""
    head = common_length(there, here)
    if max(len(there), len(here)) > _MOST_CHARS:
        start, stop = _changed_stretch(there, here, head)
        if max(len(there), len(here)) - start - stop <= _MOST_CHARS and start + stop:
            old, new = (text[start : len(text) - stop] for text in (there, here))
            return _in_tokens(old, new, there_at + start, at + start)
    if max(len(there), len(here)) - head > _MOST_CHARS:
        return [Hunk(there_at + head, there_at + len(there), at + head, at + len(here))]
    one, other = tokens_of(there), tokens_of(here)
    runs = equal_runs([token.key for token in one], [token.key for token in other])
    found: list[Hunk] = []
    last_a = last_b = 0
    for a, b, n in [*runs, (len(one), len(other), 0)]:
        if a > last_a or b > last_b:
            found.append(_hunk(one, other, (last_a, a), (last_b, b), there, here))
        for k in range(n):
            if one[a + k].text != other[b + k].text:
                span = ((a + k, a + k + 1), (b + k, b + k + 1))
                found.append(
                    _hunk(one, other, *span, there, here)._replace(shape=other[b + k].shape)
                )
        last_a, last_b = a + n, b + n
    if len(found) > 2 and _likeness(one, other, runs) < _LEAST_ALIKE:
        first, last = found[0], found[-1]
        found = [Hunk(first.there_start, last.there_stop, first.start, last.stop)]
    apart = [part for hunk in _touching(found) for part in _spaces_within(hunk, there, here)]
    joined = _joined(apart)
    return [Hunk(h[0] + there_at, h[1] + there_at, h[2] + at, h[3] + at, h.shape) for h in joined]


def _changed_stretch(there: str, here: str, head: int) -> tuple[int, int]:
    """(characters before, behind) what differs between two long texts, but for some around it."""
    most = min(len(there), len(here)) - head
    tail = common_length(there[len(there) - most :][::-1], here[len(here) - most :][::-1])
    return max(0, here.rfind(" ", 0, max(0, head - _WORDS_AROUND)) + 1), max(
        0, tail - _WORDS_AROUND
    )


_WORDS_AROUND = 240


def _hunk(
    one: list[Token],
    other: list[Token],
    of_one: tuple[int, int],
    of_other: tuple[int, int],
    there: str,
    here: str,
) -> Hunk:
    def at(tokens: list[Token], number: int, text: str) -> int:
        return tokens[number].start if number < len(tokens) else len(text)

    return Hunk(
        at(one, of_one[0], there),
        at(one, of_one[1], there),
        at(other, of_other[0], here),
        at(other, of_other[1], here),
    )


def _joined(hunks: list[Hunk]) -> list[Hunk]:
    """Differences with little between them that is equal are one: a sentence that was replaced by
    another shares some of its words by chance. Replaced tokens of one shape stay by themselves."""
    joined: list[Hunk] = []
    for hunk in hunks:
        last = joined[-1] if joined else None
        if last is not None and last.shape is None and hunk.shape is None:
            between = hunk.start - last.stop
            sizes = (_size(last), _size(hunk))
            if between and between < min(sizes) and between <= 24:
                joined[-1] = Hunk(last.there_start, hunk.there_stop, last.start, hunk.stop)
                continue
        joined.append(hunk)
    return joined


def _touching(hunks: list[Hunk]) -> Iterator[list[Hunk]]:
    """Hunks with nothing between them, together."""
    row: list[Hunk] = []
    for hunk in hunks:
        if row and (hunk.start > row[-1].stop or hunk.there_start > row[-1].there_stop):
            yield row
            row = []
        row.append(hunk)
    if row:
        yield row


def _spaces_within(row: list[Hunk], there: str, here: str) -> list[Hunk]:
    """Of two stretches that are the same but for white space (`0.5, 0.25` and `0.5,0.25`, which
    looks like one number) the white space that differs; any other hunks as they are."""
    hunk = Hunk(row[0].there_start, row[-1].there_stop, row[0].start, row[-1].stop)
    old, new = there[hunk.there_start : hunk.there_stop], here[hunk.start : hunk.stop]
    words, others = old.split(), new.split()
    is_number = len(row) == 1 and row[0].shape is not None  # `1 000`
    if is_number or not (words and others) or "".join(words) != "".join(others):
        return row
    found: list[Hunk] = []
    a = b = 0
    while a < len(old) or b < len(new):
        blank, other = _BLANKS.match(old, a), _BLANKS.match(new, b)
        assert blank is not None
        assert other is not None
        if blank[0] != other[0]:
            found.append(
                Hunk(
                    hunk.there_start + a,
                    hunk.there_start + blank.end(),
                    hunk.start + b,
                    hunk.start + other.end(),
                )
            )
        a, b = blank.end(), other.end()
        while a < len(old) and b < len(new) and not (old[a].isspace() or new[b].isspace()):
            a, b = a + 1, b + 1
    return found


_BLANKS = re.compile(r"\s*")


def _likeness(one: list[Token], other: list[Token], runs: list[Run]) -> float:
    """Characters in tokens that were paired, over those of the longer text; spaces left out."""
    paired = sum(len(token.text) for _, b, n in runs for token in other[b : b + n]
                 if token.shape not in ("space", "mark"))  # fmt: skip
    sizes = [
        sum(len(t.text) for t in tokens if t.shape not in ("space", "mark"))
        for tokens in (one, other)
    ]
    return paired / max(*sizes, 1)


def _size(hunk: Hunk) -> int:
    return max(hunk.stop - hunk.start, hunk.there_stop - hunk.there_start)

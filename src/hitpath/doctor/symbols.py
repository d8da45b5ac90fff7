"""Prompts of which only token or block ids are known: what their runs tell.

Runs that both have are found by anchors (stretches of ids that stand once in each). What is
dropped, put in, replaced or moved shows; what it says does not: clocks and tool orders are no kinds
here.
"""

import re
from bisect import bisect_right
from dataclasses import replace

import numpy as np

from hitpath.doctor._shared_runs import shared_runs
from hitpath.doctor.change import Change, Comparison, Kind, NewAt
from hitpath.doctor.flat import flat_prompt
from hitpath.doctor.prompt import Prompt
from hitpath.doctor.replies import Decode
from hitpath.doctor.textdiff import Run, common_length
from hitpath.traces.table import Symbols

_SMALL = 64
_MOST_WEIGHED = 256
"""Runs between which is looked at what gave way to what: each against all before it."""
_PATH = "tokens"
_MOVED = 0.75
_SINKS = 8
"""Ids that a window keeps at the beginning, so that attention has somewhere to go."""
_LINE = re.compile(r"\n+")


def compare_symbols(
    there: Symbols, here: Symbols, same_session: bool, decode: Decode | None = None
) -> Comparison:
    """Every difference that ids can tell, between sessions too. Offsets are ids. decode: where the
    text of ids is known."""
    common = common_of(there, here)
    if common == len(here) or common == len(there):
        return Comparison((), ((0, common),), NewAt(_PATH, "", common, common))
    runs = [(0, 0, common), *shared_runs(there, here, common)]
    kept = tuple((b, b + n) for _, b, n in sorted(runs, key=lambda run: run[1]) if n)
    changes: list[Change] = []
    end_there, end_here = 0, 0
    chain = _increasing(runs)
    behind = [run for run in runs if run[1] >= chain[-1][1] + chain[-1][2]]
    for a, b, n in [*chain, (len(there), len(here), 0)]:
        removed, added = a - end_there, b - end_here
        is_tail = n == 0 and b == len(here)
        is_last_now = not added and _stand_in(behind, end_there, a)
        if removed and not added and not is_last_now and _stand_in(runs, end_there, a):
            removed = 0  # the other side of a move
        if (removed or added) and not is_tail:
            kind = _kind(there, here, end_here, removed, added, kept)
            kind = "moved_block" if is_last_now else kind
            if not same_session and (
                kind not in ("edited_message", "moved_block")
                or n < _SMALL
                or max(removed, added) > _SMALL
            ):
                end_there, end_here = a + n, b + n
                continue  # what two sessions said: only their instructions should be one
            if kind == "truncated_history" or (kind == "position_shift" and decode is not None):
                is_cut = _cuts_a_text(there, here, end_there, a, decode)
                kind = "position_shift" if is_cut else "truncated_history"
            changes.append(Change(kind, _PATH, "", end_here, end_here, b))
        end_there, end_here = a + n, b + n
    tail = max((b + n for _, b, n in runs), default=common)
    new_at = NewAt(_PATH, "", tail, tail) if tail < len(here) else None
    return Comparison(tuple(changes), kept, new_at)


def in_symbols(found: Comparison, here: Prompt, common: int, num_symbols: int) -> Comparison:
    """A comparison in bytes of our own rendering, in tokens of the engine's: exact at the first
    difference, in proportion behind it."""
    first = min((change.offset for change in found.changes), default=None)
    if first is None:
        at = found.new_at.start if found.new_at is not None else len(here.rendered)
        first = at
    rest_bytes = max(len(here.rendered) - first, 1)
    rest = max(num_symbols - common, 0)

    def at_symbol(offset: int) -> int:
        if offset <= first:
            return min(common, round(offset * common / max(first, 1)))
        return min(num_symbols, common + round((offset - first) * rest / rest_bytes))

    changes = tuple(
        replace(
            change,
            start=at_symbol(change.start),
            stop=at_symbol(change.stop),
            at=at_symbol(change.offset),
        )
        for change in found.changes
    )
    kept = tuple((at_symbol(start), at_symbol(stop)) for start, stop in found.kept)
    new_at = found.new_at
    if new_at is not None:
        new_at = replace(new_at, start=at_symbol(new_at.start))
    return Comparison(changes, kept, new_at)


def common_of(there: Symbols, here: Symbols) -> int:
    """Leading symbols that both have."""
    most = min(len(there), len(here))
    differing = np.flatnonzero(there[:most] != here[:most])
    return int(differing[0]) if len(differing) else most


def _increasing(runs: list[Run]) -> list[Run]:
    """The runs that stand in one order on both sides, as long as may be: the rest has moved. Where
    something gave way to something else between two of them, that speaks against them: a phrase may
    be said again in new text."""
    order = sorted(runs, key=lambda run: run[1])
    if len(order) > _MOST_WEIGHED:
        return _longest_chain(order)
    best: list[int] = []
    before: list[int] = []
    for i, (a, b, n) in enumerate(order):
        most, chosen = 0, -1
        for j in range(i):
            removed = a - order[j][0] - order[j][2]
            if removed >= 0:
                added = b - order[j][1] - order[j][2]
                score = best[j] - max(0, min(removed, added)) // 2
                if score > most:
                    most, chosen = score, j
        best.append(n + most)
        before.append(chosen)
    if not order:
        return []
    at = max(range(len(order)), key=lambda i: best[i])
    chain: list[Run] = []
    while at >= 0:
        chain.append(order[at])
        at = before[at]
    return chain[::-1]


def _longest_chain(order: list[Run]) -> list[Run]:
    """Of very many runs, in their order here, the chain with most symbols, whatever lies between:
    a tree of maxima over where runs end there (Fenwick)."""
    ends = sorted({a + n for a, _, n in order})
    tree = [(0, -1)] * (len(ends) + 1)  # of each node the most symbols, and the run that ends it
    before: list[int] = []
    top = (0, -1)
    for i, (a, _, n) in enumerate(order):
        at, best = bisect_right(ends, a), (0, -1)
        while at:
            best = max(best, tree[at])
            at -= at & -at
        before.append(best[1])
        here = (best[0] + n, i)
        top = max(top, here)
        at = bisect_right(ends, a + n)
        while at < len(tree):
            tree[at] = max(tree[at], here)
            at += at & -at
    chain: list[Run] = []
    number = top[1]
    while number >= 0:
        chain.append(order[number])
        number = before[number]
    return chain[::-1]


def _stand_in(runs: list[Run], start: int, stop: int) -> bool:
    """Whether most of what is gone from here are these runs: not some of its words, said again."""
    found = sum(max(0, min(a + n, stop) - max(a, start)) for a, _, n in runs)
    return found > _MOVED * (stop - start)


def shared_symbols(there: Symbols, here: Symbols) -> int:
    """How many symbols stand in runs that both have, wherever."""
    common = common_of(there, here)
    return common + sum(n for _, _, n in shared_runs(there, here, common))


def _cuts_a_text(
    there: Symbols, here: Symbols, start: int, stop: int, decode: Decode | None
) -> bool:
    """Whether what is gone begins or ends within a message, as a window cuts and a client does
    not. Without text only the few ids that a window keeps at the beginning tell."""
    if decode is None:
        return start <= _SINKS
    text = decode(there.tolist())
    first, last = (len(decode(there[:at].tolist())) for at in (start, stop))
    # What stands before both ends may be alike, so that the gap may lie a little before.
    back = common_length(text[:first][::-1], text[:last][::-1])
    begins, size = _beginnings(text, decode(here.tolist())), last - first
    return not any(at in begins and at + size in begins for at in range(first - back, first + 1))


def _beginnings(text: str, later: str) -> set[int]:
    """Where the messages of a text begin and end; where neither it nor the later one shows any, its
    lines."""
    both = flat_prompt(text + later, _PATH)
    if both.is_flat:
        found = {match.end() for match in _LINE.finditer(text)}
    else:
        found = {both.parts[message.begin].base for message in both.messages}
    return found | {0, len(text)}


def _kind(
    there: Symbols,
    here: Symbols,
    b: int,
    removed: int,
    added: int,
    kept: tuple[tuple[int, int], ...],
) -> Kind:
    """What happened between two runs."""
    moved = any(start >= b and stop <= b + added for start, stop in kept)
    if moved:
        return "moved_block"
    if removed and not added:
        if b == 0 or abs(len(there) - len(here)) <= max(_SMALL, len(here) // 50):
            return "position_shift"
        return "truncated_history"
    if removed > 4 * added and removed - added > _SMALL:
        return "compacted_history"
    return "edited_message"

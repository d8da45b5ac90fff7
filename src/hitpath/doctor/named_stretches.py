"""Differences of prompts that are written as named stretches (`segments`): by number and name."""

from bisect import bisect_right
from dataclasses import replace
from itertools import accumulate

from hitpath.doctor.change import Comparison
from hitpath.doctor.prompt import SYSTEM, TOOLS
from hitpath.doctor.textdiff import equal_runs

Named = list[tuple[str, int]]
"""(name, number of tokens) of each stretch of a prompt, in order."""
_MOST_CHARS = 200


def with_names(found: Comparison, there: Named, here: Named) -> Comparison:
    """A comparison in tokens with the stretches that its places are in: `segments[2]`, offsets
    counted from the beginning of each; what is told of them are their names. Whole stretches that
    are gone were dropped: a window does not end where they do."""
    starts = [*accumulate((size for _, size in here), initial=0)]
    gone = _gave_way(there, here, starts)

    def place(offset: int) -> tuple[str, str, int]:
        number = min(bisect_right(starts, offset) - 1, len(here) - 1)
        name = here[number][0]
        segment = name if name in (SYSTEM, TOOLS) else ""
        return f"segments[{number}]", segment, offset - starts[number]

    changes = []
    for change in found.changes:
        path, segment, offset = place(change.start)
        is_dropped = change.kind == "position_shift" and not offset and change.start in gone
        last = bisect_right(starts, max(change.start, change.stop - 1)) - 1
        now = here[bisect_right(starts, change.start) - 1 : last + 1]
        came = [name for name, _ in now] if change.stop > change.start else []
        went = gone.get(change.start, [])
        changes.append(
            replace(
                change,
                kind="truncated_history" if is_dropped else change.kind,
                json_path=path,
                segment=segment,
                char_offset=offset,
                there=", ".join(went)[:_MOST_CHARS],
                here=", ".join(came)[:_MOST_CHARS],
                detail=f"{len(went):,} stretches gave way to {len(came):,}",
            )
        )
    new_at = found.new_at
    if new_at is not None and here:
        path, segment, offset = place(new_at.start)
        new_at = replace(new_at, json_path=path, segment=segment, char_offset=offset)
    return Comparison(tuple(changes), found.kept, new_at)


def _gave_way(there: Named, here: Named, starts: list[int]) -> dict[int, list[str]]:
    """The names of what the relative has and this prompt has not, by the token where it stood."""
    gone: dict[int, list[str]] = {}
    last_a = last_b = 0
    for a, b, n in [*equal_runs(there, here), (len(there), len(here), 0)]:
        if a > last_a:
            gone[starts[last_b]] = [name for name, _ in there[last_a:a]]
        last_a, last_b = a + n, b + n
    return gone

"""Tables that sort and filter, and the rows that were left out."""

from collections.abc import Mapping, Sequence
from itertools import accumulate

from hitpath.accounting.rates import Group, ratio
from hitpath.report.html import sentences_sharing as sentences
from hitpath.report.html.view import GroupRow, GroupTable, Problems, Table
from hitpath.report.html.words import Unit, pct, printable, script_json
from hitpath.report.text_parts import count
from hitpath.traces.problems import Skipped
from hitpath.traces.table import Trace

MOST_ROWS = 10_000
MOST_DATA_BYTES = 600_000
"""Of one table; with five of them and the tree a page stays under 6 MB, whatever the names."""
NUM_STATIC_ROWS = 100
_MOST_LISTED = 100
_TITLES = {
    "tenant": "By tenant",
    "session": "By session",
    "model": "By model",
    "worker": "By worker",
    "turn": "By turn of the session",
}


def group_tables(groups: Mapping[str, Sequence[Group]], unit: Unit) -> tuple[GroupTable, ...]:
    """Tables of more than one group; turns in their order, others by prompt tokens."""
    return tuple(
        _group_table(kind, title, groups[kind], unit)
        for kind, title in _TITLES.items()
        if len(groups[kind]) > (0 if kind == "turn" else 1)
    )


def _group_table(kind: str, title: str, groups: Sequence[Group], unit: Unit) -> GroupTable:
    known = any(group.possible_tokens is not None for group in groups)
    columns = ("requests", f"prompt {unit.many}", f"hit {unit.many}", "hit rate")
    rows = [
        script_json(
            [
                printable(group.name),
                group.num_requests,
                group.prompt_tokens,
                group.hit_tokens,
                group.possible_tokens,
            ]
        )
        for group in groups[:MOST_ROWS]
    ]
    sizes = accumulate(len(row.encode()) + 1 for row in rows)
    rows = [row for row, size in zip(rows, sizes, strict=True) if size <= MOST_DATA_BYTES]
    return GroupTable(
        kind,
        title,
        sentences.groups(kind, groups, unit),
        (kind, *columns, *(("possible", "missed") if known else ())),
        tuple(_group_row(group, known) for group in groups[: min(NUM_STATIC_ROWS, len(rows))]),
        f"[{','.join(rows)}]",
        len(groups) - len(rows),
    )


def _group_row(group: Group, known: bool) -> GroupRow:
    possible = ratio(group.possible_tokens, group.prompt_tokens)
    rate = group.hit_rate
    numbers = (group.num_requests, group.prompt_tokens, group.hit_tokens)
    more = (pct(possible), count(group.lost_tokens)) if known else ()
    return GroupRow(
        printable(group.name),
        (*map(count, numbers), pct(rate), *more),
        100 * min(1.0, rate or 0.0),
        100 * min(1.0, possible or 0.0),
    )


def problems(trace: Trace) -> tuple[Problems, ...]:
    """Rows that could not be read, and rows that contradict themselves."""
    lists = (
        ("Skipped rows", trace.skipped),
        ("Excluded rows", Skipped(trace.excluded.values())),
    )
    return tuple(
        Problems(
            f"{title}: {count(found.num)}",
            Table(
                title,
                ("row<", "field<", "cause<"),
                tuple(
                    (printable(p.place), printable(p.field), printable(p.cause))
                    for p in found[:_MOST_LISTED]
                ),
            ),
            max(0, found.num - _MOST_LISTED),
        )
        for title, found in lists
        if found
    )

"""The page's second half: prefix tree, origin of hits, tables by label, rows left out."""

import json

from hitpath.accounting.rates import Group, ratio
from hitpath.report.document import MOST_GROUPS
from hitpath.report.html import sentences
from hitpath.report.html.charts import stacked
from hitpath.report.html.tree import PrefixTree
from hitpath.report.html.view import (
    GroupRow,
    GroupTable,
    Part,
    Problems,
    Sharing,
    Table,
    TreeView,
)
from hitpath.report.html.words import pct, printable
from hitpath.report.text_parts import count
from hitpath.summary import Analysis

_MOST_LISTED = 100
_NO_TREE = "the analysis did not keep the prefix tree"
_TITLES = {
    "tenant": "By tenant",
    "session": "By session",
    "model": "By model",
    "worker": "By worker",
    "turn": "By turn of the session",
}


def tree_view(analysis: Analysis, tree: PrefixTree | None) -> TreeView:
    """The icicle's data and the biggest shared stretches as a table."""
    total = analysis.ledger.total(analysis.ledger.prompt) - analysis.held_once_tokens
    first = analysis.prefixes[0] if analysis.prefixes else None
    note = sentences.tree(
        None
        if first is None
        else sentences.StretchFacts(
            first.begin_token,
            first.end_token,
            first.num_requests,
            ratio(first.reusable_tokens, total),
            first.first_request,
        )
    )
    rows = tuple(
        (
            f"{count(p.begin_token)} to {count(p.end_token)}",
            count(p.num_requests),
            count(p.reusable_tokens),
            pct(ratio(p.reusable_tokens, total)),
            printable(p.first_request),
        )
        for p in analysis.prefixes
    )
    columns = (
        "prompt tokens<",
        "requests",
        "reusable tokens",
        "share of reuse",
        "first in request<",
    )
    table = Table("The biggest shared stretches", columns, rows) if rows else None
    if tree is None:
        return TreeView(note, "", _NO_TREE, "", table)
    return TreeView(note, _tree_json(tree), "", _foot(analysis, tree), table)


def _foot(analysis: Analysis, tree: PrefixTree) -> str:
    drawn = sum(1 for node in tree.nodes if node.tokens and not node.num_merged)
    foot = f"{count(drawn)} of {count(tree.num_stretches)} stretches are drawn; "
    foot += "smaller ones are summed up as “others”."
    without = analysis.ledger.total(analysis.ledger.prompt) - tree.nodes[0].area
    if without:
        foot += f" {count(without)} prompt tokens have no ids in the trace and are not drawn."
    return foot


def _tree_json(tree: PrefixTree) -> str:
    """Safe inside <script>: no `<`, `>` or `&` is left in it."""
    nodes = [
        [n.parent, n.name, n.begin_token, n.tokens, n.num_requests, n.own_area, n.own_hit, n.area,
         n.num_merged, n.first_request]
        for n in tree.nodes
    ]  # fmt: skip
    text = json.dumps(nodes, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def sharing_view(analysis: Analysis) -> Sharing:
    """Hits by origin, and the sharing factor."""
    prompt, once = analysis.ledger.total(analysis.ledger.prompt), analysis.held_once_tokens
    factor = ratio(prompt, once)
    held = (
        f"KV of every prompt is {count(prompt)} tokens if each request holds its own, "
        f"{count(once)} held once"
    )
    held += "." if factor is None else f": sharing factor {factor:.2f}."
    origin = analysis.origin
    if origin is None:
        return Sharing(None, (), analysis.no_origin_why, held)
    other = "other session" if origin.other_tenant is None else "other session of the tenant"
    named = [("o1", "same session", origin.same_session), ("o2", other, origin.other_session)]
    if origin.other_tenant is not None:
        named.append(("o3", "other tenant", origin.other_tenant))
    if origin.no_session:
        named.append(("o4", "request without a session", origin.no_session))
    values = [value for _, _, value in named]
    parts = tuple(
        Part(css, name, count(value), pct(ratio(value, sum(values))), left, width)
        for (css, name, value), (left, width) in zip(named, stacked(values), strict=True)
    )
    note = sentences.origin(
        origin.same_session, origin.other_session, origin.other_tenant, origin.no_session
    )
    return Sharing(note, parts, "", held)


def group_tables(analysis: Analysis) -> tuple[GroupTable, ...]:
    """Tables of more than one group; turns in their order, others by prompt tokens."""
    return tuple(
        GroupTable(
            kind,
            title,
            sentences.groups(kind, analysis.groups[kind]),
            tuple(
                _group_row(group, i) for i, group in enumerate(analysis.groups[kind][:MOST_GROUPS])
            ),
            max(0, len(analysis.groups[kind]) - MOST_GROUPS),
        )
        for kind, title in _TITLES.items()
        if len(analysis.groups[kind]) > (0 if kind == "turn" else 1)
    )


def _group_row(group: Group, place: int) -> GroupRow:
    possible = ratio(group.possible_tokens, group.prompt_tokens)
    rate = group.hit_rate
    missed = group.lost_tokens
    numbers = (group.num_requests, group.prompt_tokens, group.hit_tokens)
    return GroupRow(
        printable(group.name),
        (*map(count, numbers), pct(rate), pct(possible), count(missed)),
        (place, *numbers, _or_less(rate), _or_less(possible), -1 if missed is None else missed),
        100 * min(1.0, rate or 0.0),
        100 * min(1.0, possible or 0.0),
    )


def _or_less(rate: float | None) -> float:
    return -1.0 if rate is None else round(rate, 6)


def problems(analysis: Analysis) -> tuple[Problems, ...]:
    """Rows that could not be read, and rows that contradict themselves."""
    lists = (
        ("Skipped rows", list(analysis.trace.skipped)),
        ("Excluded rows", list(analysis.trace.excluded.values())),
    )
    return tuple(
        Problems(
            f"{title}: {count(len(found))}",
            Table(
                title,
                ("row<", "field<", "cause<"),
                tuple(
                    (printable(p.place), printable(p.field), printable(p.cause))
                    for p in found[:_MOST_LISTED]
                ),
            ),
            max(0, len(found) - _MOST_LISTED),
        )
        for title, found in lists
        if found
    )

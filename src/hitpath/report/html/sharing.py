"""What prompts have in common: the prefix tree, and the origin of hits."""

import numpy as np

from hitpath.accounting.rates import ratio
from hitpath.report.html import sentences_sharing as sentences
from hitpath.report.html.charts import stacked
from hitpath.report.html.excerpts import Excerpts
from hitpath.report.html.sentences import Note, if_enough
from hitpath.report.html.tree import PrefixTree
from hitpath.report.html.view import Part, Sharing, Table, TreeView
from hitpath.report.html.words import Unit, pct, printable, script_json, unit_of
from hitpath.report.text_parts import count
from hitpath.sim.owners import SharedPairs
from hitpath.sim.reuse import SharedPrefix
from hitpath.summary import Analysis

_MOST_PAIRS = 12


def tree_note(analysis: Analysis) -> Note:
    """What most reuse hangs on."""
    unit = unit_of(analysis.trace)
    if not analysis.prefixes:
        return sentences.tree(None, unit)
    first = analysis.prefixes[0]
    return sentences.tree(
        sentences.StretchFacts(
            first.begin_token,
            first.end_token,
            first.num_requests,
            ratio(first.reusable_tokens, _reused(analysis)),
            first.first_request,
        ),
        unit,
    )


def _reused(analysis: Analysis) -> int:
    """Prompt tokens that an unlimited cache reuses."""
    return analysis.ledger.total(analysis.ledger.prompt) - analysis.held_once_tokens


def tree_view(analysis: Analysis, tree: PrefixTree, excerpts: Excerpts) -> TreeView:
    """The icicle's data and the biggest shared stretches as a table, with their text if allowed."""
    total, unit = _reused(analysis), unit_of(analysis.trace)

    def text_of(prefix: SharedPrefix) -> str:
        row = analysis.trace.ids.index(prefix.first_request)
        return excerpts.of(row, prefix.begin_token, prefix.end_token - prefix.begin_token)

    rows = tuple(
        (
            f"{count(p.begin_token)} to {count(p.end_token)}",
            count(p.num_requests),
            count(p.reusable_tokens),
            pct(ratio(p.reusable_tokens, total)),
            printable(p.first_request),
            *([] if excerpts.why_not else [text_of(p)]),
        )
        for p in analysis.prefixes
    )
    columns = (
        f"prompt {unit.many}<",
        "requests",
        f"reusable {unit.many}",
        "share of reuse",
        "first in request<",
        *([] if excerpts.why_not else ["text, as first seen<"]),
    )
    table = Table("The biggest shared stretches", columns, rows) if rows else None
    text = f"The text of a stretch is not shown: {excerpts.why_not}."
    if not excerpts.why_not:
        text = "With each stretch stands its text: beginning and end, as first seen."
    return TreeView(
        tree_note(analysis), _tree_json(tree, excerpts), _foot(analysis, tree), text, table
    )


def _foot(analysis: Analysis, tree: PrefixTree) -> str:
    drawn = sum(1 for node in tree.nodes if node.tokens and not node.num_merged)
    foot = f"{count(drawn)} of {count(tree.num_stretches)} stretches are drawn; "
    foot += "smaller ones are summed up as “others”."
    without = analysis.ledger.total(analysis.ledger.prompt) - tree.nodes[0].area
    if without:
        unit = unit_of(analysis.trace)
        foot += f" {count(without)} prompt {unit.many} have no ids in the trace and are not drawn."
    return foot


def _tree_json(tree: PrefixTree, excerpts: Excerpts) -> str:
    """One array a node; the order of its fields is that of `fields` in page.js."""
    return script_json([
        [n.parent, n.name, n.begin_token, n.tokens, n.num_requests, n.own_area, n.own_hit, n.area,
         n.num_merged, n.first_request,
         excerpts.of(n.first_row, n.begin_token, n.tokens) if n.first_row >= 0 else ""]
        for n in tree.nodes
    ])  # fmt: skip


def sharing_view(analysis: Analysis) -> Sharing:
    """Hits by origin, and the sharing factor."""
    prompt, once = analysis.ledger.total(analysis.ledger.prompt), analysis.held_once_tokens
    factor = ratio(prompt, once)
    unit = unit_of(analysis.trace)
    held = (
        f"KV of {count(prompt)} {unit.size} where each request holds its own, of {count(once)} "
        "where it is held once"
    )
    held += "." if factor is None else f": sharing factor {factor:.2f}."
    origin = analysis.origin
    pairs = analysis.pairs if analysis.pairs is not None and analysis.pairs.pairs else None
    table = None if pairs is None else _pairs_table(pairs, unit)
    num_requests = int(np.count_nonzero(analysis.ledger.counted))
    pairs_note = None if pairs is None else if_enough(sentences.pairs(pairs, unit), num_requests)
    if origin is None:
        return Sharing(None, (), analysis.no_origin_why, held, table, pairs_note)
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
    return Sharing(if_enough(note, num_requests), parts, "", held, table, pairs_note)


def _pairs_table(found: SharedPairs, unit: Unit) -> Table:
    """The largest pairs, and the rest in one row, so that the column adds up."""
    total = sum(pair.hit_tokens for pair in found.pairs) + found.unnamed_tokens
    shown, rest = found.pairs[:_MOST_PAIRS], found.pairs[_MOST_PAIRS:]
    rows = [
        (
            printable(pair.name),
            "itself" if pair.name == pair.brought_by else printable(pair.brought_by),
            count(pair.num_requests),
            count(pair.hit_tokens),
            pct(ratio(pair.hit_tokens, total)),
        )
        for pair in shown
    ]
    for name, tokens in (
        (f"{len(rest):,} more pairs", sum(pair.hit_tokens for pair in rest)),
        (f"no {found.label} named", found.unnamed_tokens),
    ):
        if tokens:
            rows.append((name, "", "", count(tokens), pct(ratio(tokens, total))))
    first = "hit what was first computed by<"
    columns = (f"{found.label}<", first, "requests", unit.many, "share")
    return Table(f"Hit {unit.many} by who had first computed them", columns, tuple(rows))

"""The terminal page's second half: who shares what with whom, and when."""

from collections.abc import Iterable

from rich.console import Group as Lines
from rich.console import RenderableType
from rich.text import Text

from hitpath.accounting.rates import ratio
from hitpath.report.terminal_parts import MOST_GROUP_ROWS, group_table
from hitpath.report.text_parts import bar, count, label, percent, seconds, table
from hitpath.sim.owners import SharedPairs
from hitpath.sim.reuse import TTLS_S, ReuseGaps
from hitpath.summary import Analysis


def sharing_sections(analysis: Analysis) -> Iterable[tuple[str, RenderableType]]:
    """(title, part) of every section that this trace can fill."""
    yield "Sharing", _sharing(analysis)
    if analysis.pairs is not None and analysis.pairs.pairs:
        yield f"Who shares with whom, by {analysis.pairs.label}", _pairs(analysis.pairs)
    if analysis.groups["turn"]:
        yield (
            "By turn of the session",
            group_table(analysis.groups["turn"], len(analysis.groups["turn"])),
        )
    if analysis.prefixes:
        yield "Biggest shared stretches of prompt", _prefixes(analysis)
    if analysis.gaps is not None and analysis.gaps.tokens:
        yield "Time since a reusable block was last used", _gaps(analysis.gaps)
    for name in ("tenant", "session", "model", "worker"):
        groups = analysis.groups[name]
        if len(groups) > 1:
            yield f"By {name}", group_table(groups, MOST_GROUP_ROWS)


def _sharing(analysis: Analysis) -> RenderableType:
    prompt = analysis.ledger.total(analysis.ledger.prompt)
    once = analysis.held_once_tokens
    factor = ratio(prompt, once)
    lines: list[RenderableType] = [
        Text(
            f"KV of every prompt: {count(prompt)} tokens held once a request, "
            f"{count(once)} held once"
            + ("" if factor is None else f": sharing factor {factor:.2f}")
        )
    ]
    origin = analysis.origin
    if origin is None:
        lines.append(Text(f"hits by origin: not known ({analysis.no_origin_why})", style="dim"))
        return Lines(*lines)
    other = "other session" if origin.other_tenant is None else "other session of the tenant"
    rows = [("same session", origin.same_session), (other, origin.other_session)]
    if origin.other_tenant is not None:
        rows.append(("other tenant", origin.other_tenant))
    if origin.no_session:
        rows.append(("request without a session", origin.no_session))
    total = sum(tokens for _, tokens in rows)
    shown = table("hits by origin<", "tokens", "share", "=")
    for name, tokens in rows:
        share = ratio(tokens, total)
        shown.add_row(name, count(tokens), percent(share), bar(share, 20, "green"))
    return Lines(*lines, shown)


def _pairs(found: SharedPairs) -> RenderableType:
    total = sum(pair.hit_tokens for pair in found.pairs) + found.unnamed_tokens
    shown = table(f"{found.label}<", "hits what was first computed by<", "tokens", "share", "=")
    for pair in found.pairs[:MOST_GROUP_ROWS]:
        share = ratio(pair.hit_tokens, total)
        own = pair.name == pair.brought_by
        by = Text("itself", style="dim") if own else label(pair.brought_by)
        style = "green" if own else "yellow"
        cells = (count(pair.hit_tokens), percent(share), bar(share, 20, style))
        shown.add_row(label(pair.name), by, *cells)
    rest = found.pairs[MOST_GROUP_ROWS:]
    if rest:
        tokens = sum(pair.hit_tokens for pair in rest)
        name = f"… and {len(rest):,} more pairs"
        shown.add_row(name, "", count(tokens), percent(ratio(tokens, total)))
    if found.unnamed_tokens:
        share = ratio(found.unnamed_tokens, total)
        shown.add_row("no name", "", count(found.unnamed_tokens), percent(share))
    return shown


def _prefixes(analysis: Analysis) -> RenderableType:
    total = analysis.ledger.total(analysis.ledger.prompt) - analysis.held_once_tokens
    shown = table("prompt tokens<", "requests", "reusable tokens", "share", "first in request<")
    for prefix in analysis.prefixes:
        shown.add_row(
            f"{prefix.begin_token:,} to {prefix.end_token:,}",
            count(prefix.num_requests),
            count(prefix.reusable_tokens),
            percent(ratio(prefix.reusable_tokens, total)),
            label(prefix.first_request),
        )
    note = "share: of all tokens that an unlimited cache reuses; stretches do not overlap"
    return Lines(shown, Text(note, style="dim"))


def _gaps(gaps: ReuseGaps) -> RenderableType:
    shown = table("kept at least<", "reusable tokens still there", "share", "=")
    for ttl, tokens in zip(TTLS_S, gaps.within, strict=True):
        share = ratio(tokens, gaps.tokens)
        shown.add_row(seconds(ttl), count(tokens), percent(share), bar(share, 20, "cyan"))
    notes = []
    if gaps.median_s is not None:
        notes.append(f"half of the reusable tokens were used again within {seconds(gaps.median_s)}")
    if gaps.num_negative:
        notes.append(f"{gaps.num_negative:,} gaps are negative (clocks of sub-agents), taken as 0")
    return Lines(shown, Text("; ".join(notes), style="dim"))

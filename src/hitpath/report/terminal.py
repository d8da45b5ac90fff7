"""The analysis as a page for a terminal (and, recorded, as an SVG picture)."""

from collections.abc import Iterable

import numpy as np
from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from hitpath.accounting.rates import HitRates, ratio
from hitpath.core import ABSENT, CAUSES, Setting
from hitpath.cost.models import ModelKV
from hitpath.report.document import (
    LOWER_BOUND,
    arrival_span_s,
    capacity_for,
    ladder_part,
    tokens_part,
    trace_part,
)
from hitpath.report.pages import titled
from hitpath.report.terminal_parts import over_time, problems
from hitpath.report.terminal_sharing import sharing_sections
from hitpath.report.terminal_worth import worth_sections
from hitpath.report.text_parts import bar, count, label, percent, seconds, table
from hitpath.sim.modelled import told_engine
from hitpath.summary import Analysis

_PLOT_DECADES = 3
_WHO_CAN_ACT = {
    "ineligible": "engine and model settings",
    "in_flight": "admission, scheduling",
    "elsewhere": "routing",
    "evicted": "cache size, policy, tiers",
    "rounding": "block size, engine rule",
    "isolated": "isolation policy",
    "diverged": "the application",
    "cold": "not computed before behind the same beginning",
}
_STYLES = {
    "hit": "green",
    "elsewhere": "yellow",
    "evicted": "red",
    "rounding": "magenta",
    "isolated": "blue",
    "cold": "bright_black",
    "unexplained": "bright_red",
}
_RATE_NAMES = {
    "token_weighted": ("token-weighted", "hit / prompt tokens, whole blocks"),
    "token_weighted_with_partial": ("… with partial blocks", "last block by its rest"),
    "block_weighted": ("block-weighted", "hit blocks / blocks"),
    "request_mean_token": ("request mean, tokens", "each request's share, averaged"),
    "request_mean_token_full": ("… whole blocks only", "the same, whole blocks"),
    "request_mean_block": ("request mean, blocks", "each request's block share, averaged"),
}


def print_report(analysis: Analysis, model: ModelKV | None, console: Console) -> None:
    """The whole page."""
    for section in sections(analysis, model):
        console.print(section)


def sections(analysis: Analysis, model: ModelKV | None) -> Iterable[RenderableType]:
    """The page, part by part."""
    yield _head(analysis)
    yield from problems(analysis.trace)
    yield titled("Hit rate", _rates(analysis))
    yield titled("Where every prompt token went", _causes(analysis))
    yield titled("Ladder: what would have hit if …", _ladder(analysis))
    for title, part in worth_sections(analysis.priced, analysis.billed):
        yield titled(title, part)
    yield titled(
        "Cache size (LRU, one cache for all requests, exact at every size)",
        _capacity(analysis, model),
    )
    for title, part in sharing_sections(analysis):
        yield titled(title, part)
    if analysis.over_time:
        yield titled("Over time", over_time(analysis.trace, analysis.over_time))
    if analysis.warnings:
        yield titled("Before you quote a number", _warnings(analysis))


def _head(analysis: Analysis) -> RenderableType:
    trace, setting = trace_part(analysis), analysis.setting
    span = arrival_span_s(analysis.trace)
    rate = analysis.hit_rate.token_weighted
    unit = "bytes" if trace["identity"] == "text" else "tokens"
    big = Text.assemble(
        (percent(rate), "bold green"),
        f" of prompt {unit} hit, {_source_of(analysis)}  ",
        (f"({percent(analysis.steady.token_weighted)} in the second half)", "dim"),
    )
    read = (
        f"{trace['format']} trace · {count(trace['num_requests'])} requests · "
        f"{count(trace['prompt_tokens'])} prompt {unit}"
    )
    if unit == "bytes":
        read += " (no tokenizer: a byte stands for a token everywhere below)"
    if trace["output_tokens"] is not None:
        read += f" · {count(trace['output_tokens'])} output tokens"
    if span is not None:
        read += f" · over {seconds(span)}"
    capacity = (
        "unlimited cache"
        if setting.capacity_tokens is None
        else f"{_cache_of(setting)} of {count(setting.capacity_tokens)} tokens a worker"
    )
    workers = len(analysis.workers.names)
    fleet = "1 worker" if workers == 1 else f"{workers} workers"
    if setting.router is not None and workers > 1:
        fleet += f", router {setting.router}, seed {setting.seed}"
    rule = "at least the last token computed" if setting.last_token else "no last-token rule"
    size = trace["block_size"]
    model_line = (
        f"model: {capacity} · blocks of {size} token{'' if size == 1 else 's'} · {rule} · "
        f"outputs {'kept' if setting.outputs == 'insert' else 'not kept'} · {fleet}"
    )
    lines = [big, Text(read), Text(model_line, style="dim")]
    told = told_engine(setting)
    if told is not None:
        lines.append(Text(f"settings of the engine: {told}", style="dim"))
    return Padding(Group(*lines), (1, 0, 1, 2))


def _cache_of(setting: Setting) -> str:
    """What the model is of: "LRU cache", "vllm@0.32 cache"."""
    plain = {"unlimited": "unlimited cache", "lru": "LRU cache"}
    return plain.get(setting.engine, f"{setting.engine.partition(':')[0]} cache")


def _source_of(analysis: Analysis) -> str:
    """Whose figure the headline is: the engine's, the model's, or both."""
    told = (analysis.ledger.rungs.reported != ABSENT) & analysis.ledger.counted
    modelled = percent(analysis.modelled.token_weighted)
    if not np.any(told):
        article = "a" if analysis.setting.is_modelled else "an"
        return f"modelled for {article} {_cache_of(analysis.setting)}"
    if np.all(told[analysis.ledger.counted]):
        return f"as reported (modelled: {modelled})"
    return f"reported where told, else modelled (all modelled: {modelled})"


def _rates(analysis: Analysis) -> RenderableType:
    shown = table("<", "whole trace", "second half", "=", "what it is~")
    for name, (title, meaning) in _RATE_NAMES.items():
        whole = getattr(analysis.hit_rate, name)
        strong = "bold" if name == "token_weighted" else ""
        shown.add_row(
            Text(title, style=strong),
            Text(percent(whole), style=strong),
            percent(getattr(analysis.steady, name)),
            bar(whole, 16, "green"),
            Text(meaning, style="dim"),
        )
    if _has_reports(analysis):
        modelled: HitRates = analysis.modelled
        note = Text("as if no hit were reported", style="dim")
        rate = percent(modelled.token_weighted)
        shown.add_row("modelled, token-weighted", rate, "–", "", note)
    if analysis.apart is not None:
        told = analysis.apart
        meaning = f"{told.num_requests:,} requests, in the engine's tokens: not comparable"
        shown.add_row("reported", percent(told.hit_rate), "–", "", Text(meaning, style="dim"))
    return shown


def _has_reports(analysis: Analysis) -> bool:
    told = analysis.ledger.rungs.reported != ABSENT
    return bool(np.any(told & (analysis.ledger.hit > 0)))


def _causes(analysis: Analysis) -> RenderableType:
    tokens = tokens_part(analysis)
    prompt = tokens["prompt"]
    shown = table("label<", "tokens", "share", "requests", "=", "who can act~")

    def row(name: str, value: int, requests: int | None, note: str) -> None:
        part = name.startswith(" ")
        share = ratio(value, prompt)
        shown.add_row(
            name if part else name.replace("_", " "),
            count(value),
            percent(share),
            "" if requests is None else count(requests),
            "" if part else bar(share, 16, _STYLES.get(name, "cyan")),
            Text(note, style="dim"),
            style="dim" if part or not value else "",
        )

    touched = int((analysis.ledger.hit[analysis.ledger.counted] > 0).sum())
    row("hit", tokens["hit"], touched, _tiers(tokens["hit_by_tier"]))
    for cause in CAUSES:
        value = tokens["causes"][cause]
        if value is None:
            continue
        note = _WHO_CAN_ACT[cause]
        if cause in tokens["notes"]:
            note += " (lower bound)"
        row(cause, value, tokens["requests_touched"][cause], note)
        for reason, part in tokens["reasons"].get(cause, {}).items():
            if part:
                who = "this setting: --outputs insert" if reason == "not_stored" else ""
                row(f"  {reason.replace('_', ' ')}", part, None, who)
        if cause == "evicted" and value and tokens["evicted_split"]:
            split = tokens["evicted_split"]
            row("    a better order keeps", split["policy"], None, "clairvoyant, same size")
            row("    no order keeps", split["capacity"], None, "only a larger cache")
    if tokens["unexplained"]:
        row("unexplained", tokens["unexplained"], None, "reported below the model")
    shown.add_section()
    shown.add_row("prompt", count(prompt), percent(ratio(prompt, prompt)), style="bold")
    if tokens["excess"]:
        row("excess (beside the sum)", tokens["excess"], None, "reported above the model")
    unknown = "; ".join(
        f"{cause.replace('_', ' ')} ({why})" for cause, why in tokens["not_known"].items()
    )
    return Group(shown, Text(f"not known, so counted in the next label: {unknown}", style="dim"))


def _tiers(by_tier: dict[str, int]) -> str:
    named = [
        f"{'tier not told' if tier == 'unknown' else tier} {tokens:,}"
        for tier, tokens in by_tier.items()
        if tokens
    ]
    return ", ".join(named) if len(named) > 1 or by_tier["device"] == 0 else ""


def _ladder(analysis: Analysis) -> RenderableType:
    shown = table("rung<", "tokens", "hit rate", "=")
    for rung in ladder_part(analysis):
        if rung["tokens"] is None:
            continue
        shown.add_row(
            f"{rung['rung']}  {rung['name']}",
            count(rung["tokens"]),
            percent(rung["hit_rate"]),
            bar(rung["hit_rate"], 28, "green" if rung["rung"] == 0 else "cyan"),
        )
    return shown


def _capacity(analysis: Analysis, model: ModelKV | None) -> RenderableType:
    curve = analysis.curve
    prompt = analysis.ledger.total(analysis.ledger.prompt)
    ceiling = ratio(curve.ceiling * curve.block_size, prompt)
    columns = ["of the ceiling<", "hit rate", "smallest cache, tokens"]
    if model is not None:
        columns.append(f"GiB, {model.name} {model.kv_dtype}")
    shown = table(*columns)
    for share, tokens in capacity_for(curve).items():
        rate = (
            None
            if tokens is None
            else ratio(curve.at(tokens // curve.block_size) * curve.block_size, prompt)
        )
        cells = [f"{float(share):.0%}", percent(rate), count(tokens)]
        if model is not None:
            cells.append("–" if tokens is None else f"{model.gib(tokens):,.1f}")
        shown.add_row(*cells)
    note = Text(f"ceiling (unlimited): {percent(ceiling)}", style="dim")
    if model is None:
        note.append("   for GiB name a --model", style="dim")
    return Columns([Group(shown, note), _plot(analysis)], padding=(0, 4))


def _plot(analysis: Analysis, width: int = 40, height: int = 7) -> RenderableType:
    """The curve as a small picture: hit rate against capacity, both ends marked."""
    curve = analysis.curve
    ceiling = curve.ceiling
    if not ceiling:
        return Text("nothing is ever reused", style="dim")
    largest = curve.smallest_for(1.0) or 1
    smallest = max(1.0, largest / 10**_PLOT_DECADES)
    xs = [smallest * (largest / smallest) ** (i / (width - 1)) for i in range(width)]
    shares = [curve.at(int(x)) / ceiling for x in xs]
    lines = []
    for row in range(height, 0, -1):
        cells = []
        for share in shares:
            fill = share * height - (row - 1)
            cells.append(" " if fill <= 0 else "█" if fill >= 1 else "▁▂▃▄▅▆▇█"[int(fill * 8)])
        edge = "ceiling ┤" if row == height else "      0 ┤" if row == 1 else "        │"
        lines.append(Text.assemble((edge, "dim"), ("".join(cells), "cyan")))
    right = f"{largest * curve.block_size:,} tokens"
    left = f"{int(smallest) * curve.block_size:,}"
    axis = "         " + left + " " * max(1, width - len(left) - len(right)) + right
    lines.append(Text(axis, style="dim"))
    lines.append(Text("         cache size, logarithmic", style="dim"))
    return Group(*lines)


def _warnings(analysis: Analysis) -> RenderableType:
    notes = list(analysis.warnings)
    if analysis.ledger.total(analysis.ledger.cause("rounding")) and analysis.trace.block_size:
        notes.append(f"rounding is a {LOWER_BOUND}")
    return Group(*(label(f"• {note}") for note in notes))

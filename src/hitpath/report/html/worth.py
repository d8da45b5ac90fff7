"""What the page says of GPU time and money: prefill by label, TTFT by hit class, the bill."""

from dataclasses import dataclass

from hitpath.report.html.sentences import Note
from hitpath.report.html.view import Table
from hitpath.report.html.words import pct
from hitpath.report.terminal_worth import (
    BUCKET_NAMES,
    CLASS_NAMES,
    bill_notes,
    gpu_time,
    label_name,
    priced_notes,
    usd,
)
from hitpath.report.text_parts import count
from hitpath.report.units import ratio_text, short_time, si
from hitpath.summary.billed import Billed
from hitpath.summary.decode_bound import DecodeBound
from hitpath.summary.hit_classes import Times
from hitpath.summary.priced import NOT_KNOWN, Priced, Worth

_OWN = ("cold", NOT_KNOWN)
"""Labels that nobody is known to be able to act on."""


@dataclass(frozen=True, slots=True)
class CostStep:
    """One line of the picture. css: as the waterfall's; places in percent of the miss path."""

    css: str
    name: str
    left: float
    width: float
    gpu: str
    usd: str
    share: str
    tokens: str
    flops: str
    daily: str


@dataclass(frozen=True, slots=True)
class WorthView:
    """Any part is None, or empty, where it was not asked for."""

    note: Note | None
    steps: tuple[CostStep, ...]
    with_money: bool
    daily: bool
    foot: tuple[str, ...]
    ttft: Table | None
    decode: Note | None
    bill_note: Note | None
    bill: Table | None
    bill_foot: tuple[str, ...]


def _gpu(gpu_s: float) -> str:
    """GPU time that no line break parts."""
    return gpu_time(gpu_s).replace(" ", "\u00a0").replace("-", "\u2011")


def _line(text: object) -> str:
    return str(text).replace(" %", "\u00a0%")


def worth_view(priced: Priced | None, billed: Billed | None) -> WorthView | None:
    """None where neither was asked for."""
    if priced is None and billed is None:
        return None
    return WorthView(
        note=None if priced is None else _note(priced),
        steps=() if priced is None else _steps(priced),
        with_money=priced is not None and priced.pricing.gpu_hour_usd is not None,
        daily=priced is not None and priced.gpu_hours_per_day(priced.miss) is not None,
        foot=() if priced is None else tuple(str(line) for line in priced_notes(priced)),
        ttft=None if priced is None else _ttft(priced),
        decode=None if priced is None or priced.decode is None else _decode(priced.decode),
        bill_note=None if billed is None else _bill_note(billed),
        bill=None if billed is None else _bill(billed),
        bill_foot=() if billed is None else tuple(_line(line) for line in bill_notes(billed)),
    )


def _note(priced: Priced) -> Note:
    """What hits avoided, and which label that somebody can act on wastes most."""
    frac = priced.avoided.gpu_s / priced.miss.gpu_s if priced.miss.gpu_s else None
    shows = (
        f"Without a cache, prefill would take {_gpu(priced.miss.gpu_s)}; hits avoided "
        f"{pct(frac)} of that ({_both(priced, priced.avoided)})."
    )
    worst = max(
        ((name, worth) for name, worth in priced.labels.items() if worth and name not in _OWN),
        key=lambda pair: pair[1].gpu_s,
        default=None,
    )
    if NOT_KNOWN in priced.labels:
        do = "Why the rest missed is not told by lengths; record prompts to learn what it costs."
        return Note(shows, do)
    if worst is None or not worst[1].gpu_s:
        return Note(shows, "Nothing else here could have been avoided by settings or routing.")
    share = worst[1].gpu_s / priced.miss.gpu_s
    do = f"The dearest loss that somebody can act on: {label_name(worst[0])}, "
    return Note(shows, f"{do}{_both(priced, worst[1])}, {pct(share)} of the miss path.")


def _both(priced: Priced, worth: Worth) -> str:
    """GPU time, a day's where there is one, and money where it has a price."""
    told = _gpu(worth.gpu_s)
    daily = priced.gpu_hours_per_day(worth)
    if daily is not None:
        told += f", {daily:,.3g} GPU‑hours a day"
    return told if worth.usd is None else f"{told}, {usd(worth.usd)}"


def _steps(priced: Priced) -> tuple[CostStep, ...]:
    whole = priced.miss.gpu_s or 1.0
    named = [("hit", "avoided by hits", priced.avoided)]
    named += [
        ("floor" if name in _OWN else "lost", label_name(name), worth)
        for name, worth in priced.labels.items()
        if worth is not None and (worth.prefill_tokens or name in _OWN)
    ]
    named.append(("odd", "last tokens, always computed", priced.floor))
    steps, left = [], 0.0
    for css, name, worth in named:
        width = 100 * worth.gpu_s / whole
        steps.append(_step(priced, css, name, worth, left, width))
        left += width
    steps.append(_step(priced, "all", "without a cache", priced.miss, 0.0, 100.0))
    return tuple(steps)


def _step(priced: Priced, css: str, name: str, worth: Worth, left: float, width: float) -> CostStep:
    daily = priced.gpu_hours_per_day(worth)
    return CostStep(
        css=css,
        name=name,
        left=left,
        width=max(width, 0.0),
        gpu=_gpu(worth.gpu_s),
        usd=usd(worth.usd),
        share=pct(worth.gpu_s / priced.miss.gpu_s if priced.miss.gpu_s else None),
        tokens=count(worth.prefill_tokens),
        flops=si(worth.flops, "FLOP"),
        daily="" if daily is None else f"{daily:,.3g} GPU-h",
    )


def _ttft(priced: Priced) -> Table:
    rows = []
    for found in priced.ttft:
        name = "{}: {}".format(*CLASS_NAMES[found.name])
        rows.append(_times(name, found.modelled, pct(found.hit_tokens / found.prompt_tokens)))
        if found.measured is not None:
            rows.append(_times("… measured, with queueing", found.measured, ""))
    columns = ("class<", "requests", "hit rate", "p50", "p95", "p99", "longest")
    return Table("Time to first token by hit class", columns, tuple(rows))


def _times(name: str, times: Times, rate: str) -> tuple[str, ...]:
    seconds = (times.p50_s, times.p95_s, times.p99_s, times.max_s)
    return (name, count(times.num_requests), rate, *map(short_time, seconds))


def _decode(decode: DecodeBound) -> Note:
    num = decode.num_requests
    shows = (
        f"End to end, these hits made requests {ratio_text(decode.gained)} faster, and no cache "
        f"can make them more than {ratio_text(decode.ceiling)}: decoding takes "
        f"{short_time(decode.decode_s / num)} of a request, its prefill "
        f"{short_time(decode.miss_prefill_s / num)} without a cache. That holds at a hit rate of "
        f"{pct(decode.hit_tokens / decode.prompt_tokens)}, "
        f"{decode.prompt_tokens / num:,.0f} prompt and {decode.output_tokens / num:,.0f} output "
        f"tokens a request, {decode.batch:,} request{'s' if decode.batch > 1 else ''} a decode "
        "step, and no queueing."
    )
    return Note(shows, "A speed-up beyond that ceiling is none of the cache's.")


def _bill_note(billed: Billed) -> Note:
    bill, saved = billed.bill, billed.saved_usd
    if bill.total_usd is None or saved is None:
        known = usd(bill.known_usd)
        return Note(f"What is known of the bill is {known}; the rest is not known.", "See below.")
    shows = f"The requests cost {usd(bill.total_usd)}; without the cache, "
    shows += f"{usd(billed.without_cache_usd)}."
    if saved < 0:
        do = "The cache costs more than it saves: too much is written, too little read."
        return Note(shows, do)
    return Note(shows, f"The cache saves {usd(saved)}.")


def _bill(billed: Billed) -> Table:
    bill = billed.bill
    rows = [
        (BUCKET_NAMES[name], count(bucket.tokens), usd(bucket.usd))
        for name, bucket in bill.buckets.items()
        if bucket.tokens or bucket.absent_rows
    ]
    rows.append(("bill", "", usd(bill.total_usd)))
    rows.append(("every prompt token fresh", "", usd(billed.without_cache_usd)))
    rows += [
        (f"{cause.replace('_', ' ')}, dearer than read", "", usd(dearer))
        for cause, dearer in billed.missed_usd.items()
        if dearer
    ]
    return Table("The provider's bill by kind of token", ("tokens<", "", "USD"), tuple(rows))

"""GPU time and money of an analysis as sections of a terminal page."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.text import Text

from hitpath.report.text_parts import bar, count, label, percent, seconds, table
from hitpath.report.units import ratio_text, short_time, si
from hitpath.summary.billed import Billed
from hitpath.summary.decode_bound import DecodeBound
from hitpath.summary.hit_classes import Times
from hitpath.summary.priced import NOT_KNOWN, UNEXPLAINED, Priced, Worth

CLASS_NAMES = {
    "full_miss": ("full miss", "no token hit"),
    "partial": ("partial", "some hit"),
    "full_hit": ("full hit", "at most one block computed"),
}
BUCKET_NAMES = {
    "fresh": "fresh",
    "read": "read from the cache",
    "written_5m": "written, 5 minutes",
    "written_1h": "written, 1 hour",
    "output": "output",
}


def worth_sections(
    priced: Priced | None, billed: Billed | None
) -> Iterator[tuple[str, RenderableType]]:
    """(title, section) of what was asked for."""
    if priced is not None:
        yield "What prefill costs by label (each request alone)", _priced(priced)
        if priced.ttft:
            yield "Time to first token by hit class (no queueing)", _ttft(priced)
        if priced.decode is not None:
            yield "The bound that decoding sets", _decode(priced.decode)
    if billed is not None:
        yield "The provider's bill, recomputed from usage", _billed(billed)


def usd(value: float | None) -> str:
    """Dollars with the digits that matter; a dash for not known."""
    if value is None:
        return "–"
    sign = "-" if value < 0 else ""
    digits = f"{abs(value):.3g}" if 0 < abs(value) < 1 else f"{abs(value):,.2f}"
    return f"{sign}${digits}"


def gpu_time(gpu_s: float) -> str:
    """GPU-seconds as GPU-hours where that is easier to read."""
    return f"{gpu_s / 3600:,.4g} GPU-h" if gpu_s >= 3600 else f"{gpu_s:,.4g} GPU-s"


_BAR_CELLS, _LEAST_BAR_CELLS = 16, 4
_ALL = ("<", "prefill tokens", "FLOP", "GPU time", "=", "a day", "money")


@dataclass(frozen=True, slots=True)
class _Fitting:
    """`wide` where its numbers fit, else `narrow`: a number that is cut is another number.
    `yielding`: cells by which the bars of `wide` may give way."""

    wide: RenderableType
    narrow: RenderableType
    yielding: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        needed = Measurement.get(console, options.update(width=1 << 12), self.wide).maximum
        fits = needed - self.yielding <= options.max_width
        yield self.wide if fits else self.narrow


def _priced(priced: Priced) -> RenderableType:
    wide = _priced_table(priced, _ALL)
    narrow = [_priced_table(priced, columns) for columns in (_ALL[:4], (_ALL[0], *_ALL[4:]))]
    fitting = _Fitting(wide, Group(narrow[0], "", narrow[1]), _BAR_CELLS - _LEAST_BAR_CELLS)
    return Group(fitting, *priced_notes(priced))


def _priced_table(priced: Priced, columns: tuple[str, ...]) -> RenderableType:
    """Of these columns those that the trace and the pricing have."""
    money = priced.pricing.gpu_hour_usd is not None
    daily = priced.gpu_hours_per_day(priced.miss) is not None
    names = [name for name in columns if (name != "a day" or daily) and (name != "money" or money)]
    shown = table(*names)

    def row(name: str, worth: Worth, style: str, strong: str = "") -> None:
        share = worth.gpu_s / priced.miss.gpu_s if priced.miss.gpu_s else None
        per_day = priced.gpu_hours_per_day(worth)
        cells: dict[str, RenderableType] = {
            "<": Text(name, strong),
            "prefill tokens": count(worth.prefill_tokens),
            "FLOP": si(worth.flops),
            "GPU time": gpu_time(worth.gpu_s),
            "=": bar(share, _BAR_CELLS, style),
            "a day": "–" if per_day is None else f"{per_day:,.3g} GPU-h",
            "money": usd(worth.usd),
        }
        shown.add_row(*(cells[name] for name in names), style="" if worth.gpu_s else "dim")

    row("without a cache", priced.miss, "white", "bold")
    row("avoided by hits", priced.avoided, "green")
    for name, worth in priced.labels.items():
        if worth is not None and (worth.prefill_tokens or name in ("cold", NOT_KNOWN)):
            row(label_name(name), worth, "bright_black" if name == "cold" else "red")
    row("last tokens, always computed", priced.floor, "cyan")
    shown.add_section()
    row("as served", priced.served, "white", "bold")
    return shown


def label_name(name: str) -> str:
    """A label in words."""
    if name == NOT_KNOWN:
        return "missed, cause not known"
    return "unexplained" if name == UNEXPLAINED else name.replace("_", " ")


def priced_notes(priced: Priced) -> Iterator[Text]:
    """What holds for all lines of the table."""
    replica = priced.pricing.replica
    formats, roofline = replica.formats, replica.roofline
    on = f"{replica.num_gpus} x {replica.hardware.name}"
    setting = label(
        f"{replica.shape.name}, {formats.weights} weights, {formats.kv} KV, on {on}, "
        f"efficiency {roofline.efficiency} ({roofline.origin})"
    )
    setting.stylize("dim")
    yield setting
    yield Text(
        "a label costs what its tokens would have saved on top of the labels above it; loads "
        "from slower tiers are not priced",
        "dim",
    )
    if priced.left_out:
        yield Text(f"{priced.left_out:,} requests report no hit and are not priced", "dim")
    if priced.span_s:
        yield Text(f"a day: at the rate of these {seconds(priced.span_s)}", "dim")


def _ttft(priced: Priced) -> RenderableType:
    shown = table("class<", "requests", "hit rate", "p50", "p95", "p99", "longest")
    measured, meanings = False, list[str]()
    for found in priced.ttft:
        name, meaning = CLASS_NAMES[found.name]
        meanings.append(f"{name}: {meaning}")
        rate = percent(found.hit_tokens / found.prompt_tokens)
        shown.add_row(name, *_times(found.modelled, rate))
        if found.measured is not None:
            measured = True
            shown.add_row("  measured", *_times(found.measured, ""), style="dim")
    notes = [Text("; ".join(meanings), "dim")]
    notes += [
        Text("from the cost model: a request's own prefill, nothing else in its steps", "dim")
    ]
    if measured:
        notes.append(Text("measured: with queueing, of the requests that tell it", "dim"))
    return Group(shown, *notes)


def _times(times: Times, rate: str) -> list[str]:
    seconds = (times.p50_s, times.p95_s, times.p99_s, times.max_s)
    return [count(times.num_requests), rate, *map(short_time, seconds)]


def _decode(decode: DecodeBound) -> RenderableType:
    num = decode.num_requests
    workload = (
        f"{decode.prompt_tokens / num:,.0f} prompt and {decode.output_tokens / num:,.0f} output "
        f"tokens a request ({decode.prompt_tokens / decode.output_tokens:.3g} to 1), hit rate "
        f"{percent(decode.hit_tokens / decode.prompt_tokens)}, miss path "
        f"{short_time(decode.miss_prefill_s / num)} of prefill"
    )
    sharing = "alone" if decode.batch == 1 else f"{decode.batch:,} a step"
    lines = [
        Text.assemble(
            "these hits made requests ",
            (ratio_text(decode.gained), "bold green"),
            " faster end to end; no cache can make them more than ",
            (ratio_text(decode.ceiling), "bold"),
        ),
        Text(f"over the {num:,} requests that tell their output: {workload}", "dim"),
        Text(
            f"decoding takes {short_time(decode.decode_s / num)} a request ({sharing}), prefill "
            f"{percent(decode.prefill_frac)} of a request's time without a cache; the cache leaves "
            f"decoding alone, and queueing is not counted",
            "dim",
        ),
    ]
    return Group(*lines)


def _billed(billed: Billed) -> RenderableType:
    bill = billed.bill
    shown = table("tokens<", "", "USD", "=")
    for name, bucket in bill.buckets.items():
        if not (bucket.tokens or bucket.absent_rows):
            continue
        share = bucket.usd / bill.known_usd if bucket.usd and bill.known_usd else None
        shown.add_row(
            BUCKET_NAMES[name], count(bucket.tokens), usd(bucket.usd), bar(share, 16, "cyan")
        )
    shown.add_section()
    total = usd(bill.total_usd)
    shown.add_row("bill", "", Text(total, "bold"), "")
    if bill.total_usd is None:
        shown.add_row("known part of it", "", usd(bill.known_usd), "")
    shown.add_row("every prompt token fresh", "", usd(billed.without_cache_usd), "")
    shown.add_row("saved by the cache", "", usd(billed.saved_usd), "")
    for cause, dearer in billed.missed_usd.items():
        if dearer:
            shown.add_row(f"{cause.replace('_', ' ')}, dearer than read", "", usd(dearer), "")
    return Group(shown, *bill_notes(billed))


def bill_notes(billed: Billed) -> Iterator[Text]:
    """Whose prices, how far from the reported bill, and what is not known."""
    for used in billed.used:
        model = "" if used.label is None else f"{used.label}: "
        yield label(f"{model}{used.name}, {used.source}, {used.num_rows:,} requests")
        for note in used.notes:
            yield label(f"• {note}")
    apart = billed.difference
    if apart is not None:
        yield Text(
            f"reported: {usd(apart.reported_usd)} over {apart.num_rows:,} requests, recomputed "
            f"{usd(apart.recomputed_usd)}: {usd(apart.difference_usd)} apart, "
            f"{apart.num_rows_differing:,} requests differ"
        )
        if billed.farthest_id is not None:
            yield label(f"the farthest apart: {billed.farthest_id}")
    if billed.read_frac is not None and billed.break_even_read_frac is not None:
        yield Text(
            f"{percent(billed.read_frac)} of the tokens read or written were reads; at these "
            f"prices the cache pays above {percent(billed.break_even_read_frac)}"
        )
    for reason in (*billed.bill.reasons, *billed.notes):
        yield label(f"• {reason}")

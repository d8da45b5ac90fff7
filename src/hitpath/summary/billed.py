"""A provider's bill of a trace, recomputed from the usage that its requests report.

Only what was reported is billed: a count that a row does not tell leaves its cost unknown, never
0, and no modelled hit stands in for a reported one. What missed tokens of a cause cost is the
difference of a fresh token's price to a read one's, at the row's own prompt length.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hitpath.core import ABSENT, CAUSES, SettingError
from hitpath.cost.bill import Bill, Difference, bill_rows, difference
from hitpath.cost.cache_rules import break_even_read_share
from hitpath.cost.price_list import PriceList
from hitpath.cost.prices import Prices
from hitpath.cost.usage import Usage
from hitpath.summary.analysis import Analysis
from hitpath.summary.labelled_rows import UNEXPLAINED
from hitpath.summary.lengths import LengthsAnalysis
from hitpath.traces.table import Floats, Ints, Trace

STANDARD = (
    "tokens at the standard price: batch, flex and priority tiers, tools, and rent for what is "
    "kept in a cache are not in it"
)
NO_USAGE = "no request reports the tokens that it read from a cache: there is nothing to bill"


@dataclass(frozen=True, slots=True)
class Used:
    """One model's prices. `label`: the trace's name of it, None for every model without prices of
    its own."""

    label: str | None
    name: str
    source: str
    num_rows: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Billed:
    """The bill of the counted requests (`rows`: their numbers), USD throughout; None is not known.

    without_cache_usd: every prompt token at the fresh price, the output as it is. missed_usd:
    unexplained and by cause, what its tokens cost more than if they had been read. read_frac:
    read / (read + written); break_even_read_frac: the share at which the cache costs what none
    would, at the first model's prices and the mean prompt. difference: to the reported costs, None
    where none is reported; farthest_id: the request that differs most.
    """

    used: tuple[Used, ...]
    rows: Ints
    bill: Bill
    without_cache_usd: float | None
    missed_usd: Mapping[str, float | None]
    read_frac: float | None
    break_even_read_frac: float | None
    difference: Difference | None
    farthest_id: str | None
    notes: tuple[str, ...]

    @property
    def saved_usd(self) -> float | None:
        """Without a cache, less the bill: below 0 the cache costs more than it saves."""
        if self.without_cache_usd is None or self.bill.total_usd is None:
            return None
        return self.without_cache_usd - self.bill.total_usd


@dataclass(frozen=True, slots=True)
class _Rows:
    """The counted requests: their numbers, prompts as the provider counts them, and prices."""

    rows: Ints
    prompt: Ints
    prices: Sequence[Prices]
    which: Ints


def bill_analysis(analysis: Analysis, price_list: PriceList) -> Billed:
    """With what each cause cost, where prompts are counted in tokens. Raises SettingError."""
    ledger = analysis.ledger
    missed: dict[str, Ints | None] = {UNEXPLAINED: ledger.unexplained}
    for cause in CAUSES:
        missed[cause] = None if cause in ledger.rungs.unknown else ledger.cause(cause)
    if analysis.trace.identity == "text":  # causes are in bytes
        missed = dict.fromkeys(missed)
    return _billed(analysis.trace, price_list, missed)


def bill_lengths(analysis: LengthsAnalysis, price_list: PriceList) -> Billed:
    """Where no cause can be known. Raises SettingError."""
    return _billed(analysis.trace, price_list, {})


def _billed(trace: Trace, price_list: PriceList, missed: Mapping[str, Ints | None]) -> Billed:
    rows = np.flatnonzero(trace.counted)
    told = np.maximum(trace.reported_hit, trace.apart_hit)[rows]
    if np.all(told == ABSENT):
        raise SettingError("--prices", NO_USAGE)
    in_bytes = trace.identity == "text"
    prompt = np.where(in_bytes, trace.apart_prompt, trace.prompt_tokens)[rows]
    prices, which, used = _prices_of(trace, rows, price_list)
    known = _Rows(rows, prompt, prices, which)
    usage, notes = _usage(trace, known, told)
    notes = [STANDARD, *_assumed(trace, rows, price_list), *notes]
    bill = bill_rows(usage, prices, which)
    apart = (
        None
        if np.all(np.isnan(trace.reported_usd[rows]))
        else difference(bill, trace.reported_usd[rows])
    )
    farthest = None if apart is None or apart.largest_row is None else apart.largest_row
    read = bill.buckets["read"].tokens
    written = bill.buckets["written_5m"].tokens + bill.buckets["written_1h"].tokens
    mean_prompt = int(prompt[prompt >= 0].mean()) if np.any(prompt >= 0) else 0
    return Billed(
        used=used,
        rows=rows,
        bill=bill,
        without_cache_usd=_without_cache(known, bill),
        missed_usd={
            cause: None if tokens is None else _dearer_usd(known, tokens[rows])
            for cause, tokens in missed.items()
        },
        read_frac=read / (read + written) if read + written else None,
        break_even_read_frac=break_even_read_share(prices[0].rates(mean_prompt)),
        difference=apart,
        farthest_id=None if farthest is None else trace.ids[int(rows[farthest])],
        notes=tuple(notes),
    )


def _prices_of(
    trace: Trace, rows: Ints, price_list: PriceList
) -> tuple[list[Prices], Ints, tuple[Used, ...]]:
    """(all prices that were in force, which of them each row has, what stands in the report)."""
    codes = trace.model.codes[rows]
    labels = np.array([*trace.model.names, None], dtype=object)[codes]
    found: list[Prices] = []
    used: list[Used] = []
    which = np.full(len(rows), ABSENT, dtype=np.int64)
    own_labels = {label for label, _ in price_list.entries if label is not None}
    own_codes = [code for code, name in enumerate(trace.model.names) if name in own_labels]
    for label, schedule in price_list.entries:
        own = labels == label if label is not None else ~np.isin(codes, own_codes)
        if label is not None and label not in trace.model.names:
            known = ", ".join(trace.model.names[:5]) or "none is named"
            raise SettingError(f"--prices {label}={schedule.name}", f"no such model: {known}")
        mine = np.flatnonzero(own)
        in_force, number = schedule.at_times(trace.arrival_s[rows[mine]])
        which[mine] = number + len(found)
        found += in_force
        notes = tuple(dict.fromkeys(note for prices in in_force for note in prices.notes))
        used.append(Used(label, schedule.name, schedule.source, len(mine), notes))
    if np.any(which == ABSENT):
        nameless = sorted({str(label) for label in labels[which == ABSENT]})
        which[which == ABSENT] = len(found)
        found.append(Prices(f"{', '.join(nameless[:3])} (no --prices for it)", "none"))
    return found, which, tuple(used)


def _assumed(trace: Trace, rows: Ints, price_list: PriceList) -> Iterator[str]:
    """Requests that are not in the bill, and where one model's prices stand for several models."""
    if len(rows) < len(trace):
        yield f"{len(trace) - len(rows):,} rows are left out of all sums, so of the bill too"
    named = {label for label, _ in price_list.entries}
    if None not in named:
        return
    codes = np.unique(trace.model.codes[rows]).tolist()
    others = [trace.model.names[code] for code in codes if code != ABSENT]
    others = [name for name in others if name not in named]
    if len(others) > 1:
        shown = ", ".join(others[:3]) + (" ..." if len(others) > 3 else "")
        yield f"{len(others):,} models of the trace have the same prices here: {shown}"


def _usage(trace: Trace, known: _Rows, read: Ints) -> tuple[Usage, list[str]]:
    """The counts of each row in disjoint buckets, and what must be said of them."""
    rows, notes = known.rows, list[str]()
    written, hour = trace.reported_written[rows], trace.reported_written_1h[rows]
    bills_writes = np.array([p.written_5m is not None for p in known.prices])[known.which]
    # A provider that has no price for writes tells none: nothing was written.
    written = np.where((written == ABSENT) & ~bills_writes, 0, written)
    untold = int(written[(written > 0) & (hour == ABSENT)].sum())
    if untold:
        notes.append(
            f"{untold:,} written tokens do not say for how long they are kept: billed as the "
            "short write; an hour's costs more"
        )
    hour = np.where(hour == ABSENT, 0, hour)
    known_all = (known.prompt >= 0) & (read >= 0) & (written >= 0)
    fresh = np.where(known_all, known.prompt - read - written, ABSENT)
    over = known_all & ((fresh < 0) | (hour > written))
    if np.any(over):
        notes.append(f"{int(over.sum()):,} rows read and write more than their prompt: not known")
    fresh[over] = ABSENT
    short = np.where(written >= 0, np.maximum(written - hour, 0), ABSENT)
    output = trace.reported_output[rows]
    if trace.identity != "text":
        counted_here = (output == ABSENT) & trace.has_output[rows]
        if np.any(counted_here):
            notes.append(
                f"{int(counted_here.sum()):,} rows report no output: billed by the tokens of the "
                "output that the trace holds"
            )
        output = np.where(output == ABSENT, trace.output_tokens[rows], output)
    return Usage(fresh, read, short, np.where(written >= 0, hour, 0), output), notes


def _without_cache(known: _Rows, bill: Bill) -> float | None:
    """Every prompt token fresh; the output as it was billed."""
    output_usd = bill.buckets["output"].usd
    if output_usd is None or np.any(known.prompt == ABSENT):
        return None
    total = output_usd
    for number, prices in enumerate(known.prices):
        mine = known.which == number
        if not np.any(mine):
            continue
        if prices.fresh is None:
            return None
        total += float(prices.fresh.usd(known.prompt[mine], known.prompt[mine]).sum())
    return total


def _dearer_usd(known: _Rows, tokens: Ints) -> float | None:
    """What these tokens cost more fresh than read."""
    total = 0.0
    for number, prices in enumerate(known.prices):
        mine = (known.which == number) & (tokens > 0)
        if not np.any(mine):
            continue
        if prices.fresh is None or prices.read is None:
            return None
        prompt = known.prompt[mine]
        dearer: Floats = prices.fresh.usd(tokens[mine], prompt)
        dearer = dearer - prices.read.usd(tokens[mine], prompt)
        total += float(dearer.sum())
    return total

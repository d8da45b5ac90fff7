"""`hitpath rules`: what a provider's cache costs and saves, and when a write, an hour's lifetime,
an edit or a compaction pays. Prices alone, no trace."""

import time
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from hitpath.core import SettingError
from hitpath.cost.cache_rules import (
    NEVER,
    Compaction,
    Edit,
    break_even_read_share,
    break_even_reads,
    compaction_break_even_requests,
    compaction_saves_usd,
    edit_break_even_requests,
    edit_saves_usd,
    keep_alive_break_even_pings,
    lapse_usd,
    long_lifetime_break_even_lapses,
)
from hitpath.cost.prices import MILLION, Rates
from hitpath.cost.provider_prices import load_prices
from hitpath.report.output import check_places, is_stdout
from hitpath.report.pages import print_page, titled, write_json
from hitpath.report.terminal_worth import usd
from hitpath.report.text_parts import label, percent, table

SCHEMA = "hitpath.rules/1"
_MOST_TOKENS = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesJob:
    """One command, as typed. Tokens; `requests`: how many follow an edit or a compaction."""

    prices: str
    prompt: int
    cached: int
    output: int
    requests: int
    edit_at: int | None
    remove: int | None
    keep: int | None
    summary: int | None
    date: str | None
    json: str | None

    def __post_init__(self) -> None:
        for option, value in (
            ("--prompt", self.prompt),
            ("--cached", self.cached),
            ("--output", self.output),
            ("--requests", self.requests),
        ):
            if not 0 <= value <= _MOST_TOKENS:
                raise SettingError(f"{option} {value}", f"is not from 0 to {_MOST_TOKENS:,}")
        if self.cached > self.prompt:
            raise SettingError(f"--cached {self.cached}", f"of {self.prompt:,} prompt tokens")
        for names, values in (
            ("--edit-at and --remove", (self.edit_at, self.remove)),
            ("--keep and --summary", (self.keep, self.summary)),
        ):
            if (values[0] is None) != (values[1] is None):
                raise SettingError(names, "are needed together")

    def moment_s(self) -> float:
        """Noon of the day whose prices are asked for. Raises SettingError for no date."""
        if self.date is None:
            return time.time()
        try:
            day = datetime.strptime(self.date, "%Y-%m-%d")
        except ValueError:
            raise SettingError(f"--date {self.date}", "is no date YYYY-MM-DD") from None
        return day.replace(hour=12, tzinfo=UTC).timestamp()

    def edit(self) -> Edit | None:
        """None where none was asked for. Raises SettingError for one that cannot be."""
        if self.edit_at is None or self.remove is None:
            return None
        if min(self.edit_at, self.remove) < 0 or self.edit_at + self.remove > self.prompt:
            cause = f"and --remove {self.remove} are not within {self.prompt:,} prompt tokens"
            raise SettingError(f"--edit-at {self.edit_at}", cause)
        return Edit(self.prompt, self.edit_at, self.remove)

    def compaction(self) -> Compaction | None:
        """The same."""
        if self.keep is None or self.summary is None:
            return None
        if not 0 <= self.keep <= self.prompt or not 0 <= self.summary <= _MOST_TOKENS:
            cause = f"and --summary {self.summary} are no compaction of {self.prompt:,} tokens"
            raise SettingError(f"--keep {self.keep}", cause)
        return Compaction(self.prompt, self.keep, self.summary)


def run_rules(job: RulesJob) -> None:
    """Write and print. Raises HitpathError."""
    files = [] if job.json is None else [job.json]
    check_places(files, [])
    told = rules_document(job)
    if job.json is not None:
        write_json(job.json, told)
    if not any(map(is_stdout, files)):
        print_page(lambda page: page.print(_page(job, told)))


def rules_document(job: RulesJob) -> dict[str, Any]:
    """Ready for JSON; USD. null is not known, and "never" is the string "never"."""
    edit, compaction = job.edit(), job.compaction()
    prices = load_prices(job.prices).at(job.moment_s())
    short, long = prices.rates(job.prompt, "5m"), prices.rates(job.prompt, "1h")
    notes = [*prices.notes]
    if short.written is None and long.written is None:
        short = replace(short, written=short.fresh)
        notes.append("writes are not billed apart: a written token costs what a fresh one does")
    rates = {"5m": short, "1h": long}
    return {
        "schema": SCHEMA,
        "prices": {"name": prices.name, "source": prices.source, "notes": notes},
        "prompt_tokens": job.prompt,
        "cached_tokens": job.cached,
        "output_tokens": job.output,
        "num_requests": job.requests,
        "usd_per_mtok": {
            "fresh": short.fresh,
            "read": short.read,
            "written_5m": short.written,
            "written_1h": long.written,
            "output": short.output,
        },
        "request_usd": _request(job, short, long),
        "lifetimes": {life: _lifetime(job, one) for life, one in rates.items()},
        "hour_pays_from_lapses": _told(long_lifetime_break_even_lapses(short, long)),
        "edit": None
        if edit is None
        else {
            **asdict(edit),
            "rewritten_tokens": edit.rewritten_tokens,
            "saves_usd": edit_saves_usd(edit, job.requests, short),
            "pays_from_requests": _told(edit_break_even_requests(edit, short)),
        },
        "compaction": None
        if compaction is None
        else {**asdict(compaction), **_compaction(job, compaction, short)},
    }


def _request(job: RulesJob, short: Rates, long: Rates) -> dict[str, float | None]:
    """One request with its prefix fresh, written, or read."""
    rest = job.prompt - job.cached

    def cost(prefix: float | None) -> float | None:
        if prefix is None or short.fresh is None or short.output is None:
            return None
        return (job.cached * prefix + rest * short.fresh + job.output * short.output) / MILLION

    return {
        "fresh": cost(short.fresh),
        "written_5m": cost(short.written),
        "written_1h": cost(long.written),
        "read": cost(short.read),
    }


def _lifetime(job: RulesJob, rates: Rates) -> dict[str, Any]:
    return {
        "write_pays_from_reads": _told(break_even_reads(rates)),
        "pays_above_read_frac": _told(break_even_read_share(rates)),
        "lapse_usd": lapse_usd(job.cached, rates),
        "lapse_is_worth_pings": _told(keep_alive_break_even_pings(rates)),
    }


def _compaction(job: RulesJob, compaction: Compaction, rates: Rates) -> dict[str, Any]:
    return {
        name: {
            "saves_usd": compaction_saves_usd(compaction, job.requests, rates, cached),
            "pays_from_requests": _told(compaction_break_even_requests(compaction, rates, cached)),
        }
        for name, cached in (("while_cached", True), ("after_a_lapse", False))
    }


def _told(value: float | None) -> float | str | None:
    return "never" if value == NEVER else value


def _page(job: RulesJob, told: dict[str, Any]) -> RenderableType:
    cached, prompt = told["cached_tokens"], told["prompt_tokens"]
    costs = told["request_usd"]
    head = Text.assemble(
        (usd(costs["read"]), "bold green"),
        f" a request with {cached:,} of {prompt:,} prompt tokens read, ",
        (usd(costs["fresh"]), "bold"),
        f" without a cache ({told['output_tokens']:,} output tokens)",
    )
    source = label(f"{told['prices']['name']}, {told['prices']['source']}")
    notes = [label(f"• {note}") for note in told["prices"]["notes"]]
    parts: list[RenderableType] = [
        Padding(Group(head, source, *notes), (1, 0, 1, 2)),
        titled("One request", _costs(told)),
        titled("When a write pays", _writes(told)),
    ]
    if told["edit"] is not None or told["compaction"] is not None:
        parts.append(titled("When a shorter prompt pays", _changes(job, told)))
    return Group(*parts)


_WAYS = {
    "fresh": "no cache",
    "written_5m": "prefix written for 5 minutes",
    "written_1h": "prefix written for an hour",
    "read": "prefix read",
}


def _costs(told: dict[str, Any]) -> RenderableType:
    shown = table("prefix<", "USD a million tokens", "USD a request")
    for name, meaning in _WAYS.items():
        shown.add_row(meaning, usd(told["usd_per_mtok"][name]), usd(told["request_usd"][name]))
    shown.add_row("output", usd(told["usd_per_mtok"]["output"]), "")
    return shown


def _writes(told: dict[str, Any]) -> RenderableType:
    shown = table(
        "kept for<", "pays from reads", "pays above share read", "a lapse costs", "= pings"
    )
    for life, meaning in (("5m", "5 minutes"), ("1h", "an hour")):
        one = told["lifetimes"][life]
        share = one["pays_above_read_frac"]
        shown.add_row(
            meaning,
            _figure(one["write_pays_from_reads"]),
            percent(share) if isinstance(share, float) else _figure(share),
            usd(one["lapse_usd"]),
            _figure(one["lapse_is_worth_pings"]),
        )
    lapses = told["hour_pays_from_lapses"]
    notes = [
        "a lapse: the prefix is written again instead of read; pings: reads made only to keep it",
        f"an hour's write pays where more than {_figure(lapses)} lapses of 5 minutes are avoided",
    ]
    return Group(shown, *(Text(note, "dim") for note in notes))


def _changes(job: RulesJob, told: dict[str, Any]) -> RenderableType:
    shown = table("change<", "saves", "pays from requests")
    notes = [f"saves: over the {job.requests:,} requests that follow the change"]
    edit, compaction = told["edit"], told["compaction"]
    if edit is not None:
        what = f"{edit['removed_tokens']:,} tokens less, {edit['rewritten_tokens']:,} written again"
        notes.append(f"edit: {what}")
        shown.add_row("edit", usd(edit["saves_usd"]), _figure(edit["pays_from_requests"]))
    if compaction is not None:
        what = f"{compaction['kept_tokens']:,} kept, {compaction['summary_tokens']:,} of summary"
        notes.append(f"compaction: {what}")
        for name in ("while_cached", "after_a_lapse"):
            one = compaction[name]
            shown.add_row(
                f"compaction, {name.replace('_', ' ')}",
                usd(one["saves_usd"]),
                _figure(one["pays_from_requests"]),
            )
    return Group(shown, *(Text(note, "dim") for note in notes))


def _figure(value: float | str | None) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else f"{value:.3g}"

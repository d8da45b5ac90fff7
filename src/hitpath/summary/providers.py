"""What providers' caches would have read and written for a trace, and what each would charge.

One `Provider` of `sim.models.providers` a provider, on one machine that forgets nothing before its
time: an upper bound, for a provider may route elsewhere or run out of room. Nothing was measured.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hitpath.core import ABSENT, SettingError
from hitpath.cost.bill import Bill, bill_rows
from hitpath.cost.price_list import PriceList
from hitpath.cost.prices import PROMPT_BUCKETS
from hitpath.cost.provider_prices import PriceSchedule
from hitpath.cost.usage import Usage
from hitpath.sim.models.provider_breakpoints import (
    ANTHROPIC_MINIMUMS,
    BreakpointProvider,
    BreakpointRule,
    OpenAiBreakpoints,
)
from hitpath.sim.models.provider_prefixes import (
    GEMINI_2_5,
    GEMINI_3,
    OPENAI,
    PrefixProvider,
    PrefixRule,
    UnitProvider,
)
from hitpath.sim.models.providers import HOUR_S, Predicted, Prompt, Provider
from hitpath.summary.provider_prompts import (
    FIVE_MINUTES_S,
    ProviderPrompts,
    automatic_prompts,
    bodies,
    reported_of,
)
from hitpath.traces.table import Floats, Ints, Trace

PROVIDERS = ("openai", "openai-breakpoints", "anthropic", "gemini", "deepseek", "bedrock")
DEFAULT_LEAST = 1024
_COARSE = 16
_MANY_UNITS = 1 << 22


@dataclass(frozen=True, slots=True)
class PredictedCache:
    """One provider. read, written, written_1h: tokens of each request (N), written of both
    lifetimes together. rule: the model's rule in one line. bill: of the counted requests, None
    where no prices were asked for."""

    provider: str
    rule: str
    read: Ints
    written: Ints
    written_1h: Ints
    bills_writes: bool
    notes: tuple[str, ...]
    prices: str | None = None
    bill: Bill | None = None
    without_cache_usd: float | None = None

    @property
    def prompt_usd(self) -> float | None:
        """What the prompts cost, None where a price is not known."""
        if self.bill is None:
            return None
        parts = [self.bill.buckets[name].usd for name in PROMPT_BUCKETS]
        return None if None in parts else sum(part for part in parts if part is not None)


@dataclass(frozen=True, slots=True)
class Refused:
    """A provider for which nothing can be said of this trace, and why."""

    provider: str
    cause: str


@dataclass(frozen=True, slots=True)
class ReportedCache:
    """What the requests report; sums over `rows` (numbers of those that do), None where none."""

    rows: Ints
    prompt_tokens: int | None
    read_tokens: int | None
    written_tokens: int | None
    usd: float | None
    num_usd: int


@dataclass(frozen=True, slots=True)
class ProvidersAnalysis:
    """counted: rows that enter the sums."""

    trace: Trace
    prompts: ProviderPrompts
    counted: Ints
    reported: ReportedCache
    predicted: tuple[PredictedCache | Refused, ...]
    notes: tuple[str, ...]

    def hit_rate(self, read: Ints, rows: Ints) -> float | None:
        """Read tokens of all prompt tokens of these rows."""
        total = int(self.prompts.prompt_tokens[rows].sum())
        return float(read[rows].sum() / total) if total else None


def predict_providers(
    trace: Trace, prompts: ProviderPrompts, names: Sequence[str], prices: PriceList | None
) -> ProvidersAnalysis:
    """Raises SettingError for prices of a provider that is not asked for."""
    counted = np.flatnonzero(trace.counted)
    schedules = _schedules(names, prices)
    predicted: list[PredictedCache | Refused] = []
    for name in names:
        schedule = schedules.get(name)
        models = (*trace.model.names, *([] if schedule is None else [schedule.name]))
        found = _predicted(trace, prompts, name, models)
        if isinstance(found, PredictedCache) and schedule is not None:
            found = _billed(trace, prompts, found, schedule, counted)
        predicted.append(found)
    return ProvidersAnalysis(
        trace, prompts, counted, _reported(trace, counted), tuple(predicted), _notes(trace, prompts)
    )


def _schedules(names: Sequence[str], prices: PriceList | None) -> Mapping[str, PriceSchedule]:
    """Provider -> its prices; those without a provider's name stand for every other."""
    if prices is None:
        return {}
    found: dict[str, PriceSchedule] = {}
    for label, schedule in prices.entries:
        if label is not None and label not in names:
            known = ", ".join(names)
            raise SettingError(f"--prices {label}={schedule.name}", f"not one of {known}")
    by_label = dict(prices.entries)
    for name in names:
        schedule_or_none = by_label.get(name, by_label.get(None))
        if schedule_or_none is not None:
            found[name] = schedule_or_none
    return found


def _notes(trace: Trace, prompts: ProviderPrompts) -> tuple[str, ...]:
    notes = [*prompts.notes]
    left_out = len(trace) - int(trace.counted.sum())
    if left_out:
        notes.append(f"requests that contradict themselves, left out of all sums: {left_out:,}")
    if prompts.marks is not None:
        unknown = sum(its is None for its in prompts.marks)
        if unknown:
            notes.append(f"requests whose blocks cannot be told: {unknown:,}")
    return tuple(notes)


def _predicted(
    trace: Trace, prompts: ProviderPrompts, name: str, models: Sequence[str]
) -> PredictedCache | Refused:
    """models: names that tell the minimum, those of the trace before the priced one."""
    gemini = _gemini_rule(models)
    of_gemini = f"from {gemini.least:,} on; 10 min idle"
    make: Callable[[], tuple[Provider, list[Prompt], str, list[str]]] = {
        "openai": lambda: _prefixes(prompts, OPENAI, "1,024 and steps of 128; 10 min idle"),
        "gemini": lambda: _prefixes(prompts, gemini, of_gemini),
        "deepseek": lambda: _units_rule(prompts),
        "anthropic": lambda: _marked(trace, prompts, "Anthropic's", models),
        "bedrock": lambda: _marked(trace, prompts, "Bedrock's", models),
        "openai-breakpoints": lambda: _openai_marked(prompts),
    }[name]
    provider, asked, rule, notes = make()
    rows: list[Predicted] = []
    for row, prompt in zip(prompts.order, asked, strict=True):
        try:
            rows.append(provider.serve(prompt))
        except SettingError as error:
            return Refused(name, f"request {trace.ids[row]}: {error.option} {error.cause}")
    least, step = _rounding(name, gemini)
    read, written, hour = _columns(prompts, asked, rows, least, step)
    bills_writes = name in ("anthropic", "bedrock", "openai-breakpoints")
    return PredictedCache(name, rule, read, written, hour, bills_writes, tuple(notes))


def _rounding(name: str, gemini: PrefixRule) -> tuple[int, int]:
    return {"openai": (OPENAI.least, OPENAI.step), "gemini": (gemini.least, 1)}.get(name, (0, 1))


def _gemini_rule(models: Sequence[str]) -> PrefixRule:
    """That of Gemini 3 and later where a name says so, and none says 1 or 2."""
    versions = {found[1] for name in models if (found := re.search(r"gemini-(\d)", name.lower()))}
    return GEMINI_3 if versions and not versions & {"1", "2"} else GEMINI_2_5


def _columns(
    prompts: ProviderPrompts,
    asked: Sequence[Prompt],
    rows: Sequence[Predicted],
    least: int,
    step: int,
) -> tuple[Ints, Ints, Ints]:
    """(read, written, of it for an hour) of each request in the order of the trace, in tokens. A
    place at the last unit is the prompt's end, whole or not."""
    read, written, hour = (np.zeros(len(prompts), dtype=np.int64) for _ in range(3))
    for row, prompt, its in zip(prompts.order, asked, rows, strict=True):
        whole, total = len(prompt.tokens), int(prompts.prompt_tokens[row])
        read[row] = min(its.read * prompts.size, total)
        if least and read[row]:
            read[row] -= read[row] % step
            read[row] = read[row] if read[row] >= least else 0
        behind = its.read + its.num_written
        end = total if behind == whole else min(behind * prompts.size, total)
        written[row] = end - read[row] if its.num_written else 0
        for lifetime_s, units in its.written.items():
            if lifetime_s >= HOUR_S:
                hour[row] += min(units * prompts.size, int(written[row]))
    return read, written, hour


def _in_units(rule: PrefixRule, size: int) -> PrefixRule | None:
    """The rule over units of `size` tokens; None where its steps and they do not go together."""
    least = -(-rule.least // size)
    if size % rule.step == 0:
        return replace(rule, least=least, step=1)
    if rule.step % size == 0:
        return replace(rule, least=least, step=rule.step // size)
    return None


def _prefixes(
    prompts: ProviderPrompts, rule: PrefixRule, text: str
) -> tuple[Provider, list[Prompt], str, list[str]]:
    notes: list[str] = []
    own = _in_units(rule, prompts.size)
    if own is None:
        own = replace(rule, least=-(-rule.least // prompts.size), step=1)
        notes.append(
            f"blocks of {prompts.size} tokens and steps of {rule.step} do not go together: matched "
            "in whole blocks, then rounded down"
        )
    if own.step == 1 and prompts.size == 1 and sum(map(len, prompts.units)) > _MANY_UNITS:
        own = replace(own, step=_COARSE)
        notes.append(f"matched in steps of {_COARSE} tokens, for there are many")
    return PrefixProvider(own), automatic_prompts(prompts), text, notes


def _units_rule(prompts: ProviderPrompts) -> tuple[Provider, list[Prompt], str, list[str]]:
    notes = [
        "the intervals at which long prompts are stored too are not told by the provider: none"
    ]
    if not any(prompts.outputs):
        notes.append("no replies in the trace: a reply's end is no unit here")
    notes += _whole_blocks(prompts)
    text = "whole units: ends of prompts and replies, where prompts parted; 24 h idle"
    return UnitProvider(), automatic_prompts(prompts, whole=True), text, notes


def _marked(
    trace: Trace, prompts: ProviderPrompts, whose: str, models: Sequence[str]
) -> tuple[Provider, list[Prompt], str, list[str]]:
    least, notes = _least(trace, models, prompts.size)
    told = _told_marks(prompts, notes)
    asked = bodies(prompts, FIVE_MINUTES_S, automatic=not _is_marked(prompts))
    text = f"{whose} breakpoints ({told}), 20 places back, from {least * prompts.size:,} on; 5 min"
    return BreakpointProvider(BreakpointRule(least)), asked, text, notes


def _is_marked(prompts: ProviderPrompts) -> bool:
    """Whether a body of the trace has a breakpoint: then those without one cache nothing."""
    return any(its is not None and (its.marks or its.automatic) for its in prompts.marks or ())


def _told_marks(prompts: ProviderPrompts, notes: list[str]) -> str:
    """ "as sent" or "automatic", with what must be said of it."""
    if prompts.marks is None:
        notes.append(
            "the trace has no breakpoints and no blocks: automatic caching, a breakpoint at the "
            "end of each prompt; ends of earlier prompts that one continues count as its blocks' "
            "ends, so that 20 blocks and more between two turns are not seen"
        )
        notes += _whole_blocks(prompts)
        return "automatic"
    if not _is_marked(prompts):
        notes.append("no request marks anything: automatic caching, a breakpoint at each end")
        return "automatic"
    unmarked = sum(its is None or not (its.marks or its.automatic) for its in prompts.marks)
    if unmarked:
        notes.append(
            f"requests that mark nothing: {unmarked:,}; as sent, nothing of them is cached"
        )
    return "as sent"


def _whole_blocks(prompts: ProviderPrompts) -> list[str]:
    if prompts.size == 1:
        return []
    told = (
        f"ends are known to whole blocks of {prompts.size} tokens: a prompt that shares all whole "
    )
    return [told + "blocks of an earlier one counts as going on from its end, which may not be so"]


def _least(trace: Trace, models: Sequence[str], size: int) -> tuple[int, list[str]]:
    """The shortest prefix that is cached, in units, by the models that the trace names, or else by
    the one that is priced."""
    found = {least for name in trace.model.names if (least := _minimum_of(name)) is not None}
    whose = "the model"
    if not found:
        found = {least for name in models if (least := _minimum_of(name)) is not None}
        whose = "the model that is priced; the trace names none with a known minimum"
    if len(found) == 1:
        least = found.pop()
        return -(-least // size), [f"nothing shorter than {least:,} tokens is cached by {whose}"]
    cause = "several models with several minimums" if found else "no model with a known minimum"
    note = f"{cause} in the trace: the shortest prefix that is cached is taken as {DEFAULT_LEAST:,}"
    return -(-DEFAULT_LEAST // size), [note]


def _minimum_of(model: str) -> int | None:
    """claude-opus-4-5-20251101, anthropic/claude-opus-4.5 or claude-3-5-haiku: of "opus-4.5" ..."""
    plain = model.lower().replace(".", "-")
    for name, least in ANTHROPIC_MINIMUMS.items():
        family, version = name.replace(".", "-").split("-", 1)
        behind = rf"{family}-{version}(?!-?\d{{1,2}}(?!\d))"
        if re.search(rf"\b({behind}|{version}-{family})\b", plain):
            return least
    return None


def _openai_marked(prompts: ProviderPrompts) -> tuple[Provider, list[Prompt], str, list[str]]:
    notes: list[str] = []
    modes = {its.mode for its in prompts.marks or () if its is not None and its.mode is not None}
    mode = "explicit" if modes == {"explicit"} else "implicit"
    if len(modes) > 1:
        notes.append("requests with and without implicit breakpoints: taken as with")
    if prompts.marks is None:
        notes.append(
            "the trace has no blocks: a breakpoint at the end of each prompt; ends of earlier "
            "prompts that one continues count as ends of its messages"
        )
        notes += _whole_blocks(prompts)
    asked = bodies(prompts, FIVE_MINUTES_S, automatic=False)
    least = -(-1024 // prompts.size)
    text = f"breakpoints, {mode}: exact ends only, from 1,024 on; 30 min"
    return OpenAiBreakpoints(mode, least), asked, text, notes  # type: ignore[arg-type]


def _billed(
    trace: Trace,
    prompts: ProviderPrompts,
    found: PredictedCache,
    schedule: PriceSchedule,
    counted: Ints,
) -> PredictedCache:
    """With what it costs; the output is that of the trace."""
    tokens = prompts.prompt_tokens[counted]
    output = _output(trace, prompts)[counted]
    zeros = np.zeros(len(counted), dtype=np.int64)
    read, hour = found.read[counted], found.written_1h[counted]
    written = found.written[counted] if found.bills_writes else zeros
    hour = hour if found.bills_writes else zeros
    usage = Usage(tokens - read - written, read, written - hour, hour, output)
    in_force, which = schedule.at_times(trace.arrival_s[counted])
    bill = bill_rows(usage, in_force, which)
    nothing = Usage(tokens, zeros, zeros, zeros, output)
    plain = bill_rows(nothing, in_force, which)
    parts = [plain.buckets[name].usd for name in PROMPT_BUCKETS]
    without = None if None in parts else sum(part for part in parts if part is not None)
    return replace(found, prices=schedule.name, bill=bill, without_cache_usd=without)


def _output(trace: Trace, prompts: ProviderPrompts) -> Ints:
    if trace.identity == "text":
        told = trace.reported_output.copy()
        scale = prompts.bytes_per_token or 1.0
        held = (told == ABSENT) & trace.has_output
        told[held] = (trace.output_tokens[held] / scale).astype(np.int64)
        return told
    return np.where(trace.reported_output == ABSENT, trace.output_tokens, trace.reported_output)


def _reported(trace: Trace, counted: Ints) -> ReportedCache:
    read, prompt = reported_of(trace)
    rows = counted[read[counted] != ABSENT]
    written = trace.reported_written[rows]
    usd: Floats = trace.reported_usd[counted]
    told = ~np.isnan(usd)
    whole = prompt[rows]
    return ReportedCache(
        rows,
        int(whole.sum()) if len(rows) and np.all(whole != ABSENT) else None,
        int(read[rows].sum()) if len(rows) else None,
        int(written[written != ABSENT].sum()) if np.any(written != ABSENT) else None,
        float(usd[told].sum()) if np.any(told) else None,
        int(told.sum()),
    )

"""The page of an engine's statistics: the answer, its window and weighting, what is not known."""

from collections.abc import Callable, Iterable, Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from hitpath.report.observed import MOST_RATES, answer, joined, rate_text, weighting
from hitpath.report.pages import titled
from hitpath.report.text_parts import bar, count, label, levels, percent, table
from hitpath.traces.engine_logs import QUANTITIES, Observation, Observed

_ENGINES = {"vllm": "vLLM", "sglang": "SGLang"}
_MOST_LISTED = 10
_MOST_FIGURES = 16
_MOST_TRAPS = 16
_PLOT_WIDTH = 48
_TOLD = {
    "counters": "counters",
    "difference": "difference of two readings of its counters",
    "lines": "added up from its lines",
    "printed": "as the engine printed it",
    "gauge": "gauge",
    "derived": "added up",
}


def print_observed(observed: Observed, console: Console) -> None:
    """The whole page."""
    for section in _sections(observed):
        console.print(section)


def _sections(observed: Observed) -> Iterable[RenderableType]:
    yield _head(observed)
    if observed.observations:
        yield titled("Every hit rate that is told", _figures(observed))
    moving = [one for one in observed.headline if len({p.rate for p in one.over_time}) > 1]
    if moving:
        yield titled("Over time", _over_time(moving))
    if observed.facts:
        yield titled("Also told", _facts(observed))
    if observed.headline:
        yield titled("What this rate counts", _bullets(_covers(observed.headline)))
    if observed.skipped:
        yield titled(f"Lines left out: {observed.skipped.num:,}", _skipped(observed))
    if observed.traps:
        yield titled("Before you quote a number", _bullets(_at_most(observed.traps)))
    more = Text("requests: see docs/trace-format.md for the logs that have them", style="dim")
    yield titled("Not known from this", Group(_bullets(observed.not_known), more))


def _at_most(texts: Sequence[str]) -> Sequence[str]:
    more = len(texts) - _MOST_TRAPS
    return [*texts[:_MOST_TRAPS], f"… and {more:,} more (--json)"] if more > 0 else texts


def _head(observed: Observed) -> RenderableType:
    headline = observed.headline
    engines = joined([_ENGINES[name] for name in observed.engines]) or "engine"
    lines = f"{count(observed.num_lines)} line" + ("s" if observed.num_lines != 1 else "")
    used = f"{count(observed.num_used_lines)} of them used"
    models = {one.model for one in headline if one.model}
    model = f" · model {models.pop()}" if len(models) == 1 else ""
    where = label(f"{engines}{model} · statistics, no requests · {lines}, {used}")
    where.stylize("dim")
    sentence = answer(headline)
    if sentence is None:
        big = Text("No hit rate can be said from this", style="bold yellow")
        return Padding(Group(big, where), (1, 0, 1, 2))
    rates, of, rest = sentence.partition(" of ")
    big = Text.assemble((rates, "bold green"), of, rest)
    return Padding(Group(big, *_windows(headline), where), (1, 0, 1, 2))


def _windows(headline: Sequence[Observation]) -> Iterable[Text]:
    """Window and weighting of the answer; of several rates, what they are of."""
    first = headline[0]
    weights = joined(sorted({weighting(one) for one in headline}))
    told = joined(sorted({_TOLD[one.kind] for one in headline}))
    if len(headline) == 1:
        whose = f"{first.worker} · " if first.worker else ""
        yield label(f"{whose}window: {first.window.text}")
        counts = f": {count(first.hit)} of {count(first.total)}" if first.hit is not None else ""
        yield label(f"weighted {weights}{counts} · {told}")
        return
    yield Text(f"{len(headline)} rates that cannot be added up, each with a window of its own:")
    for one in headline[:MOST_RATES]:
        whose = ", ".join(filter(None, (one.model, one.worker))) or _ENGINES[one.engine]
        yield label(f"  {rate_text(one):>8}  {whose}: {one.window.text}")
    if len(headline) > MOST_RATES:
        yield Text(f"  … and {len(headline) - MOST_RATES:,} more (below, and in --json)")
    yield label(f"weighted {weights} · {told}")


def _figures(observed: Observed) -> RenderableType:
    """All figures, the answer's first; where windows differ, each with the number of its own."""
    told = [one for one in observed.observations if not _is_idle_connector(one)]
    windows = dict.fromkeys(one.window.text for one in (*observed.headline, *told))
    numbers = {text: i for i, text in enumerate(windows, 1)}
    answers = {id(one) for one in observed.headline}
    told.sort(key=lambda one: (numbers[one.window.text], id(one) not in answers))
    del told[_MOST_FIGURES:]
    several = len({one.model for one in told}) > 1
    columns: dict[str, Callable[[Observation], RenderableType]] = {
        "what<": lambda one: QUANTITIES[one.quantity].title,
        "whose~": lambda one: _whose(one, several),
        "hit rate": rate_text,
        "=": lambda one: bar(one.rate, 12, "green"),
        "hit": lambda one: count(one.hit),
        "of": lambda one: count(one.total),
        "window": lambda one: str(numbers[one.window.text]),
    }
    if not any(_whose(one, several) for one in told):
        del columns["whose~"]
    if all(one.hit is None for one in told):
        del columns["hit"], columns["of"]
    if len(numbers) == 1:
        del columns["window"]
    shown = table(*columns)
    for one in told:
        shown.add_row(
            *(_cell(cell(one)) for cell in columns.values()),
            style="bold" if id(one) in answers else "",
        )
        for source, hit in one.parts:
            share = percent(None if not one.total else hit / one.total)
            part = {"what<": f"  {_source(source)}", "hit rate": share, "hit": count(hit)}
            shown.add_row(*(_cell(part.get(name, "")) for name in columns), style="dim")
    used = {one.window.text for one in told}
    legend = [label(f"window {numbers[text]}: {text}") for text in windows if text in used]
    more = len(observed.observations) - len(told)
    if more and len(told) == _MOST_FIGURES:
        legend.append(Text(f"… and {more:,} more (--json)", style="dim"))
    return Group(shown, *(legend if len(numbers) > 1 else ()))


def _whose(one: Observation, several: bool) -> str:
    """The worker, and its model where there are several."""
    return ", ".join(filter(None, (one.model if several else None, one.worker)))


def _cell(content: RenderableType) -> RenderableType:
    return label(content) if isinstance(content, str) else content


def _source(name: str) -> str:
    return name.replace("_", " ") or "source not told"


def _is_idle_connector(one: Observation) -> bool:
    """vLLM exports a connector's counters without one too."""
    return one.quantity == "external_prefix_cache" and one.hit == one.total == 0


def _over_time(moving: Sequence[Observation]) -> RenderableType:
    shown = table("<", "<", "lowest", "highest", "last")
    for one in moving[:_MOST_LISTED]:
        rates = [point.rate for point in one.over_time]
        known = [rate for rate in rates if rate is not None]
        step = max(1, -(-len(rates) // _PLOT_WIDTH))
        plot = levels(rates[::step], max(known, default=0.0))
        low, high = (min(known), max(known)) if known else (None, None)
        shown.add_row(
            label(one.worker or QUANTITIES[one.quantity].title),
            Text(plot, style="green"),
            percent(low),
            percent(high),
            percent(rates[-1]),
        )
    first = moving[0].over_time
    note = f"{first[0].at or 'first'} to {first[-1].at or 'last'}; bars from 0 to the highest rate"
    return Group(shown, label(note))


def _facts(observed: Observed) -> RenderableType:
    shown = table("<", "~")
    shown.show_header = False
    for fact in observed.facts[: 2 * _MOST_LISTED]:
        shown.add_row(label(fact.name), label(fact.value))
    return shown


def _covers(headline: Sequence[Observation]) -> list[str]:
    seen: dict[str, None] = {}
    for one in headline:
        seen.update(dict.fromkeys(QUANTITIES[one.quantity].covers))
    return list(seen)


def _bullets(texts: Iterable[str]) -> RenderableType:
    return Group(*(_bullet(text) for text in texts))


def _bullet(text: str) -> RenderableType:
    """Hanging, so that a long one is seen to be one."""
    hanging = table("<", "~")
    hanging.show_header = False
    hanging.add_row("•", label(text))
    return hanging


def _skipped(observed: Observed) -> RenderableType:
    lines = [label(f"{p.place}: {p.field}: {p.cause}") for p in observed.skipped[:_MOST_LISTED]]
    if observed.skipped.num > _MOST_LISTED:
        lines.append(Text(f"… and {observed.skipped.num - _MOST_LISTED:,} more (--json)"))
    return Group(*lines)

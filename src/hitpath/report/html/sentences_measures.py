"""What the pictures of cache size, time, time kept and prompt length show, and what follows."""

from collections.abc import Sequence
from dataclasses import dataclass

from hitpath.accounting.rates import ratio
from hitpath.report.html.sentences import FEWEST_REQUESTS, Note
from hitpath.report.html.words import Unit, and_list, memory, pct
from hitpath.report.text_parts import count, seconds

_ENOUGH = 0.99
_FAR_APART = 0.05
_MARKED = 1.25
_FEWEST_BEGUN = 0.01


@dataclass(frozen=True, slots=True)
class CurveFacts:
    """reach_90: tokens that reach 90 % of the ceiling, and their GiB. configured: tokens of one
    worker, None for unlimited; reached: the share of the ceiling that one cache of that size
    gets, or of all `workers` together as one."""

    ceiling: float | None
    reach_90: int | None
    reach_90_gib: float | None
    configured: int | None
    workers: int
    reached_one: float | None
    reached_all: float | None


def capacity(facts: CurveFacts, unit: Unit) -> Note:
    """Which size is enough, and how far the configured one goes."""
    if facts.reach_90 is None or facts.ceiling is None:
        return Note("Nothing is ever reused, so no cache size helps.", "Look at the prompts.")
    size = "" if facts.reach_90_gib is None else f" ({memory(facts.reach_90_gib)})"
    shows = (
        f"A cache of {count(facts.reach_90)} {unit.size}{size} reaches 90\u00a0% of the ceiling of "
        f"{pct(facts.ceiling)}"
    )
    if facts.configured is None or facts.reached_one is None or facts.reached_all is None:
        return Note(
            f"{shows}; this analysis took an unlimited cache.",
            "Name yours with --engine lru and --capacity-tokens to see what it reaches.",
        )
    shows += (
        f"; the configured {count(facts.configured)} {unit.size} reach {pct(facts.reached_one)}"
    )
    if facts.workers > 1:
        shows += (
            f" of it as one cache; all {facts.workers} workers' memory, if it were one cache, "
            f"{pct(facts.reached_all)}"
        )
    else:
        shows += " of it"
    if facts.reached_one >= _ENOUGH:
        return Note(f"{shows}.", "More memory buys almost nothing here.")
    if facts.reached_all >= _ENOUGH:
        do = "The memory is there, but split: better routing or a shared tier comes before more."
        return Note(f"{shows}.", do)
    do = "A larger cache or a second tier helps; go by the steepest part of the curve."
    if facts.reached_one >= 0.9:
        do = "More memory helps a little: compare its price with the last few per cent."
    return Note(f"{shows}.", do)


@dataclass(frozen=True, slots=True)
class TimeFacts:
    """Rates are token-weighted: of the windows, of all requests and of the second half of them.
    starts_empty: whether the cache is a model, which holds nothing at first. Pairs are of the
    first and the second half: the mean prompt, and the share of requests that begin a session
    (None where none is named)."""

    lowest: float | None
    highest: float | None
    whole: float | None
    steady: float | None
    num_requests: int
    starts_empty: bool
    mean_prompt: tuple[float, float]
    begun_frac: tuple[float, float] | None


def over_time(facts: TimeFacts, unit: Unit) -> Note:
    """The range over windows, and whether the second half differs from the whole."""
    lowest, highest, whole, steady = facts.lowest, facts.highest, facts.whole, facts.steady
    if lowest is None or highest is None or whole is None:
        return Note("There is no rate over time.", "")
    if not highest:
        return Note("No request hits, in any window.", "")
    if facts.num_requests < FEWEST_REQUESTS:
        shows = f"{pct(whole)} hit in the whole trace, {pct(steady)} in its second half: "
        return Note(f"{shows}{count(facts.num_requests)} requests are too few for more.", "")
    shows = (
        f"The token-weighted hit rate moves between {pct(lowest)} and {pct(highest)} from window "
        f"to window; the second half alone has {pct(steady)}, the whole trace {pct(whole)}."
    )
    if steady is None:
        return Note(shows, "The second half has no rate: quote the span of time with the whole.")
    if abs(steady - whole) > _FAR_APART / 2:
        return Note(shows, _why_it_moved(facts, steady > whole, unit))
    if highest - lowest > 4 * _FAR_APART:
        do = "Both halves agree, single windows do not: never quote a few minutes."
        return Note(shows, do)
    return Note(shows, "It is steady: the rate of the whole trace can be quoted.")


def _why_it_moved(facts: TimeFacts, rises: bool, unit: Unit) -> str:
    """What changed with the rate, as far as the trace tells it."""
    reasons = []
    first, second = facts.mean_prompt
    if first and (second >= _MARKED * first or first >= _MARKED * second):
        kind = "longer" if second > first else "shorter"
        reasons.append(
            f"prompts are {kind} there (a mean of {second:,.0f} {unit.many}, {first:,.0f} in the "
            "first half)"
        )
    if facts.begun_frac is not None:
        first, second = facts.begun_frac
        less, more = (second, first) if rises else (first, second)
        if more >= _MARKED * less and more - less >= _FEWEST_BEGUN:
            kind = "fewer" if rises else "more"
            reasons.append(
                f"{kind} requests begin a session ({pct(second)}, {pct(first)} in the first half)"
            )
    moved = f"It {'rises' if rises else 'falls'} in the second half"
    if reasons:
        return f"{moved}, and {and_list(reasons)}: quote both figures with that."
    if rises and facts.starts_empty:
        return (
            f"{moved}: the modelled cache is empty at first. For a service that keeps running, "
            "quote the second half."
        )
    return f"{moved}: quote both figures, not the whole alone."


def gaps(median_s: float | None, within: Sequence[tuple[float, float | None]], unit: Unit) -> Note:
    """within: (seconds that a block is kept after each use, share still there)."""
    known = [(ttl, share) for ttl, share in within if share is not None]
    if not known or median_s is None:
        return Note("Nothing is ever used again.", "")
    shows = f"Half of the reusable {unit.many} return within {seconds(median_s)}"
    enough = next(((ttl, share) for ttl, share in known if share >= 0.95), None)
    if enough is None:
        ttl, share = known[-1]
        shows += f", and only {pct(share)} within {seconds(ttl)}."
        return Note(shows, "Reuse is slow: a disk or remote tier fits better than more GPU memory.")
    ttl, share = enough
    do = f"Anything that keeps blocks for {seconds(ttl)} after each use is long enough"
    five = next((s for t, s in known if t == 300), None)
    if five is not None and ttl > 300:
        do += f"; a provider that forgets after 5 min serves {pct(five)}"
    return Note(f"{shows}, and {pct(share)} within {seconds(ttl)}.", do + ".")


@dataclass(frozen=True, slots=True)
class LengthBin:
    """Requests whose prompt has from `low` to below `high` tokens (or bytes)."""

    low: int
    high: int
    num_requests: int
    prompt_tokens: int
    hit_tokens: int

    @property
    def rate(self) -> float | None:
        """Token-weighted."""
        return ratio(self.hit_tokens, self.prompt_tokens)


def lengths(bins: Sequence[LengthBin], unit: Unit) -> Note:
    """Where the tokens are, and whether long or short prompts hit."""
    full = [b for b in bins if b.prompt_tokens]
    if not full:
        return Note("There are no prompts.", "")
    most = max(full, key=lambda b: b.prompt_tokens)
    total = sum(b.prompt_tokens for b in full)
    shows = (
        f"Prompts of {count(most.low)} to {count(most.high)} {unit.many} hold "
        f"{pct(ratio(most.prompt_tokens, total))} of all prompt {unit.many} and hit "
        f"{pct(most.rate)}"
    )
    worst = max(full, key=lambda b: b.prompt_tokens - b.hit_tokens)
    missed = sum(b.prompt_tokens - b.hit_tokens for b in full)
    if not missed:
        return Note(f"{shows}.", f"Every {unit.one} hits.")
    part = pct(ratio(worst.prompt_tokens - worst.hit_tokens, missed))
    if worst is most:
        do = "What helps these prompts moves the rate; a change to others hardly shows."
        return Note(f"{shows}; they also have the most misses, {part} of all.", do)
    shows += f"; the most misses ({part}) are in prompts of {count(worst.low)} to "
    shows += f"{count(worst.high)} {unit.many}."
    fair = ratio(worst.prompt_tokens, sum(b.prompt_tokens for b in full)) or 0.0
    missing = ratio(worst.prompt_tokens - worst.hit_tokens, missed) or 0.0
    if missing <= fair:
        return Note(shows, "They are many rather than bad: their share of the misses is no larger.")
    return Note(shows, "Start with those: they miss more than their share.")

"""What each picture shows for this trace, and what to do about it: pure functions of its
numbers, so that each rule can be read and tested alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hitpath.accounting.rates import Group, ratio
from hitpath.report.html.words import and_list, gib, pct, printable
from hitpath.report.text_parts import count, seconds
from hitpath.sim.owners import SharedPairs

PLAIN = {
    "hit": "already in the cache, so not computed again",
    "unexplained": "the engine reported fewer hits than the modelled cache holds",
    "ineligible": "in the cache, but the engine's own rules forbade its use",
    "in_flight": "another request was just computing it",
    "elsewhere": "in a cache, but on another worker",
    "evicted": "computed before, but no longer in any cache",
    "rounding": "computed before, but less than a whole block, or the last token",
    "isolated": "computed before, under another salt or adapter",
    "diverged": "the same text, behind something that changes",
    "cold": "never computed before",
}
WHO = {
    "hit": "",
    "unexplained": "check the settings against the engine's",
    "ineligible": "engine and model settings",
    "in_flight": "admission and scheduling",
    "elsewhere": "the router",
    "evicted": "cache size, eviction policy, tiers",
    "rounding": "block size, engine rule",
    "isolated": "isolation policy",
    "diverged": "the application",
    "cold": "nobody",
}
_ADVICE = {
    "unexplained": "Set block size, capacity and workers to those of the engine, then look again.",
    "ineligible": "Look at the engine's settings for sliding windows, speculation and logprobs.",
    "in_flight": "Let requests with the same beginning wait for the first of them.",
    "elsewhere": "Let the router send a request to the worker that holds the longest part of its "
    "prompt (try --router prefix, or session).",
    "evicted": "Give the cache more room, or a second tier; the capacity picture below says how "
    "much is enough.",
    "rounding": "Smaller blocks win this back, if the engine allows them; it is never much a "
    "request.",
    "isolated": "This is the price of keeping salts and adapters apart; share a salt only where "
    "its users may know of each other's prompts.",
    "diverged": "Move what changes (times, ids) behind what stays the same.",
}
_NOT_STORED = (
    "Most of it are generated tokens that were not kept: see what --outputs insert changes."
)
_ENOUGH = 0.99
_SMALL = 0.005
_FAR_APART = 0.05


@dataclass(frozen=True, slots=True)
class Note:
    """`shows`: what a picture says of this trace. `do`: what follows from it."""

    shows: str
    do: str


def headline(rate: float | None, source: str) -> str:
    """The first sentence of the page, behind the big number."""
    told = {
        "modelled": "in the cache that hitpath modelled",
        "reported": "as the engine reported them",
        "mixed": "partly reported by the engine, partly modelled",
    }[source]
    if rate is None:
        return "There are no prompt tokens to measure."
    return f"of all prompt tokens were hits, {told}: reused instead of computed again."


def ladder(
    prompt: int,
    hit: int,
    causes: Mapping[str, int],
    not_stored: int = 0,
    better_order: int = 0,
) -> Note:
    """causes: tokens of every known cause and of `unexplained`; zeros allowed. not_stored,
    better_order: those of `evicted` that were never kept, and that the clairvoyant order keeps."""
    if not prompt:
        return Note("There are no prompt tokens.", "")
    lost = {name: n for name, n in causes.items() if name != "cold" and n}
    total = sum(lost.values())
    cold = causes.get("cold", 0)
    between = f"{pct(ratio(total, prompt))} lie" if total else "nothing lies"
    shows = (
        f"{pct(ratio(hit, prompt))} of the prompt tokens hit, {pct(ratio(cold, prompt))} were new "
        f"text that no cache could have held, and {between} between."
    )
    if not lost or total < _SMALL * prompt:
        return Note(shows, "Nothing worth chasing was lost: only other prompts would hit more.")
    worst = max(lost, key=lambda name: lost[name])
    advice = _ADVICE[worst]
    if worst == "evicted" and not_stored * 2 > lost[worst]:
        advice = _NOT_STORED
    elif worst == "evicted" and better_order * 2 > lost[worst]:
        advice += (
            f" At this size the best possible order would keep {count(better_order)} of them, "
            "so the eviction policy matters too."
        )
    words = worst.replace("_", " ")
    return Note(
        f"{shows} The largest loss is “{words}” ({count(lost[worst])} tokens, "
        f"{pct(ratio(lost[worst], prompt))}): {PLAIN[worst]}.",
        advice,
    )


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


def capacity(facts: CurveFacts) -> Note:
    """Which size is enough, and how far the configured one goes."""
    if facts.reach_90 is None or facts.ceiling is None:
        return Note("Nothing is ever reused, so no cache size helps.", "Look at the prompts.")
    memory = "" if facts.reach_90_gib is None else f" ({gib(facts.reach_90_gib)})"
    shows = (
        f"A cache of {count(facts.reach_90)} tokens{memory} reaches 90\u00a0% of the ceiling of "
        f"{pct(facts.ceiling)}"
    )
    if facts.configured is None or facts.reached_one is None or facts.reached_all is None:
        return Note(
            f"{shows}; this analysis took an unlimited cache.",
            "Name yours with --engine lru and --capacity-tokens to see what it reaches.",
        )
    shows += f"; the configured {count(facts.configured)} tokens reach {pct(facts.reached_one)}"
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


def over_time(
    lowest: float | None, highest: float | None, steady: float | None, whole: float | None
) -> Note:
    """The range over windows, and whether the second half differs from the whole."""
    if lowest is None or highest is None or whole is None:
        return Note("There is no rate over time.", "")
    shows = (
        f"The token-weighted hit rate moves between {pct(lowest)} and {pct(highest)} from window "
        f"to window; the second half alone has {pct(steady)}, the whole trace {pct(whole)}."
    )
    if steady is None:
        return Note(shows, "The second half has no rate: quote the span of time with the whole.")
    if steady - whole > _FAR_APART / 2:
        do = "The cache was still filling at first: for a service that keeps running, quote the "
        return Note(shows, do + "second half.")
    if whole - steady > _FAR_APART / 2:
        do = "It falls: look at what the later traffic asks for before quoting the whole."
        return Note(shows, do)
    if highest - lowest > 4 * _FAR_APART:
        do = "Both halves agree, single windows do not: never quote a few minutes."
        return Note(shows, do)
    return Note(shows, "It is steady: the rate of the whole trace can be quoted.")


def gaps(median_s: float | None, within: Sequence[tuple[float, float | None]]) -> Note:
    """within: (seconds that a block is kept after each use, share still there)."""
    known = [(ttl, share) for ttl, share in within if share is not None]
    if not known or median_s is None:
        return Note("Nothing is ever used again.", "")
    shows = f"Half of the reusable tokens return within {seconds(median_s)}"
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
    """Requests whose prompt has from `low` to below `high` tokens."""

    low: int
    high: int
    num_requests: int
    prompt_tokens: int
    hit_tokens: int

    @property
    def rate(self) -> float | None:
        """Token-weighted."""
        return ratio(self.hit_tokens, self.prompt_tokens)


def lengths(bins: Sequence[LengthBin]) -> Note:
    """Where the tokens are, and whether long or short prompts hit."""
    full = [b for b in bins if b.prompt_tokens]
    if not full:
        return Note("There are no prompts.", "")
    most = max(full, key=lambda b: b.prompt_tokens)
    total = sum(b.prompt_tokens for b in full)
    shows = (
        f"Prompts of {count(most.low)} to {count(most.high)} tokens hold "
        f"{pct(ratio(most.prompt_tokens, total))} of all prompt tokens and hit {pct(most.rate)}"
    )
    worst = max(full, key=lambda b: b.prompt_tokens - b.hit_tokens)
    missed = sum(b.prompt_tokens - b.hit_tokens for b in full)
    if not missed:
        return Note(f"{shows}.", "Every token hits.")
    part = pct(ratio(worst.prompt_tokens - worst.hit_tokens, missed))
    if worst is most:
        do = "What helps these prompts moves the rate; a change to others hardly shows."
        return Note(f"{shows}; they also have the most misses, {part} of all.", do)
    shows += f"; the most misses ({part}) are in prompts of {count(worst.low)} to "
    shows += f"{count(worst.high)} tokens."
    return Note(shows, "Start with those: they miss more than their share.")


@dataclass(frozen=True, slots=True)
class StretchFacts:
    """The shared stretch with the most reuse."""

    begin_token: int
    end_token: int
    num_requests: int
    share: float | None
    first_request: str


def tree(biggest: StretchFacts | None) -> Note:
    """What most reuse hangs on."""
    if biggest is None:
        return Note("No two prompts begin alike.", "Put what they have in common at the front.")
    shows = (
        f"{count(biggest.num_requests)} requests share their tokens {count(biggest.begin_token)} "
        f"to {count(biggest.end_token)} (first in request “{printable(biggest.first_request)}”): "
        f"{pct(biggest.share)} of all reuse."
    )
    return Note(
        shows,
        "Keep this text at the front and the same to the byte; a changed character "
        "in it loses all that follows.",
    )


def origin(same: int, session: int, tenant: int | None, without: int) -> Note:
    """Who had computed the hits: tokens."""
    total = same + session + (tenant or 0) + without
    if not total:
        return Note("There are no modelled hits to split.", "")
    shows = (
        f"{pct(ratio(same, total))} of the modelled hits come from the same session, "
        f"{pct(ratio(session + (tenant or 0), total))} from others"
    )
    if without:
        shows += f"; {pct(ratio(without, total))} are of requests that name no session"
    if tenant:
        do = (
            f"{pct(ratio(tenant, total))} cross tenants: fast answers can tell one tenant what "
            "another asked; a salt for each tenant ends that, at this price."
        )
    elif same * 2 > total:
        do = "Keep a session on the worker that served it before."
    else:
        do = "Keep shared beginnings (system prompts, documents) on every worker that serves them."
    return Note(f"{shows}.", do)


def pairs(found: SharedPairs) -> Note:
    """Who lives on whose work, past their own."""
    total = sum(pair.hit_tokens for pair in found.pairs)
    others = [pair for pair in found.pairs if pair.name != pair.brought_by]
    own = pct(ratio(found.own_tokens, total))
    shows = f"{own} of these hits are on what the same {found.label} had computed first."
    if not others:
        return Note(shows, f"No {found.label} lives on another's work: each can be served apart.")
    most = others[0]
    return Note(
        shows,
        f"Across, {printable(most.name)} gains most, from {printable(most.brought_by)}: "
        f"{count(most.hit_tokens)} tokens. Workers that serve the two apart lose them.",
    )


def groups(kind: str, found: Sequence[Group]) -> Note:
    """The group that misses most beyond its share of the traffic."""
    if not found:
        return Note(f"The trace names no {kind}.", "")
    rates = [g.hit_rate for g in found if g.hit_rate is not None]
    span = f"from {pct(min(rates))} to {pct(max(rates))}" if rates else "nowhere"
    shows = f"Hit rates by {kind} range {span}."
    known = all(g.possible_tokens is not None for g in found)
    lost = sum(_missed(g) for g in found)
    prompt = sum(g.prompt_tokens for g in found)
    if not lost:
        before = " that had been computed before" if known else ""
        return Note(shows, f"None misses anything{before}.")
    worst = max(found, key=lambda g: _missed(g) / lost - g.prompt_tokens / prompt)
    part, share = _missed(worst) / lost, worst.prompt_tokens / prompt
    if part - share < _FAR_APART:
        return Note(shows, f"The misses follow the traffic: no {kind} stands out.")
    name = printable(worst.name)
    name = name if name.startswith(kind) else f"{kind} {name}"
    if not known:
        return Note(
            shows,
            f"Look at {name} first: with {pct(share)} of the prompt tokens it has {pct(part)} of "
            f"the misses ({pct(worst.hit_rate)} hit; how much could have is not known).",
        )
    return Note(
        shows,
        f"Look at {name} first: with {pct(share)} of the prompt tokens it has {pct(part)} of the "
        f"misses of text computed before ({pct(worst.hit_rate)} hit, "
        f"{pct(ratio(worst.possible_tokens, worst.prompt_tokens))} possible).",
    )


def _missed(group: Group) -> int:
    """Misses of text computed before; all misses where that is not known."""
    lost = group.lost_tokens
    return group.prompt_tokens - group.hit_tokens if lost is None else lost


def unknown(names: Sequence[str]) -> str:
    """Over the list of what cannot be known."""
    if not names:
        return "Every label of the ladder is known for this trace."
    words = and_list([name.replace("_", " ") for name in names])
    return (
        f"This trace or engine model cannot tell {words}. These are not zero: their tokens stand "
        "in the next label below, so that label may be too large."
    )


def lengths_headline(rate: float | None) -> str:
    """The first sentence where nothing is modelled; None where nobody reports a hit."""
    if rate is None:
        return "hit rate can be told: this file has the lengths of prompts, and no reported hits."
    return "of the prompt tokens were hits, as the requests report them."


def lengths_only(hit: int | None, missed: int, not_reported: int) -> Note:
    """What is told of the tokens of a trace of lengths only."""
    do = (
        "Record token ids, block ids or text beside the lengths: then every missed token gets its "
        "cause, and other cache sizes their hit rate."
    )
    if hit is None:
        return Note("No request reports how much of its prompt was cached.", do)
    shows = (
        f"{pct(ratio(hit, hit + missed))} of the prompt tokens of requests that report were hits; "
        "why the others missed is not in this file."
    )
    if not_reported:
        share = pct(ratio(not_reported, hit + missed + not_reported))
        shows += f" {share} of all prompt tokens are of requests that report nothing: they are in "
        shows += "no rate."
    return Note(shows, do)


def hit_shares(steps: Sequence[tuple[str, int, float | None]]) -> Note:
    """steps: (name, requests, median seconds to the first token), from no hit upwards."""
    total = sum(requests for _, requests, _ in steps)
    parts = [
        f"{pct(ratio(n, total))} had no hit"
        if name == "no hit"
        else f"{pct(ratio(n, total))} hit {name} of their prompt"
        for name, n, _ in steps
    ]
    shows = f"Of the requests that report, {and_list(parts)}."
    timed = [(name, ttft) for name, _, ttft in steps if ttft is not None]
    if len(timed) < 2:
        return Note(shows, "")
    (low, slow), (high, fast) = timed[0], timed[-1]
    do = (
        f"The median time to the first token is {seconds(slow)} with {low}, {seconds(fast)} with "
        f"{high}: compare prompts of the same length before taking that for the cache's doing."
    )
    return Note(shows, do)


def lengths_unknown(why: str) -> str:
    """Over the list of what cannot be known from lengths."""
    return f"This is not zero, it is not known: {why}."

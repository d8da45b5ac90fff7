"""What the head and the waterfall show for this trace, and what to do about it. All sentences are
pure functions of the trace's numbers, so that each rule can be read and tested alone."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from hitpath.accounting.rates import ratio
from hitpath.core import CAUSES
from hitpath.report.html.words import Unit, and_list, pct
from hitpath.report.text_parts import count

FEWEST_REQUESTS = 30
"""With fewer, a picture says what it shows and advises nothing."""
_COLD = "not computed before behind the same beginning"
_PLAIN = {
    "hit": "already in the cache, so not computed again",
    "unexplained": "the engine reported fewer hits than the modelled cache holds",
    "ineligible": "in the cache, but the engine's own rules forbade its use",
    "in_flight": "another request was just computing it",
    "elsewhere": "in a cache, but on another worker",
    "evicted": "computed before, but no longer in any cache",
    "rounding": "computed before, but less than a whole block, or the last {one}",
    "isolated": "computed before, under another salt or adapter",
    "diverged": "the same text, behind something that changes",
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
    "cold": "the application, where the same text follows something that changes",
}
_STANDS_IN_COLD = {
    "isolated": "text computed under another salt or adapter",
    "diverged": "text that only moved",
}
_ADVICE = {
    "unexplained": "Set block size, capacity and workers to those of the engine, then look again.",
    "ineligible": "Look at the engine's settings for sliding windows, speculation and logprobs.",
    "in_flight": "Let requests with the same beginning wait for the first of them.",
    "elsewhere": "Let the router send a request to the worker that holds the longest part of its "
    "prompt (try --router prefix, or session).",
    "evicted": "Give the cache more room, or a second tier; the capacity picture below says how "
    "much is enough.",
    "rounding": "Smaller blocks win this back, if the engine allows them; it is at most "
    "one block a request.",
    "isolated": "This is the price of keeping salts and adapters apart; share a salt only where "
    "its users may know of each other's prompts.",
    "diverged": "Move what changes (times, ids) behind what stays the same.",
}
_NOT_STORED = "Most of it are replies that were not kept: see what --outputs insert changes."
_ONLY_COLD = (
    "Little is lost between. What is cold hits only where prompts begin alike: the application can "
    "put what changes (times, ids) behind what stays the same."
)
_SMALL = 0.005


@dataclass(frozen=True, slots=True)
class Note:
    """`shows`: what a picture says of this trace. `do`: what follows from it."""

    shows: str
    do: str


def if_enough(note: Note, num_requests: int) -> Note:
    """The note, without advice where the requests are too few to bear any."""
    return note if num_requests >= FEWEST_REQUESTS else replace(note, do="")


def plain(label: str, unit: Unit) -> str:
    """What a label of the ladder means; for `cold` see plain_cold."""
    return _PLAIN[label].format(one=unit.one)


def headline(rate: float | None, source: str, unit: Unit) -> str:
    """The first sentence of the page, behind the big number."""
    told = {
        "modelled": "in the cache that hitpath modelled",
        "reported": "as the engine reported them",
        "mixed": "partly reported by the engine, partly modelled",
    }[source]
    if rate is None:
        return f"There are no prompt {unit.many} to measure."
    return f"of all prompt {unit.many} were hits, {told}: reused instead of computed again."


def plain_cold(not_known: Collection[str]) -> str:
    """What `cold` means, with what else stands in it because the labels right above it are not
    known."""
    parts = []
    for cause in reversed(CAUSES[:-1]):
        if cause not in not_known or cause not in _STANDS_IN_COLD:
            break
        parts.append(_STANDS_IN_COLD[cause])
    return f"{_COLD}; this includes {and_list(parts)}" if parts else _COLD


@dataclass(frozen=True, slots=True)
class LadderFacts:
    """causes: prompt tokens (or bytes) of every known cause and of `unexplained`; zeros allowed.
    not_known: the other causes. not_stored, better_order: those of `evicted` that were never kept,
    and that the clairvoyant order keeps."""

    prompt: int
    hit: int
    causes: Mapping[str, int]
    not_known: Collection[str] = ()
    not_stored: int = 0
    better_order: int = 0


def ladder(facts: LadderFacts, unit: Unit, advice: Mapping[str, str] | None = None) -> Note:
    """Hit, cold and what lies between, with the largest loss. advice: by label, where the page has
    other options than `analyze`."""
    prompt = facts.prompt
    if not prompt:
        return Note(f"There are no prompt {unit.many}.", "")
    lost = {name: n for name, n in facts.causes.items() if name != "cold" and n}
    total = sum(lost.values())
    cold = facts.causes.get("cold", 0)
    between = f"{pct(ratio(total, prompt))} lie" if total else "nothing lies"
    shows = (
        f"{pct(ratio(facts.hit, prompt))} of the prompt {unit.many} hit, "
        f"{pct(ratio(cold, prompt))} are cold ({plain_cold(facts.not_known)}), and {between} "
        "between."
    )
    if not lost or total < _SMALL * prompt:
        return Note(shows, _ONLY_COLD if cold >= _SMALL * prompt else "Little is left to win.")
    worst = max(lost, key=lambda name: lost[name])
    words = worst.replace("_", " ")
    return Note(
        f"{shows} The largest loss is “{words}” ({count(lost[worst])} {unit.many}, "
        f"{pct(ratio(lost[worst], prompt))}): {plain(worst, unit)}.",
        _advice(worst, lost[worst], facts, advice or {}),
    )


def _advice(worst: str, lost: int, facts: LadderFacts, advice: Mapping[str, str]) -> str:
    if worst in advice:
        return advice[worst]
    if worst != "evicted":
        return _ADVICE[worst]
    if facts.not_stored * 2 > lost:
        return _NOT_STORED
    if facts.better_order * 2 > lost:
        return (
            f"{_ADVICE[worst]} At this size the best possible order would keep "
            f"{count(facts.better_order)} of them, so the eviction policy matters too."
        )
    return _ADVICE[worst]


def unknown(names: Sequence[str], unit: Unit) -> str:
    """Over the list of what cannot be known."""
    if not names:
        return "Every label of the ladder is known for this trace."
    words = and_list([name.replace("_", " ") for name in names])
    return (
        f"This trace or engine model cannot tell {words}. These are not zero: their {unit.many} "
        "stand in the next label below, so that label may be too large."
    )

"""What the pictures of a simulated fleet show, and what to do about it: pure functions."""

from collections.abc import Sequence

from hitpath.report.html.sentences import Note
from hitpath.report.html.words import pct
from hitpath.report.text_parts import count
from hitpath.report.units import number, ratio_text, short_time
from hitpath.summary.serving_records import (
    Funnel,
    Goodput,
    Serving,
    ServingWindow,
    StagePart,
    WorkerPart,
)

_HOT = 1.5
"""A worker with so many times the mean of requests is called hot."""
_MOSTLY = 0.5


def headline(serving: Serving) -> str:
    """Behind the hit rate."""
    p90 = serving.whole.latency.ttft_s.p90
    if p90 is None:
        return "of prompt tokens hit; no request was served to its end"
    return f"of prompt tokens hit; nine requests in ten had their first token within {_t(p90)}"


def _t(value: float | None) -> str:
    return "–" if value is None else short_time(value)


def latency(serving: Serving) -> Note:
    """Whether requests waited or computed."""
    ttft, waited = serving.whole.latency.ttft_s, serving.waited_s
    if ttft.mean is None or waited.mean is None:
        return Note("No request was served to its end.", "")
    shows = (
        f"The first token came after {_t(ttft.mean)} on average, {_t(ttft.p99)} at p99; "
        f"{_t(waited.mean)} of the average were spent waiting for admission."
    )
    if waited.mean > _MOSTLY * ttft.mean:
        return Note(shows, "Requests mostly wait: more workers, or fewer computed tokens, help.")
    return Note(shows, "")


def slo(goodput: Goodput) -> Note:
    """Kept or broken, and how many requests keep it themselves."""
    verdict = "The SLO is kept." if goodput.met else "The SLO is broken."
    per_s = "" if goodput.per_s is None else f", {number(goodput.per_s)} a second"
    good = f"{count(goodput.num_good)} requests keep its bounds themselves{per_s}."
    return Note(f"{verdict} {good}", "")


def elsewhere(router_has_index: bool) -> str:
    """What to do about prefixes on another worker than the chosen one."""
    if router_has_index:
        return (
            "The router knows of prefixes and weighed the load against them, or its index was "
            "wrong: a larger weight of the prefix, or an index without lag and loss, wins part of "
            "this back, if the load allows it."
        )
    return (
        "Let the router send a request to a worker that holds its prefix (try --router hitpath, "
        "llmd-precise or longest-prefix)."
    )


def funnel(found: Funnel, of_router: str) -> Note:
    """The widest step. of_router: what to do where it is the router's."""
    losses = {
        "was never computed before": found.prompt - found.ever,
        "was no longer in any cache, or less than a whole block": found.ever - found.best,
        "was on another worker than the chosen one": found.best - found.chosen,
        "was still in flight on the chosen worker": found.chosen - found.delivered,
    }
    advice = {
        "was on another worker than the chosen one": of_router,
        "was no longer in any cache, or less than a whole block": "A larger cache, or a slower "
        "tier behind it, would win most of this back.",
        "was still in flight on the chosen worker": "Letting a request wait for its twin would win "
        "this back.",
    }
    name, lost = max(losses.items(), key=lambda item: item[1])
    if not lost:
        return Note("Every prompt token hit.", "")
    share = pct(lost / found.prompt)
    return Note(
        f"The largest loss: {share} of the prompt tokens {_of(name)}.", advice.get(name, "")
    )


def _of(name: str) -> str:
    return name.replace("was", "were", 1)


def over_time(windows: Sequence[ServingWindow]) -> Note:
    """Whether the queue grows."""
    waiting = [w.waiting for w in windows if w.waiting is not None]
    if not waiting:
        return Note("The run is shorter than the distance of two samples.", "")
    half = len(waiting) // 2 or 1
    first, second = sum(waiting[:half]) / half, sum(waiting[half:]) / max(1, len(waiting) - half)
    shows = (
        f"On average {number(first)} requests waited on a worker in the first half, "
        f"{number(second)} in the second; at most {number(max(waiting))} in a window."
    )
    if second > 2 * first and second > 1:
        return Note(shows, "The queue grows: this load is more than the fleet carries.")
    return Note(shows, "")


def stages(parts: Sequence[StagePart], rates: Sequence[float]) -> Note:
    """From the slowest to the fastest stage."""
    known = [(rates[p.stage], p.part.latency.ttft_s.p90) for p in parts]
    told = [(rate, p90) for rate, p90 in known if p90 is not None]
    if not told:
        return Note("No stage served a request to its end.", "")
    (low, first), (high, last) = min(told), max(told)
    return Note(
        f"At {low:g} requests a second nine in ten have their first token within {_t(first)}, at "
        f"{high:g} within {_t(last)}.",
        "",
    )


def workers(parts: Sequence[WorkerPart]) -> Note:
    """Whether one is hot, of those that the router sends requests to."""
    asked = [part for part in parts if part.role != "decode"]
    sent = [part.part.num_sent for part in asked]
    mean = sum(sent) / len(sent)
    if not mean:
        return Note("No worker got a request.", "")
    most = max(range(len(sent)), key=lambda i: sent[i])
    if len(asked) == 1:
        return Note(f"{asked[0].name}, the only one for prefill, got all requests.", "")
    whose = "" if len(asked) == len(parts) else " of the workers that take prompts"
    if sent[most] == min(sent):
        return Note(f"Each worker got {count(sent[most])} requests.", "")
    shows = (
        f"{asked[most].name} got {count(sent[most])} requests, {ratio_text(sent[most] / mean)} the "
        f"mean of {mean:,.0f}{whose}."
    )
    if sent[most] > _HOT * mean:
        return Note(shows, "It is hot: its queue sets the tail of the latency.")
    return Note(shows, "")

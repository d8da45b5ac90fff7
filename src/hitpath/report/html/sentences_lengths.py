"""What a trace of lengths only tells, and what it cannot tell: in words."""

from collections.abc import Sequence

from hitpath.accounting.rates import ratio
from hitpath.report.html.sentences import Note
from hitpath.report.html.words import and_list, pct
from hitpath.report.text_parts import count, seconds
from hitpath.summary.losses import MIN_PROMPT_TOKENS, WAITS_S, LostTurns

_LONG_TAIL = 10
"""Times the median from which on a tail is long."""


def headline(rate: float | None) -> str:
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
        return Note(shows, _largest_step(steps, total))
    (low, slow), (high, fast) = timed[0], timed[-1]
    do = (
        f"The median time to the first token is {seconds(slow)} with {low}, {seconds(fast)} with "
        f"{high}: compare prompts of the same length before taking that for the cache's doing."
    )
    return Note(shows, do)


def _largest_step(steps: Sequence[tuple[str, int, float | None]], total: int) -> str:
    name, requests, _ = max(steps, key=lambda step: step[1])
    if name == "no hit" and requests * 2 > total:
        return "Most requests miss whole: look at what their prompts begin with."
    if name == "90 % and more" and requests * 2 > total:
        return "Most requests hit nearly all of their prompt: look at the few that do not."
    return "Hits are partial: look at where prompts of one session part."


def quantiles(name: str, median: float, tail: float) -> Note:
    """Of prompt lengths: the median, and what one in a hundred exceeds."""
    shows = f"Half of the {name} have at most {median:,.0f} tokens, one in a hundred more than "
    shows += f"{tail:,.0f}."
    if median > 0 and tail >= _LONG_TAIL * median:
        do = "A few long prompts decide token-weighted rates and tail times: look at them apart."
        return Note(shows, do)
    return Note(shows, "Lengths lie close together: one rate speaks for most requests.")


def unknown(why: str) -> str:
    """Over the list of what cannot be known from lengths."""
    return f"This is not zero, it is not known: {why}."


def lost_turns(found: LostTurns, missed: int) -> Note:
    """missed: tokens of the trace that did not hit."""
    if not found.num_lost:
        shows = (
            f"None of the {count(found.num_judged)} turns after a prompt of at least "
            f"{count(MIN_PROMPT_TOKENS)} tokens hit less than half of it."
        )
        return Note(shows, "")
    usual, longest = (seconds(wait_s) for wait_s in WAITS_S)
    after, long_after = found.num_after
    shows = (
        f"{count(found.num_lost)} of {count(found.num_judged)} turns hit less than half of what "
        f"the session had sent just before (at least {count(MIN_PROMPT_TOKENS)} tokens): "
        f"{count(found.lost_tokens)} tokens, {pct(ratio(found.lost_tokens, missed))} of all that "
        "missed."
    )
    if after:
        shows += (
            f" {count(after)} of these turns come more than {usual} after the request before, "
            f"{count(long_after)} more than {longest}."
        )
    if found.num_other_model:
        shows += f" {count(found.num_other_model)} name another model than the request before."
    if after * 2 >= found.num_lost:
        do = (
            f"Most come after a wait: providers keep a prompt some {usual} after its last use, or "
            f"{longest} where that is paid for: that could have kept {count(after - long_after)} "
            "of these turns."
        )
        return Note(shows, do)
    do = (
        f"{'Waiting explains less than half' if after else 'No wait that is known explains them'}: "
        "look at what changed near the beginning of these prompts (tools, system prompt, model, "
        "an edited message)."
    )
    return Note(shows, do)

"""What prompts have in common, who shares with whom, and which group misses most: in words."""

from collections.abc import Sequence
from dataclasses import dataclass

from hitpath.accounting.rates import Group, ratio
from hitpath.report.html.sentences import FEWEST_REQUESTS, Note
from hitpath.report.html.words import Unit, pct, printable
from hitpath.report.text_parts import count
from hitpath.sim.owners import SharedPairs

_FAR_APART = 0.05
_FIRST_TURN = "1"


@dataclass(frozen=True, slots=True)
class StretchFacts:
    """The shared stretch with the most reuse."""

    begin_token: int
    end_token: int
    num_requests: int
    share: float | None
    first_request: str


def tree(biggest: StretchFacts | None, unit: Unit) -> Note:
    """What most reuse hangs on."""
    if biggest is None:
        return Note("No two prompts begin alike.", "Put what they have in common at the front.")
    shows = (
        f"{count(biggest.num_requests)} requests share their {unit.many} "
        f"{count(biggest.begin_token)} to {count(biggest.end_token)} (first in request "
        f"“{printable(biggest.first_request)}”): {pct(biggest.share)} of all reuse."
    )
    return Note(
        shows,
        "Keep this text at the front and the same to the byte; a changed character "
        "in it loses all that follows.",
    )


def origin(same: int, session: int, tenant: int | None, without: int) -> Note:
    """Who had computed the hits: tokens (or bytes)."""
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


def pairs(found: SharedPairs, unit: Unit) -> Note:
    """Who lives on whose work, past their own."""
    total = sum(pair.hit_tokens for pair in found.pairs)
    others = [pair for pair in found.pairs if pair.name != pair.brought_by]
    own = pct(ratio(found.own_tokens, total))
    shows = f"{own} of these hits are on what the same {found.label} had computed first."
    if not others:
        return Note(shows, f"No {found.label} lives on another's work: each can be served apart.")
    most = max({pair.name: None for pair in others}, key=found.lost_alone)
    lost = found.lost_alone(most)
    if not lost:
        return Note(shows, "The others' work is used only after one's own requests passed there.")
    return Note(
        shows,
        f"{printable(most)} lives most on others' work: {count(lost)} {unit.many} are at its first "
        "use of them. That is what it would compute again on a worker of its own.",
    )


def groups(kind: str, found: Sequence[Group], unit: Unit) -> Note:
    """The group that misses most beyond its share of the traffic. Turn 1 is none of them: the
    first turn of a session is cold by nature."""
    if not found:
        return Note(f"The trace names no {kind}.", "")
    if not any(g.hit_tokens for g in found):
        return Note(f"No request hits, whatever its {kind}.", "")
    rates = [g.hit_rate for g in found if g.hit_rate is not None]
    shows = f"Hit rates by {kind} range from {pct(min(rates))} to {pct(max(rates))}."
    judged = [g for g in found if not (kind == "turn" and g.name == _FIRST_TURN)]
    known = all(g.possible_tokens is not None for g in judged)
    lost = sum(_missed(g) for g in judged)
    prompt = sum(g.prompt_tokens for g in judged)
    if sum(g.num_requests for g in judged) < FEWEST_REQUESTS:
        return Note(shows, "")
    if not lost:
        before = " that had been computed before" if known else ""
        return Note(shows, f"None misses anything{before}.")
    worst = max(judged, key=lambda g: _missed(g) / lost - g.prompt_tokens / prompt)
    part, share = _missed(worst) / lost, worst.prompt_tokens / prompt
    which = f"later {kind}" if len(judged) < len(found) else kind
    if part - share < _FAR_APART:
        return Note(shows, f"The misses follow the traffic: no {which} stands out.")
    return Note(shows, _look_at(kind, worst, (share, part), which, unit))


def _look_at(
    kind: str, worst: Group, share_and_part: tuple[float, float], which: str, unit: Unit
) -> str:
    share, part = share_and_part
    name = printable(worst.name)
    name = name if name.startswith(kind) else f"{kind} {name}"
    of = f" of {which}s" if which != kind else ""
    begin = f"Look at {name} first: with {pct(share)} of the prompt {unit.many}{of} it has "
    if worst.possible_tokens is None:
        return (
            f"{begin}{pct(part)} of the misses ({pct(worst.hit_rate)} hit; how much could have is "
            "not known)."
        )
    return (
        f"{begin}{pct(part)} of the misses of text computed before ({pct(worst.hit_rate)} hit, "
        f"{pct(ratio(worst.possible_tokens, worst.prompt_tokens))} possible)."
    )


def _missed(group: Group) -> int:
    """Misses of text computed before; all misses where that is not known."""
    lost = group.lost_tokens
    return group.prompt_tokens - group.hit_tokens if lost is None else lost

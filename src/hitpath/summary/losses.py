"""Turns that lost the cache: requests of a session that hit little of what the session had sent
just before. Told by lengths and reported hits alone, so it needs no prompts.

Rule: of two requests that follow each other in one session, the second has lost the cache where
its reported hit is below half of what it can share with the first, the shorter of both prompts,
and the first has at least MIN_PROMPT_TOKENS (providers cache nothing shorter). A prompt that is
less than half as long as the one before has been cut or is another conversation: not judged.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hitpath.core import ABSENT
from hitpath.summary.groups import turn_numbers
from hitpath.traces.table import Floats, Ints, Trace

MIN_PROMPT_TOKENS = 1024
WAITS_S = (300, 3600)
"""Seconds that providers keep a prompt after its last use: usually, and where that is paid for."""
MOST_LISTED = 1000


@dataclass(frozen=True, slots=True)
class LostTurn:
    """One request. gap_s: since the arrival of the session's request before, None where no clock
    tells it. other_model: whether both name their model, and not the same. lost_tokens: the
    shorter of both prompts without the hit."""

    id: str
    session: str
    turn: int | None
    gap_s: float | None
    other_model: bool
    previous_prompt_tokens: int
    prompt_tokens: int
    hit_tokens: int
    lost_tokens: int


@dataclass(frozen=True, slots=True)
class LostTurns:
    """num_judged: requests to which the rule applies. num_lost, lost_tokens, num_after (longer
    than each of WAITS_S after the request before) and num_other_model: of those that lost the
    cache. turns: the MOST_LISTED of them with the most lost tokens, of equals the first."""

    num_judged: int
    num_shortened: int
    num_lost: int
    lost_tokens: int
    num_after: tuple[int, ...]
    num_other_model: int
    turns: tuple[LostTurn, ...]


def lost_turns(trace: Trace) -> LostTurns | None:
    """None where no two requests of one session follow each other, the first of them long enough
    and the second telling its hit."""
    here, before = _followers(trace)
    prompt, previous = trace.prompt_tokens[here], trace.prompt_tokens[before]
    told = (trace.reported_hit[here] != ABSENT) & (previous >= MIN_PROMPT_TOKENS)
    if not np.any(told):
        return None
    shortened = told & (2 * prompt < previous)
    shared = np.minimum(prompt, previous)
    judged = told & ~shortened
    lost = np.flatnonzero(judged & (2 * trace.reported_hit[here] < shared))
    here, before = here[lost], before[lost]
    tokens = shared[lost] - trace.reported_hit[here]
    gaps_s = _gaps_s(trace, here, before)
    other_model = _other_model(trace, here, before)
    order = np.lexsort((here, -tokens))[:MOST_LISTED]
    turns = turn_numbers(trace)
    return LostTurns(
        num_judged=int(np.count_nonzero(judged)),
        num_shortened=int(np.count_nonzero(shortened)),
        num_lost=len(lost),
        lost_tokens=int(tokens.sum()),
        num_after=tuple(int(np.count_nonzero(gaps_s > wait_s)) for wait_s in WAITS_S),
        num_other_model=int(np.count_nonzero(other_model)),
        turns=tuple(
            LostTurn(
                id=trace.ids[here[i]],
                session=trace.session.of(int(here[i])) or "",
                turn=None if turns[here[i]] == ABSENT else int(turns[here[i]]),
                gap_s=None if np.isnan(gaps_s[i]) else float(gaps_s[i]),
                other_model=bool(other_model[i]),
                previous_prompt_tokens=int(trace.prompt_tokens[before[i]]),
                prompt_tokens=int(trace.prompt_tokens[here[i]]),
                hit_tokens=int(trace.reported_hit[here[i]]),
                lost_tokens=int(tokens[i]),
            )
            for i in order
        ),
    )


def _followers(trace: Trace) -> tuple[Ints, Ints]:
    """(rows, the counted row before each in its session), in the order in which they are served."""
    codes = trace.session.codes
    rows = np.flatnonzero(trace.counted & (codes != ABSENT))
    rows = rows[np.argsort(codes[rows], kind="stable")]
    here, before = rows[1:], rows[:-1]
    same = codes[here] == codes[before]
    return here[same], before[same]


def _gaps_s(trace: Trace, here: Ints, before: Ints) -> Floats:
    """NaN where both times are not of one clock, or run backwards."""
    gaps_s = trace.arrival_s[here] - trace.arrival_s[before]
    comparable = trace.clock.codes[here] == trace.clock.codes[before]
    known = comparable & (gaps_s >= 0) & trace.has_times
    return np.where(known, gaps_s, np.nan)


def _other_model(trace: Trace, here: Ints, before: Ints) -> NDArray[np.bool_]:
    now, then = trace.model.codes[here], trace.model.codes[before]
    differs: NDArray[np.bool_] = (now != ABSENT) & (then != ABSENT) & (now != then)
    return differs

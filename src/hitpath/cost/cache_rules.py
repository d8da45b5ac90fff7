"""When a provider's cache pays: writes against reads, lifetimes, prompt edits, compactions.

All prices are USD a million tokens of one model at one prompt length (`Rates`): f fresh, r read,
w written, o output. Anthropic: w = 1.25 f (5 minutes) or 2 f (1 hour), r = 0.1 f. OpenAI from
GPT-5.6 on: w = 1.25 f; before, and at DeepSeek and Gemini's implicit cache, a write is not billed
as one: w = f (Anthropic, OpenAI and Google, prompt-caching pages). Results are USD unless their
name says otherwise, above 0 what is saved. None: a price that is needed is not known.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hitpath.cost.prices import MILLION, Rates

NEVER = float("inf")


def break_even_reads(rates: Rates) -> float | None:
    """Reads of a written prefix from which on writing it has paid: (w - f) / (f - r).

    From n reads after one write costing w + n r against (n + 1) f without a cache. At 1.25 and
    0.1: 0.28, one read; at 2 and 0.1: 1.11, two. NEVER where a read saves nothing.
    """
    if rates.fresh is None or rates.read is None or rates.written is None:
        return None
    saved = rates.fresh - rates.read
    return NEVER if saved <= 0 else max(0.0, rates.written - rates.fresh) / saved


def break_even_read_share(rates: Rates) -> float | None:
    """Share of reads among the tokens read or written at which the cache costs what none would:
    (w - f) / (w - r), from s r + (1 - s) w = f. At 1.25 and 0.1: 0.217; at 2 and 0.1: 0.526.
    NEVER where a read saves nothing."""
    if rates.fresh is None or rates.read is None or rates.written is None:
        return None
    if rates.read >= rates.fresh:
        return NEVER
    return max(0.0, rates.written - rates.fresh) / (max(rates.written, rates.fresh) - rates.read)


def lapse_usd(prefix_tokens: int, rates: Rates) -> float | None:
    """What one lapse of the lifetime costs: the prefix is written again instead of read,
    prefix (w - r)."""
    if rates.read is None or rates.written is None:
        return None
    return prefix_tokens * (rates.written - rates.read) / MILLION


def num_lapses(gaps_s: npt.NDArray[np.float64], lifetime_s: float) -> int:
    """Gaps between two uses that outlast the lifetime; each use begins it anew (Anthropic: a hit
    refreshes it)."""
    return int(np.count_nonzero(gaps_s > lifetime_s))


def long_lifetime_saves_usd(
    prefix_tokens: int,
    num_turns: int,
    short_lapses: int,
    long_lapses: int,
    short: Rates,
    long: Rates,
) -> float | None:
    """What the longer lifetime saves on one prefix, used `num_turns` times after its first write.

    Either way: (1 + lapses) w + (turns - lapses) r for the prefix; short minus long. With one
    lapse in 5 minutes and none in an hour: 2 x 1.25 - 0.1 - 2 = 0.4 f saved.
    """
    costs = []
    for rates, lapses in ((short, short_lapses), (long, long_lapses)):
        if rates.read is None or rates.written is None:
            return None
        costs.append((1 + lapses) * rates.written + (num_turns - lapses) * rates.read)
    return prefix_tokens * (costs[0] - costs[1]) / MILLION


def long_lifetime_break_even_lapses(short: Rates, long: Rates) -> float | None:
    """Lapses of the short lifetime above which the longer one, without any, is cheaper:
    (w_long - w_short) / (w_short - r), from `long_lifetime_saves_usd` at equal reads.

    At 1.25, 2 and 0.1: 0.65, one lapse. NEVER where a lapse costs nothing.
    """
    if short.written is None or long.written is None or short.read is None:
        return None
    dearer = max(0.0, long.written - short.written)
    lapse = short.written - short.read
    return NEVER if lapse <= 0 else dearer / lapse


def keep_alive_break_even_pings(rates: Rates) -> float | None:
    """Reads made only to refresh the lifetime that cost as much as one lapse: (w - r) / r.

    At 1.25 and 0.1: 11.5 pings, 57 minutes of 5. What a ping generates is not counted.
    """
    if rates.read is None or rates.written is None:
        return None
    if rates.written <= rates.read:
        return 0.0
    return NEVER if rates.read == 0 else (rates.written - rates.read) / rates.read


@dataclass(frozen=True, slots=True)
class Edit:
    """A change in the middle of a prompt of `prompt_tokens`: what stands before
    `first_changed_token` stays cached; `removed_tokens` less stand behind it from then on."""

    prompt_tokens: int
    first_changed_token: int
    removed_tokens: int

    def __post_init__(self) -> None:
        if not 0 <= self.first_changed_token <= self.prompt_tokens - self.removed_tokens:
            raise ValueError(f"no edit of a prompt: {self}")

    @property
    def rewritten_tokens(self) -> int:
        """Tokens behind the change, which must be written again."""
        return self.prompt_tokens - self.removed_tokens - self.first_changed_token


def edit_saves_usd(edit: Edit, num_requests: int, rates: Rates) -> float | None:
    """What an edit saves over the `num_requests` that follow it in a live session.

    Without it each reads the prompt, n L r. With it the first reads the part before the change
    and writes the rest, the others read the shorter prompt: p r + (L-d-p) w + (n-1)(L-d) r.
    Saved: n d r - (L-d-p)(w - r). Below 0 for few requests: pruning shrinks the prompt and still
    costs.
    """
    if rates.read is None or rates.written is None:
        return None
    kept = num_requests * edit.removed_tokens * rates.read
    rewritten = edit.rewritten_tokens * (rates.written - rates.read)
    return (kept - rewritten) / MILLION


def edit_break_even_requests(edit: Edit, rates: Rates) -> float | None:
    """Requests after which the edit has paid: (L-d-p)(w - r) / (d r). NEVER where it removes
    nothing, or reads cost nothing."""
    if rates.read is None or rates.written is None:
        return None
    rewritten = edit.rewritten_tokens * max(0.0, rates.written - rates.read)
    if rewritten == 0:
        return 0.0
    saved = edit.removed_tokens * rates.read
    return NEVER if saved == 0 else rewritten / saved


@dataclass(frozen=True, slots=True)
class Compaction:
    """A history of `prompt_tokens` replaced, behind its first `kept_tokens`, by a summary of
    `summary_tokens` that the same model writes in one request over the whole history."""

    prompt_tokens: int
    kept_tokens: int
    summary_tokens: int

    def __post_init__(self) -> None:
        if not 0 <= self.kept_tokens <= self.prompt_tokens or self.summary_tokens < 0:
            raise ValueError(f"no compaction of a prompt: {self}")


def compaction_saves_usd(
    compaction: Compaction, num_requests: int, rates: Rates, cached: bool = True
) -> float | None:
    """What a compaction saves over the `num_requests` that follow it.

    Let L, p, S be the history, its kept head and the summary. `cached`: the history still is.
        without   n L r                                  (not cached: L w + (n-1) L r)
        with      p r + S w + (n-1)(p+S) r + call        (not cached: (p+S) w + (n-1)(p+S) r + call)
        call      L r + S o, the summary itself          (not cached: L f + S o)
    Saved, cached: n (L-p-S) r - S (w - r) - call.
    """
    fresh, read, written, output = rates.fresh, rates.read, rates.written, rates.output
    if fresh is None or read is None or written is None or output is None:
        return None
    history, kept, summary = (
        compaction.prompt_tokens,
        compaction.kept_tokens,
        compaction.summary_tokens,
    )
    later = num_requests - 1
    if cached:
        without = num_requests * history * read
        after = kept * read + summary * written
        call = history * read + summary * output
    else:
        without = history * (written + later * read)
        after = (kept + summary) * written
        call = history * fresh + summary * output
    return (without - after - later * (kept + summary) * read - call) / MILLION


def compaction_break_even_requests(
    compaction: Compaction, rates: Rates, cached: bool = True
) -> float | None:
    """Requests after which a compaction has paid; NEVER where the shorter prompt saves nothing.

    From the formula above, which is linear in n: n = -saved(0) / (saved(1) - saved(0)).
    """
    at_one = compaction_saves_usd(compaction, 1, rates, cached)
    at_two = compaction_saves_usd(compaction, 2, rates, cached)
    if at_one is None or at_two is None:
        return None
    if at_one >= 0:
        return 1.0
    slope = at_two - at_one
    return NEVER if slope <= 0 else 1 - at_one / slope

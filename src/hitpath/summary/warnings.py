"""What a reader must know before quoting a number: one sentence each, with its figures."""

import numpy as np
from numpy.typing import NDArray

from hitpath.accounting.ledger import Ledger
from hitpath.accounting.rates import HitRates
from hitpath.core import ABSENT
from hitpath.traces.table import Ints, Labels, Trace

_FAR_APART = 0.05
_LOPSIDED = 0.8


def warnings_for(
    trace: Trace, ledger: Ledger, workers: Labels, rates: HitRates, tokens_across_models: int
) -> tuple[str, ...]:
    """All that apply, the reader's notes first."""
    found = [*trace.notes, *notes_on_rows(trace)]
    if tokens_across_models:
        found.append(
            f"{tokens_across_models:,} hit tokens had been computed by another model only: the "
            "trace's ids do not tell models apart, KV does (--split-models)"
        )
    found += _about_reports(ledger)
    found += _about_outputs(trace, ledger)
    found += notes_on_load(workers, ledger)
    adapters = ledger.total(ledger.reasons["isolated"]["adapter"])
    if adapters and "isolated" not in ledger.rungs.unknown:
        found.append(
            f"{adapters:,} isolated tokens differ in their adapter: its KV is really different, no "
            "policy could share it"
        )
    mean = rates.request_mean_token_full
    weighted = rates.token_weighted
    if mean is not None and weighted is not None and abs(mean - weighted) > _FAR_APART:
        found.append(
            f"the mean of the requests' own shares is {mean:.1%}, the share of all tokens "
            f"{weighted:.1%}: long prompts hit {'less' if mean > weighted else 'more'} than short"
        )
    return (*found, *notes_on_times(trace))


def _about_outputs(trace: Trace, ledger: Ledger) -> list[str]:
    """Engines keep generated tokens: what that does to a rate without them."""
    not_stored = ledger.total(ledger.reasons["evicted"]["not_stored"])
    if not_stored:
        return [
            f"{not_stored:,} missed tokens are replies that came back in a later prompt: vLLM and "
            "SGLang keep generated tokens, so with --outputs insert they hit"
        ]
    if np.any(trace.has_output):
        return []
    return [
        "the replies' tokens are not in this trace: where a later prompt repeats one it counts as "
        "cold, though vLLM and SGLang keep generated tokens: their rate would be higher"
    ]


def notes_on_load(workers: Labels, ledger: Ledger) -> list[str]:
    """A router that leaves most workers idle is no router that anybody runs."""
    num = len(workers.names)
    load = np.zeros(num, dtype=np.int64)
    np.add.at(load, workers.codes[ledger.counted], ledger.prompt[ledger.counted])
    total, most = int(load.sum()), int(load.max())
    if num < 2 or not total or most / total < max(_LOPSIDED, 1.5 / num):
        return []
    idle = int(np.count_nonzero(load == 0))
    name = workers.names[int(load.argmax())]
    return [
        f"{name} served {most / total:.0%} of the prompt tokens, {idle:,} of {num:,} workers "
        "none: a fleet's router would spread that load, and hit less"
    ]


def notes_on_rows(trace: Trace) -> list[str]:
    """Rows that are not in the sums."""
    return [
        f"{count:,} rows {verb}: they {why} (listed above)"
        for count, verb, why in (
            (trace.skipped.num, "skipped", "could not be read"),
            (len(trace.excluded), "left out of all sums", "contradict themselves"),
        )
        if count
    ]


def notes_on_times(trace: Trace) -> list[str]:
    """Arrivals that leave the order to the file."""
    _, times = np.unique(trace.arrival_s, return_counts=True)
    same_time = int(times[times > 1].sum())
    if not (trace.common_clock and same_time):
        return []
    return [
        f"{same_time:,} requests share their arrival time with another: "
        "they are taken in file order"
    ]


def notes_on_silence(reported: Ints, counted: NDArray[np.bool_]) -> list[str]:
    """Where only hits above 0 are reported, and some requests report nothing: servers that leave
    out a hit of 0 (vLLM before 0.24, opentelemetry-util-genai 1.3b0) look like this."""
    told = reported[counted]
    silent = int(np.count_nonzero(told == ABSENT))
    if not silent or silent == len(told) or np.any(told == 0):
        return []
    return [
        f"every reported hit is above 0 and {silent:,} requests report none: some servers leave a "
        "hit of 0 out; if yours does, the rate over those who report is too high"
    ]


def _about_reports(ledger: Ledger) -> list[str]:
    told = (ledger.rungs.reported != ABSENT) & ledger.counted
    if not np.any(told):
        return []
    rows = int(np.count_nonzero(ledger.counted))
    count = int(np.count_nonzero(told))
    notes = []
    if count < rows:
        notes.append(
            f"{count:,} of {rows:,} requests report their hit; the others' is modelled, which "
            "mixes two sources in one rate"
        )
    notes += notes_on_silence(ledger.rungs.reported, ledger.counted)
    excess = ledger.total(ledger.excess)
    if excess:
        notes.append(
            f"{excess:,} reported hit tokens are more than the model allows: the cache held what "
            "this trace does not show, or the setting is not the engine's"
        )
    return notes

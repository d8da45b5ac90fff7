"""What a reader must know before quoting a number: one sentence each, with its figures."""

import numpy as np
from numpy.typing import NDArray

from hitpath.accounting.ledger import Ledger
from hitpath.accounting.rates import HitRates
from hitpath.core import ABSENT
from hitpath.traces.table import Ints, Trace

_FAR_APART = 0.05


def warnings_for(
    trace: Trace, ledger: Ledger, rates: HitRates, tokens_across_models: int
) -> tuple[str, ...]:
    """All that apply, the reader's notes first."""
    found = [*trace.notes, *notes_on_rows(trace)]
    if tokens_across_models:
        found.append(
            f"{tokens_across_models:,} hit tokens had been computed by another model only: the "
            "trace's ids do not tell models apart, KV does (--split-models)"
        )
    found += _about_reports(ledger)
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


def notes_on_rows(trace: Trace) -> list[str]:
    """Rows that are not in the sums."""
    return [
        f"{count:,} rows {verb}: they {why} (listed above)"
        for count, verb, why in (
            (len(trace.skipped), "skipped", "could not be read"),
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

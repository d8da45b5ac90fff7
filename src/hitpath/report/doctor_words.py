"""Sentences that the doctor's terminal page and its HTML page share."""

from hitpath.accounting.rates import ratio
from hitpath.doctor.defects import Defect
from hitpath.doctor.diagnosis import Diagnosis
from hitpath.report.text_parts import percent

FIXES_NOTE = "gain: computed tokens (prompt less hits) before, less those after; the rest as it is"
"""Under the table of fixes."""


def replay_words(found: Diagnosis) -> str | None:
    """The trace as it is and with all fixes: a fix may make prompts longer, so that the hit rate
    rises and more is computed. None where nothing was replayed."""
    if found.before is None or found.after is None:
        return None
    words = f"hit rate {percent(found.before)} as it is"
    if not found.proofs:
        return f"{words}; no fix is known that changes it" if found.defects else words
    gain = found.proofs[-1].gain_tokens
    unit = "bytes" if found.trace.identity == "text" else "tokens"
    more = "fewer" if gain >= 0 else "more"
    return (
        f"{words}, {percent(found.after)} with all fixes, {abs(gain):,} {more} {unit} to compute "
        "(replayed)"
    )


def requests_words(found: Diagnosis, defect: Defect) -> str:
    """How many requests have a defect, of all."""
    num = defect.num_requests
    share = percent(ratio(num, len(found.trace)))
    return f"{num:,} {'request' if num == 1 else 'requests'} ({share})"


def gain_words(found: Diagnosis, defect: Defect) -> str:
    """What a replay proves of mending a defect: alone, and beside all other fixes."""
    proof = found.proof_of(defect)
    if proof is None:
        return "gain not known"
    words = f"proven gain {proof.gain_tokens:+,}"
    beside = proof.loss_without_tokens
    if beside is None or beside == proof.gain_tokens:
        return words
    return f"{words} alone, {beside:+,} beside the other fixes"


def notes_of_choices(found: Diagnosis) -> list[str]:
    """What the rows of each choice are measured against."""
    choices = {choice.choice for choice in found.what_ifs}
    notes = {
        "clock": "clock: the trace replayed with it, gain against the trace as it is",
        "compaction": (
            "compaction: the growth of this trace's sessions if nothing else broke, gain against "
            "the last row; not to be compared with the rate of the trace"
        ),
    }
    return [note for name, note in notes.items() if name in choices]

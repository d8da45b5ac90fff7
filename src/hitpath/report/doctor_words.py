"""Sentences that the doctor's terminal page and its HTML page share."""

from hitpath.doctor.defects import Defect
from hitpath.doctor.diagnosis import Diagnosis

FIXES_NOTE = "gain: computed tokens (prompt less hits) before, less those after; the rest as it is"
"""Under the table of fixes."""


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

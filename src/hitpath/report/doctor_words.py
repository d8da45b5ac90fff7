"""Sentences that the doctor's terminal page and its HTML page share."""

import unicodedata

from hitpath.accounting.rates import ratio
from hitpath.doctor.change import Kind
from hitpath.doctor.defects import Defect
from hitpath.doctor.diagnosis import Diagnosis, Worth
from hitpath.doctor.proof import Proof
from hitpath.report.text_parts import percent

FIXES_NOTE = (
    "gain: computed tokens (prompt less hits) before, less those after, the rest as it is; lost "
    "without it: how much less all fixes but this one gain"
)
"""Under the table of fixes."""

_MOST_NAMED = 4
_SPACE = str.maketrans({" ": "\u2420", "\n": "\\n", "\r": "\\r", "\t": "\\t"})
_OF_FORM = ("white_space", "hidden_characters", "unicode_form")


def seen(text: str, kind: Kind) -> str:
    """An excerpt in which one sees what differs: where only white space or form does, blanks are
    marked, and what is invisible or composed in two ways stands by its code points."""
    if kind not in _OF_FORM and text.strip():
        return text
    every = kind == "unicode_form"
    shown = "".join(_escaped(c) if _is_hard_to_see(c, every) else c for c in text)
    return shown.translate(_SPACE) if kind == "white_space" or not text.strip() else shown


def _is_hard_to_see(character: str, every: bool) -> bool:
    if character.isascii():
        return not character.isprintable() and character not in "\n\r\t"
    if character == "…":
        return False  # ours, between two changes
    return every or not character.isprintable() or unicodedata.category(character)[0] == "M"


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode()


def replay_words(found: Diagnosis) -> str | None:
    """The trace as it is and, where fixes could be replayed, with all of them: a fix may make
    prompts longer, so that the hit rate rises and more is computed. None for no prompt tokens."""
    if found.before is None:
        return None
    words = f"hit rate {percent(found.before)} as it is"
    if found.after is None:
        return words
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
    gain = found.gain_of(defect)
    if gain is None:
        return "gain not known"
    words = f"proven gain {gain.tokens:+,}"
    if gain.beside != gain.tokens:
        words = f"{words} alone, {gain.beside:+,} beside the other fixes"
    if gain.cured is not None and gain.cured.num < gain.cured.looked_at:
        words = f"{words}, mended in {gain.cured.num:,} of {gain.cured.looked_at:,} looked at"
    if not gain.others:
        return words
    more = "" if len(gain.others) <= _MOST_NAMED else " …"
    named = ", ".join(str(number + 1) for number in gain.others[:_MOST_NAMED])
    return f"{words}, together with no. {named}{more} (one fix)"


def cured_words(found: Diagnosis, proof: Proof) -> str:
    """The kinds that were found and that a fix reaches."""
    kinds = {
        defect.kind: None
        for defect in found.defects
        if defect.kind in proof.kinds and proof.reaches(defect)
    }
    return ", ".join(kind.replace("_", " ") for kind in kinds)


def notes_of_choices(found: Diagnosis) -> list[str]:
    """What the rows of each choice are measured against."""
    choices = {choice.choice for choice in found.what_ifs}
    notes = {
        "tools": (
            "tools, clock: replayed beside all other fixes that help, gain against the first row "
            "of the choice"
        ),
        "compaction": (
            "compaction: the growth of this trace's sessions if nothing else broke, gain against "
            "the last row; not to be compared with the rate of the trace"
        ),
    }
    if "clock" in choices:
        choices.add("tools")
    return [note for name, note in notes.items() if name in choices]


def worth_table(found: Diagnosis, most: int) -> list[tuple[str, ...]]:
    """Heads, then what was asked for by kind, by application (the `most` dearest) and of all; empty
    where nothing was."""
    if found.worth is None:
        return []
    total = found.worth.total
    columns = {"GPU-seconds": total.gpu_s is not None, "USD": total.usd is not None}

    def cells(name: str, one: Worth) -> tuple[str, ...]:
        told = (f"{one.gpu_s or 0.0:,.3f}", f"{one.usd or 0.0:,.4f}")
        return (name, *(text for text, has in zip(told, columns.values(), strict=True) if has))

    rows = [cells(kind.replace("_", " "), one) for kind, one in found.worth.kinds.items()]
    dearest = sorted(
        found.worth.applications.items(),
        key=lambda pair: (-(pair[1].usd or pair[1].gpu_s or 0.0), pair[0]),
    )
    if len(dearest) > 1:
        rows += [cells(f"application {number}", one) for number, one in dearest[:most]]
    heads = ("of", *(name for name, has in columns.items() if has))
    return [heads, *rows, cells("all", total)]

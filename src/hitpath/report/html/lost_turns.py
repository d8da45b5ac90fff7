"""The section on turns that lost the cache: the biggest of them, and what the rule leaves out."""

from hitpath.report.html import sentences_lengths as sentences
from hitpath.report.html.view import Lost, Table
from hitpath.report.html.words import printable
from hitpath.report.text_parts import count
from hitpath.summary.lengths import LengthsAnalysis
from hitpath.summary.losses import LostTurns, lost_turns

_MOST_LOST = 12


def lost_view(analysis: LengthsAnalysis) -> Lost | None:
    """None where the rule applies to no request."""
    found = lost_turns(analysis.trace)
    if found is None:
        return None
    note = sentences.lost_turns(found, analysis.missed_tokens)
    return Lost(note, _table(found), _foot(found))


def _table(found: LostTurns) -> Table | None:
    """The biggest of them; None where no turn lost the cache."""
    model_told = found.num_other_model > 0
    rows = tuple(
        (
            printable(turn.session),
            count(turn.turn),
            "–" if turn.gap_s is None else f"{turn.gap_s:,.0f}",
            count(turn.previous_prompt_tokens),
            count(turn.hit_tokens),
            count(turn.lost_tokens),
            *(["another than before" if turn.other_model else ""] if model_told else []),
        )
        for turn in found.turns[:_MOST_LOST]
    )
    columns = (
        "session<",
        "turn",
        "seconds since the request before",
        "prompt tokens before",
        "hit tokens",
        "lost tokens",
        *(("model<",) if model_told else ()),
    )
    return Table("Turns that lost the cache", columns, rows) if rows else None


def _foot(found: LostTurns) -> str:
    foot = "Lost: the prompt before (or this one, where it is shorter) without the hit."
    if found.num_lost > _MOST_LOST:
        foot += f" The {_MOST_LOST} biggest of {count(found.num_lost)}; --json lists more."
    if found.num_shortened:
        foot += (
            f" {count(found.num_shortened)} turns have less than half of the prompt before them "
            "(cut, or another conversation): they are not judged."
        )
    return foot

"""What a trace was seen to stamp into its instructions, as patterns by which it is found in every
request: the words before it, up to the words that were seen to follow it, else to the end of its
line."""

import re
from collections import defaultdict
from collections.abc import Sequence

from hitpath.doctor.change import Change
from hitpath.doctor.diagnose import Finding, Requests
from hitpath.doctor.prompt import SYSTEM
from hitpath.doctor.resolve import general_path, nearest_words
from hitpath.doctor.steps import Stamp
from hitpath.doctor.textdiff import common_length

_KINDS = ("clock", "request_id", "counter", "random_sample", "per_user_field", "attribution")
_LEAST_LABEL = 3
_MOST = 32
_MOST_SEEN = 16
_LONGEST_TAIL = 24


def stamps_of(
    findings: Sequence[Finding], requests: Requests, *kinds: str
) -> dict[str, tuple[Stamp, ...]]:
    """By general path. kinds: all that can be moved, where none is named."""
    wanted = kinds or _KINDS
    places: dict[str, dict[tuple[str, str], list[tuple[int, Change]]]] = defaultdict(dict)
    for finding in findings:
        for change in finding.comparison.changes:
            if change.kind in wanted and change.segment == SYSTEM:
                label = nearest_words(change.label)
                if len(label) >= _LEAST_LABEL:
                    found = places[general_path(change.json_path)].setdefault(
                        (change.kind, label), []
                    )
                    if len(found) < _MOST_SEEN:
                        found.append((finding.row, change))
    return {
        path: tuple(
            Stamp(kind, _pattern(label, _tail(requests, seen)))
            for (kind, label), seen in list(found.items())[:_MOST]
        )
        for path, found in places.items()
    }


def _tail(requests: Requests, seen: Sequence[tuple[int, Change]]) -> str:
    """What follows the value in its line, as far as it is the same wherever it was seen; empty
    where that is nothing, or is not known."""
    common: str | None = None
    for row, change in seen:
        behind = _behind(requests, row, change)
        if behind is None:
            return ""
        common = behind if common is None else common[: common_length(common, behind)]
    return "" if common is None else common


def _behind(requests: Requests, row: int, change: Change) -> str | None:
    request = requests.of(row)
    if request is None or not change.here:
        return None
    for part in request.prompt.parts:
        if part.path == change.json_path and part.form != "glue":
            near = change.char_offset - part.base
            at = part.text.find(change.here, max(0, near - len(change.here)))
            if 0 <= at <= near:
                end = at + len(change.here)
                return part.text[end : end + _LONGEST_TAIL].partition("\n")[0]
    return None


def _pattern(label: str, tail: str) -> re.Pattern[str]:
    """The label with any number for its masked ones, and what follows in its line."""
    words = r"\d{1,40}".join(re.escape(part) for part in label.split("0"))
    value = r"[^\n]{1,400}" if not tail else rf"[^\n]{{1,400}}?(?={re.escape(tail)})"
    return re.compile(rf"{words}[ \t]{{0,4}}(?P<value>{value})")

"""What a trace was seen to stamp into its instructions, as patterns by which it is found in every
request: the words before it, up to the words that were seen to follow it, else to the end of its
line."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

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
_LEAST_SEEN = 3


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
                key = change.kind, label if len(label) >= _LEAST_LABEL else ""
                found = places[general_path(change.json_path)].setdefault(key, [])
                if len(found) < _MOST_SEEN:
                    found.append((finding.row, change))
    return {
        path: tuple(
            stamp
            for (kind, label), seen in sorted(list(found.items())[:_MOST], key=_reach)
            for stamp in _stamps(kind, label, seen, requests)
        )
        for path, found in places.items()
    }


def _reach(group: tuple[tuple[str, str], object]) -> tuple[bool, int]:
    """Of samples first the one whose name ends with a colon: what is drawn is all that follows it,
    and not a part of a sentence in it. Others as they were seen."""
    (kind, label), _ = group
    is_named = kind == "random_sample" and label.endswith(":")
    return not is_named, len(label) if is_named else 0


def _stamps(
    kind: str, label: str, seen: Sequence[tuple[int, Change]], requests: Requests
) -> Iterator[Stamp]:
    """Behind words; where there are none to speak of, behind what the lines begin with, if words
    follow the value or it is all of its line."""
    if label:
        words = r"\d{1,40}".join(re.escape(part) for part in label.split("0"))
        yield Stamp(kind, re.compile(rf"{words}[ \t]{{0,4}}"), _tail(requests, seen))
        return
    by_head: dict[str, list[tuple[int, Change]]] = defaultdict(list)
    for row, change in seen:
        head = _before(requests, row, change)
        if head is not None and len(head) <= _LONGEST_TAIL:
            by_head[head].append((row, change))
    for head, its in by_head.items():
        tail = _tail(requests, its)
        if len(its) >= _LEAST_SEEN and (len(tail) >= _LEAST_LABEL or head.strip()):
            begin = re.compile(re.escape(head) if head else r"(?m)^")
            yield Stamp(kind, begin, tail, begins_line=True)


def _before(requests: Requests, row: int, change: Change) -> str | None:
    """What stands before the value in its line; None where that is not known."""
    found = _value_at(requests, row, change)
    if found is None:
        return None
    text, at, _ = found
    return text[:at].rpartition("\n")[2]


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
    found = _value_at(requests, row, change)
    if found is None:
        return None
    text, _, end = found
    return text[end : end + _LONGEST_TAIL].partition("\n")[0]


def _value_at(requests: Requests, row: int, change: Change) -> tuple[str, int, int] | None:
    """(the text of the part, where the value begins in it, where it ends)."""
    request = requests.of(row)
    if request is None or not change.here:
        return None
    for part in request.prompt.parts:
        if part.path == change.json_path and part.form != "glue":
            near = change.char_offset - part.base
            at = part.text.find(change.here, max(0, near - len(change.here)))
            if 0 <= at <= near:
                return part.text, at, at + len(change.here)
    return None

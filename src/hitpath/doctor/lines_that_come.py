"""Lines that one of two requests lacks: what is stamped in them tells their kind, and other
requests that have the same line with another value, or one value in another's place, tell it best.

A client that adds a line to every third request shows no value that changed: the line came and
went. Told pair by pair that is an edit, or a cut.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from hitpath.doctor.change import OPEN, Change, Kind
from hitpath.doctor.diagnose import Finding
from hitpath.doctor.leaf_change import label_of
from hitpath.doctor.open_groups import (
    Group,
    Place,
    Seen,
    compared,
    general_path,
    is_one_sided,
    nearest_words,
)
from hitpath.doctor.shapes import tokens_of

At = tuple[int, int]
_MAY_BE_STAMPED: tuple[Kind, ...] = ("edited_message", "truncated_history", "tool_set", *OPEN)
_STAMPED: tuple[Kind, ...] = ("clock", "attribution", "?id", "?number")
_VALUES: tuple[Kind, ...] = (
    "clock", "attribution", "request_id", "counter", "random_sample", "per_user_field",
)  # fmt: skip
_LONGEST, _FEWEST, _LEAST_WORDS = 200, 2, 3
"""Characters that a change keeps of a text: what is so long may be cut."""


def stamped_lines(findings: Sequence[Finding]) -> Iterator[Group]:
    """Lines that came or went with two values and more, and nothing else in them that differs."""
    lines: dict[tuple[Place, str], list[Seen]] = defaultdict(list)
    for number, at, place, change in _one_sided(findings):
        skeleton, _ = _form_of(change.there or change.here)
        if skeleton:
            same_session = findings[number].same_session
            lines[place, skeleton].append(Seen(number, at, same_session, change))
    for (place, _), seen in lines.items():
        texts = {(one.told.there or one.told.here).strip() for one in seen}
        found = compared(seen) if len(texts) >= _FEWEST else None
        if found is not None and found[0] in _STAMPED:
            yield Group(place, "?words", seen)


def as_their_fields(
    findings: Sequence[Finding], decided: Mapping[At, Kind]
) -> Iterator[tuple[At, Kind]]:
    """Lines that came or went with a value that stands behind the same words elsewhere, where one
    gave way to another: of its kind."""
    fields: dict[tuple[Place, str], Counter[Kind]] = defaultdict(Counter)
    for number, finding in enumerate(findings):
        for at, change in enumerate(finding.comparison.changes):
            kind = decided.get((number, at), change.kind)
            if kind in _VALUES and change.there.strip() and change.here.strip():
                words = nearest_words(change.label)
                if sum(map(str.isalpha, words)) >= _LEAST_WORDS:
                    fields[_place(finding, change), words][kind] += 1
    for number, at, place, change in _one_sided(findings):
        kind = decided.get((number, at), change.kind)
        _, words = _form_of(change.there or change.here)
        known = fields.get((place, words))
        if known:
            (most, count), *others = known.most_common()
            if count >= _FEWEST and not others and most != kind:
                yield (number, at), most


def _one_sided(findings: Sequence[Finding]) -> Iterator[tuple[int, int, Place, Change]]:
    for number, finding in enumerate(findings):
        for at, change in enumerate(finding.comparison.changes):
            text = change.there or change.here
            is_line = change.kind in OPEN or not change.detail  # and not whole messages
            if not is_line or change.kind not in _MAY_BE_STAMPED:
                continue
            if is_one_sided(change) and len(text) < _LONGEST:
                yield number, at, _place(finding, change), change


def _place(finding: Finding, change: Change) -> Place:
    return finding.application, general_path(change.json_path)


def _form_of(text: str) -> tuple[str, str]:
    """(the text without what may be stamped, the words before the first such value in its line);
    empty where it has none."""
    tokens = tokens_of(text.strip())
    keys = [token.key for token in tokens]
    first = next((n for n, key in enumerate(keys) if key.startswith("\0")), None)
    if first is None:
        return "", ""
    return "".join(keys), nearest_words(label_of(text.strip()[: tokens[first].start]))

"""Kinds that one pair of requests leaves open, decided from all pairs of an application.

A number that only rises counts something; one that jumps is drawn. Words that stay within a session
and differ between sessions are a user's; words that change from turn to turn are sampled; words
that changed once were edited. Labels (`User:`, `Seed:`, `Turn`) decide where numbers do not.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hitpath.canonical.id_shapes import is_random
from hitpath.doctor.change import OPEN, Change, Kind
from hitpath.doctor.diagnose import Finding
from hitpath.doctor.prompt import TOOLS
from hitpath.doctor.relatives import NONE
from hitpath.doctor.words_of_kinds import COUNTED, REQUEST, SAMPLE, TURN, USER

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_INDEX = re.compile(r"^(messages|input|conversations)\[\d+\]")
_SEPARATOR = re.compile(r"[|;,.\t(]\s*")
_BULLET = re.compile(r"[-*•+]\s|\d{1,3}[.)]\s")
_ENDED = re.compile(r"\w \w.*[.?!]\s*$")
_OFTEN = 0.3
_RARELY = 0.2
_SMALL_STEP = 16
_SHORT = 200
_NAME_WORDS, _DRAWN = 3, 3


@dataclass(frozen=True, slots=True)
class _Seen:
    """One open change: where it is (finding, change), and whether within a session."""

    finding: int
    change: int
    same_session: bool
    told: Change


@dataclass(frozen=True, slots=True)
class _Pairs:
    """How many pairs an application has, within sessions and between them."""

    within: int
    between: int


def resolve(findings: Sequence[Finding]) -> list[Finding]:
    """The findings with every kind decided."""
    groups: dict[tuple[int, str, str, Kind], list[_Seen]] = defaultdict(list)
    pairs = _count_pairs(findings)
    for number, finding in enumerate(findings):
        application = finding.application
        for at, change in enumerate(finding.comparison.changes):
            if change.kind in OPEN:
                key = (application, general_path(change.json_path), _group(change), change.kind)
                groups[key].append(_Seen(number, at, finding.same_session, change))
    decided: dict[tuple[int, int], Kind] = {}
    for (application, _, _, kind), seen in groups.items():
        found = _decide(kind, seen, pairs[application])
        decided.update({(one.finding, one.change): found for one in seen})
    _samples_that_moved(findings, decided)
    return [_with_kinds(finding, number, decided) for number, finding in enumerate(findings)]


def _samples_that_moved(findings: Sequence[Finding], decided: dict[tuple[int, int], Kind]) -> None:
    """Where lines are sampled, some are drawn again in another order: still a sample."""
    sampled = {
        (
            findings[n].application,
            general_path(change.json_path),
            _beginning(change),
        )
        for (n, at), kind in decided.items()
        if kind == "random_sample" and (change := findings[n].comparison.changes[at])
    }
    for number, finding in enumerate(findings):
        application = finding.application
        for at, change in enumerate(finding.comparison.changes):
            key = (application, general_path(change.json_path), _beginning(change))
            if change.kind in ("moved_block", "array_order") and key in sampled and change.heading:
                decided[number, at] = "random_sample"


def _beginning(change: Change) -> str:
    """How a line begins: of an item of a list its bullet."""
    bullet = _BULLET.match(change.heading)
    return bullet[0] if bullet else change.heading[:4]


def _count_pairs(findings: Sequence[Finding]) -> dict[int, _Pairs]:
    counts: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for finding in findings:
        if finding.relative != NONE:
            counts[finding.application][not finding.same_session] += 1
    return {application: _Pairs(*found) for application, found in counts.items()}


def _with_kinds(finding: Finding, number: int, decided: dict[tuple[int, int], Kind]) -> Finding:
    changes = finding.comparison.changes
    if not any((number, at) in decided for at in range(len(changes))):
        return finding
    new = tuple(
        replace(change, kind=decided.get((number, at), change.kind))
        for at, change in enumerate(changes)
    )
    return replace(finding, comparison=replace(finding.comparison, changes=new))


def general_path(path: str) -> str:
    """A path without the number of its message."""
    return _INDEX.sub(r"\1[*]", path)


def nearest_words(label: str) -> str:
    """The words nearest to a value; before them may stand another value."""
    parts = [part for part in _SEPARATOR.split(label) if part.strip()]
    return parts[-1].strip()[-32:] if parts else ""


def _group(change: Change) -> str:
    """What changes of one field have in common: the words right before it, to their colon."""
    words = nearest_words(change.label)
    if _is_sentence(words):  # the item before it in a list: the line's beginning tells
        name, colon, _ = change.heading.partition(":")
        return name + colon if colon else ""
    head, colon, _ = (words or change.heading).rpartition(":")
    return head + colon if colon or not words else words


def _is_sentence(words: str) -> bool:
    """Whether words are said, and are not the name of a field."""
    return not words.endswith((":", "=", "#", '"', ">")) and len(words.split()) > _NAME_WORDS


def _is_name(text: str) -> bool:
    """Whether a text may be whom or what it is for: a capital, a number, an address."""
    return text.strip()[:1].isupper() or any(c.isdigit() or c in "@/" for c in text)


def _decide(kind: Kind, seen: list[_Seen], pairs: _Pairs) -> Kind:
    if kind == "?id":
        return _id(seen, pairs)
    if kind == "?number":
        return _number(seen, pairs)
    return _words(seen, pairs)


def _within(seen: list[_Seen]) -> int:
    return sum(one.same_session for one in seen)


def _stays_in_session(seen: list[_Seen], pairs: _Pairs) -> bool:
    """Whether a value changes between sessions only, as far as there are any."""
    return _within(seen) <= 0.1 * pairs.within and _within(seen) < len(seen)


def _labelled(words: re.Pattern[str], seen: list[_Seen]) -> bool:
    """By the words right before the value, else by the beginning of its line."""
    told = seen[0].told
    near = nearest_words(told.label)
    if _is_sentence(near):
        near = ""
    for name in (near, told.heading.partition(":")[0]):
        if USER.search(name) or SAMPLE.search(name) or COUNTED.search(name):
            return bool(words.search(name))
    return bool(words.search(told.label[-48:]) or words.search(told.heading))


def _id(seen: list[_Seen], pairs: _Pairs) -> Kind:
    stays = _stays_in_session(seen, pairs)
    near = nearest_words(seen[0].told.label)
    if REQUEST.search(near) and not (USER.search(near) or SAMPLE.search(near)):
        return "request_id"
    if _labelled(USER, seen) and stays:
        return "per_user_field"
    if _labelled(SAMPLE, seen):
        return "random_sample"
    told = seen[0].told
    said = f"{told.there} {told.here}"
    random = any(map(is_random, re.split(r"[\s'\"<>=:]+", said))) or bool(
        REQUEST.search(f"{told.label[-48:]} {said}")
    )
    return "per_user_field" if stays and pairs.within and not random else "request_id"


def _number(seen: list[_Seen], pairs: _Pairs) -> Kind:
    steps = [step for one in seen if (step := _step(one.told)) is not None]
    rising = sum(step > 0 for step in steps)
    one_way = bool(steps) and max(rising, len(steps) - rising) >= 0.9 * len(steps)
    if _labelled(SAMPLE, seen):
        return "random_sample"
    if _labelled(COUNTED, seen) and (one_way or not _labelled(USER, seen)):
        return "counter"
    if _stays_in_session(seen, pairs) and pairs.within and (_labelled(USER, seen) or not one_way):
        return "per_user_field"
    if one_way and (len(steps) >= 3 or all(abs(step) <= _SMALL_STEP for step in steps)):
        return "counter"
    if _labelled(USER, seen) and not _within(seen):
        return "per_user_field"
    return "random_sample"


def _step(change: Change) -> float | None:
    """By how much a number rose."""
    old, new = _NUMBER.findall(change.there), _NUMBER.findall(change.here)
    if not old or not new:
        return None
    values = [
        float(a.replace(",", "")) - float(b.replace(",", ""))
        for a, b in zip(new, old, strict=False)
        if a.count(".") < 2 and b.count(".") < 2 and len(a) < 30 and len(b) < 30
    ]
    return next((value for value in values if value), None)


def _is_one_sided(change: Change) -> bool:
    """A line that one of the two lacks."""
    return not change.there.strip() or not change.here.strip()


def _words(seen: list[_Seen], pairs: _Pairs) -> Kind:
    edited: Kind = "tool_set" if seen[0].told.segment == TOOLS else "edited_message"
    within = _within(seen)
    between = len(seen) - within
    values = {text for one in seen for text in (one.told.there, one.told.here) if text.strip()}
    if len(values) > 1 and all(_is_one_sided(one.told) for one in seen):
        if _labelled(SAMPLE, seen):
            return "random_sample"
        if _labelled(USER, seen):
            return "per_user_field"
    said = [text for text in values if _is_sentence(text.strip()) or _ENDED.search(text)]
    is_turn = bool(TURN.search(seen[0].told.label))
    is_said = 2 * len(said) > len(values) and (is_turn or not _labelled(USER, seen))
    if is_said and len(seen) >= _DRAWN and len(said) >= _DRAWN:
        return "random_sample"
    often = within >= max(2, _OFTEN * pairs.within)
    if _labelled(SAMPLE, seen) and (often or not pairs.within or between >= 2):
        return "random_sample"
    if often and pairs.within >= 3:
        return "random_sample"
    if within > 0.1 * pairs.within and within:
        return edited
    if between <= _RARELY * pairs.between and pairs.between >= 5 and not _labelled(USER, seen):
        return edited
    if is_said and pairs.within:
        return "random_sample"
    is_once = len(seen) == 1 or (len(values) <= 2 and not any(map(_is_name, values)))
    if is_once and pairs.between > 1 and not _labelled(USER, seen) and between:
        return edited
    if pairs.within or _labelled(USER, seen):
        return "per_user_field"
    is_long = any("\n" in one.told.here.strip() or len(one.told.here) >= _SHORT for one in seen)
    return "random_sample" if is_long else "per_user_field"

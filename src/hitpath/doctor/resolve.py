"""Kinds that one pair of requests leaves open, decided from all pairs of an application.

A number that only rises counts something; one that jumps is drawn. Words that stay within a session
and differ between sessions are a user's; words that change from turn to turn are sampled; words
that changed once were edited. Labels (`User:`, `Seed:`, `Turn`) decide where numbers do not.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from hitpath.canonical.id_shapes import is_random
from hitpath.doctor.change import OPEN, Change, Kind
from hitpath.doctor.diagnose import Finding
from hitpath.doctor.one_place import of_one_place
from hitpath.doctor.open_groups import (
    Place,
    Seen,
    are_drawn_lists,
    compared,
    general_path,
    groups_of,
    is_one_sided,
    is_sentence,
    nearest_words,
    num_returned,
    units_of,
)
from hitpath.doctor.prompt import TOOLS
from hitpath.doctor.relatives import NONE
from hitpath.doctor.words_of_kinds import COUNTED, REQUEST, SAMPLE, TURN, USER

__all__ = ["general_path", "nearest_words", "resolve"]

_NUMBER = re.compile(r"0x[0-9A-Fa-f]+|\d+(?:[.,]\d+)*")
_ENDED = re.compile(r"\w \w.*[.?!]\s*$")
_OWN_NAME = re.compile(r"\s[\w.-]+=")
_LINE_ENDED = re.compile(r"\w \w[^\n]{0,400}[.?!][\"'”»)]?\s*(?:\n|$)")
_NAMED = re.compile(rf"{USER.pattern}[\"']?\s?[:=]")
_PERSON = re.compile(r"[A-ZÀ-Þ][\w'-]+(?: [A-ZÀ-Þ][\w'-]+){1,3}")
_SENTENCE_END = re.compile(r"[.!?]\s")
_ANSWERED = re.compile(
    r"(?i)(?<![a-z])(?:assistant|answer|ai|bot|output|reply|response|you|agent|assistent|asistente|助手|回答|"
    r"antwort|a)\s?[:>]"
)
_OFTEN, _RARELY = 0.3, 0.2
_SMALL_STEP, _LOOKED_AT = 16, 32
_SHORT = 200
_NAME_WORDS, _NAMING_WORDS, _HEADING_WORDS, _DRAWN = 3, 4, 6, 3
_MOST_KNOWN = 64
"""Changes of one request beside which others are looked for."""
_NEAR, _CLOSE, _BESIDE, _TELLING, _LEAST_LABEL = 400, 100, 40, 2, 4
_LINE_BEGIN = re.compile(
    r"(?:^|\n)[ \t]{0,8}([^\w\s]{1,3}(?=\s)|\d{1,3}[.)](?=\s)|\w{1,12}:|<\w{1,20}>)"
)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """How many pairs an application has, within sessions and between them."""

    within: int
    between: int


@dataclass(slots=True)
class _Sample:
    """What is drawn at one place: lines, how they begin, from where to where they stand."""

    units: set[str] = field(default_factory=set)
    begins: set[str] = field(default_factory=set)
    first: int = 1 << 62
    last: int = 0

    def add(self, seen: Sequence[Seen]) -> None:
        """What one group shows."""
        for one in seen:
            self.units.update(units_of(one.told))
            self.begins.update(_begins(one.told))
            self.first = min(self.first, one.told.char_offset)
            self.last = max(self.last, one.told.char_offset)

    def may_hold(self, change: Change) -> bool:
        """Whether a change shows a line of it, or is written like its lines: where they stand, or
        in a way that tells."""
        begins = _begins(change) & self.begins
        is_said = any(len(text.split()) > 2 * _NAME_WORDS for text in (change.there, change.here))
        if self.first <= change.char_offset <= self.last and (begins or is_said):
            return True
        is_telling = any(len(begin) >= _TELLING for begin in begins)
        return is_telling or not self.units.isdisjoint(units_of(change))


def resolve(findings: Sequence[Finding]) -> list[Finding]:
    """The findings with every kind decided."""
    pairs = _count_pairs(findings)
    decided: dict[tuple[int, int], Kind] = {}
    samples: dict[Place, _Sample] = defaultdict(_Sample)
    users: dict[Place, set[str]] = defaultdict(set)
    for group in groups_of(findings):
        kind = _decide(group.kind, group.seen, pairs[group.place[0]])
        decided.update({(one.finding, one.change): kind for one in group.seen})
        if kind == "random_sample":
            samples[group.place].add(group.seen)
        if kind == "per_user_field":
            users[group.place].update(one.told.label for one in group.seen)
    shuffled = _shuffled(findings, samples)
    for number, finding in enumerate(findings):
        decided.update(_of_samples(finding, number, samples, decided, shuffled))
        decided.update(_of_users(finding, number, users, decided))
    decided.update(of_one_place(findings, decided))
    return [_with_kinds(finding, number, decided) for number, finding in enumerate(findings)]


def _shuffled(findings: Sequence[Finding], samples: dict[Place, "_Sample"]) -> set[Place]:
    """Places of samples where most changes only put the same lines in another order: there a new
    order is told as one."""
    counts: dict[Place, list[int]] = defaultdict(lambda: [0, 0])
    for finding in findings:
        seen: dict[Place, bool] = {}
        for change in finding.comparison.changes:
            place = (finding.application, general_path(change.json_path))
            if place in samples:
                seen[place] = seen.get(place, False) or change.kind == "?words"
        for place, is_drawn in seen.items():
            counts[place][is_drawn] += 1
    return {place for place, (moved, drawn) in counts.items() if moved > drawn}


def _of_samples(
    finding: Finding,
    number: int,
    samples: dict[Place, _Sample],
    decided: dict[tuple[int, int], Kind],
    shuffled: set[Place],
) -> Iterator[tuple[tuple[int, int], Kind]]:
    """Where lines are sampled: some are drawn again in another order, and some are seen once only,
    written like the others or beside them."""
    changes = finding.comparison.changes
    drawn = [
        change for at, change in enumerate(changes) if decided.get((number, at)) == "random_sample"
    ][:_MOST_KNOWN]
    for at, change in enumerate(changes):
        place = (finding.application, general_path(change.json_path))
        sample = samples.get(place)
        if sample is None:
            continue
        if change.kind in ("moved_block", "array_order"):
            if place not in shuffled and not sample.units.isdisjoint(units_of(change)):
                yield (number, at), "random_sample"
        elif change.kind == "?words":
            if sample.may_hold(change) or any(_is_beside(change, one) for one in drawn):
                yield (number, at), "random_sample"
        elif change.kind in OPEN and any(_touches(change, one) for one in drawn):
            yield (number, at), "random_sample"


def _of_users(
    finding: Finding,
    number: int,
    users: dict[Place, set[str]],
    decided: dict[tuple[int, int], Kind],
) -> Iterator[tuple[tuple[int, int], Kind]]:
    """What changes together with a user's name, beside it, is theirs too; so is the second word of
    a name of which the first is the same: `I am Ann Lee`, `I am Ann Ruiz`."""
    changes = finding.comparison.changes
    known = [c for at, c in enumerate(changes) if decided.get((number, at)) == "per_user_field"]
    known = known[:_MOST_KNOWN]
    for at, change in enumerate(changes):
        if decided.get((number, at)) not in ("edited_message", "tool_set"):
            continue
        labels = users.get((finding.application, general_path(change.json_path)), ())
        is_beside = any(
            one.json_path == change.json_path and _apart(one, change) <= _BESIDE for one in known
        )
        if is_beside or any(_goes_on(change.label, label) for label in labels):
            yield (number, at), "per_user_field"


def _goes_on(label: str, known: str) -> bool:
    """Whether a label is a known one and one word more."""
    is_longer = len(known) >= _LEAST_LABEL and label.startswith(known) and label != known
    return is_longer and len(label[len(known) :].split()) == 1


def _apart(one: Change, other: Change) -> int:
    return max(one.start, other.start) - min(one.stop, other.stop)


def _is_beside(change: Change, drawn: Change) -> bool:
    """Whether a change stands near one of a sample, its lines written like those."""
    apart = _apart(change, drawn)
    if change.json_path != drawn.json_path or apart > _NEAR:
        return False
    is_within = apart <= _CLOSE and not USER.search(change.label[-48:])
    return is_within or not _begins(change).isdisjoint(_begins(drawn))


def _touches(change: Change, drawn: Change) -> bool:
    """Whether a number is part of a sample: that of its first line."""
    return change.json_path == drawn.json_path and _apart(change, drawn) <= _TELLING


def _begins(change: Change) -> set[str]:
    """How the lines of a text begin that came or went: `- `, `Q:`, `<question>`."""
    text = f"{change.there}\n{change.here}"
    return {re.sub(r"\d+", "0", match[1]) for match in _LINE_BEGIN.finditer(text)}


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


def _is_name(text: str) -> bool:
    """Whether a text may be whom or what it is for: a capital, a number, an address."""
    return text.strip()[:1].isupper() or any(c.isdigit() or c in "@/" for c in text)


def _decide(kind: Kind, seen: list[Seen], pairs: _Pairs) -> Kind:
    found = compared(seen)
    if found is not None:
        of_values, others = found
        if of_values in ("clock", "attribution"):
            return of_values
        if of_values in OPEN:
            kind, seen = of_values, seen if of_values == "?words" else others
    if seen[0].told.segment == TOOLS and _SCHEMA.search(seen[0].told.json_path):
        return "tool_set"
    if kind == "?id":
        return _id(seen, pairs)
    if kind == "?number":
        told = seen[0].told
        if told.segment == TOOLS and _RELEASE.search(told.label[-16:]) and "." in told.here:
            return "tool_set"
        return _number(seen, pairs)
    return _words(seen, pairs)


def _within(seen: list[Seen]) -> int:
    return sum(one.same_session for one in seen)


def _stays_in_session(seen: list[Seen], pairs: _Pairs) -> bool:
    """Whether a value changes between sessions only, as far as there are any."""
    return _within(seen) <= 0.1 * pairs.within and _within(seen) < len(seen)


def _labelled(words: re.Pattern[str], seen: list[Seen]) -> bool:
    """By the words right before the value, else by the name that begins its line."""
    told = seen[0].told
    name, colon, _ = told.heading.partition(":")
    name = name if len(name.split()) <= (_HEADING_WORDS if colon else _NAMING_WORDS) else ""
    if _OWN_NAME.fullmatch(_field(told)):  # of a line with several fields
        return bool(words.search(_field(told)))
    if colon and SAMPLE.search(name) and not USER.search(name):  # `Examples:` over a list
        return bool(words.search(name))
    for text in (_field(told), name if colon else ""):
        if USER.search(text) or SAMPLE.search(text) or COUNTED.search(text):
            return bool(words.search(text))
    clause = _SENTENCE_END.split(told.label)[-1]
    return bool(words.search(" ".join(clause.split()[-_NAMING_WORDS:])) or words.search(name))


def _field(told: Change) -> str:
    """The name of a field right before the value, "" for words of a sentence."""
    near = nearest_words(told.label)
    return "" if is_sentence(near) else near


def _id(seen: list[Seen], pairs: _Pairs) -> Kind:
    stays = _stays_in_session(seen, pairs)
    near = nearest_words(seen[0].told.label)
    if REQUEST.search(near) and not (USER.search(near) or SAMPLE.search(near)):
        return "request_id"
    if _labelled(USER, seen) and stays:
        return "per_user_field"
    if _labelled(SAMPLE, seen):
        return "random_sample"
    random = any(map(_is_random, seen[:_LOOKED_AT]))
    return "per_user_field" if stays and pairs.within and not random else "request_id"


def _is_random(one: Seen) -> bool:
    """Whether an id says nothing, or says that it is a request's."""
    said = f"{one.told.there} {one.told.here}"
    words = re.split(r"[\s'\"<>=:]+", said)
    return any(map(is_random, words)) or bool(REQUEST.search(f"{one.told.label[-48:]} {said}"))


def _number(seen: list[Seen], pairs: _Pairs) -> Kind:
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
    if _counts_anew(seen) or all(_ORDINAL.search(one.told.here) for one in seen):
        return "counter"
    if _labelled(USER, seen) and not _within(seen):
        return "per_user_field"
    return "random_sample"


def _counts_anew(seen: list[Seen]) -> bool:
    """Whether a number rises by small steps as a dialogue goes on, and begins again with each."""
    within = [one.told for one in seen if one.same_session]
    steps = [step for told in within or (one.told for one in seen)
             if (step := _step(told)) is not None]  # fmt: skip
    small = [step for step in steps if 0 < step <= _SMALL_STEP]
    needed = _MOSTLY_WITHIN if within else _MOSTLY
    return len(small) >= _DRAWN and len(small) >= needed * len(steps)


_SCHEMA = re.compile(r"\.(?:enum|required|type)\[\d+\]$|\.(?:const|default|type)$")
"""Strings of a tool that a schema holds, and no description does."""
_MOSTLY_WITHIN, _MOSTLY = 0.9, 0.6
_ORDINAL = re.compile(r"(?<![a-z])\d{1,6}(?:st|nd|rd|th|ème)\s*$")


def _step(change: Change) -> float | None:
    """By how much a number rose."""
    old, new = _NUMBER.findall(change.there), _NUMBER.findall(change.here)
    if not old or not new:
        return None
    values = [
        _value(a) - _value(b)
        for a, b in zip(new, old, strict=False)
        if a.count(".") < 2 and b.count(".") < 2 and len(a) < 30 and len(b) < 30
    ]
    return next((value for value in values if value), None)


def _value(number: str) -> float:
    if number.startswith("0x"):
        return float(int(number, 16))
    return float(number.replace(",", ""))


def _words(seen: list[Seen], pairs: _Pairs) -> Kind:
    edited: Kind = "tool_set" if seen[0].told.segment == TOOLS else "edited_message"
    if edited == "tool_set" and all(_tells_a_version(one.told) for one in seen):
        return edited
    values = {text for one in seen for text in (one.told.there, one.told.here) if text.strip()}
    is_one_text = len({re.sub(r"\d+", "0", text) for text in values}) == 1
    if edited == "tool_set" and is_one_text and all(is_one_sided(one.told) for one in seen):
        return edited  # one sentence that comes and goes
    is_user = _labelled(USER, seen) and not _are_turns(seen, values)
    if _came_for_good(seen) and not _labelled(SAMPLE, seen):
        return edited
    if len(values) > 1 and all(is_one_sided(one.told) for one in seen):
        if _labelled(SAMPLE, seen):
            return "random_sample"
        if is_user:
            return "per_user_field"
    within = _within(seen)
    is_field = is_user and _field(seen[0].told).rstrip("\"'<").endswith((":", "="))
    if is_field and all(map(_is_name, values)):
        return "per_user_field"
    if within and not is_field and _is_one_edit(seen):
        return edited
    if _is_drawn(seen, values, pairs):
        return "random_sample"
    if within > 0.1 * pairs.within and within:
        return edited
    between = len(seen) - within
    if _field(seen[0].told).endswith(":") and _are_lists(values) and not is_user:
        return "random_sample"
    may_be_user = is_field or (is_user and any(map(_is_name, values)))
    may_be_user = may_be_user or all(_PERSON.fullmatch(text.strip()) for text in values)
    if between <= _RARELY * pairs.between and pairs.between >= 5 and not may_be_user:
        return edited
    if within and _are_said(seen, values):
        return "random_sample"
    is_once = len(seen) == 1 and pairs.between > 1 and not may_be_user
    is_once = is_once or (len(values) <= 2 and not any(map(_is_name, values)))
    if is_once and not is_user and between:
        return edited
    if pairs.within or is_user:
        return "per_user_field"
    is_long = any("\n" in one.told.here.strip() or len(one.told.here) >= _SHORT for one in seen)
    return "random_sample" if is_long else "per_user_field"


def _came_for_good(seen: list[Seen]) -> bool:
    """Whether one text came, or went, and never turned back."""
    sides = {(one.told.there.strip(), one.told.here.strip()) for one in seen}
    return len(sides) == 1 and all(is_one_sided(one.told) for one in seen)


def _tells_a_version(told: Change) -> bool:
    """Whether words of a tool came or went that speak of its release."""
    return is_one_sided(told) and bool(_VERSION.search(told.there + told.here))


def _are_lists(values: set[str]) -> bool:
    """Whether several texts stood there, most of them with more than one member."""
    lists = sum(bool(_MEMBERS.search(text)) for text in values)
    are_all = len(values) > 1 and lists == len(values)  # no member of one is in the other
    return are_all or (len(values) > _DRAWN and 2 * lists > len(values))


_MEMBERS = re.compile(
    r"^[^(\n]*(?:\w\s(?:and|und|et|y|e)\s\w|;\s|…|[^,]{2},\s[^,]{2,40},\s)[^(\n]*$"
)
"""Not `Haddad, Chloe (free)`, which is one."""


_RELEASE = re.compile(r"(?i)(?<![a-z])(?:release|version|since|v)\s?$")
_VERSION = re.compile(
    r"(?i)(?<![a-z])(?:release|version|since|as of|v)\s?\d{1,3}(?:\.\d{1,4}){1,3}"
)


def _is_one_edit(seen: list[Seen]) -> bool:
    """Whether one text gave way to one other for good, whenever a session first shows it."""
    return len({(one.told.there, one.told.here) for one in seen}) == 1


def _is_drawn(seen: list[Seen], values: set[str], pairs: _Pairs) -> bool:
    """Whether texts are drawn anew: they change from turn to turn, many different ones stood there,
    or some came back after they had gone."""
    within = _within(seen)
    often = within >= max(2, _OFTEN * pairs.within)
    is_sample = _labelled(SAMPLE, seen)
    if is_sample and (often or not pairs.within or len(seen) - within >= 2):
        return True
    if (often and pairs.within >= 3) or are_drawn_lists(seen):
        return True
    if not _are_said(seen, values) or len(seen) < _DRAWN:
        return False
    if not within and pairs.within >= _DRAWN:  # it stays in a session, as a user's words do
        num_ended = sum(bool(_LINE_ENDED.search(text)) for text in values)
        return num_returned(seen) > 1 and 2 * num_ended > len(values)
    num_named = sum(bool(_NAMED.search(x)) and not _ANSWERED.search(x) for x in values)
    if not within and 2 * num_named >= len(values):
        return False
    return num_returned(seen) > 0 or len(values) > _DRAWN


def _are_said(seen: list[Seen], values: set[str]) -> bool:
    """Whether most texts are sentences, and not what a user is called."""
    said = [text for text in values if len(text.split()) > _NAME_WORDS or _ENDED.search(text)]
    is_user = _labelled(USER, seen) and not _are_turns(seen, values)
    return 2 * len(said) > len(values) and not is_user


def _are_turns(seen: list[Seen], values: set[str]) -> bool:
    """Whether `User:` stands before what somebody says in an example, and not before a name."""
    is_turn = bool(TURN.search(seen[0].told.label))
    num_said = sum(
        bool(_ANSWERED.search(text) or (is_turn and _ENDED.search(text))) for text in values
    )
    return 2 * num_said > len(values)

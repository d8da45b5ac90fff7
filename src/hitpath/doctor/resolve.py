"""Kinds that one pair of requests leaves open, decided from all pairs of an application.

A number that only rises counts something; one that jumps is drawn. Words that stay within a session
and differ between sessions are a user's; words that change from turn to turn are sampled; words
that changed once were edited. Labels (`User:`, `Seed:`, `Turn`) decide where numbers do not.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from hitpath.canonical.id_shapes import is_random
from hitpath.doctor.change import OPEN, Change, Kind
from hitpath.doctor.clock_by_time import Apart, Pair, goes_with_time
from hitpath.doctor.diagnose import Finding
from hitpath.doctor.fields import Pairs, is_of_a_request, labelled, stays_in_session
from hitpath.doctor.lines_that_come import as_their_fields, stamped_lines
from hitpath.doctor.near_places import as_their_place
from hitpath.doctor.no_clocks import Arrived, as_no_clocks
from hitpath.doctor.number_kinds import counts_by_small_steps, number_kind
from hitpath.doctor.number_words import numbers_of_sides
from hitpath.doctor.one_place import of_one_place
from hitpath.doctor.open_groups import (
    Group,
    Place,
    Seen,
    compared,
    general_path,
    groups_of,
    nearest_words,
    units_of,
    words_before,
)
from hitpath.doctor.prompt import TOOLS
from hitpath.doctor.relatives import NONE
from hitpath.doctor.value_runs import Run, are_edits, are_many, come_back, runs_of
from hitpath.doctor.word_kinds import words_kind
from hitpath.doctor.words_of_kinds import COUNTED, REQUEST, SAMPLE, USER

__all__ = ["general_path", "nearest_words", "resolve"]

_LOOKED_AT, _NAME_WORDS = 32, 3
_MOST_KNOWN = 64
"""Changes of one request beside which others are looked for."""
_NEAR, _CLOSE, _BESIDE, _TELLING, _LEAST_LABEL = 400, 100, 40, 2, 4
_LINE_BEGIN = re.compile(
    r"(?:^|\n)[ \t]{0,8}([^\w\s]{1,3}(?=\s)|\d{1,3}[.)](?=\s)|\w{1,12}:|<\w{1,20}>)"
)


@dataclass(slots=True)
class _Sample:
    """What is drawn at one place: lines, how they begin, from where to where they stand."""

    units: set[str] = field(default_factory=set)
    begins: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    labels: Counter[str] = field(default_factory=Counter)
    orders: Counter[str] = field(default_factory=Counter)
    first: int = 1 << 62
    last: int = 0

    def add(self, seen: Sequence[Seen]) -> None:
        """What one group shows."""
        for one in seen:
            self.units.update(units_of(one.told))
            self.begins.update(_begins(one.told))
            self.words.update(_words_in(one.told))
            self.labels[words_before(one.told)] += 1
            self.first = min(self.first, one.told.char_offset)
            size = max(len(one.told.there), len(one.told.here))
            self.last = max(self.last, one.told.char_offset + size)

    def draws_a_list(self, change: Change) -> bool:
        """Whether a list in another order was drawn anew: what stands behind its words has other
        members more often. Of three dice all may come again."""
        words = words_before(change)
        return change.kind == "array_order" and self.labels[words] > self.orders[words]

    def may_hold(self, change: Change) -> bool:
        """Whether a change shows a line of it, or is written like its lines: where they stand, or
        in a way that tells."""
        begins = _begins(change) & self.begins
        is_said = any(len(text.split()) > 2 * _NAME_WORDS for text in (change.there, change.here))
        is_within = self.first <= change.char_offset <= self.last
        words = _words_in(change)
        if is_within and (begins or is_said or (words and words <= self.words)):
            return True
        is_telling = any(len(begin) >= _TELLING for begin in begins)
        return is_telling or not self.units.isdisjoint(units_of(change))


def resolve(
    findings: Sequence[Finding], apart: Apart | None = None, arrived: Arrived | None = None
) -> list[Finding]:
    """The findings with every kind decided. apart: seconds between two rows, where they are
    known; arrived: seconds since 1970 of one, likewise."""
    pairs = _count_pairs(findings)
    decided: dict[tuple[int, int], Kind] = {}
    samples: dict[Place, _Sample] = defaultdict(_Sample)
    users: dict[Place, set[str]] = defaultdict(set)
    for group in [*groups_of(findings), *stamped_lines(findings)]:
        own = pairs[group.place[0]]
        kind = _decide(group.kind, group.seen, own)
        kind = _in_order_of_arrival(kind, group, own, findings)
        if kind in _MAY_TELL_TIME and apart is not None:
            figures = _in_figures(group.seen) if group.kind == "?words" else []
            kind = "clock" if _tells_time(figures or group.seen, findings, apart) else kind
        decided.update({(one.finding, one.change): kind for one in group.seen})
        if kind == "random_sample":
            samples[group.place].add(group.seen)
        if kind == "per_user_field":
            users[group.place].update(one.told.label for one in group.seen)
    if apart is not None:
        decided.update(as_no_clocks(findings, pairs, (apart, arrived), dict(decided)))
    decided.update(as_their_fields(findings, decided))
    shuffled = _shuffled(findings, samples)
    for number, finding in enumerate(findings):
        decided.update(_of_samples(finding, number, samples, decided, shuffled))
        decided.update(_of_users(finding, number, users, decided))
    decided.update(of_one_place(findings, decided))
    decided.update(as_their_place(findings, decided))
    return [_with_kinds(finding, number, decided) for number, finding in enumerate(findings)]


def _in_order_of_arrival(
    kind: Kind, group: Group, pairs: Pairs, findings: Sequence[Finding]
) -> Kind:
    """The kind, unless what stood there in all requests says another: few values that each stood
    for long are edits, values that come back, or ever new ones, are none."""
    seen, edited = group.seen, _edited(group.seen)
    is_known = kind in ("request_id", edited) or len({one.told.here for one in seen}) <= _FEW_VALUES
    if not is_known or seen[0].told.segment == TOOLS or pairs.within + pairs.between < _MANY_PAIRS:
        return kind
    runs = runs_of(seen, findings)
    is_within = any(one.same_session for one in seen)
    is_named = labelled(SAMPLE, seen) or (group.kind == "?number" and _may_count(seen, runs))
    if kind != "request_id" and are_edits(runs, is_within) and not is_named:
        return edited
    is_drawn = kind == edited and group.kind == "?words" and are_many(runs)
    if is_drawn or ((group.kind, kind) in _NOBODYS and come_back(runs)):
        return (
            "per_user_field" if stays_in_session(seen, pairs) and pairs.within else "random_sample"
        )
    return kind


def _edited(seen: Sequence[Seen]) -> Kind:
    return "tool_set" if seen[0].told.segment == TOOLS else "edited_message"


_FEW_VALUES = 2
_NOBODYS = (("?id", "request_id"), ("?words", "edited_message"))
"""What is told of ids, and of words, that belong to nobody and do not come back."""
_MAY_TELL_TIME: tuple[Kind, ...] = ("counter", "random_sample", "request_id", "per_user_field")


def _tells_time(seen: Sequence[Seen], findings: Sequence[Finding], apart: Apart) -> bool:
    rows = [(findings[one.finding].row, findings[one.finding].relative) for one in seen]
    return goes_with_time(
        [Pair(one.told.there, one.told.here, *of) for one, of in zip(seen, rows, strict=True)],
        apart,
    )


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
                samples[place].orders[words_before(change)] += change.kind == "array_order"
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
            is_known = place not in shuffled and not sample.units.isdisjoint(units_of(change))
            if is_known or sample.draws_a_list(change):
                drawn.append(change)  # what stands behind it in its line is drawn too
                yield (number, at), "random_sample"
        elif change.kind == "?words":
            if sample.may_hold(change) or any(_is_beside(change, one) for one in drawn):
                yield (number, at), "random_sample"
        elif change.kind in OPEN and any(_is_its_number(change, one) for one in drawn):
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


def _is_its_number(change: Change, drawn: Change) -> bool:
    """Whether a number is part of a sample: that of its first line, or of a line behind it in a
    list that is the same but for it."""
    if change.json_path != drawn.json_path:
        return False
    is_ordinal = (
        change.there.isdecimal()
        and change.here.isdecimal()
        and not change.label
        and change.behind.startswith((".", ")", ":"))
    )
    between = change.label.removeprefix(drawn.label)
    if between != change.label and len(drawn.label) >= _LEAST_LABEL and not _NAMES.search(between):
        return _apart(change, drawn) <= _NEAR  # of one line, with no other name before it
    return _apart(change, drawn) <= (_FAR if is_ordinal else _TELLING)


_FAR = 4_000
_NAMES = re.compile(r"[^\W\d_]{2}")


def _begins(change: Change) -> set[str]:
    """How the lines of a text begin that came or went: `- `, `Q:`, `<question>`."""
    text = f"{change.there}\n{change.here}"
    return {re.sub(r"\d+", "0", match[1]) for match in _LINE_BEGIN.finditer(text)}


def _words_in(change: Change) -> set[str]:
    """The words on either side."""
    return set(_WORDS.findall(f"{change.there} {change.here}"))


_WORDS = re.compile(r"\w+")


def _count_pairs(findings: Sequence[Finding]) -> dict[int, Pairs]:
    counts: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for finding in findings:
        if finding.relative != NONE:
            counts[finding.application][not finding.same_session] += 1
    return {application: Pairs(*found) for application, found in counts.items()}


def _with_kinds(finding: Finding, number: int, decided: dict[tuple[int, int], Kind]) -> Finding:
    changes = finding.comparison.changes
    if not any((number, at) in decided for at in range(len(changes))):
        return finding
    new = tuple(
        replace(change, kind=decided.get((number, at), change.kind))
        for at, change in enumerate(changes)
    )
    return replace(finding, comparison=replace(finding.comparison, changes=new))


def _decide(kind: Kind, seen: list[Seen], pairs: Pairs) -> Kind:
    found = compared(seen)
    if found is not None:
        of_values, others = found
        if of_values in ("clock", "attribution"):
            return of_values
        if of_values in OPEN:
            kind, seen = of_values, seen if of_values == "?words" else others
    if _is_one_edit(seen, pairs):
        return _edited(seen)
    if seen[0].told.segment == TOOLS and _SCHEMA.search(seen[0].told.json_path):
        return "tool_set"
    if kind == "?id":
        return _id(seen, pairs)
    if kind == "?number":
        told = seen[0].told
        if told.segment == TOOLS and _RELEASE.search(told.label[-16:]) and "." in told.here:
            return "tool_set"
        return number_kind(seen, pairs)
    spelt = _in_figures(seen)
    if spelt and _is_counted(spelt, pairs) and counts_by_small_steps(spelt):
        return "counter"
    return words_kind(seen, pairs)


def _is_counted(spelt: list[Seen], pairs: Pairs) -> bool:
    """Whether numbers in words are seen often enough to count, or a word says that they do. What
    never changes within sessions may be a user's (`class III`), and needs more to be none."""
    if labelled(SAMPLE, spelt):
        return False
    if labelled(COUNTED, spelt):
        return True
    is_within = pairs.within < _MANY_PAIRS or any(one.same_session for one in spelt)
    return len(spelt) > (1 if is_within else _MANY_PAIRS)


def _in_figures(seen: list[Seen]) -> list[Seen]:
    """The changes with numbers in words as figures; none where one of them is no number, or all
    are single letters."""
    found: list[Seen] = []
    for one in seen:
        numbers = numbers_of_sides(one.told.there, one.told.here)
        if numbers is None:
            return []
        told = replace(one.told, there=str(numbers[0]), here=str(numbers[1]))
        found.append(replace(one, told=told))
    texts = {text.strip(" .:()[]") for one in seen for text in (one.told.there, one.told.here)}
    return [] if all(text.isascii() and len(text) == 1 for text in texts) else found


def _is_one_edit(seen: list[Seen], pairs: Pairs) -> bool:
    """Whether one text gave way to another once, for good, in a trace that would have shown more of
    what counts or is drawn."""
    of_all = pairs.within if seen[0].same_session else pairs.between
    if len(seen) > 1 or of_all < _MANY_PAIRS or pairs.within + pairs.between < 2 * _MANY_PAIRS:
        return False
    if seen[0].told.kind == "?words" and labelled(SAMPLE, seen):
        return False
    told = seen[0].told
    is_counted = told.kind == "?number" and _says_it_counts(told)
    return not (is_counted or REQUEST.search(nearest_words(told.label)))


def _may_count(seen: list[Seen], runs: Sequence[Run]) -> bool:
    """Whether words say so, or a number rose, or fell, by a small step more than once."""
    is_steady = len(runs) > _ONE_EDIT and counts_by_small_steps(seen)
    return _says_it_counts(seen[0].told) or is_steady


_ONE_EDIT = 2


def _says_it_counts(told: Change) -> bool:
    """Whether the two words before a number say that it counts, and is no version's."""
    last = " ".join(nearest_words(told.label).split()[-2:])
    return bool(COUNTED.search(last)) and not _VERSION.search(last)


_MANY_PAIRS = 5
_VERSION = re.compile(r"(?i)(?<![a-z])(?:version|revision|rev|build|release|v)(?![a-z])")


def _id(seen: list[Seen], pairs: Pairs) -> Kind:
    stays = stays_in_session(seen, pairs)
    near = nearest_words(seen[0].told.label)
    if is_of_a_request(near) and not SAMPLE.search(near):
        return "request_id"
    if labelled(USER, seen) and stays:
        return "per_user_field"
    if labelled(SAMPLE, seen):
        return "random_sample"
    random = any(map(_is_random, seen[:_LOOKED_AT]))
    return "per_user_field" if stays and pairs.within and not random else "request_id"


def _is_random(one: Seen) -> bool:
    """Whether an id says nothing, or says that it is a request's."""
    said = f"{one.told.there} {one.told.here}"
    words = re.split(r"[\s'\"<>=:]+", said)
    return any(map(is_random, words)) or bool(REQUEST.search(f"{one.told.label[-48:]} {said}"))


_RELEASE = re.compile(r"(?i)(?<![a-z])(?:release|version|since|v)\s?$")
_SCHEMA = re.compile(r"\.(?:enum|required|type)\[\d+\]$|\.(?:const|default|type)$")
"""Strings of a tool that a schema holds, and no description does."""

"""What is known of the field of a group of open changes: the words that name it, and how often it
changed within sessions."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hitpath.doctor.change import Change
from hitpath.doctor.diagnose import Finding
from hitpath.doctor.open_groups import Seen, is_sentence, nearest_words
from hitpath.doctor.words_of_kinds import COUNTED, SAMPLE, USER

_OWN_NAME = re.compile(r"\s[\w.-]+=")
_SENTENCE_END = re.compile(r"[.!?]\s")
_HOST = re.compile(
    r"(?<![\w.])(?:[a-zA-Z][a-zA-Z0-9+]{1,9}://[^\s/]{1,200}"
    r"|(?:[\w-]{1,60}\.){2,8}[a-z]{2,12}(?=/))"
)
_NAMING_WORDS, _HEADING_WORDS = 4, 6


@dataclass(frozen=True, slots=True)
class Pairs:
    """How many pairs an application has, within sessions and between them."""

    within: int
    between: int


def num_within(seen: list[Seen]) -> int:
    return sum(one.same_session for one in seen)


def stays_in_session(seen: list[Seen], pairs: Pairs) -> bool:
    """Whether a value changes between sessions only, as far as there are any."""
    return num_within(seen) <= 0.1 * pairs.within and num_within(seen) < len(seen)


def labelled(words: re.Pattern[str], seen: list[Seen]) -> bool:
    """By the words right before the value, else by the name that begins its line. The name of a
    host says nothing of what stands behind it (`https://docs.example.com/`)."""
    told = seen[0].told
    told = replace(told, label=_HOST.sub(" ", told.label), heading=_HOST.sub(" ", told.heading))
    name, colon, _ = told.heading.partition(":")
    name = name if len(name.split()) <= (_HEADING_WORDS if colon else _NAMING_WORDS) else ""
    if _OWN_NAME.fullmatch(field_name(told)):  # of a line with several fields
        return bool(words.search(field_name(told)))
    if colon and SAMPLE.search(name) and not USER.search(name):  # `Examples:` over a list
        return bool(words.search(name))
    for text in (field_name(told), name if colon else ""):
        if USER.search(text) or SAMPLE.search(text) or COUNTED.search(text):
            return bool(words.search(text))
    clause = _SENTENCE_END.split(told.label)[-1]
    return bool(words.search(" ".join(clause.split()[-_NAMING_WORDS:])) or words.search(name))


def field_name(told: Change) -> str:
    """The name of a field right before the value, "" for words of a sentence."""
    near = nearest_words(told.label)
    return "" if is_sentence(near) else near


def come_back(seen: Sequence[Seen], findings: Sequence[Finding]) -> bool:
    """Whether a few values stand in many sessions, by turns: no request's own id does. What stands
    in each request is what its relative has, where nothing changed."""
    here = {one.finding: one.told.here for one in seen}
    there = {findings[one.finding].relative: one.told.there for one in seen}
    application = findings[seen[0].finding].application
    values: dict[int, str] = {}
    last, gone, num = "", set[str](), 0
    for number, finding in enumerate(findings[:_MOST_LOOKED_AT]):
        if finding.application != application:
            continue
        before = values.get(finding.relative) or there.get(number, "")
        value = here.get(number, before)
        values[number] = value
        if finding.same_session or not value:
            continue
        num += value in gone
        if value != last:
            gone.add(last)
        last = value
    return num >= _FEWEST_BACK


_MOST_LOOKED_AT, _FEWEST_BACK = 4_000, 2

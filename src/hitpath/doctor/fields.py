"""What is known of the field of a group of open changes: the words that name it, and how often it
changed within sessions."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hitpath.doctor.change import Change
from hitpath.doctor.open_groups import Seen, is_sentence, nearest_words
from hitpath.doctor.words_of_kinds import ASKED, COUNTED, REQUEST, SAMPLE, USER

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


def is_of_a_request(words: str) -> bool:
    """Whether the words before a value name a request or what it is a part of, and no person whose
    number it is: the last noun tells (`WhatsApp session id:`), before what it is of (`Número
    WhatsApp da sessão:`)."""
    for part in _OF.split(words):
        users, requests = (_end(nouns, part) for nouns in (USER, REQUEST))
        if users or requests:
            return not users or _end(ASKED, part) > users
    return False


def _end(words: re.Pattern[str], text: str) -> int:
    """Where the last of these words ends, 0 for none."""
    return max((found.end() for found in words.finditer(text)), default=0)


_OF = re.compile(
    r"(?i)\s(?:of|for|with|in|on|d[aeo]|del(?:la)?|der|des|du|dell'|n[ao]|en|von|van|для)\s"
)


def are_phones(seen: Sequence[Seen]) -> bool:
    """Whether all values are numbers by which somebody is called, with a country's code."""
    return all(_is_phone(one.told.label, one.told.here or one.told.there) for one in seen)


def _is_phone(label: str, value: str) -> bool:
    """E.164, in one piece or several of which the first may stay: `+49 151 1234567`."""
    plain = value.strip()
    if plain.startswith("+"):
        return _PHONE.fullmatch(plain) is not None and _digits(plain) >= _LEAST_PHONE
    behind = _COUNTRY.search(label)
    return behind is not None and _GROUPS.fullmatch(plain) is not None and _digits(plain) >= _GROUP


def _digits(text: str) -> int:
    return sum(map(str.isdecimal, text))


_PHONE, _GROUPS = re.compile(r"\+\d[\d\s()./…-]{6,24}"), re.compile(r"[\d\s()./…-]{4,24}")
_COUNTRY = re.compile(r"(?<!\w)\+0[\s()./0-]{0,12}$")
_LEAST_PHONE, _GROUP = 8, 4

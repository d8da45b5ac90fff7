"""Which kind other words are: a user's, a sample's, an edit."""

import re

from hitpath.doctor.change import Change, Kind
from hitpath.doctor.fields import Pairs, field_name, labelled, num_within
from hitpath.doctor.open_groups import (
    Seen,
    are_drawn_lists,
    is_one_sided,
    num_returned,
    slots_of,
)
from hitpath.doctor.prompt import TOOLS
from hitpath.doctor.words_of_kinds import MANNER, SAMPLE, TURN, USER

_ENDED = re.compile(r"\w \w.*[.?!]\s*$")
_LINE_ENDED = re.compile(r"\w \w[^\n]{0,400}[.?!][\"'”»)]?\s*(?:\n|$)")
_NAMED = re.compile(rf"{USER.pattern}[\"']?\s?[:=]")
_PERSON = re.compile(r"[A-ZÀ-Þ][\w'-]+(?: [A-ZÀ-Þ][\w'-]+){1,3}")
_ANSWERED = re.compile(
    r"(?i)(?<![a-z])(?:assistant|answer|ai|bot|output|reply|response|you|agent|assistent|asistente|助手|回答|"
    r"antwort|a)\s?[:>]"
)
_OFTEN, _RARELY = 0.3, 0.2
_SHORT, _NAME_WORDS, _DRAWN, _TURNS = 200, 3, 3, 2


def words_kind(seen: list[Seen], pairs: Pairs) -> Kind:
    edited: Kind = "tool_set" if seen[0].told.segment == TOOLS else "edited_message"
    if edited == "tool_set" and all(_tells_a_version(one.told) for one in seen):
        return edited
    values = {slot for one in seen for slot in slots_of(one.told) if slot.strip()}
    is_one_text = len({re.sub(r"\d+", "0", text) for text in values}) == 1
    if edited == "tool_set" and is_one_text and all(is_one_sided(one.told) for one in seen):
        return edited  # one sentence that comes and goes
    if edited == "tool_set" and len(values) == _TURNS and all(map(_is_long, values)):
        return edited  # two descriptions that take turns
    are_lines = all(is_one_sided(one.told) for one in seen)
    if edited == "tool_set" and all(_is_cut(one.told) for one in seen):
        return edited  # descriptions that end at a limit
    is_user = labelled(USER, seen) and not _are_turns(seen, values)
    if _came_for_good(seen) and not labelled(SAMPLE, seen):
        return edited
    if edited != "tool_set" and 2 * sum(map(_is_dialogue, values)) > len(values):
        return "random_sample"
    within = num_within(seen)
    if are_lines and _only_come_within(seen) and not labelled(SAMPLE, seen):
        return edited
    if len(values) > 1 and are_lines:
        if labelled(SAMPLE, seen):
            return "random_sample"
        if is_user:
            return "per_user_field"
    is_field = is_user and field_name(seen[0].told).rstrip("\"'<").endswith((":", "="))
    if is_field and all(map(_is_name, values)):
        return "per_user_field"
    if within and not is_field and _is_one_edit(seen):
        return edited
    if _is_drawn(seen, values, pairs):
        return "random_sample"
    if within > 0.1 * pairs.within and within:
        return edited
    between = len(seen) - within
    texts = {text for one in seen for text in (one.told.there, one.told.here) if text.strip()}
    if field_name(seen[0].told).endswith(":") and _are_lists(texts) and not is_user:
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
    is_long = any("\n" in text.strip() or len(text) >= _SHORT for text in values)
    return "random_sample" if is_long else "per_user_field"


def _came_for_good(seen: list[Seen]) -> bool:
    """Whether one text came, or went, and never turned back."""
    sides = {(one.told.there.strip(), one.told.here.strip()) for one in seen}
    return len(sides) == 1 and all(is_one_sided(one.told) for one in seen)


def _is_cut(told: Change) -> bool:
    """Whether one side is how the other, some sentences, begins."""
    short, long = sorted((told.there.strip(), told.here.strip()), key=len)
    return long.startswith(short) and _is_long(long)


def _only_come_within(seen: list[Seen]) -> bool:
    """Whether lines come as sessions go on, and are gone where another one begins: a memory that
    each session gains, and no user's."""
    came = [one for one in seen if one.same_session]
    return bool(came) and all(bool(one.told.here.strip()) == one.same_session for one in seen)


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


_VERSION = re.compile(
    r"(?i)(?<![a-z])(?:release|version|since|as of|v)\s?\d{1,3}(?:\.\d{1,4}){1,3}"
)


def _is_one_edit(seen: list[Seen]) -> bool:
    """Whether one text gave way to one other for good, whenever a session first shows it."""
    return len({(one.told.there, one.told.here) for one in seen}) == 1


def _is_drawn(seen: list[Seen], values: set[str], pairs: Pairs) -> bool:
    """Whether texts are drawn anew: they change from turn to turn, many different ones stood there,
    or some came back after they had gone."""
    within = num_within(seen)
    often = within >= max(2, _OFTEN * pairs.within)
    is_manner = labelled(MANNER, seen) and not (labelled(USER, seen) or _stays(seen, pairs))
    is_sample = labelled(SAMPLE, seen) or is_manner
    if is_sample and (often or not pairs.within or len(seen) - within >= 2):
        return True
    if (often and pairs.within >= 3) or are_drawn_lists(seen):
        return True
    if any(_is_redrawn(one.told) for one in seen):
        return True
    if not _are_said(seen, values) or len(seen) < _DRAWN:
        return False
    if _stays(seen, pairs):  # it stays in a session, as a user's words do
        num_ended = sum(bool(_LINE_ENDED.search(text)) for text in values)
        return num_returned(seen) > 1 and 2 * num_ended > len(values)
    num_named = sum(bool(_NAMED.search(x)) and not _ANSWERED.search(x) for x in values)
    if not within and 2 * num_named >= len(values):
        return False
    return num_returned(seen) > 0 or len(values) > _DRAWN


def _is_redrawn(told: Change) -> bool:
    """Whether lines came and went, and those that stayed stand in another order now."""
    old, new = (
        [line[:_BEGINNING] for row in text.splitlines() if len(line := row.strip()) >= _BEGINNING]
        for text in (told.there, told.here)
    )
    stayed = [line for line in new if line in old]
    is_exchanged = min(len(set(old)), len(set(new))) > len(set(stayed))
    places = [old.index(line) for line in stayed]
    return is_exchanged and len(stayed) > 1 and places != sorted(places)


_BEGINNING = 24
"""Characters by which a line is known: a change keeps some of a text only, and may cut the last."""


def _stays(seen: list[Seen], pairs: Pairs) -> bool:
    """Whether what stands there is one thing within each session."""
    return not num_within(seen) and pairs.within >= _DRAWN


def _are_said(seen: list[Seen], values: set[str]) -> bool:
    """Whether most texts are sentences, and not what a user is called."""
    said = [text for text in values if _is_said(text)]
    is_user = labelled(USER, seen) and not _are_turns(seen, values)
    return 2 * len(said) > len(values) and not is_user


def _is_long(text: str) -> bool:
    return len(text.split()) > _NAME_WORDS


def _is_said(text: str) -> bool:
    """Whether a text is a sentence: more words than a name has, and not most of them names."""
    words = text.split()
    num_names = sum(map(_is_name, words))
    return bool(_ENDED.search(text)) or (_is_long(text) and 2 * num_names <= len(words))


def _is_dialogue(text: str) -> bool:
    """Whether several speak: sentences, and lines that begin with a speaker."""
    return len(_SPEAKERS.findall(text)) > 0


_SPEAKERS = re.compile(
    r"[.?!][\"'”»)]?[ \t]*\n[ \t>*#-]{0,8}[^\W\d][\w .-]{0,24}[:：][ \t]+\S+[ \t]\S"
)


def _are_turns(seen: list[Seen], values: set[str]) -> bool:
    """Whether `User:` stands before what somebody says in an example, and not before a name."""
    is_turn = bool(TURN.search(seen[0].told.label))
    num_said = sum(
        bool(_ANSWERED.search(text) or (is_turn and _ENDED.search(text))) for text in values
    )
    return 2 * num_said > len(values)


def _is_name(text: str) -> bool:
    """Whether a text may be whom or what it is for: a capital, a number, an address."""
    return text.strip()[:1].isupper() or any(c.isdigit() or c in "@/" for c in text)

"""What kind of text a difference is: one small rule a kind, asked in the order of RULES.

A rule sees what gave way to what, and what stands around it; it knows nothing of the trace. Where
that is not enough (a number may count or be drawn, words may be a user's name or an edit), the kind
stays open, and `resolve.py` decides it from all requests together.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from hitpath.canonical.clock_shapes import WEEKDAY_WORDS
from hitpath.canonical.id_shapes import is_random
from hitpath.doctor.change import Kind
from hitpath.doctor.clock_words import (
    are_counts,
    further_spans,
    is_beside_a_date,
    is_clock,
    is_labelled,
)
from hitpath.doctor.shapes import HIDDEN, Shape, is_id
from hitpath.doctor.spelt_times import are_weekdays, in_figures, is_hour
from hitpath.doctor.textdiff import hunks_of
from hitpath.doctor.volatile_lines import volatile_in
from hitpath.doctor.words_of_kinds import (
    ATTRIBUTION,
    CLOCK_LABEL,
    GREETING,
    MARKER,
    PART_OF_A_DAY,
    REQUEST,
    TAG,
    THINK,
)
from hitpath.doctor.written_otherwise import UNIT, are_one_number, are_one_text, are_same_numbers

_SPACES = "\u00a0\u2007\u202f"
_INVISIBLE = str.maketrans(dict.fromkeys(_SPACES, " "))
_LONGEST = 20_000
"""Characters of a difference that rules look at."""


@dataclass(frozen=True, slots=True)
class Difference:
    """there gave way to here. before, after: of this prompt, around it in its string; shape: of the
    one token that it is, if it is one. role: who said the message, "" for tools."""

    there: str
    here: str
    before: str
    after: str
    shape: Shape | None = None
    role: str = ""

    @property
    def line_before(self) -> str:
        """What stands before it in its line."""
        return self.before[-200:].rpartition("\n")[2]

    def line(self, text: str) -> str:
        """The whole line, with `text` in its place."""
        return self.line_before + text[:2000] + self.after[:200].partition("\n")[0]


Rule = Callable[[Difference], Kind | None]


def kind_of(difference: Difference) -> Kind:
    """The kind, perhaps an open one; `edited_message` where no rule holds."""
    for rule in RULES:
        found = rule(difference)
        if found is not None:
            return found
    return "edited_message"


def of_hidden_characters(d: Difference) -> Kind | None:
    """Byte order marks, zero-width characters, no-break spaces: equal once they are taken out."""
    plain = [HIDDEN.sub("", text).translate(_INVISIBLE) for text in (d.there, d.here)]
    if plain[0] != plain[1]:
        return None
    is_within_quotes = d.before[-1:] in ("«", "‹") or d.after[:1] in ("»", "›")
    is_space = not (HIDDEN.search(d.there) or HIDDEN.search(d.here))
    return "unicode_form" if is_space and is_within_quotes else "hidden_characters"


def of_grouped_number(d: Difference) -> Kind | None:
    """A number with spaces between its thousands, and without."""
    gaps = [_GROUPING.findall(text) for text in (d.there, d.here)]
    return of_number_format(d) if d.shape == "number" and gaps[0] != gaps[1] else None


_GROUPING = re.compile(r"[ \u00a0\u2009\u202f]")


def of_white_space(d: Difference) -> Kind | None:
    """Spaces, tabs, line ends: equal once all white space is taken out."""
    plain = ["".join(HIDDEN.sub("", text).split()) for text in (d.there, d.here)]
    return "white_space" if plain[0] == plain[1] else None


def of_unicode_form(d: Difference) -> Kind | None:
    """The same characters, composed or not, in another width, as typographic marks, escaped or
    decoded by another code."""
    is_one = are_one_text(d.there[:_LONGEST], d.here[:_LONGEST], d.after[:1])
    return "unicode_form" if is_one else None


def of_number_format(d: Difference) -> Kind | None:
    """The same number written otherwise: 1,000 and 1000, 0.10 and 0.1, 1e3 and 1000; so are
    several of one word."""
    if are_one_number(d.there, d.here):
        return "number_format"
    is_clock = d.shape == "clock"
    return "number_format" if not is_clock and are_same_numbers(d.there, d.here) else None


def of_attribution(d: Difference) -> Kind | None:
    """A line that says which client sent the request, not which request it is, nor on which
    machine or in which folder its user works."""
    text = d.here if d.here.strip() else d.there
    head = ("" if text.startswith("\n") else d.line_before) + text.lstrip("\n")[:24]
    if _NAMES_THE_REQUEST.search(head[-72:]) or _NAMES_THE_USER.match(head):
        return None
    lines = [d.line(d.here), d.line(d.there)]
    above = d.line_before[-300:]
    if _PATH.search(above) and not _OF_A_BUILD.search(above) and are_ids(d.there, d.here):
        return None  # whose name a path has, and whose id, are two things
    seen = [found for line in lines if (found := ATTRIBUTION.search(line))]
    if max(len(d.there), len(d.here)) > _LONGEST_ATTRIBUTION:  # a text that has such a line in it
        return None
    if seen:
        return "attribution"
    at = len(d.line_before)
    for line, text in zip(lines, (d.here, d.there), strict=True):
        told = [(x.start, x.stop) for x in volatile_in(line) if x.kind == "attribution"]
        stretches = [x.span() for x in _LINES.finditer(line, at, at + len(text))]
        if text and not stretches:
            continue
        if told and all(
            any(begin <= start and stop <= end for begin, end in told)
            for start, stop in stretches or [(at, at)]
        ):
            return "attribution"
    return None


_LINES = re.compile(r"\S(?:.*\S)?")
_OF_A_BUILD = re.compile(r"[\w-]/v?\d{1,6}(?:\.\d{1,8})+[-+._~][\w.]{0,40}$")
"""`Zed/0.171.38-9f3ac2d1` names what was built, and nobody's id."""
_LONGEST_ATTRIBUTION = 600
_PATH = re.compile(r"(?:[/\\]|://)[^\s\"'<>|]{0,300}$")
_NAMES_THE_REQUEST = re.compile(
    r"(?i)x-[a-z-]{0,24}(?:request|trace|correlation|session|transaction|span)[a-z-]{0,12}:[^;\n]*$"
)


_NAMES_THE_USER = re.compile(
    r"(?i)[ \t>*-]{0,8}(?:cwd|pwd|(?:current |primary )?working director(?:y|ies)|host(?:name)?|"
    r"machine(?: name)?|home)\s?[:=]"
)


def of_clock(d: Difference) -> Kind | None:
    """Times and dates, in digits or words."""
    if d.shape == "clock":
        return "clock"
    sides = [text.strip(" \t\n,.;:()[]-") for text in (d.there, d.here)]
    if any(sides) and all(side == "" or is_clock(side) for side in sides):
        is_part = all(side == "" or PART_OF_A_DAY.fullmatch(side) for side in sides)
        if not is_part or _tells_the_time_of_day(d.line_before):
            return "clock"
    if is_labelled(d.line_before, sides):
        return "clock"
    after = d.after.partition("\n")[0]
    if d.shape == "number" and is_beside_a_date(d.line_before, d.here, after):
        return "clock"
    if is_hour(d.line_before, sides, after):
        return "clock"
    if d.shape in (None, "word") and _is_spelt_time(d):
        return "clock"
    is_named = _WHOSE.search(d.line_before) and not CLOCK_LABEL.search(d.line_before[-_BEFORE:])
    return "clock" if are_counts(*sides) and not is_named else None


def _is_spelt_time(d: Difference) -> bool:
    """Whether it is a clock once the numbers that it has in words are figures."""
    lines = d.line(d.there), d.line(d.here)
    if are_weekdays(*lines):
        return True
    figures = in_figures(*lines)
    if figures is None:
        return False
    old, new = figures
    found = [
        kind_of(
            Difference(old[h.there_start : h.there_stop], new[h.start : h.stop], new[: h.start],
                       new[h.stop :], h.shape, d.role)
        )
        for h in hunks_of(old, new)
    ]  # fmt: skip
    return set(found) == {"clock"}


def _tells_the_time_of_day(before: str) -> bool:
    """Whether these words stand before the part of a day that it is, and not `the` or a name."""
    last = before.split()[-1].casefold() if before.strip() else ""
    return bool(
        last in WEEKDAY_WORDS or GREETING.search(before) or CLOCK_LABEL.search(before[-_BEFORE:])
    )


_BEFORE = 24
_WHOSE = re.compile(r"(?i)(?:ids?|no|nr|number)\W{0,4}$")
"""A number of nine digits or ten may be anybody's: `UID: 920256870`."""


def of_id(d: Difference) -> Kind | None:
    """uuids and ids of letters and digits mixed: whose they are, the trace tells."""
    is_handle = _HANDLE.search(d.before[-2:]) is not None and len(d.here) < _LONG_ID
    is_address = d.after.startswith("@") and not is_random(d.here)  # and no Message-Id
    if (is_handle or is_address) and not _LONG_HEX.fullmatch(d.here):
        return "?words" if is_instructions(d.role) else None
    if all(map(_HEX_NUMBER.fullmatch, (d.there, d.here))):
        apart = int(d.there, 16) - int(d.here, 16)
        if abs(apart) < _NEAR_IN_HEX:
            return None  # it counts
    if d.shape == "id" or are_ids(d.there, d.here):
        return "?number" if _only_digits_differ(d.there, d.here) else "?id"
    sides = d.there, d.here
    if not _NUMBERED_NOUN.search(d.line_before[-40:]) or all(map(str.isdecimal, sides)):
        return None
    is_named = _ID_SAID.search(d.line_before[-48:]) and all(map(_ID_WORD.fullmatch, sides))
    return "?id" if is_named or all(map(_HEX_WORD.fullmatch, sides)) else None


_HANDLE = re.compile(r"(?<![\w.])@$")  # `@ann_lee12`
_NUMBERED_NOUN = re.compile(rf"{REQUEST.pattern}[-_:#]$")
_ID_SAID = re.compile(r"(?i)(?<![a-z])(?:ids?|handle|key|kennung|identifier)(?![a-z])")
_ID_WORD = re.compile(r"[0-9a-z]{4,64}|[0-9A-Z]{4,64}")
_HEX_NUMBER, _NEAR_IN_HEX = re.compile(r"0[xX][0-9a-fA-F]{1,16}"), 1 << 12
_HEX_WORD = re.compile(r"[0-9a-f]{4,64}|[0-9A-F]{4,64}")


_LONG_HEX = re.compile(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{12,64}")


def of_stamped_line(d: Difference) -> Kind | None:
    """A line with an id or a counter that only one of the two has."""
    sides = [text.strip() for text in (d.there, d.here) if text.strip()]
    if len(sides) != 1 or len(sides[0]) > 160 or "\n" in sides[0]:
        return None
    seen = volatile_in(sides[0])
    kinds = {one.kind for one in seen if one.is_sure or one.kind == "request_id"}
    if "request_id" in kinds or any(map(_is_long_id, _WORDS.findall(sides[0]))):
        return "?id"
    if _is_id_alone(sides[0]):
        return "?id"
    if "counter" in kinds:
        return "?number"
    if not is_stamp(sides[0]):
        return None
    has_time = any(one.kind == "clock" for one in seen) or any(further_spans(sides[0]))
    is_told = has_time and CLOCK_LABEL.search(sides[0])
    return "clock" if is_told or _BEGINS_WITH_TIME.match(sides[0]) else None


def _is_id_alone(line: str) -> bool:
    """Whether a line is an id and hardly a word more: `<!-- rid:1ac5ddf3e675 -->`."""
    words = _WORDS.findall(line)
    ids = [word for word in words if len(word) >= _SHORT_ID and word.isascii() and is_random(word)]
    return len(ids) == 1 and len("".join(words)) - len(ids[0]) <= len(ids[0])


_SHORT_ID = 8
_BEGINS_WITH_TIME = re.compile(r"[\[(<]?\d")
_WORDS = re.compile(r"[\w-]{1,80}")
_LONG_ID = 16


def _is_long_id(word: str) -> bool:
    return len(word) >= _LONG_ID and is_id(word.replace("-", "").replace("_", ""))


def _only_digits_differ(there: str, here: str) -> bool:
    """Whether it is one short number for another in the same words: `Request #41`."""
    heads = [text.rstrip("0123456789") for text in (there, here)]
    numbers = [text[len(head) :] for text, head in zip((there, here), heads, strict=True)]
    return heads[0] == heads[1] and all(0 < len(number) <= 9 for number in numbers)


def are_ids(there: str, here: str) -> bool:
    """Whether both are; of two long words of one length one tells."""
    one, other = _is_id(there), _is_id(here)
    if one and other:
        return True
    is_word = len(there) == len(here) and not re.search(r"\s", there + here)
    is_mixed = len(there) >= _SHORT_ID and all(any(map(str.isdigit, x)) for x in (there, here))
    return is_word and (is_mixed or len(there) >= _LEAST_ALIKE) and (one or other)


_LEAST_ALIKE = 12


def _is_id(text: str) -> bool:
    text = text.strip()
    if not text or len(text) > 300 or any(map(str.isspace, text)):
        return False
    for one in volatile_in(text):
        if one.kind == "request_id" and one.stop - one.start >= 0.8 * len(text):
            return True
    return is_id(text) or is_id(text.replace("-", "").replace("_", ""))


_ORDINAL = r"(?:st|nd|rd|th|\.|º|ª|°|e|er|re|ère|ème|de|ste|:e|:a)?"
"""What makes an ordinal of a number: `7th`, `2ème`."""


def of_number(d: Difference) -> Kind | None:
    """One number for another: a counter or chance, the trace tells."""
    if d.shape == "number":
        return "?number"
    both = [
        re.fullmatch(rf"\s*[-+#]?(?:\d[\d.,]{{0,30}}{_ORDINAL}|0x[0-9A-Fa-f]{{1,16}})\s*", text)
        for text in (d.there, d.here)
    ]
    if all(both) or (_WORD_COUNT.fullmatch(d.here) and _only_digits_differ(d.there, d.here)):
        return "?number"
    one, other = UNIT.search(d.there), UNIT.search(d.here)
    are_alike = one is not None and other is not None and one[0] == other[0]
    return "?number" if are_alike and all(map(_COUNT_OF.fullmatch, (d.there, d.here))) else None


_WORD_COUNT = re.compile(r"[A-Za-z]{1,3}\d{1,9}")  # `v3`
_COUNT_OF = re.compile(r"[-+]?\d[\d.,]{0,30}(?:[^\W\d_]{1,8}|%|°[CF]?)")


def of_template_flip(d: Difference) -> Kind | None:
    """Markers of a chat template, or blocks of reasoning, that come or go."""
    there, here = d.there[:_LONGEST], d.here[:_LONGEST]
    if any(map(THINK.search, (there, here))):
        return "template_flip"
    is_within = _goes_on(d.before.rstrip()[::-1], _LAST_MARK) and _goes_on(d.after, MARKER)
    is_placeholder = _PLACEHOLDER.fullmatch((here or there).strip()) is not None
    is_placeholder = is_placeholder and not _OF_A_TEMPLATE.search(here or there)
    if is_within and d.role in _SAID_BY and is_placeholder:
        return None  # in the midst of what was said a value was taken out
    for one, other in ((there, here), (here, there)):
        if MARKER.search(one) and len(one) <= 400 and len(other) <= 400:
            return "template_flip"
    alone = (there + here).strip()
    if d.role in _SAID_BY and TAG.fullmatch(alone):
        return None if is_within or (there.strip() and here.strip()) else "template_flip"
    return None


def _goes_on(text: str, mark: re.Pattern[str]) -> bool:
    """Whether what stands there is said too, and no mark of the template that ends the message."""
    return bool(text.strip()) and mark.match(text.lstrip()) is None


_LAST_MARK = re.compile(r"[\n>\]]")
"""Read backwards: a line, or a mark, ends there."""
_SAID_BY = ("user", "assistant", "tool")
_OF_A_TEMPLATE = re.compile(
    r"(?i)im_|eo[tmsd]|e[no]d_?of|start_?of|begin_?of|header|endoftext|startoftext|channel|message|"
    r"return|call|constrain|[be]os|sep|pad|unk|system|user|assistant|tool|fim_|think"
)
_PLACEHOLDER = re.compile(r"(?i)<\|?[a-z_]{2,32}\|?>|\[[a-z _]{2,32}\]")


def of_image(d: Difference) -> Kind | None:
    """An image that was encoded anew."""
    heads = [(d.before[-200:] + text[:200]) for text in (d.there, d.here)]
    is_data = all("data:image" in head or ";base64," in head for head in heads)
    return "image_encoding" if is_data and d.there and d.here else None


def of_tool(d: Difference) -> Kind | None:
    """A tool more or less, where tools stand in a text, a line each."""
    one_sided = [text for text in (d.there, d.here) if text.strip()]
    return "tool_set" if len(one_sided) == 1 and is_tool_text(one_sided[0]) else None


def is_stamp(text: str) -> bool:
    """Whether a short text is a line that was stamped for one request, and nothing else: a clock,
    an id, a counter, an attribution, with the words that name it."""
    text = text.strip()
    if not text or len(text) > _LONGEST_STAMP or "\n" in text:
        return False
    spans = [(x.start, x.stop) for x in volatile_in(text) if x.is_sure or x.kind != "counter"]
    spans += further_spans(text)
    spans += [x.span() for x in _WORDS.finditer(text) if _is_long_id(x[0])]
    rest = list(text)
    for start, stop in spans:
        rest[start:stop] = " " * (stop - start)
    return bool(spans) and len("".join(rest).split()) <= _NAMING_WORDS


_LONGEST_STAMP, _NAMING_WORDS = 160, 6


def is_tool(value: dict[str, object]) -> bool:
    """Whether an object says what a tool is: a name with parameters or a description."""
    inner = value.get("function", value)
    if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
        return False
    return bool(inner.keys() & {"parameters", "description", "input_schema", "inputSchema"})


def is_tool_text(text: str) -> bool:
    """Whether a text is a tool in JSON, or several, a line each."""
    lines = [line.strip().rstrip(",") for line in text.strip().splitlines() if line.strip()]
    if not lines or len(lines) > 500 or not all(line.startswith("{") for line in lines):
        return False
    try:
        values = [json.loads(line) for line in lines]
    except (ValueError, RecursionError):
        return False
    return all(isinstance(value, dict) and is_tool(value) for value in values)


def of_words(d: Difference) -> Kind | None:
    """Other words in instructions or tools: a user's, a sample, an edit; the trace tells."""
    return "?words" if is_instructions(d.role) else None


def is_instructions(role: str) -> bool:
    """Whether what somebody with this role says should be equal in all sessions."""
    return role in ("", "system", "developer", "tools")


RULES: tuple[Rule, ...] = (
    of_image,
    of_hidden_characters,
    of_grouped_number,
    of_white_space,
    of_attribution,
    of_unicode_form,
    of_number_format,
    of_clock,
    of_template_flip,
    of_id,
    of_number,
    of_stamped_line,
    of_tool,
    of_words,
)

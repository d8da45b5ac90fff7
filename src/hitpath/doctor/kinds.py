"""What kind of text a difference is: one small rule a kind, asked in the order of RULES.

A rule sees what gave way to what, and what stands around it; it knows nothing of the trace. Where
that is not enough (a number may count or be drawn, words may be a user's name or an edit), the kind
stays open, and `resolve.py` decides it from all requests together.
"""

import html
import json
import re
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from urllib.parse import unquote

from hitpath.canonical.id_shapes import is_random
from hitpath.doctor.change import Kind
from hitpath.doctor.clock_words import (
    are_counts,
    further_spans,
    is_beside_a_date,
    is_clock,
    is_labelled,
)
from hitpath.doctor.digits import in_ascii_digits
from hitpath.doctor.shapes import HIDDEN, Shape, is_id
from hitpath.doctor.volatile_lines import volatile_in
from hitpath.doctor.words_of_kinds import (
    ATTRIBUTION,
    CLOCK_LABEL,
    MARKER,
    REQUEST,
    TAG,
    THINK,
)

_SPACES = "\u00a0\u2007\u202f"
_INVISIBLE = str.maketrans(dict.fromkeys(_SPACES, " "))
_QUOTES = str.maketrans({
    "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-",
    "\u2212": "-", "\u2010": "-", "\u2011": "-", "\u2026": "...", "\u201a": "'", "\u201b": "'",
    "\u2039": "'", "\u203a": "'", "\u2032": "'", "\u00b4": "'", "\u201e": '"', "\u201f": '"',
    "\u00ab": '"', "\u00bb": '"', "\u2033": '"', "\u300c": '"', "\u300d": '"', "\u300e": '"',
    "\u300f": '"', "\u2012": "-", "\u2015": "-",
    "\u2192": "->", "\u2190": "<-", "\u21d2": "=>", "\u2265": ">=", "\u2264": "<=", "\u2260": "!=",
})  # fmt: skip
_FRENCH_QUOTE = re.compile(r"(?<=[«‹])[ \u00a0\u202f]|[ \u00a0\u202f](?=[»›])")
_DASHES = re.compile(r"(?<!-)-{2,3}(?!-)")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_NUMBER = re.compile(r"[-+]?[\d.,'\u2019_\u00a0\u2009\u202f ]{1,40}(?:[eE][+-]?\d{1,4})?")
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:\.\d{3}){1,6}")
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
    there, here = d.there[:_LONGEST], d.here[:_LONGEST]
    if _plain(there) == _plain(here) or _is_escaped(d):
        return "unicode_form"
    if there.isascii() and here.isascii():
        return None
    is_misread = _read_as_latin(there) == here or _read_as_latin(here) == there
    return "unicode_form" if is_misread and there and here else None


def _is_escaped(d: Difference) -> bool:
    """Whether strokes that JSON may write before `/` came or went, or an address was encoded."""
    there, here = (text[:_LONGEST] + d.after[:1] for text in (d.there, d.here))
    if there.replace("\\/", "/") == here.replace("\\/", "/"):
        return "/" in there
    return "%" in there + here and unquote(there) == unquote(here)


def _plain(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        return chr(int(match[1], 16))

    text = _ESCAPE.sub(character, text)
    with suppress(UnicodeDecodeError):  # half a pair of surrogates is compared as it is
        text = text.encode("utf-16", "surrogatepass").decode("utf-16")
    text = in_ascii_digits(
        unicodedata.normalize("NFKC", html.unescape(text).replace("\u2033", '"'))
    )
    return _DASHES.sub("-", _FRENCH_QUOTE.sub("", text).translate(_QUOTES))


def _read_as_latin(text: str) -> str:
    """UTF-8 that was read as Latin-1 or Windows-1252 (`CafÃ©`), as it was meant; else the text."""
    for code in ("cp1252", "latin-1"):
        with suppress(UnicodeError):
            return text.encode(code).decode()
    return text


def of_number_format(d: Difference) -> Kind | None:
    """The same number written otherwise: 1,000 and 1000, 0.10 and 0.1, 1e3 and 1000."""
    one, other = _UNIT.search(d.there), _UNIT.search(d.here)
    texts = [d.there, d.here]
    if one and other and one[0] == other[0]:  # `2kg`, `2.0kg`
        texts = [d.there[: one.start()], d.here[: other.start()]]
    there, here = map(numbers_of, texts)
    return "number_format" if there and here and there & here else None


_UNIT = re.compile(r"(?<=\d)(?:[^\W\d_]{1,8}|%|°[CF]?)$")


def numbers_of(text: str) -> set[Decimal]:
    """What a text may mean as a number: `1.000` may be one or a thousand."""
    text = text.strip()
    if not any(map(str.isdigit, text)) or not _NUMBER.fullmatch(text):
        return set()
    bare = re.sub(r"['\u2019_\u00a0\u2009\u202f ]", "", text)
    readings = {bare.replace(",", "")}
    if _THOUSANDS.fullmatch(bare):
        readings.add(bare.replace(".", ""))
    if "," in bare:
        readings.add(bare.replace(".", "").replace(",", "."))
    found: set[Decimal] = set()
    for reading in readings:
        try:
            found.add(Decimal(reading).normalize())
        except InvalidOperation:
            continue
    return found


def of_attribution(d: Difference) -> Kind | None:
    """A line that says which client sent the request, not which request it is, nor on which
    machine or in which folder its user works."""
    before = d.line_before[-48:] + d.here[:24]
    if _NAMES_THE_REQUEST.search(before) or _NAMES_THE_USER.match(d.line_before + d.here[:24]):
        return None
    lines = [d.line(d.here), d.line(d.there)]
    if _PATH.search(d.line_before[-300:]) and are_ids(d.there, d.here):
        return None  # whose name a path has, and whose id, are two things
    seen = [found for line in lines if (found := ATTRIBUTION.search(line))]
    if max(len(d.there), len(d.here)) > _LONGEST_ATTRIBUTION:  # a text that has such a line in it
        return None
    if seen:
        return "attribution"
    at = len(d.line_before)
    for line, text in zip(lines, (d.here, d.there), strict=True):
        for one in volatile_in(line):
            if one.kind == "attribution" and one.start <= at and at + len(text) <= one.stop:
                return "attribution"
    return None


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
        return "clock"
    if is_labelled(d.line_before, sides):
        return "clock"
    after = d.after.partition("\n")[0]
    if d.shape == "number" and is_beside_a_date(d.line_before, d.here, after):
        return "clock"
    return "clock" if are_counts(*sides) else None


def of_id(d: Difference) -> Kind | None:
    """uuids and ids of letters and digits mixed: whose they are, the trace tells."""
    is_address = d.after.startswith("@") and not _LONG_HEX.fullmatch(d.here)
    if is_address and not is_random(d.here):  # and no Message-Id
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
    is_told = CLOCK_LABEL.search(sides[0]) and any(one.kind == "clock" for one in seen)
    return "clock" if is_told or _BEGINS_WITH_TIME.match(sides[0]) else None


def _is_id_alone(line: str) -> bool:
    """Whether a line is an id and hardly a word more: `<!-- rid:1ac5ddf3e675 -->`."""
    words = _WORDS.findall(line)
    ids = [word for word in words if len(word) >= _SHORT_ID and is_random(word)]
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
    one, other = _UNIT.search(d.there), _UNIT.search(d.here)
    are_alike = one is not None and other is not None and one[0] == other[0]
    return "?number" if are_alike and all(map(_COUNT_OF.fullmatch, (d.there, d.here))) else None


_WORD_COUNT = re.compile(r"[A-Za-z]{1,3}\d{1,9}")  # `v3`
_COUNT_OF = re.compile(r"[-+]?\d[\d.,]{0,30}(?:[^\W\d_]{1,8}|%|°[CF]?)")


def of_template_flip(d: Difference) -> Kind | None:
    """Markers of a chat template, or blocks of reasoning, that come or go."""
    there, here = d.there[:_LONGEST], d.here[:_LONGEST]
    if any(map(THINK.search, (there, here))):
        return "template_flip"
    for one, other in ((there, here), (here, there)):
        if MARKER.search(one) and len(one) <= 400 and len(other) <= 400:
            return "template_flip"
    alone = (there + here).strip()
    if d.role in ("user", "assistant", "tool") and TAG.fullmatch(alone):
        return None if there.strip() and here.strip() else "template_flip"
    return None


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


def json_blocks(text: str) -> list[tuple[int, int, object]]:
    """(start, stop, value) of the largest JSON objects and arrays within a text. Bounded: what is
    no JSON is not read again from every bracket in it."""
    decoder = json.JSONDecoder()
    found: list[tuple[int, int, object]] = []
    at, tries = 0, 0
    while tries < _MOST_TRIES:
        begin = _OPENING.search(text, at)
        if begin is None:
            break
        tries += 1
        try:
            value, stop = decoder.raw_decode(text, begin.start())
        except (ValueError, RecursionError):
            at = begin.start() + 1
            continue
        found.append((begin.start(), stop, value))
        at = stop
    return found


_MOST_TRIES = 200
_OPENING = re.compile(r"[{\[](?=\s{0,64}[\"{\[\d\-tfn\]}])")

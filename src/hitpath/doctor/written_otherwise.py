"""One text, or one number, written in two ways: what a person reads is the same."""

import html
import re
import unicodedata
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from quopri import decodestring
from urllib.parse import unquote

from hitpath.doctor.digits import in_ascii_digits

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


def are_one_text(there: str, here: str, after: str) -> bool:
    """Whether the characters are the same, composed or not, in another width, as typographic
    marks, escaped or decoded by another code. after: the next character behind them."""
    if _plain(there) == _plain(here) or _is_escaped(there, here, after):
        return True
    if there.isascii() and here.isascii():
        return False
    is_misread = _read_as_latin(there) == here or _read_as_latin(here) == there
    return is_misread and bool(there and here)


def _is_escaped(old: str, new: str, after: str) -> bool:
    """Whether a stretch is a JSON string's text on one side, or has other escapes of it there
    (`\\/`, `\\"`, `\\u00fc`, all at once), or an address was encoded."""
    there, here = old + after, new + after
    if "\\" in there + here:
        one, other = (_plain(_STRUCK.sub(_unescaped, text)) for text in (there, here))
        if one == other or other == _plain(there) or one == _plain(here):
            return bool(old.strip("\\") or new.strip("\\") or after in _STRUCK_MARKS)
    if "%" in there + here and unquote(there) == unquote(here):
        return True
    return _of_a_mail(there) == _of_a_mail(here)


def _of_a_mail(text: str) -> str:
    """Quoted-printable text (`Caf=C3=A9`, soft line ends) as it was meant."""
    if not _QUOTED.search(text) or not text.isascii():
        return text
    with suppress(UnicodeDecodeError):
        return decodestring(text.encode()).decode()
    return text


_QUOTED = re.compile(r"(?:=[0-9A-F]{2}){2}")


def _unescaped(escape: re.Match[str]) -> str:
    return _CONTROLS.get(escape[1], escape[1])


_CONTROLS = {"n": "\n", "r": "\r", "t": "\t"}
_STRUCK, _STRUCK_MARKS = re.compile(r"\\([\\/\"'nrt])"), "/\"'"


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


def are_one_number(there: str, here: str) -> bool:
    """Whether both are one number, with one unit if there is any."""
    one, other = UNIT.search(there), UNIT.search(here)
    texts = [there, here]
    if one and other and one[0] == other[0]:  # `2kg`, `2.0kg`
        texts = [there[: one.start()], here[: other.start()]]
    old, new = map(numbers_of, texts)
    return bool(old and new and old & new)


def are_same_numbers(there: str, here: str) -> bool:
    """Whether several numbers of one word are written otherwise: `47x40`, `47.0x40.0`. Leading
    zeros alone may belong to an id."""
    if max(len(there), len(here)) > _LONGEST_WORD:
        return False
    for numbers in (_WITH_MARKS, _WITHOUT_COMMAS):
        sides = [(numbers.findall(text), numbers.split(text)) for text in (there, here)]
        (old, rest), (new, other_rest) = sides
        if len(old) < _SEVERAL or rest != other_rest or len(old) != len(new):
            continue
        letters = "".join(rest).strip("xX×* ")
        is_written = any(
            set(",.") & set(x) or (not letters and not x.isdecimal()) for x in old + new
        )
        pairs = zip(old, new, strict=True)
        if is_written and all(a == b or numbers_of(a) & numbers_of(b) for a, b in pairs):
            return True
    return False


_LONGEST_WORD, _SEVERAL = 200, 2
_EXPONENT = r"(?:[eE][+-]?\d{1,4})?"
_WITH_MARKS = re.compile(rf"\d+(?:[.,]\d+)*{_EXPONENT}")
_WITHOUT_COMMAS = re.compile(rf"\d+(?:\.\d+)*{_EXPONENT}")
UNIT = re.compile(r"(?<=\d)(?:[^\W\d_]{1,8}|%|°[CF]?)$")


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

"""What clocks and dates look like in text, with the parts that are finer than a day.

Patterns are matched at a given place (a run of digits, the name of a month or weekday), never
searched for, and are bounded in length: no text makes them slow. A match has these groups where
they stand: `hour`, `minute`, `second`, `fraction`, `half` (am, pm), `epoch` with `digits`.
"""

import re

TOKEN = re.compile(r"\d+|[^\W\d_]+")
"""Where a clock may begin: runs of digits, runs of letters."""


def _words(text: str) -> list[str]:
    return text.split()


_MONTHS = _words("""
    jan january januar janvier jänner enero gennaio janeiro января
      ocak stycznia leden ledna sausio ianuarie januari tammikuuta січня január
    feb february februar février fevrier febrero febbraio fevereiro февраля
      şubat lutego února februari helmikuuta лютого februarie február
    mar march märz maerz mars marzo março marco марта
      mart marca maart března maaliskuuta березня martie március maret
    apr april avril abril aprile апреля
      nisan kwietnia dubna huhtikuuta квітня aprilie április
    may mai mayo maggio maio мая
      mayıs maja mei maj května toukokuuta травня május
    jun june juni juin junio giugno junho июня
      haziran czerwca června kesäkuuta червня iunie június
    jul july juli juillet julio luglio julho июля
      temmuz lipca července heinäkuuta липня iulie július
    aug august août aout agosto августа
      ağustos sierpnia augustus augusti srpna elokuuta серпня augusztus agustus
    sep sept september septembre septiembre settembre setembro сентября
      eylül września září syyskuuta вересня szeptember septembrie
    oct okt october oktober octobre octubre ottobre outubro октября
      ekim października října lokakuuta жовтня október octombrie
    nov november novembre noviembre novembro ноября
      kasım listopada listopadu marraskuuta листопада noiembrie
    dec dez dic december dezember décembre decembre diciembre dicembre dezembro декабря
      aralık grudnia prosince joulukuuta грудня decembrie desember
""")
_WEEKDAYS = _words("""
    mon monday montag lundi lunes lunedì понедельник
      pazartesi poniedziałek maandag måndag mandag понеділок pondělí
    tue tues tuesday dienstag mardi martes martedì вторник
      salı wtorek dinsdag tisdag tirsdag вівторок úterý
    wed wednesday mittwoch mercredi miércoles miercoles mercoledì среда
      çarşamba środa woensdag onsdag середа středa
    thu thur thurs thursday donnerstag jeudi jueves giovedì четверг
      perşembe czwartek donderdag torsdag четвер čtvrtek
    fri friday freitag vendredi viernes venerdì пятница
      cuma piątek vrijdag fredag пятниця пʼятниця pátek
    sat saturday samstag sonnabend samedi sábado sabado sabato суббота
      cumartesi sobota zaterdag lördag lørdag субота
    sun sunday sonntag dimanche domingo domenica воскресенье
      pazar niedziela zondag söndag søndag неділя neděle
""")
MONTH_WORDS = frozenset(_MONTHS)


def _numbered() -> dict[str, int]:
    """Each name with its number: those of a month stand together, the short English one first."""
    numbers: dict[str, int] = {}
    number = 0
    for word in _MONTHS:
        number += word in _ENGLISH
        numbers[word] = number
    return numbers


_ENGLISH = frozenset(_words("jan feb mar apr may jun jul aug sep oct nov dec"))
MONTH_NUMBERS = _numbered()
WEEKDAY_WORDS = frozenset(_WEEKDAYS)


def _any_of(words: list[str]) -> str:
    """One of the words as a whole, and a full stop. By their first letters, so that few are
    tried."""
    groups: dict[str, list[str]] = {}
    for word in sorted(words, key=len, reverse=True):
        groups.setdefault(word[0], []).append(word[1:])
    tried = (f"{first}(?:{'|'.join(rest)})" for first, rest in groups.items())
    return rf"(?:{'|'.join(tried)})(?![^\W\d_])\.?"


_MONTH, _WEEKDAY = _any_of(_MONTHS), _any_of(_WEEKDAYS)
_ZONE = (
    r"(?:[ ]?(?:Z(?![A-Za-z0-9_])|(?:UTC|GMT)(?:[+-]\d{1,2}(?::?\d{2})?)?(?![A-Za-z0-9_])|"
    r"[+-]\d{2}:?\d{2}(?![\d:])|(?-i:[A-Z]{1,3}(?:ST|DT|T))(?![A-Za-z0-9_])|"
    r"\[?(?:Africa|America|Asia|Atlantic|Australia|Europe|Indian|Pacific)/[A-Za-z_]{2,30}\]?|"
    r"(?:Uhr|Pacific|Eastern|Central|Mountain)(?:[ ](?:Standard|Daylight))?"
    r"(?:[ ]Time)?(?![A-Za-z])|"
    r"\([A-Za-z][A-Za-z /_+-]{1,40}\)|[ ]?m=[+-]\d{1,12}\.\d{1,9}(?!\d)))"
)
_HALF = r"[ap]\.?m(?![A-Za-z0-9_])\.?"
_TIME = (
    r"(?:(?P<hour>[01]?\d|2[0-3])(?:[:：](?P<minute>[0-5]\d)(?:[:：](?P<second>[0-5]\d|60)"
    r"(?:[.,](?P<fraction>\d{1,9}))?)?(?![\d:])(?:[ \u202f\u00a0]?(?P<half>"
    rf"{_HALF}))?|[ \u202f\u00a0]?(?P<half2>{_HALF})))"
)
_CLOCK = rf"(?:{_TIME}{_ZONE}{{0,3}})"
_CJK_TIME = (
    r"(?:(?P<half3>上午|下午|午前|午後|오전|오후)?[ ]?(?P<hour3>\d{1,2})(?:[時时点點시:][ ]?"
    r"(?P<minute3>\d{1,2})(?:[分분][ ]?(?P<second3>\d{1,2})[秒초])?[分분]?))"
)
_DAY = r"(?:0?[1-9]|[12]\d|3[01])(?!\d)"
_YEAR = r"(?:19|20|21)\d{2}(?!\d)"
_BETWEEN = (
    r"(?:[T_ ]|[,;][ ]?|[ ]?[|·@–—-][ ]?|,?[ ](?:at|um|à|a[ ]las|às|alle|alle[ ]ore|kl\.?|в|"
    r"saat|o|om|klo|godz\.?|о|pukul|ora)[ ])"
)
_AT_START = r"(?:(?<![A-Za-z0-9_.:/-])|(?<=[^\W\d_]:))"
"""A label may stand before it without a space: `Today:2026-03-09`."""
_THEN = rf"(?:{_BETWEEN}{_CLOCK}|T(?P<hour4>[01]\d|2[0-3])(?![\d:]))?"
_NUMBERED = rf"{_DAY}(?P<sep>[-/]|\.[ ]?){_DAY}(?P=sep){_YEAR}"
_NAMED_DAY_LAST = rf"{_MONTH}[ ]{{1,2}}{_DAY}(?:st|nd|rd|th)?(?:,?[ ]{_YEAR})?"
_NAMED_DAY_FIRST = (
    rf"{_DAY}(?:st|nd|rd|th|\.|er|º)?[ -](?:of[ ]|de[ ])?{_MONTH}(?:,?[ -](?:de[ ])?{_YEAR})?"
)


def _at(pattern: str) -> re.Pattern[str]:
    return re.compile(_AT_START + pattern, re.IGNORECASE)


AT_DIGIT: tuple[re.Pattern[str], ...] = (
    _at(rf"{_YEAR}(?P<sep>[-/.])(?:0?[1-9]|1[0-2])(?P=sep){_DAY}{_THEN}"),
    _at(rf"{_NUMBERED}{_THEN}"),
    _at(rf"{_NAMED_DAY_FIRST}{_THEN}"),
    _at(rf"{_DAY}/{_MONTH}/{_YEAR}:{_CLOCK}"),
    _at(
        rf"{_YEAR}年[ ]?\d{{1,2}}月[ ]?\d{{1,2}}日(?:[ ]?[(（]?(?:星期|周|礼拜)?"
        rf"[一二三四五六日月火水木金土](?:曜日?)?[)）]?)?(?:[ ]?(?:{_CJK_TIME}|{_CLOCK}))?"
    ),
    _at(
        rf"{_YEAR}년[ ]?\d{{1,2}}월[ ]?\d{{1,2}}일(?:[ ]?\(?[월화수목금토일](?:요일)?\)?)?"
        rf"(?:[ ]?(?:{_CJK_TIME}|{_CLOCK}))?"
    ),
    _at(rf"{_CLOCK}(?![A-Za-z0-9_:/-])"),
    _at(
        r"(?:19|20|21)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])"
        r"(?:[T_-]?(?P<hour>[01]\d|2[0-3])(?P<minute>[0-5]\d)(?P<second>[0-5]\d)"
        r"(?:[.]?(?P<fraction>\d{3,6}))?Z?)?(?![A-Za-z0-9_-])"
    ),
    _at(
        r"(?P<epoch>1[3-9]\d{8}|2[01]\d{8})(?:(?P<digits>\d{9}|\d{6}|\d{3})|\.(?P<fraction>\d{1,9}))?"
        r"(?![A-Za-z0-9_-]|[.,]\d)"
    ),
)
"""Matched where a run of digits begins; the longest is taken."""

_NO_NAME = (
    r"(?!(?-i:[a-z]{1,4}|march|august)[ ]{1,2}"
    r"(?:\d{1,2}(?!\d|st|nd|rd|th|,?[ ](?:19|20)\d\d)|\d{4}))"
)
"""Of Latin letters a short month has a capital, or more of a date behind it."""
AT_MONTH: tuple[re.Pattern[str], ...] = (
    _at(rf"{_NO_NAME}{_NAMED_DAY_LAST}{_THEN}"),
    _at(rf"{_NO_NAME}{_MONTH}[ ]{_YEAR}"),
)
AT_WEEKDAY: tuple[re.Pattern[str], ...] = (
    _at(rf"{_WEEKDAY}[ ]{_MONTH}[ ]{{1,2}}{_DAY}[ ]{_CLOCK}[ ]{_YEAR}"),
    _at(rf"{_WEEKDAY}[,.]?[ ](?:the[ ])?{_NAMED_DAY_LAST}{_THEN}"),
    _at(rf"{_WEEKDAY}[,.]?[ ](?:the[ ]|der[ ]|den[ ]|le[ ]|el[ ])?{_NAMED_DAY_FIRST}{_THEN}"),
    _at(rf"{_WEEKDAY}[,.]?[ ](?:the[ ]|der[ ]|den[ ]|le[ ]|el[ ])?{_NUMBERED}{_THEN}"),
    _at(rf"{_WEEKDAY}[,.]?[ ]{_YEAR}(?P<sep>[-/.])(?:0?[1-9]|1[0-2])(?P=sep){_DAY}{_THEN}"),
    _at(rf"{_WEEKDAY}[,.]?[ ]{_CLOCK}"),
)
WHOLE_WEEKDAY = re.compile(rf"(?:{'|'.join(w for w in _WEEKDAYS if len(w) > 5)})(?![^\W_])", re.I)
"""A weekday alone; short ones (Mon, sun, mars) are words too."""


def clock_at(text: str, start: int, word: str) -> re.Match[str] | None:
    """The longest clock that begins with this word or run of digits of the text, in small letters;
    None for none."""
    is_labelled = False
    if word[0].isdigit():
        is_labelled = start > 1 and text[start - 1] == ":" and text[start - 2].isalpha()
        if start and not is_labelled and _NOT_AT_START.match(text, start - 1):
            return None
        by_length = word.isascii()  # other digits are none to parts of the shapes
        shapes = _at_digit(text, start + len(word), len(word)) if by_length else AT_DIGIT
        if is_labelled and not _TIME_LABEL.search(text[max(0, start - _LONGEST_LABEL) : start]):
            shapes = tuple(shape for shape in shapes if shape in _DATES)  # `main.py:10:15`
    elif word in WEEKDAY_WORDS:
        shapes = (*AT_WEEKDAY, WHOLE_WEEKDAY)
    elif word in MONTH_WORDS and _THEN_DIGIT.match(text, start + len(word)):
        shapes = AT_MONTH
    else:
        return None
    longest: re.Match[str] | None = None
    for shape in shapes:
        found = shape.match(text, start)
        if found is not None and is_labelled and _GOES_ON.match(text, found.end()):
            continue  # `Run:2026-03-09-7d5c8d`
        if found is not None and found.end() > (start if longest is None else longest.end()):
            longest = found
    return longest


_DATES, _GOES_ON = AT_DIGIT[:6], re.compile(r"[\w/-]")
_TIME_LABEL = re.compile(
    r"(?i)(?:time|now|date|clock|stamp|zeit|jetzt|uhr|heure|hora|ora|today|heute|время|时间|時間|時刻|시간):$"
)
_LONGEST_LABEL = 12
_NOT_AT_START = re.compile(r"[A-Za-z0-9_.:/-]")
_THEN_DIGIT = re.compile(r"\.?[ ]{1,2}\d")
_HALVES = frozenset("aApP")
_SPACES = frozenset(" \u202f\u00a0")
_INITIALS = frozenset(c for word in (*_MONTHS, "of", "de") for c in (word[0], word[0].upper()))
_SUFFIXES = frozenset("sSnNrRtTeE\u017f\u00ba.")


def _at_digit(text: str, stop: int, length: int) -> tuple[re.Pattern[str], ...]:
    """The shapes that a run of so many digits, which ends there, may be of: by what follows, so
    that few are tried."""
    after, second = text[stop : stop + 1], text[stop + 1 : stop + 2]
    if length == _YEAR_DIGITS:
        return tuple(AT_DIGIT[number] for number in _AFTER_YEAR.get(after, ()))
    if length > _YEAR_DIGITS:
        found = (AT_DIGIT[_COMPACT],) if length >= _COMPACT_DIGITS else ()
        return (*found, AT_DIGIT[_EPOCH]) if length in _EPOCH_DIGITS else found
    if length > _DAY_DIGITS:
        return ()
    found = ()
    if after in ("-", "/", "."):
        found = (AT_DIGIT[1],)
    if after == "/":
        found = (*found, AT_DIGIT[3])
    if after in _SUFFIXES or (after in (" ", "-") and (second in _INITIALS or second > "\x7f")):
        found = (*found, AT_DIGIT[2])
    is_time = after in (":", "\uff1a") or after in _HALVES
    if is_time or (after in _SPACES and second in _HALVES):
        found = (*found, AT_DIGIT[_TIME_ALONE])
    return found


_DAY_DIGITS, _YEAR_DIGITS, _COMPACT_DIGITS = 2, 4, 8
_EPOCH_DIGITS = frozenset((10, 13, 16, 19))
_TIME_ALONE, _COMPACT, _EPOCH = 6, 7, 8
_AFTER_YEAR = {"-": (0,), "/": (0,), ".": (0,), "\u5e74": (4,), "\ub144": (5,)}
"""Places in AT_DIGIT."""

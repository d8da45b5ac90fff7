"""How prompts write the time: forms seen in agents, chat front ends and their templates."""

from collections.abc import Callable
from datetime import datetime, timedelta, timezone

Form = Callable[[datetime], str]

_GERMAN = [
    "Januar",
    "Februar",
    "März",
    "April",
    "Mai",
    "Juni",
    "Juli",
    "August",
    "September",
    "Oktober",
    "November",
    "Dezember",
]
_FRENCH = [
    "janvier",
    "février",
    "mars",
    "avril",
    "mai",
    "juin",
    "juillet",
    "août",
    "septembre",
    "octobre",
    "novembre",
    "décembre",
]
_SPANISH = [
    "enero",
    "febrero",
    "marzo",
    "abril",
    "mayo",
    "junio",
    "julio",
    "agosto",
    "septiembre",
    "octubre",
    "noviembre",
    "diciembre",
]


def _in_zone(hours: float) -> Callable[[datetime], datetime]:
    zone = timezone(timedelta(hours=hours))
    return lambda t: t.astimezone(zone)


_east = _in_zone(5.5)
_west = _in_zone(-7)

FORMS: tuple[Form, ...] = (
    lambda t: f"Current time: {t:%Y-%m-%d %H:%M:%S}",
    lambda t: f"Current date and time: {t:%A, %B %d, %Y at %I:%M:%S %p}",
    lambda t: f"The current time is {t:%Y-%m-%dT%H:%M:%SZ}.",
    lambda t: f"Now: {_east(t).isoformat()}",
    lambda t: f"Timestamp: {int(t.timestamp())}",
    lambda t: f"now_ms={int(t.timestamp() * 1000)}",
    lambda t: f"Today is {t:%A, %d %B %Y}, {t:%H:%M} UTC.",
    lambda t: f"Datum: {t.day}. {_GERMAN[t.month - 1]} {t.year}, {t:%H:%M:%S} Uhr",
    lambda t: f"Nous sommes le {t.day} {_FRENCH[t.month - 1]} {t.year} à {t.hour} h {t:%M}.",
    lambda t: f"Fecha: {t.day} de {_SPANISH[t.month - 1]} de {t.year}, hora {t:%H:%M:%S}",
    lambda t: f"当前时间:{t.year}年{t.month}月{t.day}日 {t:%H:%M:%S}",
    lambda t: f"現在時刻: {t:%Y/%m/%d %H:%M:%S}",
    lambda t: f"<env>\nToday's date: {t:%m/%d/%Y}\nTime: {t:%H:%M:%S}\n</env>",
    lambda t: f"Date: {t:%a, %d %b %Y %H:%M:%S} GMT",
    lambda t: f"Session clock {t:%H:%M:%S} ({t:%d.%m.%Y})",
    lambda t: f'{{"now": "{t:%Y-%m-%dT%H:%M:%S.%f}+00:00"}}',
    lambda t: f"It is now {t:%I:%M %p} on {t:%b} {t.day}, {t.year} (America/Los_Angeles).",
    lambda t: f"[{_west(t):%d/%b/%Y:%H:%M:%S %z}]",
    lambda t: f"As of {t:%Y%m%dT%H%M%SZ} the catalogue below is valid.",
    lambda t: f"Local time for the user: {_west(t):%Y-%m-%d %H:%M:%S}{_west(t):%z}",
)
"""Change with the minute at least."""

COARSE: tuple[Form, ...] = (
    lambda t: f"Current hour: {t:%Y-%m-%d %H}:00",
    lambda t: f"Today is {t:%A}, {t:%B} {t.day}, {t.year}.",
    lambda t: f"Today's date is {t:%Y-%m-%d}.",
    lambda t: f"Heute ist {t.day}.{t.month}.{t.year}",
    lambda t: f"Date du jour : {t:%d/%m/%Y}",
    lambda t: f"day {t.timetuple().tm_yday} of {t.year}",
)
"""Change at the hour or at midnight."""

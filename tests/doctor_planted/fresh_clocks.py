"""Times and dates as public applications that no other set was written after put them into
prompts: coaches, receptionists, game masters, bots and gateways in seventeen languages, and what
the time types of programming languages print. In front of a form: where it comes from; those
without are written by hand in the manner of such applications.
"""

from datetime import datetime, timedelta, timezone
from typing import Any

from doctor_planted.real_planters import by_time

_NL = ("maandag", "dinsdag", "woensdag", "donderdag", "vrijdag", "zaterdag", "zondag")
_UK = ("понеділок", "вівторок", "середа", "четвер", "п'ятниця", "субота", "неділя")
_ID = ("Senin", "Selasa", "Rabu", "Kamis", "Jumat", "Sabtu", "Minggu")
_ES = ("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo")
_EL = ("Δευτέρα", "Τρίτη", "Τετάρτη", "Πέμπτη", "Παρασκευή", "Σάββατο", "Κυριακή")
_FI = ("maanantai", "tiistai", "keskiviikko", "torstai", "perjantai", "lauantai", "sunnuntai")
_PERSIAN = str.maketrans("0123456789", "۰۱۲۳۴۵۶۷۸۹")
_ONES = ("twelve", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
         "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
         "nineteen")  # fmt: skip
_TENS = ("", "", "twenty", "thirty", "forty", "fifty")
_FIRST_DAY = datetime(2026, 3, 9).date()
"""The 18th of Esfand 1404."""


def _at(t: datetime, hours: float) -> datetime:
    return t.astimezone(timezone(timedelta(hours=hours)))


def _ms(t: datetime) -> str:
    return f"{t:%Y-%m-%dT%H:%M:%S}.{t.microsecond // 1000:03d}"


def _ordinal(n: int) -> str:
    tail = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{tail}"


def _spoken(t: datetime) -> str:
    """Six oh two AM: what is read out to callers."""
    minute = t.minute
    if minute == 0:
        told = "o'clock"
    elif minute < 10:
        told = f"oh {_ONES[minute]}"
    elif minute < 20:
        told = _ONES[minute]
    else:
        told = _TENS[minute // 10] + (f"-{_ONES[minute % 10]}" if minute % 10 else "")
    return f"{_ONES[t.hour % 12]} {told} {'in the morning' if t.hour < 12 else 'in the evening'}"


def _persian(t: datetime) -> str:
    day = 18 + (t.date() - _FIRST_DAY).days
    return f"امروز {day} اسفند 1404، ساعت {t:%H:%M} به وقت تهران است.".translate(_PERSIAN)


def _market(t: datetime) -> str:
    """A countdown behind the time itself."""
    local = _at(t, -4)
    left = (9 * 60 + 30 - local.hour * 60 - local.minute) % 1440
    return f"NYSE clock: {local:%a %d %b, %H:%M:%S} ET (opens in {left // 60}h {left % 60}m)"


CLOCKS: dict[str, Any] = {
    # A coach for habits (Luxon, Dutch).
    "nl_luxon": by_time(lambda t: f"Huidige datum en tijd: {_NL[t.weekday()]} {t.day} maart "
                        f"{t.year} om {t:%H:%M}\nTijdzone: Europe/Amsterdam"),
    # A dictation service (toLocaleString uk-UA).
    "uk_locale": by_time(lambda t: f"Поточна дата і час: {t:%d.%m.%Y, %H:%M:%S} (Київський час). "
                         f"Сьогодні {_UK[t.weekday()]}."),
    # The voice of a guest house.
    "cs_today": by_time(lambda t: f"DNEŠNÍ DATUM: {t:%Y-%m-%d}. Relativní termíny si převeď sám."),
    # A trainer's messages on WhatsApp (he-IL).
    "he_locale": by_time(lambda t: f"התאריך והשעה הנוכחיים: {t.day}.{t.month}.{t.year}, "
                         f"{t.hour}:{t:%M:%S}"),
    # A bot for traders (id-ID, full date, medium time).
    "id_full": by_time(lambda t: f"WAKTU SAAT INI: {_ID[t.weekday()]}, {t.day} Maret {t.year} "
                       f"pukul {t:%H.%M.%S} WIB."),
    # Personas in Hindi.
    "hi_context": by_time(lambda t: "[वर्तमान संदर्भ - Current Context]\nआज की तारीख: "
                          f"{t:%A, %d %B %Y}\nसमय: {'सुबह' if t.hour < 12 else 'शाम'} {t:%H:%M}"),
    # A bot of Telegram for Tehran.
    "fa_solar": by_time(_persian),
    # An assistant within a game's server.
    "zh_game": by_time(lambda t: f"=== 当前游戏环境信息 ===\n当前时间："
                       f"{_at(t, 8):%Y-%m-%d %H:%M:%S}\n"
                       "游戏版本：1.20.1"),
    # ElevenLabs' system__time_utc.
    "voice_utc": by_time(lambda t: f"The current date and time in UTC is {t:%A, %H:%M %d %B %Y}. "
                         "This business operates in the Europe/Copenhagen time zone."),
    "jarvis": by_time(lambda t: f"Current time:\n\n- Local (Europe/Copenhagen): "
                      f"{_at(t, 1):%A, %H:%M %d %B %Y}\n- UTC: {t.isoformat()}\n"),
    # Mintplex-Labs/anything-llm#6398: moment's LLLL.
    "moment_llll": by_time(lambda t: f"The current date and time is {t:%A, %B} {t.day}, {t.year} "
                           f"{t.hour % 12 or 12}:{t:%M %p}."),
    # A restaurant's phone: variables told at the beginning of a call.
    "es_variables": by_time(lambda t: f"hoy_natural: {_ES[t.weekday()]} {t.day} de marzo\n"
                            f"manana_natural: {_ES[(t.weekday() + 1) % 7]} "
                            f"{(t + timedelta(days=1)).day} de marzo\nhora_local: {t:%H:%M}"),
    # n8n writes a DateTime of Luxon that nobody formatted.
    "n8n_datetime": by_time(lambda t: f"Data e hora: [DateTime: {_ms(_at(t, -3))}-03:00]"),
    "market": by_time(_market, "clock/counter"),
    # Date.prototype.toString.
    "js_string": by_time(lambda t: f"Today is {_at(t, 1):%a %b %d %Y %H:%M:%S} GMT+0100 (Central "
                         "European Standard Time)."),
    # java.time.ZonedDateTime.
    "java_zoned": by_time(lambda t: f"当前系统时间: {_at(t, 8).isoformat()}[Asia/Shanghai]"),
    # Go's time.Time with its monotonic reading.
    "go_monotonic": by_time(lambda t: f"Now: {t:%Y-%m-%d %H:%M:%S.%f}789 +0000 UTC "
                            f"m=+{t.timestamp() % 86400:.9f}"),
    "php_long": by_time(lambda t: f"Date: {t:%A} {_ordinal(t.day)} of {t:%B %Y %I:%M:%S %p}"),
    # chrono's to_rfc2822.
    "rfc2822": by_time(lambda t: f"- now: {t:%a}, {t.day} {t:%b %Y %H:%M:%S} +0000"),
    "el_time": by_time(lambda t: f"Σήμερα είναι {_EL[t.weekday()]} {t.day} Μαρτίου {t.year}, ώρα "
                       f"{t:%H:%M}."),
    "fi_time": by_time(lambda t: f"Nyt on {_FI[t.weekday()]} {t.day}.{t.month}.{t.year} klo "
                       f"{t.hour}.{t:%M}"),
    "spoken": by_time(lambda t: f"The time is now {_spoken(t)}."),
    # SillyTavern's {{time}}, {{date}} and {{idle_duration}}.
    "tavern": by_time(lambda t: f"[It is {t.hour % 12 or 12}:{t:%M %p}, {t:%B} {t.day}, {t.year}. "
                      f"Last reply: {t.second} seconds ago.]", "clock/counter/random_sample"),
    # PowerShell's Get-Date in en-AU, within an XML of a help desk.
    "get_date": by_time(lambda t: f"<host><time>{t:%A, }{t.day} {t:%B %Y }{t.hour % 12 or 12}:"
                        f"{t:%M:%S %p}</time></host>"),
}  # fmt: skip

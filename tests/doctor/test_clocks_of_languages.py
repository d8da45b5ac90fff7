"""A clock is one in any language, and in forms that no language has: what differs between two of
them is told as one. Dates as Unicode's CLDR writes them for each locale."""

import pytest

from hitpath.doctor.leaf import leaf_changes

OF_LOCALES = {
    "ar": (
        "09\u200f/03\u200f/2026\u060c 7:15:08 \u0635",
        "18\u200f/04\u200f/2026\u060c 1:18:08 \u0645",
    ),
    "bg": ("9.03.26\u202f\u0433., 7:15", "18.04.26\u202f\u0433., 13:18"),
    "cs": (
        "pondělí 9. března 2026 7:15:08, koordinovaný světový čas",
        "sobota 18. dubna 2026 13:18:08, koordinovaný světový čas",
    ),
    "da": (
        "mandag den 9. marts 2026 07.15.08 Koordineret universaltid",
        "lørdag den 18. april 2026 13.18.08 Koordineret universaltid",
    ),
    "de": (
        "Montag, 9. März 2026, 07:15:08 Koordinierte Weltzeit",
        "Samstag, 18. April 2026, 13:18:08 Koordinierte Weltzeit",
    ),
    "el": (
        "9 \u039c\u03b1\u03c1 2026, 7:15:08\u202f\u03c0.\u03bc.",
        "18 \u0391\u03c0\u03c1 2026, 1:18:08\u202f\u03bc.\u03bc.",
    ),
    "es": (
        "lunes, 9 de marzo de 2026, 7:15:08 (tiempo universal coordinado)",
        "sábado, 18 de abril de 2026, 13:18:08 (tiempo universal coordinado)",
    ),
    "et": ("9. märts 2026 07:15:08 UTC", "18. aprill 2026 13:18:08 UTC"),
    "fa": (
        "9 \u0645\u0627\u0631\u0633 2026\u060c\u200f 7:15:08",
        "18 \u0622\u0648\u0631\u06cc\u0644 2026\u060c\u200f 13:18:08",
    ),
    "fi": ("9.3.2026 7.15.08", "18.4.2026 13.18.08"),
    "fr": (
        "lundi 9 mars 2026, 07:15:08 temps universel coordonné",
        "samedi 18 avril 2026, 13:18:08 temps universel coordonné",
    ),
    "he": ("9 במרץ 2026, 7:15:08 UTC", "18 באפריל 2026, 13:18:08 UTC"),
    "hi": ("9 मार्च 2026, 7:15:08 am UTC", "18 अप्रैल 2026, 1:18:08 pm UTC"),
    "hu": ("2026. március 9. 7:15:08 UTC", "2026. április 18. 13:18:08 UTC"),
    "id": ("9 Maret 2026 07.15.08 UTC", "18 April 2026 13.18.08 UTC"),
    "it": (
        "lunedì 9 marzo 2026 07:15:08 Tempo coordinato universale",
        "sabato 18 aprile 2026 13:18:08 Tempo coordinato universale",
    ),
    "ja": (
        "2026年3月9日月曜日 7時15分08秒 協定世界時",
        "2026年4月18日土曜日 13時18分08秒 協定世界時",
    ),
    "ko": (
        "2026년 3월 9일 월요일 오전 7시 15분 8초 협정 세계시",
        "2026년 4월 18일 토요일 오후 1시 18분 8초 협정 세계시",
    ),
    "lt": ("2026 m. kovo 9 d. 07:15:08 UTC", "2026 m. balandžio 18 d. 13:18:08 UTC"),
    "nl": (
        "maandag 9 maart 2026, 07:15:08 gecoördineerde wereldtijd",
        "zaterdag 18 april 2026, 13:18:08 gecoördineerde wereldtijd",
    ),
    "pl": (
        "poniedziałek, 9 marca 2026 07:15:08 uniwersalny czas koordynowany",
        "sobota, 18 kwietnia 2026 13:18:08 uniwersalny czas koordynowany",
    ),
    "pt": (
        "segunda-feira, 9 de março de 2026 07:15:08 Horário Universal Coordenado",
        "sábado, 18 de abril de 2026 13:18:08 Horário Universal Coordenado",
    ),
    "ro": (
        "luni, 9 martie 2026, 07:15:08 Timpul universal coordonat",
        "sâmbătă, 18 aprilie 2026, 13:18:08 Timpul universal coordonat",
    ),
    "ru": (
        "понедельник, 9 марта 2026\u202fг., 07:15:08",
        "суббота, 18 апреля 2026\u202fг., 13:18:08",
    ),
    "sv": (
        "måndag 9 mars 2026 07:15:08 koordinerad universell tid",
        "lördag 18 april 2026 13:18:08 koordinerad universell tid",
    ),
    "tr": (
        "9 Mart 2026 Pazartesi 07:15:08 Eş Güdümlü Evrensel Zaman",
        "18 Nisan 2026 Cumartesi 13:18:08 Eş Güdümlü Evrensel Zaman",
    ),
    "uk": (
        "9 \u0431\u0435\u0440\u0435\u0437\u043d\u044f 2026\u202f\u0440., 07:15:08 UTC",
        "18 \u043a\u0432\u0456\u0442\u043d\u044f 2026\u202f\u0440., 13:18:08 UTC",
    ),
    "vi": (
        "07:15:08 Giờ Phối hợp Quốc tế Thứ Hai, 9 tháng 3, 2026",
        "13:18:08 Giờ Phối hợp Quốc tế Thứ Bảy, 18 tháng 4, 2026",
    ),
    "zh": ("2026年3月9日星期一 协调世界时 07:15:08", "2026年4月18日星期六 协调世界时 13:18:08"),
    "bn": ("9 মার্চ, 2026 7:15:08 AM", "18 এপ্রি, 2026 1:18:08 PM"),
}
OTHER_FORMS = {
    "ISO 8601 length": ("elapsed: PT7H12M31S", "elapsed: PT7H12M56S"),
    "length in days": ("session_age: P8DT6H31M", "session_age: P8DT6H35M"),
    "day of the year": ("2026-068 08:56", "2026-069 00:54"),
    "EXIF": ("Taken 2026:03:09 07:15:08", "Taken 2026:03:09 07:16:30"),
    "date-time group": ("090730Z MAR 26", "090748Z MAR 26"),
    "ago": ("(updated 41m ago)", "(updated 43m ago)"),
    "vor": ("Gesichert vor 3 Minuten.", "Gesichert vor 9 Minuten."),
    "uptime": ("up 8d 7h 15m", "up 8d 7h 22m"),
    "Unix in hexadecimal": ("t=0x69ae6c6a", "t=0x69ae6e70"),
    "Julian day": ("2461108.85091 here", "2461108.85108 here"),
    "in a name": ("run-20260309-083504", "run-20260309-105634"),
    "Python": ("datetime(2026, 3, 9, 19, 12)", "datetime(2026, 3, 9, 19, 15)"),
    "Swedish": ("07:15:08 den 9/3 2026", "07:16:30 den 9/3 2026"),
    "minutes and hours": (
        "6 giờ 44 phút, ngày 9/3/2026",
        "6 giờ 51 phút, ngày 9/3/2026",
    ),
}


@pytest.mark.parametrize(("there", "here"), OF_LOCALES.values(), ids=OF_LOCALES)
def test_a_date_of_any_language(there: str, here: str) -> None:
    texts = [f"Be brief. {text} Ask first." for text in (there, here)]
    assert {change.kind for change in leaf_changes(texts[0], texts[1], "system")} == {"clock"}


@pytest.mark.parametrize(("there", "here"), OTHER_FORMS.values(), ids=OTHER_FORMS)
def test_clocks_that_no_language_writes(there: str, here: str) -> None:
    assert {change.kind for change in leaf_changes(there, here, "system")} == {"clock"}


LABELS = (
    "Sentiment score", "Known issues", "Candidates found", "Updates applied", "Mandatory fields",
    "Length in centimeters", "Multimedia files", "Timeout in ms", "Tokens of knowledge",
    "Choral works",
    "Snow depth", "time limit", "Unknown callers", "Dates found",
)  # fmt: skip


@pytest.mark.parametrize("label", LABELS)
def test_words_that_only_contain_a_word_for_time(label: str) -> None:
    found = leaf_changes(f"{label}: 1537", f"{label}: 1561", "system")
    assert [change.kind for change in found] == ["?number"]


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("Uptime: 1500 s", "Uptime: 1533 s"),
        ("Local time 18.37", "Local time 18.42"),
        ("last_update_time: 1712345678", "last_update_time: 1712345690"),
        ("lastUpdateTime=1712345678", "lastUpdateTime=1712345690"),
        ("hour: 7", "hour: 8"),
    ],
)
def test_numbers_behind_a_word_for_time(there: str, here: str) -> None:
    assert [change.kind for change in leaf_changes(there, here, "system")] == ["clock"]

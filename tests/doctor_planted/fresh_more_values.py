"""A second lot of values: times in further languages and log formats, ids of messengers and clouds,
numbers in other digits, fields of guests, callers and policy holders, draws of games and of makers
of synthetic data.
"""

import string
from datetime import datetime, timedelta, timezone
from typing import Any

from doctor_planted.real_planters import by_draw, by_number, by_time, number_of, phone_of, uuid_of
from doctor_planted.surface_values import FIRST, User, hex_digits, pick

_BASE62 = string.ascii_letters + string.digits
_B64 = _BASE62 + "+/"
_HU = ("hétfő", "kedd", "szerda", "csütörtök", "péntek", "szombat", "vasárnap")
_RO = ("luni", "marți", "miercuri", "joi", "vineri", "sâmbătă", "duminică")
_BG = ("понеделник", "вторник", "сряда", "четвъртък", "петък", "събота", "неделя")
_HR = ("ponedjeljak", "utorak", "srijeda", "četvrtak", "petak", "subota", "nedjelja")
_LT = ("pirmadienis", "antradienis", "trečiadienis", "ketvirtadienis", "penktadienis",
       "šeštadienis", "sekmadienis")  # fmt: skip
_PT = ("segunda-feira", "terça-feira", "quarta-feira", "quinta-feira", "sexta-feira", "sábado",
       "domingo")  # fmt: skip
_IT = ("lun", "mar", "mer", "gio", "ven", "sab", "dom")
_BENGALI = str.maketrans("0123456789", "০১২৩৪৫৬৭৮৯")
_DEVANAGARI = str.maketrans("0123456789", "०१२३४५६७८९")
_THAI = str.maketrans("0123456789", "๐๑๒๓๔๕๖๗๘๙")
_FIRST_DAY = datetime(2026, 3, 9).date()
"""The 20th of Ramadan 1447."""


def _at(t: datetime, hours: float) -> datetime:
    return t.astimezone(timezone(timedelta(hours=hours)))


def _hour(t: datetime) -> str:
    return f"{t.hour % 12 or 12}:{t:%M}{'am' if t.hour < 12 else 'pm'}"


CLOCKS: dict[str, Any] = {
    "hu_long": by_time(lambda t: f"Most: {t.year}. március {t.day}., {_HU[t.weekday()]} "
                       f"{t.hour}:{t:%M:%S}"),
    "ro_hour": by_time(lambda t: f"Astăzi este {_RO[t.weekday()]}, {t.day} martie {t.year}, ora "
                       f"{t:%H:%M}."),
    "bg_locale": by_time(lambda t: f"Сега е {_BG[t.weekday()]}, {t.day} март {t.year} г., "
                         f"{t.hour}:{t:%M:%S} ч."),
    "hr_time": by_time(lambda t: f"Danas je {_HR[t.weekday()]}, {t.day}. ožujka {t.year}. "
                       f"u {t:%H:%M}."),
    "lt_time": by_time(lambda t: f"Dabar {t.year} m. kovo {t.day} d., {_LT[t.weekday()]}, "
                       f"{t:%H:%M}"),
    "pt_full": by_time(lambda t: f"Agora: {_PT[t.weekday()]}, {t.day} de março de {t.year} às "
                       f"{t:%H:%M:%S}"),
    # date(1) in it_IT.
    "it_date": by_time(lambda t: f"$ date\n{_IT[t.weekday()]} {t.day} mar {t.year}, "
                       f"{t:%H:%M:%S}, CET"),
    "org_mode": by_time(lambda t: f"Captured: <{t:%Y-%m-%d %a %H:%M}>"),
    "syslog": by_time(lambda t: f"{t:%b} {t.day:2d} {t:%H:%M:%S} desk agent[812]: prompt built"),
    "git_date": by_time(lambda t: f"Date:   {t:%a %b} {t.day} {t:%H:%M:%S %Y} +0000"),
    "am_pm": by_time(lambda t: f"It's {_hour(_at(t, 1))} for the person who asks."),
    "zh_seconds": by_time(lambda t: f"现在是周{'一二三四五六日'[t.weekday()]}"
                          f"{'上午' if t.hour < 12 else '下午'}{t.hour % 12 or 12}点{t.minute}分"
                          f"{t.second}秒。"),
    "bn_digits": by_time(lambda t: f"সময়: {t:%H:%M:%S}, তারিখ: {t:%d-%m-%Y}".translate(_BENGALI)),
    "mr_digits": by_time(lambda t: f"आजची वेळ: {t:%H:%M}".translate(_DEVANAGARI)),
    "hijri": by_time(lambda t: f"اليوم {20 + (t.date() - _FIRST_DAY).days} رمضان 1447، الساعة "
                     f"{t:%H:%M}"),
    "xml_attributes": by_time(lambda t: f'<session-info date="{t:%Y-%m-%d}" time="{t:%H:%M:%S}" '
                              'zone="UTC"/>'),
}  # fmt: skip
_EACH = ("every", "every", "nth")
IDS: dict[str, Any] = {
    "in_reply_to": by_draw(lambda r: f"In-Reply-To: <CA{pick(r, _BASE62, 40)}@mail.example.com>",
                           names=_EACH),
    "short_job": by_draw(lambda r: f"job={hex_digits(r, 8)} queue=default", names=_EACH),
    "sid_padded": by_draw(lambda r: f"sid={pick(r, _B64, 22)}==", names=_EACH),
    "trace_url": by_draw(lambda r: f"Trace: https://app.traces.example/trace/{hex_digits(r, 32)}",
                         names=_EACH),
    "tracestate": by_draw(lambda r: f"tracestate: rojo={hex_digits(r, 16)}", names=_EACH),
    "step_function": by_draw(lambda r: "arn:aws:states:eu-west-1:123456789012:execution:desk:"
                             f"{uuid_of(r)}", names=_EACH),
    "feishu": by_draw(lambda r: f"message_id: om_{hex_digits(r, 32)}", names=_EACH),
    "line_token": by_draw(lambda r: f"replyToken: {hex_digits(r, 32)}", names=_EACH),
    "wamid": by_draw(lambda r: f"wamid.HBgL{pick(r, _B64, 38)}==", names=_EACH),
    "alexa": by_draw(lambda r: f"requestId: amzn1.echo-api.request.{uuid_of(r)}", names=_EACH),
    "dialogflow": by_draw(lambda r: f"projects/desk/agent/sessions/{uuid_of(r)}",
                          names=("session", "every")),
    "slurm": by_draw(lambda r: f"SLURM_JOB_ID={r.randrange(10**6, 10**7)}", names=_EACH),
    "ru_request": by_draw(lambda r: f"Идентификатор запроса: {uuid_of(r)}", names=_EACH),
    "fr_dossier": by_draw(lambda r: f"N° de requête : RQ-{r.randrange(10**6, 10**7)}", names=_EACH),
}  # fmt: skip
COUNTERS: dict[str, Any] = {
    "until_compact": by_number(lambda n: f"Context left until auto-compact: {max(2, 96 - n)}%"),
    "statements": by_number(lambda n: f"Round {1 + n // 2} of the debate, {12 + n} statements so "
                            "far."),
    "exploration": by_number(lambda n: f"exploration_rate={0.98 - 0.004 * n:.3f}"),
    "both_sides": by_number(lambda n: f"Messages: {2 * n} ({n} yours, {n} theirs)"),
    "line_of_file": by_number(lambda n: f"You are at line {120 + 40 * n} of 80000."),
    "page_of": by_number(lambda n: f"page {n}/9000 of the scan"),
    "depth": by_number(lambda n: f"Depth: {40 + 2 * n} m below the surface."),
    "ja_turn": by_number(lambda n: f"ターン{n}／5000、残り{5000 - n}回"),
    "th_digits": by_number(lambda n: f"ข้อความที่ {n}".translate(_THAI)),
    "uk_move": by_number(lambda n: f"Хід №{n}. Залишилося ходів: {4_000 - n}."),
    "heartbeat": by_number(lambda n: f"heartbeat seq {10_000 + n}, no task is open"),
    "fuel": by_number(lambda n: f"Fuel: {90_000 - 13 * n:,} kg"),
}  # fmt: skip
_DIETS = ("vegan", "no nuts", "kosher", "low salt", "halal", "no milk", "anything")
_ZONES = ("Europe/Lisbon", "Asia/Tokyo", "America/Recife", "Africa/Lagos", "Asia/Kolkata")


def _card(u: User) -> str:
    n = number_of(u, 10**12)
    return f"2400 {n % 10**4:04d} {n // 10**4 % 10**4:04d} {n // 10**8:04d}"


USERS: dict[str, Any] = {
    "policy": lambda u: f"Policyholder: {u.first} {u.last}, policy HH-{number_of(u, 10**5):05d}-7",
    "jwt": lambda u: f'{{"sub": "auth0|{number_of(u):024x}", "email_verified": true, "name": '
    f'"{u.first} {u.last}"}}',
    "vcard": lambda u: f"BEGIN:VCARD\nFN:{u.first} {u.last}\nTEL:{phone_of(u)}\nEND:VCARD",
    "salutation": lambda u: f"Anrede: Frau {u.last}. Wohnort: {u.city}.",
    "household": lambda u: f"Family {u.last}: {u.first} and two children, in {u.city}.",
    "diet": lambda u: f"{u.first}'s diet: {_DIETS[number_of(u, 7)]}.",
    "body": lambda u: f"Client: {u.first}, {18 + number_of(u, 60)} years, "
    f"{50 + number_of(u, 400) / 10} kg, {150 + number_of(u, 45)} cm.",
    "guest": lambda u: f"Guest: {u.first} {u.last}, room {100 + number_of(u, 500)}, checks out on "
    f"{1 + number_of(u, 28)} March.",
    "bonus_card": lambda u: f"The caller's bonus card: {_card(u)}",
    "ru_account": lambda u: f"Абонент: {u.first} {u.last}, лицевой счёт {number_of(u, 10**8)}",
    "ko_customer": lambda u: f"고객명: {u.last}{u.first} 님\n고객번호: {number_of(u, 10**6)}",
    "fi_customer": lambda u: f"Asiakas: {u.first} {u.last}, paikkakunta {u.city}",
    "zone": lambda u: f"{u.first}'s time zone: {_ZONES[number_of(u, 5)]}",
    "birthday": lambda u: f"{u.first} was born on {1 + number_of(u, 28)} May "
    f"{1950 + number_of(u, 50)}.",
}  # fmt: skip
_SUMS = ("Tom had 5 pears and ate 2. How many are left? 5 - 2 = 3. The answer is 3.",
         "A box holds 6 jars; how many are in 4 boxes? 6 * 4 = 24. The answer is 24.",
         "Ana runs 3 km on 5 days. 3 * 5 = 15. The answer is 15.",
         "A rope of 12 m is cut into 4 parts. 12 / 4 = 3. The answer is 3.",
         "There were 9 birds, 4 came. 9 + 4 = 13. The answer is 13.",
         "Two dozen eggs less five: 24 - 5 = 19. The answer is 19.",
         "Half of 50 guests stayed: 50 / 2 = 25. The answer is 25.")  # fmt: skip
_TOPICS = ("Rivers", "Opera", "Knots", "Moons", "Bread", "Bridges", "Fonts", "Ferns")
_ENTITIES = (("Maria flew to Osaka.", "Maria: person; Osaka: place"),
             ("Acme opened in Brno.", "Acme: company; Brno: place"),
             ("Wei met Björn at Expo.", "Wei: person; Björn: person; Expo: event"),
             ("The Loire floods Tours.", "Loire: river; Tours: place"),
             ("Nina sold Quill.", "Nina: person; Quill: company"),
             ("Lagos hosts the Cup.", "Lagos: place; Cup: event"))  # fmt: skip
SAMPLES: dict[str, Any] = {
    "gsm8k": lambda r: "\n\n".join(f"Q and A: {s}" for s in r.sample(_SUMS, 3)),
    "entities": lambda r: "\n".join(f"Text: {t}\nEntities: {e}" for t, e in r.sample(_ENTITIES, 3)),
    "sampled_settings": lambda r: f"(temperature {r.random():.2f}, top_p {r.random():.2f}, penalty "
    f"{r.random():.2f})",
    "suspects": lambda r: f"Tonight's suspects: {', '.join(r.sample(FIRST, 4))}.",
    "warm_up": lambda r: "Warm-up: " + "; ".join(
        f"{a} x {b} = {a * b}" for a, b in [(r.randrange(3, 40), r.randrange(3, 12))
                                            for _ in range(3)]),
    "treasure": lambda r: f"The treasure lies at ({r.randrange(99)}, {r.randrange(99)}), the "
    f"trap at ({r.randrange(99)}, {r.randrange(99)}).",
    "categories": lambda r: f"Categories: {' | '.join(r.sample(_TOPICS, 4))}",
    # Between sessions of one turn nobody can tell it from a user's own.
    "emoji_board": by_draw(lambda r: "Mood board: " + "".join(r.sample("🌊🔥🍋🎻🦉🧊🌵🚲", 4)),
                           "random_sample/per_user_field", _EACH),
    "lottery": lambda r: "Tonight's numbers are " + " ".join(
        str(n) for n in sorted(r.sample(range(1, 50), 6))) + ".",
    "noise_line": by_draw(lambda r: f"<noise>{' '.join(r.sample(_TOPICS, 3)).lower()}</noise>",
                          "random_sample/per_user_field", _EACH),
}  # fmt: skip
ATTRIBUTION: dict[str, Any] = {
    "workload": lambda r: f"x-anthropic-billing-header: cc_version=2.2.{r.randrange(9)}."
    f"{hex_digits(r, 3)}; cc_entrypoint=mcp-tool; cch={hex_digits(r, 5)}; cc_workload=eval;",
    "upper_case": lambda r: f"X-Anthropic-Billing-Header: cc_version=2.1.{r.randrange(40, 99)}."
    f"{hex_digits(r, 3)}; cc_entrypoint=cli; cch={hex_digits(r, 5)};",
    "aider_agent": lambda r: f"User-Agent: aider/0.{r.randrange(50, 90)}.{r.randrange(9)} "
    "(python 3.12)",
    "origin_line": lambda r: f"x-origin-client: jetbrains-junie/{r.randrange(240, 260)}."
    f"{r.randrange(99)}",
}  # fmt: skip

"""Forms of text that changes by itself, written beside field_forms and shown to nobody before
they were measured; shown since.
"""

import random
import string
from typing import Any

from doctor_planted.own_planters import calls_named_anew
from doctor_planted.surface_values import CITIES, SHOTS, TIPS, User, hex_digits, pick
from doctor_planted.unseen_orders import ORDERS
from doctor_planted.unseen_texts import TEXTS

_BASE62 = string.ascii_letters + string.digits
_ARABIC = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
_ITALIAN = ("gennaio", "febbraio", "marzo", "aprile", "maggio", "giugno", "luglio", "agosto",
            "settembre", "ottobre", "novembre", "dicembre")  # fmt: skip
_THAI = ("มกราคม", "กุมภาพันธ์", "มีนาคม", "เมษายน", "พฤษภาคม", "มิถุนายน", "กรกฎาคม", "สิงหาคม",
         "กันยายน", "ตุลาคม", "พฤศจิกายน", "ธันวาคม")  # fmt: skip
_CZECH_DAYS = ("pondělí", "úterý", "středa", "čtvrtek", "pátek", "sobota", "neděle")


def _number_of(user: User) -> str:
    return f"{sum(map(ord, user.email)) * 7919 % 90_000 + 10_000}"


def _examples(rng: random.Random) -> str:
    return "\n".join(f"示例{i}\n用户:{q}\n助手:{a}"
                     for i, (q, a) in enumerate(rng.sample(SHOTS, 3), 1))  # fmt: skip


def _chat_shots(rng: random.Random) -> str:
    return "\n".join(f"Human: {q}\nAI: {a}" for q, a in rng.sample(SHOTS, 3))


def _json_lines(rng: random.Random) -> str:
    return "\n".join(f'{{"q": "{q}", "a": "{a}"}}' for q, a in rng.sample(SHOTS, 4))


def _uuid(rng: random.Random) -> str:
    return "-".join(hex_digits(rng, length) for length in (8, 4, 4, 4, 12))


_VALUES: dict[str, tuple[Any, ...]] = {
    "clock": (
        lambda t: f"Current date: {t:%Y-%m-%d}\nCurrent time: {t:%H:%M:%S} UTC+00:00",
        lambda t: f"Oggi è il {t.day} {_ITALIAN[t.month - 1]} {t.year} e sono le {t:%H:%M:%S}.",
        lambda t: f"วันที่ {t.day} {_THAI[t.month - 1]} {t.year + 543} เวลา {t:%H:%M} น.",
        lambda t: f"التاريخ والوقت: {f'{t:%d/%m/%Y %H:%M:%S}'.translate(_ARABIC)}",
        lambda t: f"Dnes je {_CZECH_DAYS[t.weekday()]} {t.day}. {t.month}. {t.year}, {t:%H:%M}",
        lambda t: f"generated_at: !!timestamp {t:%Y-%m-%d %H:%M:%S.%f} +00:00",
        lambda t: f"The user's clock shows {t.hour % 12 or 12}:{t:%M}:{t:%S} {t:%p}, {t:%b %d}.",
    ),
    "request_id": (
        lambda r: f"OpenTelemetry: trace_id={hex_digits(r, 32)} span_id={hex_digits(r, 16)}",
        lambda r: f"# Run\nrun: {pick(r, _BASE62, 12)}-{hex_digits(r, 6)}\nkeep: yes",
        lambda r: f"Anfrage-ID {{{_uuid(r).upper()}}}",
        lambda r: f"parent_message_id: msg_{hex_digits(r, 32)}",
        lambda r: f"请求编号:{_uuid(r)}",
        calls_named_anew(lambda r: f"toolu_01{pick(r, _BASE62, 22)}"),
        calls_named_anew(lambda r: f"chatcmpl-tool-{hex_digits(r, 32)}"),
    ),
    "counter": (
        lambda n: f"{n} requests were served before this one.",
        lambda n: f"tool_calls_made: {n}\ntool_calls_max: 9000",
        lambda n: f"Frage {n} von 5000, bleibe höflich",
        lambda n: f"[ctx {4_000 + 733 * n}/1000000]",
        lambda n: f"{n}回目の試行です。",
        lambda n: f"Steps remaining: {8_000 - n}. Budget remaining: {90_000 - 17 * n} credits.",
    ),
    "per_user_field": (
        lambda u: f"Vous assistez {u.first} {u.last}, de {u.city}.",
        lambda u: f"Logged-in account: @{u.first.lower()}{u.last.lower()} (no. {_number_of(u)})",
        lambda u: f"Company: {u.last} & Sons; plan: {u.plan}; seat: {u.city}",
        lambda u: f"用户昵称:{u.first},邮箱:{u.email}",
        lambda u: f'{{"customer_id": "C-{_number_of(u)}", "first_name": "{u.first}"}}',
        lambda u: f"Sign every letter with {u.first} {u.last}, {u.city}.",
    ),
    "attribution": (
        lambda r: (
            f"x-anthropic-billing-header: cc_version=2.1.200.{hex_digits(r, 3)}; "
            f"cc_entrypoint=mcp; cch={hex_digits(r, 5)};"
        ),
        lambda r: (
            f"x-anthropic-billing-header: cc_version=1.0.128.{hex_digits(r, 3)}; "
            "cc_entrypoint=claude-code-github-action;"
        ),
        lambda r: (
            f"x-anthropic-billing-header: cc_version=2.1.98.{hex_digits(r, 3)}; "
            f"cc_entrypoint=sdk-py; cch={hex_digits(r, 5)}; cc_workload=batch;"
        ),
    ),
    "random_sample": (
        _examples,
        _chat_shots,
        _json_lines,
        lambda r: f"Answer in the manner of this line: {r.choice(TIPS)!r}",
        lambda r: f"Offices to recommend: {', '.join(r.sample(CITIES, 4))}",
        lambda r: f"random_state={r.randrange(10**4, 10**6)}; temperature=0.7",
    ),
}  # fmt: skip
FORMS: dict[str, tuple[Any, ...]] = {**_VALUES, **TEXTS, **ORDERS}

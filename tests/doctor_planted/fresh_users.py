"""What prompts tell of their user ahead of what all users share: leads, patients, pupils, players,
account holders; and lines that tell which client sent the request. In front of a form: where it
comes from; those without are written by hand in the manner of such applications.
"""

import random
from typing import Any

from doctor_planted.real_planters import login_of, number_of, phone_of
from doctor_planted.surface_values import User, hex_digits

_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
_SLACK = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZ"


def _day(u: User, first_year: int, years: int) -> str:
    n = number_of(u)
    return f"{first_year + n % years}-{1 + n // 7 % 12:02d}-{1 + n // 91 % 28:02d}"


def _slack(u: User) -> str:
    n, out = number_of(u, 34**9), ""
    for _ in range(9):
        n, digit = divmod(n, 34)
        out += _SLACK[digit]
    return "U0" + out


def _address(u: User) -> str:
    n = number_of(u)
    return f"{n % 200 + 20}.{n // 7 % 256}.{n // 911 % 256}.{n // 77 % 254 + 1}"


USERS: dict[str, Any] = {
    # A CRM that tells ElevenLabs' agent its lead.
    "lead": lambda u: f'{{"lead_name": "{u.first} {u.last}", "lead_phone": "{phone_of(u)}", '
    f'"lead_status": "new", "estimated_value": "${number_of(u, 90) + 10}00"}}',
    # A trainer's client.
    "he_client": lambda u: f"פרטי הלקוח:\n- שם: {u.first} {u.last}\n- גיל: {number_of(u, 60) + 18}",
    # A farmer's advisor.
    "hi_place": lambda u: f"किसान का नाम: {u.first}\nस्थान: {u.city}\nफसल: गेहूँ",
    "patient": lambda u: f"Patient: {u.first} {u.last}, born {_day(u, 1940, 60)}, MRN "
    f"{number_of(u, 10**8):08d}, no known allergies.",
    "coordinates": lambda u: f"The user's home: latitude {number_of(u, 180) - 90 + .25:.4f}, "
    f"longitude {number_of(u, 359) - 180 + .5:.4f} ({u.city}).",
    "account": lambda u: f"Account holder {u.first}, card ****{number_of(u, 9000) + 1000}, balance "
    f"EUR {number_of(u, 90_000) / 100:,.2f}.",
    "pupil": lambda u: f"Student: {u.first} (grade {number_of(u, 9) + 1}). Teacher: Ms {u.last}.",
    "employee": lambda u: f"Employee #{number_of(u, 90_000) + 10_000} | {u.first} {u.last} | "
    f"office: {u.city}",
    "player": lambda u: f"The player's character is {u.first} of {u.city}, a level "
    f"{number_of(u, 40) + 1} ranger.",
    "slack_user": lambda u: f"You are replying to <@{_slack(u)}> ({u.first}) in #helpdesk.",
    # Telegram's from.
    "telegram": lambda u: f"user_id: {number_of(u)}, first_name: {u.first}, language_code: "
    f"{u.locale[:2]}",
    "es_dni": lambda u: f"DNI del cliente: {number_of(u, 10**8):08d}{_LETTERS[number_of(u, 23)]}",
    "visitor": lambda u: f"Visitor's address: {_address(u)} ({u.city})",
    "vehicle": lambda u: f"Owner: {u.last}. Vehicle: Octavia, plate {number_of(u, 9)}AB "
    f"{number_of(u, 9000) + 1000}.",
    "member": lambda u: f"Member {u.first} {u.last} since {_day(u, 2012, 13)}, "
    f"{number_of(u, 5000):,} points.",
    "pl_client": lambda u: f"Klient: {u.first} {u.last}, nr klienta {number_of(u, 10**6)}",
    "th_client": lambda u: f"ลูกค้า: คุณ{u.first} ({u.city})",
    "ar_client": lambda u: f"اسم العميل: {u.first} {u.last}\nالباقة: {u.plan}",
    "sender": lambda u: f"Mail from: {u.first} {u.last} <{u.email}>; greet them as {u.first}.",
    "handle": lambda u: f"Streamer: @{login_of(u)} (followers: {number_of(u, 90_000)})",
}  # fmt: skip


def _header(form: str) -> Any:
    return lambda r: form.format(v=hex_digits(r, 3), c=hex_digits(r, 5), n=r.randrange(20, 180),
                                 m=r.randrange(2, 40))  # fmt: skip


def _one_of(*clients: str) -> Any:
    def make(r: random.Random) -> str:
        return r.choice(clients).format(n=r.randrange(2, 60))

    return make


ATTRIBUTION: dict[str, Any] = {
    "entry_first": _header("x-anthropic-billing-header: cc_entrypoint=sdk-py; cc_version=2.1.{n}."
                           "{v}; cch={c};"),
    "compaction": _header("x-anthropic-billing-header: cc_version=2.1.88.{v}; cc_entrypoint="
                          "local-agent; cch={c}; cc_is_compaction=true;"),
    "no_end": _header("x-anthropic-billing-header: cc_version=2.3.{n}.{v}; cc_entrypoint=cli"),
    "user_agent": _one_of("User-Agent: QwenCode/0.0.{n} (linux; x64)",
                          "User-Agent: GeminiCLI/0.1.{n} (darwin; arm64)"),
    "sdk_headers": _header("x-stainless-lang: js; x-stainless-package-version: 0.{n}.{m}; "
                           "x-stainless-runtime: node"),
    "title": _one_of("HTTP-Referer: https://cline.bot | X-Title: Cline 3.17.{n}",
                     "HTTP-Referer: https://kilocode.ai | X-Title: Kilo Code 4.{n}.0"),
    "client_line": _one_of("Client: Zed/0.171.{n} (stable)", "Client: VSCode/1.9{n}.0 (insiders)"),
    "sent_by": _header("x-client-name: opencode; x-client-version: 1.{m}.{n}"),
}  # fmt: skip

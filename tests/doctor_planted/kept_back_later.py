"""Surface forms that were written after all rules and shown to nobody before they were measured.
Whoever mends a rule by them should write others before measuring again.
"""

import random
import string
import unicodedata
from typing import Any

from doctor_planted.marks import mark
from doctor_planted.plant_forms import at, between, line_ends, written
from doctor_planted.surface_values import SHOTS, TIPS, hex_digits, pick

_BASE62 = string.ascii_letters + string.digits
_PORTUGUESE = ("janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto",
               "setembro", "outubro", "novembro", "dezembro")  # fmt: skip
_POLISH = ("stycznia", "lutego", "marca", "kwietnia", "maja", "czerwca", "lipca", "sierpnia",
           "września", "października", "listopada", "grudnia")  # fmt: skip


def _nfd(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def _noted(text: str) -> str:
    head, dot, tail = text.partition(". ")
    note = mark("edited_message", "Please note the change of last week. ")
    return f"{head}{dot}{note}{tail}" if dot else text


def _uuid(rng: random.Random) -> str:
    return "-".join(hex_digits(rng, length) for length in (8, 4, 4, 4, 12))


LATER: dict[str, tuple[Any, ...]] = {
    "clock": (
        lambda t: f"<current_datetime tz='UTC'>{t:%Y-%m-%d %H:%M}</current_datetime>",
        lambda t: f"Hoje é {t.day} de {_PORTUGUESE[t.month - 1]} de {t.year}, {t:%H:%M:%S}.",
        lambda t: f"Dziś jest {t.day} {_POLISH[t.month - 1]} {t.year}, godz. {t:%H:%M}",
        lambda t: f"Server time is {t:%H:%M:%S} on {t:%d-%b-%Y}.",
        lambda t: f"Assistant started. Clock reads {t:%I:%M:%S %p}, {t:%m/%d/%y}.",
        lambda t: f"last_updated={t:%Y-%m-%dT%H:%M:%S}+00:00",
        lambda t: f"Session began {t:%A} the {t.day}. of {t:%B} at {t:%H:%M} hours",
    ),
    "request_id": (
        lambda r: f"[request {_uuid(r)}] begin",
        lambda r: f"resp_{hex_digits(r, 48)}",
        lambda r: f"x-correlation-id={pick(r, _BASE62, 20)}",
        lambda r: f'<conversation uuid="{_uuid(r)}">',
        lambda r: f"Ticket handle: msg_{pick(r, _BASE62, 24)}",
    ),
    "counter": (
        lambda n: f"Question {n} of this shift.",
        lambda n: f"Step {n}/9999 of the plan",
        lambda n: f"You are on try number {n}.",
        lambda n: f'<usage tokens_used="{2_000 + 411 * n}" tokens_left="{900_000 - 411 * n}"/>',
        lambda n: f"Cost so far: ${0.01 * n + 1:.2f}",
    ),
    "per_user_field": (
        lambda u: f"The customer's name is {u.first} {u.last}.",
        lambda u: f"Benutzer: {u.last}, {u.first} ({u.email})",
        lambda u: f"[profile] name={u.first} {u.last} | mail={u.email} | plan={u.plan}",
        lambda u: f"Account of {u.first} {u.last}, resident in {u.city}",
    ),
    "random_sample": (
        lambda r: "Here are a few examples:\n\n" + "\n\n".join(
            f"Customer: {q}\nYou: {a}" for q, a in r.sample(SHOTS, 3)
        ),
        lambda r: "<examples>\n" + "\n".join(
            f"<ex><in>{q}</in><out>{a}</out></ex>" for q, a in r.sample(SHOTS, 3)
        ) + "\n</examples>",
        lambda r: "Remember today:\n" + "\n".join(
            f"{i}) {t}" for i, t in enumerate(r.sample(TIPS, 3), 1)
        ),
    ),
    "moved_block": ("=== {p} ===\n{t}", '<source name="{p}">{t}</source>', "**{p}**\n{t}"),
    "white_space": (
        between("white_space", " ", "    "),
        line_ends("white_space", "\n", "\n\t\t"),
        at("white_space", "behind", "", "\n \n"),
        line_ends("white_space", "\n* ", "\n *  "),
    ),
    "hidden_characters": (
        at("hidden_characters", "inside", "", "\u200e"),
        at("hidden_characters", "inside", "", "\u202a"),
        at("hidden_characters", "behind", "", "\ufeff"),
        between("hidden_characters/white_space", " ", "\u2007"),
        at("hidden_characters", "inside", "", "\ufe0e"),
    ),
    "unicode_form": (
        written("unicode_form", "Ask for *.", "Mañana Núñez", _nfd("Mañana Núñez")),
        written("unicode_form", "The note says * twice.", "'ok'", "\u2018ok\u2019"),
        written("unicode_form", "The sign is *.", "\u00b5m", "\u03bcm"),
        written("unicode_form", "Meet in *.", "Việt Nam", _nfd("Việt Nam")),
    ),
    "number_format": (
        written("number_format", "A share of * is fine.", "0.25", ".25"),
        written("number_format", "The sum is * pounds.", "1234567", "1,234,567"),
        written("number_format", '{"top_k": *}', "40", "40.0", "4e1"),
        written("number_format", "Das Limit liegt bei * Zeichen.", "20000", "20.000"),
    ),
    "edited_message": (_noted,),
    "compacted_history": (
        ("user", "<context-recap>\nSo far: {a}. ({n} messages)\n</context-recap>"),
        ("system", "Earlier dialogue, in short: {a} [{n} turns folded]"),
    ),
    "template_flip": (
        "<thought>\n{t}\n</thought>\n{m}", "<|START_THINKING|>{t}<|END_THINKING|>{m}",
    ),
}  # fmt: skip

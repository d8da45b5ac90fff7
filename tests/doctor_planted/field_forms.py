"""Forms of text that changes by itself, as applications in the field write them: Cline and Roo's
environment blocks, Cursor's user info, LangChain's selectors and memories, AutoGen's rounds, pods
and sandboxes, delimiters against injection. Shown: rules may be mended by them.
"""

import random
import string
from typing import Any

from doctor_planted.field_orders import ORDERS
from doctor_planted.field_texts import TEXTS
from doctor_planted.own_planters import calls_named_anew
from doctor_planted.surface_time import _GERMAN as GERMAN
from doctor_planted.surface_values import FIRST, SHOTS, TIPS, hex_digits, pick

_LOWER = string.ascii_lowercase + string.digits
_BASE62 = string.ascii_letters + string.digits
_GERMAN_DAYS = ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag")
_TURKISH = ("Ocak", "Şubat", "Mart", "Nisan", "Mayıs", "Haziran", "Temmuz", "Ağustos", "Eylül",
            "Ekim", "Kasım", "Aralık")  # fmt: skip


def _ordinal(n: int) -> str:
    tail = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{tail}"


def _dspy(rng: random.Random) -> str:
    return "\n\n---\n\n".join(
        f"Question: {q}\nReasoning: Let's think step by step in order to find the answer.\n"
        f"Answer: {a}" for q, a in rng.sample(SHOTS, 2)
    )  # fmt: skip


def _few(rng: random.Random) -> str:
    """A selector by length: now two, now four."""
    chosen = rng.sample(SHOTS, rng.randrange(2, 5))
    return "\n\n".join(f"Input: {q}\nOutput: {a}" for q, a in chosen)


def _uuid(rng: random.Random) -> str:
    return "-".join(hex_digits(rng, length) for length in (8, 4, 4, 4, 12))


_VALUES: dict[str, tuple[Any, ...]] = {
    "clock": (
        lambda t: (
            f"<environment_details>\n# Current Time\n{t.month}/{t.day}/{t.year}, "
            f"{t.hour % 12 or 12}:{t:%M:%S} {t:%p} (Europe/Berlin, UTC+1:00)\n"
            "</environment_details>"
        ),
        lambda t: (
            f"Heutiges Datum: {_GERMAN_DAYS[t.weekday()]}, {t.day}. {GERMAN[t.month - 1]} "
            f"{t.year}, {t:%H:%M} Uhr MEZ"
        ),
        lambda t: f"Hôm nay là ngày {t.day} tháng {t.month} năm {t.year}, {t:%H:%M:%S}.",
        lambda t: f'{{"user_tz": "UTC", "ts": {t.timestamp():.6f}}}',
        lambda t: f"time={t:%Y-%m-%dT%H:%M:%S}.{t.microsecond:06d}000Z level=info msg=start",
        lambda t: f"Bugün {t.day} {_TURKISH[t.month - 1]} {t.year}, saat {t:%H.%M}.",
        lambda t: f"Knowledge as of today ({t:%b} {t.day}, {t.year}, {t:%H:%M} hrs).",
    ),
    "request_id": (
        lambda r: f"<metadata>\nrun_id: {_uuid(r)}\nproject: default\n</metadata>",
        lambda r: f"Langfuse trace lf-{hex_digits(r, 24)} (ignore)",
        lambda r: f"Discord message id: {r.randrange(10**18, 10**19)}",
        lambda r: f"event: evt_{pick(r, _BASE62, 24)}; api: 2025-08-27",
        lambda r: f"MCP session {_uuid(r).replace('-', '')} initialised",
        lambda r: f"Das ist die Anfrage mit der Kennung {_uuid(r)}.",
        calls_named_anew(lambda r: f"call_{pick(r, _BASE62, 24)}"),
        calls_named_anew(_uuid),
    ),
    "counter": (
        lambda n: (
            f"# Context Window Usage\n{3_000 + 617 * n:,} / 1,048,576 tokens used "
            f"({(3_000 + 617 * n) * 100 // 1_048_576}%)"
        ),
        lambda n: f"This is your {_ordinal(n)} attempt at the task.",
        lambda n: f"(round {n} of max_round=5000)",
        lambda n: f'{{"turn_index": {n}, "history_length": {2 * n}}}',
        lambda n: f"当前是第{n}轮对话。",
        lambda n: f"Loop {n}: {7_000 - n} iterations left before you are stopped",
    ),
    "per_user_field": (
        lambda u: (
            "<user_info>\nThe user's OS version is darwin 24.6.0. The absolute path of the user's "
            f"workspace is /Users/{u.email.split('@')[0]}/work.\n</user_info>"
        ),
        lambda u: f"Du hilfst {u.first} {u.last} aus {u.city}.",
        lambda u: f"ユーザー名:{u.last} {u.first} 様",
        lambda u: f"tenant={u.last.lower()}-gmbh;owner={u.email}",
        lambda u: f"What you know of the human:\n* called {u.first} {u.last}\n* pays for {u.plan}",
        lambda u: f"The person you are talking to is {u.first} {u.last} (they/them).",
    ),
    "attribution": (
        lambda r: (
            f"x-anthropic-billing-header: cc_version=2.0.76.{hex_digits(r, 3)}; "
            f"cc_entrypoint=sdk-ts; cch={hex_digits(r, 5)};"
        ),
        lambda r: (
            f"x-anthropic-billing-header: cc_version=2.1.138.{hex_digits(r, 3)}; "
            f"cc_entrypoint=remote; cch={hex_digits(r, 5)}; cc_is_subagent=true;"
        ),
        lambda r: f"x-anthropic-billing-header: cc_version=2.1.71.{hex_digits(r, 3)}; "
        "cc_entrypoint=claude-vscode; cch=00000;",
    ),
    "random_sample": (
        _few,
        _dspy,
        lambda r: f"Sampling seed: {r.randrange(10**5, 10**9)}",
        lambda r: f"Suggested follow-ups: {'; '.join(q for q, _ in r.sample(SHOTS, 3))}",
        lambda r: "Beispiele:\n" + "\n".join(f"„{a}“" for _, a in r.sample(SHOTS, 3)),
        lambda r: f"Today's motto: {r.choice(TIPS)} Colleagues: {' and '.join(r.sample(FIRST, 2))}",
    ),
}  # fmt: skip
FORMS: dict[str, tuple[Any, ...]] = {**_VALUES, **TEXTS, **ORDERS}

"""Surface forms that no ordinary run shows: used with `--forms kept_back` only, so that rules
cannot have been fitted to them.
"""

import random
import string
import unicodedata
from datetime import datetime
from typing import Any

from doctor_planted.kept_back_later import LATER
from doctor_planted.kept_back_shapes import MORE
from doctor_planted.marks import mark
from doctor_planted.plant_forms import at, between, line_ends, written
from doctor_planted.surface_values import FIRST, SHOTS, User, hex_digits, pick

_LOWER = string.ascii_lowercase + string.digits
_BASE62 = string.ascii_letters + string.digits
_WEEKDAYS = "一二三四五六日"


def _korean(t: datetime) -> str:
    half = "오전" if t.hour < 12 else "오후"
    return f"현재 시각: {t.year}년 {t.month}월 {t.day}일 {half} {t.hour % 12 or 12}:{t:%M}"


def _ticks(t: datetime) -> str:
    return f"ticks={int((t.timestamp() + 62_135_596_800) * 10_000_000)}"


def _json_shots(rng: random.Random) -> str:
    chosen = rng.sample(SHOTS, 3)
    return "[" + ", ".join(f'{{"input": "{q}", "output": "{a}"}}' for q, a in chosen) + "]"


def _nfd(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def _phone(user: User) -> str:
    digits = sum(map(ord, user.email)) * 7919 % 10_000_000
    return f"Caller: {user.first} {user.last}, phone +49 151 {digits:07d}"


def _corrected(text: str) -> str:
    words = text.split(" ")
    at = len(words) // 2
    word = mark("edited_message", f"(corrected) {words[at]}")
    return " ".join([*words[:at], word, *words[at + 1 :]])


_FIRST: dict[str, tuple[Any, ...]] = {
    "clock": (
        lambda t: f"{t:%a %b} {t.day:2d} {t:%H:%M:%S} UTC {t.year}",
        lambda t: f"Ora esatta: {t:%d/%m/%Y} alle {t:%H.%M.%S}",
        lambda t: f"今は令和{t.year - 2018}年{t.month}月{t.day}日 {t.hour}時{t.minute}分です。",
        lambda t: f"现在是{t.year}年{t.month}月{t.day}日 星期{_WEEKDAYS[t.weekday()]} {t:%H:%M}",
        _korean,
        lambda t: f"Knowledge cutoff: 2024-06\nCurrent date: {t:%Y-%m-%d} {t:%H}h{t:%M}",
        lambda t: f"Cutting Knowledge Date: December 2023\nToday Date: {t:%d %b %Y}, {t:%H:%M}",
        lambda t: f"week {t:%G}-W{t:%V}-{t:%u}, {t:%H:%M:%S}",
        lambda t: f"epoch {t.timestamp():.3f}",
        lambda t: f"{t.day}{'st' if t.day == 1 else 'th'} of {t:%B} {t.year}, {t:%I.%M%p}".lower(),
        lambda t: f"Klockan är {t:%H:%M:%S} den {t.day}/{t.month} {t.year}",
    ),
    "request_id": (
        lambda r: f"session key {pick(r, _BASE62 + '_-', 21)}",
        lambda r: f"ksuid={pick(r, _BASE62, 27)}",
        lambda r: f"object {hex_digits(r, 24)}",
        lambda r: f"X-Amzn-Trace-Id: Root=1-{hex_digits(r, 8)}-{hex_digits(r, 24)}",
        lambda r: f"completion chatcmpl-{pick(r, _BASE62, 29)}",
        lambda r: f"(run {hex_digits(r, 8)}-{hex_digits(r, 4)})",
        lambda r: f"xid {pick(r, _LOWER, 20)}",
        lambda r: f"sha256:{hex_digits(r, 64)}",
    ),
    "counter": (
        lambda n: f"Schritt {n} von höchstens 5000",
        lambda n: f"第 {n} 回目の呼び出し",
        lambda n: f"message_index: 0x{n + 16:x}",
        lambda n: f"Round {n} begins.",
        lambda n: f"(call no. {n:,})",
        lambda n: f"remaining_steps={5000 - n}",
    ),
    "per_user_field": (
        _phone,
        lambda u: f"Working directory: /home/{u.email.split('.')[0]}{u.email[-15:-12]}/src",
        lambda u: f"Utilisateur : {u.last.upper()} {u.first} ({u.city})",
        lambda u: f"Dear {u.first} {u.last}'s assistant,",
        lambda u: f"customer.name={u.first};customer.mail={u.email}",
    ),
    "attribution": (
        lambda r: (
            f"x-anthropic-billing-header: cc_version=2.2.9.{hex_digits(r, 3)}; "
            f"cc_entrypoint=desktop; cch={hex_digits(r, 5)}; cc_workload=cron;"
        ),
    ),
    "random_sample": (
        _json_shots,
        lambda r: "Few-shot demonstrations\n" + "\n\n".join(
            f"### Input\n{q}\n### Output\n{a}" for q, a in r.sample(SHOTS, 2)
        ),
        lambda r: f"Agents on duty: {', '.join(r.sample(FIRST, 4))}.",
    ),
    "moved_block": (
        "--- {p} ---\n{t}", "<document>\n<source>{p}</source>\n{t}\n</document>",
        "Title: {p}\nBody: {t}", "* {p}: {t}",
    ),
    "white_space": (
        between("white_space", " ", "   "),
        line_ends("white_space", "\n", "\n\n\n"),
        line_ends("white_space", "\n", "\t\n"),
        line_ends("white_space/hidden_characters", "\n", "\r"),
        at("white_space", "behind", "", "\t"),
        line_ends("white_space", "\n  - ", "\n    - "),
    ),
    "hidden_characters": (
        at("hidden_characters", "inside", "", "\u2063"),
        at("hidden_characters", "behind", "", "\ufe0f"),
        at("hidden_characters", "before", "", "\u2066"),
        at("hidden_characters", "inside", "", "\ufeff"),
        between("hidden_characters/white_space", " ", "\u3000"),
        at("hidden_characters", "inside", "", "\U000e0041"),
        at("hidden_characters", "inside", "", "\x7f"),
    ),
    "unicode_form": (
        written("unicode_form", "The unit is the *.", "\u2126", "\u03a9"),
        written("unicode_form", "A hall of 20 m* is booked.", "²", "2"),
        written("unicode_form", "Ask * first.", "Łukasz Gęś", _nfd("Łukasz Gęś")),
        written("unicode_form", "Das Büro heißt *.", "Ｔｕｌｐｅ", "Tulpe"),
        written("unicode_form", "Say * twice.", "\u0958", _nfd("\u0958")),
        written("unicode_form", "Write to * today.", "ガギグ", _nfd("ガギグ")),
    ),
    "number_format": (
        written("number_format", "Up to * entries are kept.", "1000000", "1_000_000"),
        written("number_format", "The level is *.", "5", "+5", "5.00"),
        written("number_format", "It weighs * kg.", "1500", "1.5E+3"),
        # Digits grouped by spaces: a number format and white space are both what it is.
        written("number_format/white_space", "La limite est de * euros.", "1 000,5", "1000,5"),
    ),
    "edited_message": (_corrected,),
    "truncated_history": ("front", "middle"),
    "compacted_history": (
        ("user", "Previous context, abridged by the system. Topics: {a}. Messages folded: {n}."),
        ("system", "<conversation_recap>{a} ({n})</conversation_recap>"),
        ("user", "Zusammenfassung des bisherigen Gesprächs: {a}; {n} Nachrichten."),
    ),
    "template_flip": ("[THINK]{t}[/THINK]{m}", "<reasoning>{t}</reasoning>\n{m}",
                      "◁think▷{t}◁/think▷{m}"),
    "image_encoding": ("lines", "both"),
    "context_changed": (("kv_dtype", "fp16", "int8"), ("adapter", "base", "french"),
                        ("model", "glm-4.6", "glm-4.6-fp8"), ("salt", "k1", "k2")),
}  # fmt: skip
FORMS = {k: forms + MORE.get(k, ()) + LATER.get(k, ()) for k, forms in _FIRST.items()}

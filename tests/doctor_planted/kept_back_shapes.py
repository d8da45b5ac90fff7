"""More surface forms for kept_back, after public threads that the visible ones do not show:
agents' environment blocks (can1357/oh-my-pi#7324, anomalyco/opencode#5224), runtime lines
(openclaw#19563), reminders that come and go (ggml-org/llama.cpp#22746), results cut short with age
(vercel/eve#175, anomalyco/opencode#32515), summaries written anew at each overflow
(LLMKube#1286), escapes of JSON texts, typographic marks of editors.
"""

import random
import string
from typing import Any

from doctor_planted.marks import mark
from doctor_planted.plant_forms import at, between, line_ends, written
from doctor_planted.surface_values import SHOTS, TIPS, hex_digits, pick

_BASE62 = string.ascii_letters + string.digits
_RUSSIAN = ("января", "февраля", "марта", "апреля", "мая", "июня", "июля", "августа", "сентября",
            "октября", "ноября", "декабря")  # fmt: skip


def _rows(rng: random.Random) -> str:
    chosen = rng.sample(SHOTS, 3)
    return "| user | assistant |\n| --- | --- |\n" + "\n".join(f"| {q} | {a} |" for q, a in chosen)


def _reminded(text: str) -> str:
    note = "<system-reminder>Keep the list of tasks up to date.</system-reminder>"
    return text + mark("edited_message", f"\n\n{note}")


def _redacted(text: str) -> str:
    words = text.split(" ")
    place = max(range(len(words)), key=lambda i: (words[i].isalpha(), min(len(words[i]), 8), i))
    if not words[place].isalpha() or len(words) < 4:
        return text  # a text that is gone as a whole would be a result cleared, not an edit
    word = mark("edited_message", "[REDACTED]")
    return " ".join([*words[:place], word, *words[place + 1 :]])


MORE: dict[str, tuple[Any, ...]] = {
    "clock": (
        lambda t: f"# Environment\nPlatform: linux\nToday's date: {t:%Y-%m-%d}\nTime: {t:%H:%M:%S}",
        lambda t: f'{{"timezone": "UTC", "current_datetime": "{t:%Y-%m-%dT%H:%M:%S}"}}',
        lambda t: f"Сегодня {t.day} {_RUSSIAN[t.month - 1]} {t.year} г., {t:%H:%M}",
        lambda t: f"Agora são {t:%H}h{t:%M} do dia {t:%d/%m/%Y}.",
        lambda t: f"System time: {t.timestamp() * 1e9:.0f} ns",
        lambda t: f"Today is {t:%A}, {t:%Y-%m-%d} {t:%H:%M}, and the current folder is '/srv/app'.",
        lambda t: f"{t:%y%m%d %H:%M:%S} [Note] gateway ready",
    ),
    "request_id": (
        lambda r: f"<!-- rid:{hex_digits(r, 12)} -->",
        lambda r: f"Idempotency-Key: {hex_digits(r, 8)}-{hex_digits(r, 4)}-4{hex_digits(r, 3)}",
        lambda r: f"thread_{pick(r, _BASE62, 24)} is open",
        lambda r: f"span_id=0x{hex_digits(r, 16)} sampled=1",
        lambda r: f"Runtime: agent=main | message={hex_digits(r, 24)} | channel=web",
    ),
    "counter": (
        lambda n: f"Token budget: {1_200 + 317 * n} / 2000000",
        lambda n: f"You have {9_000 - n} tool calls left.",
        lambda n: f"Messages in this conversation: {n}",
        lambda n: f"<budget used='{n}' of='5000'/>",
        lambda n: f"Réponse n° {n}",
    ),
    "per_user_field": (
        lambda u: f"Signed in as {u.email} ({u.plan})",
        lambda u: f"# Memory\n- {u.first} lives in {u.city}\n- {u.last}'s plan: {u.plan}",
        lambda u: f"git user: {u.first} {u.last} <{u.email}>",
        lambda u: f"<customer first='{u.first}' last='{u.last}' city='{u.city}'/>",
    ),
    "attribution": (
        lambda r: (
            f"x-anthropic-billing-header: cc_version=2.1.104.{hex_digits(r, 3)}; "
            "cc_entrypoint=cli; cch=00000;"
        ),
    ),
    "random_sample": (
        _rows,
        lambda r: "Some questions that people ask:\n" + "\n".join(
            f"{i}. {q}" for i, (q, _) in enumerate(r.sample(SHOTS, 4), 1)
        ),
        lambda r: f"<tip>{r.choice(TIPS)}</tip>\n<tip>{r.choice(TIPS)}</tip>",
    ),
    "moved_block": ("### {p}\n\n{t}", "<skill name='{p}'>{t}</skill>", "{p} says: {t}"),
    "white_space": (
        line_ends("white_space/hidden_characters", "\n", "\u2028"),
        between("white_space", " ", "\n\n"),
        at("white_space", "before", "", "\t"),
        line_ends("white_space", "\n", "\n\n"),
    ),
    "hidden_characters": (
        at("hidden_characters", "before", "", "\u200b"),
        at("hidden_characters", "inside", "", "\u180e"),
        at("hidden_characters", "behind", "", "\u202c"),
        at("hidden_characters", "inside", "", "\u034f"),
        between("hidden_characters/white_space", " ", "\u2009"),
    ),
    "unicode_form": (
        written("unicode_form", "Say * and wait.", '"hello"', "\u201chello\u201d"),
        written("unicode_form", "It doesn*t matter who asks.", "'", "\u2019"),
        written("unicode_form", "Wait for the end* then go on.", "...", "\u2026"),
        written("unicode_form", 'The record is {"city": "*"}.', "Köln", "K\\u00f6ln"),
        written("unicode_form", "Take * of it.", "½", "1\u20442"),
    ),
    "number_format": (
        written("number_format", "The fee is * francs.", "12500", "12'500"),
        written("number_format", "Rate * holds.", "250.0", "2.50e+02"),
        written("number_format", "Aisle * is closed.", "7", "07"),
        written("number_format", '{"temperature": *, "top_p": 1}', "0.7", "0.70", "7e-1"),
    ),
    "edited_message": (_reminded, _redacted),
    "truncated_history": ("stubs",),
    "compacted_history": (
        ("user", "[CONTEXT SUMMARY]\n{a}\n{n} earlier turns were condensed.", "rolling"),
        ("user", "<state_snapshot>\n<goal>{a}</goal>\n<turns>{n}</turns>\n</state_snapshot>"),
        ("assistant", "Recap of what was done before: {a}. Steps: {n}."),
    ),
    "template_flip": (
        "<|channel|>analysis<|message|>{t}<|end|>{m}", "<seed:think>{t}</seed:think>{m}",
        "<|begin_of_thought|>\n{t}\n<|end_of_thought|>\n\n{m}",
    ),
    "context_changed": (
        ("model", "claude-sonnet-4-5", "claude-haiku-4-5"), ("adapter", "", "sql-lora"),
        ("tokenizer", "2025-01", "2025-06"), ("salt", "", "user-17"),
    ),
}  # fmt: skip

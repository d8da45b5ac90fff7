"""The same, written otherwise once it is history: spaces, letters, numbers, orders, pictures."""

import base64
import json
import re
from random import Random

from doctor_planted.threads_forms import (
    OAI,
    Plant,
    each_call,
    form,
    images_of,
    seed_of,
    stale,
)
from doctor_planted.threads_sessions import App, Step


@form(
    "jpeg_of_png",
    "image_encoding",
    styles=("openai", "anthropic"),
    shapes=("browser",),
    source="PNG at first, JPEG in history",
)
def jpeg_of_png(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        for i, _m, b in images_of(s):
            if i < s.last_user:
                r = Random(b["image_url"]["url"][-60:])
                data = (
                    b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"
                    + bytes(r.randrange(256) for _ in range(180))
                    + b"\xff\xd9"
                )
                b["image_url"]["url"] = "data:image/jpeg;base64," + base64.b64encode(data).decode()

    return plant


@form(
    "context_json",
    "key_order",
    shapes=("chat", "service"),
    styles=("openai", "rows", "anthropic", "responses"),
    source=(
        "state of an app dumped into the first message, keys in any order (copilotkit "
        "useCopilotReadable)"
    ),
)
def context_json(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)

    def plant(s: Step) -> None:
        d = {"cart": 3, "page": "/orders", "locale": "en-GB", "theme": "dark", "open": True}
        ks = list(d)
        Random(f"{seed}{s.number}").shuffle(ks)
        s.messages[0]["content"] = (
            "State of the application:\n"
            + json.dumps({k: d[k] for k in ks})
            + "\n\n"
            + s.messages[0]["content"]
        )

    return plant


@form(
    "pretty_results",
    "white_space",
    shapes=("service",),
    source="results stored compact, sent pretty at first",
)
def pretty_results(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        for i, m in enumerate(s.messages):
            if m["role"] == "tool":
                m["content"] = json.dumps(
                    json.loads(m["content"]), indent=None if stale(s, i) else 2
                )

    return plant


@form(
    "reminder_newline",
    "white_space",
    styles=("anthropic", "openai"),
    source="anthropics/claude-code#44045: companion block one byte longer on resume",
)
def reminder_newline(app: App, rng: Random) -> Plant:
    at = rng.choice((2, 3))

    def plant(s: Step) -> None:
        t = (
            "<system-reminder>\nA small turtle sits beside the input box and comments now "
            "and then.\n</system-reminder>"
        )
        m = s.messages[0]
        m["content"] = [
            {"type": "text", "text": t + ("\n" if s.turn >= at else "")},
            {"type": "text", "text": m["content"]},
        ]

    return plant


@form(
    "smart_quotes",
    "unicode_form",
    shapes=("chat", "service", "code"),
    source="typographic marks put in when a message is stored",
)
def smart_quotes(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        for i, m in enumerate(s.messages):
            if m["role"] == "user" and isinstance(m["content"], str):
                a, b = ("\u201c", "\u201d") if i < s.last_user else ('"', '"')
                m["content"] += f" They call it {a}the old one{b}."

    return plant


@form(
    "html_entities",
    "unicode_form/edited_message",
    shapes=("chat", "code", "service"),
    source="text escaped for a page when stored (&amp;lt; &amp;amp;)",
)
def html_entities(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        for i, m in enumerate(s.messages):
            if m["role"] == "user" and isinstance(m["content"], str):
                t = " It says a < b && c > d."
                m["content"] += (
                    t
                    if i >= s.last_user
                    else t.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
                )

    return plant


@form(
    "trailing_zero",
    "number_format",
    shapes=("service",),
    source="amounts as 12.50 at first, 12.5 once stored",
)
def trailing_zero(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        for i, m in enumerate(s.messages):
            if m["role"] == "tool" and not stale(s, i):
                m["content"] = re.sub(r'("weight": \d+\.5)', r"\g<1>0", m["content"])

    return plant


@form(
    "presigned",
    "image_encoding/clock/request_id",
    styles=("openai",),
    shapes=("browser",),
    source="miurla/morphic#941",
)
def presigned(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        for i, _m, b in images_of(s):
            r = Random(f"{s.number}{i}")
            b["image_url"]["url"] = (
                f"https://bucket.s3.eu-west-1.amazonaws.com/{s.session.name}/{i}.png?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date={s.time:%Y%m%dT%H%M%SZ}&X-Amz-Expires=3600&X-Amz-Signature={r.getrandbits(256):064x}"
            )

    return plant


@form(
    "file_source",
    "image_encoding",
    styles=("anthropic_file",),
    shapes=("browser",),
    source="anthropic: base64 source, then a file id",
)
def file_source(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        for i, _m, b in images_of(s):
            if i < s.last_user:
                b["image_url"]["url"] = f"file:{i}"

    return plant


@form(
    "flat_ws",
    "white_space",
    styles=("flat_llama", "flat_kimi", "flat_gemma"),
    shapes=("chat", "service"),
    source="replies trimmed by a template (| trim)",
)
def flat_ws(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        for i, m in enumerate(s.messages):
            if m["role"] == "assistant" and m["content"] and i >= s.last_user - 1:
                m["content"] = m["content"] + "\n"

    return plant


@form(
    "wide_json",
    "white_space",
    styles=(*OAI, "responses"),
    source="arguments kept as the model wrote them, dumped anew later",
)
def wide_json(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        def f(a: str, i: int) -> str:
            return a.replace(": ", " : ", 1) if not stale(s, i) else a

        each_call(s, f)

    return plant


@form(
    "blank_lines",
    "white_space",
    shapes=("chat", "code", "service"),
    source="blank lines of a reply folded when stored",
)
def blank_lines(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        for i, m in enumerate(s.messages):
            if m["role"] == "assistant" and m["content"]:
                m["content"] = m["content"].replace(
                    ". ", ".\n\n\n" if i > s.last_user - 3 else ".\n\n"
                )

    return plant


@form(
    "variation_selector",
    "hidden_characters",
    shapes=("chat", "service", "code"),
    source="emoji variation selectors and joiners lost in a database",
)
def variation_selector(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        for i, m in enumerate(s.messages):
            if m["role"] == "user" and isinstance(m["content"], str):
                m["content"] += (
                    " Thank you \u2764\ufe0f and bye."
                    if i >= s.last_user
                    else " Thank you \u2764 and bye."
                )

    return plant


@form(
    "emoji_escape",
    "unicode_form",
    shapes=("service",),
    source="\\ud83d\\ude9a in a result, the letter itself once stored",
)
def emoji_escape(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        for i, m in enumerate(s.messages):
            if m["role"] == "tool":
                d = json.loads(m["content"])
                d["tag"] = "🚚 Überführung"
                m["content"] = json.dumps(d, ensure_ascii=not stale(s, i))

    return plant


@form(
    "ansi_codes",
    "hidden_characters/edited_message/white_space",
    shapes=("code",),
    source="colour codes taken out of old output",
)
def ansi_codes(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        for i, m in enumerate(s.messages):
            if m["role"] == "tool" and not stale(s, i):
                m["content"] = m["content"].replace("def ", "\x1b[34mdef\x1b[0m ")

    return plant


@form(
    "exponents",
    "number_format",
    styles=(*OAI, "responses"),
    source="1e3 gives way to 1000.0 in arguments",
)
def exponents(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        def f(a: str, i: int) -> str:
            d = json.loads(a)
            t = json.dumps({**d, "cap": 2500.0})
            return t.replace("2500.0", "2.5e3") if stale(s, i) else t

        each_call(s, f)

    return plant


@form(
    "spaces_and_numbers",
    "white_space/number_format",
    styles=(*OAI, "responses"),
    source="mixture: JSON.parse and JSON.stringify of arguments",
)
def spaces_and_numbers(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        def f(a: str, i: int) -> str:
            if not stale(s, i):
                return a
            d = json.loads(a)
            return json.dumps(
                {k: (int(v) if isinstance(v, float) and v == int(v) else v) for k, v in d.items()},
                separators=(",", ":"),
            )

        each_call(s, f)

    return plant

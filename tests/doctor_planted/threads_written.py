"""The same, written otherwise once it is history: spaces, letters, numbers, orders, pictures."""

import base64
import json
import re
import unicodedata
from random import Random

from doctor_planted import images
from doctor_planted.threads_forms import (
    OAI,
    Plant,
    coin,
    each_call,
    form,
    images_of,
    results,
    seed_of,
    stale,
)
from doctor_planted.threads_sessions import App, Step


@form("argument_order", "key_order", source="stanfordnlp/dspy#10216, teunlao/swift-ai-sdk#39")
def argument_order(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)

    def plant(s: Step) -> None:
        def f(a: str, i: int) -> str:
            d = json.loads(a)
            ks = list(d)
            if coin(seed, s.number, i, p=0.6):
                Random(f"{seed}{s.number}{i}").shuffle(ks)
            return json.dumps({k: d[k] for k in ks})

        each_call(s, f)

    return plant


@form(
    "result_order",
    "key_order",
    shapes=("service",),
    source="swift-ai-sdk#39: tool results re-encoded from a dictionary",
)
def result_order(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)
    p = rng.choice((0.3, 0.6, 1.0))
    deep = rng.random() < 0.4

    def plant(s: Step) -> None:
        if not coin(seed, s.number, p=p):
            return
        for i, m in enumerate(results(s.messages)):
            d = json.loads(m["content"])
            if deep:
                d["owner"] = dict(reversed(list(d["owner"].items())))
            else:
                ks = list(d)
                Random(f"{seed}{s.number}{i}").shuffle(ks)
                d = {k: d[k] for k in ks}
            m["content"] = json.dumps(d)

    return plant


@form(
    "parts_order",
    "array_order",
    shapes=("service",),
    source="set-like list in a stored result, read back in another order",
)
def parts_order(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)

    def plant(s: Step) -> None:
        for i, m in enumerate(results(s.messages)):
            d = json.loads(m["content"])
            Random(f"{seed}{s.number}{i}").shuffle(d["parts"])
            m["content"] = json.dumps(d)

    return plant


@form("js_numbers", "number_format", source="1.0 becomes 1 when arguments pass through JavaScript")
def js_numbers(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        def f(a: str, i: int) -> str:
            if not stale(s, i):
                return a
            d = json.loads(a)
            return json.dumps(
                {k: (int(v) if isinstance(v, float) and v == int(v) else v) for k, v in d.items()}
            )

        each_call(s, f)

    return plant


@form(
    "result_numbers",
    "number_format",
    shapes=("service",),
    source="12.0 in a result becomes 12 once stored",
)
def result_numbers(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        for i, m in enumerate(s.messages):
            if m["role"] == "tool" and stale(s, i):
                m["content"] = re.sub(r'("fee": \d+)\.0', r"\1", m["content"])

    return plant


@form(
    "compact_arguments",
    "white_space",
    styles=(*OAI, "responses"),
    source="arguments re-dumped with other separators",
)
def compact_arguments(app: App, rng: Random) -> Plant:
    form_ = rng.choice(("tight", "indent"))

    def plant(s: Step) -> None:
        def f(a: str, i: int) -> str:
            if not stale(s, i):
                return a
            return (
                json.dumps(json.loads(a), separators=(",", ":"))
                if form_ == "tight"
                else json.dumps(json.loads(a), indent=2)
            )

        each_call(s, f)

    return plant


@form(
    "trimmed_reply",
    "white_space",
    shapes=("code", "service", "browser"),
    source="assistant text trimmed when a turn is stored",
)
def trimmed_reply(app: App, rng: Random) -> Plant:
    tail = rng.choice(("\n", "\n\n", " "))
    head = rng.random() < 0.3

    def plant(s: Step) -> None:
        for i, m in enumerate(s.messages):
            if m["role"] == "assistant" and m["content"] and i > s.last_user:
                m["content"] = tail + m["content"] if head else m["content"] + tail

    return plant


@form(
    "crlf_results",
    "white_space/hidden_characters",
    shapes=("code",),
    source="CRLF in a result gives way to LF once stored",
)
def crlf_results(app: App, rng: Random) -> Plant:
    back = rng.random() < 0.5

    def plant(s: Step) -> None:
        for i, m in enumerate(s.messages):
            if m["role"] == "tool" and isinstance(m["content"], str) and (i > s.last_user) != back:
                m["content"] = m["content"].replace("\n", "\r\n")

    return plant


@form("tabs_to_spaces", "white_space", shapes=("code",), source="tabs expanded in old results")
def tabs_to_spaces(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        for i, m in enumerate(s.messages):
            if m["role"] == "tool" and isinstance(m["content"], str) and stale(s, i):
                m["content"] = m["content"].replace("\t", "    ")

    return plant


@form(
    "zero_width",
    "hidden_characters",
    shapes=("chat", "service", "code"),
    source="zero-width and no-break characters of a web editor, cleaned when stored",
)
def zero_width(app: App, rng: Random) -> Plant:
    ch = rng.choice(("\u200b", "\u00a0", "\ufeff", "\u2060", "\u00ad"))

    def plant(s: Step) -> None:
        m = s.messages[s.last_user]
        if isinstance(m["content"], str):
            m["content"] = (
                m["content"].replace(" ", ch if ch == "\u00a0" else " " + ch, 1)
                if ch != "\ufeff"
                else ch + m["content"]
            )

    return plant


@form(
    "nfd_names",
    "unicode_form",
    shapes=("chat", "service", "code"),
    source="file names of a Mac in NFD, composed once stored",
)
def nfd_names(app: App, rng: Random) -> Plant:
    names = ["Müller_Straße.pdf", "Curaçao-über.txt", "Łódź_são.csv", "Ångström café.md"]

    def plant(s: Step) -> None:
        for i, m in enumerate(s.messages):
            if m["role"] == "user":
                n = names[i % 4]
                m["content"] += (
                    f" See {unicodedata.normalize('NFD', n) if i == s.last_user else n}, please."
                )

    return plant


@form(
    "ascii_escapes",
    "unicode_form",
    styles=(*OAI, "responses"),
    source="ensure_ascii when arguments are dumped again",
)
def ascii_escapes(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        def f(a: str, i: int) -> str:
            d = json.loads(a)
            d["note"] = "Größe prüfen – später"
            return json.dumps(d, ensure_ascii=stale(s, i))

        each_call(s, f)

    return plant


@form(
    "png_again",
    "image_encoding",
    styles=("openai", "anthropic", "anthropic_blocks"),
    shapes=("browser",),
    source="screenshots encoded anew with each request",
)
def png_again(app: App, rng: Random) -> Plant:
    seed_of(rng)

    def plant(s: Step) -> None:
        for i, _m, b in images_of(s):
            if i <= s.last_user:
                rows = images.pixels(base64.b64decode(b["image_url"]["url"].split(",")[1]))
                b["image_url"]["url"] = "data:image/png;base64," + images.base64_of(
                    images.png(rows, level=9, row_filter=1)
                )

    return plant


@form(
    "url_or_base64",
    "image_encoding",
    styles=("openai", "anthropic"),
    shapes=("browser",),
    source="base64 at first, a file URL in history",
)
def url_or_base64(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        for i, _m, b in images_of(s):
            if i < s.last_user:
                b["image_url"]["url"] = f"https://files.example/shots/{s.session.name}/{i}.png"

    return plant


@form(
    "detail_low",
    "image_encoding/edited_message",
    styles=("openai",),
    shapes=("browser",),
    source="detail low for old pictures (Copilot, browser-use)",
)
def detail_low(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        for i, _m, b in images_of(s):
            b["image_url"]["detail"] = "low" if i < s.last_user else "high"

    return plant


@form(
    "resized",
    "image_encoding",
    styles=("openai", "anthropic", "anthropic_blocks"),
    shapes=("browser",),
    source="old screenshots scaled down",
)
def resized(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        for i, _m, b in images_of(s):
            if i < s.last_user:
                rows = images.pixels(base64.b64decode(b["image_url"]["url"].split(",")[1]))
                small = [
                    bytes(r[j] for k in range(0, len(r), 6) for j in (k, k + 1, k + 2))
                    for r in rows[::2]
                ]
                b["image_url"]["url"] = "data:image/png;base64," + images.base64_of(
                    images.png(small)
                )

    return plant

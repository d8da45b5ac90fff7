"""Forms of text written in another way, of histories, templates, pictures and contexts, as
applications in the field have them. Shown: rules may be mended by them.
"""

import random
import struct
import unicodedata
import zlib
from typing import Any

from doctor_planted.bases import Message
from doctor_planted.images import _chunk, _filtered, base64_of
from doctor_planted.marks import mark
from doctor_planted.own_planters import flipped, history_cut, ordered, pictures, reasoning
from doctor_planted.plant_forms import at, between, line_ends, written


def _nfd(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def _wrapped(text: str) -> str:
    """The same sentence wrapped at a width, as editors and heredocs do."""
    head, blank, tail = text.partition(", ")
    return f"{head}," + mark("white_space", "\n  ") + tail if blank else text


def _unwrapped(text: str) -> str:
    head, blank, tail = text.partition(", ")
    return f"{head}," + mark("white_space", " ") + tail if blank else text


def _exit_code(text: str) -> str:
    return text + mark("edited_message", "\n[exit code: 0, wall time 0.3 s]")


def _masked(text: str) -> str:
    """A filter that learnt a name masks it from then on."""
    words = text.split(" ")
    names = [i for i, w in enumerate(words) if i and w[:1].isupper() and w.isalpha()]
    if not names:
        return text
    place = names[0]
    return " ".join([*words[:place], mark("edited_message", "<PERSON_1>"), *words[place + 1 :]])


def _polite(text: str) -> str:
    return mark("edited_message", "Hello again! ") + text


def _no_old_pictures(messages: list[Message]) -> tuple[list[Message], object]:
    """All pictures but the last two give way to a note."""
    with_picture = [m for m in messages if isinstance(m["content"], list)]
    for message in with_picture[:-2]:
        message["content"] = [
            {"type": "text", "text": "[image omitted]"} if b["type"] == "image_url" else b
            for b in message["content"]
        ]
    return messages, len(with_picture[:-2])


def _no_old_results(messages: list[Message]) -> tuple[list[Message], object]:
    """Results of tools but the last three are emptied."""
    results = [m for m in messages if m["role"] == "tool"]
    for message in results[:-3]:
        message["content"] = ""
    return messages, len(results[:-3])


def _window(messages: list[Message]) -> tuple[list[Message], object]:
    """The first request stays, and the last eight messages; calls stay with their results."""
    cut = max(1, len(messages) - 8)
    while cut > 1 and messages[cut]["role"] == "tool":
        cut -= 1
    return [messages[0], *messages[cut:]], cut


def _png(rows: list[bytes], before: list[tuple[bytes, bytes]], split: int) -> str:
    """A PNG with further chunks before its data, which stands in `split` chunks."""
    width = len(rows[0]) // 3
    head = struct.pack(">IIBBBBB", width, len(rows), 8, 2, 0, 0, 0)
    data = zlib.compress(b"".join(b"\x00" + _filtered(row, 0) for row in rows), 6)
    size = -(-len(data) // split)
    parts = [(b"IDAT", data[i : i + size]) for i in range(0, len(data), size)]
    chunks = [(b"IHDR", head), *before, *parts, (b"IEND", b"")]
    made = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, inside) for name, inside in chunks)
    return f"data:image/png;base64,{base64_of(made)}"


def _timed(rows: list[bytes], epoch: int) -> str:
    """The time of the last change stands in the file (tIME)."""
    return _png(
        rows, [(b"tIME", struct.pack(">HBBBBB", 2026, 3, 9, 6, epoch // 60, epoch % 60))], 1
    )


def _dots(rows: list[bytes], epoch: int) -> str:
    return _png(rows, [(b"pHYs", struct.pack(">IIB", 2835 + epoch, 2835 + epoch, 1))], 1)


def _in_parts(rows: list[bytes], epoch: int) -> str:
    return _png(rows, [], 2 + epoch % 3)


def _reasoning_field(message: Message, thought: str) -> None:
    message["reasoning"] = thought


def _tight_think(message: Message, thought: str) -> None:
    message["content"] = f"<think>{thought}</think>{message['content'] or ''}"


def _json_indent(rng: random.Random) -> Any:
    """The same settings, pretty or compact, by whoever dumps them."""
    rows, ttl = rng.randrange(10, 99), rng.randrange(100, 999)
    forms = (
        f'{{"rows": {rows}, "ttl_s": {ttl}, "mode": "strict"}}',
        f'{{\n  "rows": {rows},\n  "ttl_s": {ttl},\n  "mode": "strict"\n}}',
        f'{{"rows":{rows},"ttl_s":{ttl},"mode":"strict"}}',
    )
    return lambda own: f"Limits: {own.choice(forms)}"


TEXTS: dict[str, tuple[Any, ...]] = {
    "white_space": (
        (_unwrapped, _wrapped),
        line_ends("white_space", " ", "\n"),
        between("white_space", " ", " \n"),
        at("white_space", "behind", "", "\r\n"),
        at("white_space", "before", "", "\n\n"),
        line_ends("white_space", "\n    ", "\n        "),
        ordered("white_space", _json_indent),
    ),
    "hidden_characters": (
        at("hidden_characters", "before", "", "\u2060"),
        at("hidden_characters", "inside", "", "\u2062"),
        at("hidden_characters", "inside", "", "\u061c"),
        at("hidden_characters", "behind", "", "\u2069"),
        between("hidden_characters/white_space", " ", "\u2002"),
        between("hidden_characters/white_space", " ", " \u200b"),
    ),
    "unicode_form": (
        written("unicode_form", "Η υπηρεσία λέγεται *.", "Άλφα Ώρα", _nfd("Άλφα Ώρα")),
        written("unicode_form", "Office hours are Mon*Fri.", "\u2013", "-"),
        written("unicode_form/edited_message", "Ask R*D first.", "&", "&amp;"),
        written("unicode_form", 'Config: {"name": "*"}', "Zoë", "Zo\\u00eb"),
        written("unicode_form", "担当は*です。", "ガラス", "ｶﾞﾗｽ"),
        written("unicode_form", "Sie sagte: *.", "\u201eja\u201c", '"ja"'),
    ),
    "number_format": (
        written("number_format", "At * confidence, answer.", "12%", "12.0%"),
        written("number_format", "tolerance=*", "1e-05", "0.00001"),
        written("number_format", "It costs * a month.", "$5", "$5.00"),
        written("number_format", "Höchstbetrag: * EUR", "1.234,50", "1234,50", "1234.50"),
        written("number_format", '{"max_tokens": *, "n": 1}', "1000000", "1e+06", "1000000.0"),
        written("number_format", "Limit: * rupees", "1234567", "12,34,567"),
    ),
    "moved_block": (
        '<doc index="{p}">\n{t}\n</doc>', "- **{p}** — {t}", "{p}: |\n  {t}", "@@ {p}\n{t}",
    ),
    "edited_message": (_exit_code, _masked, _polite),
    "truncated_history": (
        history_cut("truncated_history", _window),
        history_cut("truncated_history/compacted_history", _no_old_results),
        history_cut("truncated_history/compacted_history/edited_message", _no_old_pictures),
    ),
    "compacted_history": (
        ("system", "The human asks about {a}. The AI answers. {n} messages are summarised here."),
        ("user", "[Summary of previous messages: {a}] ({n} removed)"),
        ("assistant", "Résumé de la conversation jusqu'ici : {a} ({n} messages)."),
        ("user", "<conversation_summary>{a}</conversation_summary>\nContinue.", "rolling"),
    ),
    "template_flip": (
        "<think>{t}</think>{m}",
        "<think>\n{t}\n</think>\n<answer>\n{m}\n</answer>",
        reasoning(_reasoning_field),
        reasoning(_tight_think),
        flipped("tools_before"),
        flipped("closed_think"),
    ),
    "image_encoding": (pictures(_timed), pictures(_dots), pictures(_in_parts)),
    "context_changed": (
        ("model", "meta-llama/Llama-3.3-70B-Instruct", "meta-llama/Llama-3.3-70B-Instruct-FP8"),
        ("model", "o4-mini", "o4-mini-2025-04-16"), ("salt", "org-1", "org-2"),
        ("kv_dtype", "bf16", "fp8_e4m3"), ("adapter", "en-v3", "de-v3"),
    ),
}  # fmt: skip

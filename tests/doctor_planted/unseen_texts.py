"""Forms of text written in another way, of histories, templates, pictures and contexts, written
beside field_texts and shown to nobody before they were measured.
"""

import random
import struct
import unicodedata
import zlib
from typing import Any

from doctor_planted.bases import Message
from doctor_planted.images import _chunk, base64_of
from doctor_planted.marks import mark
from doctor_planted.own_planters import flipped, history_cut, ordered, pictures, reasoning
from doctor_planted.plant_forms import at, between, line_ends, written


def _nfd(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def _with_mood(text: str) -> str:
    return text + mark("edited_message", " 👍")


def _first_letter(text: str) -> str:
    """A client that mends how a message begins."""
    if len(text.split()) < 4 or not text[0].isascii() or not text[0].isalpha():
        return text
    return mark("edited_message", text[0].swapcase()) + text[1:]


def _other_word(text: str) -> str:
    """A spelling checker that ran over what had been sent."""
    words = text.split(" ")
    long = [i for i, w in enumerate(words) if len(w) > 4 and w.isalpha() and w.isascii()]
    if not long:
        return text
    at_ = long[-1]
    word = words[at_]
    other = mark("edited_message", word[:2] + word[3] + word[2] + word[4:])
    if word[2] == word[3]:
        return text
    return " ".join([*words[:at_], other, *words[at_ + 1 :]])


def _only_talk(messages: list[Message]) -> tuple[list[Message], object]:
    """Calls and results before the last user message are dropped; what was said stays."""
    last = max(i for i, m in enumerate(messages) if m["role"] == "user")
    keep = [m for i, m in enumerate(messages)
            if i >= last or not (m["role"] == "tool" or m.get("tool_calls"))]  # fmt: skip
    return keep, len(messages) - len(keep)


def _every_turn(messages: list[Message]) -> tuple[list[Message], object]:
    """One message less with every one more, from six on."""
    cut = max(0, len(messages) - 6)
    while cut and messages[cut]["role"] == "tool":
        cut -= 1
    return messages[cut:], cut


def _noted(messages: list[Message]) -> tuple[list[Message], object]:
    """A system message tells that older ones are gone."""
    cut = max(0, (len(messages) - 5) // 2 * 2)
    while cut and messages[cut]["role"] == "tool":
        cut -= 1
    if not cut:
        return messages, 0
    note = {"role": "system", "content": "NOTE: older messages were dropped to save tokens."}
    return [note, *messages[cut:]], cut


def _short_results(messages: list[Message]) -> tuple[list[Message], object]:
    """Results before the last two keep their first line."""
    results = [m for m in messages if m["role"] == "tool" and len(m["content"]) > 80]
    for message in results[:-2]:
        message["content"] = message["content"][:50] + "…(truncated)"
    return messages, len(results[:-2])


def _png(rows: list[bytes], colour: int, packed: bytes, more: list[tuple[bytes, bytes]]) -> bytes:
    head = struct.pack(">IIBBBBB", len(rows[0]) // 3, len(rows), 8, colour, 0, 0, 0)
    chunks = [(b"IHDR", head), *more, (b"IDAT", packed), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, inside) for name, inside in chunks)


def _with_alpha(rows: list[bytes], epoch: int) -> str:
    """The same colours with an opaque alpha channel."""
    wide = [b"".join(row[i : i + 3] + b"\xff" for i in range(0, len(row), 3)) for row in rows]
    data = zlib.compress(b"".join(b"\x00" + row for row in wide), 1 + epoch % 9)
    return f"data:image/png;base64,{base64_of(_png(rows, 6, data, []))}"


def _strategy(rows: list[bytes], epoch: int) -> str:
    packer = zlib.compressobj(6, zlib.DEFLATED, 15, 1 + epoch % 8, epoch % 4)
    data = packer.compress(b"".join(b"\x00" + row for row in rows)) + packer.flush()
    return f"data:image/png;base64,{base64_of(_png(rows, 2, data, []))}"


def _profile(rows: list[bytes], epoch: int) -> str:
    data = zlib.compress(b"".join(b"\x00" + row for row in rows))
    text = b"Software\x00shot " + str(epoch).encode()
    return f"data:image/png;base64,{base64_of(_png(rows, 2, data, [(b'tEXt', text)]))}"


def _details(message: Message, thought: str) -> None:
    message["reasoning_details"] = [{"type": "reasoning.text", "text": thought}]


def _scratchpad(message: Message, thought: str) -> None:
    message["content"] = f"<scratchpad>\n{thought}\n</scratchpad>\n\n{message['content'] or ''}"


def _xml_indent(rng: random.Random) -> Any:
    rows = rng.randrange(10, 99)
    forms = (
        f"<limits><rows>{rows}</rows><mode>strict</mode></limits>",
        f"<limits>\n  <rows>{rows}</rows>\n  <mode>strict</mode>\n</limits>",
    )
    return lambda own: own.choice(forms)


TEXTS: dict[str, tuple[Any, ...]] = {
    "white_space": (
        line_ends("white_space", "  ", " "),
        between("white_space", " ", "\t\t"),
        at("white_space", "behind", "", "\n\n\n"),
        at("white_space", "before", "", "    "),
        line_ends("white_space", "\n\t", "\n  "),
        line_ends("white_space", "\n", "  \n"),
        ordered("white_space", _xml_indent),
    ),
    "hidden_characters": (
        at("hidden_characters", "inside", "", "\u2064"),
        at("hidden_characters", "before", "", "\u200c"),
        at("hidden_characters", "behind", "", "\u2068"),
        at("hidden_characters", "inside", "", "\u200b\ufeff"),
        between("hidden_characters/white_space", " ", "\u200a"),
        at("hidden_characters", "inside", "", "\U000e0001"),
    ),
    "unicode_form": (
        written("unicode_form", "Fråga * först.", "Åke Sjöström", _nfd("Åke Sjöström")),
        written("unicode_form", "问题请写在这里*谢谢", "!", "！"),
        written("unicode_form", "Form № is *.", "Ａ４", "A4"),
        written("unicode_form", "This is non*stop.", "\u2011", "-"),
        written("unicode_form", '{"mood": "*"}', "😀", "\\ud83d\\ude00"),
        # A no-break space is a character that nobody sees, too.
        written("unicode_form/hidden_characters/white_space", "Dit : *", "«\u00a0oui»", "« oui»"),
        written("unicode_form", "Le cœur : *.", "ﬂeur", "fleur"),
    ),
    "number_format": (
        written("number_format", "Taux : * %", "2,5", "2,50"),
        written("number_format", "alpha = *", "0.1", "1e-1", "0.10"),
        written("number_format", "Never above * rows.", "250000", "250,000", "250 000"),
        written("number_format", '{"price": *, "currency": "EUR"}', "19.9", "19.90"),
        written("number_format", "weight: *kg", "2.0", "2"),
        written("number_format", "Il limite è di * euro.", "15000", "15.000"),
    ),
    "moved_block": (
        "[[{p}]] {t}", "### File: `{p}`\n```\n{t}\n```", '<context path="{p}">\n{t}\n</context>',
        "| {p} | {t} |", "「{p}」{t}",
    ),
    "edited_message": (_with_mood, _other_word, _first_letter),
    "truncated_history": (
        history_cut("truncated_history", _only_talk),
        history_cut("truncated_history", _every_turn),
        history_cut("truncated_history/compacted_history", _noted),
        history_cut("truncated_history/compacted_history", _short_results),
    ),
    "compacted_history": (
        ("system", "以下是之前对话的摘要:{a}(共{n}条消息)"),
        ("user", "Progress so far (auto-compacted, {n} messages): {a}"),
        ("assistant", "<compaction>\n{a}\n{n}\n</compaction>"),
        ("system", "Memory of the earlier conversation\n- {a}\n- {n} messages are not shown", "r"),
    ),
    "template_flip": (
        "<think>\n{t}\n</think>\n\n<response>{m}</response>",
        "[BEGIN_THOUGHT]{t}[END_THOUGHT]\n{m}",
        reasoning(_details),
        reasoning(_scratchpad),
        flipped("answer"),
        flipped("hint"),
    ),
    "image_encoding": (pictures(_with_alpha), pictures(_strategy), pictures(_profile)),
    "context_changed": (
        ("model", "gemini-2.5-pro", "gemini-2.5-flash"), ("model", "kimi-k2", "kimi-k2-0905"),
        ("salt", "", "tenant-9"), ("kv_dtype", "fp8", "nvfp4"), ("adapter", "base", "legal-v2"),
        ("tokenizer", "r1", "r2"),
    ),
}  # fmt: skip

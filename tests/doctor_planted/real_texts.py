"""Text written in another way, as services in several languages and versions do: dumps of JSON,
templates, docstrings, names of files, copied text, escapes, numbers; pictures; contexts.
"""

import random
import struct
import unicodedata
import zlib
from typing import Any

from doctor_planted.images import _chunk, base64_of
from doctor_planted.own_planters import ordered, pictures
from doctor_planted.plant_forms import at, between, line_ends, written


def _nfd(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def _dumped(rng: random.Random) -> Any:
    """JSON by JSON.stringify, by Python and by a printer that indents by four."""
    rows = rng.randrange(10, 99)
    forms = (f'[{{"id":1,"rows":{rows}}},{{"id":2,"rows":7}}]',
             f'[{{"id": 1, "rows": {rows}}}, {{"id": 2, "rows": 7}}]',
             f'[\n    {{\n        "id": 1,\n        "rows": {rows}\n    }},\n    {{\n        '
             '"id": 2,\n        "rows": 7\n    }\n]')  # fmt: skip
    return lambda own: f"<catalog>{own.choice(forms)}</catalog>"


def _jinja(rng: random.Random) -> Any:
    """Blocks of a template that are empty leave their lines, or not (trim_blocks)."""
    n = rng.randrange(3, 30)
    forms = (f"<RUNTIME>\n\n\nport {n}\n\n</RUNTIME>", f"<RUNTIME>\nport {n}\n</RUNTIME>")
    return lambda own: own.choice(forms)


def _docstring(rng: random.Random) -> Any:
    """A docstring as compiled before and since Python 3.13."""
    n = rng.randrange(3, 30)
    forms = (f"search(query)\n\n    Finds pages.\n\n    Args:\n        query: {n} words\n    ",
             f"search(query)\n\nFinds pages.\n\nArgs:\n    query: {n} words\n")  # fmt: skip
    return lambda own: own.choice(forms)


def _paeth(rows: list[bytes]) -> bytes:
    out, above = b"", bytes(len(rows[0]))
    for row in rows:
        line = bytearray()
        for x, value in enumerate(row):
            a, b = (row[x - 3] if x >= 3 else 0), above[x]
            c = above[x - 3] if x >= 3 else 0
            p = a + b - c
            near = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            line.append((value - near) & 255)
        out, above = out + b"\x04" + bytes(line), row
    return out


def _file(rows: list[bytes], depth: int, colour: int, body: bytes, more: Any, level: int) -> str:
    head = struct.pack(">IIBBBBB", len(rows[0]) // 3, len(rows), depth, colour, 0, 0, 0)
    chunks = [(b"IHDR", head), *more, (b"IDAT", zlib.compress(body, level)), (b"IEND", b"")]
    data = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, inside) for name, inside in chunks)
    return f"data:image/png;base64,{base64_of(data)}"


def _palette(rows: list[bytes], epoch: int) -> str:
    """Pillow's mode P: fewer colours than 256, so nothing is lost."""
    pixels = [[row[i : i + 3] for i in range(0, len(row), 3)] for row in rows]
    colours = sorted({p for row in pixels for p in row})
    body = b"".join(b"\x00" + bytes(colours.index(p) for p in row) for row in pixels)
    return _file(rows, 8, 3, body, [(b"PLTE", b"".join(colours))], 1 + epoch % 9)


def _filtered(rows: list[bytes], epoch: int) -> str:
    """A browser's screenshot: filtered lines, sRGB and gAMA."""
    more = [(b"sRGB", b"\x00"), (b"gAMA", struct.pack(">I", 45455))]
    return _file(rows, 8, 2, _paeth(rows), more, 1 + epoch % 9)


def _deep(rows: list[bytes], epoch: int) -> str:
    """Sixteen bits a channel."""
    body = b"".join(b"\x00" + b"".join(bytes((v, v)) for v in row) for row in rows)
    return _file(rows, 16, 2, body, [], 1 + epoch % 9)


_RANDOM_TOO = "unicode_form/edited_message/random_sample"

TEXTS: dict[str, tuple[Any, ...]] = {
    "white_space": (
        ordered("white_space", _dumped), ordered("white_space", _jinja),
        ordered("white_space", _docstring),
        line_ends("white_space", "\n", "\n        "),  # a dedent that a value of lines stops
        at("white_space", "behind", "", "\n\n\n\n"),  # goose without extensions
        at("white_space", "before", "", "\n    \n    "),  # a template literal, trimmed or not
        between("white_space", " ", "\n\n"),
        line_ends("white_space", " ", "  "),
    ),
    "hidden_characters": (
        at("hidden_characters", "before", "", "\u202a"),  # numbers copied from contacts
        at("hidden_characters", "before", "", "\u2066"),  # isolates around names
        at("hidden_characters", "behind", "", "\ufffc"),  # dictation
        at("hidden_characters", "inside", "", "\u00ad\u00ad"),  # text of PDFs
        at("hidden_characters", "behind", "", "\x00"),  # text of PDFs
        at("hidden_characters", "before", "", "\u200e"),  # exports of WhatsApp
        written("hidden_characters/white_space", "Open until 5:00*every day.", " PM ",
                "\u202fPM "),  # ICU 72
        written("hidden_characters/unicode_form", "Mark it with * when done.", "✔", "✔\ufe0f"),
        between("hidden_characters/white_space", " ", "\u3000"),
        written("hidden_characters/edited_message", "Status: *.", "ok", "\x1b[32mok\x1b[0m"),
    ),
    "unicode_form": (
        written("unicode_form", "Files: *", "Übersicht.md", _nfd("Übersicht.md")),  # macOS
        written("unicode_form", "첨부: *", "보고서.pdf", _nfd("보고서.pdf")),
        written("unicode_form", 'Run {"cmd": "make * make test"}', "&&", "\\u0026\\u0026"),  # Go
        written("unicode_form", 'Base: {"url": "*"}', "https://x.example/api",
                "https:\\/\\/x.example\\/api"),  # PHP
        written("unicode_form", "请按以下格式回答*不要解释", "：", ":"),
        written("unicode_form", "Up to 30 * per parcel.", "㎏", "kg"),
        written("unicode_form/edited_message", "We don*t ship on Sundays.", "'", "&#39;"),  # Jinja
        written("unicode_form", "We can*t refund a gift card.", "'", "\u2019"),  # phones
        written("unicode_form", "Step * is the last.", "①", "1"),
        written("unicode_form", "Il prezzo * incluso.", "è", "e\u0300"),
        written(_RANDOM_TOO, "Say * when it is done.", "😄", ":smile:"),  # Slack
        written("unicode_form", "Path: Menu * Orders", "→", "->"),
        written("unicode_form", "Réponds «*».", "déjà vu", "de\u0301ja\u0300 vu"),
    ),
    "number_format": (
        written("number_format", "Never above * rows.", "10000000", "1.0E7"),  # Java
        written("number_format", "fee: *", "0.15", "0.1500"),  # Postgres
        written("number_format", "stock: * pieces", "12", "12.0"),  # pandas with a gap
        written("number_format/hidden_characters/white_space", "Le plafond est de * euros.",
                "1 234", "1234", "1\u202f234"),
        written("number_format", "Limit CHF *", "1'234.50", "1234.50"),
        written("number_format", "Valor máximo: R$ *", "1.234,56", "1234,56", "1234.56"),
        written("number_format", "confidence >= *", "0.9", "0.9000000000000000", "9e-1"),
        written("number_format", "{'top_k': *, 'rerank': True}", "5", "5.0"),
        written("number_format", "ratio=*", "0.333", "0.3330"),
        written("number_format", "Above * users the queue opens.", "1500000", "1.5e6", "1,500,000"),
    ),
    "moved_block": (
        "<document>\n<source>{p}</source>\n<document_content>\n{t}\n</document_content>\n</document>",
        "Source: {p}\nContent: {t}",  # LangChain
        "Contents of {p} (instructions of the project):\n\n{t}",  # Claude Code
        "{p}\n```\n{t}\n```",  # aider
        "================================\nFILE: {p}\n================================\n{t}",
        '<source id="{p}">{t}</source>',  # Open WebUI
        "file_path: {p}\n\n{t}",  # LlamaIndex
        "## {p}\n\n### Instructions\n{t}",  # goose
        "### {p}\n{t}\n---", '<rule name="{p}">\n{t}\n</rule>', "【{p}】{t}", "--- {p} ---\n{t}",
    ),
    "image_encoding": (pictures(_palette), pictures(_filtered), pictures(_deep)),
    "context_changed": (
        ("model", "claude-sonnet-4-5", "claude-sonnet-4-5-20250929"),
        ("model", "deepseek/deepseek-chat", "deepseek/deepseek-chat:free"),
        ("model", "gpt-4.1", "gpt-4.1-mini"), ("salt", "", "user-4711"),
        ("adapter", "", "sql-lora"),
        ("kv_dtype", "auto", "fp8"), ("tokenizer", "mistral-v3", "mistral-v3-tekken"),
    ),
}  # fmt: skip

"""Numbers, names and data as the page writes them."""

import json
from dataclasses import dataclass
from typing import Any

from hitpath.core import one_line
from hitpath.report.text_parts import percent
from hitpath.traces.table import Trace

_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True, slots=True)
class Unit:
    """What prompts are counted in. size: the same where a cache's size is told, so that bytes of
    text are not taken for bytes of memory."""

    one: str
    many: str
    size: str


TOKENS = Unit("token", "tokens", "tokens")
BYTES = Unit("byte", "bytes", "bytes of text")


def unit_of(trace: Trace) -> Unit:
    """Bytes where a trace has text and no tokenizer was named."""
    return BYTES if trace.identity == "text" else TOKENS


def pct(rate: float | None) -> str:
    """As on the terminal page, kept on one line."""
    return percent(rate).replace(" ", "\u00a0")


def short(value: float) -> str:
    """Three digits and a unit (k, M, G, T): 75.7k."""
    for size, unit in _UNITS:
        if value >= size * 0.9995:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def memory(gib: float) -> str:
    """A size of memory in GiB, or in the unit below that leaves digits to read."""
    for unit in ("GiB", "MiB", "KiB"):
        if gib >= 0.1 or unit == "KiB":
            break
        gib *= 1024
    return f"{gib:,.1f}\u00a0{unit}" if gib < 1000 else f"{gib:,.0f}\u00a0{unit}"


def printable(name: str) -> str:
    """A name from a trace: control characters escaped, very long ones without their middle."""
    return one_line(name)


def script_json(value: Any) -> str:
    """JSON that is safe inside <script>: no `<`, `>` or `&` is left in it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def and_list(words: list[str]) -> str:
    """a, b and c."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"

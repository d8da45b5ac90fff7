"""Numbers, names and data as the page writes them."""

import json
from typing import Any

from hitpath.core import one_line
from hitpath.report.text_parts import percent

_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def pct(rate: float | None) -> str:
    """As on the terminal page, kept on one line."""
    return percent(rate).replace(" ", "\u00a0")


def short(value: float) -> str:
    """Three digits and a unit (k, M, G, T): 75.7k."""
    for size, unit in _UNITS:
        if value >= size * 0.9995:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def gib(size: float) -> str:
    """A size of memory."""
    return f"{size:,.1f}\u00a0GiB" if size < 1000 else f"{size:,.0f}\u00a0GiB"


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

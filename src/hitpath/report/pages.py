"""Where pages and JSON documents go, and the frame of a page: nothing here loads numba or Arrow."""

import os
import sys
from collections.abc import Callable
from typing import IO, Any

import msgspec
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from hitpath.core import OutputError, ReaderGone
from hitpath.report.output import write_whole
from hitpath.report.text_parts import Page

WIDTH = 110
NARROWEST = 80


def titled(title: str, part: RenderableType) -> RenderableType:
    """A section of a page."""
    return Group(
        Rule(Text(title, style="bold"), align="left", style="dim"), Padding(part, (0, 0, 1, 2))
    )


def write_json(path: str, content: dict[str, Any] | list[Any]) -> None:
    """One indented JSON document; what JSON has no type for (dates) is written as text, and so
    are the bytes of a file's name that are none."""
    try:
        data = msgspec.json.encode(content, enc_hook=str)
    except UnicodeEncodeError:
        data = msgspec.json.encode(_sayable(content), enc_hook=str)
    text = msgspec.json.format(data, indent=2)
    write_whole(path, lambda file: write_line(file, text))


def _sayable(value: Any) -> Any:
    """With lone surrogates, for which UTF-8 has no bytes, as \\udcff."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_sayable(key): _sayable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_sayable(inner) for inner in value]
    return value


def write_line(file: IO[bytes], text: bytes) -> None:
    """The text and a line end."""
    file.write(text + b"\n")


def page_console(**options: Any) -> Page:
    """Where the page goes: the terminal's width from NARROWEST to WIDTH, or WIDTH into a file or
    pipe. A narrower terminal wraps lines by itself: no number is cut."""
    if sys.stdout is None:
        raise OutputError("stdout", "cannot be written: it is closed")
    page = Page()
    width = min(WIDTH, max(NARROWEST, page.width)) if page.is_terminal else WIDTH
    return Page(width=width, **options)


def print_page(show: Callable[[Page], None]) -> None:
    """Print a page and be sure that it arrived."""
    try:
        show(page_console())
        sys.stdout.flush()
    except BrokenPipeError as error:
        raise ReaderGone from error
    except OSError as error:
        # What is still buffered would fail again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise OutputError("stdout", f"cannot be written: {error.strerror}") from error

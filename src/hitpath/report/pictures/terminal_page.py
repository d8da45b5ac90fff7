"""The terminal page as a picture."""

import io
import re
from collections.abc import Callable

from rich._export_format import CONSOLE_SVG_FORMAT

from hitpath.report.pages import WIDTH
from hitpath.report.text_parts import Page

MONOSPACE_FONTS = (
    "DejaVu Sans Mono, Menlo, Consolas, Liberation Mono, Noto Sans Mono, Courier New, monospace"
)


def terminal_svg(show: Callable[[Page], None]) -> str:
    """What `show` prints, recorded."""
    page = Page(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    show(page)
    return page.export_svg(title="hitpath analyze", code_format=_svg_format())


def _svg_format() -> str:
    """rich's template without its fonts from elsewhere: a page of ours loads nothing."""
    local = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    return local.replace("Fira Code, monospace", MONOSPACE_FONTS).replace(
        "Fira Code", MONOSPACE_FONTS
    )

"""The analysis as one self-contained HTML page: opens offline, asks nobody for anything."""

import base64
import hashlib
from importlib.resources import files
from typing import Protocol

from hitpath.cost.models import ModelKV
from hitpath.report.html.build import page_view
from hitpath.report.html.excerpts import excerpts_of
from hitpath.report.html.lengths_page import lengths_page_view
from hitpath.report.html.tree import prefix_tree
from hitpath.summary import Analysis, LengthsAnalysis


class Templated(Protocol):
    """What a page is filled with names its template."""

    @property
    def template(self) -> str: ...


def render_html(
    analysis: Analysis | LengthsAnalysis,
    model: ModelKV | None,
    command: str,
    show_text: bool = False,
) -> bytes:
    """The page. `command`: the command line that made it, shown for repetition; `show_text`:
    whether the text of prompts may stand in it. The same analysis and command give the same
    bytes."""
    if isinstance(analysis, LengthsAnalysis):
        return render_page(lengths_page_view(analysis, command))
    tree = prefix_tree(analysis.trace, analysis.ledger, analysis.events, analysis.blocks)
    excerpts = excerpts_of(analysis.trace, analysis.setting, show_text)
    return render_page(page_view(analysis, model, command, tree, excerpts))


def render_page(page: Templated) -> bytes:
    """Fill the page's template; everything from the trace is escaped by it."""
    from jinja2 import (  # only where a page is asked for
        Environment,
        FunctionLoader,
        StrictUndefined,
    )

    environment = Environment(
        autoescape=True,
        loader=FunctionLoader(_part),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = _part("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    template = environment.get_template(page.template)
    text = template.render(page=page, style=_part("page.css"), script=script, script_hash=digest)
    return text.encode("utf-8", "replace")


def _part(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")

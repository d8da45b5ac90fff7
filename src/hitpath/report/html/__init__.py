"""The analysis as one self-contained HTML page: opens offline, asks nobody for anything."""

import base64
import hashlib
from importlib.resources import files

from hitpath.cost.models import ModelKV
from hitpath.report.html.build import page_view
from hitpath.report.html.tree import prefix_tree
from hitpath.report.html.view import Page
from hitpath.summary import Analysis


def render_html(analysis: Analysis, model: ModelKV | None, command: str) -> bytes:
    """The page. `command`: the command line that made it, shown for repetition. The same
    analysis and command give the same bytes."""
    tree = prefix_tree(analysis.trace, analysis.ledger, analysis.events, analysis.blocks)
    return render_page(page_view(analysis, model, command, tree))


def render_page(page: Page) -> bytes:
    """Fill the template; everything from the trace is escaped by it."""
    from jinja2 import Environment, StrictUndefined  # only where a page is asked for

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    script = _part("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    template = environment.from_string(_part("page.html.j2"))
    text = template.render(page=page, style=_part("page.css"), script=script, script_hash=digest)
    return text.encode("utf-8", "replace")


def _part(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")

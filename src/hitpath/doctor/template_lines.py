"""Chat templates rendered so that each character knows the line of the template that wrote it.

Before every piece of output a mark with its line is put into the template, and taken out of the
text again. A mark within a macro or a captured block could be seen by the template's own filters
(`trim`, `length`), so the text without its marks must be the text of the template as it is; where
it is not, only what the template writes directly is marked, and what a macro or a captured block
made counts for the line that printed it.
"""

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from typing import Any, NamedTuple

from hitpath.core import SettingError
from hitpath.text import chat_template
from hitpath.text.tokenizer import OPTION, RenderError, needed

_BEGIN, _END = "\U000f5e01", "\U000f5e02"
_MARK = re.compile(f"{_BEGIN}(\\d+){_END}")


class Rendered(NamedTuple):
    """A rendered text; character i was written by the line of the last start at or before i."""

    text: str
    starts: tuple[int, ...]
    lines: tuple[int, ...]
    source: str

    def line_at(self, char_offset: int) -> int:
        """The template's line, from 1, that wrote a character; of the last piece for its end."""
        at = max(bisect_right(self.starts, char_offset) - 1, 0)
        return self.lines[at] if self.lines else 1

    def line_text(self, char_offset: int) -> str:
        """That line of the template."""
        lines = self.source.split("\n")
        return lines[min(self.line_at(char_offset), len(lines)) - 1].strip()


class LinedTemplate:
    """One template, compiled as it is and with marks. Raises SettingError with its line for what
    cannot be compiled. special_tokens: variables such as `bos_token`."""

    def __init__(self, source: str, special_tokens: Mapping[str, str]) -> None:
        self.source = source.replace("\r\n", "\n").replace("\r", "\n")
        if _BEGIN in source or _END in source:
            raise SettingError(OPTION, "the template has characters of the last private planes")
        self._special_tokens = dict(special_tokens)
        self._forms: dict[datetime | None, tuple[Any, Any, Any, Any]] = {}
        environment = chat_template._environment(None)
        chat_template._compile(environment, "default", self.source)  # tells what is wrong with it
        self._walks_parts = chat_template._walks_content(environment.parse(self.source))

    def render(
        self,
        messages: Sequence[dict[str, Any]],
        tools: Sequence[Any] | None = None,
        now: datetime | None = None,
        **variables: Any,
    ) -> Rendered:
        """The prompt's text with its lines; arguments of calls that are text stay text. Raises
        RenderError with what the template said."""
        environment, plain, marked, outer = self._compiled(now)
        prepared = [self._prepared(at, message) for at, message in enumerate(messages)]
        given = {
            **self._special_tokens,
            "messages": prepared,
            "tools": list(tools) if tools else None,
            "documents": None,
            **variables,
        }
        text = _text(environment, plain, len(prepared), given)
        for form in (marked, outer):
            try:
                found = _unmarked(_text(environment, form, len(prepared), given), self.source)
            except RenderError:
                continue  # the marks themselves were too much for it
            if found.text == text:
                return found
        return Rendered(text, (), (), self.source)

    def _prepared(self, at: int, message: dict[str, Any]) -> dict[str, Any]:
        made = dict(chat_template.prepare_message(at, message, self._walks_parts))
        if "tool_calls" in message:
            made["tool_calls"] = message["tool_calls"]
        return made

    def _compiled(self, now: datetime | None) -> tuple[Any, Any, Any, Any]:
        if now not in self._forms:
            environment = chat_template._environment(now)
            nodes = needed("jinja2.nodes", "jinja2")
            forms = [chat_template._compile(environment, "default", self.source)]
            for inner in (True, False):
                tree = environment.parse(self.source)
                _put_marks(tree, nodes, inner)
                forms.append(chat_template._compile(environment, "default", tree))
            self._forms[now] = (environment, *forms)
        return self._forms[now]


def _text(environment: Any, form: Any, num_messages: int, given: dict[str, Any]) -> str:
    environment.start(num_messages)
    try:
        return str(form.render(**given))
    except Exception as error:  # a template is a program: anything can go wrong in it
        raise RenderError("messages", chat_template._told(error)) from error


def _put_marks(node: Any, nodes: Any, inner: bool) -> None:
    """Marks before each piece of output under a node, those of captured blocks only if inner."""
    captures = (nodes.Macro, nodes.CallBlock, nodes.AssignBlock, nodes.FilterBlock)
    for child in node.iter_child_nodes():
        if inner or not isinstance(child, captures):
            _put_marks(child, nodes, inner)
    if isinstance(node, nodes.Output):
        pieces = []
        for piece in node.nodes:
            pieces += _with_marks(piece, nodes)
        node.nodes = pieces


def _with_marks(piece: Any, nodes: Any) -> list[Any]:
    """A piece and its mark; text of several lines has one before each."""
    if not isinstance(piece, nodes.TemplateData):
        return [nodes.TemplateData(f"{_BEGIN}{piece.lineno}{_END}", lineno=piece.lineno), piece]
    lines = piece.data.split("\n")
    ends = [*("\n" for _ in lines[1:]), ""]
    numbered = enumerate(zip(lines, ends, strict=True), piece.lineno)
    data = "".join(f"{_BEGIN}{n}{_END}{line}{end}" for n, (line, end) in numbered if line or end)
    return [nodes.TemplateData(data, lineno=piece.lineno)]


def _unmarked(marked: str, source: str) -> Rendered:
    parts = _MARK.split(marked)  # text, line, text, line, text ...
    texts = parts[::2]
    ends = list(accumulate(map(len, texts)))
    lines = tuple(map(int, parts[1::2]))
    return Rendered("".join(texts), tuple(ends[: len(lines)]), lines, source)

"""Origins of changing values, and what expressions do to them; see lint_taint.py."""

import ast
from dataclasses import dataclass
from typing import NamedTuple

from hitpath.doctor import lint_sources as known


class Origin(NamedTuple):
    """Where a changing value comes from: the expression, its kind, its text, its file. column:
    bytes of UTF-8 from 1. is_loose: what is known of it has gone through an unknown call, which
    may have made something else of it."""

    kind: str
    line: int
    column: int
    text: str
    path: str
    is_loose: bool = False


_HOUR_CHARS = len("2025-03-03 14")


@dataclass(frozen=True, slots=True)
class Flow:
    """An origin that reaches a place where a prompt is put together: what it is called, its line
    and file, and the function around the origin's arrival."""

    origin: Origin
    sink: str
    sink_line: int
    function: str
    sink_path: str


def kind_of_format(arguments: list[ast.expr]) -> str:
    form = text_of(arguments[0]) if arguments else None
    return known.COARSE_CLOCK if form is not None and known.is_coarse_format(form) else known.CLOCK


def text_of(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def terms_of(node: ast.BinOp) -> list[ast.expr]:
    """The terms of a long sum, left to right, without recursion."""
    terms: list[ast.expr] = []
    left: ast.expr = node
    while isinstance(left, ast.BinOp) and type(left.op) is type(node.op):
        terms.append(left.right)
        left = left.left
    return [left, *reversed(terms)]


def is_wordy(text: str) -> bool:
    """Whether a constant text is more than the end of a sentence."""
    return bool(text.strip(" \t\r\n.!?)]}\"'"))


def is_stub(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether it has no body of its own: `...`, `pass`, a docstring, NotImplementedError."""
    return all(
        isinstance(one, ast.Pass)
        or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
        or (isinstance(one, ast.Raise) and "NotImplemented" in ast.dump(one)[:200])
        for one in node.body
    )


def has_coarse_form(node: ast.FormattedValue) -> bool:
    """Whether a value is written as `{now:%Y-%m-%d}`."""
    form = node.format_spec
    if not isinstance(form, ast.JoinedStr) or len(form.values) != 1:
        return False
    text = text_of(form.values[0])
    return text is not None and "%" in text and known.is_coarse_format(text)


def is_short_slice(node: ast.expr) -> bool:
    """Whether it is `[:10]`: of a time as text, its date."""
    if not isinstance(node, ast.Slice) or node.lower is not None or node.step is not None:
        return False
    stop = node.upper
    return isinstance(stop, ast.Constant) and stop.value in range(1, _HOUR_CHARS + 1)


def is_by_the_hour(call: ast.Call) -> bool:
    """Whether it is isoformat(timespec="hours")."""
    words = {word.arg: word.value for word in call.keywords}
    return text_of(words.get("timespec")) == "hours"


def is_first_content(target: ast.Subscript) -> bool:
    """Whether it is `messages[0]["content"]`."""
    inner = target.value
    return (
        text_of(target.slice) == "content"
        and isinstance(inner, ast.Subscript)
        and isinstance(inner.slice, ast.Constant)
        and inner.slice.value == 0
    )

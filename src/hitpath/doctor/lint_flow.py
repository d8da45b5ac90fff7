"""Origins of changing values, and what expressions do to them; see lint_taint.py."""

import ast
from dataclasses import dataclass

from hitpath.doctor import lint_sources as known


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a changing value comes from: the expression, its kind, its text. column: bytes of UTF-8
    from 1."""

    kind: str
    line: int
    column: int
    text: str


_HOUR_CHARS = len("2025-03-03 14")
Origins = frozenset[Origin]
NONE: Origins = frozenset()


@dataclass(frozen=True, slots=True)
class Flow:
    """An origin that reaches a place where a prompt is put together: what it is called, its line,
    and the function around the origin's arrival."""

    origin: Origin
    sink: str
    sink_line: int
    function: str


def origin_of(kind: str, node: ast.expr) -> Origin:
    return Origin(kind, node.lineno, node.col_offset + 1, ast.unparse(node))


def walked(value: Origins) -> Origins:
    """What a set becomes when it is written or walked over."""
    return frozenset(
        Origin("array_order", one.line, one.column, one.text) if one.kind == known.A_SET else one
        for one in value
    )


def as_set(value: Origins, node: ast.expr) -> Origins:
    """What a set holds, in its order; a set of a set is the same one."""
    held = frozenset(one for one in value if one.kind not in ("array_order", "key_order"))
    if any(one.kind == known.A_SET for one in held):
        return held
    return held | {origin_of(known.A_SET, node)}


def in_one_order(value: Origins) -> Origins:
    return frozenset(one for one in value if one.kind not in known.ORDER_KINDS)


def coarser(value: Origins) -> Origins:
    return frozenset(
        Origin(known.COARSE_CLOCK, one.line, one.column, one.text)
        if one.kind == known.CLOCK
        else one
        for one in value
    )


def kind_of_format(arguments: list[ast.expr]) -> str:
    form = text_of(arguments[0]) if arguments else None
    return known.COARSE_CLOCK if form is not None and known.is_coarse_format(form) else known.CLOCK


def text_of(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def is_literal(node: ast.expr) -> bool:
    """Whether keys stand in the source in their order."""
    if isinstance(node, ast.Dict):
        return all(key is not None for key in node.keys) and all(map(is_literal, node.values))
    if isinstance(node, ast.List | ast.Tuple):
        return all(map(is_literal, node.elts))
    return isinstance(node, ast.Constant | ast.JoinedStr)


def terms_of(node: ast.BinOp) -> list[ast.expr]:
    """The terms of a long sum, left to right, without recursion."""
    terms: list[ast.expr] = []
    left: ast.expr = node
    while isinstance(left, ast.BinOp):
        terms.append(left.right)
        left = left.left
    return [left, *reversed(terms)]


def not_last(node: ast.expr) -> list[ast.expr]:
    """The parts of a text that have constant text behind them; all where the parts are not seen."""
    if isinstance(node, ast.JoinedStr):
        parts = node.values
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = terms_of(node)
    else:
        return []
    lasts = [at for at, part in enumerate(parts) if has_words(part)]
    return [part for at, part in enumerate(parts) if lasts and at < lasts[-1]]


def has_words(node: ast.expr) -> bool:
    text = text_of(node)
    return text is not None and bool(text.strip(" \t\r\n.!?)]}\"'"))


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

"""Values within a text that are written as Python writes them: `{'a': None}`, `['x', 'y']`.

An agent that prints a dict into its prompt writes no JSON. Read by Python's own parser as literals
only, nothing is run. Bounded in length, depth and number.
"""

import ast
import re
import warnings
from typing import Any

_OPENING = re.compile(r"[{\[](?=\s{0,64}['\"{\[(\dTFN\-])")
_PIECE = re.compile(r"'(?:[^'\\\n]|\\.){0,4000}'|\"(?:[^\"\\\n]|\\.){0,4000}\"|[{\[(]|[}\])]")
_LONGEST, _DEEPEST, _MOST_TRIES = 20_000, 40, 200
_MARKS = ("'", "None", "True", "False", "(")


def literal_blocks(text: str) -> list[tuple[int, int, object]]:
    """(start, stop, value) of the largest objects, lists and sets within a text that are Python's
    and hold a string. Tuples and sets are lists: their order is what is asked for."""
    if not any(mark in text for mark in _MARKS):
        return []
    found: list[tuple[int, int, object]] = []
    at = 0
    for _ in range(_MOST_TRIES):
        begin = _OPENING.search(text, at)
        if begin is None:
            break
        stop = _closing(text, begin.start())
        block = text[begin.start() : stop] if stop else ""
        value = _read(block) if "'" in block or '"' in block else None
        if value is None:
            at = begin.start() + 1
            continue
        found.append((begin.start(), stop, value))
        at = stop
    return found


def _closing(text: str, begin: int) -> int:
    """Behind the bracket that closes the one at `begin`; 0 where none does."""
    depth = 0
    for piece in _PIECE.finditer(text, begin, begin + _LONGEST):
        first = piece[0][0]
        if first in "{[(":
            depth += 1
            if depth > _DEEPEST:
                return 0
        elif first in "}])":
            depth -= 1
            if not depth:
                return piece.end()
    return 0


def _read(text: str) -> object | None:
    """The value; None for what is no literal, and for what has no members."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a backslash that escapes nothing
            return _value(ast.parse(text, mode="eval").body) or None
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Dict(keys=keys, values=values):
            return {
                str(_value(key)): _value(value)
                for key, value in zip(keys, values, strict=True)
                if key is not None
            }
        case ast.List(elts=members) | ast.Tuple(elts=members) | ast.Set(elts=members):
            return [_value(member) for member in members]
        case ast.Constant(value=None | bool() | int() | float() | str()):
            return node.value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
    raise ValueError("no literal")

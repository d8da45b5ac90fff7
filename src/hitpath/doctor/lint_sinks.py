"""Where prompts are put together, and what of a value arrives there; see lint_taint.py."""

import ast
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Literal

from hitpath.doctor import lint_sources as known
from hitpath.doctor.lint_flow import Flow, Origin, is_first_content, text_of
from hitpath.doctor.lint_program import Program, Sink, Unit
from hitpath.doctor.lint_value import WALK, Symbol, Value, done

Part = Literal["whole", "tools", "ahead", ""]


@lru_cache(1 << 16)
def part_named(name: str) -> Part:
    """What a name says: all of it is system text; tools; a prompt, whose end is free; nothing."""
    if known.SYSTEM_NAME.search(name):
        return "whole"
    if known.TOOLS_NAME.search(name):
        return "tools"
    return "ahead" if known.PROMPT_NAME.search(name) else ""


class Sinks(ABC):
    """One reading of one unit: its names, and the flows found on the way."""

    def __init__(self, program: Program, unit: Unit) -> None:
        self.program, self.unit, self.module = program, unit, unit.module
        self.values: dict[str, Value] = {}

    @abstractmethod
    def value(self, node: ast.expr) -> Value:
        """What an expression holds; sinks within it are told on the way."""

    def origin(self, kind: str, node: ast.expr) -> Origin:
        text = self.program.texts.get(id(node))
        if text is None:
            text = self.program.texts[id(node)] = ast.unparse(node)
        return Origin(kind, node.lineno, node.col_offset + 1, text, self.module.path)

    def sink(self, value: Value, name: str, line: int, is_whole: bool = True) -> None:
        place = Sink(name, line, self.module.path, self.unit.name, is_whole, not is_whole)
        self.flow(value, place, 0)

    def flow(self, value: Value, sink: Sink, rank: int) -> None:
        """rank: 0 for a value of this function itself, 1 for one that a call brings: the first
        are told before the others, and prompts of the origin's file before those of others."""
        for mark in value.marks if sink.is_whole else value.ahead:
            if isinstance(mark, Symbol):
                self.unit.sinks.setdefault((mark, True), sink)
            elif mark.kind != known.A_SET:  # else nobody has walked over it yet
                is_far = rank > 0 or mark.path != sink.path
                is_outside = is_far or not self._is_here(mark)
                if mark.is_loose and (is_far or (is_outside and sink.is_head)):
                    continue
                if is_far and is_farfetched(mark, sink):
                    continue
                mark = mark._replace(is_loose=False) if mark.is_loose else mark
                held = self.unit.flows.get(mark)
                order = rank + 2 * (mark.path != sink.path) + (is_outside and sink.is_head)
                if held is None or held[0] > order:
                    flow = Flow(mark, sink.name, sink.line, sink.function, sink.path)
                    self.unit.flows[mark] = order, flow
        if not sink.is_whole:
            for mark in value.marks - value.ahead:
                if isinstance(mark, Symbol):
                    self.unit.sinks.setdefault((mark, False), sink)

    def _is_here(self, origin: Origin) -> bool:
        """Whether a value comes from this function itself."""
        node = self.unit.node
        if isinstance(node, ast.Module):
            return True
        return node.lineno <= origin.line <= (node.end_lineno or node.lineno)

    def named_sink(self, name: str, value: Value, line: int, is_passed: bool = False) -> None:
        """is_passed: to a call, which will walk over a set."""
        part = part_named(name)
        if part == "tools" and is_passed:
            value = done(value, WALK)
        if part:
            self.sink(value, name, line, part != "ahead")

    def assigned_sink(self, target: ast.expr, value: Value, line: int) -> None:
        """A name, an attribute, or a constant key that something is put into."""
        if isinstance(target, ast.Name):
            self.named_sink(target.id, value, line)
        elif isinstance(target, ast.Attribute):
            self.named_sink(target.attr, value, line)
        elif isinstance(target, ast.Subscript):
            key = text_of(target.slice)
            if key is not None:
                self.named_sink(key, value, line)
            if is_first_content(target):
                self.sink(value, "the first message", line)

    def argument_sinks(
        self,
        node: ast.Call,
        name: str,
        positional: list[Value],
        named: dict[str, Value],
    ) -> None:
        lines = {word.arg: word.value.lineno for word in node.keywords if word.arg}
        for word, value in named.items():
            self.named_sink(word, value, lines.get(word, node.lineno), is_passed=True)
        roles = [word.value for word in node.keywords if word.arg == "role"]
        if roles and is_system_role(roles[0]) and "content" in named:
            self.sink(named["content"], "the system message", node.lineno)
        if known.SYSTEM_CALLS.search(name) or (
            isinstance(node.func, ast.Attribute) and known.SYSTEM_METHODS.search(node.func.attr)
        ):
            words = [named[word] for word in ("content", "text") if word in named]
            for value in (*positional[:1], *words):
                self.sink(value, name.rpartition(".")[2], node.lineno)
        is_pair = len(node.args) > 1 and len(positional) > 1 and is_system_role(node.args[0])
        if is_pair and known.MESSAGE_CALLS.search(name.rpartition(".")[2]):
            self.sink(positional[1], "the system message", node.lineno)

    def message_sinks(self, node: ast.Dict, members: dict[str, Value]) -> None:
        """A dict that is a message or a request."""
        lines = {text_of(key): (value, value.lineno) for key, value in zip_pairs(node)}
        role = lines.get("role")
        if role and is_system_role(role[0]):
            for name in ("content", "parts", "text"):
                if name in members:
                    self.sink(members[name], "the system message", node.lineno)
        for name in ("system", "instructions", "tools"):
            if name in members and role is None:
                line = lines[name][1] if name in lines else node.lineno
                self.named_sink(name, members[name], line)

    def pair_sink(self, node: ast.Tuple | ast.List, content: Value) -> None:
        """("system", text), as some libraries write a message."""
        if is_system_role(node.elts[0]):
            self.sink(content, "the system message", node.elts[1].lineno)


def is_farfetched(origin: Origin, sink: Sink) -> bool:
    """What comes through calls or from other files into a prompt's head, or into tools, is told
    where its kind says enough: an order may be lost on the way, and a folder is often that of a
    file that was read."""
    if sink.is_head:
        return origin.kind in known.ORDER_KINDS or origin.kind == "attribution"
    is_odd = origin.kind in ("attribution", "key_order")
    return is_odd and part_named(sink.name) == "tools"


def zip_pairs(node: ast.Dict) -> list[tuple[ast.expr | None, ast.expr]]:
    return list(zip(node.keys, node.values, strict=True))


def is_system_role(node: ast.expr | None) -> bool:
    """ "system", or the member of an enumeration that is called so."""
    if isinstance(node, ast.Attribute) and node.attr == "value":
        node = node.value
    if isinstance(node, ast.Attribute):
        return node.attr.lower() in known.SYSTEM_ROLES and not isinstance(node.value, ast.Call)
    text = text_of(node)
    return text is not None and text in known.SYSTEM_ROLES

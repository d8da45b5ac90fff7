"""The linted files together: modules, classes, functions, and what is known of each so far.

Imports are resolved among the linted files alone, by their dotted path; nothing is imported. What
a function read of others is noted, so that it is read again when that changes, a bounded number of
times.
"""

import ast
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import NamedTuple

from hitpath.doctor.lint_flow import Flow, Origin
from hitpath.doctor.lint_value import (
    EMPTY,
    NOTHING,
    Symbol,
    Value,
    joined,
    without_symbols,
)

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Key = tuple[str, int, str]
_MOST_READINGS = 5
"""How often a function is read again because something that it uses became known."""

_MOST_AGAIN = 3000
"""How many such readings there are in all, or half as many as functions where these are more."""


class Sink(NamedTuple):
    """A place where a prompt is put together. is_whole: all that is in the value stands before
    shared text; else only what has constant words behind it. is_head: it is such a prompt, of which
    a parameter may be all that has words behind it."""

    name: str
    line: int
    path: str
    function: str
    is_whole: bool
    is_head: bool


class Write(NamedTuple):
    """What a function puts into a parameter: its member (None: anywhere), and the value."""

    parameter: str
    member: str | None
    value: Value


@dataclass(eq=False)
class Unit:
    """A function, a lambda, or the statements of a module or class; what was found in it."""

    number: int
    node: Function | ast.Module | ast.ClassDef
    module: "Module"
    name: str
    within: "Unit | None" = None
    of_class: "Class | None" = None
    values: dict[str, Value] = field(default_factory=dict)
    returned: Value = EMPTY
    sinks: dict[tuple[Symbol, bool], Sink] = field(default_factory=dict)
    writes: list[Write] = field(default_factory=list)
    own_members: dict[str, Value] = field(default_factory=dict)
    flows: dict[Origin, tuple[int, Flow]] = field(default_factory=dict)
    inner: list["Unit"] = field(default_factory=list)
    readings: int = 0
    is_read: bool = False
    is_running: bool = False
    is_waiting: bool = False


@dataclass(eq=False)
class Class:
    """own_fields: annotated names, in order, where they make the constructor."""

    number: int
    node: ast.ClassDef
    module: "Module"
    name: str
    methods: dict[str, Unit] = field(default_factory=dict)
    bases: list["Class"] | None = None
    children: list["Class"] = field(default_factory=list)
    body: Unit | None = None
    line: "list[Class] | None" = None
    kin: "list[Class] | None" = None
    fields: list[str] | None = None

    @property
    def base_names(self) -> list[str]:
        return [self.module.dotted(base) for base in self.node.bases]


class Module:
    """A linted file: the names that it imports, its classes and functions."""

    def __init__(self, number: int, path: str, tree: ast.Module) -> None:
        self.number, self.path, self.tree = number, path, tree
        self.names: dict[str, str] = {}
        self.units: list[Unit] = []
        self.classes: dict[str, Class] = {}
        self.unit_of: dict[int, Unit] = {}
        self.defined: dict[int, Unit | Class] = {}
        self.failure: BaseException | None = None
        parts = PurePath(path).with_suffix("").parts
        self.is_package = parts[-1:] == ("__init__",)
        self.parts = parts[:-1] if self.is_package else parts
        self._read_imports()

    def _read_imports(self) -> None:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    name = alias.asname or alias.name.partition(".")[0]
                    self.names[name] = alias.name if alias.asname else name
            elif isinstance(node, ast.ImportFrom):
                start = "." * node.level + (node.module or "")
                between = "" if start.endswith(".") else "."
                for alias in node.names:
                    if node.level or node.module:
                        self.names[alias.asname or alias.name] = f"{start}{between}{alias.name}"

    @property
    def stars(self) -> Iterator[str]:
        """Modules from which all names are taken."""
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
                yield "." * node.level + (node.module or "")

    def dotted(self, node: ast.expr) -> str:
        """A name with its imports resolved, "" for what is none."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute | ast.Subscript):
            if isinstance(node, ast.Attribute):
                parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        return ".".join([self.names.get(node.id, node.id), *reversed(parts)])


class Program:
    """Every module, and what is known across them."""

    def __init__(self) -> None:
        self.modules: list[Module] = []
        self.units: list[Unit] = []
        self.num_classes = 0
        self.members: dict[Key, Value] = {}
        self.texts: dict[int, str] = {}
        self.waiting: deque[Unit] = deque()
        self._readers: dict[Key, set[Unit]] = {}
        self._by_suffix: dict[tuple[str, ...], list[Module]] = {}
        self._num_again = 0
        self._made: dict[int, ast.expr] = {}
        self._found: dict[tuple[int, str], tuple[Module, list[str]] | None] = {}

    # -- modules and classes -----------------------------------------------------------------------

    def add(self, path: str, tree: ast.Module) -> Module:
        module = Module(len(self.modules), path, tree)
        self.modules.append(module)
        for at in range(len(module.parts)):
            self._by_suffix.setdefault(module.parts[at:], []).append(module)
        body = self.unit(tree, module, "", None, None)
        self._define(tree.body, module, "", body, None)
        return module

    def unit(
        self,
        node: Function | ast.Module | ast.ClassDef,
        module: Module,
        name: str,
        within: Unit | None,
        of_class: Class | None,
    ) -> Unit:
        unit = Unit(len(self.units), node, module, name, within, of_class)
        self.units.append(unit)
        module.units.append(unit)
        module.unit_of[id(node)] = unit
        if within is not None and not isinstance(node, ast.ClassDef):
            within.inner.append(unit)
        return unit

    def _define(
        self,
        body: Iterable[ast.stmt],
        module: Module,
        around: str,
        within: Unit,
        of_class: Class | None,
    ) -> None:
        for node in definitions(body):
            name = f"{around}.{node.name}".lstrip(".")
            if isinstance(node, ast.ClassDef):
                made = Class(self.num_classes, node, module, name)
                self.num_classes += 1
                module.classes[name] = made
                module.defined[id(node)] = made
                made.body = self.unit(node, module, name, within, made)
                self._define(node.body, module, name, within, made)
                continue
            unit = self.unit(node, module, name, within, of_class)
            module.defined[id(node)] = unit
            if of_class is not None:
                of_class.methods[node.name] = unit
            self._define(node.body, module, name, unit, None)

    def link_classes(self) -> None:
        """Who inherits from whom, among the linted files."""
        for module in self.modules:
            for one in module.classes.values():
                one.bases = []
                for name in one.base_names:
                    base = self.class_named(module, name)
                    if base is not None and base is not one:
                        one.bases.append(base)
                        base.children.append(one)

    def class_named(self, module: Module, dotted: str) -> Class | None:
        if dotted in module.classes:
            return module.classes[dotted]
        for _ in range(4):  # through __init__.py that name it again
            found = self.module_of(module, dotted)
            if found is None or not found[1]:
                return None
            module, rest = found
            name = ".".join(rest)
            if name in module.classes:
                return module.classes[name]
            dotted = ".".join([module.names.get(rest[0], ""), *rest[1:]])
        return None

    def module_of(self, module: Module, dotted: str) -> tuple[Module, list[str]] | None:
        """The linted file that a dotted name begins with, and the names behind it."""
        key = (module.number, dotted)
        if key not in self._found:
            self._found[key] = self._look_for(module, dotted)
        return self._found[key]

    def _look_for(self, module: Module, dotted: str) -> tuple[Module, list[str]] | None:
        name = dotted.lstrip(".")
        level = len(dotted) - len(name)
        parts = tuple(name.split(".")) if name else ()
        if level:
            up = level - 1 if module.is_package else level
            folder = module.parts[: len(module.parts) - up]
            for length in range(len(parts), -1, -1):
                wanted = (*folder, *parts[:length])
                for one in self._by_suffix.get(wanted, ()):
                    if one.parts == wanted:
                        return one, list(parts[length:])
            return None
        if not parts or parts[0] in sys.stdlib_module_names or not parts[0]:
            return None
        for length in range(len(parts), 0, -1):
            found = self._nearest(module, parts[:length])
            if found is not None:
                return found, list(parts[length:])
        return None

    def _nearest(self, module: Module, parts: tuple[str, ...]) -> Module | None:
        """Of the files whose path ends so, the one that shares most folders with the importer. One
        within a package counts only beside the importer, as for a program of several files."""
        best: tuple[int, Module] | None = None
        for one in self._by_suffix.get(parts, ()):
            root = one.parts[: len(one.parts) - len(parts)]
            beside = module.parts[: len(root)] == root and len(module.parts) == len(root) + 1
            if self._is_package(root) and not beside:
                continue
            shared = sum(1 for a, b in zip(root, module.parts, strict=False) if a == b)
            if one is not module and (best is None or shared > best[0]):
                best = shared, one
        return best[1] if best else None

    def _is_package(self, root: tuple[str, ...]) -> bool:
        return any(one.is_package and one.parts == root for one in self._by_suffix.get(root, ()))

    # -- what is known, and who has read it --------------------------------------------------------

    def noted(self, key: Key, reader: Unit) -> None:
        self._readers.setdefault(key, set()).add(reader)

    def changed(self, key: Key) -> None:
        for reader in sorted(self._readers.get(key, ()), key=lambda unit: unit.number):
            self.read_again(reader)

    def read_again(self, unit: Unit) -> None:
        if unit.is_waiting or unit.readings >= _MOST_READINGS:
            return
        if unit.is_read:
            if self._num_again >= max(_MOST_AGAIN, len(self.units) // 2):
                return
            self._num_again += 1
        unit.is_waiting = True
        self.waiting.append(unit)

    def put(self, key: Key, value: Value) -> None:
        """Adds to a class's member or a module's name, as far as it depends on no call."""
        value = without_symbols(value)._replace(ahead=NOTHING)
        held = self.members.get(key)
        made = value if held is None else joined(held, value)
        if made != held:
            self.members[key] = made
            self.changed(key)

    def kept(self, node: ast.AST, made: ast.expr) -> ast.expr:
        """A node that no file has, made once for the node that it is made from."""
        return self._made.setdefault(id(node), made)

    def read(self, key: Key, reader: Unit) -> Value:
        self.noted(key, reader)
        return self.members.get(key, EMPTY)


def definitions(
    body: Iterable[ast.stmt],
) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Functions and classes of a body, those within its branches too."""
    todo = deque(body)
    while todo:
        node = todo.popleft()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node
        else:
            for one in ast.iter_child_nodes(node):
                if isinstance(one, ast.stmt):
                    todo.append(one)
                elif isinstance(one, ast.ExceptHandler | ast.match_case):
                    todo.extend(one.body)


def lineage(one: Class) -> list[Class]:
    """A class and those that it inherits from, nearest first."""
    if one.line is None:
        one.line = _reached(one, lambda each: each.bases or [])
    return one.line


def family(one: Class) -> list[Class]:
    """A class, those that it inherits from, and those that inherit from it."""
    if one.kin is None:
        line = lineage(one)
        below = _reached(one, lambda each: each.children)
        one.kin = [*line, *(each for each in below if each not in line)]
    return one.kin


def _reached(one: Class, following: Callable[[Class], list[Class]]) -> list[Class]:
    seen, todo = [one], deque([one])
    while todo and len(seen) < 40:
        for each in following(todo.popleft()):
            if each not in seen:
                seen.append(each)
                todo.append(each)
    return seen

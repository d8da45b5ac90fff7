"""What a value is beside its marks: functions, instances, classes; and how calls name their
arguments; see lint_taint.py."""

import ast
from collections.abc import Iterable
from typing import NamedTuple

from hitpath.doctor.lint_program import Class, Module, Unit, lineage
from hitpath.doctor.lint_value import EMPTY, Symbol, Value, dict_of, heap_of, list_of, member

_DATA_MAKERS = frozenset(["dataclass", "define", "frozen", "attrs", "s", "mutable"])
_DATA_BASES = frozenset(["BaseModel", "NamedTuple", "BaseSettings", "SQLModel", "Struct"])


class FunctionRole(NamedTuple):
    unit: Unit
    bound: Value | None = None


class InstanceRole(NamedTuple):
    """how: "" any instance, "self", "super"."""

    of_class: Class
    how: str = ""


class ClassRole(NamedTuple):
    of_class: Class


class ModuleRole(NamedTuple):
    module: Module


class KnownRole(NamedTuple):
    """A call of lint_sources.py under another name; node: where it is named."""

    name: str
    node: ast.expr


class PartialRole(NamedTuple):
    function: Value
    given: "Given"


class Given(NamedTuple):
    """Arguments: by position, by name, and those that `*` and `**` bring, of which more is not
    known. nodes: where they are written, for what a function changes in place."""

    positional: tuple[Value, ...] = ()
    named: dict[str, Value] = {}  # noqa: RUF012 (never changed)
    more: Value = EMPTY
    more_named: Value = EMPTY
    nodes: tuple[ast.expr, ...] = ()
    named_nodes: dict[str, ast.expr] = {}  # noqa: RUF012

    @property
    def all(self) -> list[Value]:
        return [*self.positional, *self.named.values(), self.more, self.more_named]


NO_ARGUMENTS = Given()


class Bound(dict[str, Value]):
    """Parameters with their arguments; put: what symbols became, once each."""

    def __init__(self, pairs: Iterable[tuple[str, Value]]) -> None:
        super().__init__(pairs)
        self.put: dict[Symbol, Value] = {}


POSTS = ("__post_init__", "__attrs_post_init__", "model_post_init")
COARSE_PARTS = ("year", "month", "day", "hour")


def class_value(one: Class) -> Value:
    return Value(roles=(ClassRole(one),))


def _decorated(unit: Unit) -> set[str]:
    nodes = getattr(unit.node, "decorator_list", [])
    names = (unit.module.dotted(n.func if isinstance(n, ast.Call) else n) for n in nodes)
    return {name.rpartition(".")[2] for name in names}


def is_property(unit: Unit) -> bool:
    return bool(_decorated(unit) & {"property", "cached_property", "computed_field"})


def is_static(unit: Unit) -> bool:
    return "staticmethod" in _decorated(unit)


def is_classmethod(unit: Unit) -> bool:
    return "classmethod" in _decorated(unit)


def is_data(one: Class) -> bool:
    """Whether annotated names make its constructor, and its text shows them."""
    names = {
        one.module.dotted(node.func if isinstance(node, ast.Call) else node).rpartition(".")[2]
        for node in one.node.decorator_list
    }
    bases = {name.rpartition(".")[2] for name in one.base_names}
    return bool(names & _DATA_MAKERS or bases & _DATA_BASES)


def fields_of(one: Class) -> list[str]:
    """Annotated names, those of the classes that it inherits from first."""
    if one.fields is not None:
        return one.fields
    names: dict[str, None] = {}
    for each in reversed(lineage(one)):
        for node in each.node.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                kind = node.annotation
                inner = kind.value if isinstance(kind, ast.Subscript) else kind
                if "ClassVar" not in each.module.dotted(inner):
                    names[node.target.id] = None
    one.fields = list(names)
    return one.fields


def parameters_of(unit: Unit) -> tuple[list[str], list[str], str | None, str | None]:
    """By position, by name only, the name of `*args`, the name of `**kwargs`."""
    arguments = getattr(unit.node, "args", None)
    if not isinstance(arguments, ast.arguments):
        return [], [], None, None
    return (
        [one.arg for one in (*arguments.posonlyargs, *arguments.args)],
        [one.arg for one in arguments.kwonlyargs],
        arguments.vararg.arg if arguments.vararg else None,
        arguments.kwarg.arg if arguments.kwarg else None,
    )


def bound_arguments(
    unit: Unit, given: Given, bound: Value | None
) -> tuple[Bound, dict[str, ast.expr]]:
    """Parameters with their arguments, and where these are written. What `*` and `**` bring may
    stand in any that nothing else was given for."""
    positional, by_name, star, double = parameters_of(unit)
    if bound is not None:
        positional = positional[1:]
    held = Bound(zip(positional, given.positional, strict=False))
    nodes = dict(zip(positional, given.nodes, strict=False))
    names = {*positional, *by_name}
    extra: dict[str, Value] = {}
    for name, value in given.named.items():
        (held if name in names else extra)[name] = value
    nodes |= {name: node for name, node in given.named_nodes.items() if name in names}
    if given.more is not EMPTY or given.more_named is not EMPTY:
        for name in names - held.keys():
            may = [given.more_named] + ([given.more] if name in positional else [])
            held[name] = heap_of(member(one, name) for one in may)
    if star:
        spare = list_of(given.positional[len(positional) :])
        held[star] = spare if given.more is EMPTY else heap_of([spare, given.more])
    if double:
        held[double] = dict_of(extra, given.more_named)
    return held, nodes

"""Follows changing values through Python source, from their origins to where prompts are made.

What a value is: lint_value.py. Statements are read in order, branches joined, loops twice. A
function is read once with symbols in the place of its parameters; what it returns, puts into
attributes and brings to a sink is its summary, and each call puts its own arguments in it
(lint_summary.py), so that a call with a clock says nothing of another call. Functions that use
what changed are read again, a bounded number of times. Unknown calls pass on what goes into them,
but not to another function. Nothing is run or imported.
"""

import ast
from collections.abc import Callable, Iterable

from hitpath.doctor import lint_sources as known
from hitpath.doctor.lint_flow import Flow, Origin
from hitpath.doctor.lint_program import Class, Program, Unit
from hitpath.doctor.lint_roles import (
    NO_ARGUMENTS,
    FunctionRole,
    InstanceRole,
    class_value,
    is_classmethod,
    is_static,
)
from hitpath.doctor.lint_value import (
    EMPTY,
    WALK,
    Symbol,
    Value,
    done,
    heap_of,
    joined,
    list_of,
    of,
)
from hitpath.doctor.lint_writes import Writes

_DEEPEST_LOOPS = 3
"""Loops within more loops than this are read once: what the first round made, the second may read,
and each loop around doubles it."""
_DEEPEST_CALLS = 6


def flows_of(
    trees: Iterable[tuple[str, ast.Module]],
) -> tuple[list[Flow], dict[str, str]]:
    """Every origin of the files that reaches a sink, once each; and the files that cannot be
    analysed, with the cause."""
    program = Program()
    for path, tree in trees:
        program.add(path, tree)
    program.link_classes()
    for unit in list(program.units):
        program.read_again(unit)
    failures: dict[str, str] = {}
    while program.waiting:
        unit = program.waiting.popleft()
        if unit.module.path in failures or not unit.is_waiting:
            continue  # it was read on the way, since
        try:
            Scope(program, unit, 0).run()
        except (RecursionError, MemoryError, ValueError) as error:
            cause = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            failures[unit.module.path] = cause
    found: dict[Origin, tuple[int, Flow]] = {}
    for unit in program.units:
        for origin, (rank, flow) in unit.flows.items():
            if origin not in found or found[origin][0] > rank:
                found[origin] = rank, flow
    return [flow for _, flow in found.values()], failures


class Scope(Writes):
    """One reading of a function, a class body or a file."""

    def __init__(self, program: Program, unit: Unit, depth: int) -> None:
        super().__init__(program, unit)
        self._depth = depth
        self._returns: list[tuple[Value, int]] = []
        self._yields: list[Value] = []

    def run(self) -> None:
        """Reads it, and lets those who use it read again what changed."""
        unit, program = self.unit, self.program
        before = (unit.returned, unit.sinks.keys(), unit.writes, unit.own_members)
        old_values = unit.values
        unit.readings += 1
        unit.is_waiting, unit.is_running = False, True
        unit.sinks, unit.writes, unit.own_members, unit.flows = {}, [], {}, {}
        unit.values = self.values
        try:
            self._read()
        finally:
            unit.is_running = False
        unit.is_read = True
        if isinstance(unit.node, ast.Module):
            for name in self.values.keys() | old_values.keys():
                if self.values.get(name) != old_values.get(name):
                    program.changed(("value", unit.module.number, name))
        elif before != (
            unit.returned,
            unit.sinks.keys(),
            unit.writes,
            unit.own_members,
        ):
            program.changed(("unit", unit.number, ""))
        if isinstance(unit.node, ast.Module):
            return
        for inner in unit.inner:  # what it reads of this one is known now
            program.read_again(inner)

    def _read(self) -> None:
        node = self.unit.node
        if isinstance(node, ast.Module):
            self.statements(node.body)
        elif isinstance(node, ast.ClassDef):
            self._class_body(node)
        elif isinstance(node, ast.Lambda):
            self._parameters(node.args)
            self.unit.returned = self.value(node.body)
        else:
            self._function(node)

    def demand(self, unit: Unit) -> None:
        """Reads a unit that nobody has read, where that is not too deep: it is its turn later, and
        then this one is read again."""
        if unit.is_read or unit.is_running or self._depth >= _DEEPEST_CALLS:
            return
        try:
            Scope(self.program, unit, self._depth + 1).run()
        except RecursionError:
            unit.is_read = False

    # -- functions and classes ---------------------------------------------------------------------

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._parameters(node.args)
        self.statements(node.body)
        self.unit.returned = self._result()
        if not known.BUILDER_NAME.search(node.name) and not self._is_registered(node):
            return
        is_whole = bool(known.SYSTEM_NAME.search(node.name)) or self._is_registered(node)
        for value, line in self._returns:
            self.sink(value, f"the result of {node.name}()", line, is_whole)
        if self._yields and is_whole:
            self.sink(heap_of(self._yields), f"the result of {node.name}()", node.lineno)

    def _is_registered(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """`@agent.system_prompt` and the like: a library calls it for its instructions."""
        for one in node.decorator_list:
            called = one.func if isinstance(one, ast.Call) else one
            if isinstance(called, ast.Attribute) and known.REGISTERING.search(called.attr):
                return True
        return False

    def _result(self) -> Value:
        made: Value | None = None
        for value, _ in self._returns:
            made = value if made is None else joined(made, value)
        if self._yields:
            given = list_of(self._yields)
            made = given if made is None else joined(made, given)
        return EMPTY if made is None else made

    def _parameters(self, arguments: ast.arguments) -> None:
        """Each holds its symbol, its default, and an instance where its annotation says so."""
        unit = self.unit
        held: dict[str, Value] = {}
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults = dict(zip(reversed(positional), reversed(arguments.defaults), strict=False))
        defaults |= {
            argument: default
            for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            if default is not None
        }
        for argument in (*positional, *arguments.kwonlyargs):
            value = of([Symbol(unit.number, argument.arg)])
            default = defaults.get(argument)
            if default is not None:
                value = joined(value, self.value(default))
            held[argument.arg] = self._annotated(value, argument.annotation)
        for star in (arguments.vararg, arguments.kwarg):
            if star is not None:
                held[star.arg] = of([Symbol(unit.number, star.arg)])
        if unit.of_class is not None and positional and not is_static(unit):
            one = unit.of_class
            is_class = is_classmethod(unit)
            role = Value(roles=(InstanceRole(one, "self"),))
            held[positional[0].arg] = class_value(one) if is_class else role
        self.values.update(held)

    def _annotated(self, value: Value, annotation: ast.expr | None) -> Value:
        if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
            annotation = annotation.left
        if isinstance(annotation, ast.Subscript):
            name = self.module.dotted(annotation.value).rpartition(".")[2]
            if name == "Annotated" and isinstance(annotation.slice, ast.Tuple):
                annotation = annotation.slice.elts[0]
            elif name == "Optional":
                annotation = annotation.slice
            else:
                return value
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            dotted = annotation.value if annotation.value.isidentifier() else ""
        else:
            dotted = self.module.dotted(annotation) if annotation is not None else ""
        if not dotted:
            return value
        one = self.program.class_named(self.module, self.module.names.get(dotted, dotted))
        return value if one is None else value._replace(roles=(InstanceRole(one),))

    def _class_body(self, node: ast.ClassDef) -> None:
        """What its names hold, as members of the class."""
        one = self.unit.of_class
        self.statements(node.body)
        for name, value in self.values.items():
            if one is not None and not any(isinstance(r, FunctionRole) for r in value.roles):
                self.program.put(("made", one.number, name), value)

    def _field(self, written: ast.expr) -> Value | None:
        """`field(default_factory=...)` and the like: what the factory gives."""
        if not isinstance(self.unit.node, ast.ClassDef) or not isinstance(written, ast.Call):
            return None
        words = {word.arg: word.value for word in written.keywords}
        factory = words.get("default_factory") or words.get("factory")
        if factory is None:
            return None
        call = ast.copy_location(ast.Call(func=factory, args=[], keywords=[]), factory)
        if isinstance(factory, ast.Lambda):
            return self.called(self.value(factory), NO_ARGUMENTS, None)
        return self.value(self.program.kept(factory, call))

    # -- statements --------------------------------------------------------------------------------

    def statements(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            method = getattr(self, f"_{type(statement).__name__}", None)
            if method is not None:
                method(statement)

    def _FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        unit = self.module.defined.get(id(node))
        if isinstance(unit, Unit):
            self.values[node.name] = Value(roles=(FunctionRole(unit),))

    _AsyncFunctionDef = _FunctionDef

    def _ClassDef(self, node: ast.ClassDef) -> None:
        one = self.module.defined.get(id(node))
        if isinstance(one, Class):
            self.values[node.name] = class_value(one)
            if one.body is not None:
                self.demand(one.body)

    def _Assign(self, node: ast.Assign) -> None:
        value = self._written_value(node.value)
        for target in node.targets:
            self.assign(target, value, node.value.lineno)

    def _AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            value = self._annotated(self._written_value(node.value), node.annotation)
            self.assign(node.target, value, node.value.lineno)

    def _written_value(self, node: ast.expr) -> Value:
        made = self._field(node)
        return self.value(node) if made is None else made

    def _AugAssign(self, node: ast.AugAssign) -> None:
        held, value = self.value(node.target), self.value(node.value)
        if isinstance(node.op, ast.Add):
            made = self.added([held, value])
        else:
            made = self._merged(held, value) if held.members else heap_of([held, value])
        self.assign(node.target, made, node.value.lineno)

    def _Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self._returns.append((self.value(node.value), node.lineno))

    def _For(self, node: ast.For | ast.AsyncFor) -> None:
        value = done(self.value(node.iter), WALK)
        each = self.each_of(value)

        def body() -> None:
            self.assign(node.target, each, None)
            self.statements(node.body)

        self._looped(body)
        self.statements(node.orelse)

    _AsyncFor = _For

    def _While(self, node: ast.While) -> None:
        self.value(node.test)
        before = dict(self.values)
        self._looped(lambda: self.statements(node.body))
        self._join([before, self.values])
        self.statements(node.orelse)

    def _looped(self, body: Callable[[], None]) -> None:
        self.loops += 1
        before = dict(self.values)
        for _ in range(2 if self.loops <= _DEEPEST_LOOPS else 1):
            body()
        self.loops -= 1
        self._join([before, self.values])

    def _If(self, node: ast.If) -> None:
        bodies: list[list[ast.stmt]] = []
        rest: list[ast.stmt] = [node]
        while len(rest) == 1 and isinstance(rest[0], ast.If):  # a chain of elif, not in depth
            self.value(rest[0].test)
            bodies.append(rest[0].body)
            rest = rest[0].orelse
        self._branches([*bodies, rest])

    def _With(self, node: ast.With | ast.AsyncWith) -> None:
        for one in node.items:
            value = self.value(one.context_expr)
            if one.optional_vars is not None:
                self.assign(one.optional_vars, value, None)
        self.statements(node.body)

    _AsyncWith = _With

    def _Try(self, node: ast.Try | ast.TryStar) -> None:
        before = dict(self.values)
        self.statements(node.body)
        after = self.values
        ends = []
        for start, body in [
            (after, node.orelse),
            *(({**before, **after}, handler.body) for handler in node.handlers),
        ]:
            self._use(dict(start))
            self.statements(body)
            if not _leaves(body):
                ends.append(self.values)
        self._join(ends or [after])
        self.statements(node.finalbody)

    _TryStar = _Try

    def _Match(self, node: ast.Match) -> None:
        self.value(node.subject)
        self._branches([*(case.body for case in node.cases), []])

    def _Expr(self, node: ast.Expr) -> None:
        self.value(node.value)
        self._changed_in_place(node.value)

    def _Global(self, node: ast.Global) -> None:
        self.globals.update(node.names)

    def _Raise(self, node: ast.Raise) -> None:
        """Nothing is made of it."""

    def _branches(self, bodies: list[list[ast.stmt]]) -> None:
        before = self.values
        ends = []
        for body in bodies:
            self._use(dict(before))
            self.statements(body)
            if not _leaves(body):
                ends.append(self.values)
        self._join(ends or [before])

    def _use(self, values: dict[str, Value]) -> None:
        self.values = self.unit.values = values

    def _join(self, ends: list[dict[str, Value]]) -> None:
        made = dict(ends[0])
        for end in ends[1:]:
            for name, value in end.items():
                held = made.get(name)
                if held is not value:
                    made[name] = value if held is None else joined(held, value)
        self._use(made)

    def _Yield(self, node: ast.Yield) -> Value:
        value = EMPTY if node.value is None else self.value(node.value)
        self._yields.append(value)
        return EMPTY

    def _YieldFrom(self, node: ast.YieldFrom) -> Value:
        value = self.value(node.value)
        self._yields += value.items if value.items is not None else [value]
        return value


def _leaves(body: list[ast.stmt]) -> bool:
    """Whether nothing behind it is reached from it."""
    return bool(body) and isinstance(body[-1], ast.Return | ast.Raise)

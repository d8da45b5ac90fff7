"""Calls of linted functions: their summaries with the arguments put in; see lint_taint.py."""

import ast
from abc import abstractmethod

from hitpath.doctor import lint_sources as known
from hitpath.doctor.lint_flow import is_stub
from hitpath.doctor.lint_program import Class, Module, Unit, family, lineage
from hitpath.doctor.lint_roles import (
    COARSE_PARTS,
    NO_ARGUMENTS,
    POSTS,
    Bound,
    ClassRole,
    FunctionRole,
    Given,
    InstanceRole,
    KnownRole,
    ModuleRole,
    PartialRole,
    bound_arguments,
    class_value,
    fields_of,
    is_classmethod,
    is_data,
    is_property,
    is_static,
)
from hitpath.doctor.lint_sinks import Sinks
from hitpath.doctor.lint_value import (
    COARSEN,
    EMPTY,
    NOTHING,
    WALK,
    Marks,
    Symbol,
    Value,
    dict_of,
    done,
    heap_of,
    joined,
    marked,
    member,
    of,
    sized,
)


class Summaries(Sinks):
    """What is known of other functions and classes."""

    # -- calls -------------------------------------------------------------------------------------

    def called(self, function: Value, given: Given, node: ast.Call | None) -> Value | None:
        """What a value gives when it is called; None where nothing is known of it."""
        made: Value | None = None
        for role in function.roles:
            result = self._called_as(role, given, node)
            if result is not None:
                made = result if made is None else joined(made, result)
        symbols = [m for m in function.marks if isinstance(m, Symbol)] if made is None else []
        if symbols:
            got = member(of(symbols), "()")
            return heap_of([got, *given.all])
        return made

    def _called_as(self, role: object, given: Given, node: ast.Call | None) -> Value | None:
        if isinstance(role, FunctionRole):
            return self.applied(role.unit, given, role.bound)
        if isinstance(role, ClassRole):
            return self.constructed(role.of_class, given)
        if isinstance(role, PartialRole):
            first = role.given
            both = Given(
                (*first.positional, *given.positional),
                {**first.named, **given.named},
                heap_of([first.more, given.more]),
                heap_of([first.more_named, given.more_named]),
            )
            return self.called(role.function, both, node)
        if isinstance(role, KnownRole):
            return of([self.origin(known.CALLS[role.name], node or role.node)])
        if isinstance(role, InstanceRole):
            for one in lineage(role.of_class):
                if "__call__" in one.methods:
                    bound = Value(roles=(role,))
                    return self.applied(one.methods["__call__"], given, bound)
        return None

    def demand(self, unit: Unit) -> None:
        """Reads a unit that nobody has read, where that is not too deep."""

    def applied(self, unit: Unit, given: Given, bound: Value | None) -> Value:
        """A call of a linted function: sinks that its parameters reach, what it changes, what it
        returns."""
        self.program.noted(("unit", unit.number, ""), self.unit)
        self.demand(unit)
        if isinstance(unit.node, ast.FunctionDef | ast.AsyncFunctionDef) and is_stub(unit.node):
            return heap_of([*given.all, *([bound] if bound else [])])
        held, nodes = bound_arguments(unit, given, bound)
        for one in (unit, *unit.inner):
            for (symbol, is_whole), sink in list(one.sinks.items()):
                if symbol.unit == unit.number:
                    value = self.put_in(symbol, held)
                    self.flow(value, sink._replace(is_whole=is_whole), 1)
        for write in unit.writes:
            if write.parameter in nodes:
                value = self.substituted(write.value, unit, held)
                self.update(nodes[write.parameter], write.member, value)
        if bound is not None and unit.own_members:
            self._own_members(unit, held, bound)
        return self.substituted(unit.returned, unit, held)

    def _own_members(self, unit: Unit, held: Bound, bound: Value) -> None:
        for role in bound.roles:
            if not isinstance(role, InstanceRole):
                continue
            for name, value in unit.own_members.items():
                put = self.substituted(value, unit, held)
                where = "made" if role.how == "super" else "set"
                self.program.put((where, role.of_class.number, name), put)
                if role.how:
                    self.own_member(name, put)

    def own_member(self, name: str, value: Value) -> None:
        """Something put into `self.name` by this method."""
        members = self.unit.own_members
        members[name] = joined(members[name], value) if name in members else value

    @abstractmethod
    def update(self, holder: ast.expr, key: str | None, value: Value) -> None:
        """Something put into what a name or an attribute holds."""

    def put_in(self, symbol: Symbol, held: Bound) -> Value:
        """An argument in the place of a parameter's symbol."""
        made = held.put.get(symbol)
        if made is None:
            made = held.put[symbol] = self._put_in(symbol, held.get(symbol.name, EMPTY))
        return made

    def _put_in(self, symbol: Symbol, value: Value) -> Value:
        for key in symbol.path:
            if key == "()":
                value = self.called(value, NO_ARGUMENTS, None) or value
            else:
                value = self.attribute(value, key[1:]) if key[0:1] == "." else member(value, key)
        for letter in symbol.done:
            value = self.written(value) if letter == WALK else done(value, letter)
        return value

    def substituted(self, value: Value, unit: Unit, held: Bound) -> Value:
        """A value of a function, with the arguments of a call in the place of its parameters."""
        mine = [m for m in value.marks if isinstance(m, Symbol) and m.unit == unit.number]
        if not mine and value.size == 1 and not value.roles:
            return value
        if len(mine) == len(value.marks) == 1 and not value.has_words and value.members is None:
            (symbol,) = mine
            if value.items is None and not value.roles and symbol not in value.ahead:
                return self.put_in(symbol, held)
        return self._substituted_parts(value, unit, held, mine)

    def _substituted_parts(
        self, value: Value, unit: Unit, held: Bound, mine: list[Symbol]
    ) -> Value:
        put = {symbol: self.put_in(symbol, held) for symbol in mine}
        gone = frozenset(put)
        marks, ahead, rest = value.marks - gone, value.ahead - gone, value.rest
        has, roles = value.has_words, value.roles
        for symbol, got in put.items():
            marks |= got.marks
            ahead |= got.marks if symbol in value.ahead else got.ahead
            has = has or got.has_words
            if symbol in rest:
                rest = (rest - {symbol}) | got.marks
            if not symbol.done and value.members is None:
                roles = (*roles, *(role for role in got.roles if role not in roles))[:4]
        members = value.members
        if members is not None:
            members = {key: self.substituted(one, unit, held) for key, one in members.items()}
        items = value.items
        if items is not None:
            items = tuple(self.substituted(one, unit, held) for one in items)
        made = Value(
            marks, ahead, has, value.text, value.is_literal, members, rest, items,
            tuple(self._role_put_in(role, unit, held) for role in roles),
        )  # fmt: skip
        return sized(made)

    def _role_put_in(self, role: object, unit: Unit, held: Bound) -> object:
        if isinstance(role, PartialRole):
            given = role.given
            return PartialRole(
                self.substituted(role.function, unit, held),
                given._replace(
                    positional=tuple(self.substituted(v, unit, held) for v in given.positional),
                    named={k: self.substituted(v, unit, held) for k, v in given.named.items()},
                ),
            )
        return role

    # -- classes -----------------------------------------------------------------------------------

    def constructed(self, one: Class, given: Given) -> Value:
        """An instance, with what the constructor's arguments put into it."""
        if "TypedDict" in {name.rpartition(".")[2] for name in one.base_names}:
            return dict_of(given.named, heap_of([*given.positional, given.more_named]))
        role = InstanceRole(one)
        init = next(
            (c.methods["__init__"] for c in lineage(one) if "__init__" in c.methods),
            None,
        )
        members: dict[str, Value] = {}
        rest = EMPTY
        if init is not None:
            self.applied(init, given, Value())
            held, _ = bound_arguments(init, given, Value())
            for name, value in init.own_members.items():
                members[f".{name}"] = self.substituted(value, init, held)
        else:
            fields = fields_of(one)
            for name, value in zip(fields, given.positional, strict=False):
                members[f".{name}"] = value
            members |= {f".{name}": value for name, value in given.named.items()}
            unplaced = given.positional[len(fields) :]
            rest = heap_of([*unplaced, given.more, given.more_named])
        for key, value in members.items():
            self.program.put(("made", one.number, key[1:]), value)
        post = next((c.methods[n] for c in lineage(one) for n in POSTS if n in c.methods), None)
        if post is not None:
            self.applied(post, NO_ARGUMENTS, Value(roles=(role,)))
        return sized(Value(rest.marks, members=members, rest=rest.marks, roles=(role,)))

    def attribute(self, value: Value, name: str) -> Value:
        """value.name"""
        made: Value | None = None
        for role in value.roles:
            got: Value | None = None
            if isinstance(role, InstanceRole):
                got = self._of_instance(value, role, name)
            elif isinstance(role, ClassRole):
                got = self._of_class(role.of_class, name)
            elif isinstance(role, ModuleRole):
                got = self.global_of(role.module, name)
            if got is not None:
                made = got if made is None else joined(made, got)
        if made is None:
            made = member(value, f".{name}")
            return done(made, COARSEN) if name in COARSE_PARTS else made
        symbols = of(mark for mark in value.marks if isinstance(mark, Symbol))
        return joined(made, member(symbols, f".{name}")) if symbols.marks else made

    def _of_instance(self, value: Value, role: InstanceRole, name: str) -> Value:
        if name in ("__dict__",):
            return self.as_dict(value)
        for unit in self._methods(role, name):
            if is_property(unit):
                return self.applied(unit, NO_ARGUMENTS, value)
            return self._method(role, name, value)
        held = member(value, f".{name}")
        is_given = value.members is not None and f".{name}" in value.members
        for one in family(role.of_class):
            got = self.program.read(("set", one.number, name), self.unit)
            if not is_given:
                got = joined(got, self.program.read(("made", one.number, name), self.unit))
            held = got if held is EMPTY else joined(held, got)
        return held

    def _method(self, role: InstanceRole, name: str, value: Value) -> Value:
        units = self._methods(role, name)
        kinds = [is_static(unit) for unit in units]
        return Value(
            roles=tuple(
                FunctionRole(unit, None if static else value)
                for unit, static in zip(units, kinds, strict=True)
            )
        )

    def _methods(self, role: InstanceRole, name: str) -> list[Unit]:
        """The method, and for `self` those of classes that inherit from it."""
        found = [c.methods[name] for c in lineage(role.of_class) if name in c.methods][:1]
        if role.how == "self":
            for one in family(role.of_class):
                below = one.methods.get(name)
                if below is not None and below not in found and one not in lineage(role.of_class):
                    found.append(below)
        return found[:4]

    def _of_class(self, one: Class, name: str) -> Value:
        for each in lineage(one):
            if name in each.methods:
                unit = each.methods[name]
                bound = None if is_static(unit) or not is_classmethod(unit) else class_value(one)
                return Value(roles=(FunctionRole(unit, bound),))
        held = EMPTY
        for each in lineage(one):
            held = joined(self.program.read(("made", each.number, name), self.unit), held)
        return held

    def as_dict(self, value: Value) -> Value:
        """An instance as a dict: its fields by name."""
        roles = [role for role in value.roles if isinstance(role, InstanceRole)]
        if not roles:
            return value
        names = {key[1:] for key in value.members or {}}
        names |= {
            name for role in roles for one in lineage(role.of_class) for name in fields_of(one)
        }
        fields = {name: self._of_instance(value, roles[0], name) for name in sorted(names)}
        return dict_of(fields, of(value.rest))

    def written(self, value: Value, node: ast.expr | None = None) -> Value:
        """A value as text; node: where it is written, which an object's address comes from."""
        if value is EMPTY or (value.text is not None and not value.marks):
            return value
        marks: Marks = marked(value.marks, WALK)
        for role in value.roles:
            if isinstance(role, InstanceRole):
                marks |= self._written_instance(value, role, node)
        if not marks:
            return Value(has_words=value.has_words, text=value.text, is_literal=True)
        ahead = marked(value.ahead, WALK)
        return Value(marks, ahead, value.has_words, value.text, True)

    def _written_instance(self, value: Value, role: InstanceRole, node: ast.expr | None) -> Marks:
        line = lineage(role.of_class)
        for name in ("__format__", "__str__", "__repr__"):
            for one in line:
                if name in one.methods:
                    return marked(self.applied(one.methods[name], NO_ARGUMENTS, value).marks, WALK)
        if any(is_data(one) for one in line):
            return marked(self.as_dict(value).marks, WALK)
        is_plain = all(
            len(one.bases or ()) == len(one.node.bases)
            and not one.node.keywords
            and not one.node.decorator_list
            for one in line
        )
        if node is None or not is_plain or role.how:
            return NOTHING
        return frozenset([self.origin("request_id", node)])  # its address

    # -- names -------------------------------------------------------------------------------------

    def global_of(self, module: Module, name: str, depth: int = 0) -> Value:
        """A name of a linted file, through those that name it again."""
        body = module.units[0]
        self.program.noted(("value", module.number, name), self.unit)
        self.demand(body)
        held = body.values.get(name)
        key = ("global", module.number, name)
        put = self.program.read(key, self.unit)
        if held is not None or put is not EMPTY:
            return joined(held, put) if held is not None and put is not EMPTY else held or put
        if depth > 5:
            return EMPTY
        if name in module.names:
            return self.resolved(module, module.names[name], depth + 1)
        for star in module.stars:
            found = self.program.module_of(module, star)
            if found is not None and not found[1] and found[0] is not module:
                got = self.global_of(found[0], name, depth + 1)
                if got is not EMPTY:
                    return got
        return EMPTY

    def resolved(self, module: Module, dotted: str, depth: int = 0) -> Value:
        """What an imported name holds, as far as it is of a linted file."""
        found = self.program.module_of(module, dotted)
        if found is None or found[0] is module:
            return EMPTY
        value = Value(roles=(ModuleRole(found[0]),))
        for at, name in enumerate(found[1]):
            value = (
                self.global_of(found[0], name, depth) if at == 0 else self.attribute(value, name)
            )
        return value

"""What statements put into names, attributes, keys and lists; see lint_taint.py."""

import ast

from hitpath.doctor import lint_sources as known
from hitpath.doctor.lint_expressions import Expressions
from hitpath.doctor.lint_flow import text_of
from hitpath.doctor.lint_program import Program, Unit, Write
from hitpath.doctor.lint_roles import POSTS, ClassRole, InstanceRole, parameters_of
from hitpath.doctor.lint_value import (
    EMPTY,
    ORDER,
    WALK,
    Symbol,
    Value,
    dict_of,
    done,
    heap_of,
    joined,
    list_of,
    of,
)

_MOST_WRITES = 40


class Writes(Expressions):
    """loops: how many loops are around; globals: names that `global` gives to the file."""

    def __init__(self, program: Program, unit: Unit) -> None:
        super().__init__(program, unit)
        self.loops = 0
        self.globals: set[str] = set()

    def assign(self, target: ast.expr, value: Value, line: int | None) -> None:
        if line is not None:
            self.assigned_sink(target, value, line)
        if isinstance(target, ast.Name):
            self.values[target.id] = value
            if target.id in self.globals:
                self.program.put(("global", self.module.number, target.id), value)
        elif isinstance(target, ast.Attribute):
            self.update(target.value, f".{target.attr}", value)
        elif isinstance(target, ast.Subscript):
            self.update(target.value, text_of(target.slice), value)
        elif isinstance(target, ast.Tuple | ast.List):
            items = value.items
            exact = items is not None and len(items) == len(target.elts)
            for at, one in enumerate(target.elts):
                self.assign(one, items[at] if exact and items else self.each_of(value), None)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, value, line)

    def update(self, holder: ast.expr, key: str | None, value: Value) -> None:
        """Something put into what a name or an attribute holds; key: None anywhere."""
        if isinstance(holder, ast.Name):
            self._update_name(holder.id, key, value)
        elif isinstance(holder, ast.Attribute):
            self.update(holder.value, f".{holder.attr}", self._as_member(key, value))
        elif isinstance(holder, ast.Subscript):
            self.update(holder.value, text_of(holder.slice), self._as_member(key, value))

    def _as_member(self, key: str | None, value: Value) -> Value:
        return of(value.marks) if key is None else dict_of({key: value})

    def _update_name(self, name: str, key: str | None, value: Value) -> None:
        held = self.looked_up(name)
        if held is None:
            held = EMPTY
        for role in held.roles:
            if isinstance(role, InstanceRole | ClassRole) and key is not None and key[:1] == ".":
                self._put_member(role, key[1:], value)
        for mark in held.marks:
            if isinstance(mark, Symbol) and not mark.path and not mark.done:
                self._note_write(mark, key, value)
        if any(isinstance(role, InstanceRole) and role.how for role in held.roles):
            return
        self.values[name] = self._with_part(held, key, value)
        if name in self.globals or name not in parameters_of(self.unit)[0]:
            self._put_global(name, key, value)

    def _with_part(self, held: Value, key: str | None, value: Value) -> Value:
        if key is None:
            if held.items is not None:
                return list_of([*held.items, value])
            made = heap_of([held, value])
            return made._replace(
                roles=held.roles, members=held.members, rest=held.rest | made.marks
            )
        if held.members is not None and key in held.members and self.loops:
            value = joined(held.members[key], value)
        return self._with(held, key, value)

    def _put_global(self, name: str, key: str | None, value: Value) -> None:
        """A function changes what a name of the file holds."""
        body = self.module.units[0]
        if self.unit is not body and name in body.values and value.marks:
            self.program.put(("global", self.module.number, name), self._as_member(key, value))

    def _put_member(self, role: InstanceRole | ClassRole, name: str, value: Value) -> None:
        how = role.how if isinstance(role, InstanceRole) else ""
        method = self.unit.name.rpartition(".")[2]
        is_making = how == "self" and method in ("__init__", *POSTS)
        if how:
            self.own_member(name, value)
        where = "made" if is_making else "set"
        self.program.put((where, role.of_class.number, name), value)

    def _note_write(self, symbol: Symbol, key: str | None, value: Value) -> None:
        write = Write(symbol.name, key, value)
        owner = self.program.units[symbol.unit]
        if owner is self.unit and write not in owner.writes and len(owner.writes) < _MOST_WRITES:
            owner.writes.append(write)

    def _changed_in_place(self, call: ast.expr) -> None:
        """`some.append(x)`, `random.shuffle(some)`, `some.sort()`."""
        call = call.value if isinstance(call, ast.Await) else call
        if isinstance(call, ast.Yield) and call.value is not None:
            return
        if not isinstance(call, ast.Call):
            return
        if self.dotted(call.func) in known.SHUFFLES and call.args:
            self.update(call.args[0], None, of([self.origin("random_sample", call)]))
        elif isinstance(call.func, ast.Attribute):
            self._method_in_place(call, call.func)

    def _method_in_place(self, call: ast.Call, function: ast.Attribute) -> None:
        holder, attr = function.value, function.attr
        if attr == "sort" and isinstance(holder, ast.Name):
            held = self.looked_up(holder.id)
            if held is not None:
                self.values[holder.id] = done(held, ORDER)
        if attr not in (
            "append",
            "extend",
            "add",
            "insert",
            "update",
            "write",
            "appendleft",
        ):
            return
        if any(isinstance(role, InstanceRole) for role in self.value(holder).roles):
            return  # a method of its own
        for argument in call.args[1:] if attr == "insert" else call.args:
            value = self.value(argument)
            if attr == "update" and value.members is not None:
                for key, one in value.members.items():
                    self.update(holder, key, one)
                value = of(value.rest)
            if attr == "extend" and value.items is not None:
                for one in value.items:
                    self._grown(holder, one)
            elif value is not EMPTY:
                self._grown(holder, done(value, WALK) if attr == "extend" else value)
        for word in call.keywords if attr == "update" else ():
            if word.arg:
                self.update(holder, word.arg, self.value(word.value))

    def _grown(self, holder: ast.expr, value: Value) -> None:
        self.update(holder, None, value)
        if isinstance(holder, ast.Name) and value.marks and known.TOOLS_NAME.search(holder.id):
            self.sink(value, holder.id, holder.lineno)

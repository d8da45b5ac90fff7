"""What expressions hold; see lint_taint.py."""

import ast
from abc import abstractmethod

from hitpath.doctor import lint_sources as known
from hitpath.doctor.lint_calls import Calls, TemplateRole
from hitpath.doctor.lint_flow import has_coarse_form, is_short_slice, terms_of, text_of
from hitpath.doctor.lint_roles import (
    ClassRole,
    FunctionRole,
    Given,
    InstanceRole,
    KnownRole,
    ModuleRole,
    PartialRole,
)
from hitpath.doctor.lint_value import (
    COARSEN,
    EMPTY,
    LOOSEN,
    ONLY_ORDER,
    WALK,
    Value,
    all_then,
    constant,
    dict_of,
    done,
    heap_of,
    item,
    joined,
    list_of,
    marked,
    member,
    of,
    sized,
)

_CALLABLE = (FunctionRole, ClassRole, KnownRole, PartialRole, InstanceRole)


class Expressions(Calls):
    """Every kind of expression, once each."""

    @abstractmethod
    def assign(self, target: ast.expr, value: Value, line: int | None) -> None:
        """line: of what is put there; None for what a loop or an unpacking gives, which is no
        sink."""

    def value(self, node: ast.expr) -> Value:
        """What an expression holds; sinks within it are told on the way."""
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            nodes = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
            return heap_of(map(self.value, nodes))
        result: Value = method(node)
        return result

    # -- names -------------------------------------------------------------------------------------

    def looked_up(self, name: str) -> Value | None:
        """A name of this function, those around it, or its file; None where it has none there."""
        held = self.values.get(name)
        if held is not None:
            return held
        unit = self.unit.within
        while unit is not None and unit.within is not None:
            if not isinstance(unit.node, ast.ClassDef) and name in unit.values:
                return unit.values[name]
            unit = unit.within
        body = self.module.units[0]
        if self.unit is body:
            return None
        self.program.noted(("value", self.module.number, name), self.unit)
        self.demand(body)
        put = self.program.read(("global", self.module.number, name), self.unit)
        held = body.values.get(name)
        if put is EMPTY:
            return held
        return put if held is None else joined(held, put)

    def dotted(self, node: ast.expr) -> str:
        """A name with its imports resolved; "" for what is none."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        first = self.module.names.get(node.id)
        if first is None:
            first = node.id
            if not parts and self.looked_up(node.id) is None:
                first = f"builtins.{node.id}"
        return ".".join([first, *reversed(parts)])

    def _Name(self, node: ast.Name) -> Value:
        held = self.looked_up(node.id)
        if held is not None:
            return held
        dotted = self.module.names.get(node.id)
        if dotted in known.CALLS:
            return Value(roles=(KnownRole(dotted, node),))
        if dotted is not None:
            return self.resolved(self.module, dotted)
        for star in self.module.stars:
            found = self.program.module_of(self.module, star)
            if found is not None and not found[1]:
                got = self.global_of(found[0], node.id)
                if got is not EMPTY:
                    return got
        return EMPTY

    def _Attribute(self, node: ast.Attribute) -> Value:
        dotted = self.dotted(node)
        if dotted in known.CALLS:
            return Value(roles=(KnownRole(dotted, node),))
        if dotted in ("os.environ", "sys.argv", "sys.executable"):
            return of([self.origin("attribution", node)]) if dotted != "sys.argv" else EMPTY
        held = self.value(node.value)
        if not held.roles and dotted.partition(".")[0] != "builtins":
            found = self.program.module_of(self.module, dotted) if dotted else None
            if found is not None and not held.marks:
                return self.resolved(self.module, dotted)
        if node.attr in ("returncode", "pid", "__name__", "__class__", "__doc__"):
            return EMPTY
        return self.attribute(held, node.attr)

    # -- containers --------------------------------------------------------------------------------

    def _Constant(self, node: ast.Constant) -> Value:
        return constant(node.value)

    def _Dict(self, node: ast.Dict) -> Value:
        members: dict[str, Value] = {}
        rest = EMPTY
        for key, child in zip(node.keys, node.values, strict=True):
            value = self.value(child)
            text = None if key is None else text_of(key)
            if text is not None:
                members[text] = value
            elif key is None:
                members |= value.members or {}
                loose = of(value.rest if value.members is not None else value.marks)
                rest = heap_of([rest, loose]) if loose.marks or value.members is None else rest
                rest = rest if value.is_literal else rest._replace(has_words=True)
            else:
                name = self.value(key)
                if not (name.is_literal and value.is_literal):
                    rest = heap_of([rest, name, value, Value(has_words=True)])
        self.message_sinks(node, members)
        return dict_of(members, rest)

    def _sequence(self, nodes: list[ast.expr]) -> Value:
        items: list[Value] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                value = done(self.value(node.value), WALK)
                items += value.items if value.items is not None else [value]
            else:
                items.append(self.value(node))
        return list_of(items)

    def _List(self, node: ast.List) -> Value:
        return self._sequence(node.elts)

    def _Tuple(self, node: ast.Tuple) -> Value:
        made = self._sequence(node.elts)
        if len(node.elts) == 2 and made.items is not None and len(made.items) == 2:
            self.pair_sink(node, made.items[1])
        return made

    def _Set(self, node: ast.Set) -> Value:
        held = heap_of(map(self.value, node.elts))
        if all(isinstance(e, ast.Constant) and isinstance(e.value, int) for e in node.elts):
            return Value(held.marks)  # numbers hash to themselves: one order in every process
        return Value(held.marks | {self.origin(known.A_SET, node)})

    def _comprehended(
        self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp
    ) -> tuple[Value, Value]:
        """What is made of each, and the order that it comes in."""
        order = EMPTY
        for part in node.generators:
            value = done(self.value(part.iter), WALK)
            self.assign(part.target, self.each_of(value), None)
            order = heap_of([order, Value(marked(value.marks, ONLY_ORDER))])
            for test in part.ifs:
                self.value(test)
        if isinstance(node, ast.DictComp):
            return heap_of([self.value(node.key), self.value(node.value)]), order
        return self.value(node.elt), order

    def each_of(self, value: Value) -> Value:
        """What a loop over it gives; of what is not known, one of many: for other functions only
        its order counts."""
        if value.items:
            made = value.items[0]
            for one in value.items[1:]:
                made = joined(made, one)
            return made
        if value.members is not None:
            return of(value.rest)
        order = marked(value.marks, ONLY_ORDER)
        loose = done(value._replace(text=None), LOOSEN)
        return loose._replace(marks=loose.marks | order) if order else loose

    def _ListComp(self, node: ast.ListComp | ast.GeneratorExp) -> Value:
        each, order = self._comprehended(node)
        twice = list_of([each, each])  # each has another one behind it
        return sized(twice._replace(marks=twice.marks | order.marks, is_literal=False))

    _GeneratorExp = _ListComp

    def _DictComp(self, node: ast.DictComp) -> Value:
        each, order = self._comprehended(node)
        return heap_of([each, order])

    def _SetComp(self, node: ast.SetComp) -> Value:
        each, order = self._comprehended(node)
        return self.as_set(heap_of([each, order]), node)

    def _Starred(self, node: ast.Starred) -> Value:
        return done(self.value(node.value), WALK)

    def _Subscript(self, node: ast.Subscript) -> Value:
        held = self.value(node.value)
        if is_short_slice(node.slice):
            return done(held, COARSEN) if held.items is None else held
        if self.dotted(node.value) == "os.environ":
            variable = text_of(node.slice)
            told = variable is None or known.TELLS_WHERE.search(variable)
            return of([self.origin("attribution", node)]) if told else EMPTY
        if isinstance(node.slice, ast.Constant):
            key = node.slice.value
            if isinstance(key, str):
                return member(held, key)
            return item(held, key) if isinstance(key, int) else held
        if isinstance(node.slice, ast.UnaryOp) and isinstance(node.slice.operand, ast.Constant):
            at = node.slice.operand.value
            if isinstance(at, int) and isinstance(node.slice.op, ast.USub):
                return item(held, -at)
        if isinstance(node.slice, ast.Slice):
            heap_of(self.value(one) for one in (node.slice.lower, node.slice.upper) if one)
            return held._replace(text=None)
        return heap_of([held, done(self.value(node.slice), LOOSEN)])

    # -- text and tests ----------------------------------------------------------------------------

    def _JoinedStr(self, node: ast.JoinedStr) -> Value:
        made = all_then(map(self.value, node.values))
        return made._replace(is_literal=True)

    def _FormattedValue(self, node: ast.FormattedValue) -> Value:
        value = self.written(self.value(node.value), node.value)
        if node.format_spec is not None:
            self.value(node.format_spec)
        return done(value, COARSEN) if has_coarse_form(node) else value

    def _BinOp(self, node: ast.BinOp) -> Value:
        terms = terms_of(node)
        if isinstance(node.op, ast.Add):
            return self.added([self.value(one) for one in terms])
        if isinstance(node.op, ast.BitOr):
            return self._piped([self.value(one) for one in terms])
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Mod) and left.text is not None:
            return self._percent(left.text, right)
        if isinstance(node.op, ast.Sub | ast.BitAnd | ast.BitXor) and any(map(_is_view, terms)):
            return self.as_set(heap_of([left, right]), node)
        made = heap_of([left, right])
        if isinstance(node.op, ast.Mod):
            made = done(made, WALK)
        return Value(made.marks, has_words=isinstance(node.op, ast.Mod) and made.has_words)

    def added(self, values: list[Value]) -> Value:
        """A sum: text behind text, a list behind a list."""
        if all(value.items is not None for value in values):
            return list_of(one for value in values for one in value.items or ())
        return all_then(
            [self.written(value) if value.roles else done(value, WALK) for value in values]
        )

    def _piped(self, values: list[Value]) -> Value:
        """`template | model`, `{"now": f} | template`, a union of dicts or sets."""
        made = values[0]
        for value in values[1:]:
            roles = [role for role in value.roles if isinstance(role, TemplateRole)]
            if roles and made.members is not None:
                made = self._bound(roles[0], dict(made.members), 0)
            elif any(isinstance(role, TemplateRole) for role in made.roles):
                pass  # what comes behind a template fills no place of it
            elif made.members is not None or value.members is not None:
                made = self._merged(made, value)
            else:
                made = heap_of([made, value])._replace(roles=made.roles or value.roles)
        return made

    def _percent(self, text: str, right: Value) -> Value:
        values = dict(right.members or {})
        items = right.items if right.items is not None else (right,)
        values |= {str(at): one for at, one in enumerate(items)}
        rest = of(right.rest if right.members is not None else ())
        return self.fill(text, "percent", values, rest)

    def _Compare(self, node: ast.Compare) -> Value:
        for one in (node.left, *node.comparators):
            if isinstance(one, ast.NamedExpr):
                self.value(one)
        return EMPTY

    def _IfExp(self, node: ast.IfExp) -> Value:
        self.value(node.test)
        return joined(self.value(node.body), self.value(node.orelse))

    def _BoolOp(self, node: ast.BoolOp) -> Value:
        made = self.value(node.values[0])
        for one in node.values[1:]:
            made = joined(made, self.value(one))
        return made

    def _UnaryOp(self, node: ast.UnaryOp) -> Value:
        made = self.value(node.operand)
        return EMPTY if isinstance(node.op, ast.Not) else Value(made.marks)

    def _NamedExpr(self, node: ast.NamedExpr) -> Value:
        value = self.value(node.value)
        self.assign(node.target, value, node.value.lineno)
        return value

    def _Await(self, node: ast.Await) -> Value:
        return self.value(node.value)

    def _Lambda(self, node: ast.Lambda) -> Value:
        unit = self.module.unit_of.get(id(node))
        if unit is None:
            unit = self.program.unit(node, self.module, self.unit.name, self.unit, None)
            self.program.read_again(unit)
        return Value(roles=(FunctionRole(unit),))

    # -- calls -------------------------------------------------------------------------------------

    def _Call(self, node: ast.Call) -> Value:
        name = self.dotted(node.func)
        given = self._given(node)
        self.argument_sinks(node, name, list(given.positional), given.named)
        made = self.known_call(node, name, given)
        if made is not None:
            return made
        if not isinstance(node.func, ast.Attribute):
            function = self.value(node.func)
            got = self.called(function, given, node)
            return got if got is not None else heap_of([*given.all, Value(function.marks)])
        held = self.value(node.func.value)
        if any(isinstance(role, InstanceRole | ClassRole | ModuleRole) for role in held.roles):
            function = self.attribute(held, node.func.attr)
        elif held.roles or held.marks:
            function = member(held, f".{node.func.attr}") if held.members is not None else EMPTY
        else:
            function = self._Attribute(node.func)
        if any(isinstance(role, _CALLABLE) for role in function.roles):
            got = self.called(function, given, node)
            if got is not None:
                return got
        if known.TEXT_CALLS.search(name):
            return heap_of(given.all)
        return self.method_call(node, node.func, held, given)

    def _given(self, node: ast.Call) -> Given:
        positional: list[Value] = []
        more = EMPTY
        for one in node.args:
            if isinstance(one, ast.Starred):
                value = done(self.value(one.value), WALK)
                if value.items is not None and more is EMPTY:
                    positional += value.items
                else:
                    more = heap_of([more, value])
            elif more is EMPTY:
                positional.append(self.value(one))
            else:
                more = heap_of([more, self.value(one)])
        named: dict[str, Value] = {}
        more_named = EMPTY
        for word in node.keywords:
            value = self.value(word.value)
            if word.arg is not None:
                named[word.arg] = value
            elif value.members is not None and not any(k[:1] == "." for k in value.members):
                named = {**value.members, **named}
                more_named = heap_of([more_named, of(value.rest)])
            else:
                more_named = heap_of([more_named, value])
        is_plain = not any(isinstance(one, ast.Starred) for one in node.args)
        return Given(
            tuple(positional),
            named,
            more,
            more_named,
            tuple(node.args) if is_plain else (),
            {word.arg: word.value for word in node.keywords if word.arg},
        )


def _is_view(node: ast.expr) -> bool:
    """Whether it is `some.keys()` or `some.items()`: a set in all but name."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("keys", "items")
        and not node.args
    )

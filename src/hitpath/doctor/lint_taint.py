"""Follows changing values through a Python module, from their origins to where prompts are made.

A value is the set of origins that went into it: the calls of lint_sources.py, iteration over sets,
`json.dumps` without sorted keys. Statements are read in order, branches joined, loops twice;
functions of the module give what they return. Unknown calls pass on what goes into them. Nothing is
run or imported.
"""

import ast
from collections.abc import Iterable, Iterator

from hitpath.doctor import lint_sources as known
from hitpath.doctor.lint_flow import (
    NONE,
    Flow,
    Origin,
    Origins,
    as_set,
    coarser,
    has_coarse_form,
    in_one_order,
    is_by_the_hour,
    is_first_content,
    is_literal,
    is_short_slice,
    kind_of_format,
    not_last,
    origin_of,
    terms_of,
    text_of,
    walked,
)


def flows_of(tree: ast.Module) -> list[Flow]:
    """Every origin that reaches a sink, once each."""
    module = _Module(tree)
    module.read()
    module.flows.clear()
    module.read()  # now what functions return is known
    found: dict[Origin, Flow] = {}
    for flow in module.flows:
        found.setdefault(flow.origin, flow)
    return list(found.values())


class _Module:
    """A module: its imports, what its functions return, and the flows found."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self.names: dict[str, str] = {}
        self.returned: dict[str, Origins] = {}
        self.attributes: dict[str, Origins] = {}
        self.flows: list[Flow] = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    name = alias.asname or alias.name.partition(".")[0]
                    self.names[name] = alias.name if alias.asname else name
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    self.names[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def read(self) -> None:
        """The module's own statements, then every function."""
        scope = _Scope(self, "", {})
        scope.statements(self._tree.body)
        self._functions(self._tree.body, "", scope.values)

    def _functions(self, body: Iterable[ast.stmt], around: str, values: dict[str, Origins]) -> None:
        for node in _definitions(body):
            name = f"{around}.{node.name}".lstrip(".")
            if isinstance(node, ast.ClassDef):
                self._functions(node.body, name, values)
                continue
            scope = _Scope(self, name, dict(values))
            scope.function(node)
            self._functions(node.body, name, scope.values)


def _definitions(
    body: Iterable[ast.stmt],
) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Functions and classes of a body, those within its branches too."""
    todo = list(body)
    while todo:
        node = todo.pop(0)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node
        else:
            todo += [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.stmt)]
            for one in ast.iter_child_nodes(node):
                if isinstance(one, ast.ExceptHandler | ast.match_case):
                    todo += one.body


class _Scope:
    """One function, or the module: what its names hold, and what it returns."""

    def __init__(self, module: _Module, name: str, values: dict[str, Origins]) -> None:
        self._module = module
        self._name = name
        self.values = values
        self._returned: Origins = NONE

    # -- statements ------------------------------------------------------------------------------

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Its body; parameters hold their defaults."""
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            self.values[argument.arg] = NONE
        positional = [*node.args.posonlyargs, *node.args.args]
        for argument, default in zip(
            reversed(positional), reversed(node.args.defaults), strict=False
        ):
            self.values[argument.arg] = self.value(default)
        self.statements(node.body)
        self._module.returned[node.name] = self._returned
        if known.BUILDER_NAME.search(node.name):
            for one in ast.walk(node):
                if isinstance(one, ast.Return) and one.value is not None:
                    text = f"the result of {node.name}()"
                    self._sink(one.value, text, one.lineno, known.SYSTEM_NAME.search(node.name))

    def statements(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            value = self.value(node.value)
            for target in node.targets:
                self._assign(target, value, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._assign(node.target, self.value(node.value), node.value)
        elif isinstance(node, ast.AugAssign):
            value = self.value(node.value) | self.value(node.target)
            self._assign(node.target, value, node.value)
        elif isinstance(node, ast.Return) and node.value is not None:
            self._returned |= self.value(node.value)
        elif isinstance(node, ast.For | ast.AsyncFor):
            value = walked(self.value(node.iter))
            for _ in range(2):  # what the first round made, the second one may read
                self._assign(node.target, value, None)
                self.statements(node.body)
            self.statements(node.orelse)
        elif isinstance(node, ast.While | ast.If):
            self.value(node.test)
            self._branches([node.body, node.orelse], 2 if isinstance(node, ast.While) else 1)
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                value = self.value(item.context_expr)
                if item.optional_vars is not None:
                    self._assign(item.optional_vars, value, None)
            self.statements(node.body)
        elif isinstance(node, ast.Try | ast.TryStar):
            handlers = [handler.body for handler in node.handlers]
            self.statements(node.body)
            self._branches([node.orelse, *handlers], 1)
            self.statements(node.finalbody)
        elif isinstance(node, ast.Match):
            self.value(node.subject)
            self._branches([case.body for case in node.cases], 1)
        elif isinstance(node, ast.Expr):
            self.value(node.value)
            self._changed_in_place(node.value)

    def _branches(self, bodies: Iterable[list[ast.stmt]], rounds: int) -> None:
        before = dict(self.values)
        joined = dict(before)
        for body in bodies:
            self.values = dict(before)
            for _ in range(rounds):
                self.statements(body)
            for name, value in self.values.items():
                joined[name] = joined.get(name, NONE) | value
        self.values = joined

    def _assign(self, target: ast.expr, value: Origins, written: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self.values[target.id] = value
            self._named_sink(target.id, written)
        elif isinstance(target, ast.Attribute):
            self._module.attributes[target.attr] = value
            self._named_sink(target.attr, written)
        elif isinstance(target, ast.Subscript):
            holder = target.value
            if isinstance(holder, ast.Name):
                self.values[holder.id] = self.values.get(holder.id, NONE) | value
            key = target.slice
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                self._named_sink(key.value, written)
            if written is not None and is_first_content(target):
                self._sink(written, "the first message", written.lineno, True)
        elif isinstance(target, ast.Tuple | ast.List):
            for one in target.elts:
                self._assign(one, value, None)
        elif isinstance(target, ast.Starred):
            self._assign(target.value, value, None)

    def _changed_in_place(self, call: ast.expr) -> None:
        """`some.append(x)`, `random.shuffle(some)`, `some.sort()`."""
        if not isinstance(call, ast.Call):
            return
        if self._dotted(call.func) in known.SHUFFLES and call.args:
            self._add(call.args[0], frozenset([origin_of("random_sample", call)]))
        elif isinstance(call.func, ast.Attribute):
            if call.func.attr in ("append", "extend", "add", "insert", "update", "write"):
                for argument in call.args:
                    self._add(call.func.value, self.value(argument))
            elif call.func.attr == "sort" and isinstance(call.func.value, ast.Name):
                held = self.values.get(call.func.value.id, NONE)
                self.values[call.func.value.id] = in_one_order(held)

    def _add(self, holder: ast.expr, value: Origins) -> None:
        if isinstance(holder, ast.Name):
            self.values[holder.id] = self.values.get(holder.id, NONE) | value
            if value and known.TOOLS_NAME.search(holder.id):
                self._flow(value, holder.id, holder.lineno)

    # -- expressions -----------------------------------------------------------------------------

    def value(self, node: ast.expr) -> Origins:
        """What went into an expression; sinks within it are told on the way."""
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Name):
            return self.values.get(node.id, NONE)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.Dict):
            self._message(node)
            keys = [key for key in node.keys if key is not None]
            return self._all([*keys, *node.values])
        if isinstance(node, ast.Set):
            return self._all(node.elts) | {origin_of(known.A_SET, node)}
        if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.DictComp | ast.SetComp):
            return self._comprehended(node)
        if isinstance(node, ast.Starred):
            return walked(self.value(node.value))
        if isinstance(node, ast.FormattedValue):
            value = walked(self.value(node.value))
            return coarser(value) if has_coarse_form(node) else value
        if isinstance(node, ast.Subscript) and is_short_slice(node.slice):
            return coarser(self.value(node.value))
        if isinstance(node, ast.BinOp):
            value = self._all(terms_of(node))
            return walked(value) if isinstance(node.op, ast.Add | ast.Mod) else value
        if isinstance(node, ast.Compare | ast.Lambda):
            return NONE
        if isinstance(node, ast.IfExp):
            self.value(node.test)
            return self._all([node.body, node.orelse])
        if isinstance(node, ast.NamedExpr):
            value = self.value(node.value)
            self._assign(node.target, value, node.value)
            return value
        if isinstance(node, ast.Tuple) and len(node.elts) == 2:
            self._pair(node)
        return self._all(one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr))

    def _all(self, nodes: Iterable[ast.expr]) -> Origins:
        found = NONE
        for node in nodes:
            found |= self.value(node)
        return found

    def _attribute(self, node: ast.Attribute) -> Origins:
        if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
            return self._module.attributes.get(node.attr, NONE)
        value = self.value(node.value)
        if node.attr in ("year", "month", "day", "hour"):
            return coarser(value)
        return value

    def _comprehended(
        self, node: ast.ListComp | ast.GeneratorExp | ast.DictComp | ast.SetComp
    ) -> Origins:
        from_iterated = NONE
        for part in node.generators:
            value = walked(self.value(part.iter))
            self._assign(part.target, value, None)
            from_iterated |= value
        made = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        value = self._all(made) | from_iterated
        return as_set(value, node) if isinstance(node, ast.SetComp) else value

    def _call(self, node: ast.Call) -> Origins:
        name = self._dotted(node.func)
        given = self._all([*node.args, *(word.value for word in node.keywords)])
        if isinstance(node.func, ast.Attribute) and node.func.attr in known.WALKING_METHODS:
            given = walked(given)
        self._arguments(node, name)
        if name in known.CONSTANT:
            return NONE
        if name in known.ORDERING:
            return in_one_order(given)
        if name in ("json.dumps", "orjson.dumps", "ujson.dumps", "simplejson.dumps"):
            return self._dumped(node, given)
        kind = known.CALLS.get(name)
        if kind == known.A_SET:
            return as_set(given, node) if node.args else NONE
        if name in known.WALKS:
            given = walked(given)
        if kind == known.CLOCK and name == "time.strftime":
            return frozenset([origin_of(kind_of_format(node.args[:1]), node)])
        if kind == "counter" and name == "builtins.next":
            return self._next(node, given)
        if kind is not None:
            return given | {origin_of(kind, node)}
        if isinstance(node.func, ast.Attribute):
            return given | self._method(node, node.func)
        if isinstance(node.func, ast.Name) and node.func.id in self._module.returned:
            return given | self._module.returned[node.func.id]
        return given

    def _next(self, node: ast.Call, given: Origins) -> Origins:
        """Of a counter, told where it counts; `next` of anything else is what that holds."""
        rest = frozenset(one for one in given if one.kind != "counter")
        return rest | {origin_of("counter", node)} if len(rest) < len(given) else given

    def _method(self, node: ast.Call, function: ast.Attribute) -> Origins:
        held = self.value(function.value)
        own = isinstance(function.value, ast.Name) and function.value.id in ("self", "cls")
        if own and function.attr in self._module.returned:
            return self._module.returned[function.attr]
        if function.attr in known.METHODS and not node.keywords:
            return held | {origin_of(known.METHODS[function.attr], node)}
        if function.attr == "strftime" and kind_of_format(node.args[:1]) == known.COARSE_CLOCK:
            return coarser(held)
        if function.attr == "date" and not node.args:
            return coarser(held)
        if function.attr == "isoformat" and is_by_the_hour(node):
            return coarser(held)
        if function.attr == "replace" and {"minute", "hour"} & {w.arg for w in node.keywords}:
            return coarser(held)
        if function.attr in ("count", "index", "startswith", "endswith"):
            return NONE
        return held

    def _dumped(self, node: ast.Call, given: Origins) -> Origins:
        """JSON text: keys in the order of a dict that somebody else made."""
        words = {word.arg: word.value for word in node.keywords}
        sort_keys = words.get("sort_keys")
        if isinstance(sort_keys, ast.Constant) and sort_keys.value:
            return frozenset(one for one in given if one.kind != "key_order")
        if "option" in words or None in words or not node.args or is_literal(node.args[0]):
            return given
        return given | {origin_of("key_order", node)}

    def _dotted(self, node: ast.expr) -> str:
        """A name with its imports resolved; "" for what is none."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        first = self._module.names.get(node.id)
        if first is None:
            first = f"builtins.{node.id}" if not parts and node.id not in self.values else node.id
        return ".".join([first, *reversed(parts)])

    # -- where prompts are put together ------------------------------------------------------------

    def _named_sink(self, name: str, written: ast.expr | None, is_passed: bool = False) -> None:
        """is_passed: to a call, which will walk over a set."""
        if written is None:
            return
        if known.SYSTEM_NAME.search(name):
            self._sink(written, name, written.lineno, True)
        elif known.TOOLS_NAME.search(name):
            value = self.value(written)
            self._flow(walked(value) if is_passed else value, name, written.lineno)
        elif known.PROMPT_NAME.search(name):
            self._sink(written, name, written.lineno, False)

    def _sink(self, written: ast.expr, name: str, line: int, is_whole: object) -> None:
        """is_whole: anything in it stands before shared text (a system prompt); else only what
        has text behind it."""
        if is_whole:
            self._flow(self.value(written), name, line)
        elif not isinstance(written, ast.Name):
            for part in not_last(written):
                self._flow(self.value(part), name, line)

    def _flow(self, value: Origins, name: str, line: int) -> None:
        for origin in value:
            if origin.kind == known.A_SET:
                continue  # nobody has walked over it yet
            self._module.flows.append(Flow(origin, name, line, self._name))

    def _arguments(self, node: ast.Call, name: str) -> None:
        words = {word.arg: word.value for word in node.keywords if word.arg}
        for word, value in words.items():
            self._named_sink(word, value, is_passed=True)
        if text_of(words.get("role")) in known.SYSTEM_ROLES and "content" in words:
            self._sink(words["content"], "the system message", node.lineno, True)
        if known.SYSTEM_CALLS.search(name):
            for value in (*node.args[:1], *(words[w] for w in ("content", "text") if w in words)):
                self._sink(value, name.rpartition(".")[2], node.lineno, True)

    def _message(self, node: ast.Dict) -> None:
        """A dict that is a message or a request."""
        pairs = zip(node.keys, node.values, strict=True)
        words = {text_of(key): value for key, value in pairs if text_of(key) is not None}
        if text_of(words.get("role")) in known.SYSTEM_ROLES and "content" in words:
            self._sink(words["content"], "the system message", node.lineno, True)
        for name in ("system", "instructions", "tools"):
            if name in words and "role" not in words:
                self._named_sink(name, words[name])

    def _pair(self, node: ast.Tuple) -> None:
        """("system", text), as some libraries write a message."""
        if text_of(node.elts[0]) in known.SYSTEM_ROLES:
            self._sink(node.elts[1], "the system message", node.lineno, True)

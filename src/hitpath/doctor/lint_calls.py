"""What calls give: those that are known, methods of text, dicts and lists; see lint_taint.py."""

import ast
from collections.abc import Mapping
from typing import NamedTuple

from hitpath.doctor import lint_sources as known
from hitpath.doctor.lint_flow import is_by_the_hour, kind_of_format, text_of
from hitpath.doctor.lint_roles import (
    NO_ARGUMENTS,
    FunctionRole,
    Given,
    InstanceRole,
    KnownRole,
    PartialRole,
)
from hitpath.doctor.lint_summary import Summaries
from hitpath.doctor.lint_texts import Filler, filled, names_in
from hitpath.doctor.lint_value import (
    AS_SET,
    COARSEN,
    EMPTY,
    LOOSEN,
    ORDER,
    SORT_KEYS,
    WALK,
    Value,
    all_then,
    constant,
    dict_of,
    done,
    heap_of,
    joined,
    marked,
    member,
    of,
    with_member,
)


class TemplateRole(NamedTuple):
    """A text with places. texts: each with whether it is the system's; held: what fills them."""

    style: str
    texts: tuple[tuple[bool, str], ...]
    held: tuple[tuple[str, Value], ...] = ()


class Calls(Summaries):
    """Calls, read from their name and from what is called."""

    # -- what is known by its full name ------------------------------------------------------------

    def known_call(self, node: ast.Call, name: str, given: Given) -> Value | None:
        """None where the name says nothing."""
        heap = heap_of(given.all)
        if name in known.CONSTANT:
            return EMPTY
        if name in known.ORDERING:
            return done(given.positional[0] if given.positional else heap, ORDER)
        if name in known.SUMMING:
            return Value(marked(heap.marks, ORDER))
        if name in known.DUMPS:
            return self._dumped(node, given, heap)
        kind = known.CALLS.get(name)
        if kind == known.A_SET:
            return self.as_set(heap, node) if node.args else EMPTY
        if self._is_of_given_time(node, name, heap):
            return Value(heap.marks)
        if name in ("time.strftime",):
            return of([self.origin(kind_of_format(node.args[:1]), node)])
        if name in known.UNSEEDED:
            seeded = node.args or node.keywords
            return EMPTY if seeded else of([self.origin("random_sample", node)])
        if name in known.ENVIRONMENT:
            text = text_of(node.args[0]) if node.args else None
            told = text is not None and known.TELLS_WHERE.search(text)
            rest = heap_of(given.positional[1:])
            return heap_of([rest, of([self.origin("attribution", node)])]) if told else rest
        if kind == "counter" and name == "builtins.next":
            return self._next(node, heap)
        if kind is not None:
            return Value(heap.marks | {self.origin(kind, node)})
        return self._made(node, name, given, heap)

    @staticmethod
    def _is_of_given_time(node: ast.Call, name: str, heap: Value) -> bool:
        """Whether a call writes a time that it is given; of a clock's, its format says how fine."""
        number = known.GIVEN_TIME.get(name, 0)
        if not number or len(node.args) < number:
            return False
        given = node.args[number - 1]
        if isinstance(given, ast.Constant) and given.value is None:
            return False
        kinds = {getattr(mark, "kind", "") for mark in heap.marks}
        return name != "time.strftime" or not kinds & {known.CLOCK, known.COARSE_CLOCK}

    def _made(self, node: ast.Call, name: str, given: Given, heap: Value) -> Value | None:
        """Containers, copies and text."""
        first = given.positional[0] if given.positional else EMPTY
        if name == "builtins.dict":
            base = done(first, WALK)
            for word, value in given.named.items():
                base = with_member(base, word, value)
            return self._merged(base, given.more_named) if node.args else dict_of(
                given.named, given.more_named)  # fmt: skip
        if name in (
            "builtins.str",
            "builtins.repr",
            "builtins.format",
            "builtins.ascii",
        ):
            return self.written(heap if len(given.positional) != 1 else first, node)
        if name in known.COPIES:
            return done(first, WALK) if name in known.WALKS else first
        if name in known.NAMESPACES:
            return dict_of({f".{k}": v for k, v in given.named.items()}, given.more_named)
        if name in (
            "dataclasses.asdict",
            "builtins.vars",
            "attrs.asdict",
            "attr.asdict",
        ):
            return self.as_dict(first)
        if name == "dataclasses.replace" or name == "copy.replace":
            for word, value in given.named.items():
                first = self._with(first, f".{word}", value)
            return first
        if name in ("functools.partial", "functools.partialmethod"):
            rest = given._replace(positional=given.positional[1:], nodes=given.nodes[1:])
            return Value(roles=(PartialRole(first, rest),))
        if name == "builtins.getattr" and len(node.args) > 1:
            attr = text_of(node.args[1])
            got = first if attr is None else self.attribute(first, attr)
            return joined(got, given.positional[2]) if len(given.positional) > 2 else got
        if name == "builtins.super":
            return self._super()
        template = self._template(node, name, given)
        if template is not None:
            return template
        if name in known.WALKS:
            return Value(marked(heap.marks, WALK), marked(heap.ahead, WALK), heap.has_words)
        return None

    def _super(self) -> Value:
        unit = self.unit
        while unit.of_class is None and unit.within is not None:
            unit = unit.within
        bases = unit.of_class.bases if unit.of_class else None
        return Value(roles=tuple(InstanceRole(base, "super") for base in bases or ()))

    def _with(self, value: Value, key: str, held: Value) -> Value:
        """A member put into a value; an instance's own marks stay what they were."""
        made = with_member(value, key, held)
        if any(isinstance(role, InstanceRole) for role in value.roles):
            made = made._replace(marks=value.marks)
        return made

    def _merged(self, one: Value, other: Value) -> Value:
        """A dict with another one laid over it."""
        if one.members is None and other.members is None:
            return heap_of([one, other])
        members = {**(one.members or {}), **(other.members or {})}
        rests = [of(v.rest if v.members is not None else v.marks) for v in (one, other)]
        return dict_of(members, heap_of(rests))

    def as_set(self, value: Value, node: ast.expr) -> Value:
        """What a set holds, in its order; a set of a set is the same one."""
        held = marked(value.marks, AS_SET)
        if any(getattr(one, "kind", "") == known.A_SET for one in held):
            return Value(held)
        return Value(held | {self.origin(known.A_SET, node)})

    def _next(self, node: ast.Call, given: Value) -> Value:
        """Of a counter, told where it counts; `next` of anything else is what that holds."""
        rest = frozenset(m for m in given.marks if getattr(m, "kind", "") != "counter")
        if len(rest) < len(given.marks):
            return Value(rest | {self.origin("counter", node)})
        return done(given, WALK)

    def _dumped(self, node: ast.Call, given: Given, heap: Value) -> Value:
        """JSON text: keys in the order of a dict that somebody else made."""
        words = {word.arg: word.value for word in node.keywords}
        sort_keys = words.get("sort_keys")
        first = given.positional[0] if given.positional else EMPTY
        plain = self.as_dict(first) if first.roles else first
        marks = marked(heap.marks | plain.marks, WALK)
        text = Value(marks, has_words=heap.has_words, is_literal=True)
        if isinstance(sort_keys, ast.Constant) and sort_keys.value:
            return text._replace(marks=marked(marks, SORT_KEYS))
        if "option" in words or None in words or not node.args or plain.is_literal:
            return text
        if self._is_sorted(node.args[0]):
            return text  # objects cannot be sorted: there are none
        return text._replace(marks=marks | {self.origin("key_order", node)})

    @staticmethod
    def _is_sorted(node: ast.expr) -> bool:
        """`sorted(...)` without a key."""
        return (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "sorted"
            and not any(word.arg in ("key", None) for word in node.keywords)
        )

    # -- templates ---------------------------------------------------------------------------------

    def _template(self, node: ast.Call, name: str, given: Given) -> Value | None:
        first = given.positional[0] if given.positional else EMPTY
        last = name.rpartition(".")[2]
        if name in known.TEMPLATES and first.text is not None:
            return Value(roles=(TemplateRole(known.TEMPLATES[name], ((False, first.text),)),))
        if last == "from_string" and first.text is not None:
            return Value(roles=(TemplateRole("jinja", ((False, first.text),)),))
        found = known.PROMPT_TEMPLATES.search(name)
        if not found:
            return None
        style = {"jinja2": "jinja"}.get(
            next(
                (text_of(w.value) or "" for w in node.keywords if w.arg == "template_format"),
                "",
            ),
            "format",
        )
        is_system = bool(known.SYSTEM_CALLS.search(name))
        texts = [(is_system, v.text) for v in (first, given.named.get("template", EMPTY),
                 given.named.get("messages", EMPTY)) if v.text is not None]  # fmt: skip
        for value in (first, given.named.get("messages", EMPTY)):
            texts += _message_texts(value)
        held = given.named.get("partial_variables", EMPTY).members or {}
        if not texts:
            return None
        role = TemplateRole(style, tuple(texts[:40]))
        return self._bound(role, held, node.lineno)

    def _bound(self, role: TemplateRole, held: Mapping[str, Value], line: int) -> Value:
        """A template with some places filled; what fills the system's text is told."""
        values = {name: self._result_of(value) for name, value in held.items()}
        for is_system, text in role.texts:
            if is_system:
                used = [values[n] for n in names_in(text, role.style) if n in values]
                self.sink(done(heap_of(used), WALK), "the system message", line)
        whole = {**dict(role.held), **values}
        parts = [self.fill(text, role.style, whole, EMPTY) for _, text in role.texts]
        made = parts[0] if len(parts) == 1 else heap_of(parts)
        return Value(made.marks, made.ahead, roles=(role._replace(held=tuple(whole.items())),))

    def _result_of(self, value: Value) -> Value:
        """What a function gives where a library calls it for a template's place."""
        if any(isinstance(r, FunctionRole | KnownRole | PartialRole) for r in value.roles):
            got = self.called(value, NO_ARGUMENTS, None)
            return value if got is None else got
        return value

    def template_method(self, node: ast.Call, attr: str, held: Value, given: Given) -> Value | None:
        """A method of a template: places filled, wholly or in part."""
        for role in held.roles:
            if not isinstance(role, TemplateRole):
                continue
            values = dict(given.named)
            for one in (*given.positional[:1], given.more_named):
                values = {**(one.members or {}), **values}
            rest = heap_of(of(one.rest) for one in (*given.positional[:1], given.more_named))
            if attr == "partial":
                return self._bound(role, values, node.lineno)
            if attr in known.FILLING:
                whole = {**dict(role.held), **values}
                self._bound(role, values, node.lineno)
                parts = [self.fill(text, role.style, whole, rest) for _, text in role.texts]
                return parts[0] if len(parts) == 1 else heap_of(parts)
            if attr in ("from_template", "with_config", "pipe", "bind"):
                return held
        return None

    def fill(self, text: str, style: str, values: dict[str, Value], rest: Value) -> Value:
        """A constant text with its places filled by name or number."""
        number = iter(range(1 << 30))

        def named(name: str) -> Value:
            parts = (name or str(next(number))).replace("[", ".").replace("]", "").split(".")
            if parts[0] not in values:
                return rest
            value = values[parts[0]]
            for part in parts[1:]:
                key = part.strip("'\"")
                got = self.attribute(value, key)
                value = member(value, key) if got is EMPTY else got
            return self.written(value)

        def formatted(value: Value, form: str) -> Value:
            return done(value, COARSEN) if "%" in form and known.is_coarse_format(form) else value

        return filled(text, style, Filler(named, formatted))

    # -- methods -----------------------------------------------------------------------------------

    def method_call(
        self, node: ast.Call, function: ast.Attribute, held: Value, given: Given
    ) -> Value:
        """A method of something that is no linted class."""
        attr, heap = function.attr, heap_of(given.all)
        made = self.template_method(node, attr, held, given)
        if made is None:
            made = self._text_method(node, attr, held, given)
        if made is None:
            made = self._member_method(node, attr, held, given)
        if made is not None:
            return made
        if attr in known.METHODS and not node.keywords:
            return Value(held.marks | {self.origin(known.METHODS[attr], node)})
        if attr in ("count", "index", "startswith", "endswith", "find", "isdigit"):
            return EMPTY
        if attr in known.WALKING_METHODS:
            heap = done(heap, WALK)
        if attr not in known.TEXT_METHODS:
            heap, held = done(heap, LOOSEN), done(held, LOOSEN)
        return heap_of([heap, held]) if node.args or node.keywords else held

    def _text_method(self, node: ast.Call, attr: str, held: Value, given: Given) -> Value | None:
        text, first = held.text, given.positional[0] if given.positional else EMPTY
        if attr == "strftime":
            form = text_of(node.args[0]) if node.args else None
            if form and known.BY_LOCALE.search(form):
                return Value(held.marks | {self.origin("attribution", node)})
            coarse = kind_of_format(node.args[:1]) == known.COARSE_CLOCK
            return done(held, COARSEN) if coarse else held
        if (attr == "date" and not node.args) or (attr == "isoformat" and is_by_the_hour(node)):
            return done(held, COARSEN)
        if attr == "replace" and {"minute", "hour"} & {w.arg for w in node.keywords}:
            return done(held, COARSEN)
        if attr == "join":
            return self._joined(held, first)
        if attr == "format" and text is not None:
            values = {str(at): value for at, value in enumerate(given.positional)}
            values |= {**(given.more_named.members or {}), **given.named}
            spread = given.more_named
            loose = spread.rest if spread.members is not None else spread.marks
            return self.fill(text, "format", values, heap_of([given.more, of(loose)]))
        if attr == "format_map" and text is not None:
            rest = of(first.rest if first.members is not None else first.marks)
            return self.fill(text, "format", dict(first.members or {}), rest)
        if attr == "replace" and text is not None and len(node.args) == 2:
            place = text_of(node.args[0]) or given.positional[0].text
            if place and place in text:
                return self._replaced(text, place, self.written(given.positional[1]))
            return heap_of([held, given.positional[1]])
        if attr in ("strip", "lstrip", "rstrip", "lower", "upper", "title") and not node.args:
            return held
        return None

    def _replaced(self, text: str, place: str, value: Value) -> Value:
        pieces = text.split(place, 8)
        parts = [constant(pieces[0])]
        for piece in pieces[1:]:
            parts += [value, constant(piece)]
        return all_then(parts)

    def _joined(self, between: Value, parts: Value) -> Value:
        """between.join(parts)"""
        parts = done(parts, WALK)
        if parts.items is None:
            heap = heap_of([parts, between])
            return heap._replace(ahead=parts.ahead)
        written = [self.written(one) for one in parts.items]
        lost = of(parts.marks - heap_of(parts.items).marks)  # of a walk over something unordered
        if between.has_words:
            written = [each for one in written for each in (one, between)]
        return all_then([lost, *written]) if lost.marks else all_then(written)

    def _member_method(self, node: ast.Call, attr: str, held: Value, given: Given) -> Value | None:
        key = text_of(node.args[0]) if node.args else None
        if attr in ("get", "pop", "setdefault") and key is not None:
            got = member(held, key)
            return joined(got, given.positional[1]) if len(given.positional) > 1 else got
        if attr in ("pop", "popleft") and held.items is not None:
            return heap_of(held.items)
        if attr in ("copy", "deepcopy", "model_copy"):
            for word, value in (given.named.get("update", EMPTY).members or {}).items():
                held = self._with(held, f".{word}", value)
            return held
        if attr in ("dict", "model_dump", "_asdict", "to_dict", "asdict") and held.roles:
            return self.as_dict(held)
        if attr == "model_dump_json" and held.roles:
            return self.written(self.as_dict(held))
        if attr == "keys" and held.members is not None and not held.rest:
            return EMPTY
        if attr in ("values", "items") and held.members is not None:
            return Value(marked(held.marks, WALK), has_words=held.has_words)
        if attr in ("to_thread", "submit", "run_in_executor", "create_task", "run"):
            return self._started(given)
        return None

    def _started(self, given: Given) -> Value | None:
        """A function that something else calls with the arguments behind it."""
        for at, one in enumerate(given.positional[:2]):
            if any(isinstance(role, FunctionRole | PartialRole) for role in one.roles):
                rest = given._replace(
                    positional=given.positional[at + 1 :], nodes=given.nodes[at + 1 :]
                )
                return self.called(one, rest, None)
        return None


def _message_texts(value: Value) -> list[tuple[bool, str]]:
    """The constant texts of ("system", text) and the like."""
    texts = []
    for one in value.items or ():
        if one.items is not None and len(one.items) == 2 and one.items[1].text is not None:
            texts.append((one.items[0].text in known.SYSTEM_ROLES, one.items[1].text))
        for role in one.roles:
            if isinstance(role, TemplateRole):
                texts += role.texts
    return texts

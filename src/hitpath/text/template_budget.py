"""What rendering a chat template may take: a template is a program of a stranger.

jinja2's sandbox keeps a template from files and from Python, but lets it loop as long as it likes
and make texts of any length. Here every item that a loop is given and every number of a `range`
is a step, every call of a macro or of a recursive loop ten; and a sum, a repetition, a width and
the result have a largest length. So loops in loops, macros that call themselves and texts that
double end in BudgetError.

Not limited: what one filter or method makes of texts that are within the limits (`replace` of the
long by the long), nor the printing of lists within lists.
"""

import re
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from itertools import islice
from typing import Any

from hitpath.text.tokenizer import needed

MAX_STEPS = 1_000_000  # and four for each pair of messages: some templates look back at each
CALL_STEPS = 10
MAX_CHARS = 32_000_000
MAX_WIDTH = 1_000_000
MAX_BITS = 10_000
_PIECES = 128
_WIDE = re.compile(r"\d{7}|\*")
_WIDENING_METHODS = frozenset(
    ["center", "expandtabs", "format", "format_map", "ljust", "rjust", "to_bytes", "zfill"]
)
_WIDENING_FILTERS = ("batch", "center", "format", "indent", "slice")


class BudgetError(Exception):
    """A template asked for more than it may have."""


def budgeted(sandbox: Any) -> Any:
    """A subclass of one of jinja2's sandboxed environments, with limits.

    `start(num_messages)` begins a rendering, one at a time; what exceeds a limit raises
    BudgetError from within the template.
    """
    nodes = needed("jinja2.nodes", "jinja2")
    loop = needed("jinja2.runtime", "jinja2").LoopContext

    class Generator(needed("jinja2.compiler", "jinja2").CodeGenerator):  # type: ignore[misc]
        """Writes the counting into the code of a template."""

        items: Any = None
        macro: Any = None
        in_sum = False

        def visit_For(self, node: Any, frame: Any) -> None:
            self.items = node.iter
            super().visit_For(node, frame)

        def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:
            if node is not self.items:
                return super().visit(node, *args, **kwargs)
            self.items = None
            self.write("environment.given(")
            super().visit(node, *args, **kwargs)
            self.write(")")

        def macro_body(self, node: Any, frame: Any) -> Any:
            self.macro = node.body
            return super().macro_body(node, frame)

        def blockvisit(self, block: Any, frame: Any) -> None:
            if block is self.macro:
                self.writeline(f"environment.spend({CALL_STEPS})")
            super().blockvisit(block, frame)

        def visit_Add(self, node: Any, frame: Any) -> None:
            self._sum(super().visit_Add, node, frame)

        def visit_Concat(self, node: Any, frame: Any) -> None:
            self._sum(super().visit_Concat, node, frame)

        def visit_Call(self, node: Any, frame: Any, forward_caller: bool = False) -> None:
            outer, self.in_sum = self.in_sum, False
            super().visit_Call(node, frame, forward_caller=forward_caller)
            self.in_sum = outer

        def _sum(self, visit: Callable[[Any, Any], None], node: Any, frame: Any) -> None:
            if self.in_sum:  # within one expression a text grows with the source only
                visit(node, frame)
                return
            self.in_sum = True
            if _is_text(node, nodes):
                name = self.temporary_identifier()
                self.write(f"({name} if len({name} := ")
                visit(node, frame)
                self.write(f") <= {MAX_CHARS} else environment.sized({name}))")
            else:
                self.write("environment.sized(")
                visit(node, frame)
                self.write(")")
            self.in_sum = False

    # Not kept by the environment, all of whose attributes would become slower.
    steps = steps_left = MAX_STEPS

    class Budgeted(sandbox):  # type: ignore[misc]
        """An environment whose templates count what they take."""

        code_generator_class = Generator
        intercepted_binops = frozenset(["*", "**", "%"])
        concat = staticmethod(_joined)
        sized = staticmethod(_sized)

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.globals["range"] = self.numbers
            for name in _WIDENING_FILTERS:
                self.filters[name] = limited(self.filters[name])
            del self.globals["lipsum"], self.filters["random"]  # no functions of the messages

        def start(self, num_messages: int) -> None:
            nonlocal steps, steps_left
            steps = steps_left = MAX_STEPS + 4 * num_messages**2

        def spend(self, number: int) -> None:
            nonlocal steps_left
            steps_left -= number
            if steps_left < 0:
                raise BudgetError(f"it loops for more than {steps:,} steps")

        def given(self, items: Any) -> Any:
            """What a loop walks over, counted; of a length that is known."""
            if not hasattr(items, "__len__"):
                items = list(islice(items, steps_left + 1))
            self.spend(len(items))
            return items

        def numbers(self, *args: int) -> range:
            found = range(*args)
            try:
                self.spend(len(found))
            except OverflowError:  # longer than any list
                self.spend(sys.maxsize)
            return found

        def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:
            if getattr(__obj, "__name__", None) in _WIDENING_METHODS:
                _check_widths(args, kwargs)
                _check_form(getattr(getattr(__obj, "__wrapped__", None), "__self__", None))
            elif isinstance(__obj, loop) and args:  # of a recursive loop
                __self.spend(CALL_STEPS)
                args = (__self.given(args[0]), *args[1:])
            return super().call(__context, __obj, *args, **kwargs)

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            if operator == "%":
                _check_form(left)
            elif operator == "**":
                _check_power(left, right)
            else:
                self.spend(_num_repeated(left, right))
            return super().call_binop(context, operator, left, right)

    return Budgeted


def limited(function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that checks the widths and counts that it is given."""

    @wraps(function)  # with the mark that says whether it wants the context
    def limited(*args: Any, **kwargs: Any) -> Any:
        _check_widths(args, kwargs)
        if function.__name__ == "do_format":
            _check_form(args[0])
        return function(*args, **kwargs)

    return limited


def _is_text(node: Any, nodes: Any) -> bool:
    """Whether a sum is surely of texts: one of its parts is (else adding fails)."""
    if isinstance(node, nodes.Add):
        return _is_text(node.left, nodes) or _is_text(node.right, nodes)
    return isinstance(node, nodes.Concat) or (
        isinstance(node, nodes.Const) and isinstance(node.value, str)
    )


def _too_long() -> BudgetError:
    return BudgetError(f"more than {MAX_CHARS:,} characters of text")


def _joined(pieces: Iterable[str]) -> str:
    """The rendered pieces of a template or a block as one text."""
    rest = iter(pieces)
    texts: list[str] = []
    total = 0
    while some := list(islice(rest, _PIECES)):
        texts.append("".join(some))
        total += len(texts[-1])
        if total > MAX_CHARS:
            raise _too_long()
    return "".join(texts)


def _sized(value: Any) -> Any:
    """A sum, if it is not too long."""
    if isinstance(value, str | list | tuple) and len(value) > MAX_CHARS:
        raise _too_long()
    return value


def _check_widths(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    for value in (*args, *kwargs.values()):
        if isinstance(value, int) and value > MAX_WIDTH:
            raise BudgetError(f"a width or count of more than {MAX_WIDTH:,}")


def _check_form(form: Any) -> None:
    if isinstance(form, str) and _WIDE.search(form):
        raise BudgetError(f"a format with a width of more than {MAX_WIDTH:,}, or a hidden one")


def _check_power(left: Any, right: Any) -> None:
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() * right > MAX_BITS:
        raise BudgetError(f"a number of more than {MAX_BITS:,} bits")


def _num_repeated(left: Any, right: Any) -> int:
    """Items of a repeated list; 0 for other products. Raises BudgetError."""
    if isinstance(left, int):
        left, right = right, left
    if not isinstance(right, int):
        return 0
    if isinstance(left, int):
        if left.bit_length() + right.bit_length() > MAX_BITS:
            raise BudgetError(f"a number of more than {MAX_BITS:,} bits")
    elif isinstance(left, str | bytes | list | tuple):
        length = len(left) * max(right, 0)
        if length > MAX_CHARS:
            raise _too_long()
        if isinstance(left, list | tuple):
            return length
    return 0

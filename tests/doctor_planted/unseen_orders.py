"""Forms of orders and sets, written beside field_orders and shown to nobody before they were
measured.
"""

import copy
import json
import random
from collections.abc import Callable
from typing import Any

from doctor_planted.base_tools import spare_tool
from doctor_planted.own_planters import ordered, shuffled, tools_changed
from doctor_planted.plant_forms import shuffled_keys

WORDS = ("invoice", "warranty", "upgrade", "exchange", "gift card", "newsletter")
TOOLS = (
    ("lookup_customer", "Record of a customer."), ("open_ticket", "Start a case."),
    ("close_ticket", "End a case."), ("price_of", "List price of an article."),
    ("stock_of", "Pieces in the warehouse."), ("send_form", "Mail a form."),
)  # fmt: skip

Draw = Callable[[random.Random], str]


def _fenced(rng: random.Random) -> Draw:
    value = {"locale": "en", "limits": {"rows": rng.randrange(9, 99), "days": 30, "retries": 2},
             "flags": {"beta": True, "audit": False, "trial": True}}  # fmt: skip
    return lambda own: (
        f"Config:\n```json\n{json.dumps(shuffled_keys(value, own, 1), indent=2)}\n```"
    )


def _toml(rng: random.Random) -> Draw:
    lines = ['model = "small"', f"rows = {rng.randrange(9, 99)}", "strict = true", 'unit = "km"']
    return lambda own: "[settings]\n" + "\n".join(own.sample(lines, 4))


def _one_line(rng: random.Random) -> Draw:
    """JSON within a sentence, as a template engine dumps a map."""
    value = {"city": "Graz", "rows": rng.randrange(9, 99), "ok": True, "note": None}
    return lambda own: f"The defaults are {json.dumps(shuffled_keys(value, own, 0))} for all."


def _objects(rng: random.Random) -> Draw:
    chosen = rng.sample(WORDS, 4)
    items = [{"name": word, "priority": i} for i, word in enumerate(chosen)]
    return lambda own: f"Topics: {json.dumps(own.sample(items, 4))}"


def _namespace(rng: random.Random) -> Draw:
    chosen = rng.sample(TOOLS, 4)
    return lambda own: "namespace functions {\n\n" + "\n\n".join(
        f"// {text}\ntype {name} = (_: {{\n  id: string,\n}}) => any;"
        for name, text in own.sample(chosen, 4)
    ) + "\n\n} // namespace functions"  # fmt: skip


def _headings(rng: random.Random) -> Draw:
    chosen = rng.sample(TOOLS, 4)
    return lambda own: (
        "# Tools\n\n"
        + "\n\n".join(
            f"## {name}\nDescription: {text}\nParameters:\n- id: (required) number of the record"
            for name, text in own.sample(chosen, 4)
        )
    )


def _reversed(tools: list[Any], at: int, own: random.Random) -> list[Any]:
    return tools[::-1]


def _required(tools: list[Any], at: int, own: random.Random) -> list[Any]:
    """Alternatives of a type, in the order of a set."""
    changed = copy.deepcopy(tools)
    kinds = own.sample(["string", "integer", "null", "boolean", "number"], 5)
    changed[at]["function"]["parameters"]["properties"]["x_value"] = {"type": kinds}
    return changed


def _filtered(tools: list[Any], at: int, own: random.Random) -> list[Any]:
    """A retriever of tools: some of them, in the usual order."""
    kept = sorted(own.sample(range(len(tools)), max(2, len(tools) - 1 - at % 2)))
    return [tools[i] for i in kept]


def _dynamic_enum(tools: list[Any], at: int, own: random.Random) -> list[Any]:
    """The names of open files stand in a schema."""
    changed = copy.deepcopy(tools)
    names = [f"src/{word}_{own.randrange(90)}.py" for word in ("parser", "ledger", "cache")]
    schema = {"type": "string", "enum": names[: own.randrange(1, 4)]}
    changed[at]["function"]["parameters"]["properties"]["x_file"] = schema
    return changed


def _in_front(tools: list[Any], at: int, own: random.Random) -> list[Any]:
    """A server that connects late and comes first."""
    return [spare_tool(random.Random(at), 4), spare_tool(random.Random(at + 1), 5), *tools]


ORDERS: dict[str, tuple[Any, ...]] = {
    "key_order": (
        ordered("key_order", _fenced), ordered("key_order", _one_line),
        ordered("key_order/moved_block", _toml),
    ),
    "array_order": (
        ordered("array_order/moved_block", _objects),
        tools_changed("array_order", _required, 4, True),
        ordered("array_order", shuffled(lambda m: f"Topics: {' | '.join(m)}", WORDS)),
        ordered("array_order", shuffled(lambda m: "{" + ", ".join(map(repr, m)) + "}", WORDS)),
    ),
    "tool_order": (
        ordered("tool_order/moved_block", _namespace), ordered("tool_order/moved_block", _headings),
        tools_changed("tool_order", _reversed),
    ),
    "tool_set": (
        tools_changed("tool_set", _filtered, 4), tools_changed("tool_set", _dynamic_enum, 4),
        tools_changed("tool_set", _in_front),
    ),
}  # fmt: skip

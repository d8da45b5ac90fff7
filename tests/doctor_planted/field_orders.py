"""Forms of orders and sets, as applications in the field have them: schemas in instructions
(LangChain's parsers), tools told in text (Hermes, ReAct agents), groups of MCP servers, Python's
and YAML's way of writing. Shown: rules may be mended by them.
"""

import copy
import json
import random
from collections.abc import Callable
from typing import Any

from doctor_planted.base_tools import spare_tool
from doctor_planted.own_planters import ordered, shuffled, tools_changed
from doctor_planted.plant_forms import shuffled_keys

MODES = ("search", "refund", "escalate", "translate", "summarise", "schedule", "notify")
TOOL_LINES = (
    ("web_search", "Find pages for a query."), ("calculator", "Work out an expression."),
    ("sql_query", "Run a statement on the warehouse."), ("send_mail", "Write to somebody."),
    ("weather", "Forecast of a town."), ("calendar", "Free hours of a colleague."),
)  # fmt: skip
_FIELDS = ("setup", "punchline", "rating", "language", "sources")


def _parser(rng: random.Random) -> Callable[[random.Random], str]:
    """What a parser of structured output appends to the instructions."""
    chosen = rng.sample(_FIELDS, 4)

    def write(own: random.Random) -> str:
        names = own.sample(chosen, 4)
        schema = {"properties": {n: {"title": n.title(), "type": "string"} for n in names},
                  "required": sorted(chosen)}  # fmt: skip
        return (
            f"The output should conform to the JSON schema below.\n```\n{json.dumps(schema)}\n```"
        )

    return write


def _repr(rng: random.Random) -> Callable[[random.Random], str]:
    state = {
        "mode": rng.choice(MODES),
        "limit": rng.randrange(5, 90),
        "strict": True,
        "owner": None,
    }
    return lambda own: f"Current settings: {shuffled_keys(state, own, 0)!r}"


def _yaml(rng: random.Random) -> Callable[[random.Random], str]:
    lines = [f"region: {rng.choice(('eu', 'us'))}", f"rows: {rng.randrange(9, 99)}",
             f"mode: {rng.choice(MODES)}", "strict: true"]  # fmt: skip
    return lambda own: "```yaml\n" + "\n".join(own.sample(lines, 4)) + "\n```"


def _hermes(rng: random.Random) -> Callable[[random.Random], str]:
    chosen = rng.sample(TOOL_LINES, 4)

    def write(own: random.Random) -> str:
        lines = [
            json.dumps({"type": "function", "function": {"name": name, "description": text,
                        "parameters": {"type": "object", "properties": {}}}})
            for name, text in own.sample(chosen, 4)
        ]  # fmt: skip
        return "<tools>\n" + "\n".join(lines) + "\n</tools>"

    return write


def _react(rng: random.Random) -> Callable[[random.Random], str]:
    chosen = rng.sample(TOOL_LINES, 5)
    return lambda own: (
        "You have access to the following tools:\n\n"
        + "\n".join(f"{name}(query: str) -> str - {text}" for name, text in own.sample(chosen, 5))
    )


def _enum(tools: list[Any], at: int, own: random.Random) -> list[Any]:
    """A set that is written as an enum, in the order of its hashes."""
    changed = copy.deepcopy(tools)
    schema = {"type": "string", "enum": own.sample(MODES[:5], 5)}
    changed[at]["function"]["parameters"]["properties"]["x_mode"] = schema
    return changed


def _servers_swapped(tools: list[Any], at: int, own: random.Random) -> list[Any]:
    """Two servers answered in another order: their tools stay together."""
    cut = 1 + at % (len(tools) - 1)
    return tools[cut:] + tools[:cut]


def _upgraded(tools: list[Any], at: int, own: random.Random) -> list[Any]:
    changed = copy.deepcopy(tools)
    function = changed[at]["function"]
    function["description"] += f" Since release 2.{own.randrange(2, 9)} it takes several at once."
    return changed


def _parameter(tools: list[Any], at: int, own: random.Random) -> list[Any]:
    changed = copy.deepcopy(tools)
    schema = changed[at]["function"]["parameters"]
    schema["properties"]["valid_from"] = {"type": "string", "description": "Day, 2024-05-01."}
    schema["properties"]["dry_run"] = {"type": "boolean"}
    return changed


def _replaced(tools: list[Any], at: int, own: random.Random) -> list[Any]:
    other = spare_tool(random.Random(at), 7)
    return [*tools[:at], other, *tools[at + 1 :]]


ORDERS: dict[str, tuple[Any, ...]] = {
    "key_order": (
        ordered("key_order", _parser), ordered("key_order", _repr),
        ordered("key_order/moved_block", _yaml),
    ),
    "array_order": (
        ordered("array_order", shuffled(lambda m: f"Available modes: {', '.join(m)}.", MODES)),
        ordered("array_order/moved_block", shuffled(
            lambda m: "You can:\n" + "\n".join(f"- {mode} on request" for mode in m), MODES)),
        tools_changed("array_order", _enum, 4, always=True),
        ordered("array_order", shuffled(lambda m: f"allowed = {m!r}", MODES)),
        ordered("array_order", shuffled(lambda m: json.dumps({"on": True, "modes": m}), MODES)),
    ),
    "tool_order": (
        ordered("tool_order", _hermes), ordered("tool_order/moved_block", _react),
        tools_changed("tool_order", _servers_swapped),
    ),
    "tool_set": (
        tools_changed("tool_set/edited_message", _upgraded),
        tools_changed("tool_set", _parameter), tools_changed("tool_set", _replaced),
    ),
}  # fmt: skip

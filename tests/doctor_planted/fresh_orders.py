"""Orders and sets: maps as languages print them, lists that come from sets, tools told in text or
sent, in another order or described otherwise. In front of a form: where it comes from; those
without are written by hand after how the language or client in its name writes.
"""

import copy
import json
import random
from collections.abc import Callable
from typing import Any

from doctor_planted.base_tools import spare_tool
from doctor_planted.own_planters import Draw, Own, ordered, shuffled, tools_changed
from doctor_planted.plant_forms import shuffled_keys

Tools = list[Any]
Make = Callable[[random.Random], Draw]
_LABELS = ("overdue", "vip", "callback", "warranty", "b2b", "press", "refund")
_MODULES = ("ledger", "router", "parser", "mailer", "scheduler", "gateway")
_AREAS = ("kitchen", "hall", "cellar", "attic", "garage", "porch")
_FUNCTIONS = (
    ("move_to", "Walk to a place."), ("craft_item", "Make an item of a recipe."),
    ("mine_block", "Break blocks of one kind."), ("trade_with", "Offer a swap to a villager."),
    ("look_around", "Tell what is near."), ("say_aloud", "Speak to players nearby."),
)  # fmt: skip


def _pairs(head: str, sep: str, tail: str, *parts: str) -> Make:
    """The parts in any order; %d: a number of the application."""

    def make(rng: random.Random) -> Draw:
        filled = [part.replace("%d", str(rng.randrange(3, 99))) for part in parts]
        return lambda own: head + sep.join(own.sample(filled, len(filled))) + tail

    return make


def _json_in_json(rng: random.Random) -> Draw:
    """A document within a document, as metadata of a ticket."""
    value = {"tier": "gold", "open": rng.randrange(1, 9), "tags": ["a", "b"], "eu": True}

    def write(own: random.Random) -> str:
        inner = json.dumps(shuffled_keys(value, own, 0))
        return f"Ticket: {json.dumps({'kind': 'case', 'payload': inner})}"

    return write


def _deep(rng: random.Random) -> Draw:
    value = {"house": {"floor": {"lamp": "on", "door": "shut", "heat": rng.randrange(15, 25),
                                 "blind": "down"}}, "away": False}  # fmt: skip
    return lambda own: f"<state>\n{json.dumps(shuffled_keys(value, own, 2), indent=1)}\n</state>"


_KEYS_OR_LINES = "key_order/moved_block/array_order"
KEY_ORDER: dict[str, Any] = {
    "swift": ordered("key_order/array_order", _pairs('limits: ["', ', "', "]", 'rows": %d',
                     'days": 30', 'retries": 2', 'burst": 7')),
    "elixir": ordered("key_order/array_order", _pairs("assigns: %{", ", ", "}", 'plan: "pro"',
                      "seats: %d", 'region: "eu"', "beta: false")),
    "dataclass": ordered("key_order/array_order", _pairs("Settings(", ", ", ")", "rows=%d",
                         "mode='strict'", "retry=True", "unit='km'")),
    "logfmt": ordered("key_order/array_order", _pairs("policy ", " ", "", "rows=%d", "mode=strict",
                      "lang=de", "retries=2")),
    "flags": ordered("key_order/array_order", _pairs("Run `export ", " ", "` only.", "--rows=%d",
                     "--sort=asc", "--lang=de", "--full=yes")),
    "php_array": ordered("key_order/array_order", _pairs("$limits = array(", ", ", ");",
                         "'rows' => %d", "'mode' => 'strict'", "'lang' => 'de'", "'days' => 30")),
    "cookie": ordered("key_order/array_order", _pairs("Cookie: ", "; ", "", "theme=dark",
                      "rows=%d", "lang=de", "consent=yes")),
    "json_in_json": ordered("key_order", _json_in_json),
    "deep": ordered("key_order", _deep),
    "ini": ordered(_KEYS_OR_LINES, _pairs("[desk]\n", "\n", "", "rows = %d", "mode = strict",
                   "lang = de", "days = 30")),
    "rust_debug": ordered("key_order", _pairs("Limits: {", ", ", "}", '"rows": %d', '"days": 30',
                          '"retries": 2', '"burst": 7')),
}  # fmt: skip


def _numbers(form: Callable[[list[str]], str]) -> Own:
    """Numbers of a set, the same ones in each request."""
    return ordered("array_order", shuffled(form, tuple(str(n) for n in (14, 3, 221, 87, 9, 560))))


def _list(form: Callable[[list[str]], str], kinds: str = "array_order", pool: Any = _LABELS) -> Own:
    return ordered(kinds, shuffled(form, pool))


def _objects(rng: random.Random) -> Draw:
    items = [{"area": a, "lamps": rng.randrange(1, 9)} for a in rng.sample(_AREAS, 4)]
    return lambda own: f"Areas: {json.dumps(own.sample(items, 4))}"


def _formats(tools: Tools, at: int, own: random.Random) -> Tools:
    """Examples of a field, read from a set."""
    changed = copy.deepcopy(tools)
    schema = {"type": "string", "examples": own.sample(_LABELS[:5], 5)}
    changed[at]["function"]["parameters"]["properties"]["x_label"] = schema
    return changed


_LINES = "array_order/moved_block"
ARRAY_ORDER: dict[str, Any] = {
    "js_set": _list(lambda m: f"Labels in use: Set({len(m)}) {{ {', '.join(map(repr, m))} }}"),
    "sql_columns": _list(lambda m: f"SELECT {', '.join(m)} FROM desk is allowed."),
    "semicolons": _list(lambda m: f"Labels: {'; '.join(m)}"),
    "regex": _list(lambda m: f"A label matches ^({'|'.join(m)})$ and nothing else."),
    "import": _list(lambda m: f"import {{ {', '.join(m)} }} from './desk'", pool=_MODULES),
    "int_set": _numbers(lambda m: f"Closed counters: {', '.join(m)}."),
    "int_array": _numbers(lambda m: f'{{"closed": [{", ".join(m)}], "open": true}}'),
    "areas": _list(lambda m: "An overview of the areas:\n" + "\n".join(
        f"- names: {a}\n  domain: light" for a in m), _LINES, _AREAS),  # home-assistant/core#133687
    "objects": ordered("array_order/moved_block", _objects),
    "backticks": _list(lambda m: "Use " + ", ".join(f"`{x}`" for x in m[:-1]) + f" or `{m[-1]}`."),
    "table_rows": _list(lambda m: "| label | colour |\n| --- | --- |\n" + "\n".join(
        f"| {x} | {len(x)} |" for x in m), _LINES),
    "examples": tools_changed("array_order", _formats, 4, True),
    "ja_list": _list(lambda m: f"使えるラベル：{'・'.join(m)}"),
    "and_list": _list(lambda m: f"You know {', '.join(m[:-1])} and {m[-1]}.", pool=_AREAS),
}  # fmt: skip


def _told(form: str, head: str = "", tail: str = "", sep: str = "\n", kinds: str = "") -> Own:
    """Tools told in text. form: %n the name, %t what it does."""

    def make(rng: random.Random) -> Draw:
        chosen = rng.sample(_FUNCTIONS, 5)

        def write(own: random.Random) -> str:
            told = [form.replace("%n", n).replace("%t", t) for n, t in own.sample(chosen, 5)]
            return head + sep.join(told) + tail

        return write

    return ordered(kinds or "tool_order/moved_block", make)


def _last_first(tools: Tools, at: int, own: random.Random) -> Tools:
    """A server that came again: its tool stands at the end, or in front."""
    return [tools[at], *tools[:at], *tools[at + 1 :]] if at else [*tools[1:], tools[0]]


def _by_server(tools: Tools, at: int, own: random.Random) -> Tools:
    """Two servers answered in turns: odd places, then even ones."""
    return tools[1::2] + tools[::2]


TOOL_ORDER: dict[str, Any] = {
    # A bot of Minecraft.
    "declare": _told("declare function %n(target: string): void; // %t", "```ts\n", "\n```"),
    "attributes": _told('<tool name="%n" use="%t"/>', "<toolbox>\n", "\n</toolbox>"),
    "table": _told("| %n | %t |", "| command | use |\n| --- | --- |\n",
                   kinds="tool_order/moved_block/array_order"),
    # QwenLM/Qwen-Agent.
    "qwen_agent": _told("### %n\n\n%n: %t Parameters: {\"type\": \"object\"} Format the "
                        "arguments as a JSON object.",
                        "# Tools\n\n## You have access to these tools:\n\n", "", "\n\n"),
    # Llama 3.1's custom functions.
    "llama31": _told("Use the function '%n' to '%t': {\"name\": \"%n\", \"parameters\": {}}",
                     "You have access to these functions:\n\n", "", "\n\n"),
    "slash": _told("/%n - %t", "Commands that you may call as tools:\n"),
    "json_list": _told('{"name": "%n", "description": "%t"}', "Tools: [", "]", ", ",
                       "tool_order/array_order"),
    "server_dot": _told("minecraft.%n: %t", "MCP tools\n"),
    "moved_tool": tools_changed("tool_order", _last_first),
    "by_server": tools_changed("tool_order", _by_server),
    # mindcraft: !commands.
    "bang": _told("!%n: %t\n  Params: target (string)", "*COMMAND DOCS\n"),
}  # fmt: skip


def _each_schema(change: Callable[[dict[str, Any]], None]) -> Callable[..., Tools]:
    def apply(tools: Tools, at: int, own: random.Random) -> Tools:
        changed = copy.deepcopy(tools)
        for tool in changed:
            change(tool["function"]["parameters"])
        return changed

    return apply


def _nullable(schema: dict[str, Any]) -> None:
    """What strict mode makes of optional fields."""
    for part in schema["properties"].values():
        if isinstance(part.get("type"), str):
            part["type"] = [part["type"], "null"]


def _no_additional(schema: dict[str, Any]) -> None:
    """A gateway for Gemini drops what it does not know."""
    schema.pop("additionalProperties", None)
    schema["description"] = "Arguments."


def _deferred(tools: Tools, at: int, own: random.Random) -> Tools:
    """Anthropic's tool search."""
    return [{**tool, "function": {**tool["function"], "defer_loading": True}} for tool in tools]


def _with_example(tools: Tools, at: int, own: random.Random) -> Tools:
    changed = copy.deepcopy(tools)
    changed[at]["function"]["input_examples"] = [{"id": "K-4711"}]
    return changed


def _camel(tools: Tools, at: int, own: random.Random) -> Tools:
    """An SDK of another language names its tools in its own way; those of servers stay."""
    changed = copy.deepcopy(tools)
    for tool in changed[::2]:
        head, *rest = tool["function"]["name"].split("_")
        tool["function"]["name"] = head + "".join(part.title() for part in rest)
    return changed


def _voice(tools: Tools, at: int, own: random.Random) -> Tools:
    """In calls only three tools are offered."""
    return tools[:3]


def _models(tools: Tools, at: int, own: random.Random) -> Tools:
    """Models that are up, told in a tool's description."""
    changed = copy.deepcopy(tools)
    up = ("small-v2", "large-v2", "vision-v1")[: own.randrange(1, 4)]
    changed[at]["function"]["description"] += f" Models at hand: {', '.join(up)}."
    return changed


def _deprecated(tools: Tools, at: int, own: random.Random) -> Tools:
    changed = copy.deepcopy(tools)
    function = changed[at]["function"]
    function["description"] = f"[Deprecated, will go in v3] {function['description']}"
    return changed


def _renamed(tools: Tools, at: int, own: random.Random) -> Tools:
    """A parameter under another name."""
    changed = copy.deepcopy(tools)
    schema = changed[at]["function"]["parameters"]
    schema["properties"] = {f"{n}_value" if i == 0 else n: s
                            for i, (n, s) in enumerate(schema["properties"].items())}  # fmt: skip
    return changed


def _two_more(tools: Tools, at: int, own: random.Random) -> Tools:
    return [*tools[:1], spare_tool(random.Random(at), 21), *tools[1:],
            spare_tool(random.Random(at + 9), 22)]  # fmt: skip


TOOL_SET: dict[str, Any] = {
    "nullable": tools_changed("tool_set", _each_schema(_nullable)),
    "no_additional": tools_changed("tool_set", _each_schema(_no_additional)),
    "deferred": tools_changed("tool_set", _deferred),
    "with_example": tools_changed("tool_set", _with_example),
    "camel": tools_changed("tool_set", _camel),
    "voice": tools_changed("tool_set", _voice),
    "models": tools_changed("tool_set", _models, 4),
    "deprecated": tools_changed("tool_set", _deprecated),
    "renamed": tools_changed("tool_set", _renamed),
    "two_more": tools_changed("tool_set", _two_more),
}  # fmt: skip

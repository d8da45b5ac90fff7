"""Orders and sets as public applications tell them in text or change them in tools: maps of Go,
Java and Ruby, sets of Python, tools told in prose, schemas with what a library adds.
"""

import copy
import json
import random
from collections.abc import Callable
from typing import Any

from doctor_planted.base_tools import spare_tool
from doctor_planted.own_planters import Draw, Own, ordered, shuffled, tools_changed
from doctor_planted.plant_forms import shuffled_keys

TOOLS = (
    ("get_weather", "Forecast for a place."), ("find_flights", "Flights between two towns."),
    ("run_sql", "Runs a read-only statement."), ("read_page", "Text of a web page."),
    ("create_issue", "Opens an issue."), ("translate_text", "Puts a text into another language."),
)  # fmt: skip
AGENTS = ("billing_agent", "refund_agent", "triage_agent", "sales_agent", "travel_agent")
TAGS = ("project_x", "meeting_notes", "research", "ideas", "invoices", "holidays")


def _tools(form: str, head: str = "", tail: str = "", sep: str = "\n", kinds: str = "") -> Own:
    """Tools told in text. form: %n the name, %t what it does."""

    def make(rng: random.Random) -> Draw:
        chosen = rng.sample(TOOLS, 5)

        def write(own: random.Random) -> str:
            told = [form.replace("%n", n).replace("%t", t) for n, t in own.sample(chosen, 5)]
            return head + sep.join(told) + tail

        return write

    return ordered(kinds or "tool_order/moved_block", make)


def _numbered(rng: random.Random) -> Draw:
    chosen = rng.sample(TOOLS, 5)
    return lambda own: (
        "## Commands\n"
        + "\n".join(
            f"{i}. {n}: {t} Params: (query: string)"
            for i, (n, t) in enumerate(own.sample(chosen, 5), 1)
        )
    )


def _one_of(rng: random.Random) -> Draw:
    chosen = [n for n, _ in rng.sample(TOOLS, 5)]
    return lambda own: f"Action: what to do, one of [{', '.join(own.sample(chosen, 5))}]"


def _parts(head: str, sep: str, tail: str, *parts: str) -> Callable[[random.Random], Draw]:
    """The parts in any order; one of them has a number of its application."""

    def make(rng: random.Random) -> Draw:
        filled = [part.replace("%d", str(rng.randrange(3, 99))) for part in parts]
        return lambda own: head + sep.join(own.sample(filled, len(filled))) + tail

    return make


def _schema(rng: random.Random) -> Draw:
    """A model's schema in the instructions (instructor, pydantic)."""
    value = {"title": "Answer", "type": "object", "description": "What was found.",
             "properties": {"rating": {"maximum": rng.randrange(5, 11), "type": "integer"},
                            "text": {"type": "string", "title": "Text"}}}  # fmt: skip

    def write(own: random.Random) -> str:
        text = json.dumps(shuffled_keys(value, own, own.choice((0, 1, 2))), indent=2)
        return f"Give back objects in json that match this json_schema:\n\n{text}"

    return write


def _state(rng: random.Random) -> Draw:
    value = {"user_tier": "gold", "cart_items": rng.randrange(1, 9), "coupon": None, "eu": True}
    return lambda own: f"Session state: {shuffled_keys(value, own, 0)}"


Tools = list[Any]


def _strict(tools: Tools, at: int, own: random.Random) -> Tools:
    """What OpenAI's SDK adds to parse replies."""
    changed = copy.deepcopy(tools)
    for tool in changed:
        tool["function"]["strict"] = True
    return changed


def _schema_key(tools: Tools, at: int, own: random.Random) -> Tools:
    """zod-to-json-schema."""
    changed = copy.deepcopy(tools)
    for tool in changed:
        tool["function"]["parameters"]["$schema"] = "http://json-schema.org/draft-07/schema#"
    return changed


def _titles(tools: Tools, at: int, own: random.Random) -> Tools:
    """pydantic."""
    changed = copy.deepcopy(tools)
    for name, schema in changed[at]["function"]["parameters"]["properties"].items():
        schema["title"] = name.replace("_", " ").title()
    return changed


def _late_server(tools: Tools, at: int, own: random.Random) -> Tools:
    """A server of MCP that connects after the first turns."""
    schema = {"type": "object", "properties": {"owner": {"type": "string"}}, "required": ["owner"]}
    more = [{"type": "function", "function": {"name": f"mcp__github__{name}", "description": text,
             "parameters": copy.deepcopy(schema)}} for name, text in TOOLS[:3]]  # fmt: skip
    return [*tools, *more]


def _skills(tools: Tools, at: int, own: random.Random) -> Tools:
    """A list of skills within a tool's description."""
    changed = copy.deepcopy(tools)
    names = sorted(own.sample(AGENTS, own.randrange(2, 5)))
    told = "\n".join(f"<skill>{name}</skill>" for name in names)
    changed[at]["function"]["description"] += f"\n<available_skills>\n{told}\n</available_skills>"
    return changed


def _any_of(tools: Tools, at: int, own: random.Random) -> Tools:
    """A set of types in the order of its hashes."""
    changed = copy.deepcopy(tools)
    kinds = own.sample(["string", "integer", "boolean", "null", "array"], 5)
    changed[at]["function"]["parameters"]["properties"]["x_filter"] = {
        "description": "A filter.", "anyOf": [{"type": kind} for kind in kinds]}  # fmt: skip
    return changed


def _required(tools: Tools, at: int, own: random.Random) -> Tools:
    changed = copy.deepcopy(tools)
    schema, names = changed[at]["function"]["parameters"], ["p_city", "p_day", "p_mode", "p_limit"]
    schema["properties"] = {name: {"type": "string"} for name in names}
    schema["required"] = own.sample(names, 4)
    return changed


def _localised(tools: Tools, at: int, own: random.Random) -> Tools:
    """A description in another language."""
    function = {**tools[at]["function"], "description": "Sucht den Datensatz eines Kunden."}
    return [*tools[:at], {**tools[at], "function": function}, *tools[at + 1 :]]


def _only_required(tools: Tools, at: int, own: random.Random) -> Tools:
    """A client that leaves out what need not be given."""
    changed = copy.deepcopy(tools)
    schema = changed[at]["function"]["parameters"]
    kept = schema["required"][:1]
    schema["properties"] = {n: s for n, s in schema["properties"].items() if n in kept}
    schema["required"] = kept
    return changed


def _one_more(tools: Tools, at: int, own: random.Random) -> Tools:
    return [*tools[:at], spare_tool(random.Random(at), 11), *tools[at:]]


def _listed(form: Callable[[list[str]], str], kinds: str = "array_order", pool: Any = TAGS) -> Own:
    return ordered(kinds, shuffled(form, pool))


_ARRAY_OR_MOVED = "array_order/moved_block"
_KEYS_OR_MOVED = "key_order/moved_block/array_order"
ORDERS: dict[str, tuple[Any, ...]] = {
    "tool_order": (
        _tools("Tool Name: %n\nTool Arguments: {'query': {'description': None, 'type': 'str'}}\n"
               "Tool Description: %t", "You have these tools:\n"),  # crewAI
        _tools('- %n: %t\n    Input Schema:\n    {"type": "object"}',
               "## github (`npx -y server`)\n\n### Available Tools\n", sep="\n\n"),  # Cline
        _tools('def %n(query: string) -> string:\n    """%t\n\n    Args:\n        query: what to '
               'look for\n    """', "```python\n", "\n```", "\n\n"),  # smolagents
        _tools("> Tool Name: %n\nTool Description: %t\nTool Args: {}\n"),  # LlamaIndex
        _tools("<tool_description>\n<tool_name>%n</tool_name>\n<description>%t</description>\n"
               "</tool_description>", "<tools>\n", "\n</tools>"),  # Anthropic's first format
        ordered("tool_order/array_order/moved_block", _numbered),  # AutoGPT
        ordered("tool_order/array_order", _one_of),  # LangChain
        _tools("- %n: %t\n Input arguments: {'query': {'type': 'string'}}", sep="\n\n"),
        tools_changed("tool_order", lambda tools, at, own: own.sample(tools, len(tools)), 5, True),
        _tools('<function>{"description": "%t", "name": "%n", "parameters": {}}</function>',
               "<functions>\n", "\n</functions>"),
        _tools("• %n", "### Available tools\n", kinds="tool_order/array_order/moved_block"),
        _tools("## %n\nUse this server to: %t", "# Instructions of servers\n\n", sep="\n\n"),
    ),
    "key_order": (
        ordered(_KEYS_OR_MOVED, _parts("Account settings:\n", "\n", "", "- plan: pro",
                "- seats: %d", "- region: eu-west", "- beta: off")),  # a map of Go
        ordered(_KEYS_OR_MOVED, _parts("<env_vars>\n", "\n", "\n</env_vars>", "NODE_ENV=production",
                "PORT=30%d", "LOG_LEVEL=info", "TZ=UTC", "CI=true")),
        ordered(_KEYS_OR_MOVED, _parts("<policy ", " ", "/>", 'currency="EUR"', 'limit="%d"',
                'mode="strict"', 'lang="de"')),
        ordered("key_order", _schema), ordered("key_order", _state),
        ordered("key_order/array_order", _parts("Parameters: {", ", ", "}", "city=Graz", "rows=%d",
                "ok=true", "note=null")),  # a map of Java
        ordered(_KEYS_OR_MOVED, _parts("The page is https://shop.example/list?", "&", " for all.",
                "limit=%d", "sort=asc", "lang=de", "view=full")),
        ordered("key_order/array_order", _parts("defaults = {", ", ", "}", ':city=>"Graz"',
                ":rows=>%d", ":ok=>true", ":note=>nil")),  # a hash of Ruby
    ),
    "array_order": (
        _listed(lambda m: "You can transfer to these agents:\n" + "".join(f"- {n}\n" for n in m),
                "array_order/moved_block/tool_order", AGENTS),
        _listed(lambda m: f"Available categories: {', '.join(m)}"),
        _listed(lambda m: f"- Available archival memory tags: {', '.join(m)}"),  # Letta
        _listed(lambda m: '<network enabled="true">\n' + "\n".join(
            f"    <allowed>{x}.example.com</allowed>" for x in m) + "\n</network>",
            _ARRAY_OR_MOVED),  # Codex
        _listed(lambda m: "\n".join(f"{i}. {x}" for i, x in enumerate(m, 1)), _ARRAY_OR_MOVED),
        _listed(lambda m: "Tags: " + " ".join(f"#{x}" for x in m)),
        _listed(lambda m: f"可选类别：{'、'.join(m)}。"),
        _listed(lambda m: "Use one of: {" + ", ".join(map(repr, m)) + "}"),
        tools_changed("array_order", _any_of, 4, True),
        tools_changed("array_order", _required, 4, True),
        _listed(lambda m: f"You may import only from this list of modules: {m}"),  # smolagents
        _listed(lambda m: "Members online:\n" + "\n".join(f"• {x}" for x in m), _ARRAY_OR_MOVED),
        _listed(lambda m: f"Rôles Discord : {', '.join(m)}"),
        _listed(lambda m: f"Supported: {'/'.join(m)}"),
        _listed(lambda m: f"Wähle eine von {', '.join(m[:-1])} oder {m[-1]}."),
    ),
    "tool_set": (
        tools_changed("tool_set", _strict), tools_changed("tool_set", _schema_key),
        tools_changed("tool_set", _titles), tools_changed("tool_set", _late_server),
        tools_changed("tool_set/edited_message/random_sample", _skills, 4),
        tools_changed("tool_set", _localised), tools_changed("tool_set", _only_required),
        tools_changed("tool_set", _one_more),
    ),
}  # fmt: skip

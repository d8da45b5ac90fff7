"""Tool definitions of base applications, in OpenAI's form."""

import random
from typing import Any

Tool = dict[str, Any]

_FIELDS: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "id",
        {"type": "string", "description": "The number printed on the letter, such as 'K-4711'."},
    ),
    ("limit", {"type": "integer", "description": "Most rows.", "default": 20, "maximum": 100}),
    ("amount", {"type": "number", "description": "In euros.", "minimum": 0, "multipleOf": 0.5}),
    ("status", {"type": "string", "enum": ["open", "pending", "closed", "refused"]}),
    ("since", {"type": "string", "description": "First day, YYYY-MM-DD, such as '2024-05-01'."}),
    ("urgent", {"type": "boolean", "description": "Whether to jump the queue.", "default": False}),
    ("tags", {"type": "array", "items": {"type": "string"}, "maxItems": 8}),
    (
        "contact",
        {
            "type": "object",
            "description": "Whom to tell.",
            "properties": {
                "name": {"type": "string"},
                "channel": {"type": "string", "enum": ["mail", "phone", "letter"]},
                "retries": {"type": "integer", "default": 3, "maximum": 10},
            },
            "required": ["name", "channel", "retries"],
        },
    ),
    ("note", {"type": "string", "description": "Free text, at most 300 characters."}),
    ("page", {"type": "integer", "description": "From 1.", "default": 1, "minimum": 1}),
)

_VERBS = ("get", "list", "update", "cancel", "search", "create", "confirm", "export")


def service_tools(rng: random.Random, things: tuple[str, ...]) -> list[Tool]:
    """Four to nine functions over an application's things."""
    names = [f"{verb}_{thing.replace(' ', '_')}" for verb in _VERBS for thing in things]
    chosen = rng.sample(names, rng.randrange(4, 10))
    return [_tool(rng, name) for name in chosen]


def spare_tool(rng: random.Random, number: int) -> Tool:
    """A function that no base application has."""
    kind = rng.choice(("translate", "escalate", "remind", "summarise", "geocode", "render"))
    return _tool(rng, f"{kind}_{number}")


def _tool(rng: random.Random, name: str) -> Tool:
    fields = rng.sample(_FIELDS, rng.randrange(3, 7))
    verb, _, thing = name.partition("_")
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": f"{verb.capitalize()} a {thing.replace('_', ' ')} on the customer's "
            f"behalf. Returns {rng.choice(('the record', 'a list', 'the new state'))}.",
            "parameters": {
                "type": "object",
                "properties": {field: _copy(schema) for field, schema in fields},
                "required": [field for field, _ in fields[: rng.randrange(2, len(fields) + 1)]],
                "additionalProperties": False,
            },
        },
    }


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(part) for key, part in value.items()}
    return [_copy(part) for part in value] if isinstance(value, list) else value


def _simple(name: str, description: str, **fields: str) -> Tool:
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": {
                    key: {"type": kind, "description": f"The {key.replace('_', ' ')} to use."}
                    for key, kind in fields.items()
                },
                "required": list(fields),
            },
        },
    }


def code_tools(rng: random.Random, application: str) -> list[Tool]:
    """What coding agents have, as one application names and describes it."""
    tools = [
        _simple(
            "Bash",
            "Run a shell command and return its output.",
            command="string",
            timeout="integer",
        ),
        _simple(
            "Read",
            "Read a file of the repository.",
            file_path="string",
            offset="integer",
            limit="integer",
        ),
        _simple(
            "Edit",
            "Replace a piece of text in a file.",
            file_path="string",
            old="string",
            new="string",
        ),
        _simple(
            "Grep", "Search the repository.", pattern="string", path="string", max_results="integer"
        ),
        _simple("Glob", "List files by a pattern.", pattern="string", path="string"),
        _simple("TodoWrite", "Keep the list of tasks.", todos="array", merge="boolean"),
        _simple(
            "WebFetch",
            "Fetch a page and answer a question about it.",
            url="string",
            prompt="string",
        ),
    ]
    return _own(rng, application, tools)


def browser_tools(rng: random.Random, application: str) -> list[Tool]:
    """What browser agents have."""
    tools = [
        _simple("navigate", "Open an address.", url="string", wait_ms="integer"),
        _simple("click", "Click an element.", element="integer", button="string"),
        _simple(
            "type_text", "Type into an element.", element="integer", text="string", submit="boolean"
        ),
        _simple("scroll", "Scroll the page.", direction="string", pixels="integer"),
        _simple("screenshot", "Take a picture of the page.", full_page="boolean", scale="number"),
        _simple("extract", "Read text from the page.", query="string", limit="integer"),
    ]
    return _own(rng, application, tools)


def _own(rng: random.Random, application: str, tools: list[Tool]) -> list[Tool]:
    """Two applications have neither the same tools nor the same words for them."""
    chosen = rng.sample(tools, rng.randrange(5, len(tools) + 1))
    prefix = application.split()[0].lower()
    for tool in chosen:
        function = tool["function"]
        function["name"] = f"{prefix}_{function['name']}"
        function["description"] += f" Only within {application}."
    return chosen

"""What mistral-common does not take is told by its place, without a word of the request; what says
the same in another form is taken; and nothing is fetched."""

import socket
from functools import cache
from typing import Any

import pytest

from hitpath.core import InputError
from hitpath.text.tokenizer import RenderError, TextTokenizer, load_tokenizer
from hitpath.traces.prompts import TextPrompts

NAMES = ("tekken_240718", "tekken_240911")
SECRET = "violet-otter"
USER = {"role": "user", "content": f"{SECRET} hello"}
SCHEMA = {"type": "object", "properties": {"room": {"type": "string"}}}
OPENAI: dict[str, Any] = {"type": "function", "function": {"name": "book", "description": "Books.",
                                           "parameters": SCHEMA}}  # fmt: skip


@cache
def tokenizer(name: str = NAMES[1]) -> TextTokenizer:
    pytest.importorskip("mistral_common")
    return load_tokenizer(f"mistral:{name}")


def call(name: str = "book", number: str = "abcdefghi", arguments: Any = "{}") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"role": "assistant", "tool_calls": [
        {"id": number, "type": "function", "function": function}]}  # fmt: skip


def result(number: str = "abcdefghi") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": number, "content": SECRET}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "tool",
    [
        {"name": "book", "description": "Books.", "input_schema": SCHEMA},
        {"type": "custom", "name": "book", "description": "Books.", "input_schema": SCHEMA},
        {"type": "function", "name": "book", "description": "Books.", "parameters": SCHEMA},
    ],
    ids=["anthropic", "anthropic-custom", "responses"],
)
def test_tools_of_other_apis_say_the_same(name: str, tool: dict[str, Any]) -> None:
    one = tokenizer(name)
    assert one.render_chat([USER], [tool]) == one.render_chat([USER], [OPENAI])


BAD_TOOLS = [
    ({"type": "web_search_20250305", "name": "web"}, "OpenAI's form (type, function)"),
    ({"name": "book", "input_schema": SCHEMA, "strange": SECRET}, "OpenAI's form"),
    ({"type": "function", "function": {"name": f"{SECRET} book!"}}, "OpenAI's form"),
    ({"type": "function", "function": {"parameters": SCHEMA}}, "OpenAI's form"),
    (SECRET, "OpenAI's form"),
    ({"type": "function", "function": {"name": "book", "parameters": {"type": SECRET}}},
     "no JSON schema"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "cause"), BAD_TOOLS)
def test_a_bad_tool_is_named(tool: Any, cause: str) -> None:
    with pytest.raises(RenderError) as told:
        tokenizer().render_chat([USER], [OPENAI, tool])
    assert told.value.field == "tools[1]"
    assert cause in told.value.cause
    assert SECRET not in str(told.value)


BAD_MESSAGES: list[tuple[str, list[dict[str, Any]], str]] = [
    ("messages[1].role", [USER, {"role": SECRET, "content": "x"}], "is none of"),
    ("messages[1].role", [USER, {"content": SECRET}], "is none of"),
    ("messages[0]", [{"role": "user", "content": None}], "valid string"),
    ("messages[0].content", [{"role": "user", "content": {"a": SECRET}}], "neither text"),
    ("messages[1]", [USER, {"role": "tool", "tool_call_id": 7, "content": SECRET}], "string"),
    ("messages[0].content[1]",
     [{"role": "user", "content": [{"type": "text", "text": "x"},
                                   {"type": "image_url", "image_url": {"url": SECRET}}]}],
     "a picture"),
    ("messages[1].content[0]",
     [USER, {"role": "assistant", "content": [
         {"type": "tool_use", "id": "a", "name": SECRET, "input": {}}]}, USER], "Anthropic's form"),
    ("messages[0].content[0]", [{"role": "user", "content": [SECRET]}], "another kind"),
    ("messages[1].tool_calls[0].function.name", [USER, call(f"{SECRET} f!"), result()], "64"),
    ("messages[1].tool_calls[0].id", [USER, call(number="se"), result("se")], "9 letters"),
    ("messages[1]", [USER, {**call(), "content": SECRET}, result()], "content and tool_calls"),
    ("messages", [USER, {"role": "assistant", "content": SECRET}], "Expected last role"),
    ("messages", [], "at least one message"),
    ("messages", [USER, {"role": "assistant", "content": "x"},
                  {"role": "system", "content": SECRET}, USER], "Unexpected role"),
]  # fmt: skip


@pytest.mark.parametrize(("field", "messages", "cause"), BAD_MESSAGES)
def test_a_bad_message_is_named(field: str, messages: list[dict[str, Any]], cause: str) -> None:
    with pytest.raises(RenderError) as told:
        tokenizer().render_chat(messages, [OPENAI])
    assert told.value.field == field
    assert cause in told.value.cause
    assert SECRET not in str(told.value)
    assert "pydantic" not in str(told.value)
    assert "\n" not in str(told.value)


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """mistral-common loads the pictures that a message names, from the network or the disk."""

    def no_network(*_: Any, **__: Any) -> None:
        raise AssertionError("a socket was asked for")

    one = tokenizer()
    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    for url in ("http://example.org/x.png", "file:///etc/hostname", "data:image/png;base64,AA"):
        block = {"type": "image_url", "image_url": {"url": url}}
        with pytest.raises(RenderError, match="a picture"):
            one.render_chat([{"role": "user", "content": [block]}], None)


def test_places_are_those_of_the_row() -> None:
    prompts = TextPrompts(tokenizer())
    names = ["spans[0].a", "spans[0].b"]
    with pytest.raises(InputError) as told:
        prompts.chat([USER, {"role": "x"}], None, None, "messages", "t.jsonl:3", names)
    assert (told.value.place, told.value.field) == ("t.jsonl:3", "spans[0].b.role")


def test_good_requests_are_what_they_were() -> None:
    chat = [{"role": "system", "content": "Be brief."}, USER, call(number="xx-abcdefghi"),
            result("xx-abcdefghi"), {"role": "assistant", "content": "ok"}, USER]  # fmt: skip
    text = tokenizer().render_chat(chat, [OPENAI])
    assert SECRET in text
    assert '"id": "abcdefghi"' in text


def test_the_schema_of_a_tool_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    validator = pytest.importorskip("mistral_common.protocol.instruct.validator")
    num = 0
    check = validator.validate_json_schema_by_draft7

    def counted(**told: Any) -> None:
        nonlocal num
        num += 1
        check(**told)

    monkeypatch.setattr(validator, "validate_json_schema_by_draft7", counted)
    one = load_tokenizer(f"mistral:{NAMES[0]}")
    other = {"type": "function", "function": {**OPENAI["function"], "name": "other"}}
    texts = {one.render_chat([USER], [OPENAI, other]) for _ in range(5)}
    assert len(texts) == 1
    assert num == 2
    bad = {"type": "function", "function": {"name": "book", "parameters": {"type": SECRET}}}
    for _ in range(2):
        with pytest.raises(RenderError, match="no JSON schema"):
            one.render_chat([USER], [OPENAI, bad])
    assert num > 2

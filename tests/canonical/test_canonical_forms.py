"""Canonical forms, case by case: what is put in order, what must never be touched."""

import json
from typing import Any

import pytest

from hitpath.canonical import (
    Change,
    Options,
    apply_changes,
    canonical_json,
    canonical_json_text,
    canonical_request,
    coarsen_clock,
    json_text_kept,
    normalise_space,
    normalise_unicode,
    stable_tools,
    volatile_to_tail,
)
from hitpath.core import InputError
from support import shared_data

SCHEMA = {
    "type": "object",
    "required": ["z", "a"],
    "properties": {
        "z": {"enum": ["low", "high", "mid"], "default": "mid"},
        "a": {"oneOf": [{"type": "string"}, {"type": "null"}], "examples": [2, 1]},
        "pair": {"prefixItems": [{"type": "string"}, {"type": "number"}]},
        "required": {"type": "array", "items": {"type": "string"}},
        "d": {"default": {"required": ["y", "x"]}},
    },
}


def test_keys_are_sorted_at_any_depth_and_arrays_stay() -> None:
    text, changes = canonical_json(SCHEMA)
    assert json.loads(text) == SCHEMA
    assert (
        text.index('"properties"')
        < text.index('"required":["z","a"]')
        < text.index('"type":"object"')
    )
    assert '["low","high","mid"]' in text
    assert '[{"type":"string"},{"type":"null"}]' in text
    paths = ["properties.z", "properties.a", "properties.required", "properties", ""]
    assert [change.json_path for change in changes] == paths
    assert {change.kind for change in changes} == {"key_order"}
    top = changes[-1]
    assert json.loads(top.replacement) == ["properties", "required", "type"]
    written = json.dumps(SCHEMA, separators=(",", ":"))
    assert written[top.char_offset : top.char_offset + top.num_chars] == written[1:-1]


def test_required_is_sorted_only_if_asked_and_only_where_it_is_a_list_of_names() -> None:
    text, changes = canonical_json(SCHEMA, sort_required=True)
    assert '"required":["a","z"]' in text
    assert '"required":["y","x"]' in text  # a default value, not a schema
    (moved,) = [change for change in changes if change.kind == "array_order"]
    assert (moved.json_path, moved.replacement) == ("required", "[1,0]")


def test_numbers_and_strings_keep_their_meaning() -> None:
    value = [1, 1.0, -0.0, 1e22, 10**20, 0.1, True, None, "é\u2028/\ud800", ""]
    assert canonical_json(value).value == (
        '[1,1.0,-0.0,1e+22,100000000000000000000,0.1,true,null,"é\u2028/\\ud800",""]'
    )


@pytest.mark.parametrize(
    ("value", "cause"),
    [
        ({1: "x"}, "no string"),
        ([float("nan")], "no number of JSON"),
        ({"a": {"b": {1, 2}}}, "a set is no value of JSON"),
        ([b"x"], "a bytes is no value of JSON"),
        (float("inf"), "no number of JSON"),
    ],
)
def test_what_is_not_json_is_told_with_its_place(value: Any, cause: str) -> None:
    with pytest.raises(InputError, match=cause) as caught:
        canonical_json(value)
    assert caught.value.field in ("", "[0]", "a.b")


def nested(depth: int, kind: str = "list") -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value] if kind == "list" else {"b": value, "a": 0}
    return value


def test_depth_is_bounded_and_needs_no_recursion() -> None:
    assert canonical_json(nested(1000)).value == "[" * 1000 + "1" + "]" * 1000
    text, changes = canonical_json(nested(999, "dict"))
    assert len(changes) == 999
    assert text.startswith('{"a":0,"b":{"a":0')
    with pytest.raises(InputError, match="nested deeper than 1,000 levels"):
        canonical_json(nested(1001))
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    with pytest.raises(InputError, match="nested deeper"):
        canonical_json(cyclic)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ('{"b": 1, "a": [2, 1]}', '{"a":[2,1],"b":1}'),
        ('[1.10, 1e2, 1E-7, 100, -0.0, 1.5e300, 12345678901234567890.0]',
         "[1.1,100.0,1e-07,100,-0.0,1.5e+300,1.234567890123456789e+19]"),
        ('{"a": 1, "b": 2, "a": 3}', '{"a":1,"a":3,"b":2}'),
        ('  {"a":"\\u00e9\\/"}\n', '  {"a":"é/"}\n'),
        ("{not json}", "{not json}"),
        ("[1,]", "[1,]"),
        ('["open', '["open'),
        ("[01]", "[01]"),
        ("[1] trailing", "[1] trailing"),
        ("3.10", "3.10"),
        ("", ""),
    ],
)  # fmt: skip
def test_json_in_text(text: str, canonical: str) -> None:
    found = canonical_json_text(text)
    assert found.value == canonical
    assert apply_changes(text, found.changes) == canonical


def test_json_within_prose() -> None:
    text = 'Use {"b": 1, "a": 2} or [ 3 ], not {this} nor [see "x"] nor {"a": }.'
    found = canonical_json_text(text, inside=True)
    assert found.value == 'Use {"a":2,"b":1} or [3], not {this} nor [see "x"] nor {"a": }.'
    assert [change.kind for change in found.changes] == ["key_order", "white_space", "white_space"]
    moved = {
        text[k.start : k.start + k.num_chars]: k.new_start
        for k in json_text_kept(text, inside=True)
    }
    assert moved['"b"'] == found.value.index('"b"')


def tool(name: str, **parameters: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def test_tools_of_every_shape_are_sorted_by_name() -> None:
    tools = [
        tool("zebra"),
        {"type": "function", "name": "flat", "parameters": {}},
        {"name": "anthropic", "input_schema": {"b": 1, "a": 2}},
        {"name": "mcp", "inputSchema": {}},
        {"toolSpec": {"name": "bedrock", "inputSchema": {"json": {}}}},
        {"type": "web_search"},
        {"functionDeclarations": [{"name": "two"}, {"name": "one"}]},
    ]
    stable, changes = stable_tools(tools, path="tools")
    assert stable == [
        {"functionDeclarations": [{"name": "one"}, {"name": "two"}]},
        tools[2], tools[4], tools[1], tools[3], tools[5], tools[0],
    ]  # fmt: skip
    assert [(c.kind, c.json_path) for c in changes] == [
        ("key_order", "tools[2].input_schema"),
        ("tool_order", "tools[6].functionDeclarations"),
        ("tool_order", "tools"),
    ]
    assert json.loads(changes[-1].replacement) == [6, 2, 4, 1, 3, 5, 0]


def test_tools_of_one_name_are_ordered_by_their_text() -> None:
    one, other = tool("same", a=1), tool("same", b=2)
    assert stable_tools([other, one]).value == stable_tools([one, other]).value == [one, other]


def test_a_cache_mark_stays_at_its_place() -> None:
    mark = {"type": "ephemeral"}
    tools = [
        {"name": "b", "input_schema": {}},
        {"name": "a", "input_schema": {}, "cache_control": mark},
    ]
    stable = stable_tools(tools).value
    assert [one["name"] for one in stable] == ["a", "b"]
    assert "cache_control" not in stable[0]
    assert stable[1]["cache_control"] == mark
    assert "cache_control" in tools[1]  # what was given is as it was


def test_what_nobody_sees_is_taken_out_and_what_spells_stays() -> None:
    text = "\ufeffA\u200b line\u00a0here \t\r\nمی\u200cخواهم 👩\u200d👧 x\u200dy\r  indented\n"
    value, changes = normalise_space(text)
    assert value == "A line here\nمی\u200cخواهم 👩\u200d👧 xy\n  indented\n"
    assert [(c.kind, c.char_offset, c.num_chars, c.replacement) for c in changes] == [
        ("hidden_characters", 0, 1, ""),
        ("hidden_characters", 2, 1, ""),
        ("hidden_characters", 8, 1, " "),
        ("white_space", 13, 2, ""),
        ("white_space", 15, 2, "\n"),
        ("hidden_characters", text.index("x\u200d") + 1, 1, ""),
        ("white_space", text.index("\r  "), 1, "\n"),
    ]


def test_unicode_form_is_exact_to_the_character() -> None:
    text = "plain cafe\u0301 and 한글"
    value, changes = normalise_unicode(text)
    assert value == "plain café and 한글"
    assert changes[0] == Change("unicode_form", "", 9, 2, "é")


@pytest.mark.parametrize(
    ("text", "unit", "coarse"),
    [
        (
            "Current time: 2025-03-03 14:22:31.123Z",
            "hour",
            "Current time: 2025-03-03 14:00:00.000Z",
        ),
        (
            "Current time: 2025-03-03T14:22:31+05:30",
            "minute",
            "Current time: 2025-03-03T14:22:00+05:30",
        ),
        ("Current time: 2025-03-03 14:22", "day", "Current time: 2025-03-03 00:00"),
        ("It is now 2:22 PM PST", "hour", "It is now 2:00 PM PST"),
        ("It is now 2:22 p.m.", "day", "It is now 12:00 a.m."),
        ("now=1741011751", "hour", "now=1741010400"),
        ("now: 1741011751123", "day", "now: 1740960000000"),
        ("time: 1741011751.25", "minute", "time: 1741011720.00"),
        ("现在 2025年3月3日 下午3时22分", "day", "现在 2025年3月3日 上午0时00分"),
        ("Current date: Monday, March 3, 2025", "day", "Current date: Monday, March 3, 2025"),
        ("20250303T142231Z\nYou are", "hour", "20250303T140000Z\nYou are"),
        (
            "Offers from before 2025-03-03 14:22:31",
            "hour",
            "Offers from before 2025-03-03 14:22:31",
        ),
    ],
)
def test_clocks_by_unit(text: str, unit: Any, coarse: str) -> None:
    found = coarsen_clock(text, unit)
    assert found.value == coarse
    assert apply_changes(text, found.changes) == coarse


def test_volatile_text_goes_to_the_end_and_the_users_own_text_stays() -> None:
    messages = [
        {"role": "system", "content": "Current time: 2025-03-03 14:22:31. Cutoff: 2024-06-01."},
        {
            "role": "user",
            "content": "I was born on 1990-01-01 14:22:31, id 0b9c2f7e-1111-4222-8333-123456789abc",
        },
        {"role": "assistant", "content": "Current time: 2025-03-03 14:20:00"},
        {"role": "user", "content": [{"type": "text", "text": "And now?"}]},
    ]
    value, changes = volatile_to_tail(messages)
    assert value[0]["content"] == "Current time: [clock 1: at the end]. Cutoff: 2024-06-01."
    assert value[1:3] == messages[1:3]
    header = "[values of this request, moved here from the instructions above]"
    block = f"{header}\nclock 1: 2025-03-03 14:22:31"
    assert value[3]["content"] == [
        {"type": "text", "text": "And now?"},
        {"type": "text", "text": block},
    ]
    assert changes == (
        Change("clock", "messages[0].content", 14, 19, "[clock 1: at the end]"),
        Change("clock", "messages[3].content[1].text", 0, 0, block),
    )


def test_a_coarse_clock_stays_and_the_exact_one_moves() -> None:
    messages = [
        {"role": "system", "content": "Current time: 2025-03-03 14:22"},
        {"role": "user", "content": "Hi"},
    ]
    value, _ = volatile_to_tail(messages, coarse="day")
    assert value[0]["content"] == "Current time: 2025-03-03 00:00"
    assert value[1]["content"].endswith("\nclock 1: 2025-03-03 14:22")
    assert volatile_to_tail(value, coarse="day") == (value, ())


@pytest.mark.parametrize(
    ("messages", "last"),
    [
        ([{"role": "user", "content": "Q"}, {"role": "assistant", "content": "I"}], ["Q", "I"]),
        ([{"role": "tool", "content": "42"}], ["42"]),
        ([{"type": "function_call_output", "call_id": "c", "output": "42"}], ["42"]),
        ([{"role": "user", "content": None}], [None, ""]),
        ([{"role": "assistant", "content": "only a reply"}], None),
        ([], ["[clock"]),
    ],
)
def test_where_the_block_goes(messages: list[Any], last: list[str] | None) -> None:
    system = {"role": "system", "content": "Current time: 2025-03-03 14:22"}
    value = volatile_to_tail([system, *messages]).value
    texts = [one.get("content", one.get("output")) for one in value]
    with_block = [at for at, text in enumerate(texts) if text and "[values of" in text]
    if not messages or last is None:  # nothing but the system message is left to end it
        assert with_block == [0]
    else:
        (at,) = with_block
        assert value[at].get("role") != "assistant"
        assert at == len(value) - 1 or value[at + 1]["role"] == "assistant"


def test_the_three_apis() -> None:
    options = Options(tail=True)
    anthropic = {
        "system": [{"type": "text", "text": "Now: 2025-03-03 14:22"}],
        "tools": [{"name": "b", "input_schema": {}}, {"name": "a", "input_schema": {}}],
        "messages": [{"role": "user", "content": "Hi"}],
    }
    value = canonical_request(anthropic, options).value
    assert value["system"][0]["text"] == "Now: [clock 1: at the end]"
    assert "clock 1: 2025-03-03 14:22" in value["messages"][0]["content"]
    assert [one["name"] for one in value["tools"]] == ["a", "b"]
    responses = {"model": "m", "instructions": "Now: 2025-03-03 14:22", "input": "Hi"}
    value = canonical_request(responses, options).value
    assert value["instructions"] == "Now: [clock 1: at the end]"
    assert value["input"].startswith("Hi\n\n[values of")
    items = {
        **responses,
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}],
    }
    value = canonical_request(items, options).value
    assert value["input"][0]["content"][1]["type"] == "input_text"
    chat = {
        "messages": [
            {"role": "developer", "content": "Now: 2025-03-03 14:22"},
            {"role": "user", "content": "x"},
        ],
        "response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA, "name": "n"}},
    }
    value, changes = canonical_request(chat, options)
    assert json.dumps(value["response_format"]) == json.dumps(
        chat["response_format"], sort_keys=True
    )
    assert any(c.json_path.startswith("response_format.json_schema") for c in changes)


def test_each_step_has_its_switch() -> None:
    body = {
        "tools": [tool("b", z=1, a=2), tool("a")],
        "messages": [
            {"role": "system", "content": "Now: 2025-03-03 14:22:31\u00a0e\u0301"},
            {"role": "user", "content": '{"b": 1, "a": 2}  '},
        ],
    }
    off = Options(tools=False, keys=False, space=False)
    assert canonical_request(body, off) == (body, ())
    assert json.dumps(canonical_request(body, off).value) == json.dumps(body)
    for options, kinds in (
        (Options(tools=True, keys=False, space=False), {"tool_order"}),
        (Options(tools=False, keys=True, space=False), {"key_order"}),
        (Options(tools=False, keys=False, space=True), {"hidden_characters"}),
        (Options(tools=False, keys=False, space=False, unicode="NFC"), {"unicode_form"}),
        (Options(tools=False, keys=False, space=False, clock="hour"), {"clock"}),
        (Options(tools=False, keys=False, space=False, tail=True), {"clock"}),
        (Options(tools=False, keys=False, space=True, all_texts=True),
         {"hidden_characters", "white_space"}),
        (Options(tools=False, keys=False, space=False, json_texts=True, all_texts=True),
         {"key_order"}),
    ):  # fmt: skip
        assert {change.kind for change in canonical_request(body, options).changes} == kinds


def test_a_body_that_is_none_is_told() -> None:
    for value in ([], "x", None):
        with pytest.raises(InputError, match="a request body is an object"):
            canonical_request(value)  # type: ignore[arg-type]
    for strange in ({"messages": 3}, {"messages": [1, None, []]}, {"tools": {}}, {"system": [3]}):
        assert canonical_request(strange, Options(tail=True)) == (strange, ())


def test_real_requests_change_only_in_their_order() -> None:
    rows = [
        json.loads(line)
        for line in shared_data("tau_bench/airline_gpt4o_requests.jsonl").read_text().splitlines()
    ]
    firsts = {json.dumps(canonical_request(row).value["tools"]) for row in rows}
    assert len(firsts) == 1
    for row in rows[:20]:
        value, changes = canonical_request(row)
        assert {change.kind for change in changes} <= {"tool_order", "key_order", "white_space"}
        assert value["messages"][1:] == row["messages"][1:]
        by_name = {one["function"]["name"]: one for one in value["tools"]}
        assert by_name == {one["function"]["name"]: one for one in row["tools"]}


BIG = {
    "digits": "1" * 100_000,
    "spaces": " \u00a0" * 100_000 + "x",
    "dates": "2025-03-03 14:22:31 " * 6_000,
    "brackets": "[" * 150_000,
    "braces": '{"a":' * 60_000,
    "quotes": '{"' * 100_000,
    "half words": "Current time: " * 20_000,
    "hex": "ab12" * 60_000,
    "marks": "a" + "\u0316\u0301" * 100_000,
    "joiners": "\u200d" * 150_000,
    "colons": "1:" * 100_000,
    "attribution": "x-a:" * 60_000,
    "lines": "x-aa:\n" * 30_000,
    "request id": "request id: " * 60_000,
    "months": "March 3 " * 20_000,
}


@pytest.mark.parametrize("name", BIG)
def test_hostile_text_takes_bounded_time(name: str) -> None:
    text = BIG[name]
    body = {"messages": [{"role": "system", "content": text}, {"role": "user", "content": "x"}]}
    options = Options(unicode="NFC", json_inside=True, tail=True)
    value = canonical_request(body, options).value  # the suite's limit ends quadratic time
    assert value["messages"][1]["content"].startswith("x")

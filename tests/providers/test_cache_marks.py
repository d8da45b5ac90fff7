"""Marks for caches in bodies: places in the rendered prompt, whatever stands between."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from provider_bodies import body, control, text, traced

from hitpath.text.as_bytes import render_chat
from hitpath.traces import read_trace
from hitpath.traces.cache_marks import Mark, marks_of, read_marks
from hitpath.traces.conversations import plain_message, plain_tools
from support import write_jsonl


def test_every_block_ends_where_its_text_does(tmp_path):
    tools = [{"name": "a", "input_schema": {}}, {"name": "b", "cache_control": control()}]
    system = [text("You are helpful.", control("1h"))]
    content = [text("one"), {"type": "image", "source": {}, "cache_control": control()}, text("é")]
    messages = [{"role": "user", "content": content}, {"role": "assistant", "content": "yes"}]
    trace, marks = traced(tmp_path, [body(messages, tools=tools, system=system)])
    (found,) = marks
    prompt = trace.prompts.flat.tobytes()
    parts = [prompt[a:b] for a, b in zip((0, *found.block_ends), found.block_ends, strict=False)]
    assert parts == [
        b'<|tools|>\n[{"name":"a","input_schema":{}}',
        b',{"name":"b"}',
        b"]<|end|>\n<|system|>\nYou are helpful.<|end|>\n",
        b'<|user|>\n{"content":[{"type":"text","text":"one"}',
        b',{"type":"image","source":{}}',
        ',{"type":"text","text":"é"}]}<|end|>\n'.encode(),
        b"<|assistant|>\nyes<|end|>\n",
    ]
    ends = found.block_ends
    assert found.marks == (Mark(ends[1], None), Mark(ends[2], 3600.0), Mark(ends[4], None))


def test_marks_of_other_services():
    """OpenAI's from GPT-5.6 on, Bedrock's Converse, and Anthropic's mark for the whole body."""
    content = [text("a" * 9, prompt_cache_breakpoint={"mode": "explicit"}), text("b")]
    row = {
        "messages": [{"role": "user", "content": content}],
        "prompt_cache_key": "k",
        "prompt_cache_options": {"mode": "explicit", "ttl": "30m"},
    }
    found = marks_of(json_of(row))
    assert (len(found.block_ends), len(found.marks)) == (2, 1)
    assert (found.key, found.mode) == ("k", "explicit")
    point = [{"text": "a"}, {"cachePoint": {"type": "default"}}]
    found = marks_of(json_of({"messages": [{"role": "user", "content": point}]}))
    assert found.marks == (Mark(found.block_ends[-1], None),)
    row = {"cache_control": control("5m"), "messages": [{"role": "user", "content": "a"}]}
    assert marks_of(json_of(row)).automatic == Mark(26 - 8, 300.0)


def json_of(row):
    import msgspec

    return msgspec.json.encode(row)


BLOCKS = st.lists(
    st.one_of(
        st.builds(text, st.text(max_size=9), st.sampled_from([None, control(), control("1h")])),
        st.builds(lambda n: {"type": "tool_result", "content": [text(n, control())]}, st.text()),
        st.builds(lambda n: {"type": "image", "source": {"content": n}}, st.text(max_size=4)),
    ),
    min_size=1,
    max_size=4,
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant"]), "content": st.one_of(st.text(), BLOCKS)},
        optional={"name": st.text(max_size=3), "tool_calls": st.just([{"content": []}])},
    ),
    min_size=1,
    max_size=4,
)


@given(MESSAGES, st.lists(st.fixed_dictionaries({"name": st.text(max_size=3)}), max_size=2))
def test_ends_rise_to_the_end_and_equal_prompts_have_equal_ends(messages, tools):
    found = marks_of(json_of({"messages": messages, "tools": tools}))
    rendered = render_chat([plain_message(m) for m in messages], plain_tools(tools))
    ends = found.block_ends
    assert list(ends) == sorted(set(ends))
    assert ends[-1] + len(b"<|assistant|>\n") == len(rendered)
    assert {mark.end for mark in found.marks} <= set(ends)
    longer = [*messages, {"role": "user", "content": "more"}]
    assert marks_of(json_of({"messages": longer, "tools": tools})).block_ends[:-1] == ends


@pytest.mark.parametrize("row", [b"[]", b"{}", b'{"prompt": "x"}', b"nonsense", b'{"messages": 3}'])
def test_what_is_no_chat_has_no_marks(row):
    assert marks_of(row) is None


def test_only_bodies_in_bytes_have_marks(tmp_path):
    rows = [{"id": i, "arrival_s": i, "prompt": "abc"} for i in range(3)]
    path = str(write_jsonl(tmp_path / "own.jsonl", rows))
    assert read_marks([path], read_trace([path], keep_places=True)) is None
    trace, marks = traced(tmp_path, [body([{"role": "user", "content": "hi"}])])
    assert marks is not None
    assert read_marks(["-"], trace) is None
    assert np.all(trace.prompts.lengths > marks[0].block_ends[-1])

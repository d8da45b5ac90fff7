"""`--tokenizer` in an analysis: real tokens, comparable reports, refusals in one line."""

import json

import numpy as np
import pytest

from cli import call
from hitpath.core import ABSENT, InputError, Setting
from hitpath.spine import analyze_trace
from hitpath.text.tokenizer import load_tokenizer
from hitpath.traces import read_trace
from support import shared_data, write_jsonl

TEKKEN = "mistral:tekken_240911"


def chat_rows(num_turns: int) -> list[dict]:
    """One conversation that grows, as an application sends it."""
    messages = [{"role": "user", "content": "What is a prefix cache? " * 20}]
    rows = []
    for turn in range(num_turns):
        reply = f"Answer {turn}: it keeps keys and values of a common beginning. " * 6
        rows.append(
            {"id": turn, "arrival_s": turn, "session": "s", "messages": list(messages),
             "reply": reply}
        )  # fmt: skip
        messages += [
            {"role": "assistant", "content": reply},
            {"role": "user", "content": f"And then, {turn}?"},
        ]
    return rows


def test_turns_are_the_tokens_of_their_whole_text(tmp_path):
    rows = chat_rows(6)
    tokenizer = load_tokenizer(TEKKEN)
    trace = read_trace([str(write_jsonl(tmp_path / "t.jsonl", rows))], tokenizer=tokenizer)
    assert trace.identity == "tokens"
    for i, row in enumerate(rows):
        whole = tokenizer.encode(tokenizer.render_chat(row["messages"], None))
        got = trace.prompts.flat[trace.prompts.offsets[i] : trace.prompts.offsets[i + 1]]
        assert np.array_equal(got, whole)
    ledger = analyze_trace(trace, Setting(outputs="insert", block_size=1)).ledger
    # All of a turn but its new question and the marks around it was computed before.
    assert (ledger.prompt - ledger.hit)[1:].max() < 20


def test_reports_are_compared_once_the_units_agree(tmp_path):
    rows = chat_rows(2)
    tokenizer = load_tokenizer(TEKKEN)
    length = len(tokenizer.encode(tokenizer.render_chat(rows[0]["messages"], None)))
    rows[0]["reported"] = {"prompt_tokens": length, "counting": "inclusive", "cached_tokens": 16}
    rows[1]["reported"] = {"prompt_tokens": 1, "counting": "inclusive", "cached_tokens": 0}
    path = str(write_jsonl(tmp_path / "t.jsonl", rows))
    trace = read_trace([path], tokenizer=tokenizer)
    assert trace.reported_hit.tolist() == [16, 0]
    assert [p.field for p in trace.excluded.values()] == ["reported.prompt_tokens"]
    in_bytes = read_trace([path])
    assert in_bytes.identity == "text"
    assert not in_bytes.excluded


def test_the_option_in_the_command(tmp_path):
    path = write_jsonl(tmp_path / "t.jsonl", chat_rows(3))
    told = json.loads(call("analyze", path, "--tokenizer", TEKKEN, "--json", "-").text)
    assert told["setting"]["tokenizer"] == TEKKEN
    assert told["trace"]["identity"] == "tokens"
    assert not any("byte" in warning for warning in told["warnings"])


@pytest.mark.parametrize("spec", ["mistral:none", "no/such", "org/model", ""])
def test_tokenizers_that_are_none_end_in_one_line(tmp_path, spec):
    path = write_jsonl(tmp_path / "t.jsonl", chat_rows(1))
    ended = call("analyze", path, "--tokenizer", spec)
    assert ended.code == 2
    assert ended.err.count("\n") == 1
    assert "--tokenizer" in ended.err


def test_messages_that_a_template_refuses_are_named(tmp_path):
    rows = chat_rows(1)
    rows[0]["messages"][0]["role"] = "nobody"
    path = str(write_jsonl(tmp_path / "t.jsonl", rows))
    with pytest.raises(InputError) as error:
        read_trace([path], tokenizer=load_tokenizer(TEKKEN))
    assert error.value.field.startswith("messages")


def test_request_bodies_and_flat_prompts_take_it(tmp_path):
    tokenizer = load_tokenizer(TEKKEN)
    rows = [
        {"custom_id": str(i), "body": {"model": "m", "messages": row["messages"]},
         "response": {"choices": [{"message": {"role": "assistant", "content": row["reply"]}}],
                      "usage": {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 3}}}}
        for i, row in enumerate(chat_rows(3))
    ]  # fmt: skip
    trace = read_trace([str(write_jsonl(tmp_path / "b.jsonl", rows))], tokenizer=tokenizer)
    assert trace.identity == "tokens"
    for i, row in enumerate(rows):
        whole = tokenizer.encode(tokenizer.render_chat(row["body"]["messages"], None))
        got = trace.prompts.flat[trace.prompts.offsets[i] : trace.prompts.offsets[i + 1]]
        assert np.array_equal(got, whole)
    assert len(trace.excluded) == 3  # the reported prompts are shorter: the counts contradict
    path = next(shared_data("lmcache_taubench").glob("22*.jsonl"))
    flat = read_trace([str(path)], tokenizer=tokenizer)
    text = json.loads(path.read_text().splitlines()[0])["input"]
    head, tail = tokenizer.prompt_frame
    expected = np.concatenate([head, tokenizer.encode(text), tail])
    assert np.array_equal(flat.prompts.flat[: len(expected)], expected)


# --- conversations: ShareGPT, OpenTelemetry, SWE-agent ---


CHATML = (
    "{% for t in tools or [] %}<tool>{{ t.function.name }}</tool>{% endfor %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.role == 'nobody' %}{{ raise_exception('no such role') }}{% endif %}"
    "{{ m.content }}{% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}{% endfor %}"
    "{% if m.tool_call_id %}<of>{{ m.tool_call_id }}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model folder: a byte-level BPE with a chat template."""
    tokenizers = pytest.importorskip("tokenizers")
    byte_level = tokenizers.pre_tokenizers.ByteLevel
    trained = tokenizers.Tokenizer(tokenizers.models.BPE())
    trained.pre_tokenizer = byte_level(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400, initial_alphabet=byte_level.alphabet(), show_progress=False
    )
    trained.train_from_iterator(["It keeps keys and values of a common beginning."] * 9, trainer)
    trained.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    folder = tmp_path_factory.mktemp("model")
    trained.save(str(folder / "tokenizer.json"))
    config = {"chat_template": CHATML, "eos_token": "<|im_end|>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return load_tokenizer(str(folder))


def chatml(messages, tools=()):
    """The template, written a second time."""
    text = "".join(f"<tool>{name}</tool>" for name in tools)
    for m in messages:
        calls = "".join(f"<call>{json.dumps(c)}" for c in m.get("calls", ()))
        of = f"<of>{m['of']}" if "of" in m else ""
        text += f"<|im_start|>{m['role']}\n{m['content']}{calls}{of}<|im_end|>\n"
    return text + "<|im_start|>assistant\n"


def prompts_of(trace):
    return [p.tolist() for p in np.split(trace.prompts.flat, trace.prompts.offsets[1:-1])]


def outputs_of(trace):
    return [p.tolist() for p in np.split(trace.outputs.flat, trace.outputs.offsets[1:-1])]


def written(tmp_path, value):
    path = tmp_path / "t.json"
    path.write_text(json.dumps(value))
    return str(path)


QUESTIONS = [f"What is a prefix cache, {n}? It keeps keys and values. " * 8 for n in range(5)]
ANSWERS = [f"Answer {n}: a common beginning is computed once. " * 6 for n in range(5)]


def turns(count):
    """Messages up to question `count`, that is with all answers before."""
    told = []
    for n in range(count + 1):
        told.append({"role": "user", "content": QUESTIONS[n]})
        if n < count:
            told.append({"role": "assistant", "content": ANSWERS[n]})
    return told


def sharegpt():
    pairs = zip(QUESTIONS, ANSWERS, strict=True)
    told = [{"from": s, "value": v} for q, a in pairs for s, v in (("human", q), ("gpt", a))]
    return [{"id": "c", "conversations": told}]


def swe_agent():
    steps = [
        {"query": turns(n), "response": ANSWERS[n], "action": "x", "observation": ""}
        for n in range(5)
    ]
    return {"trajectory": steps, "history": []}


def swe_agent_history():
    told = [*turns(4), {"role": "assistant", "content": ANSWERS[4]}]
    return {"trajectory": [], "history": told}


def spans():
    def span(n):
        return {
            "trace_id": "t",
            "span_id": f"s{n}",
            "start_time": f"2026-02-26T10:00:0{n}Z",
            "attributes": {
                "gen_ai.operation.name": "chat",
                "gen_ai.input.messages": [
                    {"role": m["role"], "parts": [{"type": "text", "content": m["content"]}]}
                    for m in turns(n)
                ],
                "gen_ai.output.messages": [{"role": "assistant", "content": ANSWERS[n]}],
            },
        }

    return {"spans": [span(n) for n in range(5)]}


CONVERSATIONS = [sharegpt, swe_agent, swe_agent_history, spans]


@pytest.mark.parametrize("make", CONVERSATIONS)
def test_conversations_are_the_tokens_of_each_whole_turn(tmp_path, model, make):
    trace = read_trace([written(tmp_path, make())], tokenizer=model)
    assert trace.identity == "tokens"
    assert prompts_of(trace) == [model.encode(chatml(turns(n))).tolist() for n in range(5)]
    assert outputs_of(trace) == [model.encode(a + "<|im_end|>").tolist() for a in ANSWERS]
    assert not any("byte" in note for note in trace.notes)
    ledger = analyze_trace(trace, Setting(outputs="insert", block_size=1)).ledger
    # Of each turn but the first only the newline after the answer and the question are new.
    new = [len(model.encode("\n" + chatml(turns(n)[-1:]))) for n in range(1, 5)]
    assert (ledger.prompt - ledger.hit)[1:].tolist() == new


@pytest.mark.parametrize("make", CONVERSATIONS)
def test_conversations_with_a_bundled_tokenizer(tmp_path, make):
    tokenizer = load_tokenizer(TEKKEN)
    trace = read_trace([written(tmp_path, make())], tokenizer=tokenizer)
    whole = [tokenizer.encode(tokenizer.render_chat(turns(n), None)).tolist() for n in range(5)]
    assert prompts_of(trace) == whole


@pytest.mark.parametrize("make", CONVERSATIONS)
def test_each_turn_tokenises_little_more_than_what_is_new(tmp_path, model, make, monkeypatch):
    given = []
    encode = type(model).encode
    monkeypatch.setattr(
        type(model), "encode", lambda self, text: given.append(len(text)) or encode(self, text)
    )
    read_trace([written(tmp_path, make())], tokenizer=model)
    turn_chars = [len(chatml(turns(n))) for n in range(5)]
    assert sum(given) < turn_chars[-1] + sum(map(len, ANSWERS)) + 5 * 700
    assert sum(given) < 0.7 * sum(turn_chars)


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (
            [{"id": "c", "conversations": [{"from": "nobody", "value": "x"},
                                           {"from": "gpt", "value": "y"}]}],
            "conversations",
        ),
        (
            {"trajectory": [{"query": [{"role": "user", "content": [{"type": "image_url"}]}]}],
             "history": []},
            "trajectory[0].query[0].content[0]",
        ),
        (
            {"trajectory": [], "history": [{"role": "user", "content": {"a": 1}},
                                           {"role": "assistant", "content": "x"}]},
            "history[0].content",
        ),
        (
            {"spans": [{"span_id": "s", "start_time": 1, "attributes": {
                "gen_ai.system_instructions": "Be brief.",
                "gen_ai.input.messages": [{"role": "user", "content": [{"type": "image"}]}]}}]},
            "spans[0].attributes.gen_ai.input.messages[0].content[0]",
        ),
    ],
)  # fmt: skip
def test_what_a_tokenizer_cannot_take_is_named_as_in_the_row(tmp_path, model, value, field):
    with pytest.raises(InputError) as error:
        read_trace([written(tmp_path, value)], tokenizer=model)
    assert error.value.field == field
    assert read_trace([written(tmp_path, value)]).identity == "text", "bytes take anything"


def test_tool_calls_reach_the_template(tmp_path, model):
    call = {"name": "f", "arguments": {"a": 1}}
    said = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "so", "calls": [call]},
        {"role": "tool", "content": "3", "of": "c"},
        {"role": "user", "content": "and"},
    ]
    expected = [model.encode(chatml(said, ["f"])).tolist()]
    span = {
        "span_id": "s",
        "start_time": 1,
        "attributes": {
            "gen_ai.operation.name": "chat",
            "gen_ai.tool.definitions": [{"type": "function", "name": "f", "parameters": {}}],
            "gen_ai.input.messages": [
                {"role": "user", "parts": [{"type": "text", "content": "go"}]},
                {"role": "assistant", "parts": [
                    {"type": "text", "content": "so"},
                    {"type": "tool_call", "id": "c", "name": "f", "arguments": {"a": 1}}]},
                {"role": "tool", "parts": [
                    {"type": "tool_call_response", "id": "c", "response": "3"}]},
                {"role": "user", "parts": [{"type": "text", "content": "and"}]},
            ],
            "gen_ai.output.messages": [
                {"role": "assistant", "parts": [
                    {"type": "tool_call", "id": "d", "name": "f", "arguments": {}}]}],
            "gen_ai.usage.output_tokens": 12,
        },
    }  # fmt: skip
    trace = read_trace([written(tmp_path, {"spans": [span]})], tokenizer=model)
    assert prompts_of(trace) == expected
    # A call is rendered by the template in the next turn only: its length is as reported.
    assert (trace.has_output.tolist(), trace.output_tokens.tolist()) == ([False], [12])

    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}]
    history = [
        {"role": "user", "content": "go", "agent": "main"},
        {"role": "assistant", "content": "so", "tool_calls": calls, "thought": "x"},
        {"role": "tool", "content": "3", "tool_call_ids": ["c"]},
        {"role": "user", "content": [{"type": "text", "text": "and"}]},
        {"role": "assistant", "content": "done", "tool_calls": calls},
    ]
    expected = [model.encode(chatml(said[:n])).tolist() for n in (1, 4)]
    run = {"trajectory": [], "history": history}
    trace = read_trace([written(tmp_path, run)], tokenizer=model)
    assert prompts_of(trace) == expected
    assert trace.output_tokens.tolist() == [ABSENT, ABSENT]
    query = {"trajectory": [{"query": history[:4], "response": "x"}], "history": []}
    trace = read_trace([written(tmp_path, query)], tokenizer=model)
    assert prompts_of(trace) == expected[1:]


def test_reports_of_spans_are_compared_once_the_units_agree(tmp_path, model):
    told = spans()
    lengths = [len(model.encode(chatml(turns(n)))) for n in range(5)]
    names = "gen_ai.usage.input_tokens", "gen_ai.usage.cache_read.input_tokens"
    for n, span in enumerate(told["spans"]):
        span["attributes"] |= {names[0]: lengths[n] - (n == 3), names[1]: 16 * n}
    told["spans"][4]["attributes"] |= {
        names[1]: None, "gen_ai.usage.cache_read_input_tokens": 9, "gen_ai.system": "anthropic"
    }  # fmt: skip
    trace = read_trace([written(tmp_path, told)], tokenizer=model)
    assert trace.reported_hit.tolist() == [0, 16, 32, 48, 9]
    assert list(trace.excluded) == [3], "its count of the prompt is another"
    assert any(note.startswith("1 spans do not tell whether") for note in trace.notes)
    in_bytes = read_trace([written(tmp_path, told)])
    assert in_bytes.reported_hit.tolist() == [ABSENT] * 5
    assert not in_bytes.excluded


def test_shared_spans_take_a_tokenizer(model):
    path = shared_data("otel_genai/prefix_sharing_example.json")
    trace = read_trace([str(path)], tokenizer=model)
    recorded = [
        json.loads(span["attributes"]["gen_ai.input.messages"])
        for span in json.loads(path.read_text())["spans"]
    ]
    assert prompts_of(trace) == [model.encode(chatml(m)).tolist() for m in recorded]

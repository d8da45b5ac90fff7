"""Bodies of OpenAI's /v1/completions, and usage of Bedrock and Gemini beside request bodies.

Rows are written by hand from the documented shapes: OpenAI's CreateCompletionRequest (prompt: a
string, token ids, or a list of either), Bedrock's Converse response and Gemini's
GenerateContentResponse.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from hitpath.core import ABSENT, InputError
from hitpath.text.tokenizer import load_tokenizer
from hitpath.traces import Trace, read_trace

USER = {"role": "user", "content": "Hi"}


def completion(prompt: Any, **fields: Any) -> dict[str, Any]:
    return {"model": "m", "prompt": prompt, "max_tokens": 5, **fields}


def answer(text: str, **usage: Any) -> dict[str, Any]:
    return {"object": "text_completion", "choices": [{"index": 0, "text": text}], "usage": usage}


def read(tmp_path: Path, *rows: dict[str, Any], **options: Any) -> Trace:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_trace([str(path)], **options)


def refusal(tmp_path: Path, *rows: dict[str, Any]) -> InputError:
    with pytest.raises(InputError) as caught:
        read(tmp_path, *rows)
    return caught.value


def runs(trace: Trace, outputs: bool = False) -> list[list[int]]:
    column = trace.outputs if outputs else trace.prompts
    ends = zip(column.offsets[:-1], column.offsets[1:], strict=True)
    return [column.flat[a:b].tolist() for a, b in ends]


@pytest.mark.parametrize("prompt", ["Once", ["Once"]])
def test_a_prompt_of_text(tmp_path, prompt):
    trace = read(tmp_path, completion(prompt, response=answer(" upon", prompt_tokens=1)))
    assert (trace.format, trace.identity) == ("openai-requests", "text")
    assert bytes(runs(trace)[0]) == b"Once"
    assert bytes(runs(trace, outputs=True)[0]).startswith(b" upon")
    assert trace.contexts[0].model == "m"
    assert not [note for note in trace.notes if "is not one that hitpath reads" in note]


def test_a_completion_in_a_batch(tmp_path):
    row = {"custom_id": "c", "method": "POST", "url": "/v1/completions", "body": completion("Once")}
    trace = read(tmp_path, row)
    assert trace.ids == ("c",)
    assert bytes(runs(trace)[0]) == b"Once"


def test_with_echo_the_reply_is_not_behind_the_prompt(tmp_path):
    row = completion("Once", echo=True, response=answer("Once upon"))
    assert runs(read(tmp_path, row), outputs=True) == [[]]


@pytest.mark.parametrize("prompt", [[5, 6, 7], [[5, 6, 7]]])
def test_token_ids_are_tokens_and_reports_are_compared(tmp_path, prompt):
    details = {"prompt_tokens_details": {"cached_tokens": 2}}
    rows = [
        completion(prompt, response=answer("x", prompt_tokens=3, **details)),
        completion(prompt, response=answer("x", prompt_tokens=4, **details)),
    ]
    trace = read(tmp_path, *rows)
    assert trace.identity == "tokens"
    assert runs(trace) == [[5, 6, 7], [5, 6, 7]]
    assert runs(trace, outputs=True) == [[], []]  # text is no output of token ids
    assert trace.reported_hit.tolist() == [2, 2]
    assert [problem.field for problem in trace.excluded.values()] == ["reported.prompt_tokens"]
    assert not any("one byte of text" in note for note in trace.notes)


@pytest.mark.parametrize("rows", [("Once", [5, 6]), ([5, 6], "Once")])
def test_text_and_token_ids_do_not_mix_without_a_tokenizer(tmp_path, rows):
    error = refusal(tmp_path, *map(completion, rows))
    assert (error.place[-9:], error.field) == ("t.jsonl:2", "prompt")
    assert "t.jsonl:1 has" in error.cause
    trace = read(
        tmp_path, *map(completion, rows), tokenizer=load_tokenizer("mistral:tekken_240911")
    )
    assert trace.identity == "tokens"
    assert [5, 6] in runs(trace)


def test_chats_and_token_ids_do_not_mix_either(tmp_path):
    error = refusal(tmp_path, completion([5]), {"model": "m", "messages": [USER]})
    assert "text, but" in error.cause


@pytest.mark.parametrize(
    ("row", "field", "cause"),
    [
        (completion(["a", "b"]), "prompt", "2 prompts in one request"),
        (completion([[1], [2], [3]]), "prompt", "3 prompts in one request"),
        (completion([]), "prompt", "neither text nor token ids"),
        (completion([[]]), "prompt", "neither text nor token ids"),
        (completion([1, "a"]), "prompt[1]", "not an integer"),
        (completion([1, -1]), "prompt[1]", "not an integer"),
        (completion({"id": "pmpt_1"}), "prompt", "a template that the service keeps"),
        (completion("a", suffix="b"), "suffix", "how the server joins it"),
        (completion("a", system="b"), "system", "how the server joins it"),
        ({"body": completion(["a", "b"])}, "body.prompt", "2 prompts in one request"),
        (completion(5), "prompt", "got `int`"),
    ],
)
def test_prompts_that_are_not_one_are_refused(tmp_path, row, field, cause):
    error = refusal(tmp_path, row)
    assert error.field == field
    assert cause in error.cause


def test_a_prompt_beside_messages_is_noted_not_used(tmp_path):
    trace = read(tmp_path, {"model": "m", "messages": [USER], "prompt": "Hi"})
    alone = read(tmp_path, {"model": "m", "messages": [USER]})
    assert runs(trace) == runs(alone)
    assert "field 'prompt' is not one that hitpath reads (1 rows)" in trace.notes
    assert not any("'prompt'" in note for note in alone.notes)


# --- whose usage it is ---

CONVERSE = {
    "output": {"message": {"role": "assistant", "content": [{"text": "Hello"}]}},
    "stopReason": "end_turn",
    "usage": {"inputTokens": 6, "outputTokens": 1, "totalTokens": 101,
              "cacheReadInputTokens": 64, "cacheWriteInputTokens": 30},
}  # fmt: skip
GEMINI = {
    "candidates": [{"content": {"role": "model", "parts": [{"text": "Hello"}]}}],
    "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 1, "totalTokenCount": 101,
                      "cachedContentTokenCount": 64},
}  # fmt: skip


@pytest.mark.parametrize(
    ("beside", "written"),
    [
        ({"response": CONVERSE}, 30),
        ({"usage": CONVERSE["usage"]}, 30),
        ({"response": GEMINI}, None),
        ({"response": {"body": GEMINI}}, None),
        ({"usageMetadata": GEMINI["usageMetadata"]}, None),
    ],
)
def test_counts_of_bedrock_and_gemini_beside_a_body(tmp_path, beside, written):
    """100 tokens in all, 64 of them read: Bedrock leaves them out of its input, Gemini does not."""
    for row in (
        completion([7] * 100, **beside),
        {"custom_id": "c", "body": completion([7] * 100), **beside},
    ):
        trace = read(tmp_path, row)
        assert not trace.excluded
        assert trace.reported_hit.tolist() == [64]
        assert trace.reported_written.tolist() == [ABSENT if written is None else written]
    shorter = completion([7] * 99, **beside)
    assert "100 tokens, but the prompt here has 99" in read(tmp_path, shorter).excluded[0].cause


def test_the_reply_of_converse_is_a_message(tmp_path):
    trace = read(tmp_path, {"model": "m", "messages": [USER], "response": CONVERSE})
    assert b"Hello" in bytes(runs(trace, outputs=True)[0])


@pytest.mark.parametrize(
    ("usage", "field"),
    [
        ({"inputTokens": -1}, "usage.inputTokens"),
        ({"cachedContentTokenCount": 1 << 41}, "usage.cachedContentTokenCount"),
        ({"promptTokenCount": "5"}, "usage.promptTokenCount"),
    ],
)
def test_counts_that_are_none_are_named(tmp_path, usage, field):
    assert refusal(tmp_path, completion("a", usage=usage)).field == field

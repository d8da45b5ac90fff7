"""Predictions for traces, worked by hand: one byte a token, so that places are lengths of text."""

import numpy as np
import pytest
from provider_bodies import HEAD, body, control, text, traced

from hitpath.core import InputError, SettingError
from hitpath.cost.price_list import load_price_list
from hitpath.sim.models.provider_prefixes import PrefixProvider, PrefixRule
from hitpath.summary.provider_prompts import automatic_prompts, provider_prompts
from hitpath.summary.providers import PROVIDERS, Refused, _minimum_of, predict_providers
from hitpath.traces import read_trace
from support import shared_data, trace_of_rows

SYSTEM = 1200
S = SYSTEM + HEAD + 2  # as rendered


def predicted(trace, marks, name, scale=1.0, prices=None):
    prompts = provider_prompts(trace, marks, scale)
    listed = load_price_list(prices) if prices else None
    (found,) = predict_providers(trace, prompts, [name], listed).predicted
    return found


def chat(turn, at, mark_last=False, system_mark=None):
    """Turn 0, 1, ...: each adds a user's 100 bytes and an assistant's 50."""
    messages = []
    for i in range(turn):
        messages.append({"role": "user", "content": f"{i}" * 100})
        messages.append({"role": "assistant", "content": f"{i}" * 50})
    last = text(f"{turn}" * 100, control() if mark_last else None)
    messages.append({"role": "user", "content": [last]})
    return body(messages, at, system=[text("s" * SYSTEM, system_mark)])


def ends(turn):
    """Where the prompt of a turn ends, without the head of the reply."""
    return S + turn * (100 + HEAD + 50 + HEAD + 5) + 100 + HEAD


def test_anthropic_as_sent_system_only(tmp_path):
    rows = [chat(turn, 10.0 * turn, system_mark=control()) for turn in range(3)]
    found = predicted(*traced(tmp_path, rows), "anthropic")
    assert found.read.tolist() == [0, S, S]
    assert found.written.tolist() == [S, 0, 0]
    assert "as sent" in found.rule


def test_anthropic_as_sent_last_message_grows(tmp_path):
    rows = [chat(turn, 10.0 * turn, mark_last=True) for turn in range(3)]
    found = predicted(*traced(tmp_path, rows), "anthropic")
    assert found.read.tolist() == [0, ends(0), ends(1)]
    assert found.written.tolist() == [ends(0), ends(1) - ends(0), ends(2) - ends(1)]


def test_anthropic_hour_and_lapse(tmp_path):
    """The system for an hour, the end for 5 minutes; the third request comes after 10 minutes."""
    rows = [
        chat(turn, at, mark_last=True, system_mark=control("1h"))
        for turn, at in ((0, 0.0), (1, 60.0), (2, 700.0))
    ]
    found = predicted(*traced(tmp_path, rows), "anthropic")
    assert found.read.tolist() == [0, ends(0), S]
    assert found.written_1h.tolist() == [S, 0, 0]
    assert found.written.tolist() == [ends(0), ends(1) - ends(0), ends(2) - S]


def test_unmarked_bodies_are_automatic_and_say_so(tmp_path):
    rows = [chat(turn, 10.0 * turn) for turn in range(2)]
    found = predicted(*traced(tmp_path, rows), "anthropic")
    assert found.read.tolist() == [0, ends(0)]
    assert "automatic" in found.rule
    assert any("no request marks anything" in note for note in found.notes)


def test_beside_marked_bodies_an_unmarked_one_caches_nothing(tmp_path):
    rows = [chat(0, 0.0, mark_last=True), chat(0, 1.0), chat(0, 2.0, mark_last=True)]
    found = predicted(*traced(tmp_path, rows), "anthropic")
    assert found.read.tolist() == [0, 0, ends(0)]
    assert any("mark nothing: 1" in note for note in found.notes)


def test_more_than_four_breakpoints_are_refused_with_the_request(tmp_path):
    marked = [{"role": "user", "content": [text(f"{i}" * 300, control())]} for i in range(5)]
    found = predicted(*traced(tmp_path, [body(marked, 0.0)]), "anthropic")
    assert isinstance(found, Refused)
    assert found.cause.startswith("request 0: ")
    assert "more than 4" in found.cause


def test_openai_old_and_new_rule(tmp_path):
    rows = [chat(turn, 10.0 * turn) for turn in range(2)]
    trace, marks = traced(tmp_path, rows)
    shared = ends(0)
    old = predicted(trace, marks, "openai")
    assert old.read.tolist() == [0, 1024 + (shared - 1024) // 128 * 128]
    assert not old.bills_writes
    new = predicted(trace, marks, "openai-breakpoints")
    assert new.read.tolist() == [0, shared]
    assert new.written.tolist() == [shared, ends(1) - shared]


def test_cache_keys_split_openai(tmp_path):
    rows = [chat(0, float(i)) for i in range(3)]
    for row, key in zip(rows, "aba", strict=True):
        row["params"]["prompt_cache_key"] = key
    found = predicted(*traced(tmp_path, rows), "openai")
    assert [int(read > 0) for read in found.read] == [0, 0, 1]


def test_text_is_scaled_to_what_was_reported(tmp_path):
    """6,000 bytes that are reported as 1,500 tokens, 4 bytes each; only the first row reports."""
    content = "x" * (6000 - HEAD)
    rows = [body([{"role": "user", "content": [text(content, control())]}], at) for at in (0, 9)]
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 1490,
    }
    rows[0]["response"] = {"content": "x", "usage": usage}
    trace, marks = traced(tmp_path, rows)
    prompts = provider_prompts(trace, marks)
    assert prompts.bytes_per_token == 4
    found = predict_providers(trace, prompts, ["anthropic"], None)
    (one,) = found.predicted
    assert one.read.tolist() == [0, 1500]
    assert one.written.tolist() == [1500, 0]
    told = found.reported
    assert (told.rows.tolist(), told.prompt_tokens, told.read_tokens) == ([0], 1500, 0)
    assert told.written_tokens == 1490
    assert any("bytes of text a token: 4" in note for note in found.notes)


def test_text_without_reported_prompts_needs_a_scale(tmp_path):
    trace, marks = traced(tmp_path, [chat(0, 0.0)])
    with pytest.raises(SettingError, match="--bytes-per-token"):
        provider_prompts(trace, marks)
    with pytest.raises(SettingError, match="is not from 1 to 8"):
        provider_prompts(trace, marks, 9.0)


def test_block_ids_are_counted_in_whole_blocks(tmp_path):
    """Prompts of 3, 3 and 4 blocks of 16, the last one partial in the file's own way."""
    rows = [
        {"id": 0, "arrival_s": 0, "segments": [["a", 2048], ["b", 64]]},
        {"id": 1, "arrival_s": 1, "segments": [["a", 2048], ["c", 64]]},
        {"id": 2, "arrival_s": 2, "segments": [["a", 2048], ["b", 64], ["d", 10]]},
    ]
    trace = trace_of_rows(tmp_path, rows)
    prompts = provider_prompts(trace, None)
    found = {
        its.provider: its for its in predict_providers(trace, prompts, PROVIDERS, None).predicted
    }
    assert found["openai"].read.tolist() == [0, 2048, 2048]
    assert found["gemini"].read.tolist()[1:] == [2048, 2112]
    assert found["anthropic"].read.tolist() == [0, 0, 2112]
    assert found["anthropic"].written.tolist() == [2112, 2112, 10]
    assert found["deepseek"].read.tolist() == [0, 0, 2112]
    assert found["bedrock"].read.tolist() == found["anthropic"].read.tolist()
    assert any("no breakpoints" in note for note in found["anthropic"].notes)


def test_no_times_no_lapses(tmp_path):
    rows = [chat(turn, None, mark_last=True) for turn in range(3)]
    trace, marks = traced(tmp_path, rows)
    prompts = provider_prompts(trace, marks, 1.0)
    assert set(prompts.arrival_s) == {0.0}
    assert any("no times" in note for note in prompts.notes)
    assert predicted(trace, marks, "anthropic").read.tolist() == [0, ends(0), ends(1)]


def test_the_bill_of_each_bucket(tmp_path):
    """Sonnet 4.5: 3, 0.3, 3.75 and 6 USD a million; output as reported."""
    pytest.importorskip("genai_prices")
    rows = [chat(turn, 1.7e9 + turn, True, control("1h")) for turn in range(2)]
    for row in rows:
        row["response"] = {"content": "x", "usage": {"input_tokens": 1, "output_tokens": 40}}
    trace, marks = traced(tmp_path, rows)
    found = predicted(trace, marks, "anthropic", 1.0, ["anthropic/claude-sonnet-4-5"])
    fresh = np.array([ends(0), ends(1)]) - found.read - found.written
    short = found.written - found.written_1h
    usd = (fresh * 3 + found.read * 0.3 + short * 3.75 + found.written_1h * 6) / 1e6
    assert found.prompt_usd == pytest.approx(usd.sum())
    assert found.bill.total_usd == pytest.approx(usd.sum() + 80 * 15 / 1e6)
    assert found.without_cache_usd == pytest.approx((ends(0) + ends(1)) * 3 / 1e6)


def test_prices_of_a_provider_that_is_not_asked_for(tmp_path):
    pytest.importorskip("genai_prices")
    trace, marks = traced(tmp_path, [chat(0, 0.0)])
    with pytest.raises(SettingError, match="not one of openai"):
        predicted(trace, marks, "openai", 1.0, ["anthropic=anthropic/claude-sonnet-4-5"])


@pytest.mark.parametrize(
    ("model", "least"),
    [
        ("claude-opus-4-5-20251101", 4096),
        ("anthropic/claude-opus-4.5", 4096),
        ("claude-3-5-haiku-20241022", 2048),
        ("claude-sonnet-4-20250514", 1024),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", 4096),
        ("claude-opus-5", 512),
        ("claude-opus-4-7", 2048),
        ("claude-sonnet-4-6", 1024),
        ("gpt-4o", None),
    ],
)
def test_minimums_by_the_name_of_a_model(model, least):
    assert _minimum_of(model) == least


def test_a_trace_without_prompts_is_refused(tmp_path):
    trace = trace_of_rows(tmp_path, [{"id": 0, "arrival_s": 0, "prompt_tokens": 9}])
    with pytest.raises(InputError, match="does not say what its prompts are"):
        provider_prompts(trace, None)


def test_without_a_minimum_or_lapse_it_is_the_plain_prefix_cache():
    """The conversation trace's reference answer, its partial last blocks by their remainder."""
    path = shared_data("mooncake/conversation_trace.jsonl")
    prompts = provider_prompts(read_trace([str(path)]), None)
    provider = PrefixProvider(PrefixRule(1, 1, 1e9))
    total = 0
    for row, prompt in zip(prompts.order, automatic_prompts(prompts), strict=True):
        read = provider.serve(prompt).read * prompts.size
        total += min(read, int(prompts.prompt_tokens[row]))
    assert total == 54_098_411

"""Result files of benchmark clients and TraceLab rounds.

All rows here are written by hand from the shapes documented in the readers' modules (the source
of each client); the expected figures are counted by hand.
"""

import json

import pytest

from hitpath.core import ABSENT, InputError, Setting
from hitpath.spine import analyze
from hitpath.summary import LengthsAnalysis
from hitpath.text.tokenizer import load_tokenizer
from hitpath.traces import Trace, read_trace
from hitpath.traces.detect import FORMATS


def read(tmp_path, value, name="r.json", **options) -> Trace:
    """One document, or (a list under a .jsonl name) its rows."""
    path = tmp_path / name
    if name.endswith(".jsonl"):
        path.write_text("".join(json.dumps(row) + "\n" for row in value))
    else:
        path.write_text(json.dumps(value))
    return read_trace([str(path)], **options)


def told(column) -> list:
    return [None if value == ABSENT or value != value else value for value in column.tolist()]


def metric(value, unit="tokens"):
    return {"value": value, "unit": unit}


def aiperf(number, start_ns=1_763_066_701_865_462_000, error=None, metrics=None, **metadata):
    record = {
        "metadata": {
            "session_num": number,
            "x_request_id": f"req-{number}",
            "x_correlation_id": "user-1",
            "turn_index": number,
            "request_start_ns": start_ns + number * 1_000_000_000,
            "request_end_ns": start_ns + number * 1_000_000_000 + 500_000_000,
            "worker_id": "worker_b4",
            "record_processor_id": "record_processor_a1",
            "benchmark_phase": "profiling",
            "was_cancelled": False,
            "context_overflow_skip": False,
            **metadata,
        },
        "metrics": {
            "input_sequence_length": metric(900),
            "output_sequence_length": metric(20),
            "time_to_first_token": metric(582.5, "ms"),
            "inter_chunk_latency": metric([1.5, 2.5], "ms"),
            "usage_prompt_tokens": metric(1000),
            "usage_completion_tokens": metric(21),
            "usage_prompt_cache_read_tokens": metric(640),
            **(metrics or {}),
        },
    }
    return record if error is None else {**record, "metrics": {}, "error": error}


def test_aiperf_takes_the_servers_counts_and_leaves_out_what_was_not_answered(tmp_path):
    rows = [
        aiperf(0),
        aiperf(1, metrics={"usage_prompt_cache_read_tokens": metric(0)}),
        aiperf(2, error={"code": 500, "type": "Server", "message": "x"}),
        aiperf(3, was_cancelled=True),
        aiperf(4, benchmark_phase="warmup"),
    ]
    trace = read(tmp_path, rows, "profile_export.jsonl")
    assert (trace.format, trace.identity) == ("aiperf", "lengths_only")
    assert trace.ids == ("req-0", "req-1")
    assert told(trace.prompt_tokens) == [1000, 1000]
    assert told(trace.reported_hit) == [640, 0]
    assert told(trace.reported_written) == [None, None]
    assert told(trace.output_tokens) == [21, 21]
    assert told(trace.ttft_s) == [0.5825, 0.5825]
    assert trace.finish_s[0] - trace.arrival_s[0] == pytest.approx(0.5)
    assert trace.arrival_s[0] == pytest.approx(1_763_066_701.865462)
    assert trace.session.names == ("user-1",)
    assert told(trace.turn) == [1, 2]
    for what in ("failed requests", "cancelled requests", "requests of the warm-up"):
        assert f"1 {what} left out" in trace.notes


def test_aiperf_without_usage_of_the_server_says_whose_count_it_is(tmp_path):
    row = aiperf(0)
    for name in list(row["metrics"]):
        if name.startswith("usage"):
            del row["metrics"][name]
    trace = read(tmp_path, [row, aiperf(1)], "p.jsonl")
    assert told(trace.prompt_tokens) == [900, 1000]
    assert told(trace.output_tokens) == [20, 21]
    assert told(trace.reported_hit) == [None, 640]
    assert any(note.startswith("1 records have no usage") for note in trace.notes)


def test_aiperf_before_0_12_has_anthropics_rest_of_the_prompt(tmp_path):
    """Inclusive from 0.12 on (context_overflow_skip came with it), else only the rest."""
    counts = {
        "usage_prompt_tokens": metric(100),
        "usage_prompt_cache_read_tokens": metric(640),
        "usage_prompt_cache_write_tokens": metric(260),
    }
    old = aiperf(0, metrics=counts)
    del old["metadata"]["context_overflow_skip"]
    new = aiperf(1, metrics={**counts, "usage_prompt_tokens": metric(1000)})
    trace = read(tmp_path, [old, new], "p.jsonl")
    assert told(trace.prompt_tokens) == [1000, 1000]
    assert told(trace.reported_written) == [260, 260]
    assert not trace.excluded


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"time_to_first_token": metric(3, "min")}, "metrics.time_to_first_token.unit"),
        ({"usage_prompt_tokens": metric(3.5)}, "metrics.usage_prompt_tokens.value"),
        ({"usage_prompt_tokens": metric(-1)}, "metrics.usage_prompt_tokens.value"),
        ({"usage_prompt_tokens": metric("7")}, "metrics.usage_prompt_tokens.value"),
    ],
)
def test_aiperf_names_the_metric_that_does_not_fit(tmp_path, change, field):
    with pytest.raises(InputError) as error:
        read(tmp_path, [aiperf(0), aiperf(1, metrics=change)], "p.jsonl")
    assert error.value.field == field
    assert error.value.place.endswith("p.jsonl:2")


def test_a_file_of_failed_requests_only_says_so(tmp_path):
    with pytest.raises(InputError, match="no request left: 2 failed requests"):
        read(tmp_path, [aiperf(i, error={"message": "x"}) for i in range(2)], "p.jsonl")


def test_the_rate_of_a_result_file_is_over_the_requests_that_report(tmp_path):
    silent = aiperf(1)
    del silent["metrics"]["usage_prompt_cache_read_tokens"]
    path = tmp_path / "p.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (aiperf(0), silent)))
    found = analyze([str(path)], Setting())
    assert isinstance(found, LengthsAnalysis)
    assert (found.hit_tokens, found.missed_tokens, found.not_reported_tokens) == (640, 360, 1000)


def guide(number, body=None, **fields):
    """A request of GuideLLM 0.8."""
    start = 1_700_000_000.0 + number
    request = {
        "type_": "generative_request_stats",
        "request_id": f"r{number}",
        "request_args": json.dumps({"method": "POST", "headers": {"A": "b"}, "body": body}),
        "output": "fine",
        "reasoning_output": None,
        "tool_calls": None,
        "info": {
            "conversation_id": "c1",
            "turn_index": number,
            "timings": {
                "targeted_start": start - 5,
                "resolve_start": start - 1,
                "request_start": start,
                "first_token_iteration": start + 0.25,
                "request_end": start + 2,
                "resolve_end": start + 3,
            },
        },
        "input_metrics": {"text_tokens": 100 + number, "cached_tokens": 64},
        "output_metrics": {"text_tokens": 7},
        "prompt_tokens": 100 + number,
    }
    return {**request, **fields}


def report(*benchmarks, totals=None):
    return {
        "metadata": {"version": 2, "guidellm_version": "0.8.1"},
        "benchmarks": [
            {
                "type_": "generative_benchmark",
                "metrics": {"request_totals": totals} if totals else {},
                "requests": {"successful": rows, "errored": [], "incomplete": None},
            }
            for rows in benchmarks
        ],
    }


def test_guidellm_reads_lengths_times_and_cached_tokens(tmp_path):
    trace = read(tmp_path, report([guide(0), guide(1)]))
    assert (trace.format, trace.identity) == ("guidellm", "lengths_only")
    assert trace.ids == ("r0", "r1")
    assert told(trace.prompt_tokens) == [100, 101]
    assert told(trace.reported_hit) == [64, 64]
    assert told(trace.output_tokens) == [7, 7]
    assert told(trace.arrival_s) == [1_700_000_000.0, 1_700_000_001.0]
    assert told(trace.finish_s) == [1_700_000_002.0, 1_700_000_003.0]
    assert told(trace.ttft_s) == [0.25, 0.25]
    assert trace.session.names == ("c1",)
    assert told(trace.turn) == [1, 2]


def test_guidellm_counts_what_is_not_in_the_trace(tmp_path):
    document = report([guide(0)], totals={"successful": 40, "errored": 2, "incomplete": 3})
    document["benchmarks"][0]["requests"]["errored"] = [{"request_id": "e"}]
    trace = read(tmp_path, document)
    assert any("a sample of 1 of 40 successful requests" in note for note in trace.notes)
    assert "2 failed requests left out" in trace.notes
    assert "3 requests that were cut off by the end of the run left out" in trace.notes


def test_guidellm_benchmarks_of_one_report_are_one_trace(tmp_path):
    trace = read(tmp_path, report([guide(0)], [guide(0), guide(3)]))
    assert sorted(trace.ids) == ["0/r0", "1/r0", "1/r3"]
    assert "2 benchmarks read as one trace, by their times" in trace.notes


CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi there"}]}


def test_guidellm_text_is_used_where_nothing_is_reported(tmp_path):
    rows = [guide(i, CHAT, input_metrics={"text_tokens": 9}) for i in range(2)]
    trace = read(tmp_path, report(rows))
    assert trace.identity == "text"
    assert trace.prompts.lengths.tolist() == [len("<|user|>\nHi there<|end|>\n<|assistant|>\n")] * 2
    assert told(trace.output_tokens) == [len("fine<|end|>\n")] * 2  # bytes, as the prompts
    assert trace.model.names == ("m",)


def test_guidellm_text_gives_way_to_reported_tokens_without_a_tokenizer(tmp_path):
    trace = read(tmp_path, report([guide(0, CHAT), guide(1, CHAT)]))
    assert trace.identity == "lengths_only"
    assert told(trace.reported_hit) == [64, 64]
    assert any("with --tokenizer both are used" in note for note in trace.notes)


def test_with_a_tokenizer_text_and_reported_tokens_are_both_used(tmp_path):
    tokenizer = load_tokenizer("mistral:tekken_240911")
    length = len(tokenizer.encode(tokenizer.render_chat(CHAT["messages"], None)))
    usages = [{"text_tokens": length, "cached_tokens": 2}, {"text_tokens": 1, "cached_tokens": 1}]
    rows = [guide(i, CHAT, input_metrics=usage) for i, usage in enumerate(usages)]
    trace = read(tmp_path, report(rows), tokenizer=tokenizer)
    assert trace.identity == "tokens"
    assert trace.prompts.lengths.tolist() == [length, length]
    assert told(trace.reported_hit) == [2, 1]
    # Where the server counted another prompt its hit is not one of this prompt.
    assert [problem.field for problem in trace.excluded.values()] == ["reported.prompt_tokens"]


def test_a_tokenizer_without_text_has_nothing_to_do(tmp_path):
    trace = read(tmp_path, bench(), tokenizer=load_tokenizer("mistral:tekken_240911"))
    assert "no prompt is in the file: --tokenizer has nothing to do" in trace.notes


def test_guidellm_some_text_is_no_text(tmp_path):
    rows = [guide(0, CHAT, input_metrics={"text_tokens": 9}), guide(1)]
    trace = read(tmp_path, report(rows))
    assert trace.identity == "lengths_only"
    assert any("of 1 of 2 requests is in the file" in note for note in trace.notes)


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
        {"messages": CHAT["messages"], "previous_response_id": "x"},
        {"messages": CHAT["messages"], "prompt": "both"},
        {"input": "an embedding"},
        {"prompt": ["several", "prompts"]},
        {},
    ],
)
def test_a_body_that_does_not_tell_the_whole_prompt_is_no_prompt(tmp_path, body):
    trace = read(tmp_path, report([guide(0, body, input_metrics={"text_tokens": 9})]))
    assert trace.identity == "lengths_only"
    assert told(trace.prompt_tokens) == [9]


def test_guidellm_token_ids_need_no_tokenizer(tmp_path):
    rows = [guide(i, {"prompt": [1, 2, 3, 4 + i]}, input_metrics={"text_tokens": 4,
            "cached_tokens": 2}) for i in range(2)]  # fmt: skip
    trace = read(tmp_path, report(rows))
    assert trace.identity == "tokens"
    assert trace.prompts.flat.tolist() == [1, 2, 3, 4, 1, 2, 3, 5]
    assert told(trace.reported_hit) == [2, 2]


def test_guidellm_writes_0_for_what_the_server_did_not_count(tmp_path):
    with pytest.raises(InputError) as error:
        read(tmp_path, report([guide(0, input_metrics={"text_tokens": 0})]))
    assert error.value.field == "input_metrics.text_tokens"
    assert "missing" in error.value.cause
    assert error.value.place.endswith("benchmarks[0].requests.successful[0]")


def test_guidellm_0_3(tmp_path):
    row = {
        "type_": "generative_text_response",
        "request_id": "a",
        "request_type": "text_completions",
        "scheduler_info": {"process_id": 0},
        "prompt": "Once upon",
        "output": " a time",
        "prompt_tokens": 2,
        "output_tokens": 3,
        "start_time": 10.0,
        "end_time": 12.0,
        "first_token_time": 10.5,
        "last_token_time": 12.0,
    }
    trace = read(tmp_path, report([row]))
    assert trace.identity == "text"
    assert bytes(trace.prompts.flat.astype("u1")) == b"Once upon"
    assert bytes(trace.outputs.flat.astype("u1")) == b" a time"
    assert (told(trace.arrival_s), told(trace.finish_s)) == ([10.0], [12.0])
    assert told(trace.ttft_s) == [0.5]


def test_guidellm_0_4_writes_its_arguments_as_python(tmp_path):
    row = guide(0, request_args=str({"body": CHAT}), input_metrics={"text_tokens": 5})
    assert read(tmp_path, report([row])).identity == "lengths_only"


def perf(number, usage=None, request=None, error=None, **info):
    """An entry of inference-perf 0.7."""
    entry = {
        "start_time": 1393.25 + number,
        "end_time": 1395.25 + number,
        "request": request,
        "response": "data: ...",
        "info": {
            "request_metrics": {"text": {"input_tokens": 50}, "image": None},
            "response_metrics": {
                "output_tokens": 3,
                "server_usage": usage,
                "response_chunks": [],
                "chunk_times": [],
                "output_token_times": [1393.75 + number, 1394.0 + number],
            },
            "lora_adapter": None,
            "input_tokens": 50,
            **info,
        },
        "error": error,
    }
    return {name: value for name, value in entry.items() if name != "request" or value is not None}


def test_inference_perf_takes_the_servers_usage_with_its_own_prompt_count(tmp_path):
    details = {"prompt_tokens": 60, "completion_tokens": 4,
               "prompt_tokens_details": {"cached_tokens": 48}}  # fmt: skip
    anthropic = {"input_tokens": 10, "output_tokens": 2, "cache_read_input_tokens": 30,
                 "cache_creation_input_tokens": 20}  # fmt: skip
    rows = [
        perf(0, details),
        perf(1, anthropic),
        perf(2, {"input_tokens": 10, "output_tokens": 2}),  # of which API is not to be told
        perf(3),
        perf(4, error={"error_type": "TimeoutError", "error_msg": "x"}),
    ]
    trace = read(tmp_path, rows)
    assert (trace.format, trace.identity) == ("inference-perf", "lengths_only")
    assert told(trace.prompt_tokens) == [60, 60, 50, 50]
    assert told(trace.reported_hit) == [48, 30, None, None]
    assert told(trace.reported_written) == [None, 20, None, None]
    assert told(trace.output_tokens) == [4, 2, 2, 3]
    assert told(trace.ttft_s) == [0.5] * 4
    assert told(trace.finish_s - trace.arrival_s) == [2.0] * 4
    assert "1 failed requests left out" in trace.notes


def test_inference_perf_0_2_and_computed_metrics(tmp_path):
    rows = [
        {
            "start_time": 1.0,
            "end_time": 2.0,
            "request": "{}",
            "response": "x",
            "info": {"input_tokens": 591, "output_tokens": 140, "output_token_times": [1.25, 1.5]},
            "error": None,
        },
        {
            "start_time": 2.0,
            "end_time": 3.0,
            "computed_metrics": {"time_to_first_token": 0.125, "input_tokens": 7,
                                 "output_tokens": 2},
            "error": None,
        },
    ]  # fmt: skip
    trace = read(tmp_path, rows)
    assert told(trace.prompt_tokens) == [591, 7]
    assert told(trace.output_tokens) == [140, 2]
    assert told(trace.ttft_s) == [0.25, 0.125]


def test_inference_perf_text_and_adapters(tmp_path):
    def body(model):
        return json.dumps({"model": model, "prompt": "Say this", "max_tokens": 5})

    rows = [
        perf(0, request=body("base")),
        perf(1, request=body("sql-lora"), lora_adapter="sql-lora"),
    ]
    trace = read(tmp_path, rows)
    assert trace.identity == "text"
    assert [context.adapter for context in trace.contexts] == [None, "sql-lora"]
    # An adapter stands in the place of the base model's name: the contexts differ in it alone.
    assert {context.model for context in trace.contexts} == {None}
    assert trace.model.names == ("base", "sql-lora")


def test_inference_perf_without_any_length(tmp_path):
    with pytest.raises(InputError, match="how long the prompt is cannot be told"):
        read(tmp_path, [{"start_time": 1, "end_time": 2, "info": {}, "error": None}])


def bench(**changes):
    run = {
        "date": "20260101-000000",
        "backend": "vllm",
        "model_id": "m",
        "num_prompts": 3,
        "completed": 2,
        "request_throughput": 1.0,
        "total_input_tokens": 300,
        "duration": 3.0,
        "input_lens": [100, 200, 300],
        "output_lens": [4, 5, 0],
        "ttfts": [0.25, 0.5, 0.0],
        "itls": [[0.25, 0.25], [0.5], []],
        "start_times": [1000.0, 1001.0, 1002.0],
        "generated_texts": ["a", "b", ""],
        "errors": ["", "", "Traceback"],
    }
    run.update(changes)
    return {name: value for name, value in run.items() if value is not None}


def test_vllm_bench_serve(tmp_path):
    trace = read(tmp_path, bench())
    assert (trace.format, trace.identity) == ("bench-serve", "lengths_only")
    assert told(trace.prompt_tokens) == [100, 200]
    assert told(trace.output_tokens) == [4, 5]
    assert told(trace.ttft_s) == [0.25, 0.5]
    assert told(trace.arrival_s) == [1000.0, 1001.0]
    assert told(trace.finish_s) == [1000.75, 1002.0]
    assert told(trace.reported_hit) == [None, None]
    assert trace.model.names == ("m",)
    assert "1 failed requests left out" in trace.notes


def test_a_failure_without_a_reason_is_a_failure(tmp_path):
    """`response.reason or ""`: no error, no output, no first token."""
    trace = read(tmp_path, bench(errors=["", "", ""]))
    assert told(trace.prompt_tokens) == [100, 200]


def test_bench_serve_compares_the_runs_own_count(tmp_path):
    trace = read(tmp_path, bench(completed=3))
    assert any("3 requests were completed, but 2 have an answer" in note for note in trace.notes)


def test_older_results_have_no_times(tmp_path):
    trace = read(tmp_path, [bench(start_times=None), bench(start_times=None)], "runs.jsonl")
    assert not trace.has_times
    assert told(trace.arrival_s) == [0.0, 1.0, 2.0, 3.0]
    assert told(trace.finish_s) == [None] * 4
    assert told(trace.ttft_s) == [0.25, 0.5, 0.25, 0.5]
    assert trace.ids == ("0/0", "0/1", "1/0", "1/1")
    assert any(note.startswith("2 runs read as one trace") for note in trace.notes)


def test_times_in_some_runs_only_are_refused(tmp_path):
    with pytest.raises(InputError, match="no time, but other requests have one"):
        read(tmp_path, [bench(), bench(start_times=None)], "runs.jsonl")


def test_sglang_cached_tokens_by_tier(tmp_path):
    details = [{"device": 64, "host": 16, "storage": None}, {"device": 0, "host": 0}, None]
    trace = read(tmp_path, bench(cached_tokens=[80, 0, 0], cached_tokens_details=details))
    assert told(trace.reported_hit) == [80, 0]
    assert told(trace.reported_tiers["device"]) == [64, 0]
    assert told(trace.reported_tiers["host"]) == [16, 0]
    assert "storage" not in trace.reported_tiers


def test_sglang_0_is_not_told_where_others_have_details(tmp_path):
    details = [{"device": 64}, None, None]
    trace = read(tmp_path, bench(cached_tokens=[64, 0, 0], cached_tokens_details=details))
    assert told(trace.reported_hit) == [64, None]
    assert any("1 requests have 0 cached tokens without any detail" in n for n in trace.notes)


@pytest.mark.parametrize(("cached", "hits"), [([9, 0, 0], [9, 0]), ([0, 0, 0], [None, None])])
def test_sglang_0_without_details_is_told_only_beside_others(tmp_path, cached, hits):
    trace = read(tmp_path, bench(cached_tokens=cached, cached_tokens_details=[None] * 3))
    assert told(trace.reported_hit) == hits


def test_a_run_without_its_requests_says_what_is_missing(tmp_path):
    summary = {name: value for name, value in bench().items() if not isinstance(value, list)}
    with pytest.raises(InputError, match="--save-detailed") as error:
        read(tmp_path, summary)
    assert error.value.field == "input_lens"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"ttfts": [0.1]}, "ttfts"),
        ({"ttfts": [0.1, "x", 0]}, "ttfts"),
        ({"itls": [[0.1], 3, []]}, "itls"),
        ({"itls": [[0.1], [-1], []]}, "itls"),
        ({"input_lens": [1, 2.5, 3]}, "input_lens"),
        ({"input_lens": [1, True, 3]}, "input_lens"),
        ({"start_times": [1, 2e12, 3]}, "start_times"),
    ],
)
def test_bench_serve_names_the_list_that_does_not_fit(tmp_path, change, field):
    with pytest.raises(InputError) as error:
        read(tmp_path, bench(**change))
    assert error.value.field == field


def test_one_bad_request_of_a_run_can_be_skipped(tmp_path):
    trace = read(tmp_path, bench(ttfts=[0.1, "x", 0]), skip_bad_rows=True)
    assert told(trace.prompt_tokens) == [100]
    assert [problem.field for problem in trace.skipped] == ["ttfts"]
    assert trace.skipped[0].place.endswith("[1]")


def event(kind, second):
    return {"event_type": kind, "timestamp": f"2026-06-01T05:40:{second:06.3f}Z", "source": "s"}


def lab(number, prefix=600, append=400, **fields):
    return {
        "provider": "claude",
        "session_id": "claude:1",
        "round_index": number,
        "round_id": f"msg_{number}",
        "trace_key": f"claude:claude:1:msg_{number}",
        "model": "claude-opus-4-8",
        "input_tokens_total": prefix + append,
        "prefix_tokens": prefix,
        "newly_append_tokens": append,
        "claude_uncached_input_tokens": 100,
        "claude_cache_creation_input_tokens": append - 100,
        "claude_cache_read_input_tokens": prefix,
        "output_tokens": 31,
        "timing_events": [
            event("tool_result", 10 * number),
            event("user_message", 10 * number + 1),
            event("reasoning", 10 * number + 2.5),
            event("tool_call", 10 * number + 4),
        ],
        "tools": [],
        "user": "user_1",
        **fields,
    }


def test_tracelab_rounds(tmp_path):
    codex = lab(
        1,
        provider="codex",
        session_id="codex:1",
        trace_key="codex:codex:1:t:0",
        claude_cache_creation_input_tokens=None,
    )
    trace = read(tmp_path, [lab(0), codex], "rounds.jsonl")
    assert (trace.format, trace.identity) == ("tracelab", "lengths_only")
    assert told(trace.prompt_tokens) == [1000, 1000]
    assert told(trace.reported_hit) == [600, 600]
    assert told(trace.reported_written) == [300, None]
    assert told(trace.output_tokens) == [31, 31]
    assert told(trace.finish_s - trace.arrival_s) == [3.0, 3.0]
    assert trace.session.names == ("claude:1", "codex:1")
    assert told(trace.turn) == [1, 2]
    assert trace.tenant.names == ("user_1",)


def test_tracelab_rounds_that_need_a_word(tmp_path):
    rows = [
        lab(0),
        lab(1),
        lab(1, input_tokens_total=999),
        lab(2, prefix=0, append=0, claude_cache_creation_input_tokens=0),
    ]
    trace = read(tmp_path, rows, "rounds.jsonl")
    assert trace.ids == (
        "claude:claude:1:msg_0",
        "claude:claude:1:msg_1",
        "claude:claude:1:msg_1#2",
    )
    assert [problem.cause for problem in trace.excluded.values()] == [
        "600 cached and 400 new tokens are not 999 tokens of prompt"
    ]
    assert "1 rounds without any count of their prompt left out" in trace.notes
    assert any(note.startswith("1 rounds have the trace_key") for note in trace.notes)


def test_tracelabs_0_is_told_only_beside_another_count(tmp_path):
    """As SGLang's bench_serving: the producer writes 0 for no count too."""

    def codex(number, session, prefix):
        name = f"{session}:{number}"
        return lab(number, prefix, provider="codex", session_id=session, trace_key=name,
                   claude_cache_creation_input_tokens=None)  # fmt: skip

    rows = [
        codex(0, "told", 0), codex(1, "told", 600), codex(0, "untold", 0), codex(1, "untold", 0),
        codex(0, None, 0), codex(1, None, 600),
        lab(0, prefix=0, trace_key="w"),  # its written tokens show that the log has counts
        lab(0, prefix=0, session_id="z", trace_key="z", claude_cache_creation_input_tokens=0),
    ]  # fmt: skip
    trace = read(tmp_path, [lab(2, trace_key="first"), *rows], "rounds.jsonl")
    hits = dict(zip(trace.ids, told(trace.reported_hit), strict=True))
    assert hits == {"first": 600, "told:0": 0, "told:1": 600, "untold:0": None, "untold:1": None,
                    "None:0": None, "None:1": 600, "w": 0, "z": None}  # fmt: skip
    written = dict(zip(trace.ids, told(trace.reported_written), strict=True))
    assert (written["w"], written["z"]) == (300, None)
    assert any(note.startswith("4 rounds have 0 cached tokens") for note in trace.notes)


@pytest.mark.parametrize(
    ("events", "arrival", "finish"),
    [
        ([event("text", 3), event("usage_report", 5)], 3, 5),
        ([event("user_message", 7)], 7, None),
        ([event("user_message", 7), event("text", 6)], 7, None),
        ([{"event_type": "text", "timestamp": None}, event("text", 2)], 2, 2),
    ],
)
def test_tracelab_times(tmp_path, events, arrival, finish):
    trace = read(tmp_path, [lab(0, timing_events=events)], "rounds.jsonl")
    base = 1_780_292_400.0  # 2026-06-01T05:40:00Z
    assert told(trace.arrival_s - base) == [arrival]
    assert told(trace.finish_s - base) == [finish]


def test_tracelab_without_a_time(tmp_path):
    with pytest.raises(InputError, match="no event has a time"):
        read(tmp_path, [lab(0, timing_events=[])], "rounds.jsonl")


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (aiperf(0), "aiperf"),
        (report([guide(0)]), "guidellm"),
        ([perf(0)], "inference-perf"),
        (bench(), "bench-serve"),
        (lab(0), "tracelab"),
    ],
)
def test_every_file_is_recognised_by_one_format(value, name):
    """Whatever order the list of formats has."""
    assert [known.name for known in FORMATS if known.recognises(value)] == [name]


@pytest.mark.parametrize(
    "value", [{"benchmarks": [{"stats": {}}], "machine_info": {}}, {"benchmarks": []}, [], {}]
)
def test_other_documents_are_not_taken_for_results(value):
    ours = {"aiperf", "guidellm", "inference-perf", "bench-serve", "tracelab"}
    assert not [known for known in FORMATS if known.name in ours and known.recognises(value)]

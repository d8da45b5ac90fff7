"""vLLM request logs.

The lines of TOKENS are copied from public logs (vLLM 0.6 in a repository's documentation, 0.9 in
one of vllm-ascend, 0.11 in an issue), with shortened parameters; all others are written by hand
from the format strings of vLLM's source, as the reader's module lists them.
"""

from datetime import datetime
from pathlib import Path

import pytest

from hitpath.core import ABSENT, InputError, Setting
from hitpath.spine import analyze_trace
from hitpath.text.tokenizer import load_tokenizer
from hitpath.traces import Trace, read_trace
from hitpath.traces.log_times import LogClock
from hitpath.traces.vllm_request_lines import parse
from support import shared_data

PARAMS = "SamplingParams(n=1, temperature=0.6, stop=[], max_tokens=512, guided_decoding=None)"
TOKENS = f"""\
INFO:     Started server process [1]
INFO 12-06 14:08:57 metrics.py:449] Avg prompt throughput: 0.0 tokens/s, Running: 0 reqs
INFO 12-06 14:09:27 logger.py:37] Received request cmpl-24f077ae65df4dc4baa7c6cec7b29240-0: \
prompt: 'Once upon a time,', params: {PARAMS}, prompt_token_ids: [128000, 12805, 5304, 264, 892, \
11], lora_request: None, prompt_adapter_request: None.
INFO 12-06 14:09:27 engine.py:267] Added request cmpl-24f077ae65df4dc4baa7c6cec7b29240-0.
INFO 12-06 14:09:33 [logger.py:43] Received request cmpl-2f5a65e708294fa3a135312f7221a591-0: \
prompt: 'The future of AI is', params: {PARAMS}, prompt_token_ids: [785, 3853, 315, 15235, 374], \
prompt_embeds shape: None, lora_request: None, prompt_adapter_request: None.
INFO:     ::1:36536 - "GET /v1/models HTTP/1.1" 200 OK
\x1b[1;36m(APIServer pid=1554)\x1b[0;0m INFO 12-06 23:20:12 [logger.py:37] Request \
cmpl-2f596feab8044210b24f979c15ed186d-0 details: prompt: '안녕?', prompt_token_ids: [0, 31404, \
11939, 246, 33], prompt_embeds shape: None.
\x1b[1;36m(APIServer pid=1554)\x1b[0;0m INFO 12-06 23:20:12 [logger.py:47] Received request \
cmpl-2f596feab8044210b24f979c15ed186d-0: params: {PARAMS}, lora_request: None.
"""


def read(tmp_path: Path, text: str, **options) -> Trace:
    path = tmp_path / "vllm.log"
    path.write_text(text)
    return read_trace([str(path)], **options)


def line(name, prompt, ids, time="05-11 12:04:19", params=PARAMS, lora="None"):
    return (
        f"INFO {time} [logger.py:42] Received request {name}: prompt: {prompt!r}, params: "
        f"{params}, prompt_token_ids: {ids}, prompt_embeds shape: None, lora_request: {lora}.\n"
    )


def details(name, prompt, ids, time="05-11 12:04:19"):
    return (
        f"(APIServer pid=7416) DEBUG {time} [logger.py:53] Request {name} details: prompt: "
        f"{prompt!r}, prompt_token_ids: {ids}, prompt_embeds shape: None.\n"
    )


def received(name, time="05-11 12:04:19", params=PARAMS, lora="None"):
    return (
        f"(APIServer pid=7416) INFO {time} [logger.py:64] Received request {name}: params: "
        f"{params}, lora_request: {lora}.\n"
    )


def prompts(trace: Trace) -> list[list[int]]:
    return [run.tolist() for run in split(trace.prompts)]


def split(runs):
    return [runs.flat[a:b] for a, b in zip(runs.offsets[:-1], runs.offsets[1:], strict=True)]


def second_of_year(month, day, hour, minute, second):
    moment = datetime(2023, month, day, hour, minute, second)
    return (moment - datetime(2023, 1, 1)).total_seconds()


def test_token_ids_of_three_wordings_between_other_lines(tmp_path):
    trace = read(tmp_path, TOKENS)
    assert (trace.format, trace.identity) == ("vllm-request-log", "tokens")
    assert prompts(trace) == [
        [128000, 12805, 5304, 264, 892, 11],
        [785, 3853, 315, 15235, 374],
        [0, 31404, 11939, 246, 33],
    ]
    assert trace.ids[0] == "cmpl-24f077ae65df4dc4baa7c6cec7b29240-0"
    assert trace.arrival_s.tolist() == [
        second_of_year(12, 6, 14, 9, 27),
        second_of_year(12, 6, 14, 9, 33),
        second_of_year(12, 6, 23, 20, 12),
    ]
    assert any(note.startswith("the log's times are whole seconds") for note in trace.notes)


def test_wording_of_0_3(tmp_path):
    text = (
        "INFO 02-20 21:36:30 async_llm_engine.py:433] Received request cmpl-1: prompt: None, "
        f"prefix_pos: None,sampling_params: {PARAMS}, prompt_token_ids: [5, 6], lora_request: "
        "None.\n"
    )
    assert prompts(read(tmp_path, text)) == [[5, 6]]


def test_adapters_are_contexts_of_their_own(tmp_path):
    lora = "LoRARequest(lora_name='it\\'s', lora_int_id=1, lora_path='/a/b')"
    text = (
        line("cmpl-a", "x", [1, 2], lora=lora)
        + details("cmpl-b", "x", [1, 2])
        + received("cmpl-b", lora='LoRARequest(lora_name="it\'s", lora_int_id=1)')
        + line("cmpl-c", "x", [1, 2])
    )
    trace = read(tmp_path, text)
    assert [trace.contexts[i].adapter for i in trace.context] == ["it's", "it's", None]


def test_prompt_adapters_are_part_of_the_context(tmp_path):
    text = line("cmpl-a", "x", [1, 2]).replace(
        "lora_request: None.",
        "lora_request: None, prompt_adapter_request: "
        "PromptAdapterRequest(prompt_adapter_name='soft', prompt_adapter_id=1).",
    )
    assert read(tmp_path, text).contexts[0].others == (("prompt_adapter", "soft"),)


def test_text_only_is_text(tmp_path):
    text = line("chatcmpl-a", '<|im_start|>"it\'s"\n\t\x00é\U0001f600', None)
    trace = read(tmp_path, text)
    assert trace.identity == "text"
    expected = '<|im_start|>"it\'s"\n\t\x00é\U0001f600'.encode()
    assert bytes(trace.prompts.flat.astype("u1")) == expected
    assert any("no tokenizer" in note for note in trace.notes)


def test_rendered_chats_get_no_frame_and_completions_do(tmp_path):
    tokenizer = load_tokenizer("mistral:tekken_240911")
    said = "[INST]Say it again, please.[/INST]"
    text = line("chatcmpl-a", said, None) + line("cmpl-b", said, None)
    chat, completion = prompts(read(tmp_path, text, tokenizer=tokenizer))
    head, tail = (part.tolist() for part in tokenizer.prompt_frame)
    assert chat == tokenizer.encode(said).tolist()
    assert completion == head + chat + tail
    assert head


def test_text_and_token_ids_need_a_tokenizer(tmp_path):
    text = line("chatcmpl-a", "abc", None) + line("cmpl-b", "abc", [7, 8])
    with pytest.raises(InputError, match="1 requests have text only, 1 have token ids"):
        read(tmp_path, text)
    trace = read(tmp_path, text, tokenizer=load_tokenizer("mistral:tekken_240911"))
    assert trace.identity == "tokens"
    assert prompts(trace)[1] == [7, 8]


@pytest.mark.parametrize("text", [received("cmpl-a"), line("cmpl-a", None, None)])
def test_a_log_without_prompts_is_refused_with_the_reason(tmp_path, text):
    with pytest.raises(InputError, match="VLLM_LOGGING_LEVEL=DEBUG"):
        read(tmp_path, text)


def test_a_request_without_its_prompt_can_be_skipped(tmp_path):
    text = received("cmpl-a") + line("cmpl-b", "x", [1])
    trace = read(tmp_path, text, skip_bad_rows=True)
    assert trace.ids == ("cmpl-b",)
    assert len(trace.skipped) == 1


def test_the_two_lines_of_a_request_may_be_apart_and_in_any_order(tmp_path):
    lora = "LoRARequest(lora_name='sql', lora_int_id=1)"
    text = (
        details("cmpl-a", "x", [1])
        + details("cmpl-b", "x", [2])
        + received("cmpl-b", lora=lora)
        + received("cmpl-c")
        + received("cmpl-a")
        + details("cmpl-c", "x", [3])
    )
    trace = read(tmp_path, text)
    assert prompts(trace) == [[1], [2], [3]]
    assert [trace.contexts[i].adapter for i in trace.context] == [None, "sql", None]


def test_calls_of_tokenize_are_no_requests(tmp_path):
    text = (
        line("tokn-a", "x", [1], params="None")
        + details("tokenize-b", "x", [2])
        + received("tokenize-b", params="None")
    )
    with pytest.raises(InputError, match="only calls of /tokenize"):
        read(tmp_path, text)
    trace = read(tmp_path, text + line("cmpl-c", "x", [3]))
    assert prompts(trace) == [[3]]
    assert "2 calls of /tokenize left out" in trace.notes


def put(path: Path, text: str) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("names", "workers"),
    [
        (("pod-0.log", "pod-1.log.txt"), ("pod-0", "pod-1")),
        (("a/vllm.log", "b/vllm.log"), ("a/vllm", "b/vllm")),
        (("a/vllm.log", "a/vllm.txt"), ("a/vllm.log", "a/vllm.txt")),
    ],
)
def test_each_of_several_logs_is_a_worker(tmp_path, names, workers):
    texts = line("cmpl-a", "x", [1, 2]), line("cmpl-b", "x", [1, 2]) + line("cmpl-a", "x", [3])
    paths = [put(tmp_path / name, text) for name, text in zip(names, texts, strict=True)]
    trace = read_trace(paths)
    assert trace.ids == ("cmpl-a", "cmpl-b", "cmpl-a#2")
    found = [trace.worker.names[code] for code in trace.worker.codes]
    assert [name.removeprefix(f"{tmp_path}/") for name in found] == [*workers, workers[1]]
    assert any(note.startswith("2 logs are given: each is a worker") for note in trace.notes)
    # The second server never saw the first one's prompt.
    analysis = analyze_trace(trace, Setting(block_size=1))
    assert analysis.ledger.total(analysis.ledger.hit) == 0
    one = read_trace(paths[:1])
    assert one.worker.names == ()
    assert not any("worker" in note for note in one.notes)


def test_ids_that_stand_twice_are_numbered(tmp_path):
    text = line("cmpl-a", "x", [1]) + line("cmpl-a", "x", [2]) + line("cmpl-a", "x", [3])
    trace = read(tmp_path, text)
    assert trace.ids == ("cmpl-a", "cmpl-a#2", "cmpl-a#3")
    assert "2 requests have the id of an earlier one: numbered behind it" in trace.notes


def test_generated_tokens_and_the_finish(tmp_path):
    def generated(name, ids, time, info=""):
        return (
            f"INFO {time} [logger.py:92] Generated response {name}{info}: output: 'ok', "
            f"output_token_ids: {ids}, finish_reason: stop\n"
        )

    text = (
        line("chatcmpl-a", None, [1, 2])
        + line("chatcmpl-b", None, [1, 2])
        + line("chatcmpl-c", None, [1, 2])
        + line("chatcmpl-d", None, [1, 2])
        + generated("chatcmpl-a", [8, 9], "05-11 12:04:21")
        + generated("chatcmpl-a", [7], "05-11 12:04:21")  # a second choice
        + generated("chatcmpl-b", None, "05-11 12:04:22", " (streaming complete)")
        + generated("chatcmpl-b", [4], "05-11 12:04:25", " (streaming delta)")
        + "DEBUG 05-11 12:04:23 [l.py:9] Generated response chatcmpl-c details: "
        "output_token_ids: [5]\n"
        + "INFO 05-11 12:04:24 async_llm_engine.py:111] Finished request chatcmpl-d.\n"
        + generated("chatcmpl-z", [8], "05-11 12:04:30")
    )
    trace = read(tmp_path, text)
    assert (trace.finish_s - trace.arrival_s).tolist() == [2, 3, 4, 5]
    assert [run.tolist() for run in split(trace.outputs)] == [[8, 9], [], [5], []]
    assert trace.has_output.tolist() == [True, False, True, False]
    assert trace.output_tokens.tolist() == [2, ABSENT, 1, ABSENT]


ARGUMENTS = (
    "(APIServer pid=1) INFO 05-11 12:00:00 [utils.py:233] non-default args: "
    "{{'model': 'm'{limit}}}\n"
)
NAMESPACE = "INFO 05-11 12:00:00 api_server.py:495] args: Namespace(host=None, {limit}seed=0)\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ARGUMENTS.format(limit=", 'max_log_len': 5, 'enable_log_requests': True"),
        NAMESPACE.format(limit="max_log_len=5, "),
    ],
)
def test_ids_cut_as_the_server_says(tmp_path, arguments):
    text = arguments + line("cmpl-a", None, [1, 2, 3]) + line("cmpl-b", None, [1, 2, 3, 4, 5])
    with pytest.raises(InputError, match="cut at 5 by --max-log-len"):
        read(tmp_path, text)
    assert prompts(read(tmp_path, text, skip_bad_rows=True)) == [[1, 2, 3]]


def test_text_is_cut_as_well(tmp_path):
    arguments = NAMESPACE.format(limit="max_log_len=5, ")
    with pytest.raises(InputError, match="cut at 5 by --max-log-len"):
        read(tmp_path, arguments + line("chatcmpl-a", "äöüßé", None))
    assert len(read(tmp_path, arguments + line("chatcmpl-a", "four", None))) == 1


SAME_LENGTH = line("cmpl-a", None, [1, 2, 3]) + line("cmpl-b", None, [4, 5, 6])


@pytest.mark.parametrize("arguments", [ARGUMENTS.format(limit=""), NAMESPACE.format(limit="")])
def test_a_server_without_a_limit_cuts_nothing(tmp_path, arguments):
    trace = read(tmp_path, arguments + SAME_LENGTH)
    assert not any("--max-log-len" in note for note in trace.notes)


def test_two_prompts_of_the_greatest_length_are_suspicious(tmp_path):
    trace = read(tmp_path, SAME_LENGTH + line("cmpl-c", None, [9]))
    assert any(
        note.startswith("2 of 3 prompts have exactly 3 token ids and none has more")
        for note in trace.notes
    )
    equal = line("cmpl-a", None, [1, 2, 3]) + line("cmpl-b", None, [1, 2, 3])
    assert not any("--max-log-len" in note for note in read(tmp_path, equal).notes)


def test_text_as_long_as_its_ids_shows_the_cut(tmp_path):
    """40 characters of text and 40 ids, and nothing longer: both were cut at 40."""
    text = line("cmpl-a", "a" * 40, list(range(40))) + line("cmpl-b", "b" * 40, [1, 2])
    with pytest.raises(InputError, match="cut at 40 by --max-log-len"):
        read(tmp_path, text)
    whole = line("cmpl-a", "a" * 41, list(range(40))) + line("cmpl-b", "b" * 40, [1, 2])
    assert len(read(tmp_path, whole)) == 2


def test_what_a_prompt_says_is_not_taken_for_a_line(tmp_path):
    inner = line("cmpl-x", "y", [9]).strip() + " prompt_token_ids: [1, 2"
    output = (
        f"INFO 05-11 12:04:20 [logger.py:92] Generated response cmpl-a: output: {inner!r}, "
        "output_token_ids: [5], finish_reason: stop\n"
    )
    trace = read(tmp_path, line("cmpl-a", inner, [3]) + output)
    assert trace.ids == ("cmpl-a",)
    assert prompts(trace) == [[3]]


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (line("cmpl-a", "x", "[1, 2"), "prompt_token_ids"),
        (line("cmpl-a", "x", [1, -2]), "prompt_token_ids[1]"),
        (line("cmpl-a", "x", [1, 2**32]), "prompt_token_ids[1]"),
        (line("cmpl-a", "x", [1, 2.5]), "prompt_token_ids"),
        (line("cmpl-a", "x", [1]).replace("'x'", "'x"), "prompt"),
        (line("cmpl-a", "x", [1]).replace("'x'", r"'\q'"), "prompt"),
        (line("cmpl-a", "x", [1]).replace("'x'", r"'\Uffffffff'"), "prompt"),
        (line("cmpl-a", "x", [1]).replace("'x'", "['x']"), "prompt"),
        (line("cmpl-a", "x", []), "prompt"),
        (line("cmpl-a", "x", [1], lora="LoRARequest(7)"), "lora_request"),
        (line("cmpl-a", "x", [1], time="02-30 00:00:00"), ""),
        (line("chatcmpl-a", "x", None).replace("'x'", r"'\ud800'"), "prompt"),
    ],
)
def test_broken_lines_name_the_field(tmp_path, text, field):
    good = line("cmpl-z", "x", [1, 2, 3])
    with pytest.raises(InputError) as error:
        read(tmp_path, (good if "chatcmpl" not in text else "") + text)
    assert error.value.field == field
    assert ".log:" in error.value.place


def test_a_line_that_is_no_utf_8(tmp_path):
    path = tmp_path / "x.log"
    good = line("cmpl-z", "x", [1]).encode()
    path.write_bytes(good + good.replace(b"'x'", b"'\xff'"))
    with pytest.raises(InputError, match="not valid UTF-8"):
        read_trace([str(path)])


def test_a_whole_date_goes_before_the_stamp(tmp_path):
    text = "".join(
        f"2025-05-11T12:04:{second}{line(name, 'x', [1])}"
        for second, name in (("19.125Z ", "cmpl-a"), ("19.500Z ", "cmpl-b"))
    )
    trace = read(tmp_path, text)
    assert (trace.arrival_s - 1_746_965_059).tolist() == [0.125, 0.5]
    assert not any("without a year" in note for note in trace.notes)


def test_a_log_without_times(tmp_path):
    bare = "".join(line(f"cmpl-{i}", "x", [i]).partition("] ")[2] for i in range(2))
    trace = read(tmp_path, bare)
    assert not trace.has_times
    assert trace.arrival_s.tolist() == [0.0, 1.0]
    with pytest.raises(InputError, match="no time before the message"):
        read(tmp_path, line("cmpl-a", "x", [1]) + bare)


def clock_of(*stamps: str) -> list[float]:
    clock = LogClock()
    times = [clock.seconds(f"INFO {stamp} ", False, "p") for stamp in stamps]
    return [time - times[0] for time in times]


DAY = 86_400.0


@pytest.mark.parametrize(
    ("stamps", "expected"),
    [
        (("12-31 23:59:59", "01-01 00:00:01"), [0, 2]),
        (("02-28 00:00:00", "03-01 00:00:00"), [0, DAY]),
        (("02-28 00:00:00", "02-29 00:00:00", "03-01 00:00:00"), [0, DAY, 2 * DAY]),
        (("02-29 00:00:00", "12-31 00:00:00", "01-01 00:00:00"), [0, 306 * DAY, 307 * DAY]),
        (("05-11 12:00:02", "05-11 12:00:01"), [0, 0]),  # two processes
        (("05-11 12:00:02", "05-11 11:00:00"), [0, -3602]),  # another clock
    ],
)
def test_times_without_a_year(stamps, expected):
    assert clock_of(*stamps) == expected


@pytest.mark.parametrize("number", [3_000, 60_000])
def test_how_far_a_request_may_stand_from_the_beginning(tmp_path, number):
    """Requests are looked for in the first 4 MiB; each line before has some 75 bytes."""
    noise = 'INFO:     127.0.0.1:40962 - "GET /health HTTP/1.1" 200 OK, and nothing else\n'
    text = noise * number + line("cmpl-a", "x", [1])
    if number == 3_000:
        assert len(read(tmp_path, text)) == 1
    else:
        with pytest.raises(InputError):
            read(tmp_path, text)


def test_statistics_without_prompts_are_no_request_log(tmp_path):
    stats = (
        "INFO 05-11 12:04:19 [metrics.py:486] Avg prompt throughput: 13.2 tokens/s, Avg "
        "generation throughput: 13.0 tokens/s, Running: 1 reqs, GPU KV cache usage: 0.1%.\n"
    )
    with pytest.raises(InputError) as error:
        read(tmp_path, stats + received("cmpl-a"))
    assert "VLLM_LOGGING_LEVEL" not in error.value.cause


@pytest.mark.parametrize("name", ["vllm_log_v0.txt", "vllm_log_v1.txt", "sglang_log.txt"])
def test_real_logs_of_statistics_are_not_ours(name):
    for text in shared_data(f"engine_logs/{name}").read_bytes().splitlines():
        event = parse(text, "p")
        assert event is None

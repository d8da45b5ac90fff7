"""Statistics of engines: every figure of the real excerpts, computed by hand, and wordings.

Lines marked "by hand" are written from the documented shape (the sources are named in the
readers); all others are quoted from the shared excerpts of public logs.
"""

import io
import json
from pathlib import Path

import pytest

from hitpath.core import InputError, Setting, SettingError
from hitpath.report.observed import check_observable, observed_document
from hitpath.report.terminal_observed import print_observed
from hitpath.report.text_parts import Page
from hitpath.traces import open_inputs, read_trace
from hitpath.traces.detect import statistics_in
from hitpath.traces.engine_logs import QUANTITIES, Observation, Observed, observe
from hitpath.traces.engine_logs.prometheus_text import parse
from support import shared_data

V1 = (
    "INFO {at} [loggers.py:127] Engine {engine:03d}: Avg prompt throughput: {speed} tokens/s, "
    "Avg generation throughput: 10.0 tokens/s, Running: 1 reqs, Waiting: {waiting} reqs, "
    "GPU KV cache usage: 10.1%, Prefix cache hit rate: {rate}%{more}"
)
BATCH = (
    "[{at}{ranks}] Prefill batch, #new-seq: {seqs}, #new-token: {new}, #cached-token: {cached}, "
    "token usage: 0.02, #running-req: 0, #queue-req: 0"
)


def v1(rate: object, at: str = "11-10 11:42:50", engine: int = 0, **fields: object) -> str:
    told = {"speed": "36.1", "waiting": 0, "more": "", **fields}
    return V1.format(rate=rate, at=at, engine=engine, **told)


def batch(new: int, cached: int, second: int = 0, ranks: str = "", seqs: int = 1) -> str:
    at = f"2026-05-20 08:02:{second:02d}"
    return BATCH.format(at=at, ranks=ranks, seqs=seqs, new=new, cached=cached)


def observed_of(tmp_path: Path, *texts: str, skip_bad_rows: bool = False) -> Observed:
    paths = []
    for i, text in enumerate(texts):
        path = tmp_path / f"{i}.txt"
        path.write_text(text)
        paths.append(str(path))
    inputs = open_inputs(paths)
    assert statistics_in(inputs)
    return observe(inputs, skip_bad_rows=skip_bad_rows)


def real(name: str) -> Observed:
    inputs = open_inputs([str(shared_data(f"engine_logs/{name}"))])
    assert statistics_in(inputs)
    return observe(inputs)


def only(observed: Observed, quantity: str, **wanted: object) -> Observation:
    """The one figure of this quantity whose attributes (or window's kind) are these."""
    kind = wanted.pop("window", None)
    found = [
        one
        for one in observed.observations
        if one.quantity == quantity
        and all(getattr(one, name) == value for name, value in wanted.items())
        and kind in (None, one.window.kind)
    ]
    assert len(found) == 1, found
    return found[0]


def has_trap(observed: Observed, *words: str) -> bool:
    return any(all(word in trap for word in words) for trap in observed.traps)


def page_of(observed: Observed, width: int = 100) -> list[str]:
    page = Page(width=width, file=io.StringIO(), force_terminal=False)
    print_observed(observed, page)
    assert isinstance(page.file, io.StringIO)
    return [line.rstrip() for line in page.file.getvalue().splitlines()]


# ---- the real excerpts -----------------------------------------------------------------------


def test_vllm_v1_log_is_three_runs_that_cannot_be_added():
    observed = real("vllm_log_v1.txt")
    figures = [(one.worker, one.rate, one.num_values) for one in observed.observations]
    assert figures == [
        ("APIServer pid=7416", 0.986, 3),
        ("from 08-11 09:20:10", 0.0, 1),
        ("from 01-11 18:10:10", 0.901, 1),
    ]
    assert observed.headline == observed.observations
    assert (observed.num_lines, observed.num_used_lines) == (7, 5)
    first = observed.observations[0]
    assert (first.quantity, first.kind, first.unit, first.decimals) == (
        "prefix_cache",
        "printed",
        None,
        1,
    )
    assert (first.hit, first.total) == (None, None)
    assert first.window.text == "the last 1,000 requests before 11-10 11:43:20"
    assert first.place.endswith("vllm_log_v1.txt:4")


def test_vllm_v1_log_says_what_is_misread_in_it():
    observed = real("vllm_log_v1.txt")
    assert has_trap(observed, "98.6 % on 3 lines is one number seen 3 times", "on 1 of them")
    assert has_trap(observed, "times go back")
    assert has_trap(observed, "104,162.6 tokens/s", "counts cached tokens")
    assert has_trap(observed, "0.0 % is anything below 0.05 %")
    assert has_trap(observed, "3 engines or runs", "must not be added or averaged")
    assert has_trap(observed, "KV cache usage (0.3 % last)", "low usage is no empty cache")
    assert not has_trap(observed, "preemptions")
    assert not has_trap(observed, "were waiting")
    assert any("only a rate is printed" in text for text in observed.not_known)


def test_vllm_v0_log_counts_blocks_in_two_pools():
    observed = real("vllm_log_v0.txt")
    gpu, cpu = only(observed, "v0_gpu"), only(observed, "v0_cpu")
    assert (gpu.rate, cpu.rate, gpu.unit, gpu.decimals) == (0.0, 0.9, "blocks", 2)
    assert gpu.window.kind == "since_start"
    assert [(p.at, p.rate) for p in cpu.over_time] == [
        ("05-11 12:04:19", 0.0),
        ("05-25 06:50:34", 0.9),
    ]
    assert observed.headline == (cpu,)
    # 13 days, 18 h 46 min 15 s
    assert has_trap(observed, "13.8 days without a statistics line")
    assert has_trap(observed, "server on CPUs has its whole KV cache in the CPU's pool")
    assert has_trap(observed, "On 1 of 2 lines no prompt came")


def test_vllm_metrics_are_read_off_counters():
    observed = real("vllm_metrics_v1.txt")
    own = only(observed, "prefix_cache")
    assert (own.hit, own.total, own.unit) == (189_851_904, 205_165_845, "tokens")
    assert own.rate == 189_851_904 / 205_165_845
    assert (own.model, own.worker) == ("qwen3.6-35b", "")
    external = only(observed, "external_prefix_cache")
    assert (external.rate, external.hit, external.total) == (None, 0, 0)
    facts = {fact.name: fact.value for fact in observed.facts}
    # 8,192 x 16 = 131,072
    assert facts == {
        "prefix caching": "on",
        "block size": "16 tokens",
        "KV cache": "131,072 tokens (8,192 blocks of 16; one is never used)",
    }
    assert observed.headline == (own,)


def test_sglang_log_adds_up_tokens():
    observed = real("sglang_log.txt")
    total = only(observed, "prefill_batches", kind="derived")
    assert (total.hit, total.total, total.num_values) == (427, 433, 6)
    ranked = only(observed, "prefill_batches", worker="TP0")
    assert (ranked.hit, ranked.total, ranked.num_values) == (0, 2, 2)
    plain = only(observed, "prefill_batches", worker="lines without a rank")
    assert (plain.hit, plain.total, plain.num_values) == (21 + 406, 427 + 4, 4)
    printed = only(observed, "printed_hit_rate")
    assert (printed.rate, printed.worker, printed.window.kind) == (0.0, "TP0", "since_start")
    assert observed.headline == (total,)
    assert total.window.text == "6 batches, 2025-02-19 11:45:37 to 2026-10-10 07:22:20"
    assert has_trap(observed, "4 of 6 batches", "/health_generate")
    assert has_trap(observed, "two servers")
    # (0 + 427/431) / 2 and 427/433
    assert has_trap(observed, "mean of the 2 rates would be 49.54 %", "98.61 %")


def test_sglang_gauge_is_no_rate_over_time():
    observed = real("sglang_metrics_2025.txt")
    gauge = only(observed, "cache_hit_rate")
    assert (gauge.rate, gauge.kind, gauge.window.kind) == (
        0.007507552643049313,
        "gauge",
        "not_told",
    )
    assert observed.headline == (gauge,)
    assert has_trap(observed, "prompt_tokens_total (8,128,902)", "Absent is not 0")
    assert has_trap(observed, "one batch's rate")
    assert has_trap(observed, "sglang:token_usage (0.28)")


VLLM_PAGE = """
  98.6 %, 0.0 % and 90.1 % of prompt tokens hit in the engine's own cache
  3 rates that cannot be added up, each with a window of its own:
      98.6 %  APIServer pid=7416: the last 1,000 requests before 11-10 11:43:20
       0.0 %  from 08-11 09:20:10: the last 1,000 requests before 08-11 09:20:10
      90.1 %  from 01-11 18:10:10: the last 1,000 requests before 01-11 18:10:10
  weighted by tokens from vLLM 0.9, by blocks before · as the engine printed it
  vLLM · statistics, no requests · 7 lines, 5 of them used

Every hit rate that is told ────────────────────────────────────────────────────────────────────────
  what           whose                 hit rate                  window
  ─────────────────────────────────────────────────────────────────────
  prefix cache   APIServer pid=7416      98.6 %   ███████████▉        1
  prefix cache   from 08-11 09:20:10      0.0 %                       2
  prefix cache   from 01-11 18:10:10     90.1 %   ██████████▊         3
  window 1: the last 1,000 requests before 11-10 11:43:20
  window 2: the last 1,000 requests before 08-11 09:20:10
  window 3: the last 1,000 requests before 01-11 18:10:10
"""
SGLANG_PAGE = """
  98.61 % of prompt tokens came from the cache
  all 2 together · window: 6 batches, 2025-02-19 11:45:37 to 2026-10-10 07:22:20
  weighted by tokens: 427 of 433 · added up
  SGLang · statistics, no requests · 8 lines, 8 of them used

Every hit rate that is told ────────────────────────────────────────────────────────────────────────
  what                      whose                  hit rate                  hit    of   window
  ─────────────────────────────────────────────────────────────────────────────────────────────
  prefill batches           all 2 together          98.61 %   ███████████▉   427   433        1
  prefill batches           TP0                      0.00 %                    0     2        2
  printed with each batch   TP0                      0.00 %                    –     –        3
  prefill batches           lines without a rank    99.07 %   ███████████▉   427   431        4
  window 1: 6 batches, 2025-02-19 11:45:37 to 2026-10-10 07:22:20
  window 2: 2 batches, 2025-02-19 11:45:37 to 2026-02-19 16:31:49
  window 3: since the server started until 2026-02-19 16:31:49
  window 4: 4 batches, 2025-05-07 09:50:01 to 2026-10-10 07:22:20
"""


@pytest.mark.parametrize(
    ("name", "begin"), [("vllm_log_v1.txt", VLLM_PAGE), ("sglang_log.txt", SGLANG_PAGE)]
)
def test_the_page_begins_with_the_answer(name, begin):
    lines = page_of(real(name))
    assert lines[: begin.count("\n")] == begin.splitlines()
    titles = [line.split(" ─")[0] for line in lines if line.endswith("─") and line[0] != " "]
    assert titles == [
        "Every hit rate that is told",
        "What this rate counts",
        "Before you quote a number",
        "Not known from this",
    ]


# ---- vLLM's log: wordings (by hand) ----------------------------------------------------------


def test_external_rate_and_both_together(tmp_path):
    line = v1("80.0", more=", External prefix cache hit rate: 50.0%, MM cache hit rate: 7.0%")
    observed = observed_of(tmp_path, line)
    assert only(observed, "prefix_cache").rate == 0.8
    assert only(observed, "external_prefix_cache").rate == 0.5
    # the connector had half of the fifth that was lacking
    assert only(observed, "prefix_cache_and_connector").rate == pytest.approx(0.9)
    assert [one.quantity for one in observed.headline] == ["prefix_cache"]


def test_messages_on_one_line_are_told_apart(tmp_path):
    first = v1("10.0", more=", External prefix cache hit rate: 0.0%")
    observed = observed_of(
        tmp_path,
        f"(APIServer pid=1) {first} (APIServer pid=1) {v1('20.0', at='11-10 11:43:00', engine=1)}",
    )
    assert [(one.worker, one.rate) for one in observed.headline] == [
        ("engine 0", 0.1),
        ("engine 1", 0.2),
    ]
    assert observed.num_used_lines == 1


@pytest.mark.parametrize(
    ("before", "worker"),
    [
        ("", "engine 1"),
        ("(APIServer pid=7) ", "engine 1"),
        ("2026-04-19T17:31:11.368Z (APIServer pid=7) ", "engine 1"),
        ("vllm-1  | (APIServer pid=7) ", "engine 1"),
        ("\x1b[0;36m(APIServer pid=7)\x1b[0;0m ", "engine 1"),
    ],
)
def test_what_stands_before_a_message_does_not_matter(tmp_path, before, worker):
    observed = observed_of(tmp_path, f"{before}{v1('1.0')}\n{before}{v1('3.0', engine=1)}\n")
    assert [one.rate for one in observed.headline] == [0.01, 0.03]
    assert observed.headline[1].worker == worker
    assert observed.headline[0].window.end == "11-10 11:42:50"


def test_a_coloured_process_is_one_too(tmp_path):
    text = "\n".join(f"\x1b[0;36m(APIServer pid={i})\x1b[0;0m {v1(10 * i)}" for i in (1, 2))
    workers = [one.worker for one in observed_of(tmp_path, text).headline]
    assert workers == ["APIServer pid=1", "APIServer pid=2"]


def test_a_whole_log_on_one_line(tmp_path):
    text = " ".join(f"(APIServer pid={i % 2}) {v1(i % 100)}" for i in range(3000))
    figures = observed_of(tmp_path, text).observations
    assert [(one.worker, one.num_values) for one in figures] == [
        ("APIServer pid=0", 1500),
        ("APIServer pid=1", 1500),
    ]


def test_servers_are_told_apart_by_container_and_process(tmp_path):
    text = "\n".join(f"vllm-{i}  | (APIServer pid=1) {v1(10 * i)}" for i in (1, 2, 1))
    observed = observed_of(tmp_path, text)
    assert [(one.worker, one.rate, one.num_values) for one in observed.headline] == [
        ("vllm-1 APIServer pid=1", 0.1, 2),
        ("vllm-2 APIServer pid=1", 0.2, 1),
    ]


def test_aggregated_engines_are_one_line_of_several(tmp_path):
    line = v1("42.5").replace("Engine 000:", "2 Engines Aggregated:")
    own = only(observed_of(tmp_path, line), "prefix_cache")
    assert (own.worker, own.worker_count, own.rate) == ("2 engines together", 2, 0.425)


def test_a_line_without_an_engine_is_of_the_first_v1_releases(tmp_path):
    line = v1("42.5").replace("Engine 000: ", "")
    assert only(observed_of(tmp_path, line), "prefix_cache").rate == 0.425


@pytest.mark.parametrize(
    ("version", "unit"),
    [("0.8.5", "blocks"), ("0.9.0", "tokens"), ("0.19.2rc1.dev8+g4b7f", "tokens")],
)
def test_the_version_tells_the_weighting(tmp_path, version, unit):
    start = (
        f"INFO 11-10 11:00:00 [core.py:77] Initializing a V1 LLM engine (v{version}) with config: "
        "model='m', enable_prefix_caching=True, chunked_prefill_enabled=True\n"
        "INFO 11-10 11:01:00 [kv_cache_utils.py:1286] GPU KV cache size: 686,320 tokens\n"
    )
    observed = observed_of(tmp_path, start + v1("1.0"))
    assert only(observed, "prefix_cache").unit == unit
    assert not has_trap(observed, "does not tell vLLM's version")
    assert {fact.name: fact.value for fact in observed.facts} == {
        "version": version,
        "prefix caching": "on",
        "KV cache": "686,320 tokens",
    }


def test_what_newer_versions_mended_is_no_trap_there(tmp_path):
    more = {"waiting": 3, "more": "", "speed": "9.0"}
    line = v1("1.0", **more).replace("GPU KV", "Preemptions: 4, GPU KV")
    old = observed_of(tmp_path, line)
    assert has_trap(old, "4 preemptions")
    assert has_trap(old, "Requests were waiting")
    assert has_trap(old, "no speed of prefill")
    start = "Initializing a V1 LLM engine (v0.28.0) with config: x\n"
    new = observed_of(tmp_path, start + line)
    assert not has_trap(new, "preemptions")
    assert not has_trap(new, "were waiting")
    assert not has_trap(new, "no speed of prefill")


def test_prefix_caching_off_is_said(tmp_path):
    start = "LLM engine (v0.11.0) with config: enable_prefix_caching=False\n"
    assert has_trap(observed_of(tmp_path, start + v1("0.0")), "Prefix caching is off")


def test_v0_prints_minus_one_where_it_is_off(tmp_path):
    line = "INFO 08-16 11:53:40 metrics.py:434] Prefix cache hit rate: GPU: 22.16%, CPU: -1.00%"
    observed = observed_of(tmp_path, line)
    assert only(observed, "v0_gpu").rate == 0.2216
    assert only(observed, "v0_cpu").rate is None
    assert has_trap(observed, "-1.00 %", "off in this pool")
    assert observed.headline == (only(observed, "v0_gpu"),)


def test_v0_without_prefix_caching_prints_no_rate(tmp_path):
    line = (
        "INFO 05-11 12:04:19 [metrics.py:486] Avg prompt throughput: 13.2 tokens/s, Avg "
        "generation throughput: 13.0 tokens/s, Running: 1 reqs, Swapped: 0 reqs, Pending: 0 reqs, "
        "GPU KV cache usage: 0.1%, CPU KV cache usage: 0.0%."
    )
    observed = observed_of(tmp_path, line)
    assert observed.headline == observed.observations == ()
    assert has_trap(observed, "1 statistics lines tell no hit rate")
    assert page_of(observed)[1] == "  No hit rate can be said from this"


def test_new_year_is_no_step_back_and_disorder_of_a_minute_neither(tmp_path):
    times = ["12-31 23:59:59", "01-01 00:00:09", "01-01 00:00:00", "01-02 00:00:00"]
    observed = observed_of(tmp_path, "\n".join(v1(i, at=at) for i, at in enumerate(times)))
    assert only(observed, "prefix_cache").num_values == 4


def test_mixed_lines_do_not_make_runs_without_end(tmp_path):
    times = ["11-10 10:00:00", "11-10 11:00:00"] * 300
    observed = observed_of(tmp_path, "\n".join(v1("5.0", at=at) for at in times))
    assert len(observed.observations) == 100
    assert sum(one.num_values for one in observed.observations) == 600
    assert has_trap(observed, "again and again")


def test_rates_over_time_keep_their_changes_only(tmp_path):
    lines = [v1(rate, at=f"11-10 11:00:{i:02d}") for i, rate in enumerate((1, 1, 2, 2, 2, 1))]
    own = only(observed_of(tmp_path, "\n".join(lines)), "prefix_cache")
    assert [(p.at[-2:], p.rate) for p in own.over_time] == [
        ("00", 0.01),
        ("02", 0.02),
        ("05", 0.01),
    ]


def test_a_long_log_keeps_first_and_last(tmp_path):
    lines = [
        v1(f"{i % 100}.0", at=f"11-10 {i // 3600:02d}:{i // 60 % 60:02d}:{i % 60:02d}")
        for i in range(5000)
    ]
    own = only(observed_of(tmp_path, "\n".join(lines)), "prefix_cache")
    assert len(own.over_time) <= 240
    assert own.over_time[0].at == "11-10 00:00:00"
    assert (own.rate, own.num_values) == (0.99, 5000)


@pytest.mark.parametrize("rate", ["101.0", "-3.0", "nan"])
def test_a_rate_that_is_no_share_is_listed(tmp_path, rate):
    observed = observed_of(tmp_path, f"{v1('5.0')}\n{v1(rate)}")
    assert only(observed, "prefix_cache").rate == 0.05
    assert [(p.place[-2:], p.field) for p in observed.skipped] == [(":2", "Prefix cache hit rate")]


def test_a_line_that_is_cut_off_is_listed(tmp_path):
    cut = v1("5.0")[:-5]
    observed = observed_of(tmp_path, f"{v1('5.0')}\n{cut}\n{batch(1, 2)[:60]}")
    assert [p.cause for p in observed.skipped] == [
        "no rate: the line is cut off",
        "no readable counts: the line is cut off",
    ]
    assert any(line.startswith("Lines left out: 2") for line in page_of(observed))


def test_logs_of_two_files_stay_apart_and_are_named(tmp_path):
    observed = observed_of(tmp_path, v1("5.0"), v1("7.0"))
    assert [(Path(one.worker).name, one.rate) for one in observed.headline] == [
        ("0.txt", 0.05),
        ("1.txt", 0.07),
    ]


# ---- SGLang's log (by hand) ------------------------------------------------------------------


def test_chunks_of_one_prompt_add_up(tmp_path):
    """10,000 tokens with 2,000 cached, in chunks of 4,096: only the first tells the match."""
    text = "\n".join([batch(4096, 2000, 0), batch(3904, 0, 1)])
    lines = only(observed_of(tmp_path, text), "prefill_batches")
    assert (lines.hit, lines.total) == (2000, 10_000)
    assert lines.rate == 0.2


def test_ranks_of_one_cache_are_counted_once(tmp_path):
    text = "\n".join(
        batch(128, 57_856 + i, i, f" PP0 ATTN_CP{rank} TP{rank}")
        for i in range(5)
        for rank in (5, 0, 6, 1)
    )
    observed = observed_of(tmp_path, text)
    lines = only(observed, "prefill_batches")
    assert (lines.num_values, lines.hit, lines.total) == (5, 289_290, 289_930)
    assert has_trap(observed, "15 lines of", "PP0 TP0", "counted once")


def test_a_rank_printed_a_second_later_is_a_repeat_too(tmp_path):
    text = "\n".join(
        batch(8192, 0, second + rank, f" PP{rank} TP0 EP0")
        for second in (1, 5, 9)
        for rank in (0, 1)
    )
    assert only(observed_of(tmp_path, text), "prefill_batches").num_values == 3


def test_data_parallel_ranks_have_caches_of_their_own(tmp_path):
    text = "\n".join(
        batch(50, 50 * rank, i, f" DP{rank} TP{rank}") for i in range(3) for rank in (0, 1)
    )
    observed = observed_of(tmp_path, text)
    total = only(observed, "prefill_batches", kind="derived")
    # 3 x (50, 0 cached) and 3 x (50, 50 cached)
    assert (total.hit, total.total, total.worker) == (150, 450, "all 2 together")
    assert [one.worker for one in observed.observations[1:]] == ["DP0 TP0", "DP1 TP1"]


def test_ranks_with_batches_of_their_own_are_no_repeats(tmp_path):
    """DP attention before the logs named DP ranks."""
    text = "\n".join(
        batch(100 + rank, 10 * i, i, f" TP{rank}") for i in range(4) for rank in (0, 1)
    )
    total = only(observed_of(tmp_path, text), "prefill_batches", kind="derived")
    # cached: 2 x (0 + 10 + 20 + 30); new: 4 x 100 + 4 x 101
    assert (total.hit, total.total) == (120, 924)


def test_cached_tokens_without_a_radix_cache_are_own_chunks(tmp_path):
    """The wording of an issue of 2024 (sglang 2255)."""
    line = (
        "[2024-11-29 10:28:29 TP0] Prefill batch. #new-seq: 2, #new-token: 2048, #cached-token: "
        "888, cache hit rate: 0.00%, token usage: 0.11, #running-req: 69, #queue-req: 130"
    )
    observed = observed_of(tmp_path, line)
    assert has_trap(observed, "Cached tokens beside a cache hit rate of 0.00 %", "0.4.1")
    assert only(observed, "printed_hit_rate").rate == 0.0


@pytest.mark.parametrize(
    "head",
    [
        "Prefill batch. ",
        "Prefill batch, ",
        "Prefill batch [17], ",
        "Prefill batch(mixed #running-req: 3). ",
    ],
)
def test_wordings_of_the_batch(tmp_path, head):
    line = batch(3, 5).replace("Prefill batch, ", head)
    lines = only(observed_of(tmp_path, line), "prefill_batches")
    assert (lines.hit, lines.total) == (5, 8)


def test_start_up_of_sglang(tmp_path):
    text = (
        "[2026-05-20 08:00:00] server_args=ServerArgs(model_path='m', page_size=64, "
        "disable_radix_cache=False)\n[2026-05-20 08:01:00] max_total_num_tokens=665690, "
        "chunked_prefill_size=2048, max_prefill_tokens=16384\n"
    )
    observed = observed_of(tmp_path, text + batch(64, 64))
    assert {fact.name: fact.value for fact in observed.facts} == {
        "prefix caching": "on",
        "page size": "64 tokens",
        "KV cache": "665,690 tokens",
        "prefill chunk": "2,048 tokens",
    }
    assert has_trap(observed, "page_size=64", "a little higher")


def test_decode_lines_alone_tell_no_rate(tmp_path):
    line = "[2026-05-20 08:00:00] Decode batch, #running-req: 1, #token: 59, token usage: 0.00"
    observed = observed_of(tmp_path, line)
    assert observed.headline == ()
    assert has_trap(observed, "1 lines of decode batches")


# ---- /metrics (by hand, in the exposition format) --------------------------------------------


def vllm_scrape(hits: int, queries: int, engine: int = 0, extra: str = "") -> str:
    labels = f'{{engine="{engine}",model_name="m"}}'
    return (
        f"vllm:prefix_cache_queries_total{labels} {queries:.6e}\n"
        f"vllm:prefix_cache_hits_total{labels} {hits:.6e}\n{extra}"
    )


def test_two_scrapes_give_the_rate_between_them(tmp_path):
    observed = observed_of(tmp_path, vllm_scrape(500, 1000), vllm_scrape(800, 3000))
    between = only(observed, "prefix_cache", window="between_scrapes")
    assert (between.hit, between.total, between.rate, between.num_values) == (300, 2000, 0.15, 2)
    assert only(observed, "prefix_cache", window="since_start").rate == 800 / 3000
    assert observed.headline == (between,)
    assert has_trap(observed, "does not tell when the server started")
    assert not any("one run or one hour" in text for text in observed.not_known)


def test_scrapes_in_one_file_give_steps(tmp_path):
    text = vllm_scrape(0, 0) + vllm_scrape(50, 100) + vllm_scrape(60, 300)
    between = only(observed_of(tmp_path, text), "prefix_cache", window="between_scrapes")
    assert (between.hit, between.total) == (60, 300)
    assert [p.rate for p in between.over_time] == [0.5, 0.05]


def test_a_counter_that_falls_begins_anew(tmp_path):
    text = "".join(vllm_scrape(h, q) for h, q in ((900, 1000), (10, 100), (20, 300)))
    observed = observed_of(tmp_path, text)
    between = only(observed, "prefix_cache", window="between_scrapes")
    assert (between.hit, between.total) == (10, 200)
    assert has_trap(observed, "Counters fell", "1,000 prefix_cache tokens", "restarted")


def test_different_starts_are_different_servers(tmp_path):
    texts = [vllm_scrape(10, 100) + "process_start_time_seconds 1.7e+09\n"]
    texts.append(vllm_scrape(90, 100) + "process_start_time_seconds 1.8e+09\n")
    observed = observed_of(tmp_path, *texts)
    assert not [one for one in observed.observations if one.window.kind == "between_scrapes"]
    total = only(observed, "prefix_cache", kind="derived")
    assert (total.hit, total.total) == (100, 200)
    assert has_trap(observed, "2 servers", "No difference is taken")


def test_the_start_is_told_where_it_is_known(tmp_path):
    created = 'vllm:prefix_cache_queries_created{engine="0",model_name="m"} 1.7959545933e+09\n'
    own = only(observed_of(tmp_path, vllm_scrape(1, 2, extra=created)), "prefix_cache")
    assert own.window.text == "since the engine started (2026-11-29 12:16:33 UTC)"


def test_no_prompt_between_two_scrapes_is_no_rate(tmp_path):
    observed = observed_of(tmp_path, vllm_scrape(5, 10), vllm_scrape(5, 10))
    between = only(observed, "prefix_cache", window="between_scrapes")
    assert (between.rate, between.total) == (None, 0)
    assert has_trap(observed, "engine 0: no prompt came between the scrapes")
    assert [one.window.kind for one in observed.headline] == ["since_start"]


def test_engines_are_added_by_their_counters(tmp_path):
    observed = observed_of(tmp_path, vllm_scrape(900, 1000) + vllm_scrape(1000, 9000, engine=1))
    total = only(observed, "prefix_cache", kind="derived")
    assert (total.hit, total.total, total.rate, total.worker_count) == (1900, 10_000, 0.19, 2)
    # (90 + 11.11) / 2
    assert has_trap(observed, "mean of the 2 rates would be 50.56 %", "give 19.00 %")
    assert observed.headline == (total,)


def test_models_are_kept_apart(tmp_path):
    text = vllm_scrape(1, 2) + vllm_scrape(3, 4).replace('"m"', '"other"')
    observed = observed_of(tmp_path, text)
    assert [(one.model, one.rate) for one in observed.headline] == [("m", 0.5), ("other", 0.75)]
    assert has_trap(observed, "2 models (m, other)")


def test_connector_and_own_cache_together(tmp_path):
    extra = (
        'vllm:external_prefix_cache_queries_total{engine="0",model_name="m"} 100.0\n'
        'vllm:external_prefix_cache_hits_total{engine="0",model_name="m"} 50.0\n'
    )
    observed = observed_of(tmp_path, vllm_scrape(900, 1000, extra=extra))
    both = only(observed, "prefix_cache_and_connector")
    assert (both.hit, both.total, both.rate) == (950, 1000, 0.95)
    assert both.parts == (("own cache", 900), ("connector", 50))
    assert [one.quantity for one in observed.headline] == ["prefix_cache"]


@pytest.mark.parametrize(
    ("help_text", "unit"),
    [
        ("in terms of number of queried blocks.", "blocks"),
        ("in terms of number of queriedtokens. DEPRECATED", "tokens"),
        (None, None),
    ],
)
def test_the_unit_of_the_old_counters_is_in_their_help(tmp_path, help_text, unit):
    text = vllm_scrape(1, 4).replace("vllm:prefix", "vllm:gpu_prefix")
    if help_text:
        name = "vllm:gpu_prefix_cache_queries_total"
        text = f"# HELP {name} GPU prefix cache queries, {help_text}\n{text}"
    own = only(observed_of(tmp_path, text), "prefix_cache")
    assert (own.rate, own.unit) == (0.25, unit)


def test_old_and_new_counters_are_not_added(tmp_path):
    text = vllm_scrape(1, 4) + vllm_scrape(1, 4).replace("vllm:prefix", "vllm:gpu_prefix")
    own = only(observed_of(tmp_path, text), "prefix_cache")
    assert (own.hit, own.total, own.unit) == (1, 4, "tokens")


def test_prompt_tokens_by_source(tmp_path):
    labels = 'engine="0",model_name="m"'
    text = (
        f"vllm:prompt_tokens_total{{{labels}}} 1000\n"
        f"vllm:prompt_tokens_cached_total{{{labels}}} 950\n"
        + "".join(
            f'vllm:prompt_tokens_by_source_total{{{labels},source="{source}"}} {n}\n'
            for source, n in (
                ("local_compute", 50),
                ("local_cache_hit", 900),
                ("external_kv_transfer", 50),
            )
        )
    )
    prompts = only(observed_of(tmp_path, text), "prompt_tokens")
    assert (prompts.hit, prompts.total) == (950, 1000)
    assert dict(prompts.parts) == {"external_kv_transfer": 50, "local_cache_hit": 900}


def test_finished_requests_from_histograms(tmp_path):
    """The sums of a public run: 76,150,100 of 264,584,000 tokens were computed."""
    text = (
        "vllm:request_prompt_tokens_sum 2.64584e+08\nvllm:request_prompt_tokens_count 4188\n"
        "vllm:request_prefill_kv_computed_tokens_sum 7.61501e+07\n"
        "vllm:request_prefill_kv_computed_tokens_count {}\n"
    )
    finished = only(observed_of(tmp_path, text.format(4188)), "finished_prefill")
    assert (finished.hit, finished.total) == (188_433_900, 264_584_000)
    assert observed_of(tmp_path, text.format(4187)).observations == ()


def test_what_vllm_tells_beside(tmp_path):
    extra = (
        'vllm:cache_config_info{block_size="16",enable_prefix_caching="False",engine="0",'
        'kv_cache_size_tokens="686320",num_gpu_blocks="None"} 1.0\n'
        'vllm:num_preemptions_total{engine="0",model_name="m"} 7.0\n'
        'vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.05\n'
    )
    observed = observed_of(tmp_path, vllm_scrape(0, 4, extra=extra))
    assert {fact.name: fact.value for fact in observed.facts} == {
        "prefix caching": "off",
        "block size": "16 tokens",
        "KV cache": "686,320 tokens",
        "preemptions since the start": "7",
    }
    assert has_trap(observed, "Prefix caching is off")
    assert has_trap(observed, "7 preemptions")
    assert has_trap(observed, "kv_cache_usage_perc (5.0 %)")


def test_gauges_of_v0(tmp_path):
    text = (
        'vllm:gpu_prefix_cache_hit_rate{model_name="m"} 0.85\n'
        'vllm:cpu_prefix_cache_hit_rate{model_name="m"} -1.0\n'
    )
    observed = observed_of(tmp_path, text)
    gpu = only(observed, "v0_gpu")
    assert (gpu.rate, gpu.unit, gpu.kind) == (0.85, "blocks", "gauge")
    assert only(observed, "v0_cpu").rate is None
    assert observed.headline == (gpu,)


SGLANG = """\
sglang:prompt_tokens_total{is_streaming="false",model_name="m"} 1000.0
sglang:prompt_tokens_total{is_streaming="true",model_name="m"} 3000
sglang:cached_tokens_total{cache_source="device",model_name="m"} 3000
sglang:cached_tokens_total{cache_source="host",model_name="m"} 200.0
sglang:realtime_tokens_total{mode="prefill_compute",model_name="m",tp_rank="0"} 150
sglang:realtime_tokens_total{mode="prefill_cache",model_name="m",tp_rank="0"} 250
sglang:realtime_tokens_total{mode="decode",model_name="m",tp_rank="0"} 999
sglang:prefill_effective_tokens_total{mode="input",model_name="m",tp_rank="1"} 1
sglang:prefill_effective_tokens_total{mode="device_hit",model_name="m",tp_rank="1"} 1
sglang:prefill_effective_tokens_total{mode="input",model_name="m",tp_rank="0"} 100
sglang:prefill_effective_tokens_total{mode="device_hit",model_name="m",tp_rank="0"} 200
sglang:prefill_effective_tokens_total{mode="storage_hit",model_name="m",tp_rank="0"} 100
sglang:max_total_num_tokens{model_name="m",tp_rank="0"} 665690.0
sglang:evicted_tokens_total{model_name="m",tp_rank="0"} 12345
sglang:num_retracted_requests_total{model_name="m",tp_rank="0"} 2
"""


def test_counters_of_sglang(tmp_path):
    observed = observed_of(tmp_path, SGLANG)
    finished = only(observed, "finished_requests")
    assert (finished.hit, finished.total) == (3200, 4000)
    assert finished.parts == (("device", 3000), ("host", 200))
    realtime = only(observed, "realtime_prefill")
    assert (realtime.hit, realtime.total) == (250, 400)
    effective = only(observed, "effective_prefill")
    assert (effective.hit, effective.total) == (300, 400)
    assert effective.parts == (("device_hit", 200), ("storage_hit", 100))
    assert has_trap(observed, "several ranks of one cache")
    assert observed.headline == (finished,)
    assert {fact.name: fact.value for fact in observed.facts} == {
        "KV cache": "665,690 tokens",
        "evicted since the start": "12,345 tokens",
        "retracted since the start": "2",
    }


def test_cached_tokens_without_prompt_tokens_give_no_rate(tmp_path):
    text = 'sglang:cached_tokens_total{cache_source="total",model_name="m"} 5\n'
    assert observed_of(tmp_path, text).observations == ()


@pytest.mark.parametrize(
    ("labels", "value", "rate"),
    [
        ('model_name="m",tp_rank="0",engine_type="unified"', "0.25", 0.25),
        ('name="google/gemma-2-9b-it"', "10.61", 0.1061),
    ],
)
def test_the_gauge_in_its_versions(tmp_path, labels, value, rate):
    observed = observed_of(tmp_path, f"sglang:cache_hit_rate{{{labels}}} {value}\n")
    gauge = only(observed, "cache_hit_rate")
    assert gauge.rate == pytest.approx(rate)
    assert gauge.window.kind == ("one_batch" if "tp_rank" in labels else "not_told")
    assert has_trap(observed, "in per cent") == ("name=" in labels.split("model_")[0])


def test_a_gauge_of_0_may_be_of_a_decode_batch(tmp_path):
    text = 'sglang:cache_hit_rate{model_name="m",engine_type="decode",tp_rank="0"} 0.0\n'
    observed = observed_of(tmp_path, text)
    assert has_trap(observed, "may be of no prefill batch at all")
    assert has_trap(observed, "A decode worker of a disaggregated pair")


def test_gauges_of_data_parallel_ranks_are_not_averaged(tmp_path):
    text = "".join(
        f'sglang:cache_hit_rate{{model_name="m",dp_rank="{i}",tp_rank="{i}"}} 0.{6 + 3 * i}\n'
        for i in (0, 1)
    )
    observed = observed_of(tmp_path, text)
    assert [(one.worker, one.rate) for one in observed.headline] == [("DP0", 0.6), ("DP1", 0.9)]


def test_more_hits_than_tokens_is_said_not_clamped(tmp_path):
    observed = observed_of(tmp_path, vllm_scrape(7, 4))
    own = only(observed, "prefix_cache")
    assert (own.rate, own.hit, own.total) == (None, 7, 4)
    assert has_trap(observed, "7 hits of 4 cannot be")


def test_names_that_ray_and_others_write(tmp_path):
    text = (
        'ray_vllm_prefix_cache_queries_total{engine="0",pod="a"} 10\n'
        'ray_vllm_prefix_cache_hits_total{engine="0",pod="a"} 4\n'
    )
    assert only(observed_of(tmp_path, text), "prefix_cache").rate == 0.4


@pytest.mark.parametrize(
    ("line", "field", "cause"),
    [
        ('vllm:prefix_cache_hits_total{engine="0"} x', "vllm:prefix_cache_hits", "no number"),
        (
            'vllm:prefix_cache_hits_total{engine="0"} NaN',
            "vllm:prefix_cache_hits",
            "nan is no count",
        ),
        ('vllm:prefix_cache_hits_total{engine="0"} -1', "vllm:prefix_cache_hits", "-1 is no count"),
        (
            'vllm:prefix_cache_hits_total{engine="0"} 1.5',
            "vllm:prefix_cache_hits",
            "1.5 is no count",
        ),
        (
            'vllm:prefix_cache_hits_total{engine="0"} +Inf',
            "vllm:prefix_cache_hits",
            "inf is no count",
        ),
        ('vllm:prefix_cache_hits_total{engine="0"', "vllm:prefix_cache_hits", "not closed"),
        ("vllm:prefix_cache_hits_total{engine=0} 1", "vllm:prefix_cache_hits", "label="),
        ('vllm:prefix_cache_hits_total{engine="0"}', "vllm:prefix_cache_hits", "no value"),
        ("vllm:prefix_cache_hits_total 1 2 3", "vllm:prefix_cache_hits", "more than value"),
        ("vllm:prefix_cache_hits_total 1_0", "vllm:prefix_cache_hits", "no number"),
        ("sglang:cache_hit_rate 1.5", "sglang:cache_hit_rate", "1.5 is no share"),
        ("vllm:gpu_prefix_cache_hit_rate 3", "vllm:gpu_prefix_cache_hit_rate", "3 is no share"),
    ],
)
def test_a_sample_that_cannot_be_right(tmp_path, line, field, cause):
    text = f"{vllm_scrape(1, 2)}{line}\n"
    with pytest.raises(InputError) as caught:
        observed_of(tmp_path, text)
    assert caught.value.place.endswith("0.txt:3")
    assert caught.value.field == field
    assert cause in caught.value.cause
    observed = observed_of(tmp_path, text, skip_bad_rows=True)
    assert [problem.field for problem in observed.skipped] == [field]
    assert only(observed, "prefix_cache").rate == 0.5


def test_a_gauge_that_is_not_set_is_no_figure(tmp_path):
    observed = observed_of(tmp_path, f"{vllm_scrape(1, 2)}sglang:cache_hit_rate NaN\n")
    assert [one.quantity for one in observed.observations] == ["prefix_cache"]


def test_the_format_of_a_sample():
    line = rb'vllm:prefix_cache_hits_total { a = "x\\y\"z\n" , b="{1} 2",} 3e2 1700000000500 # {} 1'
    sample = parse(line.replace(b"total {", b"total{"), "m:1")
    assert sample.labels == (("a", 'x\\y"z\n'), ("b", "{1} 2"))
    assert (sample.value, sample.timestamp_s) == (300.0, 1_700_000_000.5)
    assert (sample.engine, sample.name) == ("vllm", "prefix_cache_hits")


# ---- what is ours, and what is done with it --------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        '{"prompt": "why is Prefix cache hit rate: 98.6%?"}\n',
        '[{"text": "Prefill batch. #new-seq: 1"}]\n',
        "Received request cmpl-1: prompt: 'hello', params: x, prompt_token_ids: [1], x.\n"
        + v1("1.0"),
        v1("1.0") + "\nReceived request cmpl-1: prompt: 'hi', params: x, prompt_token_ids: None\n",
        "nothing of an engine\n" * 3,
        "llamacpp:prompt_tokens_total 42\n",
        "",
    ],
)
def test_other_texts_are_not_ours(tmp_path, text):
    path = tmp_path / "t.txt"
    path.write_text(text)
    assert not statistics_in(open_inputs([str(path)]))


LLAMA = (
    "# HELP llamacpp:prompt_tokens_total Number of prompt tokens processed.\n"
    "# TYPE llamacpp:prompt_tokens_total counter\n"
    "llamacpp:prompt_tokens_total 42\n"
)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            LLAMA,
            "is /metrics of llama.cpp: its counters exclude cached tokens, no hit rate can be read "
            "from them",
        ),
        ("llamacpp:prompt_tokens_total 42\n", "is /metrics of llama.cpp: its counters exclude"),
        (
            LLAMA + "llamacpp:prompt_tokens_cached_total 900\n",
            "is /metrics of llama.cpp, which hitpath does not read: llamacpp:prompt_tokens_total "
            "excludes the cached tokens",
        ),
        (
            '# TYPE trtllm_kv_cache_hit_rate gauge\ntrtllm_kv_cache_hit_rate{model="m"} 0.5\n',
            "is /metrics of TensorRT-LLM, which hitpath does not read: its hit rate counts blocks",
        ),
        (
            "Handling connection for 8080\ntgi_request_input_length_sum 3.4e5\n",
            "is /metrics of Text Generation Inference, not one of vLLM's or SGLang's",
        ),
        (
            "# HELP go_goroutines Number, of them\n# TYPE go_goroutines gauge\ngo_goroutines 7\n",
            "is /metrics, but not one of vLLM's or SGLang's (it begins with go_goroutines)",
        ),
    ],
)
def test_metrics_of_other_engines_end_in_one_clear_line(tmp_path, text, cause):
    path = tmp_path / "m.txt"
    path.write_text(text)
    assert not statistics_in(open_inputs([str(path)]))
    for skip in (False, True):
        with pytest.raises(InputError) as caught:
            read_trace([str(path)], skip_bad_rows=skip)
        assert caught.value.place == str(path)
        assert caught.value.cause.startswith(cause)


def test_text_that_only_names_a_metric_is_no_metrics(tmp_path):
    path = tmp_path / "m.txt"
    path.write_text("llamacpp:prompt_tokens_total is a counter\n# TYPE of thing\n")
    with pytest.raises(InputError, match="not a format that hitpath knows"):
        read_trace([str(path)])


def test_a_table_with_a_log_in_a_cell_is_a_table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.97,4808,10\n" + v1("1.0")
    )
    assert not statistics_in(open_inputs([str(path)]))


def test_a_request_log_without_prompts_still_has_statistics(tmp_path):
    text = f"Received request cmpl-1: prompt: None, params: x, prompt_token_ids: None\n{v1('1.0')}"
    assert only(observed_of(tmp_path, text), "prefix_cache").rate == 0.01


def test_statistics_and_requests_do_not_go_together(tmp_path):
    log, trace = tmp_path / "log.txt", tmp_path / "t.jsonl"
    log.write_text(v1("1.0"))
    trace.write_text(json.dumps({"id": 1, "arrival_s": 0, "tokens": [1, 2]}) + "\n")
    with pytest.raises(InputError, match="give them apart"):
        statistics_in(open_inputs([str(log), str(trace)]))


def test_where_a_trace_is_wanted_they_are_refused(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text(v1("1.0"))
    with pytest.raises(InputError, match="statistics, no requests"):
        read_trace([str(path)])


@pytest.mark.parametrize(
    ("setting", "option"),
    [
        (Setting(engine="lru", capacity_tokens=64), "--engine lru"),
        (Setting(last_token=True), "--last-token"),
        (Setting(outputs="insert"), "--outputs insert"),
        (Setting(block_size=32), "--block-size 32"),
        (Setting(workers=2), "--router round-robin"),
        (Setting(seed=3), "--seed 3"),
        (Setting(split_models=True), "--split-models"),
        (Setting(sample_frac=0.1), "--sample 0.1"),
        (Setting(tokenizer="t.json"), "--tokenizer t.json"),
    ],
)
def test_settings_of_a_trace_are_refused(setting, option):
    with pytest.raises(SettingError) as caught:
        check_observable(setting, None, [])
    assert caught.value.option == option
    check_observable(Setting(), None, [("--html", None)])


def test_outputs_of_a_trace_are_refused():
    with pytest.raises(SettingError, match="--html: needs requests"):
        check_observable(Setting(), None, [("--ledger", None), ("--html", "x.html")])


@pytest.mark.parametrize(
    "name",
    [
        "vllm_log_v0.txt",
        "vllm_log_v1.txt",
        "vllm_metrics_v1.txt",
        "sglang_log.txt",
        "sglang_metrics_2025.txt",
    ],
)
def test_the_document_holds_what_the_page_says(name):
    observed = real(name)
    content = json.loads(json.dumps(observed_document(observed)))
    assert content["schema"] == "hitpath.observed/1"
    answer = content["answer"]
    assert page_of(observed)[1].strip() == answer["text"]
    chosen = [content["observations"][i]["rate"] for i in answer["observations"]]
    assert chosen == [one.rate for one in observed.headline]
    for record in content["observations"]:
        assert record["title"] == QUANTITIES[record["quantity"]].title
        assert record["weighting"].startswith("by ")
        assert record["covers"]
    assert content["not_known"]


def test_every_trap_and_name_is_shown_not_obeyed(tmp_path):
    text = vllm_scrape(1, 2).replace('"m"', '"[red]\\n\x1b[2J"') + vllm_scrape(1, 2, engine=1)
    observed = observed_of(tmp_path, text)
    page = "\n".join(page_of(observed))
    assert "\x1b" not in page
    assert "[red]" in page

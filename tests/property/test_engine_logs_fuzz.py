"""Arbitrary, mutated and cut logs and metrics: an answer or an error of ours, and what is added
up from counts agrees with plain sums over what was written."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from cli import call, is_one_line
from hitpath.core import InputError
from hitpath.report.observed import observed_document
from hitpath.traces import open_inputs
from hitpath.traces.detect import statistics_in
from hitpath.traces.engine_logs import Observed, observe

LINES = [
    b"(APIServer pid=7416) INFO 11-10 11:42:50 [loggers.py:127] Engine 000: Avg prompt throughput: "
    b"104162.6 tokens/s, Avg generation throughput: 10.0 tokens/s, Running: 100 reqs, Waiting: 0 "
    b"reqs, GPU KV cache usage: 10.1%, Prefix cache hit rate: 98.6%, External prefix cache hit "
    b"rate: 3.0%",
    b"INFO 05-11 12:04:19 [metrics.py:502] Prefix cache hit rate: GPU: 0.00%, CPU: -1.00%",
    b"INFO 05-11 12:04:19 [metrics.py:486] Avg prompt throughput: 13.2 tokens/s, Avg generation "
    b"throughput: 13.0 tokens/s, GPU KV cache usage: 0.1%, CPU KV cache usage: 0.0%.",
    b"[2025-02-19 11:45:37 DP0 TP0] Prefill batch. #new-seq: 1, #new-token: 1, #cached-token: 5, "
    b"cache hit rate: 12.50%, token usage: 0.00, #running-req: 0, #queue-req: 0",
    b"[2026-10-10 07:22:20 TP1] Prefill batch [10], #new-seq: 1, #new-token: 1, #cached-token: 0, ",
    b"[2025-05-07 09:50:01] Decode batch. #running-req: 1, #token: 59, #queue-req: 0",
    b"# HELP vllm:gpu_prefix_cache_queries_total GPU prefix cache queries, queried blocks.",
    b'vllm:prefix_cache_queries_total{engine="0",model_name="m"} 2.05165845e+08 1700000000000',
    b'vllm:prefix_cache_hits_total{engine="0",model_name="m"} 1.89851904e+08',
    b'vllm:external_prefix_cache_queries_total{engine="0",model_name="m"} 0.0',
    b'vllm:cache_config_info{block_size="16",enable_prefix_caching="True",num_gpu_blocks="8"} 1.0',
    b'vllm:prompt_tokens_by_source_total{source="local_compute"} 7',
    b"vllm:gpu_prefix_cache_hit_rate -1",
    b'sglang:prompt_tokens_total{is_streaming="true",model_name="a\\"b\\\\c\\n"} 8.128902e+06',
    b'sglang:cached_tokens_total{cache_source="device",model_name="m"} 3e3',
    b'sglang:prefill_effective_tokens_total{mode="input",tp_rank="1",dp_rank="0"} 3',
    b'sglang:cache_hit_rate{name="m"} 10.61',
    b"process_start_time_seconds 1.7e+09",
    b"Initializing a V1 LLM engine (v0.11.0) with config: enable_prefix_caching=False",
    b"max_total_num_tokens=665690, chunked_prefill_size=2048, disable_radix_cache=True",
    b"GPU KV cache size: 686,320 tokens",
    b"something else",
]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A line of ours, perhaps cut, with a piece replaced, or with another one behind it."""
    line = draw(st.sampled_from(LINES))
    how = draw(st.integers(0, 4))
    if how == 0 and line:
        begin = draw(st.integers(0, len(line)))
        return line[:begin]
    if how == 1:
        at = draw(st.integers(0, len(line)))
        length = draw(st.integers(0, 12))
        return line[:at] + draw(st.binary(max_size=6)) + line[at + length :]
    if how == 2:
        digits = b"".join(draw(st.lists(st.sampled_from([b"9", b"0", b".", b"-", b"e", b"%"]))))
        return line.replace(b"1", digits, 1)
    if how == 3:
        return line + b" " + draw(st.sampled_from(LINES))
    return line


def read(content: bytes, skip_bad_rows: bool) -> Observed | None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.txt"
        path.write_bytes(content)
        inputs = open_inputs([str(path)])
        return observe(inputs, skip_bad_rows=skip_bad_rows) if statistics_in(inputs) else None


def check(observed: Observed) -> None:
    for one in observed.observations:
        assert one.rate is None or 0 <= one.rate <= 1
        assert one.total is None or one.rate is None or one.hit == round(one.rate * one.total)
        assert not one.parts or sum(hit for _, hit in one.parts) == one.hit
        assert len(one.over_time) <= 2 * 240
    assert all(one in observed.observations for one in observed.headline)
    document = observed_document(observed)
    assert len(document["answer"]["observations"]) == len(observed.headline)
    assert observed.not_known
    assert observed.num_used_lines <= observed.num_lines


@settings(max_examples=400, deadline=None)
@given(st.lists(mutated(), max_size=12), st.booleans())
def test_mutated_logs_and_metrics(lines, skip_bad_rows):
    observed = None
    try:
        observed = read(b"\n".join(lines), skip_bad_rows)
    except InputError as error:
        refused = error.place
    else:
        refused = None
    assert refused is None or (not skip_bad_rows and ":" in refused)
    if observed is not None:
        check(observed)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=400), st.lists(st.sampled_from(LINES), max_size=3))
def test_arbitrary_bytes(content, lines):
    try:
        observed = read(b"\n".join([*lines, content, *lines]), True)
    except InputError:
        raise AssertionError("nothing is refused under --skip-bad-rows") from None
    if observed is not None:
        check(observed)


@settings(max_examples=60, deadline=None)
@given(st.lists(mutated(), min_size=1, max_size=6))
def test_the_command_ends_with_a_page_or_with_one_line(lines):
    ended = call("analyze", "-", stdin=b"\n".join(lines))
    if ended.code == 0:
        assert "\x1b" not in ended.text
        assert "Not known" in ended.text
    else:
        assert ended.code == 2
        assert is_one_line(ended.err)


BATCHES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 4000), st.integers(0, 4000)),
    min_size=1,
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(BATCHES, st.integers(1, 4))
def test_batches_printed_by_every_rank_are_counted_once(batches, num_ranks):
    """Each DP rank's batches, printed by `num_ranks` ranks of its cache. Batches stand at least
    three seconds apart, so that only ranks repeat each other."""
    text = []
    for i, (dp, seqs, new, cached) in enumerate(batches):
        at = f"2026-01-01 {i * 3 // 3600:02d}:{i * 3 // 60 % 60:02d}:{i * 3 % 60:02d}"
        text += [
            f"[{at} DP{dp} TP{rank}] Prefill batch, #new-seq: {seqs}, #new-token: {new}, "
            f"#cached-token: {cached}, token usage: 0.00"
            for rank in range(num_ranks)
        ]
    observed = read("\n".join(text).encode(), False)
    assert observed is not None
    check(observed)
    lines = [one for one in observed.observations if one.quantity == "prefill_batches"]
    if len({dp for dp, *_ in batches}) > 1:
        lines = [one for one in lines if one.kind == "derived"]
    assert len(lines) == 1
    assert lines[0].hit == sum(cached for *_, cached in batches)
    assert lines[0].total == sum(new + cached for *_, new, cached in batches)
    assert lines[0].num_values == len(batches)


READINGS = st.lists(
    st.lists(st.tuples(st.integers(0, 900), st.integers(0, 900)), min_size=1, max_size=3),
    min_size=1,
    max_size=5,
)


@settings(max_examples=150, deadline=None)
@given(READINGS)
def test_counters_that_only_grow_add_up(steps):
    """Each step's (hits, misses) of each engine come to its counters before the next scrape."""
    num = min(len(step) for step in steps)
    hits, queries = [0] * num, [0] * num
    text = []
    for step in steps:
        for engine, (hit, miss) in enumerate(step[:num]):
            hits[engine] += hit
            queries[engine] += hit + miss
            labels = f'{{engine="{engine}"}}'
            text.append(f"vllm:prefix_cache_queries_total{labels} {queries[engine]}")
            text.append(f"vllm:prefix_cache_hits_total{labels} {hits[engine]}")
    observed = read("\n".join(text).encode(), False)
    assert observed is not None
    check(observed)
    kinds = {"since_start": (sum(hits), sum(queries))}
    if len(steps) > 1:
        later = [pair for step in steps[1:] for pair in step[:num]]
        kinds["between_scrapes"] = (sum(h for h, _ in later), sum(h + m for h, m in later))
    for kind, (hit, total) in kinds.items():
        figures = [one for one in observed.observations if one.window.kind == kind]
        whole = [one for one in figures if one.worker_count == num]
        assert [(one.hit, one.total) for one in whole] == [(hit, total)]
        assert len(figures) == (num + 1 if num > 1 else 1)

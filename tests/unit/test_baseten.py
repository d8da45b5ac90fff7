"""Baseten Parquet. The rows are those of AIPerf's offline suite (test_baseten_offline_suite.py,
"small but structurally faithful"), or written by hand from the documented columns."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hitpath.core import InputError, Setting, SettingError
from hitpath.spine import analyze
from hitpath.summary import Analysis
from hitpath.text.tokenizer import load_tokenizer
from hitpath.traces import Trace, read_trace
from hitpath.traces.sampling import Sampler


def request(start_ms: int, tokens: tuple[int, int], ids: Any, session: Any, **more: Any) -> Any:
    return {
        "timestamp_start_unix_ms": start_ms,
        "prompt": f"{session} reconstructed prompt text",
        "input_tokens": tokens[0],
        "output_tokens": tokens[1],
        "total_hashes": ids,
        "provided_session_id": session,
        "block_size": 64,
        **more,
    }


def outcome(cached: int, e2e: int, ttft: int, canceled: int = 0) -> dict[str, int]:
    return {
        "cached_tokens_reference": cached,
        "duration_e2e_ms": e2e,
        "duration_ttft_ms": ttft,
        "request_canceled": canceled,
    }


SUITE = [
    request(1_000, (128, 50), [10, 11], "A", **outcome(0, 800, 120)),
    request(3_000, (192, 40), [10, 11, 12], "A", **outcome(128, 700, 110)),
    request(6_000, (256, 60), [10, 11, 12, 13], "A", **outcome(192, 900, 130)),
    request(1_500, (128, 30), [20, 21], "B", **outcome(0, 600, 100)),
    request(9_000, (192, 45), [20, 21, 22], "B", **outcome(128, 750, 115)),
    request(20_000, (64, 20), [30], "C", **outcome(0, 300, 90, 1)),
]


def put(path: Path, rows: list[dict[str, Any]], **options: Any) -> str:
    pq.write_table(pa.Table.from_pylist(rows), path, **options)
    return str(path)


def read(tmp_path: Path, rows: list[dict[str, Any]], **options: Any) -> Trace:
    return read_trace([put(tmp_path / "t.parquet", rows)], **options)


def analysed(tmp_path: Path, rows: list[dict[str, Any]], setting: Setting) -> Analysis:
    analysis = analyze([put(tmp_path / "t.parquet", rows)], setting)
    assert isinstance(analysis, Analysis)
    return analysis


def test_ids_of_prompts_give_the_reported_and_the_modelled_hits(tmp_path):
    trace = read(tmp_path, SUITE)
    assert (trace.format, trace.identity, trace.block_size) == ("baseten", "chained", 64)
    assert trace.ids == ("0", "3", "1", "2", "4", "5"), "in order of arrival"
    assert trace.arrival_s.tolist() == [1, 1.5, 3, 6, 9, 20]
    assert trace.finish_s.tolist() == [1.8, 2.1, 3.7, 6.9, 9.75, 20.3]
    assert trace.ttft_s.tolist() == [0.12, 0.1, 0.11, 0.13, 0.115, 0.09]
    assert trace.reported_hit.tolist() == [0, 0, 128, 192, 128, 0]
    assert [trace.session.of(i) for i in range(6)] == ["A", "B", "A", "A", "B", "C"]
    assert not trace.has_output.any()
    assert "canceled requests, which are kept: 1" in trace.notes
    assert "reported hits are cached_tokens_reference, in 6 rows" in trace.notes
    analysis = analysed(tmp_path, SUITE, Setting())
    assert analysis.ledger.rungs.model[0].tolist() == [0, 0, 128, 192, 128, 0]
    assert int(analysis.ledger.hit.sum()) == 448


WITH_OUTPUT = [
    # 100 + 60 = 160 tokens: two whole blocks and a half, of which one is prompt alone.
    request(0, (100, 60), [1, 2, 3], "A"),
    # The next turn: 160 + 40 = 200 prompt tokens, 30 more: 3.59 blocks.
    request(5_000, (200, 30), [1, 2, 30, 4], "A"),
    request(9_000, (100, 0), [1, 50], "B"),
]


def test_ids_of_prompt_and_output_are_cut_by_their_number(tmp_path):
    trace = read(tmp_path, WITH_OUTPUT)
    lengths = [trace.prompts.lengths.tolist(), trace.outputs.lengths.tolist()]
    assert lengths == [[1, 3, 1], [2, 1, 1]]
    assert trace.has_output.all()
    assert "total_hashes are of prompt and output together, by their number" in trace.notes
    kept = analysed(tmp_path, WITH_OUTPUT, Setting(outputs="insert"))
    assert kept.ledger.hit.tolist() == [0, 128, 64]
    without = analysed(tmp_path, WITH_OUTPUT, Setting())
    assert without.ledger.hit.tolist() == [0, 64, 64]


def test_rows_that_fit_both_readings_are_of_prompts(tmp_path):
    rows = [request(0, (100, 10), [1, 2], "A"), request(1, (100, 20), [1, 2], "A")]
    trace = read(tmp_path, rows)
    assert trace.prompts.lengths.tolist() == [2, 2]
    assert not trace.has_output.any()


PROMPT_ALONE = request(0, (128, 200), [1, 2], "A")


@pytest.mark.parametrize("others", [WITH_OUTPUT[0], PROMPT_ALONE], ids=["both", "prompt"])
@pytest.mark.parametrize("first", [True, False])
def test_the_reading_of_most_rows_holds_and_another_row_is_bad(tmp_path, others, first):
    odd = PROMPT_ALONE if others is WITH_OUTPUT[0] else WITH_OUTPUT[0]
    rows = [*([odd] if first else []), *[others] * 150, *([] if first else [odd])]
    with pytest.raises(InputError, match=r"total_hashes: . ids for") as caught:
        read(tmp_path, rows)
    assert caught.value.place.endswith("parquet:1" if first else "parquet:151")
    trace = read(tmp_path, rows, skip_bad_rows=True)
    assert (len(trace), len(trace.skipped)) == (150, 1)
    assert trace.has_output.all() == (others is WITH_OUTPUT[0])


def test_ids_that_stand_behind_different_prefixes_are_found_to_be_of_content(tmp_path):
    rows = [
        request(0, (128, 64), [1, 2, 3], "A"),
        request(1, (128, 64), [9, 2, 3], "B"),
        request(2, (128, 64), [1, 2, 7], "C"),
    ]
    analysis = analysed(tmp_path, rows, Setting())
    assert analysis.trace.identity == "content"
    assert analysis.ledger.hit.tolist() == [0, 0, 128]


def test_ids_may_be_strings(tmp_path):
    rows = [{**row, "total_hashes": [f"{i:064x}" for i in row["total_hashes"]]} for row in SUITE]
    assert read(tmp_path, rows).prompts.flat.max() < 20
    assert analysed(tmp_path, rows, Setting()).ledger.hit.sum() == 448


def test_the_size_of_the_blocks_is_told_by_a_row_or_by_the_user(tmp_path):
    rows = [{k: v for k, v in row.items() if k != "block_size"} for row in SUITE]
    with pytest.raises(SettingError, match="does not tell the size of its blocks"):
        read(tmp_path, rows)
    assert read(tmp_path, rows, block_size=64).block_size == 64
    with pytest.raises(InputError, match="total_hashes: 2 ids for 128 tokens in blocks of 16"):
        read(tmp_path, rows, block_size=16)
    late = [{**row, "block_size": 64 if i == 3 else None} for i, row in enumerate(SUITE)]
    with pytest.raises(SettingError):
        read(tmp_path, late)
    two = [{**row, "block_size": 32 if i == 3 else 64} for i, row in enumerate(SUITE)]
    with pytest.raises(InputError, match="block_size: 32, but 64 before"):
        read(tmp_path, two)


def test_without_ids_the_text_of_the_prompts_counts(tmp_path):
    rows = [
        {**request(0, (3, 6), None, "s", output_text="yes"), "prompt": "hello there"},
        {**request(100, (4, 8), None, "s", output_text=None), "prompt": "hello them"},
    ]
    trace = read(tmp_path, rows)
    assert (trace.identity, trace.block_size) == ("text", None)
    assert trace.prompt_tokens.tolist() == [11, 10]
    assert trace.output_tokens.tolist() == [3, -1], "tokens are not counted among bytes"
    assert not trace.excluded, "3 tokens of 11 bytes are no contradiction"
    assert "total_hashes are not read: the text of the prompts is" in trace.notes
    analysis = analysed(tmp_path, rows, Setting(block_size=1))
    assert analysis.ledger.hit.tolist() == [0, len("hello the")]


def test_a_tokenizer_goes_before_the_ids(tmp_path):
    trace = read(tmp_path, SUITE, tokenizer=load_tokenizer("mistral:tekken_240911"))
    assert trace.identity == "tokens"
    assert len(trace.excluded) == 6, "the recorded lengths are of another tokenizer"
    assert trace.output_tokens.tolist() == [50, 30, 40, 60, 45, 20]


def test_the_columns_of_text_are_not_read_where_ids_are(tmp_path):
    """A damaged page of a column that is not needed disturbs nobody."""
    rows = [{**row, "prompt": "fine " * 200} for row in SUITE]
    path = tmp_path / "t.parquet"
    put(path, rows, compression="none", use_dictionary=False, write_page_checksum=True)
    path.write_bytes(path.read_bytes().replace(b"fine fine", b"fine FINE"))
    assert len(read_trace([str(path)])) == 6


@pytest.mark.parametrize(
    ("provided", "derived", "sessions"),
    [
        (["a", None, "a"], [1, 1, 2], ["a", None, "a"]),
        ([None, None, None], [1, 1, 2], ["1", "1", "2"]),
        ([7, 8, 9], [1, 1, 2], ["7", "8", "9"]),
        (None, [1.0, None, 2.0], ["1", None, "2"]),
        (None, None, [None, None, None]),
    ],
)
def test_the_provided_session_goes_before_the_derived_one(tmp_path, provided, derived, sessions):
    rows: list[dict[str, Any]] = []
    for i in range(3):
        row = request(i, (64, 1), [i], None)
        row.pop("provided_session_id")
        if provided is not None:
            row["provided_session_id"] = provided[i]
        if derived is not None:
            row["poor_man_session_id"] = derived[i]
        rows.append(row)
    trace = read(tmp_path, rows)
    assert [trace.session.of(i) for i in range(3)] == sessions


def test_labels_and_a_count_that_cannot_be(tmp_path):
    rows = [
        request(0, (64, 1), [1], "s", model_name="m", org_id=5, cached_tokens_reference=None),
        request(1, (64, 1), [1], "s", model_name="m", org_id=5, cached_tokens_reference=65),
    ]
    trace = read(tmp_path, rows)
    assert trace.tenant.names == ("5",)
    assert trace.contexts[0].model == "m"
    assert trace.reported_hit[0] == -1
    assert trace.excluded[1].cause == "65 cached of 64 prompt tokens"


@pytest.mark.parametrize(
    ("change", "field", "cause"),
    [
        ({"timestamp_start_unix_ms": None}, "timestamp_start_unix_ms", "missing"),
        ({"timestamp_start_unix_ms": -1}, "timestamp_start_unix_ms", "is not a time"),
        ({"input_tokens": None}, "input_tokens", "missing"),
        ({"output_tokens": -5}, "output_tokens", "is not a count"),
        ({"total_hashes": None}, "total_hashes", "0 ids for 192 tokens"),
        ({"total_hashes": [1, None, 2]}, "total_hashes[1]", "None is not an integer"),
        ({"total_hashes": [1, -1, 2]}, "total_hashes[1]", "-1 is not an integer"),
        ({"block_size": 0}, "block_size", "0 is not from 1"),
        ({"request_canceled": 2}, "request_canceled", "2 is not true or false"),
        ({"duration_e2e_ms": -5}, "duration_e2e_ms", "is not a time"),
    ],
)
def test_a_row_that_does_not_fit_is_named_and_may_be_skipped(tmp_path, change, field, cause):
    rows = [SUITE[0], {**SUITE[1], **change}, *SUITE[2:]]
    with pytest.raises(InputError) as caught:
        read(tmp_path, rows)
    assert caught.value.place.endswith("t.parquet:2")
    assert caught.value.field == field
    assert cause in caught.value.cause
    trace = read(tmp_path, rows, skip_bad_rows=True)
    assert trace.ids == ("0", "3", "2", "4", "5")


def test_a_prompt_that_is_missing_is_no_empty_prompt(tmp_path):
    rows = [request(0, (3, 1), None, "s"), {**request(1, (3, 1), None, "s"), "prompt": None}]
    with pytest.raises(InputError, match="prompt: missing"):
        read(tmp_path, rows)


def test_a_csv_with_these_columns_is_told_to_be_mapped(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("timestamp_start_unix_ms,prompt,input_tokens,output_tokens\n1,hi,1,1\n")
    with pytest.raises(InputError, match="read with --map"):
        read_trace([str(path)])
    mapping = ["arrival_s=timestamp_start_unix_ms:ms", "prompt_tokens=input_tokens", "prompt="]
    assert read_trace([str(path)], mapping=mapping).prompt_tokens.tolist() == [1]


def test_a_broken_file_beside_it_is_listed_where_rows_may_be_skipped(tmp_path):
    good = put(tmp_path / "a.parquet", SUITE)
    bad = tmp_path / "b.json"
    bad.write_text("{broken")
    trace = read_trace([good, str(bad)], skip_bad_rows=True)
    assert (len(trace), trace.skipped[0].place) == (6, f"{bad}:1")


def test_a_thinned_trace_is_cut_before_blocks_are_dropped(tmp_path):
    rows = [request(i, (64 * 40, 64 * 20), list(range(60)), "s") for i in range(200)]
    trace = read(tmp_path, rows, sampler=Sampler(4, 0))
    assert trace.thinned is not None
    assert trace.thinned.num_ids.tolist() == [40] * 200
    assert 16 < int(trace.prompts.lengths[0]) < 40

"""Azure LLM inference and BurstGPT CSV: traces of lengths and times.

The first rows of Azure's 2023 code trace (AzurePublicDataset, data/
AzureLLMInferenceTrace_code.csv) and the header and first row of BurstGPT_3.csv (HPMLL/BurstGPT,
release v2.0) are real (CC-BY-4.0); all others are written by hand from the documented shape.
"""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli import call, is_one_line
from hitpath.core import InputError, Setting
from hitpath.spine import analyze
from hitpath.summary import LengthsAnalysis
from hitpath.traces import Trace, read_trace

AZURE_2023 = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:17:03.9799600,4808,10
2023-11-16 18:17:04.0319600,3180,8
2023-11-16 18:17:04.0781490,110,27
"""
AZURE_2024 = """TIMESTAMP,ContextTokens,GeneratedTokens
2024-05-10 00:00:00.009930+00:00,2162,5
2024-05-10 00:00:01+00:00,2162,5
"""
AZURE_2025 = """TIMESTAMP,NumImages,ContextTokens,GeneratedTokens
2024-10-15 00:00:00.5,0,100,5
2024-10-15 00:00:01.5,2,1300,7
"""
BURST_1 = """Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,ChatGPT,472,18,490,Conversation log
45,ChatGPT,1087,0,1087,Conversation log
110.5,GPT-4,417,505,922,API log
"""
BURST_3 = """Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type
19440110.0,1722ac82-0a46-4bf0-aa08-89794e7a2b3f,43,GPT-4,906,446,1352,Conversation log
19440161.0,,2,ChatGPT,36,29,65,API log
"""  # noqa: E501


def read(tmp_path: Path, content: str, **options: Any) -> Trace:
    path = tmp_path / "t.csv"
    path.write_text(content)
    return read_trace([str(path)], **options)


def seconds(*words: int) -> float:
    return datetime(*words, tzinfo=UTC).timestamp()  # type: ignore[misc, arg-type]


def test_azure_2023_has_seven_digits_of_a_second(tmp_path):
    trace = read(tmp_path, AZURE_2023)
    assert (trace.format, trace.identity, trace.block_size) == ("azure-llm", "lengths_only", None)
    assert trace.prompt_tokens.tolist() == [4808, 3180, 110]
    assert trace.output_tokens.tolist() == [10, 8, 27]
    assert trace.arrival_s[0] == seconds(2023, 11, 16, 18, 17, 3, 979960)
    assert trace.arrival_s[2] - trace.arrival_s[0] == pytest.approx(0.098189, abs=1e-6)
    assert trace.reported_hit.tolist() == [-1, -1, -1]
    assert len(trace.prompts.flat) == 0


def test_azure_2024_has_a_zone_and_sometimes_no_fraction(tmp_path):
    trace = read(tmp_path, AZURE_2024)
    assert trace.arrival_s.tolist() == [
        seconds(2024, 5, 10, 0, 0, 0, 9930),
        seconds(2024, 5, 10, 0, 0, 1),
    ]


def test_azure_2025_has_images(tmp_path):
    trace = read(tmp_path, AZURE_2025)
    assert trace.prompt_tokens.tolist() == [100, 1300]
    assert trace.notes == ("rows with images: 1; whether ContextTokens counts them is not told",)


def test_burstgpt_counts_its_failed_requests(tmp_path):
    trace = read(tmp_path, BURST_1)
    assert (trace.format, trace.identity) == ("burstgpt", "lengths_only")
    assert trace.arrival_s.tolist() == [5, 45, 110.5]
    assert trace.prompt_tokens.tolist() == [472, 1087, 417]
    assert trace.output_tokens.tolist() == [18, 0, 505]
    assert trace.model.names == ("ChatGPT", "GPT-4")
    assert not trace.session.known
    assert str(trace.finish_s.tolist()) == "[nan, nan, nan]"
    assert trace.notes == (
        "0 response tokens, which is how BurstGPT writes a failed request: 1 rows",
    )


def test_burstgpt_3_has_sessions_and_elapsed_times_in_between(tmp_path):
    trace = read(tmp_path, BURST_3)
    assert trace.prompt_tokens.tolist() == [906, 36]
    assert [trace.session.of(i) for i in (0, 1)] == ["1722ac82-0a46-4bf0-aa08-89794e7a2b3f", None]
    assert trace.finish_s.tolist() == [19440153, 19440163]
    assert trace.model.names == ("GPT-4", "ChatGPT")
    assert trace.notes == ()


def test_burstgpt_totals_that_are_no_sum_are_counted(tmp_path):
    trace = read(tmp_path, BURST_1.replace(",922,", ",923,"))
    assert "Total tokens is not request + response tokens in 1 rows; not used" in trace.notes


def test_the_three_columns_that_matter_are_enough(tmp_path):
    content = "Response tokens,Timestamp,Request tokens\n2,5,1\n"
    trace = read(tmp_path, content)
    assert (trace.format, trace.prompt_tokens.tolist()) == ("burstgpt", [1])
    assert not trace.model.known


@pytest.mark.parametrize("content", [AZURE_2023, AZURE_2025, BURST_1, BURST_3])
def test_the_same_rows_come_compressed_and_as_parquet(tmp_path, content):
    expected = read(tmp_path, content)
    packed = tmp_path / "t.csv.gz"
    packed.write_bytes(gzip.compress(content.encode(), mtime=0))
    header, *rows = [line.split(",") for line in content.splitlines()]
    table = {name: [row[i] or None for row in rows] for i, name in enumerate(header)}
    typed = {
        name: [None if v is None else float(v) for v in values]
        if all(v is None or v.replace(".", "").isdigit() for v in values)
        else values
        for name, values in table.items()
    }
    parquet = tmp_path / "t.parquet"
    pq.write_table(pa.table(typed), parquet)
    for path in (packed, parquet):
        trace = read_trace([str(path)])
        assert trace.format == expected.format
        assert trace.arrival_s.tolist() == expected.arrival_s.tolist()
        assert trace.prompt_tokens.tolist() == expected.prompt_tokens.tolist()
        assert trace.output_tokens.tolist() == expected.output_tokens.tolist()
        assert trace.notes == expected.notes


def test_times_that_parquet_knows_as_times_are_taken(tmp_path):
    path = tmp_path / "t.parquet"
    table = pa.table(
        {
            "TIMESTAMP": pa.array([1_700_000_000_500], pa.timestamp("ms", "UTC")),
            "ContextTokens": [5],
            "GeneratedTokens": [6],
        }
    )
    pq.write_table(table, path)
    assert read_trace([str(path)]).arrival_s.tolist() == [1_700_000_000.5]


def test_several_files_are_one_trace_in_order_of_arrival(tmp_path):
    paths = []
    for name, content in (("b.csv", AZURE_2024), ("a.csv", AZURE_2023)):
        (tmp_path / name).write_text(content)
        paths.append(str(tmp_path / name))
    trace = read_trace(paths)
    assert trace.prompt_tokens.tolist() == [4808, 3180, 110, 2162, 2162]
    assert trace.ids == ("2", "3", "4", "0", "1")


@pytest.mark.parametrize(
    ("content", "field", "cause"),
    [
        (AZURE_2023.replace("3180", ""), "ContextTokens", "missing"),
        (AZURE_2023.replace("3180", "3180.5"), "ContextTokens", "is not a whole number"),
        (AZURE_2023.replace("3180", "-1"), "ContextTokens", "-1 is not a count"),
        (AZURE_2023.replace(",8\n", ",?\n"), "GeneratedTokens", "'?' is not a number"),
        (AZURE_2023.replace("2023-11-16 18:17:04.03", "16.11.2023 18:17:04.03"), "TIMESTAMP",
         "is not an ISO 8601 time"),
        (AZURE_2023.replace("2023-11-16 18:17:04.0319600", ""), "TIMESTAMP", "missing"),
        (AZURE_2023.replace("2023-11-16 18:17:04.03", "1923-11-16 18:17:04.03"), "TIMESTAMP",
         "is not a time"),
        (AZURE_2025.replace(",2,", ",two,"), "NumImages", "'two' is not a number"),
        (BURST_1.replace("45,", "later,"), "Timestamp", "'later' is not a number"),
        (BURST_1.replace(",1087,0,1087,", ",,0,1087,"), "Request tokens", "missing"),
        (BURST_1.replace(",1087,0,1087,", ",1087,0,,"), "Total tokens", "missing"),
        (BURST_3.replace(",2,ChatGPT", ",-2,ChatGPT"), "Elapsed time", "is not a time"),
    ],
)  # fmt: skip
def test_a_row_that_does_not_fit_is_named_and_may_be_skipped(tmp_path, content, field, cause):
    with pytest.raises(InputError) as caught:
        read(tmp_path, content)
    assert caught.value.place == f"{tmp_path / 't.csv'}:3"
    assert caught.value.field == field
    assert cause in caught.value.cause
    trace = read(tmp_path, content, skip_bad_rows=True)
    assert len(trace) == content.count("\n") - 2
    assert [(problem.field, problem.place[-1]) for problem in trace.skipped] == [(field, "3")]


def test_an_analysis_gives_sums_and_no_rate(tmp_path):
    (tmp_path / "t.csv").write_text(AZURE_2023)
    path = str(tmp_path / "t.csv")
    analysis = analyze([path], Setting())
    assert isinstance(analysis, LengthsAnalysis)
    ended = call("analyze", path, "--json", "-")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["trace"]["format"] == "azure-llm"
    ended = call("explain", "0", path)
    assert ended.code == 2
    assert is_one_line(ended.err)

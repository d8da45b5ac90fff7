"""What a person sees, the files that are written, and that reports agree with each other."""

import io
import json
import os
import re
import stat

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from hitpath.core import CAUSES, OutputError, Setting
from hitpath.cost.models import load_model
from hitpath.report.document import document
from hitpath.report.output import write_whole
from hitpath.report.rows import write_ledger, write_per_request
from hitpath.report.terminal import print_report
from hitpath.spine import analyze_trace
from hitpath.traces.synthetic import demo_rows
from support import trace_of_rows


@pytest.fixture
def analysis(tmp_path):
    rows = demo_rows(0)
    rows[5]["reported"] = {"cached_tokens": 16}
    rows[6]["reported"] = {"cached_tokens": 10**7}
    setting = Setting(
        engine="lru", capacity_tokens=120_000, workers=2, router="session", outputs="insert"
    )
    return analyze_trace(trace_of_rows(tmp_path, rows), setting)


def page_of(analysis, width=110):
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False)
    print_report(analysis, load_model("llama-3.1-8b", "bf16"), console)
    return out.getvalue()


def test_the_page_shows_the_numbers_of_the_document(analysis):
    page, result = page_of(analysis), document(analysis, None)
    tokens = result["tokens"]
    for value in (tokens["hit"], tokens["prompt"], *tokens["causes"].values()):
        if value is not None:
            assert f"{value:,}" in page
    for tokens_needed in result["capacity_for"].values():
        assert f"{tokens_needed:,}" in page
    for prefix in result["shared_prefixes"]:
        assert f"{prefix['reusable_tokens']:,}" in page
    for section in ("Ladder", "By tenant", "By worker", "By turn", "Over time", "Excluded rows"):
        assert section in page
    assert "not known" in page


@pytest.mark.parametrize("width", [80, 95, 110])
def test_the_page_fits_its_terminal_and_no_number_is_cut(analysis, width):
    page, wide = page_of(analysis, width), page_of(analysis, 200)
    assert all(len(line) <= width for line in page.splitlines())
    numbers = re.compile(r"(?<![\d,.])\d[\d,.]*(?: %)?")
    assert sorted(numbers.findall(page)) == sorted(numbers.findall(wide))


def test_no_number_is_cut_at_a_usual_width(analysis):
    assert "…" not in page_of(analysis, 110).replace("… with", "").replace("… whole", "").replace(
        "… and", ""
    ).replace("if …", "")


def test_rows_and_ledger_add_up_to_the_document(analysis):
    result = document(analysis, None)
    lines, parquet = io.BytesIO(), io.BytesIO()
    write_per_request(analysis, lines)
    write_ledger(analysis, parquet)
    rows = [json.loads(line) for line in lines.getvalue().splitlines()]
    table = pq.read_table(io.BytesIO(parquet.getvalue())).to_pydict()
    assert len(rows) == len(table["id"]) == result["trace"]["num_requests"]
    assert sum(r["hit_tokens"] or 0 for r in rows) == result["tokens"]["hit"]
    assert sum(t or 0 for t in table["hit_tokens"]) == result["tokens"]["hit"]
    for cause in CAUSES:
        total = result["tokens"]["causes"][cause]
        if total is None:
            assert {r["causes"][cause] for r in rows} == {None}
            assert set(table[cause]) == {None}
        else:
            assert sum(r["causes"][cause] or 0 for r in rows) == total
            assert sum(t or 0 for t in table[cause]) == total
    assert [r["reported_hit_tokens"] for r in rows].count(None) == len(rows) - 2
    excluded = [r for r in rows if r["excluded"]]
    assert len(excluded) == 1
    assert excluded[0]["hit_tokens"] is None
    assert excluded[0]["reported_hit_tokens"] == 10**7
    for row in rows:
        if not row["excluded"]:
            labels = sum(v for v in row["causes"].values() if v is not None)
            assert row["hit_tokens"] + labels + row["unexplained"] == row["prompt_tokens"]


def test_groups_add_up(analysis):
    result = document(analysis, None)
    for name in ("tenant", "worker"):
        groups = result["by"][name]["groups"]
        assert sum(g["prompt_tokens"] for g in groups) == result["tokens"]["prompt"]
        assert sum(g["hit_tokens"] for g in groups) == result["tokens"]["hit"]
    windows = result["over_time"]["windows"]
    assert sum(w["hit_tokens"] for w in windows) == result["tokens"]["hit"]
    assert sum(w["num_requests"] for w in windows) == result["trace"]["num_requests"] - 1


def test_a_file_is_whole_or_as_it_was(tmp_path):
    target = tmp_path / "out.json"
    target.write_text("before")

    def fail(file):
        file.write(b"half of it")
        raise OSError(28, "No space left on device")

    with pytest.raises(OutputError, match="No space left"):
        write_whole(str(target), fail)
    assert target.read_text() == "before"
    assert os.listdir(tmp_path) == ["out.json"]

    def interrupt(file):
        file.write(b"half of it")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(str(target), interrupt)
    assert target.read_text() == "before"
    assert os.listdir(tmp_path) == ["out.json"]
    write_whole(str(target), lambda file: file.write(b"after"))
    assert target.read_text() == "after"
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~_umask()


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_the_demo_is_the_same_every_time_and_shows_every_kind_of_miss(analysis):
    assert demo_rows(1) == demo_rows(1) != demo_rows(2)
    causes = document(analysis, None)["tokens"]["causes"]
    assert all(causes[c] > 0 for c in ("elsewhere", "evicted", "rounding", "isolated", "cold"))

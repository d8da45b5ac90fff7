"""The page of a trace of lengths only: what was reported, and that the rest is not known."""

import re
from html import unescape
from pathlib import Path

import pytest

from browser.pages import Tags
from hitpath.core import Setting
from hitpath.report.html import render_html, sentences_lengths
from hitpath.report.lengths import lengths_document
from hitpath.spine import analyze
from hitpath.summary import LengthsAnalysis
from support import write_jsonl
from unit.test_lengths import ROWS


def analysed(folder: Path, rows: list[dict]) -> LengthsAnalysis:
    found = analyze([str(write_jsonl(folder / "t.jsonl", rows))], Setting())
    assert isinstance(found, LengthsAnalysis)
    return found


def page_of(analysis: LengthsAnalysis) -> str:
    page = render_html(analysis, None, "hitpath analyze t.jsonl").decode()
    assert Tags(page).open == []
    return unescape(page).replace("\u00a0", " ")


def test_the_numbers_of_the_document_stand_in_the_page(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, ROWS)
    page, result = page_of(analysis), lengths_document(analysis)
    tokens = result["tokens"]
    counts = [tokens[key] for key in ("prompt", "hit", "missed_cause_not_known", "not_reported")]
    counts += [tokens["written"], *(n for n in tokens["hit_by_tier"].values() if n)]
    for window in result["over_time"]["windows"]:
        counts += [window["num_requests"], window["prompt_tokens"], window["hit_tokens"]]
    for group in result["by"]["session"]["groups"]:
        counts += [group["prompt_tokens"], group["hit_tokens"]]
    rates = [*result["hit_rate"].values(), *result["steady"].values()]
    missing = [n for n in counts if f"{n:,}" not in page]
    missing += [r for r in rates if r is not None and f"{r:.2%}".replace("%", " %") not in page]
    assert missing == []
    assert "0.5 s" in page  # a median time to the first token
    assert "needs the token ids" in page
    assert "icicle" not in page.split("<script>")[0].split("</style>")[1]


def test_a_trace_that_reports_nothing_has_no_rate(tmp_path: Path) -> None:
    rows = [{"id": f"{i}", "arrival_s": i, "prompt_tokens": 100 + i} for i in range(20)]
    page = page_of(analysed(tmp_path, rows))
    assert "No hit rate" in page  # in the title
    assert "hit rate can be told" in page
    assert ">0.00 %" not in page
    assert "plot-" not in page.split("</style>")[1].split("<script>")[0]


def test_rows_that_contradict_themselves_are_listed(tmp_path: Path) -> None:
    assert "51 cached of 50 prompt tokens" in page_of(analysed(tmp_path, ROWS))


def test_what_missed_without_a_cause_is_not_shown_as_what_could_have_hit(tmp_path: Path) -> None:
    page = page_of(analysed(tmp_path, ROWS))
    stack = page.split('<div class="stack"')[1].split("</div>")[0]
    assert 'class="unknown"' in stack
    assert 'class="lost"' not in stack
    assert "missed, cause not known" in stack


def test_turns_that_lost_the_cache_are_listed(tmp_path: Path) -> None:
    rows = [
        {"id": f"{s}-{i}", "arrival_s": 1000 * i + s, "session": f"s{s}", "model": f"m{i % 2}"}
        | {"prompt_tokens": 2000 + 10 * s + i, "reported": {"cached_tokens": 1500 * (i % 2)}}
        for s in range(15)
        for i in range(3)
    ]
    page = page_of(analysed(tmp_path, rows))
    section = page.split('<h2 id="lost">')[1].split("</section>")[0]
    assert "15 of 30 turns hit less than half" in section
    assert "15 of these turns come more than 5 min" in section
    assert "15 name another model" in section
    assert section.count("<tr>") == 13  # the head and the twelve biggest
    first = re.findall(r"<(?:th|td)[^>]*><bdi>(.*?)</bdi>", section)[:7]
    assert first == ["s14", "3", "1,000", "2,141", "0", "2,141", "another than before"]
    assert "The 12 biggest of 15" in section


def test_without_sessions_no_turn_is_judged(tmp_path: Path) -> None:
    rows = [{key: row[key] for key in row if key != "session"} for row in ROWS]
    assert 'id="lost"' not in page_of(analysed(tmp_path, rows))


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ([("no hit", 3, 0.5), ("90 % and more", 1, 0.1)], "0.5 s with no hit, 0.1 s with 90"),
        ([("no hit", 4, None)], "100.00 % had no hit."),
    ],
)
def test_shares_of_hit_in_words(steps: list, says: str) -> None:
    note = sentences_lengths.hit_shares(steps)
    assert says in f"{note.shows} {note.do}".replace("\u00a0", " ")

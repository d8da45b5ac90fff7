"""What a person must know beside the figures is on every output, and a trace of lengths has the
keys of any other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from hitpath.cli import app
from hitpath.doctor import request_rows, requests
from hitpath.traces import openai_requests
from support import write_jsonl

if TYPE_CHECKING:
    from pathlib import Path

RULES = "You are the night desk of a small hotel; be brief. " * 9


def body(number: int, **more: Any) -> dict[str, Any]:
    said = [
        {"role": "system", "content": f"Time: 10:15:{number:02}. {RULES}"},
        {"role": "user", "content": "Is there a room?"},
    ]
    return {"model": "m", "messages": said, "timestamp": 1_700_000_000 + number, **more}


def by_command(path: Path, *options: str) -> tuple[str, dict[str, Any]]:
    """(terminal page, document)."""
    out = path.with_suffix(".out")
    done = CliRunner().invoke(app, ["doctor", str(path), "--json", str(out), "--rows", *options])
    assert done.exit_code == 0, done.output
    told: dict[str, Any] = json.loads(out.read_text())
    return " ".join(done.output.split()), told


def test_notes_of_the_trace_and_of_the_doctor_are_on_the_page(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "t.jsonl", [body(n, my_own_field=n) for n in range(4)])
    page, told = by_command(path)
    assert "Notes" in page
    assert any("my_own_field" in note for note in told["notes"])
    for note in told["notes"]:
        assert note in page


def test_without_content_the_doctors_own_notes_and_numbers_of_rows_stay(tmp_path: Path) -> None:
    """A fix that costs is left out and a note says so; a bad row is counted, not shown."""
    late = [body(n) for n in range(4)]
    for number, row in enumerate(late):
        row["messages"][0]["content"] = f"{RULES}Time: 10:15:{number:02}."
        row["messages"][1]["content"] = f"{number}. Is there a room?"
    path = write_jsonl(tmp_path / "t.jsonl", [*late, {"messages": 7, "model": "secret-model"}])
    page, told = by_command(path, "--no-content", "--skip-bad-rows", "--block-size", "1")
    assert told["num_skipped_rows"] == 1
    assert "Skipped rows: 1" in page
    assert "secret-model" not in page
    assert [note for note in told["notes"] if "left out of them all" in note]
    for note in told["notes"]:
        assert note in page


def test_a_trace_of_lengths_has_the_keys_of_any_other(tmp_path: Path) -> None:
    lengths = [{"id": n, "arrival_s": n, "prompt_tokens": 90} for n in range(3)]
    _, told = by_command(write_jsonl(tmp_path / "lengths.jsonl", lengths))
    _, other = by_command(write_jsonl(tmp_path / "t.jsonl", [body(n) for n in range(3)]))
    assert told.keys() == other.keys() - {"per_request"}
    for key in ("invalidated_tokens", "unattributed_tokens", "worth"):
        assert told[key] is None


@pytest.mark.parametrize("stamp", ["Time: 10:15:{:02}.", "Turn {} of this service."])
def test_what_analyze_calls_diverged_is_told_beside_all_that_was_lost(
    tmp_path: Path, stamp: str
) -> None:
    """A clock is surely a stamp, so that rung 7 has what stands behind it; a number is not."""
    rows = [body(n) for n in range(6)]
    for number, row in enumerate(rows):
        row["messages"][0]["content"] = f"{stamp.format(number + 10)} {RULES}"
    path = write_jsonl(tmp_path / "t.jsonl", rows)
    page, told = by_command(path, "--block-size", "1")
    out = tmp_path / "analysis.json"
    options = ["--canonical", "--block-size", "1", "--json", str(out)]
    done = CliRunner().invoke(app, ["analyze", str(path), *options])
    assert done.exit_code == 0, done.output
    rung = json.loads(out.read_text())["tokens"]["causes"]["diverged"]
    assert told["diverged_tokens"] == rung
    assert (rung > 0) == stamp.startswith("Time")
    assert told["invalidated_tokens"] > 5 * len(RULES)
    assert (f"of them {rung:,} are `diverged`" in page) == (rung == 0)


def test_rows_of_another_shape_than_their_format_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is known of such a row's messages, so its places are those of one text."""

    def broken(row: requests.Row) -> requests.Request | None:
        return requests.any_body(row) if b"10:15:02" not in row.text else {}["body"]

    path = write_jsonl(tmp_path / "t.jsonl", [body(n) for n in range(4)])
    _, clean = by_command(path)
    assert not [note for note in clean["notes"] if "one text" in note]
    monkeypatch.setitem(request_rows._READERS, openai_requests.NAME, broken)
    page, told = by_command(path)
    note = "1 request is looked at as one text: the row is of another shape than its format"
    assert note in told["notes"]
    assert note in page


def test_a_type_of_kv_needs_a_model(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "t.jsonl", [body(n) for n in range(2)])
    for command in (["doctor", str(path)], ["analyze", str(path)], ["explain", "0", str(path)]):
        done = CliRunner().invoke(app, [*command, "--kv-dtype", "fp8"])
        assert "--kv-dtype: needs --model" in str(done.exception)

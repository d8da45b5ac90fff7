"""`hitpath.diagnose` and `analyze(canonical=True)`: what the commands say, of files and of rows."""

import json

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import hitpath
from hitpath.cli import app
from support import write_jsonl

DESK = "You are the night desk of a small hotel; be brief and kind to every guest."
ROWS = [
    {
        "id": f"r{i}",
        "arrival_s": 9.0 * i,
        "session": "s",
        "messages": [
            {"role": "system", "content": f"Time: 10:15:{9 * i:02}. {DESK}"},
            {"role": "user", "content": "Is there a room?"},
        ],
        "reply": "There is.",
    }
    for i in range(5)
]
CLOCK_AT = len("Time: 10:15:")


def by_command(tmp_path, *arguments):
    """The document of a command."""
    out = tmp_path / "out.json"
    done = CliRunner().invoke(app, [*map(str, arguments), "--json", str(out)])
    assert done.exit_code == 0, done.output
    return json.loads(out.read_text())


def test_files_and_rows_give_what_the_command_gives(tmp_path):
    path = write_jsonl(tmp_path / "t.jsonl", ROWS)
    told = by_command(tmp_path, "doctor", path, "--block-size", 1, "--rows")
    for traces in (path, [str(path)], ROWS, iter(ROWS)):
        found = hitpath.diagnose(traces, block_size=1)
        assert json.loads(json.dumps(found.document)) == told
    assert found.hit_rate == told["hit_rate"]
    assert found.invalidated_tokens == told["invalidated_tokens"] > 0
    assert found.fixes["clock at the end"] == told["defects"][0]["gain_tokens"] > 0
    assert found.why_no_proof is None
    defect = found.defects.to_pylist()[0]
    assert isinstance(found.defects, pa.Table)
    assert (defect["kind"], defect["json_path"]) == ("clock", "messages[0].content")
    assert defect["num_requests"] == 4
    rows = found.rows.to_pylist()
    (example,) = (row for row in rows if row["id"] == told["defects"][0]["example"]["id"])
    assert defect["char_offset"] == example["char_offset"] in (CLOCK_AT, CLOCK_AT + 1)
    assert [row["id"] for row in rows] == [f"r{i}" for i in range(5)]
    assert [row["relative_id"] for row in rows] == [None, "r0", "r1", "r2", "r3"]
    assert (
        repr(found)
        == f"Diagnosed(1 defects, {found.invalidated_tokens} bytes invalidated, 5 requests)"
    )
    assert "night desk of a small hotel" in found.html()


def test_what_is_written_replays_to_what_was_promised(tmp_path):
    for traces in (ROWS, write_jsonl(tmp_path / "t.jsonl", ROWS)):
        found = hitpath.diagnose(traces, block_size=1)
        found.write_fixed(tmp_path / "fixed.jsonl")
        after = hitpath.analyze(tmp_path / "fixed.jsonl", block_size=1)
        assert after.hit_rate == found.hit_rate["after"]
    with pytest.raises(hitpath.OutputError, match=r"t\.jsonl"):
        found.write_fixed(tmp_path / "t.jsonl")
    assert json.loads((tmp_path / "t.jsonl").read_text().splitlines()[0])["id"] == "r0"


def test_tokens_that_diverged(tmp_path):
    path = write_jsonl(tmp_path / "t.jsonl", ROWS)
    told = by_command(tmp_path, "analyze", path, "--block-size", 1, "--canonical")
    for traces in (path, ROWS):
        found = hitpath.analyze(traces, block_size=1, canonical=True)
        assert found.causes["diverged"] == told["tokens"]["causes"]["diverged"]
        assert found.causes["diverged"] >= 4 * len(DESK)
    assert hitpath.analyze(ROWS, block_size=1).causes["diverged"] is None


def test_no_choices_no_replays_of_them():
    assert hitpath.diagnose(ROWS, block_size=1).document["what_ifs"]
    assert hitpath.diagnose(ROWS, block_size=1, what_ifs=False).document["what_ifs"] == []


def test_what_cannot_be_is_told():
    trace = hitpath.read(ROWS)
    for ask in (hitpath.diagnose, lambda t: hitpath.analyze(t, canonical=True)):
        with pytest.raises(hitpath.SettingError, match=r"^traces: .* has no text"):
            ask(trace)
    with pytest.raises(hitpath.SettingError, match="canonical"):
        hitpath.analyze(ROWS, canonical="yes")
    with pytest.raises(hitpath.SettingError, match="pricing: is made by"):
        hitpath.diagnose(ROWS, pricing=3)
    with pytest.raises(hitpath.InputError, match="no prompts to compare"):
        hitpath.diagnose([{"id": 1, "arrival_s": 0, "prompt_tokens": 9}])
    found = hitpath.diagnose([{"id": 1, "arrival_s": 0, "tokens": [1, 2, 3]}])
    assert found.why_no_proof
    with pytest.raises(hitpath.InputError, match="no text to fix"):
        found.write_fixed("never.jsonl")


def test_rows_without_a_document_are_refused(tmp_path):
    path = write_jsonl(tmp_path / "t.jsonl", ROWS)
    done = CliRunner().invoke(app, ["doctor", str(path), "--rows"])
    assert done.exit_code != 0
    assert "--rows" in str(done.exception)

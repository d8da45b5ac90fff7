"""`--fix` of formats in which a prompt has no place of its own: hitpath's own rows come out, with
the hit rate that the replay told, and with all that the trace knew beside its prompts."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from doctor.model_folders import model_folder
from doctor.test_places_in_every_format import calls_with
from doctor.text_formats import FORMATS, Call, lines, sharegpt
from hitpath.core import Setting
from hitpath.report.doctor_fix import check_fixable, write_fixed
from hitpath.report.doctor_run import examine, open_subject

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hitpath.doctor.diagnosis import Diagnosis

MOVED = "[values of this request, moved here from the instructions above]"


def by_name(name: str) -> Callable[[list[Call]], str]:
    known = next(known for known in FORMATS if known.name == name)
    return lambda calls: known.write(calls).text


def runs_without_queries(calls: list[Call]) -> str:
    """SWE-agent before 1.1.0: one history for all requests of a run."""
    rows = [json.loads(line) for line in by_name("swe-agent")(calls).splitlines()]
    for row in rows:
        row["history"] = [*row["trajectory"][-1]["query"], {"role": "assistant", "content": "."}]
        for step in row["trajectory"]:
            del step["query"]
    return lines(rows)


def conversations(calls: list[Call]) -> str:
    return sharegpt(calls).text


CASES = {
    "vllm-log": (by_name("vllm-log"), "log", ("clock",)),
    "table": (by_name("table"), "csv", ("clock", "tools")),
    "swe-agent": (runs_without_queries, "jsonl", ("clock",)),
    "sharegpt": (conversations, "jsonl", ("clock",)),
}


def fixed(path: Path, tmp_path: Path, **setting: Any) -> tuple[Diagnosis, Diagnosis, list[Any]]:
    """(the trace as it is, what was written read again, its rows)."""
    how = Setting(block_size=1, **setting)
    subject = open_subject([str(path)], how)
    found = examine(subject, what_ifs=False)
    check_fixable(subject.trace)
    file = io.BytesIO()
    write_fixed(found, subject.kept, subject.requests, file)
    again = tmp_path / "fixed.jsonl"
    again.write_bytes(file.getvalue())
    read = open_subject([str(again)], how)
    assert read.trace.format == "hitpath"
    rows = [json.loads(line) for line in file.getvalue().splitlines()]
    return found, examine(read, what_ifs=False), rows


@pytest.mark.parametrize(
    ("name", "defect"), [(name, one) for name, (_, _, told) in CASES.items() for one in told]
)
@pytest.mark.parametrize("outputs", ["ignore", "insert"])
def test_own_rows_are_what_was_replayed(
    name: str, defect: str, outputs: str, tmp_path: Path
) -> None:
    write, ending, _ = CASES[name]
    path = tmp_path / f"trace.{ending}"
    path.write_text(write(calls_with(defect, tools=name == "table")))
    found, again, rows = fixed(path, tmp_path, outputs=outputs)
    kind = "clock" if defect == "clock" else "tool_order"
    assert kind in {one.kind for one in found.defects}
    assert again.before == found.after
    assert kind not in {one.kind for one in again.defects}
    assert again.trace.ids == found.trace.ids
    assert again.trace.arrival_s.tolist() == found.trace.arrival_s.tolist()
    assert again.trace.session.codes.tolist() == found.trace.session.codes.tolist()
    assert again.trace.output_tokens.tolist() == found.trace.output_tokens.tolist()
    if defect == "clock":
        assert all(MOVED in json.dumps(row) for row in rows)


@pytest.mark.parametrize("name", ["table", "sharegpt", "swe-agent"])
def test_the_same_in_tokens(name: str, tmp_path: Path) -> None:
    write, ending, _ = CASES[name]
    path = tmp_path / f"trace.{ending}"
    path.write_text(write(calls_with("clock", tools=name == "table")))
    model = model_folder(tmp_path / "model", "clean_chatml")
    found, again, rows = fixed(path, tmp_path, tokenizer=model)
    assert found.trace.identity == "tokens"
    assert again.before == found.after
    assert all("messages" in row for row in rows)


def test_prompts_that_a_server_has_framed_are_written_as_ids(tmp_path: Path) -> None:
    """A row's `prompt` would get the tokenizer's frame once more."""
    path = tmp_path / "trace.log"
    path.write_text(by_name("vllm-log")(calls_with("clock", tools=False)))
    model = model_folder(tmp_path / "model", "clean_chatml")
    found, again, rows = fixed(path, tmp_path, tokenizer=model)
    assert again.before == found.after
    assert all("tokens" in row for row in rows)


def test_prompts_of_a_parquet_table(tmp_path: Path) -> None:
    """Baseten's: text, no sessions of the user's."""
    calls = calls_with("clock", tools=False)
    columns = {
        "timestamp_start_unix_ms": [1_700_000_000_000 + c.at_s * 1000 for c in calls],
        "prompt": [c.completion for c in calls],
        "input_tokens": [400 for _ in calls],
        "output_tokens": [9 for _ in calls],
        "provided_session_id": [c.session for c in calls],
    }
    path = tmp_path / "trace.parquet"
    pq.write_table(pa.table(columns), path)
    found, again, rows = fixed(path, tmp_path)
    assert "clock" in {one.kind for one in found.defects}
    assert again.before == found.after
    assert [row["prompt"].count(MOVED) for row in rows] == [1] * len(calls)
    assert [row["session"] for row in rows] == [call.session for call in calls]


def test_a_document_of_which_only_pieces_are_read(tmp_path: Path) -> None:
    """GuideLLM's report of more than a MiB."""
    calls = calls_with("clock")
    padded = [
        Call(c.number, c.session, (c.said[0], *c.said[1:]), c.tools, c.at_s, c.reply * 20_000)
        for c in calls
    ]
    path = tmp_path / "trace.json"
    path.write_text(by_name("guidellm")(padded))
    assert path.stat().st_size > 1 << 20
    found, again, rows = fixed(path, tmp_path)
    assert "clock" in {one.kind for one in found.defects}
    assert again.before == found.after
    assert len(rows) == len(calls)

"""What passes without a look is said in every output, for silence would look like a pass."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from hitpath.report.lint import LintJob, run_lint
from hitpath.report.lint.document import lint_document

SYSTEM = {"role": "system", "content": "You keep a library."}
ASKED = {"role": "user", "content": "It is 2025-03-03 10:00:01. Any books?"}
TOOL = {"name": "find", "input_schema": {"type": "object"}}
ONE_TEXT = {"prompt": "It is 2025-03-03 10:00:01. You keep a library."}


def looked_at(folder: Path, *rows: dict[str, Any]) -> tuple[dict[str, Any], str, str]:
    """(JSON, reasons of SARIF, reasons of JUnit)."""
    (folder / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    names = [str(folder / name) for name in ("o.json", "o.sarif", "o.xml")]
    job = LintJob([str(folder / "r.jsonl")], json=names[0], sarif=names[1], junit=names[2])
    assert not run_lint(job)
    run = json.loads(Path(names[1]).read_text())["runs"][0]
    told = [one["message"]["text"] for one in run["invocations"][0]["toolExecutionNotifications"]]
    suite = ElementTree.parse(names[2]).getroot()[0]
    skipped = [str(one.get("message")) for one in suite.iter("skipped")]
    assert suite.get("skipped") == str(len(skipped))
    return json.loads(Path(names[0]).read_text()), "|".join(told), "|".join(skipped)


@pytest.mark.parametrize(
    ("rows", "num_not", "words"),
    [
        ([ONE_TEXT, ONE_TEXT], 2, "2 of 2 requests, one text as `prompt`"),
        ([ONE_TEXT, {"messages": [SYSTEM, ASKED]}], 1, "1 of 2 requests, one text as `prompt`"),
        ([{"messages": [ASKED]}], 1, "1 of 1 request, without instructions or tools"),
        ([{"input": "Any books?"}], 1, "1 of 1 request, without instructions or tools"),
        ([{"messages": [ASKED], "tools": []}], 1, "without instructions or tools"),
        ([], 0, "no request in the input: nothing was looked at"),
    ],
)
def test_what_is_not_looked_at_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str],
    rows: list[dict[str, Any]], num_not: int, words: str,
) -> None:  # fmt: skip
    document, sarif, junit = looked_at(tmp_path, *rows)
    assert (document["num_requests"], document["num_not_looked_at"]) == (len(rows), num_not)
    assert document["num_source_files"] is None
    page = " ".join(capsys.readouterr().out.split())
    assert words in page
    assert words in sarif
    assert words in junit


@pytest.mark.parametrize(
    "row",
    [
        {"messages": [SYSTEM, ASKED]},
        {"messages": [ASKED], "tools": [TOOL]},
        {"system": "You keep a library.", "messages": [ASKED]},
        {"instructions": "You keep a library.", "input": "Any books?"},
    ],
)
def test_what_is_looked_at_needs_no_word(tmp_path: Path, row: dict[str, Any]) -> None:
    document, sarif, junit = looked_at(tmp_path, row, row)
    assert document["num_not_looked_at"] == 0
    assert (sarif, junit) == ("", "")


def test_files_of_source_are_counted_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.py", "b.py"):
        Path(name).write_text("ask(system='constant')\n")
    run_lint(LintJob(["a.py", ".", "b.py"], json="o.json"))
    assert json.loads(Path("o.json").read_text())["num_source_files"] == 2
    assert "0 findings in 2 Python files" in capsys.readouterr().out


def test_the_document_tells_null_for_what_was_not_named(tmp_path: Path) -> None:
    from hitpath.doctor.lint import Linted

    document = lint_document(Linted(()))
    assert document["num_requests"] is None
    assert document["num_source_files"] is None

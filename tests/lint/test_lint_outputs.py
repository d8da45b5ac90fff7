"""What `hitpath lint` writes: page, JSON, SARIF, JUnit, baseline; exit codes; no content."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
import typer
from typer.testing import CliRunner

from cli import call
from hitpath.cli_lint import lint
from hitpath.core import HitpathError, InputError, OutputError, SettingError
from hitpath.doctor.lint_record import path_without_content
from hitpath.report.lint import LintJob, run_lint

APP = typer.Typer()
APP.command()(lint)

BAD = """\
import time, uuid
from datetime import date, datetime
secretsystemprompt = 1
def build_system_prompt_for_acme_corp():
    return f"{datetime.now()} confidential_rules_of_acme"
ask(system=f"{uuid.uuid4()}")
ask(system=f"{date.today()}")
"""
REQUESTS = [
    {
        "tools": [{"name": "acme_internal_search", "input_schema": {"properties": {
            "acme_customer_number": {"description": f"Known as of 2025-03-03 14:2{n}:31"}}}}],
        "messages": [
            {"role": "system", "content": f"Now: 2025-03-03 14:2{n}:31. Confidential: bluefish"},
            {"role": "user", "content": "My password is swordfish"},
        ],
    }
    for n in (1, 2)
]  # fmt: skip


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    Path("prompts.py").write_text(BAD)
    Path("r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in REQUESTS))
    return ["prompts.py", "r.jsonl"]


def run(*arguments: str) -> tuple[int, str]:
    """(exit code, standard output); errors of ours are raised."""
    result = CliRunner().invoke(APP, list(arguments))
    if isinstance(result.exception, HitpathError):
        raise result.exception
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout


def test_the_page_has_a_line_a_finding_as_compilers_write_it(files: list[str]) -> None:
    code, page = run(*files)
    assert code == 1
    assert "prompts.py:5:15 HP001 clock" in page
    assert "prompts.py:6:15 HP002 request_id" in page
    assert "r.jsonl:2:1 HP001 clock" in page
    assert "messages[0].content, character 5; changed in 1 of 2 requests" in page
    assert "4 findings, 1 note" in page


def test_exit_codes(files: list[str]) -> None:
    Path("clean.py").write_text("ask(system='constant')\n")
    Path("note.py").write_text("from datetime import date\nask(system=str(date.today()))\n")
    assert run("clean.py")[0] == 0
    assert run("note.py")[0] == 0
    assert run("prompts.py")[0] == 1
    for bad in (["none.py"], ["none.jsonl"], ["prompts.py", "--json", "no/such/folder/x.json"]):
        with pytest.raises((InputError, OutputError)):
            run(*bad)
    with pytest.raises(OutputError, match="input of this command"):
        run("prompts.py", "--sarif", "prompts.py")
    with pytest.raises(OutputError, match="two outputs"):
        run("prompts.py", "--sarif", "x", "--junit", "x")


def test_json(files: list[str]) -> None:
    _, out = run(*files, "--json", "-")
    document = json.loads(out)
    assert document["schema"] == "hitpath.lint/1"
    assert (document["num_findings"], document["num_failures"]) == (5, 4)
    where = "tools[0].input_schema.properties.acme_customer_number.description"
    (clock,) = [row for row in document["findings"] if row["json_path"] == where]
    assert (clock["path"], clock["line"], clock["char_offset"]) == ("r.jsonl", 2, 12)
    assert clock["excerpt"] == "2025-03-03 14:22:31"
    assert clock["known"] is False


SARIF_SHAPE: dict[str, Any] = {
    "type": "object",
    "required": ["version", "runs", "$schema"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"enum": ["2.1.0"]},
        "runs": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/run"}},
    },
    "$defs": {
        "message": {
            "type": "object",
            "required": ["text"],
            "additionalProperties": False,
            "properties": {"text": {"type": "string", "minLength": 1}},
        },
        "invocation": {
            "type": "object",
            "required": ["executionSuccessful"],
            "additionalProperties": False,
            "properties": {
                "executionSuccessful": {"type": "boolean"},
                "toolExecutionNotifications": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["message"],
                        "additionalProperties": False,
                        "properties": {
                            "level": {"enum": ["none", "note", "warning", "error"]},
                            "message": {"$ref": "#/$defs/message"},
                        },
                    },
                },
            },
        },
        "run": {
            "type": "object",
            "required": ["tool", "results"],
            "additionalProperties": False,
            "properties": {
                "invocations": {"type": "array", "items": {"$ref": "#/$defs/invocation"}},
                "tool": {
                    "type": "object",
                    "required": ["driver"],
                    "additionalProperties": False,
                    "properties": {
                        "driver": {
                            "type": "object",
                            "required": ["name"],
                            "additionalProperties": False,
                            "properties": {
                                "name": {"type": "string"},
                                "version": {"type": "string"},
                                "semanticVersion": {"type": "string"},
                                "rules": {
                                    "type": "array",
                                    "uniqueItems": True,
                                    "items": {"$ref": "#/$defs/rule"},
                                },
                            },
                        }
                    },
                },
                "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                "results": {"type": "array", "items": {"$ref": "#/$defs/result"}},
            },
        },
        "rule": {
            "type": "object",
            "required": ["id"],
            "additionalProperties": False,
            "properties": {
                "id": {"type": "string"},
                "name": {"type": "string"},
                "shortDescription": {"$ref": "#/$defs/message"},
                "help": {"$ref": "#/$defs/message"},
                "defaultConfiguration": {
                    "type": "object",
                    "properties": {"level": {"enum": ["none", "note", "warning", "error"]}},
                },
                "properties": {"type": "object"},
            },
        },
        "result": {
            "type": "object",
            "required": ["message", "ruleId", "locations"],
            "additionalProperties": False,
            "properties": {
                "ruleId": {"type": "string"},
                "ruleIndex": {"type": "integer", "minimum": 0},
                "level": {"enum": ["none", "note", "warning", "error"]},
                "message": {"$ref": "#/$defs/message"},
                "locations": {"type": "array", "items": {"$ref": "#/$defs/location"}},
                "partialFingerprints": {
                    "type": "object",
                    "additionalProperties": {"type": "string"},
                },
                "baselineState": {"enum": ["new", "unchanged", "updated", "absent"]},
                "properties": {"type": "object"},
            },
        },
        "location": {
            "type": "object",
            "required": ["physicalLocation"],
            "additionalProperties": False,
            "properties": {
                "physicalLocation": {
                    "type": "object",
                    "required": ["artifactLocation", "region"],
                    "additionalProperties": False,
                    "properties": {
                        "artifactLocation": {
                            "type": "object",
                            "required": ["uri"],
                            "properties": {"uri": {"type": "string", "pattern": "^[!-~]+$"}},
                        },
                        "region": {
                            "type": "object",
                            "required": ["startLine"],
                            "additionalProperties": False,
                            "properties": {
                                "startLine": {"type": "integer", "minimum": 1},
                                "startColumn": {"type": "integer", "minimum": 1},
                                "snippet": {"$ref": "#/$defs/message"},
                            },
                        },
                    },
                },
                "logicalLocations": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "additionalProperties": False,
                        "properties": {
                            "fullyQualifiedName": {"type": "string"},
                            "kind": {"type": "string"},
                        },
                    },
                },
            },
        },
    },
}
"""The part of the published schema (OASIS, sarif-schema-2.1.0.json) that is used here: what it
requires, its enumerations, and no name that it does not have."""


def test_sarif(files: list[str]) -> None:
    Path("with a space.py").write_text(BAD)
    _, out = run(*files, "with a space.py", "--sarif", "-")
    document = json.loads(out)
    jsonschema.validate(document, SARIF_SHAPE)
    (only,) = document["runs"]
    rules = [rule["id"] for rule in only["tool"]["driver"]["rules"]]
    assert len(only["results"]) == 8
    for result in only["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
    uris = {
        r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in only["results"]
    }
    assert uris == {"prompts.py", "r.jsonl", "with%20a%20space.py"}
    assert {result["level"] for result in only["results"]} == {"warning", "note"}


def test_a_snippet_of_sarif_stands_in_its_region(files: list[str]) -> None:
    document = json.loads(run(*files, "--sarif", "-")[1])
    of_requests = []
    for result in document["runs"][0]["results"]:
        place = result["locations"][0]["physicalLocation"]
        region = place["region"]
        line = (
            Path(place["artifactLocation"]["uri"]).read_text().split("\n")[region["startLine"] - 1]
        )
        if "snippet" in region:
            assert line[region["startColumn"] - 1 :].startswith(region["snippet"]["text"])
        else:
            assert set(region) == {"startLine"}
            of_requests.append(result["properties"]["excerpt"])
    assert of_requests == ["2025-03-03 14:22:31", "2025-03-03 14:22:31"]


def test_junit(files: list[str]) -> None:
    Path("clean.py").write_text("ask(system='constant')\n")
    run(*files, "clean.py", "--junit", "out.xml")
    root = ElementTree.fromstring(Path("out.xml").read_bytes())
    assert root.tag == "testsuites"
    (suite,) = root
    cases = suite.findall("testcase")
    assert (suite.get("tests"), suite.get("failures")) == (str(len(cases)), "4")
    assert len([case for case in cases if case.find("failure") is not None]) == 4
    assert [case.get("classname") for case in cases if case.get("name") == "read"] == ["clean.py"]


def test_a_baseline_is_written_once_and_then_compared(files: list[str]) -> None:
    code, page = run(*files, "--baseline", "known.json")
    assert code == 0
    assert "5 findings written to known.json" in page
    known = Path("known.json").read_bytes()
    assert run(*files, "--baseline", "known.json")[0] == 0
    moved = "# moved\n\n" + BAD + "ask(instructions=str(time.time()))\n"
    Path("prompts.py").write_text(moved)
    code, page = run(*files, "--baseline", "known.json")
    assert code == 1
    assert "1 new finding, 5 known from the baseline" in page
    assert "time.time()" in page
    assert "uuid" not in page
    assert Path("known.json").read_bytes() == known
    sarif = json.loads(run(*files, "--baseline", "known.json", "--sarif", "-")[1])
    states = [result["baselineState"] for result in sarif["runs"][0]["results"]]
    assert sorted(states) == ["new"] + ["unchanged"] * 5
    assert run(*files, "--baseline", "known.json", "--update-baseline")[0] == 0
    assert run(*files, "--baseline", "known.json")[0] == 0
    assert Path("known.json").read_bytes() != known


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"schema": "x"}', '{"schema": "hitpath.lint-baseline/1"}']
)
def test_a_broken_baseline_is_told(files: list[str], text: str) -> None:
    Path("known.json").write_text(text)
    with pytest.raises(InputError, match=r"known\.json"):
        run(*files, "--baseline", "known.json")


def test_no_content_has_no_stretch_of_the_input(files: list[str]) -> None:
    outputs = ["--json", "o.json", "--sarif", "o.sarif", "--junit", "o.xml"]
    _, page = run(*files, "--no-content", *outputs)
    run(*files, "--no-content", "--baseline", "b.json")
    names = ("o.json", "o.sarif", "o.xml", "b.json")
    written = page + "".join(Path(name).read_text() for name in names)
    for text in [BAD, *_strings(REQUESTS)]:
        for at in range(len(text) - 7):
            stretch = text[at : at + 8]
            assert not stretch.strip() or stretch not in written, stretch
    assert "sha256:" in page


def _strings(value: Any) -> list[str]:
    """All texts and all names that are not the API's."""
    if isinstance(value, dict):
        names = [key for key in value if key.startswith("acme")]
        return names + [text for inner in value.values() for text in _strings(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in _strings(inner)]
    return [value] if isinstance(value, str) else []


def test_paths_keep_public_names_only() -> None:
    told = path_without_content('tools[3].function.parameters.properties["a b"].secret_key.enum')
    assert told.startswith("tools[3].function.parameters.properties[#")
    assert told.endswith(".enum")
    assert "secret" not in told
    assert "a b" not in told


def test_strange_names_and_texts_reach_every_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        {
            "messages": [
                {"role": "system", "content": f"Now: 2025-03-03 14:2{n}:31 \x00\x1b[31m]]>é\u200b"}
            ]
        }
        for n in (1, 2)
    ]
    name = "ünusual [x] <&>.jsonl"
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, page = run(name, "--sarif", "o.sarif", "--junit", "o.xml", "--json", "o.json")
    assert code == 1
    assert "\x1b" not in page
    jsonschema.validate(json.loads(Path("o.sarif").read_text()), SARIF_SHAPE)
    ElementTree.fromstring(Path("o.xml").read_bytes())
    assert json.loads(Path("o.json").read_text())["num_findings"] == 2


def test_the_command_itself(files: list[str]) -> None:
    Path("clean.py").write_text("ask(system='constant')\n")
    Path("broken.py").write_text("def x(:\n")
    for arguments, code in ((["clean.py"], 0), (files, 1), (["broken.py"], 2), ([], 2)):
        done = call("lint", *arguments)
        assert done.code == code, done.err
        assert "Traceback" not in done.err
    assert call("lint", "broken.py").err.startswith("hitpath: error: broken.py:1: not Python")
    assert call("lint", "").err == 'hitpath: error: "": no such file or folder\n'


def test_a_broken_file_of_a_folder_hides_no_other_one(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\ndef x(:\n")
    (tmp_path / "b.py").write_bytes(b"# coding: nonsense\n")
    (tmp_path / "c.py").write_text("import time\nask(system=f'{time.time()}')\n")
    done = call("lint", str(tmp_path), "--json", "-")
    told = json.loads(done.out)["findings"]
    assert done.code == 1
    assert [(one["rule"], one["line"]) for one in told] == [
        ("HP000", 2),
        ("HP000", 1),
        ("HP001", 2),
    ]
    assert told[0]["message"].startswith("Not Python: ")
    hidden = json.loads(call("lint", str(tmp_path), "--no-content", "--json", "-").out)["findings"]
    assert hidden[1]["message"] == "A file of the folder could not be read as Python."


def test_a_baseline_to_update_must_be_named(tmp_path: Path) -> None:
    file = tmp_path / "prompts.py"
    file.write_text("x = 1\n")
    with pytest.raises(SettingError, match="--update-baseline: needs --baseline"):
        run_lint(LintJob([str(file)], update_baseline=True))

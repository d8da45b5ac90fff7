"""Places, fingerprints and words of SARIF results: URI references, one fingerprint a result."""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from hitpath.core import Setting
from hitpath.report.doctor_run import examine, open_subject
from hitpath.report.doctor_sarif import sarif_document

WORDS = {
    "pharmacist": ("dose", "leaflet", "refill", "allergy", "tablet", "syrup", "warning", "label"),
    "gardener": ("soil", "pruning", "compost", "seedling", "hedge", "frost", "slug", "trellis"),
}
RULES = {
    name: f"You are the {name}. "
    + " ".join(f"{one.title()} before {other}: ask." for one in words for other in words)
    for name, words in WORDS.items()
}
URI = re.compile(r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-F]{2})+")


def rows() -> list[dict[str, Any]]:
    """Two applications with the same defect at the same place."""
    return [
        {"model": "m", "messages": [
            {"role": "system", "content": f"{RULES[name]} Time: 2026-03-02 14:{n:02}:09. Be kind."},
            {"role": "user", "content": f"Question {n}"}]}
        for n in range(6) for name in RULES
    ]  # fmt: skip


def results(path: Path, content: bool = True) -> list[dict[str, Any]]:
    found = examine(open_subject([str(path)], Setting()), what_ifs=False)
    document = json.loads(json.dumps(sarif_document(found, content=content)))
    told: list[dict[str, Any]] = document["runs"][0]["results"]
    return told


@pytest.mark.parametrize("name", ["a b ü#1.jsonl", "per%cent?.jsonl", "plain.jsonl"])
def test_a_file_s_name_is_a_uri_reference(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows()))
    for result in results(path):
        place = result["locations"][0]["physicalLocation"]
        assert URI.fullmatch(place["artifactLocation"]["uri"])
        assert unquote(place["artifactLocation"]["uri"]) == str(path)
        assert 1 <= place["region"]["startLine"] <= 12


def test_of_an_array_s_element_no_line_is_made_up(tmp_path: Path) -> None:
    path = tmp_path / "sp ace.json"
    path.write_text(json.dumps(rows(), indent=1))
    for result in results(path):
        place = result["locations"][0]["physicalLocation"]
        assert unquote(place["artifactLocation"]["uri"]) == str(path)
        assert "region" not in place


def test_the_same_defect_of_two_applications_is_two_results(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows()))
    told = results(path)
    assert [one["ruleId"] for one in told] == ["hitpath/clock"] * 2
    assert len({one["partialFingerprints"]["defect/v1"] for one in told}) == 2
    assert told == results(path), "fingerprints are the same each time"
    texts = " ".join(one["message"]["text"] for one in told)
    assert "bytes invalidated, proven gain" in texts
    assert "pharmacist" in texts
    assert "gardener" in texts
    assert "2026-03-02 14:" in texts
    hidden = json.dumps(results(path, content=False))
    for secret in ("pharmacist", "gardener", "2026-03-02", str(path)):
        assert secret not in hidden


def test_fingerprints_outlive_what_a_run_stamps(tmp_path: Path) -> None:
    """Two agents whose instructions begin with the clock, at two hours: the same alerts."""
    marks = []
    for hour in (9, 17):
        made = rows()
        for number, row in enumerate(made):
            text = row["messages"][0]["content"]
            row["messages"][0]["content"] = f"Now: {hour}:{number:02}:41. {text}"
        path = tmp_path / f"{hour}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in made))
        marks.append([one["partialFingerprints"]["defect/v1"] for one in results(path)])
    assert marks[0] == marks[1]
    assert len(set(marks[0])) == len(marks[0]) >= 2

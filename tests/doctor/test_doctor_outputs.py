"""What the command writes: the pinned keys, pages, SARIF, the fixed trace; and nothing of a prompt
where that was asked for."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from doctor.planting import PLANTS, rows_of, traffic
from doctor.test_planted_kinds import shaped
from hitpath.core import InputError, Setting
from hitpath.report.doctor_document import doctor_document
from hitpath.report.doctor_job import DoctorJob, run_doctor
from hitpath.report.doctor_run import examine, open_subject
from support import write_jsonl

PINNED = {
    "kind", "json_path", "segment", "char_offset", "token_offset", "num_requests",
    "requests_frac", "tokens_changed", "tokens_invalidated", "gain_tokens", "fix",
}  # fmt: skip


def planted(folder: Path, *kinds: str, name: str = "t.jsonl") -> Path:
    all_sent = traffic("agent", 2, num_sessions=4)
    for kind in kinds:
        PLANTS[kind][1](all_sent, random.Random(2))
    return write_jsonl(folder / name, rows_of(all_sent))


def job(trace: Path, **rest: Any) -> DoctorJob:
    return DoctorJob([str(trace)], Setting(), **rest)


def written(folder: Path, trace: Path, content: bool = True) -> dict[str, str]:
    files = {kind: str(folder / f"out.{kind}") for kind in ("json", "html", "sarif")}
    run_doctor(job(trace, rows=True, content=content, **files))
    return {kind: Path(file).read_text() for kind, file in files.items()}


def test_the_pinned_keys_are_there(tmp_path: Path) -> None:
    document = json.loads(written(tmp_path, planted(tmp_path, "clock", "tool_order"))["json"])
    assert document["schema"] == "hitpath.doctor/1"
    assert {defect["kind"] for defect in document["defects"]} == {"clock", "tool_order"}
    for defect in document["defects"]:
        assert PINNED.issubset(defect)
    assert max(defect["gain_tokens"] for defect in document["defects"]) > 0
    rate = document["hit_rate"]
    assert rate["before"] < rate["after"]
    rows = document["per_request"]
    assert len(rows) == document["num_requests"]
    assert {"id", "relative_id", "common_tokens", "kind", "json_path", "char_offset"} <= rows[
        5
    ].keys()
    ranked = [defect["tokens_invalidated"] for defect in document["defects"]]
    assert ranked == sorted(ranked, reverse=True)
    gains = [fix["gain_tokens"] for fix in document["fixes"][:-1]]
    assert gains == sorted(gains, reverse=True)


def test_the_worked_example_of_the_docs_and_a_fix_that_makes_more_to_compute(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its hit rate rises, for its prompts are longer."""
    docs = Path(__file__).parents[2] / "docs" / "doctor.md"
    example = docs.read_text().split("## Worked example")[1].split("```json\n")[1].split("```")[0]
    trace = tmp_path / "hotel.jsonl"
    trace.write_text(example)
    files = {kind: str(tmp_path / f"o.{kind}") for kind in ("json", "html")}
    run_doctor(DoctorJob([str(trace)], Setting(block_size=1), **files))
    (defect,) = json.loads((tmp_path / "o.json").read_text())["defects"]
    told = ("clock", "messages[0].content", 12, 23, 8, 107, -88)
    assert told == tuple(
        defect[key]
        for key in ("kind", "json_path", "char_offset", "token_offset", "tokens_changed",
                    "tokens_invalidated", "gain_tokens")
    )  # fmt: skip
    said = "hit rate 7.28 % as it is, 24.10 % with all fixes, 88 more bytes to compute (replayed)"
    page = capsys.readouterr().out
    assert said in page
    assert "1 request (50.00 %)" in page
    html = (tmp_path / "o.html").read_text()
    assert said in html
    assert "1 request (50.00 %)" in html


def test_the_head_promises_nothing_where_no_fix_is_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(reply: str, *more: str) -> dict[str, Any]:
        texts = ["You are the desk of a hotel.", "Is there a room?", reply, "And a bath?", *more]
        roles = ["system", *(["user", "assistant"] * 3)]
        messages = [{"role": r, "content": t} for r, t in zip(roles, texts, strict=False)]
        return {"id": reply, "arrival_s": len(more), "session": "s", "messages": messages}

    rows = [said("Yes, room 12 is free tonight."),
            said("Yes, room 12 is free tonight, madam.", "It has one.", "Thank you.")]  # fmt: skip
    run_doctor(job(write_jsonl(tmp_path / "t.jsonl", rows)))
    page = capsys.readouterr().out
    assert "edited message at messages[2].content" in page
    assert "as it is; no fix is known that changes it" in page
    assert "with all fixes" not in page


def test_rows_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    subject = open_subject([str(planted(tmp_path, "clock"))], Setting())
    assert "per_request" not in doctor_document(examine(subject), Setting())


def test_sarif_has_a_rule_and_a_place_for_every_defect(tmp_path: Path) -> None:
    found = json.loads(written(tmp_path, planted(tmp_path, "clock", "white_space"))["sarif"])
    run = found["runs"][0]
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert found["version"] == "2.1.0"
    assert set(ids) == {"hitpath/clock", "hitpath/white_space"}
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        region = result["locations"][0]["physicalLocation"]["region"]
        assert region["startLine"] > 1


def test_the_page_marks_what_changed_and_runs_no_script(tmp_path: Path) -> None:
    page = written(tmp_path, planted(tmp_path, "clock"))["html"]
    assert "<mark>" in page
    assert '<div class="icicle"' in page
    assert "<script" not in page
    assert "default-src 'none'" in page


def stretches(text: str, size: int = 8) -> set[str]:
    return {text[i : i + size] for i in range(len(text) - size + 1)}


def content_of(trace: Path) -> set[str]:
    """Every stretch of 8 characters of the texts, names and ids of the input that has five letters
    or more; the doctor's own word "assistant" is none."""
    found: set[str] = set()
    todo: list[Any] = [json.loads(line) for line in trace.read_text().splitlines()]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            todo += [v for k, v in value.items() if k not in ("role", "type")]
        elif isinstance(value, list):
            todo += value
        elif isinstance(value, str):
            found |= {s for s in stretches(value) if sum(map(str.isalpha, s)) >= 5}
    ours = ("assistant history (assistant)", '"text": "content": ', "shortDescription")
    return found.difference(*map(stretches, ours))


KINDS = ("clock", "request_id", "per_user_field", "tool_order", "key_order", "white_space",
         "attribution", "edited_message", "moved_block", "tool_set")  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_without_content_no_output_holds_eight_characters_of_the_input(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = planted(tmp_path, kind)
    secret = content_of(trace)
    outputs = written(tmp_path, trace, content=False)
    outputs["page"] = capsys.readouterr().out
    for name, text in outputs.items():
        seen = stretches(text)
        assert not (shared := seen & secret), (name, sorted(shared)[:5])
        assert text.strip()


def test_with_content_the_search_finds_some(tmp_path: Path) -> None:
    trace = planted(tmp_path, "clock")
    assert stretches(written(tmp_path, trace)["html"]) & content_of(trace)


@pytest.mark.parametrize(
    "kind", ["clock", "request_id", "counter", "tool_order", "key_order", "white_space",
             "hidden_characters", "per_user_field", "attribution"]
)  # fmt: skip
def test_the_fixed_trace_is_clean_and_hits_as_was_promised(kind: str, tmp_path: Path) -> None:
    trace = planted(tmp_path, kind)
    fixed = tmp_path / "fixed.jsonl"
    run_doctor(job(trace, json=str(tmp_path / "o.json"), fix=str(fixed)))
    promised = json.loads((tmp_path / "o.json").read_text())
    found = examine(open_subject([str(fixed)], Setting()))
    assert {defect.kind for defect in found.defects} == set()
    assert found.before == pytest.approx(promised["hit_rate"]["after"], abs=1e-9)
    assert promised["defects"][0]["gain_tokens"] > 0


@pytest.mark.parametrize("shape", ["anthropic", "responses", "hitpath", "text"])
@pytest.mark.parametrize(
    "kind", ["clock", "per_user_field", "white_space", "key_order", "tool_order"]
)
def test_every_shape_of_request_can_be_fixed(shape: str, kind: str, tmp_path: Path) -> None:
    all_sent = traffic("agent", 2, num_sessions=4)
    PLANTS[kind][1](all_sent, random.Random(2))
    trace, fixed = write_jsonl(tmp_path / "t.jsonl", shaped(shape, all_sent)), tmp_path / "f.jsonl"
    run_doctor(job(trace, json=str(tmp_path / "o.json"), fix=str(fixed)))
    promised = json.loads((tmp_path / "o.json").read_text())["hit_rate"]
    found = examine(open_subject([str(fixed)], Setting()), what_ifs=False)
    assert not found.defects
    assert found.before == pytest.approx(promised["after"], abs=1e-9)
    assert promised["after"] > promised["before"]


def by_name(tools: list[Any]) -> dict[str, Any]:
    """Tools without their order; what is required is a set."""
    for tool in tools:
        tool["function"]["parameters"]["required"].sort()
    return {tool["function"]["name"]: tool for tool in tools}


def test_the_fixed_trace_says_the_same(tmp_path: Path) -> None:
    """Tools, keys and white space: what a request means stays."""
    trace = planted(tmp_path, "tool_order", "key_order")
    run_doctor(job(trace, fix=str(tmp_path / "fixed.jsonl"), json=str(tmp_path / "o.json")))
    before = [json.loads(line) for line in trace.read_text().splitlines()]
    after = [json.loads(line) for line in (tmp_path / "fixed.jsonl").read_text().splitlines()]
    for old, new in zip(before, after, strict=True):
        assert by_name(old.pop("tools")) == by_name(new.pop("tools"))
        assert [m.get("role") for m in old["messages"]] == [m.get("role") for m in new["messages"]]
        assert old["messages"][0] == new["messages"][0]


def test_block_ids_cannot_be_fixed(tmp_path: Path) -> None:
    told = {"timestamp": 0, "input_length": 900, "output_length": 1, "hash_ids": [1, 2]}
    path = write_jsonl(tmp_path / "t.jsonl", [told, told])
    with pytest.raises(InputError, match="--fix writes rows with text or token ids"):
        run_doctor(job(path, fix=str(tmp_path / "fixed.jsonl"), json=str(tmp_path / "o.json")))
    assert not (tmp_path / "fixed.jsonl").exists()

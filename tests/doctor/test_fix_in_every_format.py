"""`--fix` over every format that keeps prompts in JSON: what is written is read again as the same
format, has the hit rate that the replay told, is mended, and says what it said: each text is the
old one but for what the fix names."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from doctor.test_places_in_every_format import TOOLS, calls_with
from doctor.text_formats import FORMATS, Call, TextFormat, Written
from hitpath.core import Setting
from hitpath.report.doctor_fix import check_fixable, write_fixed
from hitpath.report.doctor_run import examine, open_subject

if TYPE_CHECKING:
    from pathlib import Path

    from hitpath.doctor.diagnosis import Diagnosis

AS_OWN_ROWS = ("vllm-log", "table", "sharegpt")  # test_fix_as_own_rows.py
WRITTEN = [known for known in FORMATS if known.name not in AS_OWN_ROWS]
SETTING = Setting(block_size=1)
MOVED = "[values of this request, moved here from the instructions above]"


def calls_with_two(*, tools: bool) -> list[Call]:
    """A clock in the instructions and tools in another order, both at once."""
    clocks, orders = calls_with("clock", tools=tools), calls_with("tools", tools=tools)
    return [
        Call(one.number, one.session, one.said, two.tools, one.at_s, one.reply)
        for one, two in zip(clocks, orders, strict=True)
    ]


def calls_for(known: TextFormat, defect: str) -> list[Call]:
    if defect == "two":
        return calls_with_two(tools=known.tools)
    return calls_with(defect, tools=known.tools)


def fixed(
    known: TextFormat, written: Written, tmp_path: Path, tokenizer: str | None = None
) -> tuple[Diagnosis, Diagnosis, str]:
    """(the trace as it is, the fixed one read again, its text)."""
    path = tmp_path / f"trace.{known.ending}"
    path.write_text(written.text)
    setting = Setting(block_size=1, tokenizer=tokenizer)
    subject = open_subject([str(path)], setting, mapping=known.mapping)
    found = examine(subject, what_ifs=False)
    check_fixable(subject.trace)
    file = io.BytesIO()
    write_fixed(found, subject.kept, subject.requests, file)
    again = tmp_path / f"fixed.{known.ending}"
    again.write_bytes(file.getvalue())
    read = open_subject([str(again)], setting, mapping=known.mapping)
    assert read.trace.format == subject.trace.format
    assert len(read.trace) == len(subject.trace)
    return found, examine(read, what_ifs=False), file.getvalue().decode()


CASES = [
    pytest.param(known, defect, id=f"{known.name}-{defect}")
    for known in WRITTEN
    for defect in ("clock", "tools", "two")
    if known.tools or defect != "tools"
]


@pytest.mark.parametrize(("known", "defect"), CASES)
def test_what_is_written_is_what_was_replayed(
    known: TextFormat, defect: str, tmp_path: Path
) -> None:
    calls = calls_for(known, defect)
    found, again, text = fixed(known, known.write(calls), tmp_path)
    assert again.before == found.after
    assert {defect.kind for defect in again.defects} == set()
    ids = [[name.rpartition(":")[2] for name in one.trace.ids] for one in (found, again)]
    assert ids[0] == ids[1]  # those of runs begin with the file's name
    for call in calls:
        if defect != "tools":
            assert f"clock: 10:{15 + call.number}:07" in text
    if defect != "tools":
        assert text.count(MOVED) >= len(calls)
    assert text.count("book_room") == known.write(calls).text.count("book_room")


def values_in(value: Any) -> Any:
    """A document with JSON in strings taken apart, so that only what is said remains."""
    if isinstance(value, dict):
        return {key: values_in(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [values_in(inner) for inner in value]
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return values_in(json.loads(value))
        except ValueError:
            return value
    return value


@pytest.mark.parametrize("known", WRITTEN, ids=lambda known: known.name)
def test_nothing_but_the_clock_moved(known: TextFormat, tmp_path: Path) -> None:
    """Every string of the file but two a request is as it was; those two hold the same words."""
    calls = calls_for(known, "clock")
    written = known.write(calls)
    _, _, text = fixed(known, written, tmp_path)
    old, new = (strings_of(values_in(documents(one))) for one in (written.text, text))
    assert len(old) == len(new)
    changed = [(one, two) for one, two in zip(old, new, strict=True) if one != two]
    assert len(changed) == len(calls) * (1 if known.is_flat else 2)
    for one, two in changed:
        if MOVED in two:
            head, _, block = two.partition(f"\n\n{MOVED}\n")
            two = head.replace("[clock: at the end]", block.removeprefix("clock: ")[:8])
            assert two == one or head == one or known.is_flat
        else:
            at = two.index("[clock: at the end]")
            assert one[:at] == two[:at]
            assert one[at + 8 :] == two[at + len("[clock: at the end]") :]


def documents(text: str) -> list[Any]:
    try:
        whole = json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.splitlines()]
    return whole if isinstance(whole, list) else [whole]


def strings_of(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [one for inner in value.values() for one in strings_of(inner)]
    if isinstance(value, list):
        return [one for inner in value for one in strings_of(inner)]
    return [value] if isinstance(value, str) else []


def test_marks_of_tools_stay_at_their_places(tmp_path: Path) -> None:
    """cache_control is no part of a prompt, and the request is none without it."""
    known = next(known for known in FORMATS if known.name == "anthropic-blocks")
    written = known.write(calls_with("tools"))
    rows = [json.loads(line) for line in written.text.splitlines()]
    for row in rows:
        row["tools"][-1]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}
    text = "".join(json.dumps(row) + "\n" for row in rows)
    found, again, new = fixed(known, Written(text, rows), tmp_path)
    assert again.before == found.after
    for line in new.splitlines():
        row = json.loads(line)
        assert [tool["name"] for tool in row["tools"]] == sorted(
            tool["function"]["name"] for tool in TOOLS
        )
        marks = [tool.get("cache_control") for tool in row["tools"]]
        assert marks == [None, None, None, {"type": "ephemeral", "ttl": "1h"}]
        assert row["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}


@pytest.mark.parametrize(
    "known",
    [k for k in WRITTEN if k.name.startswith(("ot", "hitpath", "openai", "litellm", "swe"))],
    ids=lambda known: known.name,
)
def test_the_same_in_tokens(known: TextFormat, tmp_path: Path) -> None:
    from doctor.model_folders import model_folder

    model = model_folder(tmp_path / "model", "clean_chatml")
    written = known.write(calls_for(known, "two"))
    found, again, _ = fixed(known, written, tmp_path, model)
    assert found.trace.identity == "tokens"
    assert again.before == found.after
    assert not [note for note in found.notes if "proportion" in note or "not replayed" in note]
    left = {defect.kind for defect in again.defects}
    assert left <= {"template_flip"}  # the model's end of turn is not the template's

"""Which reply is paired with which, which request is the nearest, and structures that are large.
Requests are written by hand from the documented shapes of the APIs."""

from pathlib import Path
from typing import Any

import pytest

from doctor.test_reasoning_kept import blocks, field, inline, rows
from hitpath.core import Setting
from hitpath.doctor.diagnosis import Diagnosis
from hitpath.report.doctor_run import examine, open_subject
from support import write_jsonl

DESK = "You are the night desk of a small hotel; answer in two sentences at most. " * 4


def diagnosed(tmp_path: Path, bodies: list[dict[str, Any]]) -> Diagnosis:
    return examine(open_subject([str(write_jsonl(tmp_path / "t.jsonl", bodies))], Setting()))


def at_times(bodies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As rows of hitpath's own format."""
    return [{"id": str(n), "arrival_s": 9 * n, **body} for n, body in enumerate(bodies)]


def kinds(found: Diagnosis, row: int) -> list[str]:
    return [change.kind for change in found.findings[row].comparison.changes]


@pytest.mark.parametrize("form", [field, blocks, inline])
def test_replies_are_paired_by_what_they_say_and_not_by_their_thoughts(
    form: Any, tmp_path: Path
) -> None:
    """Thoughts differ in a number only; a note stands at each last question, and moves on."""
    bodies = rows(form)
    for body in bodies:
        body["messages"][-1]["content"] += " (The desk closes soon.)"
    found = diagnosed(tmp_path, bodies)
    assert set(kinds(found, 2)) == set(kinds(found, 3)) == {"template_flip", "moved_block"}


def picture(data: str) -> dict[str, Any]:
    url = {"url": f"data:image/png;base64,{data}"}
    said = {"type": "text", "text": "Page 3 has 12."}
    return {"role": "user", "content": [said, {"type": "image_url", "image_url": url}]}


def test_without_sessions_the_nearer_request_is_the_relative(tmp_path: Path) -> None:
    """The last message of the request before was encoded anew, so it stands in no history."""
    begun = [
        {"role": "system", "content": DESK},
        {"role": "user", "content": "Is there a room on Friday for two of us?"},
    ]
    first, second = (
        {"role": "assistant", "content": f"Yes, room {n} is free; here is the page of it."}
        for n in (1, 2)
    )
    one = "iVBORw0KGgoAAAANSUhEUgAAABgAAAAQCAIAAACDRijC" + "A" * 40
    other = "/9j/4AAQSkZJRgABAQAAAQABAAD" + "B" * 50
    more = [second, {"role": "user", "content": "Fine, and a late breakfast please."}]
    bodies = [
        {"messages": begun},
        {"messages": [*begun, first, picture(one)]},
        {"messages": [*begun, first, picture(other), *more]},
    ]
    found = diagnosed(tmp_path, at_times(bodies))
    assert found.findings[2].relative == 1
    assert kinds(found, 2) == ["image_encoding"]


def test_another_session_that_begins_otherwise_is_new_content_with_its_place(
    tmp_path: Path,
) -> None:
    rules = "Use the same words as the customer does, whatever the language may be; be brief. "
    bodies = [
        {
            "session": f"s{n}",
            "messages": [
                {"role": "system", "content": DESK},
                {
                    "role": "user",
                    "content": f"Hi! I am {name}.\n{rules}{DESK}\nThe fee of loan {n}?",
                },
            ],
        }
        for n, name in enumerate(("Ada Byron", "Zoë Lind", "Marwan Haddad"))
    ]
    found = diagnosed(tmp_path, at_times(bodies))
    for finding in found.findings[1:]:
        assert finding.first is None
        assert finding.comparison.new_at is not None
        assert finding.comparison.new_at.json_path == "messages[1].content"
        assert finding.comparison.new_at.char_offset == len("Hi! I am ")
    assert not found.defects


def test_a_truncated_history_is_told_at_its_first_token_that_differs(tmp_path: Path) -> None:
    talk: list[dict[str, Any]] = [{"role": "system", "content": DESK}]
    for n in range(6):
        talk.append({"role": "user", "content": f"Question {n}: is there a quiet room?"})
        talk.append({"role": "assistant", "content": f"Answer {n}: there is, on the first floor."})
    short = [talk[0], *talk[4:], {"role": "user", "content": "And on Friday?"}]
    bodies = [{"session": "s", "messages": talk[:-1]}, {"session": "s", "messages": short}]
    found = diagnosed(tmp_path, at_times(bodies))
    (defect,) = (one for one in found.defects if one.kind == "truncated_history")
    assert defect.token_offset == found.findings[1].common


def nested(depth: int, leaf: Any) -> Any:
    for _ in range(depth):
        leaf = {"a": leaf}
    return leaf


def test_tools_nested_deeply_that_differ_at_the_bottom(tmp_path: Path) -> None:
    bodies = [
        {
            "session": "s",
            "messages": [{"role": "user", "content": "hi"}],
            "tools": [{"name": "deep", "parameters": nested(900, n)}],
        }
        for n in range(3)
    ]
    found = diagnosed(tmp_path, at_times(bodies))
    assert all(kinds(found, row) for row in (1, 2))


def test_thousands_of_tools_in_another_order_are_one_change(tmp_path: Path) -> None:
    tools = [{"name": f"tool_{n}", "description": f"Does {n}."} for n in range(5000)]
    bodies = [
        {"session": "s", "messages": [{"role": "user", "content": "hi"}], "tools": made}
        for made in (tools, tools[::-1])
    ]
    assert kinds(diagnosed(tmp_path, at_times(bodies)), 1) == ["tool_order"]

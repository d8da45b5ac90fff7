"""Which request another one goes on from: in sessions that hold many dialogues or none, behind what
stood around a question for one call, and among applications that share a little.

Requests are written by hand from the documented shapes of the APIs.
"""

import random
from pathlib import Path
from typing import Any

import pytest

from hitpath.canonical.tail import HEADER
from hitpath.core import Setting
from hitpath.doctor.diagnosis import Diagnosis
from hitpath.report.doctor_run import examine, open_subject
from support import write_jsonl

DESK = "You are the night desk of a small hotel; answer in two sentences at most. " * 4
Message = dict[str, Any]


def said(role: str, content: str) -> Message:
    return {"role": role, "content": content}


def diagnosed(folder: Path, rows: list[dict[str, Any]]) -> Diagnosis:
    own = [{"id": str(n), "arrival_s": 9 * n, **row} for n, row in enumerate(rows)]
    path = write_jsonl(folder / "t.jsonl", own)
    return examine(open_subject([str(path)], Setting(block_size=1)), what_ifs=False)


def kinds(found: Diagnosis, row: int) -> list[str]:
    return [change.kind for change in found.findings[row].comparison.changes]


def all_kinds(found: Diagnosis) -> list[str]:
    return [kind for row in range(len(found.findings)) for kind in kinds(found, row)]


def page(rng: random.Random, num_words: int) -> str:
    words = ("".join(rng.choices("abcdefghijklmnop", k=rng.randint(3, 9))) for _ in range(9999))
    return "Current page:\n" + " ".join(
        word for word, _ in zip(words, range(num_words), strict=False)
    )


@pytest.mark.parametrize("named", [True, False])
def test_a_named_session_finds_no_less_where_most_of_each_prompt_is_new(
    tmp_path: Path, named: bool
) -> None:
    rng = random.Random(4)
    rows: list[dict[str, Any]] = []
    for guest in range(3):
        told: list[Message] = []
        for step in range(4):
            ask = said("user", f"Please book a table for {guest + 2} at the harbour, task {guest}.")
            last = said("user", f"Go on with step {step} of task {guest}, please.")
            row = {
                "messages": [said("system", DESK), ask, said("user", page(rng, 800)), *told, last]
            }
            rows.append({**row, "session": f"s{guest}"} if named else row)
            told = [
                *told,
                last,
                said("assistant", f"I clicked button {step * 3 + guest} as wanted."),
            ]
    found = diagnosed(tmp_path, rows)
    expected = [row for row in range(12) if row % 4 >= (1 if named else 2)]
    assert [row for row in range(12) if "edited_message" in kinds(found, row)] == expected


def dialogue(topic: str, num_turns: int) -> list[Message]:
    asked = [
        f"Could you look at the {topic} of page {n}?" if n else f"How is the {topic} made?"
        for n in range(num_turns)
    ]
    told: list[Message] = []
    for n, text in enumerate(asked):
        told += [
            said("user", text),
            said("assistant", f"The {topic} number {n} needs {n + 3} days."),
        ]
    return told[:-1]


def interleaved(topics: list[str], num_turns: int) -> list[list[Message]]:
    return [dialogue(topic, turn + 1) for turn in range(num_turns) for topic in topics]


TOPICS = ["mortar", "summary of the ledger", "old bridge", "harbour", "compacted soil", "lamp"]


@pytest.mark.parametrize("session", ["one for all", "one for each request", "none"])
def test_clean_traffic_is_clean_whatever_its_session_ids_are(tmp_path: Path, session: str) -> None:
    rows: list[dict[str, Any]] = []
    for number, messages in enumerate(interleaved(TOPICS, 4)):
        named = {"one for all": "default", "one for each request": f"r{number}"}.get(session)
        row = {"messages": [said("system", DESK), *messages]}
        rows.append({**row, "session": named} if named else row)
    found = diagnosed(tmp_path, rows)
    assert all_kinds(found) == []
    relatives = [finding.relative for finding in found.findings]
    assert relatives[6:] == list(range(18))  # each goes on from the turn before of its dialogue


@pytest.mark.parametrize("session", ["one for all", "one for each request", "none"])
def test_an_edit_is_found_whatever_the_session_ids_are(tmp_path: Path, session: str) -> None:
    rows: list[dict[str, Any]] = []
    for number, messages in enumerate(interleaved(TOPICS, 4)):
        named = {"one for all": "default", "one for each request": f"r{number}"}.get(session)
        if number == 21:
            messages[1] = said("assistant", "Nobody has told me about it, I am afraid.")
        row = {"messages": [said("system", DESK), *messages]}
        rows.append({**row, "session": named} if named else row)
    found = diagnosed(tmp_path, rows)
    assert found.findings[21].relative == 15
    assert kinds(found, 21) == ["edited_message"] == all_kinds(found)


@pytest.mark.parametrize(
    "around",
    [
        f"{{}}\n\n{HEADER}\nclock: 2026-03-03 10:0{{:d}}",
        "{}\n\nThe clock of the desk says 10:0{:d} by now.",
        "<note>\nThe desk closes in {1:d} minutes.\n</note>\n\n{0}",
    ],
    ids=["our own fix", "behind the question", "before the question"],
)
def test_what_stood_around_a_question_for_one_call_hides_no_dialogue(
    tmp_path: Path, around: str
) -> None:
    """Without sessions; another guest has asked nearly the same in between."""
    one, other = (said("user", f"I got the wrong key for room {n}, what now?") for n in (617, 479))
    reply, more = said("assistant", "Bring it to the desk."), "Is there a late breakfast too?"
    bodies = [[one], [other], [one, reply, said("user", more)]]
    rows = []
    for number, messages in enumerate(bodies):
        last = said("user", around.format(messages[-1]["content"], number))
        rows.append({"messages": [said("system", DESK), *messages[:-1], last]})
    found = diagnosed(tmp_path, rows)
    assert found.findings[2].relative == 0
    assert "random_sample" not in all_kinds(found)


def call(name: str, arguments: str, result: str) -> list[Message]:
    made = {"id": name, "type": "function", "function": {"name": "find", "arguments": arguments}}
    return [{"role": "assistant", "content": None, "tool_calls": [made]},
            {"role": "tool", "tool_call_id": name, "content": result}]  # fmt: skip


def test_two_dialogues_that_have_one_call_id_by_chance_are_two(tmp_path: Path) -> None:
    """The shape of two sessions of tau_bench: one guest, one tool, the same id, another room."""
    rows = [
        {"messages": [said("system", DESK), said("user", "Hi! I have to change a few bookings."),
                      said("assistant", "Surely; what is your name, please?"),
                      said("user", "Omar Rossi, but I have no number with me."),
                      *call("call_2oRVlz", '{"room": "UM3"}', "UM3 is booked by Omar Rossi.")]},
        {"messages": [said("system", DESK), said("user", "I want another room than I booked."),
                      said("assistant", "Which one have you booked, and when?"),
                      said("user", "No idea. My name is Omar Rossi."),
                      *call("call_GDP9uR", '{"room":"UM3"}', "UM3 is booked by Omar Rossi."),
                      *call("call_2oRVlz", '{"room":"5RJ"}', "5RJ is free for three nights.")]},
    ]  # fmt: skip
    assert all_kinds(diagnosed(tmp_path, rows)) == []


def test_arguments_that_are_written_otherwise_are_the_same_call(tmp_path: Path) -> None:
    begun = [said("system", DESK), said("user", "Which room is free for two of us tonight?")]
    first = call("call_1", '{"guests": 2, "night": "2026-03-03"}', "Room 12 is free, with a bath.")
    again = call("call_1", '{"night":"2026-03-03","guests":2}', "Room 12 is free, with a bath.")
    more = [said("assistant", "Room 12 is."), said("user", "Fine, we take it for a week.")]
    rows = [{"messages": [*begun, *first]}, {"messages": [*begun, *again, *more]}]
    assert "key_order" in kinds(diagnosed(tmp_path, rows), 1)


TOOLS = [
    {"type": "function", "function": {"name": name, "description": f"To {name} what is known. " * 9,
     "parameters": {"type": "object", "properties": {"id": {"type": "string"}}}}}
    for name in ("find_record", "open_case", "send_note", "update_record")
]  # fmt: skip


@pytest.mark.parametrize(
    "helper",
    ["Du bist ein Rechercheur. Antworte in drei Sätzen.",
     "Search the archive and report what was found. Quote each page by its number. " * 5],
)  # fmt: skip
def test_tools_alone_make_no_application(tmp_path: Path, helper: str) -> None:
    """An agent calls others with its own tools, in one session."""
    rows = []
    for turn in range(3):
        asked = dialogue("harbour", turn + 1)
        rows.append([said("system", DESK), *asked])
        rows.append([said("system", helper), said("user", f"Look for this: ballast {turn}.")])
    found = diagnosed(tmp_path, [{"messages": m, "tools": TOOLS, "session": "s"} for m in rows])
    assert all_kinds(found) == []
    assert [finding.relative for finding in found.findings][:4] == [-1, -1, 0, 1]
    assert len({finding.application for finding in found.findings}) == 2


def test_instructions_that_change_within_a_dialogue_are_still_its_own(tmp_path: Path) -> None:
    """An agent whose mode is switched: other instructions, the same tools, the dialogue goes on."""
    plan = "Search the archive and report what was found. Quote each page by its number. " * 5
    rows = [{"messages": [said("system", text), *dialogue("harbour", n)], "tools": TOOLS}
            for n, text in enumerate((DESK, plan), 2)]  # fmt: skip
    found = diagnosed(tmp_path, [{**row, "session": "s"} for row in rows])
    assert found.findings[1].relative == 0
    assert kinds(found, 1)


def test_a_line_of_the_client_makes_no_application(tmp_path: Path) -> None:
    line = "x-anthropic-billing-header: cc_version=2.0.{}; cc_entrypoint=sdk-ts; cch=6c9e{};\n"
    rules = "Use the following format: question, thought, action, and so on until it is known. "
    museum = "Your employer is a museum. Think of one in a town such as Turku. Lend nothing. " * 5
    rows = [
        {"messages": [said("system", line.format(n, n) + text), said("user", ask)]}
        for n, (text, ask) in enumerate(
            [(museum + rules, "Is the ship older than the mill?"), (rules + DESK, "Any room free?")]
        )
    ]
    found = diagnosed(tmp_path, rows)
    assert found.findings[1].relative == -1

"""What a field is, all requests of an application tell: one that changed once was edited, one whose
values come back is nobody's id, a line that comes and goes is of the kind of its value.
"""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor.test_planted_kinds import kinds_of

RULES = "Answer briefly and cite the page of the manual that you used. "
Text = Callable[[int, int], str]
"""What stands in the instructions in (session, request of the trace)."""


def rows_with(text: Text, num_sessions: int, num_turns: int) -> list[dict[str, Any]]:
    """Sessions one after the other, each with its own questions."""
    rows: list[dict[str, Any]] = []
    for session in range(num_sessions):
        messages: list[dict[str, Any]] = []
        for turn in range(num_turns):
            messages.append(
                {"role": "user", "content": f"Question {session}.{turn} on part 7{session}"}
            )
            system = f"{RULES * 4}\n{text(session, len(rows))}\n{RULES * 4}"
            head = {"role": "system", "content": system}
            rows.append({"id": str(len(rows)), "session": f"s{session}", "arrival_s": 9 * len(rows),
                         "messages": [head, *messages]})  # fmt: skip
            messages.append({"role": "assistant", "content": f"See page {session * 7 + turn}."})
    return rows


def drawn(seed: int, *values: str) -> str:
    return random.Random(seed).choice(values)


def letters(seed: int, num: int) -> str:
    return "".join(random.Random(seed).choices("abcdefghijkmnpqrstuvwxyz23456789", k=num))


FIELDS: dict[str, tuple[Text, str]] = {
    "id of digits": (
        lambda _, n: f"The channel id is: {random.Random(n).randrange(10**18, 10**19)}",
        "request_id",
    ),
    "reference": (
        lambda _, n: f"Reference number: {random.Random(n).randrange(10**7, 10**8)}", "request_id",
    ),
    "session": (
        lambda s, _: f"Current session: {random.Random(s).randrange(10**9, 10**10)}", "request_id",
    ),
    "task": (lambda s, _: f"Your task ID is task-{letters(s, 8)}.", "request_id"),
    "node": (lambda _, n: f"[Identity]\nNode ID: node-{letters(n, 6)}", "request_id"),
    "agent": (
        lambda _, n: f"You are agent agent-{random.Random(n).randrange(65536):04x}.", "request_id",
    ),
    "product": (
        lambda s, _: f"The offer concerns {drawn(s, 'iPhone15', 'GalaxyS24', 'Pixel10')} alone.",
        "per_user_field",
    ),
    "phone": (
        lambda s, _: f"The caller's phone number is +1{random.Random(s).randrange(10**9, 10**10)}.",
        "per_user_field",
    ),
    "name in Vietnamese": (
        lambda s, _: f"Khách hàng {drawn(s, 'Wei', 'Ann', 'Zoë')} {drawn(s + 9, 'Ito', 'Lee')}",
        "per_user_field",
    ),
    "who is helped": (
        lambda s, _: f"Tu aides {drawn(s, 'Wei', 'Ann', 'Zoë')} de Lyon.", "per_user_field",
    ),
    "dialogues": (
        lambda _, n: drawn(
            n,
            "User: Is it dry?\nMaud Reed: It withstands rain.",
            "User: Who is my contact?\nMaud Reed: The desk in Graz.",
            "User: Do you ship to Norway?\nMaud Reed: Within six days.",
            "User: My voucher fails.\nMaud Reed: It needs forty euros.",
        ),
        "random_sample",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "kind"), FIELDS.values(), ids=FIELDS)
def test_what_a_field_is(text: Text, kind: str, tmp_path: Path) -> None:
    assert set(kinds_of(rows_with(text, 16, 3), tmp_path)) == {kind}


EDITS = {
    "limit": ("Answer in at most 200 words.", "Answer in at most 150 words."),
    "version": ("Policy version 3", "Policy version 4"),
    "price": ("The plan costs 19.99 a month.", "The plan costs 24.99 a month."),
    "model": ("You are helper-v1.", "You are helper-v2."),
    "phone": ("Call +49 30 1234567.", "Call +49 30 7654321."),
}


@pytest.mark.parametrize(("old", "new"), EDITS.values(), ids=EDITS)
def test_one_change_for_good_is_an_edit(old: str, new: str, tmp_path: Path) -> None:
    rows = rows_with(lambda session, _: old if session < 6 else new, 12, 2)
    assert kinds_of(rows, tmp_path) == Counter({"edited_message": 1})


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (lambda n: f"<env>\nToday's date: 03/10/2026\nTime: 10:{n:02}:50\n</env>", "clock"),
        (lambda n: f"<!-- rid:{random.Random(n).randrange(1 << 48):012x} -->", "request_id"),
        (lambda n: f"{3 + n} messages are not shown", "counter"),
    ],
    ids=["clock", "id", "count"],
)
def test_a_line_that_comes_and_goes(line: Callable[[int], str], kind: str, tmp_path: Path) -> None:
    """In the first question of one session, in every third of its requests."""
    messages = [{"role": "user", "content": "Where is the lamp that I ordered in May?"}]
    rows = []
    for number in range(15):
        first = str(messages[0]["content"])
        said = first if number % 3 else f"{first}\n{line(number)}"
        rows.append({"id": str(number), "session": "s", "arrival_s": number,
                     "messages": [{"role": "system", "content": RULES * 4},
                                  {"role": "user", "content": said}, *messages[1:]]})  # fmt: skip
        messages += [{"role": "assistant", "content": f"I look at page {number}."},
                     {"role": "user", "content": f"And what does step {number} say?"}]  # fmt: skip
    assert set(kinds_of(rows, tmp_path)) == {kind}


def test_two_descriptions_of_a_tool_that_take_turns(tmp_path: Path) -> None:
    texts = ("Looks up a room by its number and returns it.", "Sucht ein Zimmer und gibt es aus.")
    rows = rows_with(lambda *_: "Be polite.", 2, 6)
    for number, row in enumerate(rows):
        tool = {"name": "room", "description": texts[number % 2], "parameters": {"type": "object"}}
        row["tools"] = [{"type": "function", "function": tool}]
    assert set(kinds_of(rows, tmp_path)) == {"tool_set"}


def test_a_heading_of_the_system_parts_a_prompt_of_one_text(tmp_path: Path) -> None:
    words = (
        "salt, moss, violin",
        "moss, harbour, amber",
        "slate, salt, candle",
        "amber, moss, tin",
    )
    rows = [
        {"id": str(n), "arrival_s": n,
         "prompt": f"### system\n{RULES * 5}\nExample:\nUser: My order is late.\n"
                   f"Seed words: {text}.\n\n### user\nDocuments:\n[1] File {n * 7}\n\n"
                   f"Question: what of {n}?"}
        for n, text in enumerate(words)
    ]  # fmt: skip
    assert set(kinds_of(rows, tmp_path)) == {"random_sample"}

"""What must not be taken for a defect, and defects that look like something else."""

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor.planting import PLANTS, Sent, paragraph, rows_of, sentence, traffic
from doctor.test_planted_kinds import findings_of, kinds_of

DOCS = [paragraph(random.Random(n), 5) for n in range(6)]


def answer_from(number: int, *, stamp: bool, shuffled: bool) -> dict[str, Any]:
    """Retrieval in one message: perhaps a clock, documents, a question."""
    rng = random.Random(number)
    docs = rng.sample(DOCS, len(DOCS)) if shuffled else DOCS
    head = f"Current time: 2026-11-29 10:{number:02}:{number * 7 % 60:02}\n\n" if stamp else ""
    text = f"{head}Context:\n" + "\n\n".join(docs)
    question = f"\n\nQuestion: {sentence(rng, 10)}\nAnswer:"
    return {
        "model": "m",
        "timestamp": 1_764_400_000 + number,
        "messages": [
            {"role": "system", "content": "You answer from the context only, briefly."},
            {"role": "user", "content": text + question},
        ],
    }


@pytest.mark.parametrize(
    ("stamp", "shuffled", "kinds"),
    [(False, False, set()), (True, False, {"clock"}), (False, True, {"moved_block"})],
)
def test_a_template_with_a_question_in_it(
    stamp: bool, shuffled: bool, kinds: set[str], tmp_path: Path
) -> None:
    rows = [answer_from(n, stamp=stamp, shuffled=shuffled) for n in range(12)]
    assert set(kinds_of(rows, tmp_path)) == kinds


def of_chats(
    change: Callable[[list[Sent]], None], folder: Path, app: str = "chat"
) -> list[Counter[str]]:
    """The kinds found, with sessions named and without."""
    found = []
    for sessions in (True, False):
        all_sent = traffic(app, 21)
        change(all_sent)
        found.append(kinds_of(rows_of(all_sent, sessions), folder))
    return found


def each_user_message(all_sent: list[Sent], stamp: Callable[[Sent, int], str]) -> None:
    for sent in all_sent:
        for number, message in enumerate(sent.body["messages"]):
            if message["role"] == "user":
                message["content"] = stamp(sent, number) + message["content"]


def test_dates_in_the_user_s_own_words_are_new_content(tmp_path: Path) -> None:
    def dated(sent: Sent, number: int) -> str:
        day = 1 + (number * 7 + len(sent.session) * 3 + int(sent.session[-1])) % 28
        return f"I want to travel on 2026-12-{day:02}, not before. "

    for found in of_chats(lambda sent: each_user_message(sent, dated), tmp_path):
        assert not found


def test_a_stamp_that_stays_with_its_message_is_no_defect(tmp_path: Path) -> None:
    first_seen: dict[tuple[str, int], str] = {}

    def stamped(sent: Sent, number: int) -> str:
        now = sent.at.strftime("[%Y-%m-%d %H:%M:%S] ")
        return first_seen.setdefault((sent.session, number), now)

    for found in of_chats(lambda sent: each_user_message(sent, stamped), tmp_path):
        assert not found
        first_seen.clear()


def test_a_first_message_that_is_stamped_anew_is_a_clock(tmp_path: Path) -> None:
    def stamped(sent: Sent, number: int) -> str:
        return sent.at.strftime("[%Y-%m-%d %H:%M:%S] ") if number == 1 else ""

    for found in of_chats(lambda sent: each_user_message(sent, stamped), tmp_path):
        assert set(found) == {"clock"}


def test_the_same_question_about_another_day_is_new(tmp_path: Path) -> None:
    system = {"role": "system", "content": paragraph(random.Random(1), 20)}
    rows = [
        {"model": "m", "messages": [
            system, {"role": "user", "content": f"What is the weather in Paris on 2026-11-{day}?"}
        ]} for day in range(10, 20)
    ]  # fmt: skip
    assert not kinds_of(rows, tmp_path)


def test_instructions_that_were_edited_once_are_an_edit(tmp_path: Path) -> None:
    def deployed(all_sent: list[Sent]) -> None:
        for sent in all_sent[15:]:
            message = sent.body["messages"][0]
            message["content"] = message["content"].replace("You are the", "You are the careful")

    for found in of_chats(deployed, tmp_path):
        assert set(found) == {"edited_message"}


def test_results_of_tools_that_were_cleared_or_cut(tmp_path: Path) -> None:
    def shortened(note: Callable[[str], str]) -> Callable[[list[Sent]], None]:
        def change(all_sent: list[Sent]) -> None:
            for sent in all_sent:
                for message in [m for m in sent.body["messages"] if m["role"] == "tool"][:-1]:
                    message["content"] = note(message["content"])

        return change

    for found in of_chats(shortened(lambda _: "[Old tool result cleared]"), tmp_path, "agent"):
        assert set(found) == {"truncated_history"}
    for found in of_chats(shortened(lambda text: f"{text[:60]}... [truncated]"), tmp_path, "agent"):
        assert set(found) == {"truncated_history"}


def test_a_reminder_that_is_put_at_the_end_each_turn_has_moved(tmp_path: Path) -> None:
    def reminded(all_sent: list[Sent]) -> None:
        for sent in all_sent:
            told = {"role": "system", "content": "Reminder: answer in two sentences, be kind."}
            sent.body["messages"].insert(-1, told)

    for found in of_chats(reminded, tmp_path):
        assert set(found) == {"moved_block"}


def test_orders_and_spaces_inside_what_was_said(tmp_path: Path) -> None:
    def keys_of_results(all_sent: list[Sent]) -> None:
        for sent in all_sent[1::2]:
            for message in sent.body["messages"]:
                if message["role"] == "tool":
                    items = reversed(json.loads(message["content"]).items())
                    message["content"] = json.dumps(dict(items))

    def spaces_of_arguments(all_sent: list[Sent]) -> None:
        for sent in all_sent[1::2]:
            for message in sent.body["messages"]:
                for call in message.get("tool_calls", ()):
                    told = json.loads(call["function"]["arguments"])
                    call["function"]["arguments"] = json.dumps(told, separators=(",", ":"))

    for found in of_chats(keys_of_results, tmp_path, "agent"):
        assert set(found) == {"key_order"}
    for found in of_chats(spaces_of_arguments, tmp_path, "agent"):
        assert set(found) == {"white_space"}


def test_reasoning_that_was_stripped_from_the_history(tmp_path: Path) -> None:
    def stripped(all_sent: list[Sent]) -> None:
        for sent in all_sent:
            answers = [m for m in sent.body["messages"] if m["role"] == "assistant"]
            for message in answers[-1:]:
                message["reasoning_content"] = paragraph(random.Random(sent.turn), 1)

    for found in of_chats(stripped, tmp_path):
        assert set(found) == {"template_flip"}


def test_offsets_of_what_is_no_string_count_in_the_file_s_own_text(tmp_path: Path) -> None:
    all_sent = traffic("agent", 22, num_sessions=2, num_turns=2)
    for sent in all_sent[1:]:
        sent.body["tools"].reverse()
    rows = rows_of(all_sent)  # written by json.dumps, with spaces
    texts = [json.dumps(row["tools"]) for row in rows]
    first = findings_of(rows, tmp_path)[1].first
    assert first is not None
    assert first.kind == "tool_order"
    assert texts[0][: first.char_offset] == texts[1][: first.char_offset]
    assert texts[0][first.char_offset] != texts[1][first.char_offset]


@pytest.mark.parametrize("kind", ["clock", "tool_order", "per_user_field", "edited_message"])
@pytest.mark.parametrize("sessions", [True, False])
def test_mixed_traffic_is_no_obstacle(kind: str, sessions: bool, tmp_path: Path) -> None:
    """Four applications at once, one of them broken: the others stay clean and apart."""
    mixed: list[Sent] = []
    for number, app in enumerate(("agent", "chat", "retrieval", "chat")):
        all_sent = traffic(app, 100 + number)
        if number == 0:
            PLANTS[kind][1](all_sent, random.Random(1))
        for sent in all_sent:
            sent.session = f"{number}-{sent.session}"
        mixed += all_sent
    mixed.sort(key=lambda sent: (sent.at, sent.session))
    found = findings_of(rows_of(mixed, sessions), tmp_path)
    broken = {f.application for f in found for c in f.comparison.changes if c.kind == kind}
    assert len({finding.application for finding in found}) == 4
    assert len(broken) == 1
    assert {c.kind for f in found for c in f.comparison.changes} == {kind}

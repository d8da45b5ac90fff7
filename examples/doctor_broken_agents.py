"""One small agent for each way to break a prompt prefix, its cure, and what the doctor says.

Each broken agent differs from the cured one in a few characters of every request. Give a folder,
and the traces are kept there as `KIND_broken.jsonl` and `KIND_cured.jsonl`, to try commands on:

    python examples/doctor_broken_agents.py traces
    hitpath doctor traces/clock_broken.jsonl
"""

import json
import random
import sys
import tempfile
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hitpath.core import Setting
from hitpath.report.doctor_run import examine, open_subject

Body = dict[str, Any]
POLICY = """You are the night desk of a small hotel.

Greet guests in their own language, and answer in two sentences at most. Never promise a room
that the calendar does not show as free. The deposit is {deposit} euros.

Breakfast is served from seven to half past ten in the blue room; the garden is closed in winter.
Dogs are welcome on the ground floor, horses are not, though one guest asks every spring.
A guest who has lost a key gets a new one for a signature and a smile. Señor Núñez lives in room 4.
"""
TOOLS = [
    {"type": "function", "function": {"name": name, "description": told, "parameters": {
        "type": "object",
        "properties": {"room": {"type": "string", "description": "number of the room"},
                       "night": {"type": "string", "description": "which night"},
                       "guests": {"type": "integer", "description": "how many people"}},
        "required": ["room", "night"]}}}
    for name, told in (("find_room", "Rooms that are free on a night."),
                       ("book_room", "Books a room for a guest who said yes."),
                       ("cancel", "Cancels a booking; the deposit stays with the house."),
                       ("call_taxi", "Calls a taxi to the front door."))
]  # fmt: skip
TALK = [
    ("Is there a quiet room for two on Friday?", "Room 12 looks on the garden and is free."),
    ("We come late, after the last train.", "The night desk is open; ring the bell twice."),
    ("Can the dog sleep in our room?", "On the ground floor it can, so room 3 would suit you."),
    ("Then we take room 3, please.", "Room 3 is booked for you and the dog on Friday."),
    ("What does the taxi from the station cost?", "About twelve euros, and it takes ten minutes."),
]
Break = Callable[[Body, int, int, random.Random], None]


def agent(broken: Break | None) -> list[Body]:
    """Three guests, five questions each, one after the other."""
    rng = random.Random(0)
    rows: list[Body] = []
    for guest in range(3):
        for turn in range(len(TALK)):
            messages: list[Body] = [{"role": "system", "content": POLICY.format(deposit=150)}]
            for question, answer in TALK[: turn + 1]:
                messages.append({"role": "user", "content": f"{question} (guest {'ABC'[guest]})"})
                messages.append({"role": "assistant", "content": answer})
            body = {"model": "m", "tools": json.loads(json.dumps(TOOLS)), "messages": messages[:-1]}
            if broken is not None:
                broken(body, guest, turn, rng)
            when = 1_764_400_000 + 600 * guest + 67 * turn
            rows.append({"session_id": f"guest {guest}", "timestamp": when, **body})
    return rows


def system(body: Body, line: str) -> None:
    """A line behind the first paragraph of the instructions."""
    message = body["messages"][0]
    message["content"] = message["content"].replace("\n\n", f"\n\n{line}\n\n", 1)


def clock(body: Body, guest: int, turn: int, rng: random.Random) -> None:
    system(body, f"Current time: 2026-11-29 2{guest}:0{turn}:{rng.randrange(10, 60)}")


def request_id(body: Body, guest: int, turn: int, rng: random.Random) -> None:
    system(body, f"Request ID: {rng.getrandbits(128):032x}")


def counter(body: Body, guest: int, turn: int, rng: random.Random) -> None:
    system(body, f"This is request #{100 + 5 * guest + turn} of the night.")


def random_sample(body: Body, guest: int, turn: int, rng: random.Random) -> None:
    system(body, f"Example: {rng.choice(TALK)[1]} {rng.choice(TALK)[1]}")


def per_user_field(body: Body, guest: int, turn: int, rng: random.Random) -> None:
    system(body, f"You are talking to {['Ada Byron', 'Max Frisch', 'Eva Peron'][guest]}.")


def attribution(body: Body, guest: int, turn: int, rng: random.Random) -> None:
    message = body["messages"][0]
    line = f"x-anthropic-billing-header: cc_version=2.1.37; cch={rng.getrandbits(20):05x};"
    message["content"] = f"{line}\n{message['content']}"


def tool_order(body: Body, guest: int, turn: int, rng: random.Random) -> None:
    rng.shuffle(body["tools"])


def key_order(body: Body, guest: int, turn: int, rng: random.Random) -> None:
    parameters = body["tools"][0]["function"]["parameters"]
    keys = list(parameters["properties"])
    rng.shuffle(keys)
    parameters["properties"] = {key: parameters["properties"][key] for key in keys}


def array_order(body: Body, guest: int, turn: int, rng: random.Random) -> None:
    rng.shuffle(body["tools"][0]["function"]["parameters"]["required"])


def white_space(body: Body, guest: int, turn: int, rng: random.Random) -> None:
    ends = "\r\n" if turn % 2 else "\n"
    message = body["messages"][0]
    message["content"] = message["content"].replace("\n\n", ends + ends, 1)


def hidden_characters(body: Body, guest: int, turn: int, rng: random.Random) -> None:
    message = body["messages"][0]
    message["content"] = ("\ufeff" if turn % 2 else "") + message["content"]


def unicode_form(body: Body, guest: int, turn: int, rng: random.Random) -> None:
    message = body["messages"][0]
    form = "NFD" if turn % 2 else "NFC"
    message["content"] = unicodedata.normalize(form, message["content"])  # type: ignore[arg-type]


def number_format(body: Body, guest: int, turn: int, rng: random.Random) -> None:
    deposit = rng.choice(["150", "150.00", "150.0"])
    body["messages"][0]["content"] = POLICY.format(deposit=deposit)


def template_flip(body: Body, guest: int, turn: int, rng: random.Random) -> None:
    if turn:
        last = body["messages"][-2]
        last["content"] = f"<think>\n\n</think>\n\n{last['content']}"


def truncated_history(body: Body, guest: int, turn: int, rng: random.Random) -> None:
    del body["messages"][1:-3]


def compacted_history(body: Body, guest: int, turn: int, rng: random.Random) -> None:
    if turn >= 3:
        said = "Summary of the conversation so far: a quiet room for two on Friday, arriving late."
        body["messages"][1:5] = [{"role": "user", "content": said}]


def edited_message(body: Body, guest: int, turn: int, rng: random.Random) -> None:
    if turn >= 2:
        first = body["messages"][1]
        first["content"] = first["content"].replace("quiet", "quiet and cheap")


def moved_block(body: Body, guest: int, turn: int, rng: random.Random) -> None:
    message = body["messages"][0]
    head, *blocks = message["content"].split("\n\n")
    rng.shuffle(blocks)
    message["content"] = "\n\n".join([head, *(block.strip() for block in blocks)])


def tool_set(body: Body, guest: int, turn: int, rng: random.Random) -> None:
    if turn >= 2:
        del body["tools"][1]


def context_changed(body: Body, guest: int, turn: int, rng: random.Random) -> None:
    body["model"] = "m" if turn < 2 else "m-small"


def position_shift(body: Body, guest: int, turn: int, rng: random.Random) -> None:
    if turn >= 2:
        answer = TALK[0][1]
        body["messages"][1:3] = [{"role": "assistant", "content": answer[len(answer) // 2 :]}]


def image_encoding(body: Body, guest: int, turn: int, rng: random.Random) -> None:
    text = body["messages"][1]["content"]
    url = f"data:image/jpeg;base64,{rng.getrandbits(400):0100x}"
    body["messages"][1]["content"] = [
        {"type": "text", "text": text},
        {"type": "image_url", "image_url": {"url": url}},
    ]


BREAKS: tuple[Break, ...] = (
    clock, request_id, counter, random_sample, per_user_field, attribution, tool_order, key_order,
    array_order, white_space, hidden_characters, unicode_form, number_format, template_flip,
    truncated_history, compacted_history, edited_message, moved_block, tool_set, context_changed,
    position_shift, image_encoding,
)  # fmt: skip


def main(folder: Path) -> None:
    """Write all traces and tell what is found in them."""
    print(f"{'broken by':<20}{'found':<20}{'where':<44}{'hit rate':>9}{'cured':>8}")
    for broken in BREAKS:
        rates, found = [], None
        for name, rows in (("broken", agent(broken)), ("cured", agent(None))):
            path = folder / f"{broken.__name__}_{name}.jsonl"
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
            diagnosis = examine(open_subject([str(path)], Setting()), what_ifs=False)
            found = found or diagnosis
            rates.append(diagnosis.before or 0.0)
        assert found is not None
        first = found.defects[0]
        place = f"{first.json_path}, character {first.char_offset}"
        rate = f"{rates[0]:>9.1%}{rates[1]:>8.1%}"
        print(f"{broken.__name__:<20}{first.kind:<20}{place:<44}{rate}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).mkdir(exist_ok=True)
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as made:
            main(Path(made))

"""Agents, chats and retrieval services whose requests are clean, and one defect of each kind put
into them. Made by hand from the shapes that people report (field notes, section A); no rule of the
doctor is used."""

from __future__ import annotations

import copy
import json
import random
import unicodedata
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Body = dict[str, Any]
START = datetime(2026, 11, 29, 9, 12, 44, tzinfo=UTC)
WORDS = """
invoice shipping refund policy window account balance transfer limit region cabin seat
upgrade luggage allowance warranty claim device battery screen update release branch
merge review latency cache prefix token budget deploy rollback metric alert channel
subscription renewal discount coupon basket checkout address courier parcel customs
tariff quota ledger audit
""".split()  # noqa: SIM905
NAMES = ["Alice Moreau", "Bob Tanaka", "Carla Nunes", "Deniz Kaya", "Emeka Obi", "Freja Lund"]


@dataclass
class Sent:
    """A request as it goes out. at: when; turn: of its session, from 0."""

    body: Body
    session: str
    turn: int
    at: datetime
    number: int
    planted: list[str] = field(default_factory=list)


def sentence(rng: random.Random, num: int = 12) -> str:
    words = [rng.choice(WORDS) for _ in range(num)]
    return " ".join(words).capitalize() + "."


def paragraph(rng: random.Random, num: int = 4) -> str:
    return " ".join(sentence(rng, rng.randint(8, 16)) for _ in range(num))


def tool(rng: random.Random, name: str) -> dict[str, Any]:
    properties = {
        key: {"type": "string", "description": sentence(rng, 7)}
        for key in rng.sample(["query", "limit", "region", "order_id", "reason", "amount"], 4)
    }
    properties["mode"] = {"type": "string", "enum": ["fast", "exact", "none"]}
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": paragraph(rng, 1),
            "parameters": {
                "type": "object",
                "properties": properties,
                "required": list(properties)[:3],
            },
        },
    }


TOOL_NAMES = ["search_orders", "get_account", "issue_refund", "list_files", "run_query",
              "send_email", "book_seat", "read_page"]  # fmt: skip


def traffic(
    kind: str, seed: int, num_sessions: int = 6, num_turns: int = 5, gap_s: int = 97
) -> list[Sent]:
    """Clean requests of one application (agent, chat or retrieval), in order of time."""
    rng = random.Random(seed)
    system = f"You are the assistant of {rng.choice(WORDS)} support.\n\n" + "\n\n".join(
        f"## {rng.choice(WORDS).capitalize()}\n{paragraph(rng, 5)}" for _ in range(5)
    )
    tools = [tool(rng, name) for name in TOOL_NAMES] if kind == "agent" else []
    plans: list[tuple[str, list[list[dict[str, Any]]]]] = []
    for number in range(num_sessions):
        plans.append((f"s{seed}-{number}", _turns(rng, kind, num_turns)))
    order = [s for s in range(num_sessions) for _ in range(num_turns)]
    if kind != "retrieval":
        rng.shuffle(order)
    sent: list[Sent] = []
    done = dict.fromkeys(range(num_sessions), 0)
    for number, s in enumerate(order):
        session, turns = plans[s]
        messages = [{"role": "system", "content": system}]
        if kind == "retrieval":
            messages += turns[done[s]]
        else:
            for turn in turns[: done[s] + 1]:
                messages += turn
            while messages[-1]["role"] == "assistant":
                messages.pop()
        body: Body = {"model": "m", "messages": copy.deepcopy(messages)}
        if tools:
            body["tools"] = copy.deepcopy(tools)
        at = START + timedelta(seconds=gap_s * number + rng.randint(0, 20))
        sent.append(Sent(body, session, done[s], at, number))
        done[s] += 1
    return sent


def _turns(rng: random.Random, kind: str, num: int) -> list[list[dict[str, Any]]]:
    turns: list[list[dict[str, Any]]] = []
    for number in range(num):
        question = sentence(rng, rng.randint(6, 14)).replace(".", "?")
        if kind == "retrieval":
            passages = "\n\n".join(f"[{i + 1}] {paragraph(rng, 3)}" for i in range(4))
            turns.append(
                [{"role": "user", "content": f"Context:\n{passages}\n\nQuestion: {question}"}]
            )
            continue
        turn: list[dict[str, Any]] = []
        if number:
            if kind == "agent":
                call = f"call_{rng.getrandbits(64):016x}"
                arguments = json.dumps({"query": rng.choice(WORDS), "limit": rng.randint(1, 9)})
                turn += [
                    {"role": "assistant", "content": None, "tool_calls": [
                        {"id": call, "type": "function",
                         "function": {"name": rng.choice(TOOL_NAMES), "arguments": arguments}}]},
                    {"role": "tool", "tool_call_id": call,
                     "content": json.dumps({"status": "ok", "rows": [
                         {"id": rng.randint(1000, 9999), "text": sentence(rng)}
                         for _ in range(3)]})},
                ]  # fmt: skip
            turn.append({"role": "assistant", "content": paragraph(rng, 2)})
        turn.append({"role": "user", "content": question})
        turns.append(turn)
    return turns


# ---- one plant a kind: changes requests in place ------------------------------------------------


def into_system(sent: Sent, line: str, after: int = 0) -> None:
    """A line of its own behind some paragraph of the system text."""
    message = sent.body["messages"][0]
    parts = message["content"].split("\n\n")
    parts.insert(after + 1, line)
    message["content"] = "\n\n".join(parts)


def clock(all_sent: list[Sent], rng: random.Random) -> None:
    form = rng.choice([
        "Current time: %Y-%m-%d %H:%M:%S", "Current date and time: %A, %B %d, %Y %I:%M %p",
        "Today is %d/%m/%Y, the time is %H:%M:%S.", "Now: %Y-%m-%dT%H:%M:%SZ",
    ])  # fmt: skip
    for sent in all_sent:
        into_system(sent, sent.at.strftime(form))


def request_id(all_sent: list[Sent], rng: random.Random) -> None:
    form = rng.choice(["Request ID: {:032x}", "request_id=req_{:024x}", "Trace: {:016x}"])
    for sent in all_sent:
        into_system(sent, form.format(rng.getrandbits(60) | 1 << 62))


def counter(all_sent: list[Sent], rng: random.Random) -> None:
    form = rng.choice(["This is request #{} today.", "Requests served so far: {}", "[step {}]"])
    for sent in all_sent:
        into_system(sent, form.format(sent.number + 17))


def random_sample(all_sent: list[Sent], rng: random.Random) -> None:
    pool = [paragraph(rng, 1) for _ in range(12)]
    for sent in all_sent:
        lines = "\n".join(f"Example: {text}" for text in rng.sample(pool, 2))
        into_system(sent, lines)


def per_user_field(all_sent: list[Sent], rng: random.Random) -> None:
    names = rng.sample(NAMES, 6)
    for sent in all_sent:
        who = names[int(sent.session.rpartition("-")[2]) % 6]
        into_system(sent, f"You are talking to {who} (plan: {'gold' if who < 'D' else 'basic'}).")


def attribution(all_sent: list[Sent], rng: random.Random) -> None:
    for sent in all_sent:
        content = sent.body["messages"][0]["content"]
        cch = f"cch={rng.getrandbits(20):05x};"
        line = f"x-anthropic-billing-header: cc_version=2.1.37.3a3; cc_entrypoint=cli; {cch}"
        sent.body["messages"][0]["content"] = f"{line}\n{content}"


def tool_order(all_sent: list[Sent], rng: random.Random) -> None:
    for sent in all_sent:
        rng.shuffle(sent.body["tools"])


def key_order(all_sent: list[Sent], rng: random.Random) -> None:
    for sent in all_sent:
        parameters = sent.body["tools"][3]["function"]["parameters"]
        items = list(parameters["properties"].items())
        rng.shuffle(items)
        parameters["properties"] = dict(items)


def array_order(all_sent: list[Sent], rng: random.Random) -> None:
    for sent in all_sent:
        rng.shuffle(sent.body["tools"][2]["function"]["parameters"]["required"])


def white_space(all_sent: list[Sent], rng: random.Random) -> None:
    for sent in all_sent:
        if rng.random() < 0.5:
            message = sent.body["messages"][0]
            form = rng.choice([("\n\n", "\r\n\r\n"), (". ", ".  "), ("\n", " \n")])
            message["content"] = message["content"].replace(*form, 1)


def hidden_characters(all_sent: list[Sent], rng: random.Random) -> None:
    for sent in all_sent:
        if rng.random() < 0.5:
            message = sent.body["messages"][0]
            mark = rng.choice(["\ufeff", "\u200b", "\u00ad"])
            at = message["content"].index(" ", 60)
            message["content"] = message["content"][:at] + mark + message["content"][at:]


def unicode_form(all_sent: list[Sent], rng: random.Random) -> None:
    for sent in all_sent:
        into_system(sent, "Le café est fermé à l'été, señor.")
        if rng.random() < 0.5:
            message = sent.body["messages"][0]
            message["content"] = unicodedata.normalize("NFD", message["content"])


def number_format(all_sent: list[Sent], rng: random.Random) -> None:
    for sent in all_sent:
        into_system(
            sent, f"The refund limit is {rng.choice(['1,500.00', '1500', '1500.0'])} euros."
        )


def template_flip(all_sent: list[Sent], rng: random.Random) -> None:
    for sent in all_sent:
        answers = [
            m for m in sent.body["messages"] if m["role"] == "assistant" and m.get("content")
        ]
        if answers:
            answers[-1]["content"] = "<think>\n\n</think>\n\n" + answers[-1]["content"]


def truncated_history(all_sent: list[Sent], rng: random.Random) -> None:
    for sent in all_sent:
        users = [i for i, m in enumerate(sent.body["messages"]) if m["role"] == "user"]
        if len(users) > 3:
            del sent.body["messages"][1 : users[-3]]


def compacted_history(all_sent: list[Sent], rng: random.Random) -> None:
    for sent in all_sent:
        messages = sent.body["messages"]
        users = [i for i, m in enumerate(messages) if m["role"] == "user"]
        if sent.turn >= 3:
            said = " ".join(str(m.get("content"))[:40] for m in messages[1 : users[2]])
            summary = {
                "role": "user",
                "content": f"Summary of the conversation so far: {said[:160]}",
            }
            messages[1 : users[2]] = [summary]


def edited_message(all_sent: list[Sent], rng: random.Random) -> None:
    for sent in all_sent:
        messages = sent.body["messages"]
        if sent.turn >= 2:
            messages[1]["content"] = messages[1]["content"].replace("?", ", please, and soon?")


def moved_block(all_sent: list[Sent], rng: random.Random) -> None:
    blocks = [f"Document {c}: {paragraph(rng, 3)}" for c in "ABCD"]
    for sent in all_sent:
        chosen = list(blocks)
        rng.shuffle(chosen)
        into_system(sent, "\n".join(chosen))


def tool_set(all_sent: list[Sent], rng: random.Random) -> None:
    for sent in all_sent:
        if sent.turn >= 2:
            del sent.body["tools"][4]


def context_changed(all_sent: list[Sent], rng: random.Random) -> None:
    for sent in all_sent:
        if sent.turn >= 2:
            sent.body["model"] = "m-2"


def position_shift(all_sent: list[Sent], rng: random.Random) -> None:
    for sent in all_sent:
        messages = sent.body["messages"]
        answers = [
            i for i, m in enumerate(messages) if m["role"] == "assistant" and m.get("content")
        ]
        if sent.turn >= 3 and answers:
            text = messages[answers[0]]["content"]
            messages[1 : answers[0] + 1] = [
                {"role": "assistant", "content": text[len(text) // 2 :]}
            ]


def image_encoding(all_sent: list[Sent], rng: random.Random) -> None:
    for sent in all_sent:
        data = f"data:image/jpeg;base64,{rng.getrandbits(2400):0600x}"
        first = next(m for m in sent.body["messages"] if m["role"] == "user")
        first["content"] = [
            {"type": "text", "text": first["content"]},
            {"type": "image_url", "image_url": {"url": data}},
        ]


PLANTS: dict[str, tuple[str, Callable[[list[Sent], random.Random], None]]] = {
    "clock": ("agent chat retrieval", clock),
    "request_id": ("agent chat retrieval", request_id),
    "counter": ("agent chat retrieval", counter),
    "random_sample": ("agent chat retrieval", random_sample),
    "per_user_field": ("agent chat", per_user_field),
    "attribution": ("agent chat retrieval", attribution),
    "tool_order": ("agent", tool_order),
    "key_order": ("agent", key_order),
    "array_order": ("agent", array_order),
    "white_space": ("agent chat retrieval", white_space),
    "hidden_characters": ("agent chat retrieval", hidden_characters),
    "unicode_form": ("agent chat retrieval", unicode_form),
    "number_format": ("agent chat retrieval", number_format),
    "template_flip": ("chat agent", template_flip),
    "truncated_history": ("chat agent", truncated_history),
    "compacted_history": ("chat agent", compacted_history),
    "edited_message": ("chat agent", edited_message),
    "moved_block": ("chat agent retrieval", moved_block),
    "tool_set": ("agent", tool_set),
    "context_changed": ("chat agent", context_changed),
    "position_shift": ("chat agent", position_shift),
    "image_encoding": ("chat agent", image_encoding),
}


def rows_of(all_sent: list[Sent], sessions: bool = True) -> list[dict[str, Any]]:
    """Rows of request bodies, with times."""
    rows = []
    for sent in all_sent:
        row = {"timestamp": sent.at.timestamp(), **sent.body}
        if sessions:
            row["session_id"] = sent.session
        rows.append(row)
    return rows


# ---- the same requests in other shapes ----------------------------------------------------------


def as_anthropic(body: Body) -> Body:
    """Blocks, tools with input_schema, results of tools in user messages."""
    messages: list[dict[str, Any]] = []
    for message in body["messages"][1:]:
        content = message.get("content")
        blocks = list(content) if isinstance(content, list) else []
        if isinstance(content, str):
            blocks.append({"type": "text", "text": content})
        for call in message.get("tool_calls", ()):
            function = call["function"]
            blocks.append({"type": "tool_use", "id": call["id"], "name": function["name"],
                           "input": json.loads(function["arguments"])})  # fmt: skip
        role = message["role"]
        if role == "tool":
            role = "user"
            blocks = [{"type": "tool_result", "tool_use_id": message["tool_call_id"],
                       "content": content}]  # fmt: skip
        messages.append({"role": role, "content": blocks})
    made: Body = {"model": body["model"], "system": body["messages"][0]["content"],
                  "messages": messages}  # fmt: skip
    if "tools" in body:
        made["tools"] = [
            {"name": t["function"]["name"], "description": t["function"]["description"],
             "input_schema": t["function"]["parameters"]} for t in body["tools"]
        ]  # fmt: skip
    return made


def as_responses(body: Body) -> Body:
    """OpenAI's Responses API: instructions, and items as input."""
    items: list[dict[str, Any]] = []
    for message in body["messages"][1:]:
        content = message.get("content")
        if message["role"] == "tool":
            items.append({"type": "function_call_output", "call_id": message["tool_call_id"],
                          "output": content})  # fmt: skip
            continue
        if isinstance(content, str):
            kind = "output_text" if message["role"] == "assistant" else "input_text"
            items.append({"type": "message", "role": message["role"],
                          "content": [{"type": kind, "text": content}]})  # fmt: skip
        elif isinstance(content, list):
            items.append({"type": "message", "role": message["role"], "content": content})
        for call in message.get("tool_calls", ()):
            items.append({"type": "function_call", "call_id": call["id"], **call["function"]})
    made: Body = {"model": body["model"], "instructions": body["messages"][0]["content"],
                  "input": items}  # fmt: skip
    if "tools" in body:
        made["tools"] = [{"type": "function", **t["function"]} for t in body["tools"]]
    return made


def as_text(body: Body) -> str:
    """One text, in ChatML."""
    parts = []
    if "tools" in body:
        parts.append(f"<|im_start|>tools\n{json.dumps(body['tools'])}<|im_end|>\n")
    for message in body["messages"]:
        content = message.get("content") or json.dumps(message.get("tool_calls"))
        if not isinstance(content, str):
            content = json.dumps(content)
        parts.append(f"<|im_start|>{message['role']}\n{content}<|im_end|>\n")
    return "".join(parts) + "<|im_start|>assistant\n"

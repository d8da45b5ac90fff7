"""Traces for the oracle of losses: one application, and a kind that is planted with marks around
exactly what varies, so that every byte's place in the clean prompt is known.
"""

import copy
import json
import random
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from doctor_planted import base_words
from doctor_planted.bases import Step, make_app, steps_of
from doctor_planted.carriers import prompt_of
from doctor_planted.losses import Context, Prompt, cut_prompt, marked_prompt, shuffled_prompt
from doctor_planted.marks import mark, strip
from doctor_planted.places import Spot
from doctor_planted.plain_diff import rendered
from doctor_planted.plant_forms import shuffled_arrays, shuffled_keys

SPOTS = ("system_head", "system_line", "system_mid", "system_inline", "system_tail")
LONG = ("service", "code")
SHAPES = (*LONG, "chat", "retrieval")
TAIL = "<|assistant|>\n"
KEPT = 4
"""Messages of the history that a cut leaves."""


@dataclass
class LossTrace:
    """Requests in order of time. planted: what the application of each has, as asked for."""

    prompts: list[Prompt] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    planted: list[str] = field(default_factory=list)

    def write(self, path: Path) -> Path:
        path.write_text("".join(json.dumps(row) + "\n" for row in self.rows), encoding="utf-8")
        return path


def make_loss_trace(planted: Sequence[str], seed: int) -> LossTrace:
    """An application for each of `planted`: one of VALUES, FORMS, ORDERS or CUTS; or two of VALUES
    and FORMS, with `+` between, of which the first stands further up."""
    rng = random.Random(f"{planted}:{seed}")
    requests: list[tuple[Step, str, str]] = []
    for kinds, row in zip(planted, rng.sample(base_words.APPS, len(planted)), strict=True):
        shape = rng.choice(LONG if kinds in (*ORDERS, *CUTS) else SHAPES)
        app = make_app(rng, row, shape, 7 if shape == "retrieval" else 2)
        styles = ("openai", "anthropic", "openai_blocks")
        # Blocks that move from one part of a message into another are left to the main judge.
        style = rng.choice(styles[:2] if kinds == "moved_block" else styles)
        steps = steps_of(app, rng, (4.0, 400.0), rng.choice((0.5, 30.0)))
        requests += [(step, kinds, style) for step in steps]
    requests.sort(key=lambda request: request[0].time)
    spots = {k: Spot(rng.choice(SPOTS), rng.randrange(1, 5)) for k in planted}
    trace = LossTrace()
    first_seen: dict[str, tuple[list[str], list[Any]]] = {}
    for number, (step, kinds, style) in enumerate(requests):
        id_ = f"r{number:03d}"
        prompt, body = _request(id_, kinds, step, style, spots[kinds], rng, first_seen)
        trace.prompts.append(prompt)
        trace.bodies.append(body)
        trace.planted.append(kinds)
        session = f"{step.app.name}/{step.session}"
        trace.rows.append(
            {"custom_id": id_, "model": "m", "session_id": session,
             "timestamp": step.time.isoformat(), **body}
        )  # fmt: skip
    return trace


def _request(
    id_: str,
    kinds: str,
    step: Step,
    style: str,
    at: Spot,
    rng: random.Random,
    first_seen: dict[str, tuple[list[str], list[Any]]],
) -> tuple[Prompt, dict[str, Any]]:
    context = (("model", "m"),)
    first, _, second = kinds.partition("+")
    if second:
        _plant(second, step, Spot("system_tail", 0), rng)
        at = Spot("system_head", 0)
    if first in CUTS:
        return _cut(id_, context, prompt_of(step, style), first)
    _plant(first, step, at, rng)
    body, _ = strip(prompt_of(step, style))
    if first in ORDERS:
        # The canonical form of a prompt has what was seen first of each form.
        clean = copy.deepcopy(step)
        clean.system, clean.tools = first_seen.setdefault(kinds, (step.system, step.tools))
        before = rendered(prompt_of(clean, style))
        return shuffled_prompt(id_, context, rendered(body), before), body
    return marked_prompt(id_, context, rendered(prompt_of(step, style))), body


def _plant(kind: str, step: Step, at: Spot, rng: random.Random) -> None:
    if kind in VALUES:
        at.insert(step, VALUES[kind](step, rng))
    elif kind in FORMS:
        # An edit is made once and stays; a form comes and goes.
        other = step.number >= 4 if kind == "edited_message" else step.number % 3 == 1
        at.edit(step, lambda text: FORMS[kind](text, other))
    else:
        ORDERS[kind](step, rng)


_NAMES = ("Zoë", "Bruno", "Ikumi", "Tadhg", "Esther", "Marwan", "Luís", "Pia")
"""No two begin or end alike, so that nothing of one is left in another."""

VALUES: dict[str, Callable[[Step, random.Random], str]] = {
    "clock": lambda s, r: f"Current time: {mark('clock', f'{s.time:%Y-%m-%d %H:%M:%S}')}",
    "request_id": lambda s, r: f"Request ID: {mark('request_id', _uuid(r))}",
    "counter": lambda s, r: f"Request number {mark('counter', str(s.number + 1))}.",
    "per_user_field": lambda s, r: f"User: {mark('per_user_field', _NAMES[s.session_index])}",
}
"""Label and value; the value alone is marked."""


def _uuid(rng: random.Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def _hidden(text: str, planted: bool) -> str:
    cut = text.index(max(text.split(), key=len)) + 2
    return text[:cut] + mark("hidden_characters", "\u200b" if planted else "") + text[cut:]


FORMS: dict[str, Callable[[str, bool], str]] = {
    "hidden_characters": _hidden,
    "white_space": lambda text, planted: text + mark("white_space", " " if planted else ""),
    "unicode_form": lambda text, planted: (
        f"{text} The unit is the {mark('unicode_form', chr(0x212B) if planted else 'Å')}ngström."
    ),
    "edited_message": lambda text, planted: (
        f"{text} The tone is {mark('edited_message', 'formal' if planted else 'warm')} throughout."
    ),
}
"""Text that is written in one of two ways; what differs is marked in both."""


def _tools(step: Step, rng: random.Random) -> None:
    rng.shuffle(step.tools)


def _keys(step: Step, rng: random.Random) -> None:
    step.tools = [shuffled_keys(tool, rng, 3) for tool in step.tools]


def _required(step: Step, rng: random.Random) -> None:
    step.tools = [shuffled_arrays(tool, rng, ("required",)) for tool in step.tools]


def _blocks(step: Step, rng: random.Random) -> None:
    """Paragraphs of the system prompt but the first: how they are joined stays."""
    step.system[1:] = rng.sample(step.system[1:], len(step.system) - 1)


ORDERS: dict[str, Callable[[Step, random.Random], None]] = {
    "tool_order": _tools, "key_order": _keys, "array_order": _required, "moved_block": _blocks,
}  # fmt: skip
CUTS = ("truncated_history", "compacted_history")
SUMMARY = "<summary>\nThe user was greeted, and the record was looked up.\n</summary>"


def _cut(
    id_: str, context: Context, body: dict[str, Any], kind: str
) -> tuple[Prompt, dict[str, Any]]:
    """All but the last messages dropped from the front, or given way to a summary."""
    messages = body["messages"]
    first = 1 if messages[0]["role"] == "system" else 0
    over = max(0, (len(messages) - first - KEPT) // KEPT * KEPT)
    # One summary for good: two of them would share words, and which ones were there is a choice.
    stop = first + (min(over, KEPT) if kind == "compacted_history" else over)
    while stop < len(messages) and _answers_a_call(messages[stop]):
        stop -= 1
    head = rendered({**body, "messages": messages[:first]}).removesuffix(TAIL)
    note = [{"role": "user", "content": SUMMARY}]
    note = note if stop > first and kind == "compacted_history" else []
    pieces = [(head, True, True), *((_text(message), True, False) for message in note)]
    pieces += [(_text(m), i >= stop, True) for i, m in enumerate(messages) if i >= first]
    pieces.append((TAIL, True, True))
    sent = {**body, "messages": [*messages[:first], *note, *messages[stop:]]}
    return cut_prompt(id_, context, pieces), sent


def _text(message: dict[str, Any]) -> str:
    return rendered({"messages": [message]}).removesuffix(TAIL)


def _answers_a_call(message: dict[str, Any]) -> bool:
    content = message["content"]
    blocks = content if isinstance(content, list) else []
    return message["role"] == "tool" or any(b.get("type") == "tool_result" for b in blocks)


CANONICAL = {"clock", "request_id", "hidden_characters", "white_space", "unicode_form",
             "tool_order", "key_order", "array_order"}  # fmt: skip
"""Kinds whose loss is rung 7 of `analyze`: the canonical form of a prompt knows them."""

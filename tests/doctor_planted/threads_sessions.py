"""Sessions of agents: a transcript that only grows, and the points at which a request goes out."""

import copy
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from doctor_planted.images import base64_of, picture, png
from doctor_planted.threads_words import (
    ADJ,
    ASKS,
    FIRST,
    NOUNS,
    SAYS,
    THINK,
    W,
    system_of,
    tool,
    tools_of,
)

Message = dict[str, Any]
START = datetime(2026, 4, 14, 5, 50, tzinfo=UTC)
_SPARE = (
    "calendar_lookup", "translate_text", "weather_at", "convert_units", "memory_store",
    "ask_colleague",
)  # fmt: skip


@dataclass
class Session:
    """messages: the whole transcript; cuts: its lengths when a request was sent."""

    name: str
    messages: list[Message]
    cuts: list[int]
    start: datetime
    gaps_s: list[float]
    user: str


@dataclass
class App:
    """more_tools: tools that come later. sessions_told: whether the trace names sessions."""

    name: str
    shape: str
    style: str
    system: list[str]
    tools: list[dict[str, Any]]
    more_tools: list[dict[str, Any]]
    sessions: list[Session]
    sessions_told: bool = True


@dataclass
class Step:
    """One request, not yet a body. last_user: place of the last question. extra: what a body is
    told beyond its messages. told: the session id in the trace where it is another. dialogue: a
    request of another dialogue than its session's."""

    app: App
    session: Session
    turn: int
    time: datetime
    system: list[str]
    tools: list[dict[str, Any]]
    messages: list[Message]
    last_user: int
    number: int = 0
    context: dict[str, str] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)
    told: str = ""
    dialogue: str = ""
    value: str = ""
    """A value that was planted in the instructions."""


def make_app(rng: Random, name: str, shape: str, style: str) -> App:
    w = W(Random(rng.random()))
    tools = tools_of(w, shape)
    sessions = []
    for _ in range(rng.randrange(2, 5)):
        messages, cuts = _transcript(rng, shape, tools)
        start = START + timedelta(seconds=rng.randrange(6 * 3600))
        gaps = [rng.uniform(4, 90) for _ in cuts]
        label = f"{name[:3]}-{rng.getrandbits(32):08x}"
        sessions.append(Session(label, messages, cuts, start, gaps, rng.choice(FIRST)))
    more = [tool(w, spare, f"Extra: {spare}.") for spare in _SPARE]
    return App(name, shape, style, system_of(w, name), tools, more, sessions)


def steps_of(app: App) -> list[Step]:
    """All requests of an application by time."""
    steps = []
    for session in app.sessions:
        time = session.start
        for turn, (cut, gap) in enumerate(zip(session.cuts, session.gaps_s, strict=True), 1):
            time += timedelta(seconds=round(gap, 3))
            messages = copy.deepcopy(session.messages[:cut])
            last = max(i for i, m in enumerate(messages) if m["role"] == "user")
            system, tools = list(app.system), copy.deepcopy(app.tools)
            steps.append(Step(app, session, turn, time, system, tools, messages, last))
    steps.sort(key=lambda step: step.time)
    for number, step in enumerate(steps):
        step.number = number
    return steps


def _transcript(
    rng: Random, shape: str, tools: list[dict[str, Any]]
) -> tuple[list[Message], list[int]]:
    """A reply's reasoning stands under `_thought`, which no body shows unless a form does."""
    w = W(rng)
    messages: list[Message] = []
    cuts: list[int] = []
    for _ in range(rng.randrange(3, 6) + (3 if shape == "chat" else 0)):
        more = " " + w.pick(ASKS) if rng.random() < 0.5 else ""
        messages.append({"role": "user", "content": w.pick(ASKS) + more})
        cuts.append(len(messages))
        for _ in range(0 if shape == "chat" else rng.randrange(1, 4)):
            messages += _calls(rng, w, shape, tools)
            cuts.append(len(messages))
        said, thought = w.some(SAYS, rng.randrange(1, 4)), w.some(THINK, 3)
        messages.append({"role": "assistant", "content": said, "_thought": thought})
    return messages, cuts


def _calls(rng: Random, w: W, shape: str, tools: list[dict[str, Any]]) -> list[Message]:
    """A reply with one call or two, and their results."""
    calls: list[Message] = []
    found: list[Message] = []
    for _ in range(2 if rng.random() < 0.2 else 1):
        function = rng.choice(tools)["function"]
        name = f"call_{rng.getrandbits(88):022x}"
        arguments = _arguments(rng, shape, function["parameters"]["properties"])
        called = {"name": function["name"], "arguments": json.dumps(arguments)}
        calls.append({"id": name, "type": "function", "function": called})
        content: Any = _result(w, shape)
        if shape == "browser" and rng.random() < 0.75:
            content = [{"type": "text", "text": content}, _image(rng)]
        found.append({"role": "tool", "tool_call_id": name, "content": content})
    said = w.pick(SAYS) if rng.random() < 0.5 else None
    thought = w.some(THINK, 3)
    reply = {"role": "assistant", "content": said, "tool_calls": calls, "_thought": thought}
    return [reply, *found]


def _arguments(rng: Random, shape: str, properties: dict[str, Any]) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for name, schema in list(properties.items())[: rng.randrange(2, 5)]:
        arguments[name] = {
            "string": rng.choice(NOUNS),
            "integer": rng.randrange(1, 60),
            "number": float(rng.randrange(1, 50)),
            "boolean": rng.random() < 0.5,
        }[schema["type"]]
    if shape == "code":
        arguments["path"] = f"src/{rng.choice(NOUNS[:6])}.py"
    return arguments


def _result(w: W, shape: str) -> str:
    r = w.r
    if shape == "service":
        record = {
            "id": f"{r.choice('KLMP')}-{r.randrange(1000, 9999)}",
            "state": r.choice(["open", "held", "closed"]),
            "weight": r.randrange(1, 90) + 0.5,
            "count": r.randrange(2, 99),
            "fee": float(r.randrange(3, 80)),
            "parts": r.sample(NOUNS, 4),
            "note": w.pick(SAYS),
            "owner": {"name": r.choice(ADJ), "floor": r.randrange(1, 9)},
        }
        return json.dumps(record)
    if shape == "code":
        lines = [w("def {v}_{n}({m}, level={k}):  # {a}") for _ in range(r.randrange(5, 21))]
        return "\n".join(f"{i:>4}\t{line}" for i, line in enumerate(lines, 1))
    return w("Page of the {n}: ") + w.some(SAYS, 4)


def _image(rng: Random) -> Message:
    url = "data:image/png;base64," + base64_of(png(picture(rng)))
    return {"type": "image_url", "image_url": {"url": url}}

"""Base applications and their clean dialogues: each prompt of a dialogue continues the one before.

Shapes: customer service with tools, coding agents, browser agents with pictures, plain chat,
retrieval of one turn, and the real airline agent of tau_bench.
"""

import json
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

from doctor_planted import base_words
from doctor_planted.base_tools import browser_tools, code_tools, service_tools
from doctor_planted.images import base64_of, picture, png
from doctor_planted.surface_values import FIRST, User

Message = dict[str, Any]
SHAPES = ("service", "code", "browser", "chat", "retrieval")
TAU = Path(__file__).resolve().parents[3] / "shared/data/tau_bench/airline_gpt4o_requests.jsonl"
START = datetime(2026, 3, 9, 6, 30, tzinfo=UTC)


@dataclass
class Dialogue:
    """All messages, and the lengths at which a request was sent."""

    session: str
    user: User
    messages: list[Message]
    cuts: list[int]


@dataclass
class App:
    """What all requests of an application share, and its dialogues."""

    name: str
    shape: str
    system: list[str]
    joiner: str
    tools: list[dict[str, Any]]
    dialogues: list[Dialogue]


@dataclass
class Step:
    """One request, not yet a body. owners: (kind, `tools` or `messages`, an index or None for
    all, a state): a difference there is of this kind where two requests differ in the state."""

    app: App
    session: str
    session_index: int
    user: User
    turn: int
    time: datetime
    system: list[str]
    tools: list[dict[str, Any]]
    messages: list[Message]
    number: int = 0
    owners: list[tuple[str, str, int | None, object]] = field(default_factory=list)
    context: dict[str, str] = field(default_factory=dict)
    flip: str = ""


def steps_of(app: App, rng: random.Random, gap_s: tuple[float, float], hours: float) -> list[Step]:
    """The requests of all dialogues, interleaved by time."""
    steps = []
    for index, dialogue in enumerate(app.dialogues):
        time = START + timedelta(seconds=round(rng.uniform(0, hours * 3600), 3))
        for turn, cut in enumerate(dialogue.cuts, 1):
            time += timedelta(seconds=round(rng.uniform(*gap_s), 3))
            history = json.loads(json.dumps(dialogue.messages[:cut]))
            tools = json.loads(json.dumps(app.tools))
            steps.append(
                Step(app, dialogue.session, index, dialogue.user, turn, time, list(app.system),
                     tools, history)
            )  # fmt: skip
    steps.sort(key=lambda step: step.time)
    for number, step in enumerate(steps):
        step.number = number
    return steps


class _Filler:
    """Fills the templates of base_words with an application's words and everyday figures."""

    def __init__(self, rng: random.Random, row: base_words.AppRow, words: ModuleType) -> None:
        self._rng = rng
        self.words = words
        self.name, self.what, self.things, self.place, _ = row

    def __call__(self, template: str) -> str:
        rng = self._rng
        a, b, c, d = rng.sample(self.things, 4)
        w, v = rng.sample(self.words.CODE_WORDS, 2)
        day = START + timedelta(days=rng.randrange(-400, 90))
        return template.format(
            name=self.name, what=self.what, place=self.place, a=a, b=b, c=c, d=d, w=w, v=v,
            n=rng.randrange(2, 40), m=rng.randrange(3, 60), year=rng.randrange(1998, 2026),
            num=rng.randrange(10_000, 99_999), person=rng.choice(FIRST),
            date=rng.choice((f"{day:%Y-%m-%d}", f"{day:%d %B %Y}", f"{day:%d.%m.%Y}")),
            time=f"{rng.randrange(24):02d}:{rng.randrange(60):02d}",
            ref=f"{rng.choice('KLMPR')}-{rng.randrange(1000, 9999)}",
            hex=f"{rng.getrandbits(48):012x}", uuid=f"{rng.getrandbits(128):032x}",
        )  # fmt: skip


def make_app(
    rng: random.Random,
    row: base_words.AppRow,
    shape: str,
    num_dialogues: int,
    words: ModuleType = base_words,
) -> App:
    """An application of one shape; row: of base_words.APPS, used once in a trace. words: a module
    of instructions, questions and answers."""
    fill = _Filler(rng, row, words)
    rules = {"code": words.CODE_RULES, "browser": words.BROWSE_RULES}.get(shape, words.RULES)
    count = min(rng.randrange(7, 11), len(rules))
    chosen = [fill(rule) for rule in rng.sample(rules, count)]
    opening = fill(row[4])
    at, system = 0, [opening]
    while at < len(chosen):
        width = rng.randrange(1, 4)
        system.append(" ".join(chosen[at : at + width]))
        at += width
    tools = {"service": lambda: service_tools(rng, fill.things),
             "code": lambda: code_tools(rng, fill.name),
             "browser": lambda: browser_tools(rng, fill.name)}.get(shape, list)()  # fmt: skip
    taken: set[str] = set()
    dialogues = []
    for i in range(num_dialogues):
        user = User(rng, taken)
        messages, cuts = _DIALOGUES[shape](rng, fill, tools)
        dialogues.append(Dialogue(f"{fill.name[:4].lower().strip()}-{i}", user, messages, cuts))
    return App(fill.name, shape, system, rng.choice(("\n\n", "\n")), tools, dialogues)


def tau_app(rng: random.Random, num_dialogues: int) -> App:
    """The airline agent of tau_bench, with whole sessions of it."""
    sessions: dict[str, list[dict[str, Any]]] = {}
    for line in TAU.read_text().splitlines():
        row = json.loads(line)
        sessions.setdefault(row["session_id"], []).append(row)
    chosen = rng.sample(sorted(sessions), min(num_dialogues, len(sessions)))
    last = sessions[chosen[0]][-1]
    taken: set[str] = set()
    dialogues = [
        Dialogue(name, User(rng, taken), sessions[name][-1]["messages"][1:],
                 [len(row["messages"]) - 1 for row in sessions[name]])
        for name in chosen
    ]  # fmt: skip
    system = last["messages"][0]["content"].split("\n\n")
    return App("tau_bench airline", "tau", system, "\n\n", last["tools"], dialogues)


def _service(rng: random.Random, fill: _Filler, tools: Any) -> tuple[list[Message], list[int]]:
    messages: list[Message] = []
    cuts: list[int] = []
    for _ in range(rng.randrange(2, 5)):
        messages.append({"role": "user", "content": fill(rng.choice(fill.words.QUESTIONS))})
        cuts.append(len(messages))
        for _ in range(rng.randrange(0, 3)):
            messages += _call(rng, rng.choice(tools)["function"]["name"], record(rng, fill))
            cuts.append(len(messages))
        messages.append({"role": "assistant", "content": fill(rng.choice(fill.words.ANSWERS))})
    return messages[:-1], cuts


def _code(rng: random.Random, fill: _Filler, tools: Any) -> tuple[list[Message], list[int]]:
    messages: list[Message] = [{"role": "user", "content": fill(rng.choice(fill.words.CODE_TASKS))}]
    cuts = [1]
    for _ in range(rng.randrange(4, 9)):
        name = rng.choice(tools)["function"]["name"]
        lines = [
            f"{rng.randrange(1, 400):>4}\t{fill('def {w}({v}, n={n}):')}"
            for _ in range(rng.randrange(2, 9))
        ]
        messages += _call(rng, name, None, "\n".join(lines), fill)
        cuts.append(len(messages))
        if rng.random() < 0.3:
            messages.append({"role": "assistant", "content": fill("The {w} looks right now.")})
            messages.append({"role": "user", "content": fill(rng.choice(fill.words.CODE_TASKS))})
            cuts.append(len(messages))
    return messages, cuts


def _browser(rng: random.Random, fill: _Filler, tools: Any) -> tuple[list[Message], list[int]]:
    messages: list[Message] = [{"role": "user", "content": fill(rng.choice(fill.words.QUESTIONS))}]
    cuts = [1]
    for step in range(rng.randrange(3, 7)):
        messages += _call(rng, rng.choice(tools)["function"]["name"], None, "done", fill)
        if rng.random() < 0.7:
            text = fill(f"State of the page after action {step + 1}: {{n}} elements.")
            messages.append(
                {"role": "user", "content": [{"type": "text", "text": text}, shot(rng)]}
            )
        cuts.append(len(messages))
    return messages, cuts


def _chat(rng: random.Random, fill: _Filler, tools: Any) -> tuple[list[Message], list[int]]:
    messages: list[Message] = []
    cuts: list[int] = []
    for _ in range(rng.randrange(1, 6)):
        messages.append({"role": "user", "content": fill(rng.choice(fill.words.QUESTIONS))})
        cuts.append(len(messages))
        answer = " ".join(fill(rng.choice(fill.words.ANSWERS)) for _ in range(rng.randrange(1, 4)))
        messages.append({"role": "assistant", "content": answer})
    return messages[:-1], cuts


def _retrieval(rng: random.Random, fill: _Filler, tools: Any) -> tuple[list[Message], list[int]]:
    documents = "\n\n".join(
        f"[{i}] {fill(rng.choice(fill.words.DOCUMENTS))}" for i in range(1, rng.randrange(3, 6))
    )
    question = fill(rng.choice(fill.words.QUESTIONS))
    return [{"role": "user", "content": f"Documents:\n{documents}\n\nQuestion: {question}"}], [1]


_DIALOGUES = {"service": _service, "code": _code, "browser": _browser, "chat": _chat,
              "retrieval": _retrieval}  # fmt: skip


def record(rng: random.Random, fill: _Filler) -> dict[str, Any]:
    """What a tool of a service returns: nested, with times, ids and figures of its own."""
    day = START - timedelta(days=rng.randrange(1, 300))
    return {
        "id": fill("{ref}"),
        "status": rng.choice(("open", "pending", "closed")),
        "amount": rng.randrange(2, 400) + 0.5,
        "count": rng.randrange(2, 90),
        "tags": rng.sample(("fragile", "gift", "insured", "express", "bulky", "cold"), 4),
        "updated_at": f"{day:%Y-%m-%dT%H:%M:%SZ}",
        "contact": {"name": rng.choice(FIRST), "channel": "mail", "retries": rng.randrange(1, 5)},
        "trace": fill("{uuid}"),
    }


def shot(rng: random.Random) -> Message:
    """A picture as a data URL."""
    url = f"data:image/png;base64,{base64_of(png(picture(rng)))}"
    return {"type": "image_url", "image_url": {"url": url}}


def _call(
    rng: random.Random, name: str, found: Any, text: str = "", fill: _Filler | None = None
) -> list[Message]:
    """A tool call and its result."""
    call_id = f"call_{rng.getrandbits(96):024x}"
    arguments = {"id": f"K-{rng.randrange(1000, 9999)}", "limit": rng.randrange(2, 50)}
    if fill is not None:
        arguments = {
            "pattern": fill("{w}_{v}"),
            "path": fill("src/{w}"),
            "limit": rng.randrange(2, 90),
        }
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": call_id, "type": "function", "function": function}
    told = text if found is None else json.dumps(found)
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call_id, "name": name, "content": told},
    ]

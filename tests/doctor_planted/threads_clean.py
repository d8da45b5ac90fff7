"""What happens between turns and costs nothing, or what no rule may take for a defect."""

import copy
from collections.abc import Callable
from datetime import timedelta
from random import Random

from doctor_planted.threads_sessions import App, Step
from doctor_planted.threads_words import ASKS, W

Change = Callable[[App, list[Step], Random], list[Step]]
"""Given an application's requests, those of the trace."""
_SUBS = (
    ["You are a file search specialist. You excel at thoroughly exploring a code base.",
     "Return absolute paths only. Never create files. Use as few calls as you can."],
    ["Du bist ein Rechercheur. Antworte in drei Sätzen.",
     "Nenne zu jeder Aussage die Quelle und das Jahr; was sich nicht belegen lässt, lass weg."],
    ["A reviewer reads a change and lists what is wrong with it, worst first.",
     "One line for each finding: place, fault, proposal. If there is none, say LGTM."],
)  # fmt: skip


def _after(step: Step) -> Step:
    more = copy.copy(step)
    more.messages, more.time = copy.deepcopy(step.messages), step.time + timedelta(seconds=1.5)
    more.extra, more.context = dict(step.extra), dict(step.context)
    return more


def plain(app: App, steps: list[Step], rng: Random) -> list[Step]:
    return steps


def kept_reminder(app: App, steps: list[Step], rng: Random) -> list[Step]:
    """A reminder that stays where it was put."""
    for step in steps:
        for message in step.messages:
            if message["role"] == "user":
                message["content"] += "\n\n<system-reminder>No tasks yet.</system-reminder>"
    return steps


def stamped(app: App, steps: list[Step], rng: Random) -> list[Step]:
    """Every question bears its own time, for good."""
    for step in steps:
        for i, message in enumerate(step.messages):
            if message["role"] == "user":
                head = f"[{step.session.start:%Y-%m-%d} 09:{i:02d}] "
                message["content"] = head + message["content"]
    return steps


def retried(app: App, steps: list[Step], rng: Random) -> list[Step]:
    return steps + [_after(step) for step in steps if rng.random() < 0.3]


def branched(app: App, steps: list[Step], rng: Random) -> list[Step]:
    """Another last question behind the same history."""
    w, more = W(Random(rng.random())), []
    for step in steps:
        if step.messages[-1]["role"] == "user" and rng.random() < 0.4:
            other = _after(step)
            other.messages[-1]["content"] = w.pick(ASKS)
            more.append(other)
    return steps + more


def rewound(app: App, steps: list[Step], rng: Random) -> list[Step]:
    """The user goes back: a prompt that is the beginning of an earlier one."""
    more = []
    for step in steps:
        if step.turn > 2 and rng.random() < 0.3:
            other = _after(step)
            other.messages = other.messages[: step.session.cuts[step.turn - 2]]
            more.append(other)
    return steps + more


def sub_agent(app: App, steps: list[Step], rng: Random) -> list[Step]:
    """A helper in the same session: the same tools, instructions of its own, one question."""
    w, more, system = W(Random(rng.random())), [], rng.choice(_SUBS)
    for step in steps:
        if step.turn in (2, 3):
            other = _after(step)
            other.system, other.dialogue = list(system), f"sub-{step.number}"
            other.messages = [{"role": "user", "content": "Look for this: " + w.pick(ASKS)}]
            more.append(other)
    return steps + more


def team(app: App, steps: list[Step], rng: Random) -> list[Step]:
    """Helpers that grow beside each other under one session id: the same tools, instructions of
    their own, shared by them."""
    host, system = app.sessions[0], rng.choice(_SUBS)
    for step in steps:
        step.told = host.name
        if step.session is not host:
            step.dialogue, step.system = f"sub-{step.session.name}", list(system)
    return steps


def one_id(app: App, steps: list[Step], rng: Random) -> list[Step]:
    """All dialogues of a user bear one session id."""
    for step in steps:
        step.told = f"{app.name}-user-7"
    return steps


def goes_on_elsewhere(app: App, steps: list[Step], rng: Random) -> list[Step]:
    """A session begins with the summary of the one before."""
    before = {b.name: a for a, b in zip(app.sessions, app.sessions[1:], strict=False)}
    for step in steps:
        last = before.get(step.session.name)
        if last is not None:
            asked = [m["content"][:40] for m in last.messages if m["role"] == "user"]
            text = "Continue from here. Summary of the last session: " + " ".join(asked)
            step.messages = [
                {"role": "user", "content": text},
                {"role": "assistant", "content": "Understood.", "_thought": ""},
                *step.messages,
            ]
    return steps


def told_of_changes(app: App, steps: list[Step], rng: Random) -> list[Step]:
    """What changed in the environment is appended, and stays (codex's environment_context)."""
    for step in steps:
        out = []
        for i, message in enumerate(step.messages):
            if message["role"] == "user" and i:
                where = f"<cwd>/srv/app/{i}</cwd>\n  <date>2026-04-{14 + i // 9}</date>"
                text = f"<environment_context>\n  {where}\n</environment_context>"
                out.append({"role": "user", "content": text})
            out.append(message)
        step.messages = out
    return steps


CLEAN: tuple[Change, ...] = (
    plain, kept_reminder, stamped, retried, branched, rewound, sub_agent, team, one_id,
    goes_on_elsewhere, told_of_changes,
)  # fmt: skip

"""Traces of threads: applications that each have one form of what happens between turns, some with
a value in their instructions beside it, and clean ones; mixed by time, with session ids or without.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from doctor_planted import (
    fresh_clean,
    fresh_threads_heads,
    fresh_threads_said,
    threads_cut,
    threads_cut_more,
    threads_edited,
    threads_edited_more,
    threads_reasoning,
    threads_reasoning_more,
    threads_summed,
    threads_tools,
    threads_tools_more,
    threads_written,
    threads_written_more,
)
from doctor_planted.threads_bodies import Body, body_of
from doctor_planted.threads_clean import CLEAN
from doctor_planted.threads_forms import CHAT, FORMS, Form
from doctor_planted.threads_sessions import START, App, Step, make_app, steps_of
from doctor_planted.threads_words import APPS

MODULES = (
    threads_cut, threads_cut_more, threads_edited, threads_edited_more, threads_reasoning,
    threads_reasoning_more, threads_summed, threads_tools, threads_tools_more, threads_written,
    threads_written_more, fresh_threads_heads, fresh_threads_said,
)  # fmt: skip
"""Importing them registers their forms."""
CLEAN_CHANGES = tuple(dict.fromkeys((*CLEAN, *fresh_clean.CLEAN)))
CLEAN_APPS = 4
NUM_FORMS = 12
CITIES = ("Turin", "Bergen", "Leiden", "Graz", "Porto")


@dataclass(eq=False)
class Sent:
    """One request of a trace. form: None of a clean application. value_kind: of what stands in the
    instructions beside it, at value_span (path, first and last character)."""

    step: Step
    body: Body
    form: Form | None
    value_kind: str
    value_span: tuple[str, int, int] | None
    id: str = ""

    @property
    def dialogue(self) -> tuple[str, str]:
        return self.step.app.name, self.step.dialogue or self.step.session.name

    @property
    def is_helper(self) -> bool:
        return self.step.dialogue.startswith("sub")


def make_traces(seed: int, only: tuple[str, ...] = ()) -> list[tuple[list[Sent], list[str]]]:
    """Per trace its requests by time, and its lines. Each form stands once in all traces."""
    rng = Random(f"threads{seed}")
    forms = [FORMS[name] for name in only] if only else list(FORMS.values())
    rng.shuffle(forms)
    traces = []
    for number, at in enumerate(range(0, len(forms), NUM_FORMS)):
        own = Random(f"{seed}:{number}")
        traces.append(_trace(own, forms[at : at + NUM_FORMS], in_rows=number % 4 == 3))
    return traces


def _trace(rng: Random, forms: list[Form], in_rows: bool) -> tuple[list[Sent], list[str]]:
    sent: list[Sent] = []
    rows = rng.sample(APPS, min(len(forms) + CLEAN_APPS, len(APPS)))
    for i, (name, shape) in enumerate(rows):
        if i >= len(forms):
            styles = ("rows",) if in_rows else (*_bodies(CHAT), "flat_llama", "flat_gemma")
            app = make_app(Random(rng.random()), name, shape, rng.choice(styles))
            app.sessions_told = rng.random() < 0.7
            steps = rng.choice(CLEAN_CHANGES)(app, steps_of(app), rng)
            sent += [Sent(step, body_of(step), None, "", None) for step in steps]
            continue
        form = forms[i]
        style = _style(rng, form, in_rows)
        if style:
            app = make_app(Random(rng.random()), name, rng.choice(form.shapes), style)
            app.sessions_told = form.needs_session or rng.random() < 0.7
            sent += planted_in(app, form, rng)
    sent.sort(key=lambda request: request.step.time)
    for rank, request in enumerate(sent):
        request.id = f"r{rank:04d}"
    timed = rng.random() < 0.8
    return sent, [json.dumps(row_of(request, in_rows, timed)) for request in sent]


def _bodies(styles: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(style for style in styles if style != "rows")


def _style(rng: Random, form: Form, in_rows: bool) -> str:
    """ "" where the trace has no body that can carry the form."""
    rows = tuple(s for s in form.styles if s == "rows" or s.startswith("flat_"))
    fitting = rows if in_rows else _bodies(form.styles)
    return rng.choice(fitting) if fitting else ""


def planted_in(app: App, form: Form, rng: Random) -> list[Sent]:
    """The requests of an application with a form, some with a value beside it."""
    steps = steps_of(app)
    plant = form.make(app, Random(rng.random()))
    for step in steps:
        plant(step)
    kind = ""
    if form.scope == "said" and not app.style.startswith("flat") and rng.random() < 0.3:
        kind, write = _value(Random(rng.random()))
        for step in steps:
            step.value = write(step)
            at = len(app.name) % len(step.system)
            step.system[at] = f"{step.value}\n{step.system[at]}"
    sent = []
    for step in steps:
        body = body_of(step)
        sent.append(Sent(step, body, form, kind, _span(body, step.value)))
    return sent


def _value(rng: Random) -> tuple[str, Callable[[Step], str]]:
    """A value defect of the instructions: its kind, and its text in a request."""
    seed = rng.getrandbits(32)

    def uuid(step: Step) -> str:
        digits = f"{Random(f'{seed}{step.number}').getrandbits(128):032x}"
        parts = digits[:8], digits[8:12], "4" + digits[13:16], "a" + digits[17:20], digits[20:]
        return "-".join(parts)

    def user(step: Step) -> str:
        return f"{step.session.user}{step.session.name[-3:]}"

    forms: tuple[tuple[str, Callable[[Step], str]], ...] = (
        ("clock", lambda s: f"Current time: {s.time:%Y-%m-%d %H:%M:%S} UTC"),
        ("clock", lambda s: f"Today's date is {s.time:%A, %d %B %Y}, {s.time:%H:%M:%S}."),
        ("request_id", lambda s: f"Trace: {uuid(s)}"),
        ("request_id", lambda s: f'<request id="{uuid(s)}"/>'),
        ("counter", lambda s: f"Turn {s.number + 1} of this shift"),
        ("counter", lambda s: f"Calls so far: {s.number + 1}"),
        ("per_user_field", lambda s: f"User: {user(s)}, {CITIES[sum(map(ord, user(s))) % 5]}"),
        ("per_user_field", lambda s: f"You are talking to {user(s)} ({user(s)}@example.org)."),
    )
    return rng.choice(forms)


def _span(body: Body, text: str) -> tuple[str, int, int] | None:
    """Where a text that stands once in a body stands."""
    found: list[tuple[str, int, int]] = []

    def walk(value: Any, path: str) -> None:
        if isinstance(value, str):
            at = value.find(text)
            if at >= 0:
                found.append((path, at, at + len(text)))
        elif isinstance(value, dict):
            for key, part in value.items():
                walk(part, f"{path}.{key}" if path else key)
        elif isinstance(value, list):
            for i, part in enumerate(value):
                walk(part, f"{path}[{i}]")

    if text:
        walk(body, "")
    return found[0] if found else None


def row_of(request: Sent, in_rows: bool, timed: bool) -> dict[str, Any]:
    """The request as it stands in the file: a body, or a row of hitpath's own."""
    step, context = request.step, dict(request.step.context)
    session = step.told or step.session.name
    if in_rows:
        row: dict[str, Any] = {"id": request.id, **request.body}
        row["arrival_s"] = (step.time - START).total_seconds()
        row |= {"model": context.pop("model")} if "model" in context else {}
        row |= {"session": session} if step.app.sessions_told else {}
        return row | ({"context": context} if context else {})
    row = {"model": context.get("model", "m-large"), **request.body, "custom_id": request.id}
    row |= {"cache_salt": context["salt"]} if "salt" in context else {}
    row |= {"session_id": session} if step.app.sessions_told else {}
    return row | ({"timestamp": step.time.isoformat()} if timed else {})

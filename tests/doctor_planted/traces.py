"""Whole traces: several applications with planted kinds and clean ones beside them, mixed by time,
some without session ids.
"""

import json
import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from doctor_planted import base_words, places
from doctor_planted import plant_forms as forms
from doctor_planted import plant_history as history
from doctor_planted import plant_order as order
from doctor_planted import plant_values as values
from doctor_planted.bases import SHAPES, START, TAU, App, Step, make_app, steps_of, tau_app
from doctor_planted.carriers import RESPONSES, STYLES
from doctor_planted.form_sets import SETS, FormSet
from doctor_planted.hard_negatives import extra_steps, stamp, vary
from doctor_planted.own_planters import Own
from doctor_planted.truth import Planted, planted

PLANTERS: dict[str, Callable[..., Any]] = {
    "white_space": forms.plant_white_space,
    "hidden_characters": forms.plant_hidden,
    "unicode_form": forms.plant_unicode,
    "number_format": forms.plant_number,
    "key_order": order.plant_key_order,
    "array_order": order.plant_array_order,
    "edited_message": history.plant_edited,
    "template_flip": history.plant_template_flip,
    "image_encoding": history.plant_image,
    "clock": values.plant_clock,
    "request_id": values.plant_request_id,
    "counter": values.plant_counter,
    "random_sample": values.plant_sample,
    "per_user_field": values.plant_user,
    "moved_block": history.plant_moved,
    "truncated_history": history.plant_truncated,
    "compacted_history": history.plant_compacted,
    "tool_order": order.plant_tool_order,
    "tool_set": history.plant_tool_set,
    "context_changed": history.plant_context,
    "attribution": values.plant_attribution,
}
"""In the order in which a pair is planted: what edits text before what is put around it."""
_IN_TOOLS = {"tool_order", "tool_set"}
_IN_HISTORY = {"truncated_history", "compacted_history", "template_flip", "image_encoding",
               "edited_message"}  # fmt: skip
_MAY_TOUCH_TOOLS = {"key_order", "array_order", "number_format"}
_SHAPES_OF = {
    "tool_order": ("service", "service", "code", "browser"),
    "tool_set": ("service", "service", "code", "browser"),
    "truncated_history": ("service", "code", "browser"),
    "compacted_history": ("service", "code", "browser"),
    "template_flip": ("service", "chat"),
    "image_encoding": ("browser",),
    "context_changed": ("service", "code", "browser", "chat"),
}
_IN_FLAT_TEXT = {"clock", "request_id", "counter", "random_sample", "per_user_field", "attribution",
                 "white_space", "hidden_characters", "unicode_form", "moved_block"}  # fmt: skip
_LOW = ("system_head", "system_line", "system_mid", "system_inline")
_HIGH = ("system_tail", "tool_description", "first_user", "history")


@dataclass
class MixedTrace:
    """rows: as they go into the file. behind: (application, kind) planted behind another defect."""

    rows: list[dict[str, Any]]
    requests: list[Planted]
    planted_kinds: dict[str, tuple[str, ...]]
    behind: dict[tuple[str, str], list[Planted]] = field(default_factory=dict)

    def write(self, path: Path) -> Path:
        path.write_text("".join(json.dumps(row) + "\n" for row in self.rows), encoding="utf-8")
        return path


def may_pair(a: str, b: str) -> bool:
    """Whether the two can stand in one prompt without hiding who caused what."""
    if a == b or {a, b} <= _IN_TOOLS | _MAY_TOUCH_TOOLS or {a, b} <= _IN_HISTORY:
        return False
    return not ("context_changed" in (a, b) or {a, b} <= {"attribution", "moved_block"})


def make_trace(
    seed: int, kind: str, num_apps: int = 8, forms: str = "usual", clean: int = 2
) -> MixedTrace:
    """Applications with the kind (of several with `+` between them: in turn), alone or as one of
    a pair, and clean ones beside them. A kind that is none of PLANTERS: only clean ones. forms:
    a name of form_sets.SETS."""
    wanted = [name for name in kind.split("+") if name in PLANTERS]
    chosen = SETS[forms]
    rng = random.Random(f"{seed}:{kind}:{chosen.label}")
    rows = rng.sample(base_words.APPS, num_apps)
    in_rows = rng.random() < 0.25
    requests: list[tuple[Step, Planted]] = []
    trace = MixedTrace([], [], {})
    real = rng.random() < 0.5 and TAU.exists()
    for i, row in enumerate(rows):
        kinds: tuple[str, ...] = ()
        if i >= clean and wanted:
            kinds = _with_another(rng, wanted[i % len(wanted)])
        app = _app(rng, row, kinds, real and i == num_apps - 1, chosen)
        style = _style(rng, app, kinds, in_rows)
        if chosen.frames:
            style = _unseen(style, app, kinds, row[0] + str(seed), chosen)
            style = "openai" if style == RESPONSES and (in_rows or app.tools) else style
        sessions = rng.random() < 0.75
        plants = _seeded_plants(rng, app, kinds, chosen, in_rows, style)
        times = rng.getrandbits(32)
        steps = _planted_steps(app, times, plants)
        if not kinds and app.shape != "tau":
            stamp(steps)
            steps = extra_steps(steps, rng, [QUESTION.format(n) for n in rng.sample(range(99), 9)])
        for step in steps:
            request = planted(step, style)
            request.session = step.session if sessions else None
            if not kinds and not in_rows:
                request.body = vary(request.body, rng)
            requests.append((step, request))
        trace.planted_kinds[app.name] = kinds
        if len(kinds) == 2:
            for recipe in plants:
                alone = [planted(step, style) for step in _planted_steps(app, times, [recipe])]
                for rank, request in enumerate(alone):
                    request.rank = rank
                trace.behind[app.name, recipe[0]] = alone
    _share_sessions(requests, trace.planted_kinds, rng)
    _lay_out(trace, requests, rng, in_rows)
    return trace


def make_real_trace(seed: int, kind: str, num_sessions: int = 8) -> MixedTrace:
    """Whole sessions of the real agent, with a kind planted in them."""
    rng = random.Random(f"real:{seed}:{kind}")
    app = tau_app(rng, num_sessions)
    plants = _seeded_plants(rng, app, (kind,), SETS["usual"], False, "openai")
    trace = MixedTrace([], [], {app.name: (kind,)})
    requests = []
    for step in _planted_steps(app, rng.getrandbits(32), plants):
        request = planted(step, "openai")
        request.session = step.session
        requests.append((step, request))
    _lay_out(trace, requests, rng, False)
    return trace


QUESTION = "One more thing: what about case {}, should I wait for the letter of 3 May 2026?"


def _share_sessions(
    requests: list[tuple[Step, Planted]], kinds: dict[str, tuple[str, ...]], rng: random.Random
) -> None:
    """A second agent of a session, as the one that writes titles: its system prompt and tools are
    its own, its session ids are those of another application."""
    if rng.random() < 0.5:
        return
    helper = next(name for name, planted_here in kinds.items() if not planted_here)
    hosts = sorted({r.session for _, r in requests if r.app != helper and r.session is not None})
    for _, request in requests:
        if request.app == helper and hosts and request.session is not None:
            request.session = hosts[_number_of(request.session) % len(hosts)]


def _number_of(text: str) -> int:
    """The same on every machine."""
    return zlib.crc32(text.encode())


def _with_another(rng: random.Random, kind: str) -> tuple[str, ...]:
    others = [other for other in PLANTERS if may_pair(kind, other)]
    if rng.random() < 0.7 or not others:
        return (kind,)
    return tuple(sorted((kind, rng.choice(others)), key=_rank))


def _style(rng: random.Random, app: App, kinds: tuple[str, ...], in_rows: bool) -> str:
    """A form that can carry the application and what is planted."""
    if "template_flip" in kinds and app.shape == "chat":
        return "flat"
    if app.shape in ("chat", "retrieval") and set(kinds) <= _IN_FLAT_TEXT and rng.random() < 0.3:
        return "flat"
    return "openai" if in_rows else rng.choice(STYLES)


def _unseen(style: str, app: App, kinds: tuple[str, ...], seed: str, chosen: FormSet) -> str:
    """Half of what can be written in another frame is."""
    own = random.Random(seed)
    if own.random() < 0.5 or "template_flip" in kinds:
        return style
    if style == "flat":
        return own.choice(chosen.frames)
    return own.choice(chosen.bodies) if style.startswith("openai") else style


def _rank(kind: str) -> int:
    return list(PLANTERS).index(kind)


def _app(rng: random.Random, row: Any, kinds: tuple[str, ...], real: bool, chosen: FormSet) -> App:
    shapes: tuple[str, ...] = SHAPES
    for kind in kinds:
        fitting = tuple(s for s in shapes if s in _SHAPES_OF.get(kind, SHAPES))
        shapes = fitting or _SHAPES_OF[kind]
    shape = rng.choice(shapes)
    if real and "service" in shapes:
        return tau_app(rng, 3)
    num_dialogues = 12 if shape == "retrieval" else rng.randrange(3, 6)
    return make_app(rng, row, shape, num_dialogues, chosen.words)


def _seeded_plants(
    rng: random.Random, app: App, kinds: tuple[str, ...], chosen: FormSet, in_rows: bool,
    style: str,
) -> list[tuple[str, int, tuple[str, ...], tuple[Any, ...], int]]:  # fmt: skip
    """What makes each planter again: its kind, seed, places, further forms, number of requests."""
    num = sum(len(dialogue.cuts) for dialogue in app.dialogues)
    recipes = []
    for i, kind in enumerate(kinds):
        where: tuple[str, ...] = places.ALL if len(kinds) == 1 else (_LOW, _HIGH)[i]
        where += chosen.places if len(kinds) == 1 else ()
        if style.startswith("flat"):
            where = tuple(n for n in where if n.startswith("system"))
        if len(kinds) == 2:
            other = kinds[1 - i]
            if other in _IN_TOOLS | _MAY_TOUCH_TOOLS:
                where = tuple(n for n in where if n != "tool_description")
            if other in _IN_HISTORY:
                where = tuple(n for n in where if n not in ("first_user", "history"))
        more = chosen.forms.get(kind, ())
        if kind == "context_changed":
            more = _contexts(in_rows, more)
        recipes.append((kind, rng.getrandbits(32), where, tuple(more), num))
    return recipes


def _contexts(in_rows: bool, more: tuple[Any, ...]) -> tuple[Any, ...]:
    """Bodies carry the model and the salt; rows of hitpath's own everything."""
    if in_rows:
        return more
    return tuple(f for f in more or history.CONTEXTS if f[0] in ("model", "salt"))


def _planted_steps(app: App, times: int, recipes: list[Any]) -> list[Step]:
    rng = random.Random(times)
    gap = rng.choice(((4.0, 40.0), (20.0, 400.0), (61.0, 1500.0)))
    steps = steps_of(app, rng, gap, rng.choice((0.5, 6.0, 30.0)))
    for kind, seed, where, more, num in recipes:
        plant = _planter(kind, places.Site(random.Random(seed), app, num, where, more))
        for step in steps:
            plant(step)
    return steps


def _planter(kind: str, site: places.Site) -> Callable[[Step], None]:
    """A form that plants by itself, or the kind's usual planter with the other forms."""
    own = [f for f in site.more if isinstance(f, Own)]
    fitting = [f for f in own if not f.shapes or site.app.shape in f.shapes]
    rest = tuple(f for f in site.more if not isinstance(f, Own))
    if fitting and site.rng.randrange(len(fitting) + len(rest)) < len(fitting):
        return site.rng.choice(fitting).plant(site)
    plant: Callable[[Step], None] = PLANTERS[kind](site._replace(more=rest))
    return plant


def _lay_out(
    trace: MixedTrace, requests: list[tuple[Step, Planted]], rng: random.Random, in_rows: bool
) -> None:
    """All requests by time, with their ids, as rows of one form."""
    requests.sort(key=lambda pair: pair[0].time)
    named, timed = rng.random() < 0.7, rng.random() < 0.8
    for rank, (step, request) in enumerate(requests):
        request.rank = rank
        request.id = f"req-{rank:04d}" if named or in_rows else str(rank)
        request.time_s = (step.time - START).total_seconds()
        trace.requests.append(request)
        if in_rows:
            trace.rows.append(_own_row(request))
        else:
            trace.rows.append(_body_row(request, step, named, timed))


def _own_row(request: Planted) -> dict[str, Any]:
    row = {"id": request.id, "arrival_s": request.time_s, **request.body}
    context = dict(request.context)
    if "model" in context:
        row["model"] = context.pop("model")
    if request.session is not None:
        row["session"] = request.session
    if context:
        row["context"] = context
    return row


def _body_row(request: Planted, step: Step, named: bool, timed: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"model": request.context.get("model", "gpt-4o"), **request.body}
    if "salt" in request.context:
        row["cache_salt"] = request.context["salt"]
    if request.session is not None:
        row["session_id"] = request.session
    if timed:
        row["timestamp"] = step.time.isoformat()
    if named:
        row["custom_id"] = request.id
    return row

"""What is true of two requests of a thread: where their bodies part is told by the plain diff, who
planted there by the form, by docs/doctor.md's definitions where several names are right.
"""

import json
from dataclasses import dataclass
from typing import Any

from doctor_planted.judging import is_exact
from doctor_planted.plain_diff import Place, first_difference, holds, said, steps, value_at
from doctor_planted.threads_forms import Form
from doctor_planted.threads_traces import Sent
from doctor_planted.truth import NONE, Planted, Truth

NEAR = 2
"""Characters that join a planted value to what stands around it."""
_MESSAGES = {"truncated_history", "compacted_history", "template_flip", "moved_block",
             "edited_message"}  # fmt: skip


def truth_of(new: Sent, old: Sent) -> Truth:
    """What the first difference of a request from an earlier one of its application is."""
    place = first_difference(old.body, new.body)
    same = new.dialogue == old.dialogue
    if new.is_helper != old.is_helper:
        return Truth(NONE, frozenset({NONE}), place, False)
    contexts = new.step.context, old.step.context
    if contexts[0] != contexts[1]:
        names = sorted(k for k in {*contexts[0], *contexts[1]}
                       if contexts[0].get(k) != contexts[1].get(k))  # fmt: skip
        accepted = {"context_changed"} | (set() if same else {NONE})
        if not same and place is not None and not place.ends:
            accepted |= _by_text(new, old, place, same).accepted
        return Truth("context_changed", frozenset(accepted), Place(names[0], 0), same)
    if place is None or place.ends:
        return Truth(NONE, frozenset({NONE}), place, False)
    return _by_text(new, old, place, same)


def _by_text(new: Sent, old: Sent, place: Place, same: bool) -> Truth:
    form = new.form
    if _at_value(new, place) or _at_value(old, place):
        return Truth(new.value_kind, frozenset({new.value_kind}), place)
    if form is None:
        # A branch: the old question is history under another name, which is no fault to say.
        # Without session ids one that begins with the summary of another is a compacted one.
        other = set() if new.step.app.sessions_told else {"compacted_history"}
        accepted = {NONE, *(("edited_message",) if same else other)}
        return Truth(NONE, frozenset(accepted), place, False)
    if place.path == "prompt":
        return _of_text(new, form, place, same)
    if form.scope in ("system", "tools", "both"):
        in_head = _in_instructions(new, place)
        if in_head or same:
            # A summary of one session in its instructions differs between sessions as a user does.
            others = {"per_user_field", "random_sample"} if form.scope == "both" else set()
            accepted = {*form.kinds, *(others if not same else ())}
            return Truth(form.kinds[0], frozenset(accepted), place, same or not others)
    if not same:
        return Truth(NONE, frozenset({NONE, *form.kinds}), place, False)
    counts = not _is_last(new, place) and _goes_on(new, old)
    return Truth(
        form.kinds[0], frozenset({*form.kinds, *(() if counts else (NONE,))}), place, counts
    )


def _of_text(new: Sent, form: Form, place: Place, same: bool) -> Truth:
    """In one text only what stands among the tools differs between dialogues."""
    text = new.body["prompt"]
    in_tools = text.find("<tools>") < place.offset < text.find("</tools>")
    if same if form.scope != "flat" else in_tools:
        return Truth(form.kinds[0], frozenset(form.kinds), place)
    return Truth(NONE, frozenset({NONE, *(form.kinds if same else ())}), place, False)


def _at_value(request: Sent, place: Place) -> bool:
    if request.value_span is None:
        return False
    path, start, end = request.value_span
    return path == place.path and start - NEAR <= place.offset <= end + NEAR


def _in_instructions(request: Sent, place: Place) -> bool:
    if place.path.startswith(("system", "instructions", "tools")):
        return True
    return "system" not in request.body and place.path.startswith("messages[0]")


def _is_last(request: Sent, place: Place) -> bool:
    last = len(said(request.body)) - 1
    return any(holds(f"{name}[{last}]", place.path) for name in ("messages", "input"))


def _goes_on(new: Sent, old: Sent) -> bool:
    """Without session ids a request goes on from the one whose last message stands in its history,
    known by the id of its call, else by its words (docs): else both answers are right."""
    if new.step.app.sessions_told:
        return True
    last = said(old.body)[-1]
    name = last.get("tool_call_id") or last.get("call_id")
    if name:
        return any(name in (m.get("tool_call_id"), m.get("call_id")) and m.get("type") !=
                   "function_call" for m in said(new.body))  # fmt: skip
    return json.dumps(last, sort_keys=True) in {
        json.dumps(message, sort_keys=True) for message in said(new.body)
    }


def placed_right(new: Sent, old: Sent, row: dict[str, Any], kind: str, true: Truth) -> bool:
    """Whether a row's path and offset are those of the first difference. Where a message gave way
    to another one, its path tells which, and offset 0; the one block of a content is its text."""
    place, path = true.place, row.get("json_path")
    if place is None or path is None:
        return False
    named = Truth(kind, true.accepted, place, true.counts)
    if is_exact(as_planted(new), as_planted(old), row, named):
        return True
    there, here = steps(place.path), steps(str(path))
    offset = row["char_offset"]
    if place.path.endswith(".role") or (len(there) == 2 and kind in _MESSAGES):
        return here[:2] == there[:2] and offset == 0
    if there[: len(here)] == here and (kind == "image_encoding" or there[-1] == "type"):
        # The block that holds them is as right as its type or its source.
        return bool(offset <= len('{"type": "'))
    if there[-1] == "tool_calls" and here == [*there[:-1], "content"]:
        return True
    if there[-1] == "content" and here == [*there, "0", "text"]:
        return bool(offset == place.offset)
    if kind in _MESSAGES and here[:2] == there[:2] and offset == 0:
        kinds = [type((value_at(r.body, f"{there[0]}[{there[1]}]") or {}).get("content"))
                 for r in (new, old)]  # fmt: skip
        gone = kind in ("truncated_history", "compacted_history", "moved_block")
        return gone or place.offset == 0 or kinds[0] is not kinds[1]
    return False


def as_planted(request: Sent) -> Planted:
    planted = Planted(
        request.step.app.name, str(request.dialogue), request.body, [], [], request.step.context
    )
    planted.id = request.id
    return planted


@dataclass(frozen=True)
class Second:
    """Behind a value in the instructions: whether the form's own defect must be told, and what
    may be."""

    is_due: bool
    allowed: frozenset[str]


def second_of(new: Sent, old: Sent, true: Truth) -> Second | None:
    form = new.form
    if form is None or not new.value_kind or new.dialogue != old.dialogue:
        return None
    allowed = frozenset({*form.kinds, new.value_kind})
    bodies: list[dict[str, Any]] = []
    for request in (old, new):
        name = next(n for n in ("messages", "input") if n in request.body)
        heads = 1 if name == "messages" and "system" not in request.body else 0
        bodies.append({name: request.body[name][heads:]})
    place = first_difference(bodies[0], bodies[1])
    is_due = true.kind == new.value_kind and place is not None and not place.ends
    if is_due and place is not None:
        last = len(said(bodies[1])) - 1
        is_due = not any(holds(f"{n}[{last}]", place.path) for n in ("messages", "input"))
    return Second(is_due and _goes_on(new, old), allowed)

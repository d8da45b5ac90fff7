"""What is true of two requests: the plain diff says where they first differ, marks and owners say
who put the difference there.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from doctor_planted import plain_diff
from doctor_planted.bases import Step
from doctor_planted.carriers import num_before, prompt_of
from doctor_planted.marks import Span, strip
from doctor_planted.plain_diff import Place, common, holds, value_at

NONE = ""
"""The kind of a difference that is no defect: new content, or none at all."""
GLUE = 2
"""Characters that join planted text to what stands around it (line ends, a bracket)."""
SHARED_BEHIND = 100
"""Characters that must be shared behind planted text in the last message, for it to cost."""


@dataclass(frozen=True)
class Owner:
    """A difference at `path` is of these kinds where the states differ."""

    kinds: tuple[str, ...]
    path: str
    state: object


@dataclass
class Planted:
    """One request as it stands in the trace, with what is known of it."""

    app: str
    dialogue: str
    body: dict[str, Any]
    spans: list[Span]
    owners: list[Owner]
    context: dict[str, str]
    time_s: float = 0.0
    id: str = ""
    session: str | None = None
    rank: int = 0
    tokens: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Truth:
    """kind: NONE where there is no defect. accepted: names that are right. counts: whether a
    missed one is a fault (at the last message, or between dialogues, both answers are right)."""

    kind: str
    accepted: frozenset[str]
    place: Place | None
    counts: bool = True


def planted(step: Step, style: str) -> Planted:
    body, spans = strip(prompt_of(step, style))
    before = num_before(style)
    owners = []
    for kinds, name, index, state in step.owners:
        shift = before if name == "messages" else 0
        path = name if index is None else f"{name}[{index + shift}]"
        owners.append(Owner(tuple(kinds.split("/")), path, state))
    context = {key: value for key, value in step.context.items() if value}
    return Planted(step.app.name, f"{step.app.name}/{step.session}", body, spans, owners, context)


def truth_of(new: Planted, old: Planted) -> Truth:
    """What the first difference of a request from an earlier one is."""
    place = plain_diff.first_difference(old.body, new.body)
    same_dialogue = new.dialogue == old.dialogue
    if new.context != old.context:
        names = sorted(k for k in {*new.context, *old.context}
                       if new.context.get(k) != old.context.get(k))  # fmt: skip
        accepted = {"context_changed"} | ({NONE} if not same_dialogue else set())
        if not same_dialogue and place is not None:
            accepted |= _by_text(new, old, place).accepted
        return Truth("context_changed", frozenset(accepted), Place(names[0], 0), same_dialogue)
    if place is None or place.ends:
        return Truth(NONE, frozenset({NONE}), place)
    return _by_text(new, old, place)


def _by_text(new: Planted, old: Planted, place: Place) -> Truth:
    in_dialogue = place.path.startswith("messages") and not place.path.startswith("messages[0]")
    in_dialogue |= place.path.startswith("messages[0]") and "system" in new.body
    across = in_dialogue and new.dialogue != old.dialogue
    kinds = _span_at(new.spans, place) or _span_at(old.spans, place)
    kinds = kinds or _owner_at(new, old, place)
    if not kinds:
        end = len(old.body.get("messages", ())) - 1
        # After a branch (another last question) the old question is history under another name.
        branched = new.dialogue == old.dialogue and holds(f"messages[{end}]", place.path)
        edited = {"edited_message"} if branched else set()
        if across:
            # Two dialogues whose histories were both rewritten: no fault to say so.
            edited |= {k for o in new.owners if o.path.startswith("messages") for k in o.kinds}
        return Truth(NONE, frozenset({NONE, *edited}), place)
    if place.path == "prompt" and kinds[0] == "template_flip":
        across = new.dialogue != old.dialogue  # their questions differ behind it
    last = len(new.body.get("messages", ())) - 1
    at_last = holds(f"messages[{last}]", place.path) and last > 0
    idle = across or (at_last and _shared_behind(new, old, place) < SHARED_BEHIND)
    accepted = frozenset({*kinds, NONE} if idle else kinds)
    return Truth(kinds[0], accepted, place, not idle)


def _span_at(spans: Iterable[Span], place: Place) -> tuple[str, ...]:
    for span in spans:
        if span.path == place.path and span.start - GLUE <= place.offset <= span.end + GLUE:
            return span.kinds
    return ()


def _owner_at(new: Planted, old: Planted, place: Place) -> tuple[str, ...]:
    other = {(owner.kinds, owner.path): owner.state for owner in old.owners}
    for owner in new.owners:
        known = other.get((owner.kinds, owner.path), owner.state)
        if holds(owner.path, place.path) and known != owner.state:
            return owner.kinds
    return ()


def _shared_behind(new: Planted, old: Planted, place: Place) -> int:
    """Characters that both share from the difference on, once all planted text is taken out."""
    texts, start = [], place.offset
    for side in (new, old):
        text = value_at(side.body, place.path)
        if not isinstance(text, str):
            return 0
        for span in sorted(side.spans, key=lambda s: -s.start):
            if span.path == place.path:
                text = text[: span.start] + text[span.end :]
                start = min(start, span.start)
        texts.append(text)
    return common(*texts) - start

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

STAMPS = {"clock", "request_id", "counter"}
"""What a cure moves to the end of the last message."""


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
    before: int = 1
    """Messages of the body before the first of the dialogue."""
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
    dialogue = f"{step.app.name}/{step.session}"
    return Planted(step.app.name, dialogue, body, spans, owners, context, before=before)


def in_dialogue(request: Planted, path: str) -> bool:
    """Whether the place is in what was said, not in the instructions."""
    first = [f"messages[{i}]" for i in range(request.before)]
    return path.startswith(plain_diff.SAID) and not any(holds(message, path) for message in first)


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
    across = in_dialogue(new, place.path) and new.dialogue != old.dialogue
    kinds = _planted_at(new, old, place) or _owner_at(new, old, place)
    if not kinds:
        # After a branch (another last question) the old question is history under another name.
        branched = new.dialogue == old.dialogue and _is_last(old, place)
        edited = {"edited_message"} if branched else set()
        if across:
            # Two dialogues whose histories were both rewritten: no fault to say so.
            edited |= {k for o in new.owners if o.path.startswith("messages") for k in o.kinds}
        return Truth(NONE, frozenset({NONE, *edited}), place)
    if place.path == "prompt" and kinds[0] == "template_flip":
        across = new.dialogue != old.dialogue  # their questions differ behind it
    both = _swapped(new, old, place)
    at_last = _in_last(new, place)
    if kinds[0] in STAMPS and not _span_at(new.spans, place):
        # It stood in the earlier request's last message, where the cure would put it, and went.
        at_last |= _in_last(old, place)
    idle = across or (at_last and _shared_behind(new, old, place) < SHARED_BEHIND)
    accepted = {*kinds, *both, NONE} if idle else {*kinds, *both}
    if kinds[0] == "random_sample" and _is_shuffled(new, old, place):
        # The same samples drawn in another order: what the two prompts show is a move.
        accepted |= {"moved_block", "array_order"}
    return Truth(kinds[0], frozenset(accepted), place, not idle)


def _planted_at(new: Planted, old: Planted, place: Place) -> tuple[str, ...]:
    """Where each side has something else planted there, it is what the other side has not at all:
    a line in front of the settings, and the settings without it (which then may stand in another
    block)."""
    here, there = _span_at(new.spans, place), _span_at(old.spans, place)
    if here and there and here != there and not _has(old, here):
        return here
    return there if there and not _has(new, there) else here or there


def _swapped(new: Planted, old: Planted, place: Place) -> set[str]:
    """A line gone and another come at one place: the names of both are right."""
    here, there = _span_at(new.spans, place), _span_at(old.spans, place)
    alone = here and there and not _has(old, here) and not _has(new, there)
    return {*here, *there} if alone else set()


def _has(request: Planted, kinds: tuple[str, ...]) -> bool:
    return any(span.kinds == kinds for span in request.spans)


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


def _in_last(request: Planted, place: Place) -> bool:
    return len(plain_diff.said(request.body)) > 1 and _is_last(request, place)


def _is_last(request: Planted, place: Place) -> bool:
    last = len(plain_diff.said(request.body)) - 1
    return any(holds(f"{name}[{last}]", place.path) for name in plain_diff.SAID)


def _is_shuffled(new: Planted, old: Planted, place: Place) -> bool:
    texts = []
    for side in (new, old):
        text = str(value_at(side.body, place.path))
        spans = [s for s in side.spans if s.path == place.path and s.kinds[0] == "random_sample"]
        texts.append(sorted("".join(text[span.start : span.end] for span in spans)))
    return texts[0] == texts[1]


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

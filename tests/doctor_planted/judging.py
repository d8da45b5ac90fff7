"""The scorer: precision and recall per kind, and whether locations are exact.

The doctor may choose any nearest earlier relative that the definition allows: the same session
where there is one, else the same application. What is true is then asked of that very pair.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from doctor_planted import plain_diff
from doctor_planted.plain_diff import Place, common, compact, holds, rendered, value_at
from doctor_planted.truth import NONE, Planted, Truth, truth_of

OBJECT_KINDS = {"tool_order", "tool_set", "key_order", "array_order"}
"""Their difference is in a list or an object, which the path may name instead of what is in it."""
MESSAGE_KINDS = {"truncated_history", "compacted_history", "template_flip"}
"""Their difference is which messages there are, or which parts a message has."""
MORE = 256
"""Characters that an earlier request may share less than a later one and still be the relative."""
_NAMES_OF_NONE = (None, "", "new_content", "none")


@dataclass
class Tally:
    """Counts of one kind. missed: there and not named; idle: named, where no name was right too;
    false: named and not there."""

    found: int = 0
    idle: int = 0
    missed: int = 0
    false: int = 0
    exact: int = 0
    placed: int = 0

    @property
    def precision(self) -> float | None:
        right = self.found + self.idle
        named = right + self.false
        return right / named if named else None

    @property
    def recall(self) -> float | None:
        there = self.found + self.missed
        return self.found / there if there else None

    @property
    def exact_frac(self) -> float | None:
        return self.exact / self.placed if self.placed else None


@dataclass
class Fault:
    """One wrong answer, for a person to look at."""

    what: str
    new: Planted
    old: Planted | None
    said: dict[str, Any] | None
    true: Truth | None


@dataclass
class Score:
    tallies: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    faults: list[Fault] = field(default_factory=list)
    wrong_relatives: int = 0
    wrong_common: int = 0
    rows: int = 0
    missing_rows: int = 0
    notes: list[str] = field(default_factory=list)

    def add(self, other: "Score") -> None:
        for kind, tally in other.tallies.items():
            for name in ("found", "idle", "missed", "false", "exact", "placed"):
                setattr(self.tallies[kind], name,
                        getattr(self.tallies[kind], name) + getattr(tally, name))  # fmt: skip
        self.faults += other.faults
        self.notes += other.notes
        for name in ("wrong_relatives", "wrong_common", "rows", "missing_rows"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


class Relatives:
    """Which earlier requests are relatives of a request, by the issue's definition."""

    def __init__(self, requests: Sequence[Planted]) -> None:
        self.by_id = {request.id: request for request in requests}
        self._sessions: dict[str, list[Planted]] = defaultdict(list)
        self._dialogues: dict[str, list[Planted]] = defaultdict(list)
        self._apps: dict[str, list[Planted]] = defaultdict(list)
        for request in sorted(requests, key=lambda r: r.rank):
            if request.session is not None:
                self._sessions[request.session].append(request)
            self._dialogues[request.dialogue].append(request)
            self._apps[request.app].append(request)

    def allowed(self, new: Planted) -> list[Planted]:
        told = self._sessions[new.session] if new.session is not None else []
        told = [r for r in told if r.rank < new.rank]
        own = [r for r in told if r.app == new.app]
        return own or told + [r for r in self._apps[new.app] if r.rank < new.rank]

    def usual(self, new: Planted) -> Planted | None:
        """The last of the dialogue, else the last of the application."""
        earlier = [r for r in self._dialogues[new.dialogue] if r.rank < new.rank]
        allowed = earlier or [r for r in self.allowed(new) if r.app == new.app]
        return allowed[-1] if allowed else None


def score(requests: Sequence[Planted], found: Sequence[dict[str, Any]]) -> Score:
    """requests: with their marks; found: the doctor's rows of `per_request`."""
    result, relatives = Score(), Relatives(requests)
    said_of = {str(row["id"]): row for row in found}
    for new in requests:
        said = said_of.get(new.id)
        result.rows += 1
        result.missing_rows += said is None
        old = relatives.usual(new)
        if said is not None and said.get("relative_id") is not None:
            named = relatives.by_id.get(str(said["relative_id"]))
            if named is None or named.rank >= new.rank or named not in relatives.allowed(new):
                result.wrong_relatives += 1
                result.faults.append(Fault("relative", new, named, said, None))
            else:
                if old is not None and _is_nearer(old, named, new):
                    result.wrong_relatives += 1
                    result.faults.append(Fault("a later one is nearer", new, old, said, None))
                old = named
        _score_row(result, new, old, said)
    return result


def _is_nearer(old: Planted, named: Planted, new: Planted) -> bool:
    """Whether the request before it in the dialogue is later than the named one and shares more.
    Only of planted applications: others have questions that were asked anew, and lead nowhere."""
    if old is named or old.dialogue != new.dialogue or old.rank < named.rank:
        return False
    is_planted = bool(new.spans or new.owners)
    if not is_planted or not old.context == named.context == new.context:
        return False
    mine = rendered(new.body)
    return common(mine, rendered(old.body)) > common(mine, rendered(named.body)) + MORE


def _score_row(result: Score, new: Planted, old: Planted | None, said: Any) -> None:
    kind = None if said is None else said.get("kind")
    named = NONE if kind in _NAMES_OF_NONE else str(kind)
    if old is None:
        if named != NONE:
            result.tallies[named].false += 1
            result.faults.append(Fault("first of its application", new, None, said, None))
        return
    true = truth_of(new, old)
    if said and str(said.get("relative_id")) == old.id and new.context == old.context:
        count = common(rendered(new.body).encode(), rendered(old.body).encode())
        if said.get("common_tokens") != count:
            result.wrong_common += 1
            result.faults.append(Fault(f"common tokens, {count} are", new, old, said, true))
    if named in true.accepted:
        if true.kind != NONE and named != NONE:
            tally = result.tallies[true.kind]
            tally.found += true.counts
            tally.idle += not true.counts
            _score_place(result, tally, new, old, said, true)
        return
    if true.kind != NONE and true.counts:
        result.tallies[true.kind].missed += 1
    if named != NONE:
        result.tallies[named].false += 1
    result.faults.append(Fault("kind", new, old, said, true))


def _score_place(
    result: Score, tally: Tally, new: Planted, old: Planted, said: dict[str, Any], true: Truth
) -> None:
    tally.placed += 1
    if is_exact(new, old, said, true):
        tally.exact += 1
    else:
        result.faults.append(Fault("place", new, old, said, true))


def is_exact(new: Planted, old: Planted, said: dict[str, Any], true: Truth) -> bool:
    """Whether the path names a value that holds the first difference, and the offset is the
    number of equal characters before it there. A difference in a string needs that string's path,
    unless the kind is one of objects or messages."""
    path, offset, place = said.get("json_path"), said.get("char_offset"), true.place
    if path is None or place is None:
        return path is None and place is None
    if true.kind == "context_changed":
        return path in context_paths(place.path)
    if true.kind in MESSAGE_KINDS and place.path.startswith("messages") and offset == 0:
        # Messages were replaced: which one is told by the path, a character within it is chance.
        return plain_diff.steps(path)[:2] == plain_diff.steps(place.path)[:2]
    if not holds(path, place.path):
        return False
    if plain_diff.steps(path) == plain_diff.steps(place.path) and offset == place.offset:
        return True
    x, y = value_at(new.body, path), value_at(old.body, path)
    whole = true.kind in OBJECT_KINDS | MESSAGE_KINDS
    if isinstance(x, str) or (_in_a_string(new, old, place) and not whole):
        return False
    # A value that is no text has its JSON's characters: as rendered, or as the trace writes it.
    return offset in {common(write(x), write(y)) for write in (compact, _spaced, json.dumps)}


def context_paths(field_name: str) -> set[str]:
    """How a field of the context is called in rows of hitpath's own, and in bodies."""
    return {field_name, f"context.{field_name}", {"salt": "cache_salt"}.get(field_name, field_name)}


def _in_a_string(new: Planted, old: Planted, place: Place) -> bool:
    sides = value_at(new.body, place.path), value_at(old.body, place.path)
    return all(isinstance(side, str) for side in sides)


def _spaced(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)

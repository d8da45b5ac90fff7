"""The steps to a canonical prompt, each by itself or all together, text by text.

A text is looked at once: results are remembered, for most texts of a trace stand in many of its
requests. Instructions are system text and tools; what the user, the model and tools said keeps its
words, only its form (white space, Unicode, JSON) is made one.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

import msgspec

from hitpath.canonical import (
    Change,
    ClockUnit,
    apply_changes,
    canonical_json_text,
    coarsen_clock,
    compose,
    normalise_space,
    normalise_unicode,
    stable_tools,
)
from hitpath.canonical.json_value import ordered_json
from hitpath.canonical.slots import descriptions_of
from hitpath.core import InputError
from hitpath.doctor.arguments import with_arguments
from hitpath.doctor.coming_lines import Heads, head_of
from hitpath.doctor.image import Image, image_of_json, image_of_string, through
from hitpath.doctor.prompt import Part
from hitpath.doctor.tools_in_text import sorted_tools
from hitpath.doctor.volatile_lines import volatile_in

Step = Literal[
    "tool_order", "key_order", "white_space", "unicode_form", "clock", "request_id", "counter",
    "attribution", "stamps",
]  # fmt: skip
"""`stamps`: what requests of this trace were seen to stamp, by the words before it (Stamps)."""
STEPS: tuple[Step, ...] = (
    "tool_order", "key_order", "white_space", "unicode_form", "clock", "request_id", "counter",
    "attribution", "stamps",
)  # fmt: skip
_MOST_CHARS = 64_000_000
_LONGEST_VALUE = 4_000
K = TypeVar("K")
V = TypeVar("V")


class Stamp(NamedTuple):
    """What stands behind these words, up to the tail or else to the end of its line, was seen to
    change by itself. begins_line: the words begin their line."""

    kind: str
    words: re.Pattern[str]
    tail: str = ""
    begins_line: bool = False

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Characters [start, stop) of each value. The words once, the rest by `find`: linear."""
        for match in self.words.finditer(text):
            first, start = match.span()
            if self.begins_line and first and text[first - 1] != "\n":
                continue
            end = text.find("\n", start, start + _LONGEST_VALUE + 1)
            end = min(len(text), start + _LONGEST_VALUE + 1) if end < 0 else end
            stop = text.find(self.tail, start + 1, end + len(self.tail)) if self.tail else end
            if start < stop <= min(end, start + _LONGEST_VALUE):
                yield start, stop


class Spans(Protocol):
    """Blocks of a text (SampleLines)."""

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Characters [start, stop) of each, in order."""


class Keeps(Protocol):
    """What stays of a text (Constants)."""

    def keeps(self, text: str, start: int, stop: int, is_seen: bool) -> bool:
        """Whether these characters stay. is_seen: the like of them was seen to change."""


@dataclass(frozen=True, slots=True)
class Plan:
    """steps: which; clock: by this unit instead of to the end; stamps: found in this trace, by the
    general path where they stand; samples: blocks of lines likewise;
    lines: those that come and go; constants: what all requests say, which stays; appends: whether
    what was taken out stands at the prompt's end, as a fix must have it, or nowhere, as two prompts
    are best compared; spaced: general paths where white space was seen to vary, so that all of it
    is written one way there; reasoning: put back what was left out of histories; reply_ids: put
    generated ids back (both: fixed.py)."""

    steps: frozenset[Step] = frozenset(STEPS)
    clock: ClockUnit | None = None
    stamps: Mapping[str, tuple[Stamp, ...]] = field(default_factory=dict)
    samples: Mapping[str, tuple[Spans, ...]] = field(default_factory=dict)
    lines: Mapping[str, Heads] = field(default_factory=dict)
    constants: Mapping[str, Keeps] = field(default_factory=dict)
    appends: bool = False
    spaced: frozenset[str] = frozenset()
    reasoning: bool = False
    reply_ids: bool = False


class NewText(NamedTuple):
    """A part in canonical form. rendered: its bytes; images: of its own bytes; moved: what was
    taken out, for the end of the prompt; changes: kinds of what changed."""

    rendered: bytes
    images: tuple[Image, ...]
    moved: tuple[str, ...]
    kinds: tuple[str, ...]


class Memory(Generic[K, V]):
    """Remembers values by key, up to so many characters of texts."""

    def __init__(self) -> None:
        self._known: dict[K, V] = {}
        self._chars = 0

    def get(self, key: K, size: int, make: Callable[[], V]) -> V:
        found = self._known.get(key)
        if found is None:
            found = make()
            self._chars += size
            if self._chars > _MOST_CHARS:
                self._known.clear()
                self._chars = size
            self._known[key] = found
        return found


class Steps:
    """Makes parts canonical by one plan."""

    def __init__(self, plan: Plan) -> None:
        self.appends = plan.appends
        self._plan = plan
        self._first_of: dict[tuple[str, bytes], NewText] = {}
        self._first_tools: dict[
            tuple[bytes, ...], tuple[list[int], list[NewText], list[bytes]]
        ] = {}
        self._texts: Memory[tuple[str, str, bool, bool, str], NewText] = Memory()
        self._tools: Memory[tuple[str, ...], tuple[list[int], list[NewText]]] = Memory()

    def part(self, part: Part, path: str) -> NewText:
        """Any part but tools and glue. path: its general path."""
        ours = part.segment == "system"
        named = path if ours or path in self._plan.spaced else ""
        if part.form == "json":
            named = path  # of calls, of which there are few
        key = (named, part.form, ours, part.base == 0, part.text)
        return self._texts.get(key, len(part.text), lambda: self._chosen(part, ours, path))

    def tools(self, parts: Sequence[Part]) -> tuple[list[int], list[NewText]]:
        """(old places in the new order, the tools in that order)."""
        key = tuple(part.text for part in parts)
        return self._tools.get(key, sum(map(len, key)), lambda: self._chosen_tools(parts))

    def _chosen(self, part: Part, ours: bool, path: str) -> NewText:
        """To compare two prompts any text will do that stands for all with one canonical form: the
        first that was seen, so that what is the same in both stays what it is."""
        made = self._made(part, ours, path)
        if self._plan.appends:
            return made
        own = part.rendered
        key = (f"{part.form} {path if ours else ''}", made.rendered)
        first = self._first_of.setdefault(key, NewText(own, made.images, (), ()))
        if first.rendered == own:
            return _unchanged(own)
        return NewText(first.rendered, through(made.images, first.images), (), made.kinds)

    def _chosen_tools(self, parts: Sequence[Part]) -> tuple[list[int], list[NewText]]:
        """The same for tools: in the order in which they were first seen."""
        order, made = self._made_tools(parts)
        if self._plan.appends:
            return order, made
        owns = [part.rendered for part in parts]
        key = tuple(new.rendered for new in made)
        first_order, first, texts = self._first_tools.setdefault(key, (order, made, owns))
        if texts == owns:
            return list(range(len(parts))), [_unchanged(own) for own in owns]
        chosen: list[tuple[int, int, NewText]] = []
        for at, place in enumerate(first_order):
            own, text = order[at], texts[place]
            if text == owns[own]:
                new = _unchanged(text)
            else:
                new = NewText(text, through(made[at].images, first[at].images), (), made[at].kinds)
            chosen.append((place, own, new))
        chosen.sort(key=lambda one: one[0])
        news = [new for _, _, new in chosen]
        news[0] = news[0]._replace(kinds=(*made[0].kinds, "tools"))
        return [own for _, own, _ in chosen], news

    def _made(self, part: Part, ours: bool, path: str) -> NewText:
        if part.form == "json":
            value = self._ordered(part.value, path)
            new = msgspec.json.encode(value)
            kinds = ("key_order",) if new != part.rendered else ()
            return NewText(new, tuple(image_of_json(part.value, value)), (), kinds)
        text, changes, moved = self.text(part.text, ours, path, part.base == 0)
        is_escaped = part.form == "escaped"
        new = msgspec.json.encode(text)[1:-1] if is_escaped else text.encode()
        images = image_of_string(part.text, text, is_escaped, changes)
        return NewText(new, tuple(images), moved, tuple(dict.fromkeys(c.kind for c in changes)))

    def _ordered(self, value: Any, path: str) -> Any:
        steps = self._plan.steps
        if "key_order" in steps:
            try:
                value = ordered_json(value).value
            except InputError:
                return value  # deeper than any canonical form goes
        is_spaced = any(one.startswith(path) for one in self._plan.spaced)
        if "key_order" in steps or ("white_space" in steps and is_spaced):
            return with_arguments(value, sort_keys="key_order" in steps)
        return value

    def text(
        self, text: str, ours: bool, path: str, trims: bool = False
    ) -> tuple[str, tuple[Change, ...], tuple[str, ...]]:
        """(the new text, its changes, what was taken out for the end). trims: white space at its
        edges may go where it was seen to vary; within one text of many messages it parts them."""
        steps, changes = self._plan.steps, ()
        all_changes: tuple[Change, ...] = changes
        if "unicode_form" in steps:
            found = normalise_unicode(text, form="NFC")
            text, all_changes = found.value, compose(all_changes, found.changes)
        if "white_space" in steps:
            found = normalise_space(text)
            text, all_changes = found.value, compose(all_changes, found.changes)
            if path in self._plan.spaced:
                spaces = _one_space(text, trims)
                text, all_changes = apply_changes(text, spaces), compose(all_changes, spaces)
        if "tool_order" in steps and '"name"' in text:
            orders = sorted_tools(text)
            text, all_changes = apply_changes(text, orders), compose(all_changes, orders)
        if "key_order" in steps and ("{" in text or "[" in text):
            found = canonical_json_text(text, inside=True)
            text, all_changes = found.value, compose(all_changes, found.changes)
        if not ours:
            return text, all_changes, ()
        if "clock" in steps and self._plan.clock is not None:
            found = coarsen_clock(text, self._plan.clock)
            text, all_changes = found.value, compose(all_changes, found.changes)
            stamped = list(self._coarser(text, path, self._plan.clock))
            text, all_changes = apply_changes(text, stamped), compose(all_changes, stamped)
        taken = self._taken(text, path)
        moved = tuple(
            f"{_name_of(c)}: {text[c.char_offset : c.char_offset + c.num_chars].rstrip()}"
            for c in taken
        )
        return apply_changes(text, taken), compose(all_changes, taken), moved

    def _taken(self, text: str, path: str) -> list[Change]:
        """What changes by itself gives way to a word for it."""
        steps, coarse = self._plan.steps, self._plan.clock
        found: list[Change] = []
        places: list[int] = []
        stretches = [("random_sample", *span, True) for span in self._samples(text, path)]
        stretches += [
            (one.kind, one.start, one.stop, False)
            for one in volatile_in(text)
            if one.is_sure and one.kind in steps
        ]
        stretches += [(s.kind, start, stop, True) for s, start, stop in self._stamped(text, path)]
        constants = self._plan.constants.get(path)
        heads = self._plan.lines.get(path, frozenset())
        for kind, start, stop, is_seen in stretches:
            if constants is not None and constants.keeps(text, start, stop, is_seen):
                continue
            if kind == "clock" and coarse is not None:
                continue
            for change in _taken(kind, text, start, stop, heads):
                begin = change.char_offset
                at = bisect_right(places, begin)
                is_free = at == 0 or places[at - 1] + found[at - 1].num_chars <= begin
                if is_free and (at == len(places) or begin + change.num_chars <= places[at]):
                    places.insert(at, begin)
                    found.insert(at, change)
                    break
        return _numbered(found) if self._plan.appends else found

    def _samples(self, text: str, path: str) -> Iterator[tuple[int, int]]:
        """Blocks of lines that are drawn anew."""
        if "stamps" in self._plan.steps:
            for block in self._plan.samples.get(path, ()):
                yield from block.spans(text)

    def _stamped(self, text: str, path: str) -> Iterator[tuple[Stamp, int, int]]:
        """(stamp, start, stop) of each value that this trace was seen to stamp there."""
        if "stamps" in self._plan.steps:
            for stamp in self._plan.stamps.get(path, ()):
                for start, stop in stamp.spans(text):
                    yield stamp, start, stop

    def _coarser(self, text: str, path: str, unit: ClockUnit) -> Iterator[Change]:
        """Stamped clocks by the unit: those that words alone do not make surely a clock."""
        until = 0
        for stamp, start, stop in sorted(self._stamped(text, path), key=lambda one: one[1:]):
            if stamp.kind == "clock" and start >= until:
                until = stop
                for change in coarsen_clock(text[start:stop], unit, only_sure=False).changes:
                    yield replace(change, char_offset=start + change.char_offset)

    def _made_tools(self, parts: Sequence[Part]) -> tuple[list[int], list[NewText]]:
        steps = self._plan.steps
        order = list(range(len(parts)))
        values = [part.value for part in parts]
        try:
            if "tool_order" in steps:
                changes = stable_tools(values, sort_keys=False).changes
                order = _order_of(changes, order)
            if "key_order" in steps:
                values = [ordered_json(value, sort_required=True).value for value in values]
        except InputError:
            order, values = list(range(len(parts))), [part.value for part in parts]
        made: list[NewText] = []
        for at in order:
            part = parts[at]
            moved: list[str] = []
            value = self._with_descriptions(values[at], moved)
            new = msgspec.json.encode(value)
            kinds = ["key_order"] if new != part.rendered else []
            images = tuple(image_of_json(part.value, value))
            made.append(NewText(new, images, tuple(moved), tuple(kinds)))
        if order != sorted(order) and made:
            made[0] = made[0]._replace(kinds=("tool_order", *made[0].kinds))
        return order, made

    def _with_descriptions(self, value: Any, moved: list[str]) -> Any:
        """A tool with the texts of its descriptions in their one form."""
        try:
            value = ordered_json(value, sort_keys=False).value  # a copy
        except InputError:
            return value  # deeper than any canonical form goes
        for slot in descriptions_of(value, "tools"):
            text, _, taken = self.text(slot.text, True, "tools")
            moved += taken
            slot.put(text)
        return value


def _one_space(text: str, trims: bool) -> list[Change]:
    """Runs of blanks become one space, of blank lines one; none at the end of a line. trims: none
    at the edges of the text either."""
    found: list[Change] = []
    for match in _BLANKS.finditer(text):
        blank = match[0]
        is_edge = trims and (match.start() == 0 or match.end() == len(text))
        new = "" if is_edge else "\n" * min(blank.count("\n"), 2) or " "
        if blank != new:
            found.append(Change("white_space", "", match.start(), len(blank), new))
    return found


_BLANKS = re.compile(r"[ \t\n]+")


def _unchanged(rendered: bytes) -> NewText:
    return NewText(rendered, (Image(0, 0, len(rendered)),), (), ())


_NAMES = {
    "clock": "clock", "request_id": "id", "counter": "count", "attribution": "attribution",
    "random_sample": "sample", "per_user_field": "user",
}  # fmt: skip
"""What a value is called in its place and at the end of the prompt."""


def _taken(kind: str, text: str, start: int, stop: int, heads: Heads) -> Iterator[Change]:
    """What takes the place of a value, the best first. A line of attribution goes whole, with the
    blank lines behind it, for nothing in the prompt leans on it; and so does a line that comes and
    goes, where a word in its place would too."""
    begin = text.rfind("\n", 0, start) + 1
    line = _LINE.match(text, begin)
    if line is not None:
        is_alone = begin == start and start + len(line[1].rstrip()) <= stop
        if (kind == "attribution" and is_alone) or (kind, head_of(line[1])) in heads:
            yield Change(kind, "", begin, max(line.end(), stop) - begin, "")
    yield Change(kind, "", start, stop - start, f"[{_NAMES[kind]}: at the end]")


_LINE = re.compile(r"([^\n]*)(?:\n[ \t\r]*(?=\n|\Z))*\n?")
"""A line, its end, and the blank ones behind it."""


def _numbered(taken: list[Change]) -> list[Change]:
    """Several values of one name in a text are told apart by numbers."""
    often = Counter(change.replacement for change in taken)
    seen: Counter[str] = Counter()
    found: list[Change] = []
    for change in taken:
        if change.replacement and often[change.replacement] > 1:
            seen[change.replacement] += 1
            name = f"{_name_of(change)} {seen[change.replacement]}"
            change = replace(change, replacement=f"[{name}: at the end]")
        found.append(change)
    return found


def _name_of(taken: Change) -> str:
    """What a value is called that stands at the end."""
    return taken.replacement[1:].partition(":")[0] or _NAMES[taken.kind]


def _order_of(changes: Sequence[Change], order: list[int]) -> list[int]:
    for change in changes:
        if change.kind == "tool_order" and not change.json_path:
            new: list[int] = msgspec.json.decode(change.replacement)
            return new
    return order

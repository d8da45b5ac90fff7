"""The canonical form of a whole request body: OpenAI chat and Responses, Anthropic messages,
Bedrock's Converse.

The steps, each with its switch, in this order: Unicode form, white space, JSON within texts, clocks
made coarser, volatile text to the tail, then orders (tools, keys of tools and of response formats).
What the user, the model and tools wrote stays as it is but for `all_texts`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from hitpath.canonical.change import Canonical, CanonicalText, Change, compose
from hitpath.canonical.clock import ClockUnit, coarsen_clock
from hitpath.canonical.json_path import joined
from hitpath.canonical.json_text import canonical_json_text
from hitpath.canonical.json_value import PLACE, ordered_json
from hitpath.canonical.slots import Slot, texts_of, tool_lists
from hitpath.canonical.space import UnicodeForm, normalise_space, normalise_unicode
from hitpath.canonical.tail import HEADER, move_to_tail
from hitpath.canonical.tools import stable_tools
from hitpath.core import InputError

_MOST_ROUNDS = 8
_FORMATS = (("response_format",), ("text", "format"), ("output_config",), ("output_format",))


@dataclass(frozen=True, slots=True)
class Options:
    """What canonical_request does.

    Without loss, on: `tools` (in their order), `keys` (of tools and response formats), `space` (of
    instructions and tools). On request: `sort_required` (names in `required` too), `unicode` (a
    form for the same texts), `json_texts` (texts that are one JSON object or array as a whole are
    written canonically), `json_inside` (the largest ones within a text too), `clock` (clocks of the
    instructions by this unit), `tail` (volatile text of the instructions to the last message; with
    `clock` the coarse clock stays), `all_texts` (space, Unicode and JSON of what the user, tools
    and the model wrote too).
    """

    tools: bool = True
    keys: bool = True
    sort_required: bool = False
    space: bool = True
    unicode: UnicodeForm | None = None
    json_texts: bool = False
    json_inside: bool = False
    clock: ClockUnit | None = None
    tail: bool = False
    all_texts: bool = False


def canonical_request(body: dict[str, Any], options: Options = Options()) -> Canonical:
    """A new body and all changes. Places of changes are those of `body`; sizes of an order are
    those of its texts after their own changes. Idempotent. Raises InputError for what is not JSON.
    """
    if not isinstance(body, dict):
        raise InputError(PLACE, "", "a request body is an object")
    new: dict[str, Any] = ordered_json(body, sort_keys=False).value
    by_path: dict[str, tuple[Change, ...]] = {}
    for slot in list(texts_of(new)):
        found = _text(slot, options)
        if found.changes:
            slot.put(found.value)
            by_path[slot.path] = found.changes
    if options.tail:
        moved: dict[str, list[Change]] = {}
        for change in move_to_tail(new, options.clock):
            moved.setdefault(change.json_path, []).append(change)
        for path, changes in moved.items():
            by_path[path] = compose(by_path.get(path, ()), changes)
    in_texts = [change for changes in by_path.values() for change in changes]
    return Canonical(new, (*in_texts, *_orders(new, options)))


def _text(slot: Slot, options: Options) -> CanonicalText:
    """What is done within one text, again until nothing is left to do: an escape in JSON may stand
    for a hidden character, and without one between them two characters may compose. What was
    moved there stays as it is."""
    text, header, block = slot.text.partition(HEADER)
    steps = _steps(slot, options)
    changes: tuple[Change, ...] = ()
    for _ in range(_MOST_ROUNDS):
        before = text
        for step in steps:
            found = step(text)
            text, changes = found.value, compose(changes, found.changes)
        if text == before or len(steps) == 1:
            break
    return CanonicalText(text + header + block, changes)


def _steps(slot: Slot, options: Options) -> list[Callable[[str], CanonicalText]]:
    steps: list[Callable[[str], CanonicalText]] = []
    is_ours = slot.author in ("instructions", "tools")
    if is_ours or options.all_texts:
        if options.unicode is not None:
            steps.append(partial(normalise_unicode, form=options.unicode, path=slot.path))
        if options.space:
            steps.append(partial(normalise_space, path=slot.path))
        if slot.author != "tools" and (options.json_texts or options.json_inside):
            steps.append(partial(canonical_json_text, inside=options.json_inside, path=slot.path))
    if is_ours and options.clock is not None and not options.tail:
        steps.append(partial(coarsen_clock, unit=options.clock, path=slot.path))
    return steps


def _orders(body: dict[str, Any], options: Options) -> Iterator[Change]:
    """Puts tools and keys of the body in order, in place."""
    for holder, name, path in tool_lists(body):
        if options.tools:
            found = stable_tools(
                holder[name], sort_keys=options.keys, sort_required=options.sort_required, path=path
            )
        else:
            found = ordered_json(
                holder[name], sort_keys=options.keys, sort_required=options.sort_required, path=path
            )
        holder[name] = found.value
        yield from found.changes
    if not options.keys:
        return
    for *outer, key in _FORMATS:
        inner: Any = body
        path = ""
        for step in outer:
            inner = inner.get(step) if isinstance(inner, dict) else None
            path = joined(path, step)
        if isinstance(inner, dict) and isinstance(inner.get(key), dict):
            found = ordered_json(
                inner[key], sort_required=options.sort_required, path=joined(path, key)
            )
            inner[key] = found.value
            yield from found.changes

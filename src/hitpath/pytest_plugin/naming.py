"""What a difference is called, where one thing was changed on purpose, and what helps."""

import re
from dataclasses import dataclass, replace

from hitpath.pytest_plugin.compare import KEY, Difference
from hitpath.pytest_plugin.worlds import World

_TAIL = "put it into the last message"
FIXES = {
    "clock": f"{_TAIL}; a coarser clock passes with a smaller clock_shift_s",
    "tool_order": "sort tools by name: hitpath.canonical.stable_tools",
    "key_order": "write JSON with sorted keys: hitpath.canonical.canonical_json",
    "array_order": "sort what has no order of its own",
    "random_sample": f"draw it from a fixed seed, or {_TAIL}",
    "request_id": _TAIL,
    "counter": _TAIL,
    "attribution": f"leave it out, or {_TAIL}",
    "truncated_history": "keep what was sent; compact rarely, and then at once",
    "white_space": "hitpath.canonical.normalise_space",
    "hidden_characters": "hitpath.canonical.normalise_space",
    "unicode_form": "hitpath.canonical.normalise_unicode",
    "number_format": "write a number one way: hitpath.canonical.canonical_json",
    "context_changed": "send the same fields with the same values each time",
    "edited_message": "leave what was sent as it was, and add behind it",
}
_ADDRESS = "write what the object holds, not its address: give its class a __repr__"
_HASH = "hash() of text is another one in each process: use hashlib"
CHANGED_ARGUMENTS = "the builder changes the arguments that it is given: copy them first"

_HEX = re.compile(r"(?:0x)?[0-9a-fA-F-]{6,}$")
_ADDRESS_WORD = re.compile(r"0x[0-9a-fA-F]{5,}$")
_NUMBER = re.compile(r"[\d.]*⟦[\d.]⟧[\d.]*")
_DIGITS = re.compile(r"[0-9a-f]*⟦[0-9a-f]⟧[0-9a-f]*")
_UNITS = (1.0, 1e3, 1e6, 1e9)
_SHORTEST_CLOCK = 4
"""Digits of a number that is taken for the reading of a clock."""

Spans = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """What a call can be told by: when it was made, by clocks in seconds (begin, end), and the
    numbers of its process and threads, where it had one of its own."""

    clocks: Spans = ()
    ids: tuple[int, ...] = ()


def named(world: World, found: Difference, first: Seen, second: Seen) -> tuple[Difference, str]:
    """The difference with its kind, and the remedy."""
    words = _word_at_mark(found.first), _word_at_mark(found.second)
    if world.is_firm:
        return replace(found, kind=world.kind), world.fix or FIXES[world.kind]
    if all(map(_ADDRESS_WORD.match, words)):
        return replace(found, kind="request_id"), _ADDRESS
    is_own = found.kind == "edited_message" or (found.kind in ("counter", "request_id"))
    if is_own and _are_ids(words, first, second):
        return replace(found, kind="attribution"), FIXES["attribution"]
    if is_own and _are_clocks(found, first, second):
        return replace(found, kind="clock"), FIXES["clock"]
    if found.kind != "edited_message":
        return found, world.fix or FIXES.get(found.kind, "")
    if world.kind == "hash":
        if _are_hashes(found):
            return replace(found, kind="random_sample"), _HASH
        world = replace(world, kind="array_order")
    kind = kind_in(world.kind, found)
    return replace(found, kind=kind), world.fix or FIXES.get(kind, "")


def kind_in(suspected: str, found: Difference) -> str:
    """The kind of a difference that its words do not tell, where one thing was changed on purpose:
    an order of arguments is one of keys where JSON or a dict is written; what another call alone
    changes is an id where it looks like one."""
    texts = (found.first, found.second)
    words = [_word_at_mark(text) for text in texts]
    if suspected == "array_order":
        if all(KEY.search(text) for text in texts):
            return "key_order"
        return "edited_message" if all(map(str.isdigit, words)) else suspected
    if suspected == "random_sample" and all(map(_HEX.match, words)):
        return suspected if all(map(str.isdigit, words)) else "request_id"
    return suspected


def _are_hashes(found: Difference) -> bool:
    """Whether numbers stand there, of which neither is at another place of the other text."""
    numbers = [_DIGITS.search(text) for text in (found.first, found.second)]
    told = [number[0].replace("⟦", "").replace("⟧", "") for number in numbers if number]
    if len(told) < 2:
        return False
    return told[0] not in found.second and told[1] not in found.first


def _are_ids(words: tuple[str, str], first: Seen, second: Seen) -> bool:
    """Whether both are the number of their process or thread."""
    return all(
        word.isdigit() and int(word) in seen.ids
        for word, seen in zip(words, (first, second), strict=True)
    )


def _are_clocks(found: Difference, first: Seen, second: Seen) -> bool:
    """Whether both are what one clock, in one unit, showed during their call."""
    numbers = [_NUMBER.search(text) for text in (found.first, found.second)]
    texts = [number[0].replace("⟦", "").replace("⟧", "").strip(".") for number in numbers if number]
    if len(texts) < 2 or not all(map(_is_reading, texts)):
        return False
    return any(
        all(_is_within(text, unit, span) for text, span in zip(texts, spans, strict=True))
        for spans in zip(first.clocks, second.clocks, strict=False)
        for unit in _UNITS
    )


def _is_reading(text: str) -> bool:
    return text.count(".") < 2 and len(text.replace(".", "")) >= _SHORTEST_CLOCK


def _is_within(text: str, unit: float, span: tuple[float, float]) -> bool:
    one_digit = 10.0 ** -len(text.partition(".")[2])
    return span[0] * unit - one_digit <= float(text) <= span[1] * unit + one_digit


def _word_at_mark(text: str) -> str:
    """The word around the marked character of an excerpt."""
    before, _, rest = text.partition("⟦")
    here, _, behind = rest.partition("⟧")
    return (
        re.search(r"[\w-]*$", before)[0] + here + re.match(r"[\w-]*", behind)[0]  # type: ignore[index]
    )

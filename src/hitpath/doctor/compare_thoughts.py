"""Reasoning in a message as it was and as it is: blocks and fields that came, went, or changed
their form."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hitpath.doctor.change import Change
from hitpath.doctor.prompt import Message, Part, Prompt
from hitpath.doctor.thoughts import thoughts_of

_MESSAGE = re.compile(r"^\w+\[\d+\]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of this message, and where it begins in the prompt."""

    part: Part
    start: int


def reasoning_changes(
    olds: list[Part], news: list[Piece], here: Prompt, new: Message
) -> Iterator[Change]:
    """Reasoning that only one of the two has; it is taken out of the lists, with what is empty in
    its place."""
    one = thoughts_of(olds, new.role)
    other = thoughts_of([p.part for p in news], new.role)
    sides = olds, [piece.part for piece in news]
    gone = [block for block in one if not _is_there([olds[n] for n in block], sides[1])]
    added = [block for block in other if not _is_there([sides[1][n] for n in block], olds)]
    if len(gone) == len(added):
        yield from _other_blocks(olds, gone, news, added, new)
        return  # other reasoning in its place is compared as what it is
    for block in gone if len(gone) > len(added) else []:
        text = next((olds[n] for n in block if olds[n].form != "json"), olds[block[0]])
        path = new.path + within(text.path)
        first = first_part(here, new)
        if "[" in within(text.path):  # the block that stands there now
            is_left = any(piece.part.path.startswith(f"{new.path}.content") for piece in news)
            path = (here.parts[first].path or new.path).removesuffix(".type")
            path = path if is_left else f"{new.path}.content"
        start = here.starts[first]
        yield Change("template_flip", path, new.segment, 0, start, start, text.text[:200], "", "",
                     "reasoning was left out")  # fmt: skip
    for block in added if len(added) > len(gone) else []:
        piece = next((news[n] for n in block if news[n].part.form != "json"), news[block[0]])
        start, stop = piece.start, piece.start + len(piece.part.rendered)
        yield Change("template_flip", piece.part.path, new.segment, piece.part.base, start, stop,
                     "", piece.part.text[:200], "", "reasoning was put in")  # fmt: skip
    if len(gone) > len(added):
        numbers = {n for block in gone for n in block}
        whole = {within(olds[n].path) for n in numbers}
        olds[:] = [p for n, p in enumerate(olds) if n not in numbers]
        news[:] = [p for p in news if p.part.text.strip() or within(p.part.path) not in whole]
    else:
        numbers = {n for block in added for n in block}
        whole = {within(news[n].part.path) for n in numbers}
        news[:] = [p for n, p in enumerate(news) if n not in numbers]
        olds[:] = [p for p in olds if p.text.strip() or within(p.path) not in whole]


def _is_there(block: list[Part], parts: list[Part]) -> bool:
    """Whether a block of reasoning stands on the other side too, perhaps without the tag that said
    what it is."""
    first = block[0]
    if any(part.text == first.text for part in parts):
        return True
    path, text = within(first.path), first.text.rstrip()
    return len(block) == 1 and any(
        within(part.path) == path and part.text.strip() and text.endswith(part.text.strip())
        for part in parts
    )


def within(path: str) -> str:
    """A path from its message on."""
    return _MESSAGE.sub("", path, count=1)


def _other_blocks(
    olds: list[Part],
    gone: list[list[int]],
    news: list[Piece],
    added: list[list[int]],
    new: Message,
) -> Iterator[Change]:
    """Reasoning in a block or field of another kind in its place; taken out of the lists."""
    pairs = [
        (one, other)
        for one, other in zip(gone, added, strict=True)
        if [_name_of(olds[n]) for n in one] != [_name_of(news[n].part) for n in other]
    ]
    for one, other in pairs:
        piece, last = news[other[0]], news[other[-1]]
        path = piece.part.path.removesuffix(".type")
        yield Change("template_flip", path, new.segment, piece.part.base, piece.start,
                     last.start + len(last.part.rendered), olds[one[0]].text[:200],
                     piece.part.text[:200], "", "", "reasoning in another form")  # fmt: skip
    out = {n for one, _ in pairs for n in one}, {n for _, other in pairs for n in other}
    olds[:] = [p for n, p in enumerate(olds) if n not in out[0]]
    news[:] = [p for n, p in enumerate(news) if n not in out[1]]


def _name_of(part: Part) -> str:
    """What a part of a block is: the name of its field; of a whole block its type."""
    if part.form != "json":
        return part.path.rpartition(".")[2]
    value = part.value
    return str(value.get("type") if isinstance(value, dict) else value)


def first_part(prompt: Prompt, message: Message) -> int:
    """The first part that is not glue, else the head."""
    for number in range(message.begin, message.end):
        if prompt.parts[number].form != "glue":
            return number
    return message.begin


def differ_in_signatures(old: Part, part: Part) -> bool:
    """Whether two calls are the same but for the signature of the reasoning that led to them."""
    is_signed = any(name in text for name in _SIGNATURES for text in (old.text, part.text))
    if not is_signed or old.text == part.text:
        return False
    try:
        return bool(_unsigned(old.value, 0) == _unsigned(part.value, 0))
    except RecursionError:  # deeper than any call is
        return False


def _unsigned(value: Any, depth: int) -> Any:
    """A call without what signs its reasoning, and without what held nothing else."""
    if depth > _DEEPEST or not isinstance(value, dict):
        return value
    kept = {k: _unsigned(item, depth + 1) for k, item in value.items() if k not in _SIGNATURES}
    return {key: item for key, item in kept.items() if item != {} or value[key] == {}}


_DEEPEST = 4
_SIGNATURES = ("thought_signature", "thoughtSignature", "signature", "encrypted_content")

"""One message as it was and as it is, part by part: texts, blocks of content, calls of tools."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from hitpath.doctor.calls import call_id, is_call_id, is_result, is_told_by_a_tool
from hitpath.doctor.change import Change, Kind
from hitpath.doctor.compare_thoughts import (
    Piece,
    differ_in_signatures,
    first_part,
    reasoning_changes,
    within,
)
from hitpath.doctor.compare_tools import Place, json_changes
from hitpath.doctor.history import is_cleared, kind_of_note, result_shortened, shortened
from hitpath.doctor.leaf import leaf_changes
from hitpath.doctor.leaf_change import LeafChange
from hitpath.doctor.prompt import SYSTEM, TOOLS, Message, Part, Prompt
from hitpath.doctor.shapes import overlap, words_of
from hitpath.doctor.textdiff import common_length, equal_runs
from hitpath.doctor.thoughts import are_one_without, is_reasoning

_TYPES = ("text", "input_text", "output_text", "tool_result")


def message_changes(there: Prompt, old: Message, here: Prompt, new: Message) -> Iterator[Change]:
    """Part by part: parts that are equal are paired, those between them in order."""
    olds = [p for p in there.parts[old.begin : old.end] if p.form != "glue"]
    news = [
        Piece(here.parts[n], here.starts[n])
        for n in range(new.begin, new.end)
        if here.parts[n].form != "glue"
    ]
    if len(olds) == len(news) > 1 and _same_members(old, olds, new, [p.part for p in news]):
        start = news[0].start
        yield Change("key_order", new.path, new.segment, 0, start, start, there_path=old.path)
        return
    if any(map(_is_content, olds)) != any(_is_content(piece.part) for piece in news):
        olds = [p for p in olds if not _is_empty(p)]
        news = [p for p in news if not _is_empty(p.part)]
    if is_result(there, old) and is_result(here, new):
        yield from _results_cleared(olds, old, news, new, here.starts[new.end])
    yield from reasoning_changes(olds, news, here, new)
    if len(olds) != len(news):  # a block of text is that text
        olds = [p for p in olds if not _is_type(p)]
        news = [p for p in news if not _is_type(p.part)]
    one, other = [p.text for p in olds], [p.part.text for p in news]
    last_a = last_b = 0
    for a, b, n in [*equal_runs(one, other), (len(olds), len(news), 0)]:
        behind = olds[a] if a < len(olds) else None, news[b] if b < len(news) else None
        yield from _part_gap(olds[last_a:a], news[last_b:b], behind, here, new)
        last_a, last_b = a + n, b + n


def _same_members(old: Message, olds: list[Part], new: Message, news: list[Part]) -> bool:
    """Whether two messages are the same but for the order of their keys."""
    one = {part.path.removeprefix(old.path): part.text for part in olds}
    other = {part.path.removeprefix(new.path): part.text for part in news}
    return one == other and list(one) != list(other)


def _results_cleared(
    olds: list[Part], old: Message, news: list[Piece], new: Message, end: int
) -> Iterator[Change]:
    """Results, of several parts or of other ones, that gave way to notes or to nothing: one change
    each; taken out of the lists. end: of this message."""
    was = _contents(olds, old)
    now = _contents([piece.part for piece in news], new)
    for block, before in was.items():
        after = now.get(block, [])
        texts = ["\n".join(part.text for part in parts) for parts in (before, after)]
        is_other = [part.form for part in before] != [part.form for part in after]
        if not is_other or not is_cleared(*texts):
            continue
        path, base, start, stop = f"{new.path}{block}.content", 0, end, end
        if after:
            path, base = after[0].path, after[0].base
            start = next(piece.start for piece in news if piece.part is after[0])
            stop = start + len(after[0].rendered)
        yield Change("truncated_history", path, new.segment, base, start, stop,
                     texts[0][:200], texts[1][:200], "", "a result was taken out")  # fmt: skip
        is_whole = not after and bool(block)  # what the block says of itself is as it was
        olds[:] = [p for p in olds if not _is_of(p, before, old.path + block, is_whole)]
        news[:] = [p for p in news if not _is_of(p.part, after, new.path + block, is_whole)]


def _is_of(part: Part, parts: list[Part], block: str, is_whole: bool) -> bool:
    """Whether a part is one of these, or of a whole block."""
    return any(part is one for one in parts) or (is_whole and part.path.startswith(block))


def _contents(parts: list[Part], message: Message) -> dict[str, list[Part]]:
    """What tools gave back, by the block of the message that it stands in."""
    found: dict[str, list[Part]] = {}
    for part in parts:
        within = part.path.removeprefix(message.path)
        block = _BLOCK.match(within)
        if is_told_by_a_tool(part, message.role) and _is_content(part):
            found.setdefault(block[0] if block else "", []).append(part)
    return found


_BLOCK = re.compile(r"\.content\[\d+\](?=\.(?:content|output))")


def _is_content(part: Part) -> bool:
    """Whether a part is what a message holds, and not which message it is."""
    is_named = part.path.endswith((".type", "_id", ".name", ".role"))
    return part.form != "glue" and not is_named and part.value != "null" and not _is_empty(part)


def _is_empty(part: Part) -> bool:
    """Whether a part is content that holds nothing: null, an empty list."""
    return part.form == "json" and not part.value and part.path.endswith(".content")


def _is_type(part: Part) -> bool:
    """Whether a part is what a block of text says of itself."""
    return part.path.endswith("].type") and part.value in _TYPES


def _part_gap(
    olds: list[Part],
    news: list[Piece],
    behind: tuple[Part | None, Piece | None],
    here: Prompt,
    new: Message,
) -> Iterator[Change]:
    """behind: what stands behind the gap on both sides, equal in both."""
    pairs = _paired([p.text for p in olds], [p.part.text for p in news])
    for a, b in pairs:
        yield from _part_changes(olds[a], news[b].part, news[b].start, new)
    paired = {a for a, _ in pairs}, {b for _, b in pairs}
    for piece in [p for b, p in enumerate(news) if b not in paired[1]]:
        part, stop = piece.part, piece.start + len(piece.part.rendered)
        kind, label = _kind_of_part("", part.text, part.form, new)
        first = part.base + _shared_head(part, behind[0])
        yield Change(
            kind, part.path, new.segment, first, piece.start, stop, "", part.text[:200], label
        )
    for number, old in enumerate(olds):
        if number in paired[0]:
            continue
        kind, label = _kind_of_part(old.text, "", old.form, new)
        block = _WHOLE_BLOCK.fullmatch(within(old.path))
        if kind == "edited_message" and block and _is_left_out(old, new):
            kind = "truncated_history"
        now = next((news[b] for a, b in pairs if a > number), behind[1])
        path, first, start = new.path, 0, here.starts[new.end]
        if old.path.endswith("].content") and not _have(news, new.path):  # it is null
            path = f"{new.path}.content"
        elif block and now is None:  # of a list that ends before it now
            path = f"{new.path}{block['list']}"
        elif now is not None:  # what stands in its place now
            path, start = now.part.path, now.start
            first = now.part.base + _shared_head(old, now.part)
        yield Change(kind, path, new.segment, first, start, start, old.text[:200], "", label)


def _is_left_out(old: Part, message: Message) -> bool:
    """Whether a block of what was said is gone, as old pictures are: no call, which stands for what
    was done, and no reminder, which is put where it is wanted."""
    is_said = message.segment not in (SYSTEM, TOOLS) and not call_id(old)
    return is_said and not old.text.lstrip().startswith("<system-reminder")


_WHOLE_BLOCK = re.compile(r"(?P<list>\.content(?:\[\d+\]\.(?:content|output))?)\[\d+\](?:\.text)?")


def _have(news: list[Piece], path: str) -> bool:
    """Whether a message has a content yet."""
    return any(piece.part.path.startswith(f"{path}.content") for piece in news)


def _paired(olds: list[str], news: list[str]) -> list[tuple[int, int]]:
    """Which texts are the same ones: in order, where there are as many; else each of the fewer with
    one of the others, so that all pairs together are as alike as may be."""
    if len(olds) == len(news):
        return [(n, n) for n in range(len(olds))]
    fewer, others = (olds, news) if len(olds) < len(news) else (news, olds)
    if len(fewer) * (len(others) - len(fewer) + 1) > _MOST_COMPARED:
        found = _paired_in_turn(fewer, others)
    else:
        found = _paired_best(fewer, others)
    return found if fewer is olds else [(b, a) for a, b in found]


def _paired_best(fewer: list[str], others: list[str]) -> list[tuple[int, int]]:
    """(number, number of the other) in increasing order; of equals the earliest."""
    words = [words_of(text) for text in others]
    spare = len(others) - len(fewer)
    best = [0.0] * (spare + 1)  # of the texts so far, the last of them at number + shift at most
    chosen: list[list[int]] = []
    for number, text in enumerate(fewer):
        own = words_of(text)
        row, at, most = [], 0, -1.0
        new: list[float] = []
        for shift in range(spare + 1):
            score = best[shift] + overlap(own, words[number + shift])
            if score > most:
                most, at = score, shift
            new.append(most)
            row.append(at)
        best = new
        chosen.append(row)
    shift = spare
    found: list[tuple[int, int]] = []
    for number in range(len(fewer) - 1, -1, -1):
        shift = chosen[number][shift]
        found.append((number, number + shift))
    return found[::-1]


def _paired_in_turn(fewer: list[str], others: list[str]) -> list[tuple[int, int]]:
    """The same for many: each with the first of the others that it is like, if there is one that
    leaves enough for the rest."""
    words = [words_of(text) for text in others]
    found: list[tuple[int, int]] = []
    at = 0
    for number, text in enumerate(fewer):
        last = len(others) - (len(fewer) - number)
        own = words_of(text)
        like = (n for n in range(at, last + 1) if overlap(own, words[n]) >= _ALIKE)
        place = next(like, at)
        found.append((number, place))
        at = place + 1
    return found


_ALIKE = 0.5
_MOST_COMPARED = 4_096


def _shared_head(part: Part, other: Part | None) -> int:
    """Characters that two texts begin with."""
    if other is None or "json" in (part.form, other.form):
        return 0
    return common_length(part.text, other.text)


def _kind_of_part(old: str, here: str, form: str, message: Message) -> tuple[Kind, str]:
    """(kind, label) of a part of which the other side has nothing."""
    if message.role == "tool" and old and not here:
        return "truncated_history", ""  # the result of a tool was taken out
    found = leaf_changes(old, here, message.role) if form != "json" else []
    return (found[0].kind, found[0].label) if found else ("edited_message", "")


def _part_changes(old: Part, part: Part, start: int, message: Message) -> Iterator[Change]:
    if is_reasoning(old, message.role) and is_reasoning(part, message.role):
        yield from _of_reasoning(old, part, start, message)
        return
    if old.is_image and part.form != "json":  # a note stands where it was
        kind = kind_of_note(part.text)
        yield _whole_change(kind, old, part, 0, start, message)
        return
    if _are_arguments_cleared(old, part):
        yield _whole_change("truncated_history", old, part, 0, start, message)
        return
    if part.form == old.form != "json" and is_call_id(part, part.path):
        first = common_length(old.text, part.text)  # made anew, whatever it is made of
        yield _whole_change("request_id", old, part, first, start, message)
        return
    if old.form == "json" or part.form == "json":
        if old.is_image and part.is_image:
            yield _image_change(old, part, start, message)
        elif call_id(old) and differ_in_signatures(old, part):
            first = common_length(old.text, part.text)
            yield _whole_change("template_flip", old, part, first, start, message)
        else:
            found = json_changes(
                old.value if old.form == "json" else old.text,
                part.value if part.form == "json" else part.text,
                Place(part.path, old.path, message.segment, message.role), start,
            )  # fmt: skip
            found = _as_one("request_id", found, lambda c: is_call_id(part, c.json_path))
            yield from _with_cleared_arguments(old, part, found)
        return
    if message.role == "assistant" and are_one_without(old.text, part.text):
        first = common_length(old.text, part.text)
        yield _whole_change("template_flip", old, part, first, start, message)
        return
    is_result = is_told_by_a_tool(part, message.role)
    cut = (result_shortened if is_result else shortened)(old.text, part.text)
    if cut is not None and message.segment not in (SYSTEM, TOOLS):
        kind, first = cut
        yield _whole_change(kind, old, part, first, start, message)
        return
    yield from _of_leaves(leaf_changes(old.text, part.text, message.role), part, start, message)


def _are_arguments_cleared(old: Part, part: Part) -> bool:
    """Whether nothing is left of what a tool was called with."""
    is_told = part.path.endswith((".arguments", ".input")) and part.form == old.form
    return is_told and part.text.strip() in _EMPTY and len(old.text) > len(part.text)


def _with_cleared_arguments(old: Part, part: Part, found: Iterator[Change]) -> Iterator[Change]:
    """The changes of a call, where nothing is left of its arguments with those as one."""
    was, now = _arguments_of(old), _arguments_of(part)
    if now.strip() not in _EMPTY or len(was) <= len(now):
        yield from found
        return
    of_them = (".arguments", ".input")
    for change in _as_one("truncated_history", found, lambda c: c.json_path.endswith(of_them)):
        is_told = change.json_path.endswith(of_them)
        yield replace(change, there=was[:200], here=now) if is_told else change


def _as_one(
    kind: Kind, found: Iterator[Change], are_one: Callable[[Change], bool]
) -> Iterator[Change]:
    """Changes with some of them as one of this kind, behind the others."""
    told: Change | None = None
    for change in found:
        if not are_one(change):
            yield change
        elif told is None:
            told = replace(change, kind=kind)
        else:
            told = replace(told, stop=max(told.stop, change.stop))
    if told is not None:
        yield told


def _arguments_of(part: Part) -> str:
    """What a tool is called with, "" for what is no call."""
    if not isinstance(part.value, dict):
        return ""
    inner = part.value.get("function")
    call = inner if isinstance(inner, dict) else part.value
    given = call.get("arguments", call.get("input"))
    return given if isinstance(given, str) else "" if given is None else str(given)


_EMPTY = ("", "{}", "[]", "null", '"{}"', '""')


def _of_leaves(
    found: Sequence[LeafChange], part: Part, start: int, message: Message
) -> Iterator[Change]:
    for change in found:
        yield Change(
            change.kind, part.path, message.segment, part.base + change.first,
            start + part.offset_of(change.start), start + part.offset_of(change.stop),
            change.there[:200], change.here[:200], change.label, change.detail, change.heading,
            start + part.offset_of(change.first), behind=change.behind,
        )  # fmt: skip


def _of_reasoning(old: Part, part: Part, start: int, message: Message) -> Iterator[Change]:
    """Other reasoning in its place, or none: what it said was not edited. Another way to write the
    same is told as such."""
    texts = _thought(old), _thought(part)
    found = leaf_changes(texts[0], texts[1], message.role) if all(texts) else []
    if found and part.form != "json" and all(change.kind in _WRITTEN for change in found):
        yield from _of_leaves(found, part, start, message)
        return
    first = common_length(*texts)
    detail = "other reasoning" if all(texts) else "reasoning was left out"
    detail = "reasoning was put in" if texts[1] and not texts[0] else detail
    change = _whole_change("template_flip", old, part, min(first, len(part.text)), start, message)
    yield replace(change, detail=detail)


_WRITTEN = ("white_space", "hidden_characters", "unicode_form", "number_format", "key_order")


def _thought(part: Part) -> str:
    """The words of reasoning: of null none."""
    return "" if part.form == "json" and not part.value else part.text


def _whole_change(
    kind: Kind, old: Part, part: Part, first: int, start: int, message: Message
) -> Change:
    """From the first character that differs on; what both have at the end is no part of it."""
    same = common_length(old.text[first:][::-1], part.text[first:][::-1])
    end = max(first, len(part.text) - same)
    return Change(kind, part.path, message.segment, part.base + first,
                  start + part.offset_of(first), start + part.offset_of(end),
                  old.text[first : first + 200], part.text[first : first + 200])  # fmt: skip


def _image_change(old: Part, part: Part, start: int, message: Message) -> Change:
    """The string of an image that differs, for instance `image_url.url`."""
    where = Place(part.path, old.path, message.segment, "")
    found = list(json_changes(old.value, part.value, where, start))
    first = found[0]
    return replace(first, kind="image_encoding", stop=start + len(part.rendered))


def first_difference(there: Prompt, old: Message, here: Prompt, new: Message) -> tuple[int, int]:
    """(the part of this message that the other one has otherwise, characters of it that both have):
    what blocks say of themselves may be the same. Of other roles the first part."""
    first = first_part(here, new)
    if old.role != new.role:
        return first, 0
    olds = [part for part in there.parts[old.begin : old.end] if part.form != "glue"]
    at = 0
    for number in range(first, new.end):
        part = here.parts[number]
        if part.form == "glue":
            continue
        if at >= len(olds) or olds[at].text != part.text:
            return number, common_length(olds[at].text, part.text) if at < len(olds) else 0
        at += 1
    return first, common_length(there.parts[first_part(there, old)].text, here.parts[first].text)


def first_path(prompt: Prompt, message: Message) -> str:
    """Where its first part that is not glue stands."""
    return prompt.parts[first_part(prompt, message)].path or message.path

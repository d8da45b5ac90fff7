"""One message as it was and as it is, part by part: texts, blocks of content, calls of tools."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from hitpath.doctor.change import Change
from hitpath.doctor.compare_tools import Place, json_changes
from hitpath.doctor.history import shortened
from hitpath.doctor.leaf import leaf_changes
from hitpath.doctor.prompt import SYSTEM, TOOLS, Message, Part, Prompt
from hitpath.doctor.textdiff import equal_runs
from hitpath.doctor.words_of_kinds import THINK, THOUGHT

_MESSAGE = re.compile(r"^\w+\[\d+\]")
_THOUGHTS = ("thinking", "reasoning", "redacted_thinking", "signature", "thought")


def message_changes(there: Prompt, old: Message, here: Prompt, new: Message) -> Iterator[Change]:
    """Part by part: parts that are equal are paired, those between them in order."""
    olds = [p for p in there.parts[old.begin : old.end] if p.form != "glue"]
    numbers = [n for n in range(new.begin, new.end) if here.parts[n].form != "glue"]
    news = [here.parts[n] for n in numbers]
    if len(olds) == len(news) > 1 and _same_members(old, olds, new, news):
        start = here.starts[numbers[0]]
        yield Change("key_order", new.path, new.segment, 0, start, start, there_path=old.path)
        return
    one, other = [p.text for p in olds], [p.text for p in news]
    last_a = last_b = 0
    for a, b, n in [*equal_runs(one, other), (len(olds), len(news), 0)]:
        yield from _part_gap(
            olds[last_a:a], news[last_b:b], [here.starts[k] for k in numbers[last_b:b]], here, new
        )
        last_a, last_b = a + n, b + n


def _same_members(old: Message, olds: list[Part], new: Message, news: list[Part]) -> bool:
    """Whether two messages are the same but for the order of their keys."""
    one = {part.path.removeprefix(old.path): part.text for part in olds}
    other = {part.path.removeprefix(new.path): part.text for part in news}
    return one == other and list(one) != list(other)


def _part_gap(
    olds: list[Part], news: list[Part], starts: list[int], here: Prompt, new: Message
) -> Iterator[Change]:
    while len(olds) > len(news) and (at := _thought(olds)) is not None:
        old = olds.pop(at)
        start = here.starts[first_part(here, new)]
        part = here.parts[first_part(here, new)]
        yield Change("template_flip", part.path or new.path, new.segment, 0, start, start,
                     old.text[:200], "", "", "reasoning was left out")  # fmt: skip
    while len(news) > len(olds) and (at := _thought(news)) is not None:
        part, start = news.pop(at), starts.pop(at)
        stop = start + len(part.rendered)
        yield Change("template_flip", part.path, new.segment, part.base, start, stop,
                     "", part.text[:200], "", "reasoning was put in")  # fmt: skip
    if len(olds) != len(news):
        yield from _thoughts_alone(olds, news, starts, here, new)
    for old, part, start in zip(olds, news, starts, strict=False):
        yield from _part_changes(old, part, start, new)
    for part, start in list(zip(news, starts, strict=True))[len(olds) :]:
        yield Change("edited_message", part.path, new.segment, 0, start, start + len(part.rendered),
                     "", part.text[:200])  # fmt: skip
    for old in olds[len(news) :]:
        start = here.starts[new.end] if not starts else starts[-1]
        yield Change("edited_message", new.path, new.segment, 0, start, start, old.text[:200], "")


def _thoughts_alone(
    olds: list[Part], news: list[Part], starts: list[int], here: Prompt, new: Message
) -> Iterator[Change]:
    """Texts that were nothing but reasoning, and that only one of the two has; they are taken out
    of the lists."""
    if not news:
        for old in [part for part in olds if _is_all_thought(part)]:
            olds.remove(old)
            start = here.starts[first_part(here, new)]
            field = _MESSAGE.sub("", old.path, count=1)
            yield Change("template_flip", new.path + field, new.segment, 0, start, start,
                         old.text[:200], "", "", "reasoning was left out")  # fmt: skip
    elif not olds:
        for number in [n for n, part in enumerate(news) if _is_all_thought(part)][::-1]:
            part, start = news.pop(number), starts.pop(number)
            yield Change("template_flip", part.path, new.segment, part.base, start,
                         start + len(part.rendered), "", part.text[:200], "",
                         "reasoning was put in")  # fmt: skip


def _is_all_thought(part: Part) -> bool:
    """Whether a text is blocks of reasoning, perhaps empty, and nothing else."""
    if part.form == "json" or not THINK.search(part.text[:400]):
        return False
    return not THOUGHT.sub("", part.text).strip()


def _thought(parts: Sequence[Part]) -> int | None:
    """The number of a part that is reasoning."""
    for number, part in enumerate(parts):
        name = part.path.rpartition(".")[2]
        kind = part.value.get("type") if isinstance(part.value, dict) else part.text.strip('"')
        if name.startswith(_THOUGHTS) or str(kind) in _THOUGHTS:
            return number
    return None


def _part_changes(old: Part, part: Part, start: int, message: Message) -> Iterator[Change]:
    if old.form == "json" or part.form == "json":
        if old.is_image and part.is_image:
            yield _image_change(old, part, start, message)
        else:
            yield from json_changes(
                old.value if old.form == "json" else old.text,
                part.value if part.form == "json" else part.text,
                Place(part.path, old.path, message.segment, message.role), start,
            )  # fmt: skip
        return
    cut = shortened(old.text, part.text)
    if cut is not None and message.segment not in (SYSTEM, TOOLS):
        kind, first = cut
        begin, stop = start + part.offset_of(first), start + len(part.rendered)
        yield Change(kind, part.path, message.segment, part.base + first, begin, stop,
                     old.text[first : first + 200], part.text[first : first + 200])  # fmt: skip
        return
    for change in leaf_changes(old.text, part.text, message.role):
        yield Change(
            change.kind, part.path, message.segment, part.base + change.first,
            start + part.offset_of(change.start), start + part.offset_of(change.stop),
            change.there[:200], change.here[:200], change.label, change.detail, change.heading,
            start + part.offset_of(change.first),
        )  # fmt: skip


def _image_change(old: Part, part: Part, start: int, message: Message) -> Change:
    """The string of an image that differs, for instance `image_url.url`."""
    where = Place(part.path, old.path, message.segment, "")
    found = list(json_changes(old.value, part.value, where, start))
    first = found[0]
    return replace(first, kind="image_encoding", stop=start + len(part.rendered))


def first_part(prompt: Prompt, message: Message) -> int:
    """The first part that is not glue, else the head."""
    for number in range(message.begin, message.end):
        if prompt.parts[number].form != "glue":
            return number
    return message.begin


def first_path(prompt: Prompt, message: Message) -> str:
    """Where its first part that is not glue stands."""
    return prompt.parts[first_part(prompt, message)].path or message.path

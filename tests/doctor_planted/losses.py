"""A slow, obvious oracle of what a planted defect costs, from docs/doctor.md ("What it cost") and
docs/what-counts-as-a-hit.md: every prompt against every earlier one, byte by byte.

The generator knows each prompt without what it planted, and where every byte of it stands there
(its image). Nothing of hitpath is imported.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from doctor_planted.marks import CLOSE, OPEN

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]
Context = tuple[tuple[str, str], ...]
PLANTED = -1
"""The image of a byte that was planted: it has none."""
BLOCK = 16


class Mark(NamedTuple):
    kind: str
    start: int
    text: bytes


@dataclass(frozen=True)
class Prompt:
    """text and clean: bytes as rendered, and without what was planted. image: for each byte of
    text its place in clean. marks: what was planted: kind, first byte, text."""

    id: str
    context: Context
    text: Bytes
    image: Places
    clean: Bytes
    marks: tuple[Mark, ...] = ()


def marked_prompt(id_: str, context: Context, marked: str) -> Prompt:
    """From the rendered text in which marks (see marks.py) still stand."""
    text, clean = bytearray(), bytearray()
    image: list[int] = []
    marks: list[Mark] = []
    rest = marked
    while rest:
        before, _, rest = rest.partition(OPEN)
        plain = before.encode()
        image += range(len(clean), len(clean) + len(plain))
        text += plain
        clean += plain
        inside, _, rest = rest.partition(CLOSE)
        kind, bar, planted = inside.partition("|")
        if bar:
            marks.append(Mark(kind, len(text), planted.encode()))
            text += planted.encode()
            image += [PLANTED] * len(planted.encode())
    return Prompt(id_, context, array(text), np.array(image), array(clean), tuple(marks))


def shuffled_prompt(id_: str, context: Context, text: str, clean: str) -> Prompt:
    """Where the planter only put parts into another order: every byte is one of the clean text,
    and which one matters only to a match that ends within the part."""
    assert sorted(text) == sorted(clean)
    image = np.arange(len(text.encode()))
    return Prompt(id_, context, array(text.encode()), image, array(clean.encode()))


def cut_prompt(id_: str, context: Context, pieces: Sequence[tuple[str, bool, bool]]) -> Prompt:
    """From pieces of text: whether each stands in the prompt, and in the clean one."""
    text, clean = bytearray(), bytearray()
    image: list[int] = []
    for piece, is_sent, is_clean in pieces:
        data = piece.encode()
        if is_sent:
            text += data
            first = len(clean)
            image += range(first, first + len(data)) if is_clean else [PLANTED] * len(data)
        if is_clean:
            clean += data
    return Prompt(id_, context, array(text), np.array(image), array(clean))


def array(data: bytes | bytearray) -> Bytes:
    return np.frombuffer(bytes(data), dtype=np.uint8)


def common(a: Bytes, b: Bytes) -> int:
    size = min(len(a), len(b))
    differ = np.flatnonzero(a[:size] != b[:size])
    return int(differ[0]) if len(differ) else size


def rung_six(new: Prompt, earlier: Sequence[Prompt]) -> int:
    """The longest beginning that any earlier prompt has, salt and adapter free."""
    fixed = bound(new)
    return max((common(new.text, old.text) for old in earlier if bound(old) == fixed), default=0)


def bound(prompt: Prompt) -> Context:
    return tuple(f for f in prompt.context if f[0] not in ("salt", "adapter", "media_salt"))


def diverged(new: Prompt, earlier: Sequence[Prompt]) -> Places:
    """Rung 7: the bytes from rung 6 on whose image lies in the longest beginning of the clean
    prompt that the clean form of an earlier prompt of the context has. As places in the text."""
    alike = [old for old in earlier if old.context == new.context]
    match = max((common(new.clean, old.clean) for old in alike), default=0)
    return _from(new, earlier, (new.image != PLANTED) & (new.image < match))


def lost_to(new: Prompt, relative: Prompt, earlier: Sequence[Prompt]) -> Places:
    """The bytes from rung 6 on that one earlier prompt has, there or at another place, up to where
    the two differ without anything planted. Planted text that both have is there too."""
    match = common(new.clean, relative.clean)
    there = np.isin(new.image, relative.image[relative.image != PLANTED])
    there &= new.image < match
    for mark, other in zip(new.marks, relative.marks, strict=False):
        before = int(np.count_nonzero(new.image[: mark.start] != PLANTED))
        if mark.text == other.text and before <= match:
            there[mark.start : mark.start + len(mark.text)] = True
    return _from(new, earlier, there)


def _from(new: Prompt, earlier: Sequence[Prompt], chosen: npt.NDArray[np.bool_]) -> Places:
    places = np.flatnonzero(chosen)
    return places[places >= rung_six(new, earlier)]


def by_kind(new: Prompt, old: Prompt, lost: Places) -> dict[str, int]:
    """Lost bytes by the last planted text before them that the earlier prompt has otherwise."""
    counts: dict[str, int] = {}
    before = [mark.text for mark in old.marks]
    marks = [m for m, text in zip(new.marks, before, strict=True) if m.text != text]
    for place in lost:
        kind = [mark.kind for mark in marks if mark.start <= place][-1]
        counts[kind] = counts.get(kind, 0) + 1
    return counts


def hits(prompts: Sequence[Prompt]) -> int:
    """Hit tokens in an unlimited cache, in whole blocks of the same context."""
    total = 0
    for i, new in enumerate(prompts):
        alike = [old for old in prompts[:i] if old.context == new.context]
        match = max((common(new.text, old.text) for old in alike), default=0)
        total += match // BLOCK * BLOCK
    return total

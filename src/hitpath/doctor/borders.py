"""Instructions in several messages or blocks that are cut elsewhere, as behind a line that was put
in front: what stands in the next one now, in the same order, was not taken out of the text."""

from collections.abc import Sequence
from typing import NamedTuple

from hitpath.doctor.change import Change
from hitpath.doctor.prompt import SYSTEM, Prompt

_LEAST_CHARS = 12
"""Of what stands on the other side of a border now."""


class _Texts(NamedTuple):
    """The texts of instructions in order, and the place of each by its path."""

    texts: list[str]
    places: dict[str, int]

    def beside(self, path: str, step: int) -> str:
        """The text before or behind one, "" where there is none."""
        number = self.places.get(path, -9) + step
        return self.texts[number] if 0 <= number < len(self.texts) else ""


def without_borders(changes: Sequence[Change], there: Prompt, here: Prompt) -> list[Change]:
    """The changes without those that only show where the texts of instructions are cut; all of
    them, where there are no others."""
    sides = _texts_of(there), _texts_of(here)
    kept = [change for change in changes if not _is_border(change, *sides)]
    return kept or list(changes)


def _texts_of(prompt: Prompt) -> _Texts:
    parts = [p for p in prompt.parts if p.segment == SYSTEM and p.form in ("string", "escaped")]
    parts = [p for p in parts if not p.path.endswith("].type")]
    return _Texts([p.text for p in parts], {p.path: number for number, p in enumerate(parts)})


def _is_border(change: Change, there: _Texts, here: _Texts) -> bool:
    """Whether a text came or went at the beginning or the end of another one, in which it stood
    right beside it before, or does now."""
    gone, came = change.there.strip(), change.here.strip()
    if change.segment != SYSTEM or bool(gone) == bool(came) or len(gone or came) < _LEAST_CHARS:
        return False
    path, text = change.json_path, here.beside(change.json_path, 0)
    rest = text[change.char_offset :].strip()
    if not change.char_offset:
        step = -1
    elif rest.startswith(came) and len(rest) <= max(len(came), len(change.here)):
        step = 1
    else:
        return False
    sides = there.beside(path, step), here.beside(path, step)
    held, other = sides if came else sides[::-1]
    stands = held.rstrip().endswith if step < 0 else held.lstrip().startswith
    return stands(gone or came) and (gone or came) not in other

"""Which pictures were asked for: `--svg FILE`, `--svg NAME=FILE`, and the same for `--png`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hitpath.core import SettingError

Kind = Literal["svg", "png"]
PAGE = "page"
NAMES = (PAGE, "waterfall", "curve", "over-time", "gaps", "lengths", "icicle")


@dataclass(frozen=True, slots=True)
class PictureFile:
    """One picture: `name` in NAMES, and the file that it goes to (`-` for standard output)."""

    kind: Kind
    name: str
    path: str

    @property
    def option(self) -> str:
        """As it was typed, but for the file."""
        return f"--{self.kind} {self.name}"


def picture_files(svg: Sequence[str], png: Sequence[str]) -> tuple[PictureFile, ...]:
    """What was typed, in order. Raises SettingError for a picture that there is not."""
    kinds: tuple[tuple[Kind, Sequence[str]], ...] = (("svg", svg), ("png", png))
    return tuple(_parsed(kind, typed) for kind, all_typed in kinds for typed in all_typed)


def _parsed(kind: Kind, typed: str) -> PictureFile:
    """NAME=FILE; without a NAME (letters and dashes before the first =) the terminal page."""
    name, equals, path = typed.partition("=")
    if not equals or not re.fullmatch(r"[A-Za-z-]+", name):
        return PictureFile(kind, PAGE, typed)
    if name not in NAMES:
        cause = f"{name!r} is not one of {', '.join(NAMES)} (a file of that name: ./{typed})"
        raise SettingError(f"--{kind} {typed}", cause)
    if not path:
        raise SettingError(f"--{kind} {typed}", "names no file")
    return PictureFile(kind, name, path)

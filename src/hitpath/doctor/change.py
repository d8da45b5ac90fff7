"""One difference between a request and its relative, and the words that tell its kind."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "clock", "request_id", "counter", "random_sample", "per_user_field", "attribution",
    "tool_order", "key_order", "array_order", "white_space", "hidden_characters", "unicode_form",
    "number_format", "template_flip", "retokenised", "truncated_history", "compacted_history",
    "edited_message", "moved_block", "tool_set", "context_changed", "position_shift",
    "image_encoding", "seam_merge", "new_content",
    "?id", "?number", "?words",
]  # fmt: skip
"""The last three are open: which kind they are tells the trace as a whole (resolve.py)."""

OPEN: tuple[Kind, ...] = ("?id", "?number", "?words")


@dataclass(frozen=True, slots=True)
class Change:
    """Bytes [start, stop) of the rendered prompt stand where the relative has others (or none:
    start = stop). char_offset: characters from the beginning of the string at json_path, or of its
    text where it is no string. there, here: what gave way to what, shortened. label, behind: the
    words before it and behind it in its line, numbers masked; heading: how that line begins.
    detail: what a person must know besides. at: the byte of the first character that differs, -1
    for `start`; there_path: of a subtree, where it stands in the relative."""

    kind: Kind
    json_path: str
    segment: str
    char_offset: int
    start: int
    stop: int
    there: str = ""
    here: str = ""
    label: str = ""
    detail: str = ""
    heading: str = ""
    at: int = -1
    there_path: str = ""
    behind: str = ""

    @property
    def offset(self) -> int:
        """Where the first difference is in the rendered prompt."""
        return self.start if self.at < 0 else self.at


@dataclass(frozen=True, slots=True)
class Comparison:
    """A request against its relative. changes: in the order of the prompt, new content at its end
    not among them. kept: stretches [start, stop) of the rendered prompt, in order, that the
    relative has too, wherever they stand there. new_at: where new content begins, None if there is
    none."""

    changes: tuple[Change, ...]
    kept: tuple[tuple[int, int], ...]
    new_at: "NewAt | None" = None


@dataclass(frozen=True, slots=True)
class NewAt:
    """The first place that is new and no defect."""

    json_path: str
    segment: str
    char_offset: int
    start: int

"""Where a request's own paths lead in a row of its file.

Inside, every request has one form, and so one way to name its places: `messages[0].content`,
`tools[3].function`. A row may have it all elsewhere (`request_body.messages`), under other names
(`attributes["gen_ai.input.messages"][0].parts`), or as JSON within a string.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import msgspec

from hitpath.canonical.json_path import joined

Step = str | int
Steps = tuple[Step, ...]
_STEP = re.compile(r"\[(\d+)\]|\.?([^.\[\]]+)|\[(\"(?:[^\"\\]|\\.)*\")\]")


@dataclass(frozen=True, slots=True)
class InRow:
    """names: steps in the request -> steps in the row, the longest that fit count; none: a request
    stands in its row as it is."""

    names: Mapping[Steps, Steps] = field(default_factory=dict)

    def steps(self, path: str) -> Steps:
        """The steps in the row."""
        steps = tuple(path_steps(path))
        for length in range(len(steps), -1, -1) if self.names else ():
            found = self.names.get(steps[:length])
            if found is not None:
                return (*found, *steps[length:])
        return steps

    def path(self, path: str) -> str:
        """The same as a JSON path."""
        return path_of(self.steps(path)) if self.names else path


def path_steps(path: str) -> list[Step]:
    """The keys and indexes of a JSON path."""
    steps: list[Step] = []
    for index, name, quoted in _STEP.findall(path):
        steps.append(int(index) if index else name or msgspec.json.decode(quoted))
    return steps


def path_of(steps: Sequence[Step]) -> str:
    """The JSON path of keys and indexes."""
    return reduce(joined, steps, "")


def unfolded(value: Any) -> Any:
    """What a string holds that is the JSON of an object or an array; any other value as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return msgspec.json.decode(value)
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            return value
    return value

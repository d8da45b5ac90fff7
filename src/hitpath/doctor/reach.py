"""Whether a fix mends the difference that it is replayed for.

A fix rewrites a whole text or tool, and may leave just that difference in it: keys are sorted, the
array that broke the prefix means its order. So requests that have a defect are compared with their
relatives once more, both as the fix writes them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from hitpath.doctor.change import Change
from hitpath.doctor.compare import compare
from hitpath.doctor.defects import Defect
from hitpath.doctor.diagnose import Finding, Requests
from hitpath.doctor.forms import parts_of_form, place
from hitpath.doctor.prompt import Message, Part, Prompt
from hitpath.doctor.steps import Plan, Steps

_MOST_LOOKED_AT, _FEW = 24, 4
_MANY, _MOST_DEFECTS = 16, 128
Key = tuple[int, str, str, str]


@dataclass(frozen=True, slots=True)
class Cured:
    """Of so many requests with a defect that were looked at, those that lose it."""

    num: int
    looked_at: int

    @property
    def is_some(self) -> bool:
        """Whether it is more than a few that are mended by the way: what a replay gives is a gain
        of mending the defect."""
        return 4 * self.num >= self.looked_at > 0


def key_of(defect: Defect) -> Key:
    """Its application, kind and place."""
    return defect.application, defect.kind, defect.json_path, defect.segment


def cured_by(
    plan: Plan, defects: Sequence[Defect], requests: Requests, findings: Sequence[Finding]
) -> dict[Key, Cured]:
    """How many of a sample of their requests a plan of rewriting mends, for as many defects as
    matter. defects: most expensive first; findings: one a request, in the order of the trace."""
    steps = Steps(plan)
    found: dict[Key, Cured] = {}
    for number, defect in enumerate(defects[:_MOST_DEFECTS]):
        most = _MOST_LOOKED_AT if number < _MANY else _FEW
        looked_at = defect.rows[:: -(-len(defect.rows) // most)]
        num = sum(_is_cured(findings[row], defect, requests, steps) for row in looked_at)
        found[key_of(defect)] = Cured(num, len(looked_at))
    return found


def _is_cured(finding: Finding, defect: Defect, requests: Requests, steps: Steps) -> bool:
    one, two = requests.of(finding.relative), requests.of(finding.row)
    if one is None or two is None:
        return False
    there, here = one.prompt, two.prompt
    before = _at(defect, compare(there, here, finding.same_session).changes)
    fixed = fixed_prompt(there, steps), fixed_prompt(here, steps)
    after = _at(defect, compare(*fixed, finding.same_session).changes)
    own = sum(
        1
        for change in finding.comparison.changes
        if change.kind == defect.kind and _is_at(defect, change)
    )
    return after <= max(before - max(own, 1), 0)


def _at(defect: Defect, changes: Sequence[Change]) -> int:
    """How many stand where the defect does."""
    return sum(1 for change in changes if _is_at(defect, change))


def _is_at(defect: Defect, change: Change) -> bool:
    own = place(defect.json_path, defect.segment)
    return place(change.json_path, change.segment) == own


def fixed_prompt(prompt: Prompt, steps: Steps) -> Prompt:
    """A prompt with its parts in the form that a plan gives them."""
    values = list(parts_of_form(prompt, steps))
    num_tools = len(prompt.tools)
    new: dict[int, Part] = {}
    for number, (_, value) in zip(prompt.tools, values[:num_tools], strict=True):
        new[number] = _with_value(prompt.parts[number], value)
    by_part = {id(part): value for part, value in values[num_tools:]}
    for number, part in enumerate(prompt.parts):
        if id(part) in by_part:
            new[number] = _with_value(part, by_part[id(part)])
    parts = tuple(new.get(number, part) for number, part in enumerate(prompt.parts))
    messages = tuple(_with_key(message, parts, new) for message in prompt.messages)
    return replace(prompt, parts=parts, messages=messages)


def _with_value(part: Part, value: object) -> Part:
    if part.form == "json":
        return replace(part, text=msgspec.json.encode(value).decode(), value=value)
    return replace(part, text=str(value))


def _with_key(message: Message, parts: Sequence[Part], new: dict[int, Part]) -> Message:
    """A message, equal to those that are rendered alike."""
    own = range(message.begin, message.end)
    if not any(number in new for number in own):
        return message
    key = hash((message.role, *((parts[n].form, parts[n].text) for n in own)))
    return replace(message, key=key)

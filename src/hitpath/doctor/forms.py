"""The canonical form of every prompt of a trace, with the image of each byte: rung 7 of the ladder,
and what a fix would have sent.

Known where a trace counts in bytes of text; rows without a structure that is known keep their own
form. Offsets are bytes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hitpath.canonical.tail import HEADER
from hitpath.core import Progress
from hitpath.doctor.diagnose import Requests
from hitpath.doctor.image import Image, merged_images
from hitpath.doctor.prompt import SYSTEM, Part, Prompt
from hitpath.doctor.resolve import general_path
from hitpath.doctor.steps import NewText, Plan, Steps
from hitpath.sim.events import symbols_ever_computed
from hitpath.traces.table import Ints, Runs, Trace


@dataclass(frozen=True, slots=True)
class Forms:
    """prompts: all canonical prompts, a symbol a byte. starts, new_starts, lengths: stretches of
    all images, those of row i are [ends[i - 1], ends[i]). changed: rows that have another form
    than their own, with the kinds of what changed in them."""

    prompts: Runs
    starts: Ints
    new_starts: Ints
    lengths: Ints
    ends: Ints
    changed: dict[int, tuple[str, ...]]

    def match(self, trace: Trace, roots: Ints) -> Ints:
        """Leading bytes of each canonical prompt that an earlier one has."""
        alone = replace(self.as_trace(trace), has_output=np.zeros(len(trace), dtype=np.bool_))
        return symbols_ever_computed(alone, self.prompts, roots)

    def as_trace(self, trace: Trace) -> Trace:
        """The trace with these prompts."""
        return replace(trace, prompts=self.prompts, prompt_tokens=self.prompts.lengths)

    def covered(self, match: Ints, since: Ints) -> Ints:
        """Bytes of each prompt from `since` on whose image lies within its match."""
        row = np.repeat(np.arange(len(self.ends)), np.diff(self.ends, prepend=0))
        begin = np.maximum(self.starts, since[row])
        end = np.minimum(self.starts + self.lengths, self.starts + match[row] - self.new_starts)
        sums = np.zeros(len(self.ends), dtype=np.int64)
        np.add.at(sums, row, np.maximum(end - begin, 0))
        return sums

    def stretches(self, row: int, match: int, since: int) -> list[tuple[int, int]]:
        """The same of one row, as [start, stop) of its prompt, in order."""
        found: list[tuple[int, int]] = []
        for at in range(int(self.ends[row - 1]) if row else 0, int(self.ends[row])):
            start, new = int(self.starts[at]), int(self.new_starts[at])
            stop = min(start + int(self.lengths[at]), start + match - new)
            if stop > max(start, since):
                found.append((max(start, since), stop))
        return found


def make_forms(
    trace: Trace, requests: Requests, plan: Plan, progress: Progress | None = None
) -> Forms:
    """The forms of all rows of a trace of text in bytes."""
    assert trace.has_text
    steps = Steps(plan)
    pieces: list[NDArray[np.uint8]] = []
    images: list[Ints] = []
    changed: dict[int, tuple[str, ...]] = {}
    for row in range(len(trace)):
        if progress is not None and row % 256 == 0:
            progress("canonical forms", row, len(trace))
        own = requests.symbols(row)
        request = requests.of(row)
        assert request is not None  # text is there: at least as one flat text
        rendered, its_images, kinds = form_of(request.prompt, steps)
        if kinds:
            changed[row] = kinds
            pieces.append(np.frombuffer(rendered, dtype=np.uint8))
            images.append(np.array(its_images, dtype=np.int64).reshape(-1, 3))
        else:
            pieces.append(own.astype(np.uint8, copy=False))
            images.append(np.array([[0, 0, len(own)]], dtype=np.int64))
    return _gathered(pieces, images, changed)


def form_of(
    prompt: Prompt, steps: Steps, touched: set[str] | None = None
) -> tuple[bytes, list[Image], tuple[str, ...]]:
    """(the canonical prompt, the images of its bytes, the kinds of what changed). touched: takes
    the places (place_of) of the parts that have another form."""
    made: dict[int, NewText] = {}
    source: dict[int, int] = {}
    if prompt.tools:
        order, tools = steps.tools([prompt.parts[number] for number in prompt.tools])
        for place, old, new in zip(prompt.tools, order, tools, strict=True):
            made[place], source[place] = new, prompt.tools[old]
    out: list[bytes] = []
    images: list[Image] = []
    kinds: dict[str, None] = {}
    moved: list[str] = []
    at = 0
    starts = prompt.starts
    target = target_of(prompt)
    for number, part in enumerate(prompt.parts):
        if part.form == "glue":
            new = NewText(
                part.rendered, (Image(0, 0, starts[number + 1] - starts[number]),), (), ()
            )
        elif number in made:
            new = made[number]
        else:
            new = steps.part(part, general_path(part.path))
        begin = starts[source.get(number, number)]
        images += [Image(begin + i.start, at + i.new_start, i.length) for i in new.images]
        kinds.update(dict.fromkeys(new.kinds))
        if new.moved:
            kinds["moved"] = None
        if touched is not None and (new.kinds or new.moved):
            touched.add(place_of(part))
        moved += new.moved
        out.append(new.rendered)
        at += len(new.rendered)
        if number == target and moved and steps.appends:
            block = block_of(moved).encode()
            if part.form == "escaped":
                block = msgspec.json.encode(block_of(moved))[1:-1]
            out.append(block)
            at += len(block)
    return b"".join(out), merged_images(sorted(images)), tuple(kinds)


def parts_of_form(
    prompt: Prompt, steps: Steps, touched: set[str] | None = None
) -> Iterator[tuple[Part, Any]]:
    """(part, its new string or value) of whatever a canonical prompt has in another form; of tools
    all, in their new order. touched: see form_of."""
    moved: list[str] = []
    if prompt.tools:
        order, tools = steps.tools([prompt.parts[number] for number in prompt.tools])
        for old, new in zip(order, tools, strict=True):
            moved += new.moved
            if touched is not None and (new.kinds or new.moved):
                touched.add(place_of(prompt.parts[prompt.tools[old]]))
            yield prompt.parts[prompt.tools[old]], msgspec.json.decode(new.rendered)
    target = target_of(prompt)
    for number, part in enumerate(prompt.parts):
        if part.form == "glue" or number in prompt.tools:
            continue
        new = steps.part(part, general_path(part.path))
        moved += new.moved
        if touched is not None and (new.kinds or new.moved):
            touched.add(place_of(part))
        value = _value_of(part, new)
        is_new = new.rendered != part.rendered  # by its bytes: equal objects differ in their order
        if number == target and moved and isinstance(value, str):
            value += block_of(moved)
            is_new = True
        if is_new:
            yield part, value


def place_of(part: Part) -> str:
    """Where a part stands, whatever its numbers are. That of a string ends there."""
    return place(part.path, part.segment) + ("" if part.form == "json" else "$")


def place(json_path: str, segment: str) -> str:
    """The same of a path within a segment."""
    return f"{segment == SYSTEM} {general_path(json_path)}"


def block_of(moved: Sequence[str]) -> str:
    """What stands at the end of the last message."""
    return "\n".join(("\n", HEADER, *moved))


def _value_of(part: Part, new: NewText) -> Any:
    if part.form == "json":
        return msgspec.json.decode(new.rendered)
    if part.form == "escaped":
        return msgspec.json.decode(b'"' + new.rendered + b'"')
    return new.rendered.decode()


_SAID = ("content", "text", "value", "prompt", "input", "output", "response", "result")
"""Names of what a person or a tool said, beside names and ids."""


def target_of(prompt: Prompt) -> int:
    """The part at whose end moved text goes: the last string of the last message that the model
    did not write."""
    for number in range(len(prompt.parts) - 1, -1, -1):
        part = prompt.parts[number]
        is_said = part.path.rpartition(".")[2].partition("[")[0] in _SAID
        if part.form in ("string", "escaped") and part.segment.startswith("message") and is_said:
            return number
    return len(prompt.parts) - 1


def _gathered(
    pieces: list[NDArray[np.uint8]], images: list[Ints], changed: dict[int, tuple[str, ...]]
) -> Forms:
    offsets = np.zeros(len(pieces) + 1, dtype=np.int64)
    np.cumsum([len(piece) for piece in pieces], out=offsets[1:])
    flat = np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.uint8)
    columns = np.concatenate(images) if images else np.zeros((0, 3), dtype=np.int64)
    ends = np.cumsum([len(of_row) for of_row in images]).astype(np.int64)
    return Forms(Runs(flat, offsets), columns[:, 0], columns[:, 1], columns[:, 2], ends, changed)

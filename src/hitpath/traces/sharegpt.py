"""ShareGPT conversations: [{"id", "conversations": [{"from", "value"}]}], or one a line.

Each answer to a message that is not itself an answer is one request; its prompt is all that
stands before. The format has no times.
"""

from collections import Counter
from collections.abc import Sequence

import msgspec

from hitpath.core import InputError
from hitpath.traces.conversations import Clock, Conversation, build_text, not_comparable, rows_of
from hitpath.traces.decode import RowDecoder
from hitpath.traces.rows import Row, TraceBuilder
from hitpath.traces.sources import Format, Input, ReadOptions
from hitpath.traces.table import Context, Trace

NAME = "sharegpt"
_ROLES = {"human": "user", "gpt": "assistant", "chatgpt": "assistant"}


class _Turn(msgspec.Struct, kw_only=True, rename={"speaker": "from"}):
    speaker: str
    value: str


class Shared(msgspec.Struct, kw_only=True):
    """One conversation."""

    conversations: list[_Turn]
    id: str | int | None = None
    model: str | None = None


class _Strict(Shared, forbid_unknown_fields=True, kw_only=True):
    pass


def recognises(value: object) -> bool:
    """Whether a first row or document is of this format."""
    if isinstance(value, list):
        return bool(value) and recognises(value[0])
    return isinstance(value, dict) and "conversations" in value and "hash_ids" not in value


def read(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> Trace:
    """All conversations. Raises InputError."""
    options.bytes_only(NAME)
    decoder = RowDecoder(Shared, _Strict, builder.ignored_fields)
    clock, left_out = Clock(), Counter[str]()
    number = 0
    for source in inputs:
        for place, text in rows_of(source):
            try:
                rows = _rows(decoder.decode(text, place), str(number), place, clock, left_out)
            except InputError as error:
                builder.reject(error)
            else:
                for row in rows:
                    builder.attempt(lambda row=row: row, place, not_comparable)  # type: ignore[misc]
            number += 1
    clock.add_note(builder)
    for what, count in sorted(left_out.items()):
        builder.notes.append(f"{what}: {count:,}, no requests")
    return build_text(builder, NAME)


def _rows(
    shared: Shared, number: str, place: str, clock: Clock, left_out: Counter[str]
) -> list[Row]:
    """The requests of one conversation."""
    session = number if shared.id is None else str(shared.id)
    rows: list[Row] = []
    told = Conversation()
    before = ""
    for i, turn in enumerate(shared.conversations):
        role = _ROLES.get(turn.speaker, turn.speaker)
        at = f"conversations[{i}].value"
        prompt = told.prompt() if role == "assistant" and before not in ("", role) else None
        rendered = told.add({"role": role, "content": turn.value}, at, place)
        if prompt is not None:
            output = told.reply(rendered)
            rows.append(
                Row(
                    id=f"{session}/{i}",
                    arrival_s=clock.arrival_s(None, "", place),
                    prompt=prompt,
                    prompt_tokens=len(prompt),
                    output=output,
                    output_tokens=len(output),
                    session=session,
                    model=shared.model,
                    context=Context(model=shared.model),
                )
            )
        elif role == "assistant":
            left_out["answers to nothing, or to an answer"] += 1
        before = role
    if before and before != "assistant":
        left_out["messages at the end of a conversation that nobody answered"] += 1
    return rows


FORMAT = Format(NAME, "ShareGPT conversations", recognises, read)

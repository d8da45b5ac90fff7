"""ShareGPT conversations: [{"id", "conversations": [{"from", "value"}]}], or one a line.

Each answer to a message that is not itself an answer is one request; its prompt is all that
stands before. The format has no times.
"""

from collections import Counter
from collections.abc import Sequence
from functools import partial

import msgspec

from hitpath.core import InputError
from hitpath.traces.conversations import Clock, Conversation, build_text, rows_of
from hitpath.traces.decode import RowDecoder
from hitpath.traces.in_sequence import sequence_for
from hitpath.traces.prompts import TextPrompts
from hitpath.traces.rows import Row, TraceBuilder
from hitpath.traces.sources import Format, Input, ReadOptions
from hitpath.traces.table import Trace, model_context

NAME = "sharegpt"
_MOST_TURNS = 8  # whose prompts, each with all before it, still have room
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
    decoder = RowDecoder(Shared, _Strict, builder.ignored_fields)
    prompts = TextPrompts(options.tokenizer, sequence_for(builder, inputs, _MOST_TURNS))
    clock, left_out = Clock(), Counter[str]()
    for source in inputs:
        for place, text in rows_of(source):
            try:
                shared = decoder.decode(text, place)
                rows = _rows(shared, place, prompts, clock, left_out)
            except InputError as error:
                builder.reject(error)
            else:
                for row in rows:
                    builder.attempt(partial(_same, row), place, prompts.comparable)
    clock.add_note(builder)
    for what, count in sorted(left_out.items()):
        builder.notes.append(f"{what}: {count:,}, no requests")
    return build_text(builder, NAME, prompts)


def _same(row: Row) -> Row:
    return row


def _rows(
    shared: Shared,
    place: str,
    prompts: TextPrompts,
    clock: Clock,
    left_out: Counter[str],
) -> list[Row]:
    """The requests of one conversation."""
    session = place if shared.id is None else str(shared.id)
    rows: list[Row] = []
    told = Conversation(prompts, session, "conversations")
    before = ""
    for i, turn in enumerate(shared.conversations):
        role = _ROLES.get(turn.speaker, turn.speaker)
        name = f"conversations[{i}].value"
        message = {"role": role, "content": turn.value}
        if role == "assistant" and before not in ("", role):
            prompt = told.prompt(place)
            output = told.reply(message, name, place)
            rows.append(
                Row(
                    id=f"{session}/{i}",
                    arrival_s=clock.arrival_s(None, "", place),
                    prompt=prompt,
                    prompt_tokens=len(prompt),
                    output=output,
                    output_tokens=None if output is None else len(output),
                    session=session,
                    model=shared.model,
                    context=model_context(shared.model),
                )
            )
        else:
            if role == "assistant":
                left_out["answers to nothing, or to an answer"] += 1
            told.add(message, name, place)
        before = role
    if before and before != "assistant":
        left_out["messages at the end of a conversation that nobody answered"] += 1
    return rows


FORMAT = Format(NAME, "ShareGPT conversations", recognises, read)

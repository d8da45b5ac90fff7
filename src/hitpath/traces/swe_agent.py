"""SWE-agent trajectories: `trajectory` (steps) and `history` (messages); one run a file or line.

Each answer of the model is one request. Where steps have `query`, the exact messages that were
sent (SWE-agent 1.1.0 and later), that is the prompt; else it is all of `history` before the
answer. The format has no times. With a tokenizer a message is what SWE-agent sends of it (1.1.0,
agent/models.py, `_history_to_messages`): one tool call's id for each observation.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import msgspec

from hitpath.core import InputError
from hitpath.traces.conversations import (
    Clock,
    Conversation,
    Message,
    answer,
    build_text,
    decode_struct,
    plain_message,
    rows_of,
)
from hitpath.traces.in_sequence import sequence_for
from hitpath.traces.prompts import TextPrompts
from hitpath.traces.rows import Row, Symbols, TraceBuilder
from hitpath.traces.sources import Format, Input, ReadOptions
from hitpath.traces.table import Trace

NAME = "swe-agent"
_SENT = ("role", "content", "name", "tool_calls", "tool_call_id", "tool_call_ids")
"""Fields of a message that reach the model; the others (thought, agent, tags) do not."""


class Step(msgspec.Struct, kw_only=True):
    query: list[Message] | None = None
    response: str | None = None
    tool_calls: list[Message] | None = None


class Run(msgspec.Struct, kw_only=True):
    """One trajectory; the format has many more fields."""

    trajectory: list[Step]
    history: list[Message] = []


_decoder = msgspec.json.Decoder(Run)


def recognises(value: object) -> bool:
    """Whether a document or a first row is of this format."""
    if isinstance(value, list):
        return bool(value) and recognises(value[0])
    return isinstance(value, dict) and {"trajectory", "history"} <= value.keys()


def read(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> Trace:
    """All runs. Raises InputError."""
    prompts = TextPrompts(options.tokenizer, sequence_for(builder, inputs))
    clock = Clock()
    from_history = 0
    for source in inputs:
        for place, text in rows_of(source):
            try:
                run: Run = decode_struct(_decoder, text, place)
                queries = any(has_query(step) for step in run.trajectory)
                calls = _from_queries if queries else _from_history
                requests = list(calls(run, prompts, place))
            except InputError as error:
                builder.reject(error)
                continue
            from_history += not queries
            for at, prompt, output in requests:
                make = partial(_row, f"{place}/{at}", place, prompt, output, clock)
                builder.attempt(make, place, prompts.comparable)
    clock.add_note(builder)
    if from_history:
        builder.notes.append(
            f"{from_history:,} runs have no `query`: prompts are made of the whole history, which "
            "SWE-agent may have shortened before it was sent"
        )
    return build_text(builder, NAME, prompts)


def _row(name: str, place: str, prompt: Symbols, output: Symbols | None, clock: Clock) -> Row:
    return Row(
        id=name,
        arrival_s=clock.arrival_s(None, "", place),
        prompt=prompt,
        prompt_tokens=len(prompt),
        output=output,
        output_tokens=None if output is None else len(output),
        session=place,
    )


def sent(message: Message, in_bytes: bool) -> Message:
    """What reaches the model of a message; in_bytes: for a plain rendering, else for a template."""
    kept = plain_message({key: message[key] for key in _SENT if message.get(key) is not None})
    if in_bytes:
        return kept
    ids = kept.pop("tool_call_ids", None)
    if isinstance(ids, list) and ids:
        kept.setdefault("tool_call_id", ids[0])
    return kept


def has_query(step: Step) -> bool:
    """Whether a step holds the messages that were sent."""
    return any("role" in message for message in step.query or [])


def _from_queries(
    run: Run, prompts: TextPrompts, place: str
) -> Iterator[tuple[int, Symbols, Symbols | None]]:
    """(number of the step, prompt, reply) of each step that called the model."""
    for i, step in enumerate(run.trajectory):
        if not has_query(step):
            continue
        messages = [sent(message, prompts.in_bytes) for message in step.query or []]
        at = f"trajectory[{i}]"
        prompt = prompts.chat(messages, None, place, f"{at}.query", place)
        output = None
        if step.response is not None:
            reply = {"content": step.response, "tool_calls": step.tool_calls}
            output = answer(prompts, [reply], f"{at}.response", place)
        yield i, prompt, output


def _from_history(
    run: Run, prompts: TextPrompts, place: str
) -> Iterator[tuple[int, Symbols, Symbols | None]]:
    """The same of each answer in the history; demonstrations are prompt, not answers."""
    told = Conversation(prompts, place, "history")
    for i, message in enumerate(run.history):
        at = f"history[{i}]"
        told_as = sent(message, prompts.in_bytes)
        if message.get("role") == "assistant" and message.get("is_demo") is not True and len(told):
            output = answer(prompts, [told_as], at, place)
            yield i, told.prompt(place), output
        told.add(told_as, at, place)


FORMAT = Format(NAME, "SWE-agent trajectories", recognises, read)

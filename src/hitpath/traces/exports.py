"""What exports of gateways and tracing tools share: a row is a call with its counts, and with
the text of its prompt where storing prompts was on.

A trace is all text, or all lengths. Where any row has its whole prompt, rows without are bad
rows, with the cause; where none has, only lengths, times and reported hits are read. Calls that
made no engine work, or of which no length is told, are left out and counted in a note.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import msgspec

from hitpath.core import InputError
from hitpath.traces.conversations import Message, build_text, rows_of
from hitpath.traces.export_fields import Fields
from hitpath.traces.prompts import TextPrompts
from hitpath.traces.request_bodies import Content, Counts, chat_prompt, take_replies
from hitpath.traces.rows import NO_SYMBOLS, Row, Symbols, TraceBuilder
from hitpath.traces.sources import Input, ReadOptions
from hitpath.traces.table import Context, Trace, model_context


@dataclass(slots=True)
class Call:
    """One call of a model. text: the whole prompt (a string: a completion prompt), None where
    it is not in the row; why_no_text: then why. Counts are tokens, times seconds, None untold."""

    id: str | None
    arrival_s: float
    counts: Counts
    text: Content | str | None
    why_no_text: str
    replies: list[Message] = field(default_factory=list)
    output_tokens: int | None = None
    cost_usd: float | None = None
    finish_s: float | None = None
    ttft_s: float | None = None
    session: str | None = None
    tenant: str | None = None
    model: str | None = None


class ExportRows:
    """Gathers calls, and decides whether they are a trace of texts or of lengths."""

    def __init__(self, name: str, builder: TraceBuilder, options: ReadOptions) -> None:
        self._name = name
        self._builder = builder
        self._prompts = TextPrompts(options.tokenizer)
        self._first_text = ""
        self._first_left_out = ""
        self._held: list[tuple[Call, str]] = []
        self._left_out: Counter[str] = Counter()

    def read(
        self, source: Input, wrappers: tuple[str, ...], make: Callable[[Fields], Call | None]
    ) -> None:
        """All rows of a source. make: a call of a row, or None for one that it left out."""
        for place, text in rows_of(source):
            for at, row, around in _unwrapped(text, place, wrappers, self._builder):
                try:
                    call = make(Fields(row, at, around))
                    if call is not None:
                        self._offer(call, at)
                except InputError as error:
                    self._builder.reject(error)

    def leave_out(self, place: str, what: str) -> None:
        """Count a row that is no request; `what` follows "12 rows "."""
        self._first_left_out = self._first_left_out or place
        self._left_out[what] += 1

    def _offer(self, call: Call, place: str) -> None:
        if call.text is None and self._first_text:
            raise self._no_text(call, place)
        if call.text is None:
            self._held.append((call, place))
            return
        if not self._first_text:
            self._first_text = place
            held, self._held = self._held, []
            for other, its_place in held:
                self._builder.reject(self._no_text(other, its_place))
        make = partial(self._text_row, call, call.text, place)
        self._builder.attempt(make, place, self._prompts.comparable)

    def _no_text(self, call: Call, place: str) -> InputError:
        cause = f"{call.why_no_text}, but {self._first_text} has its prompt: one kind a trace"
        return InputError(place, "", cause)

    def _text_row(self, call: Call, text: Content | str, place: str) -> Row:
        prompt: Symbols
        if isinstance(text, str):
            prompt = self._prompts.prompt(text, call.session, "prompt", place)
        else:
            prompt = chat_prompt(text, self._prompts, call.session, "", place)
        row = self._row(call)
        row.prompt, row.prompt_tokens = prompt, len(prompt)
        if isinstance(text, Content):
            row.context = Context(model=call.model, salt=text.cache_salt)
        row.reported_prompt = call.counts.prompt
        row.output_tokens = None if self._prompts.in_bytes else call.output_tokens
        if isinstance(text, str):
            self._take_completion(row, call.replies, place)
        else:
            take_replies(row, call.replies, self._prompts, place)
        return row

    def _take_completion(self, row: Row, replies: list[Message], place: str) -> None:
        """The text that follows a completion prompt: no chat, so nothing ends it."""
        content = replies[0].get("content") if len(replies) == 1 else None
        if isinstance(content, str):
            row.output = self._prompts.reply(content, False, "response", place)
            row.output_tokens = len(row.output)

    def _row(self, call: Call) -> Row:
        number = len(self._builder.rows) + len(self._builder.skipped)
        return Row(
            id=str(number) if call.id is None else call.id,
            id_may_repeat=call.id is None,
            arrival_s=call.arrival_s,
            prompt=NO_SYMBOLS,
            prompt_tokens=call.counts.prompt or 0,
            output_tokens=call.output_tokens,
            finish_s=call.finish_s,
            ttft_s=call.ttft_s,
            session=call.session,
            tenant=call.tenant,
            model=call.model,
            context=model_context(call.model),
            reported=call.counts.hit,
            written=call.counts.written,
            written_1h=call.counts.written_1h,
            reported_output=call.output_tokens,
            cost_usd=call.cost_usd,
        )

    def build(self) -> Trace:
        """The trace. Raises InputError where no request is left."""
        reasons: Counter[str] = Counter()
        for call, place in self._held:
            if call.counts.prompt is None:
                self.leave_out(place, "hold no prompt and tell no length of it: left out")
                continue
            reasons[call.why_no_text] += 1
            self._builder.attempt(partial(self._row, call), place)
        told = [f"{count:,} rows {what}" for what, count in sorted(self._left_out.items())]
        if told and not self._builder.rows:
            raise InputError(self._first_left_out, "", f"no request left: {'; '.join(told)}")
        self._builder.notes.extend(told)
        if self._first_text:
            return build_text(self._builder, self._name, self._prompts)
        for why, count in sorted(reasons.items()):
            self._builder.notes.append(
                f"{why} in {count:,} rows: only lengths and reports are read"
            )
        return self._builder.build(self._name, "lengths_only", None)


def _unwrapped(
    text: bytes, place: str, wrappers: tuple[str, ...], builder: TraceBuilder
) -> Iterator[tuple[str, bytes, Fields | None]]:
    """(place, JSON, wrapper) of each row: the text itself, or the elements of a wrapper's array."""
    if any(b'"%s"' % name.encode() in text for name in wrappers):
        try:
            inside = Fields(text, place)
            for name in wrappers:
                if inside.raw(name)[:1] == b"[":
                    for i, row in enumerate(inside.get(list[msgspec.Raw], name)):
                        yield f"{place}.{name}[{i}]", bytes(row), inside
                    return
        except InputError as error:
            builder.reject(error)
            return
    yield place, text, None

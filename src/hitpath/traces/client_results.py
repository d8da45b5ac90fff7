"""What the result files of benchmark clients share: answered requests with their lengths and
times, cached tokens where the server's usage told them, and sometimes the whole prompt.

What a trace is made of is decided when all requests are read, for one trace has one unit:

* every request has its whole prompt: these prompts (token ids; text as tokens of `--tokenizer`);
* without a tokenizer text is bytes, and cached tokens are no bytes: where any request reports
  its cached tokens only lengths are used, else the bytes;
* otherwise lengths only.

Requests that failed are left out: whether the engine computed anything of them is not known.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from hitpath.core import InputError
from hitpath.traces.conversations import build_text
from hitpath.traces.in_sequence import sequence_for
from hitpath.traces.prompts import TextPrompts
from hitpath.traces.rows import Row, Symbols, TraceBuilder, check_seconds, check_tokens
from hitpath.traces.sources import Input, ReadOptions
from hitpath.traces.table import Context, Trace
from hitpath.traces.whole_prompts import Body, WholePrompts

Kind = Literal["lengths", "ids", "text"]
NO_TIME = -1.0
"""`arrival_s` of a request for which the file tells no time."""

FAILED = "failed requests"


@dataclass(slots=True)
class Result:
    """One answered request. row: all but its prompt, which `body` has where the file keeps it;
    prompt_tokens: as told by the file, None where it is not; reply: the generated text."""

    row: Row
    place: str
    prompt_tokens: int | None
    body: Body | None = None
    reply: str | None = None


@dataclass(slots=True)
class _Taken:
    """What is kept of a result. prompt: as symbols, or why it cannot be rendered; None where it is
    not needed, nor the reply then."""

    row: Row
    place: str
    prompt_tokens: int | None
    is_chat: bool
    prompt: Symbols | InputError | None = None
    reply: str | None = None


class Results:
    """Gathers the requests of one trace. tokens_field: where the file tells a prompt's length;
    body_field: where it keeps the prompt, "" for nowhere; inputs: whose prompts these are.

    Prompts are made symbols at once, and all are forgotten as soon as it is clear that only lengths
    will be used: bodies would take several times the memory of the file.
    """

    def __init__(
        self,
        name: str,
        builder: TraceBuilder,
        options: ReadOptions,
        tokens_field: str,
        body_field: str = "",
        inputs: Sequence[Input] = (),
    ) -> None:
        self._name = name
        self._builder = builder
        self._texts = TextPrompts(options.tokenizer, sequence_for(builder, inputs))
        self._prompts = WholePrompts(self._texts)
        self._tokens_field, self._body_field = tokens_field, body_field
        self._results: list[_Taken] = []
        self._num_bodies = self._num_ids = self._num_reporting = 0
        self._left_out: Counter[str] = Counter()
        self.number = 0

    def take(self, make: Callable[[], Result | str]) -> None:
        """One request, or why it is left out; an InputError is a bad row."""
        try:
            made = make()
        except InputError as error:
            self._builder.reject(error)
        else:
            if isinstance(made, str):
                self.leave_out(made)
            else:
                self._keep(made)
        self.number += 1

    def _keep(self, result: Result) -> None:
        row, body = result.row, result.body
        is_chat = body is not None and body.prompt is None
        taken = _Taken(row, result.place, result.prompt_tokens, is_chat)
        could_be_prompts = not self._only_lengths()
        self._results.append(taken)
        self._num_reporting += row.reported is not None
        if body is not None:
            self._num_bodies += 1
            self._num_ids += body.has_ids
        if not self._only_lengths():
            assert body is not None
            taken.prompt, taken.reply = self._rendered(body, row, result.place), result.reply
        elif could_be_prompts:
            for before in self._results:
                before.prompt = before.reply = None

    def _only_lengths(self) -> bool:
        """Whether no further request can change that only lengths are used, see above."""
        if self._num_bodies < len(self._results):
            return True
        texts = self._num_bodies - self._num_ids
        return self._texts.in_bytes and texts > 0 and self._num_ids + self._num_reporting > 0

    def _rendered(self, body: Body, row: Row, place: str) -> Symbols | InputError:
        try:
            return self._prompts.symbols(body, row.session, self._body_field, place)
        except InputError as error:
            return error

    def leave_out(self, what: str, count: int = 1) -> None:
        """Requests that are not in the trace, to be told with their number."""
        self._left_out[what] += count

    def build(self, inputs: Sequence[Input]) -> Trace:
        """The trace. Raises InputError where no request is left."""
        told = [f"{count:,} {what}" for what, count in sorted(self._left_out.items()) if count]
        if not self._results and told and not self._builder.skipped:
            raise InputError(inputs[0].name, "", f"no request left: {', '.join(told)}")
        self._builder.notes += [f"{text} left out" for text in told]
        kind = self._kind()
        timed = self._timed()
        # One run has one base model, and clients name an adapter in its place.
        adapters = any(result.row.context.adapter is not None for result in self._results)
        units_agree = self._texts.comparable if kind == "text" else lambda: True
        for number, result in enumerate(self._results):
            make = partial(self._row, result, kind, None if timed else number, adapters)
            self._builder.attempt(make, result.place, units_agree)
        if kind == "text":
            return build_text(self._builder, self._name, self._texts)
        identity: Literal["tokens", "lengths_only"] = "tokens" if kind == "ids" else "lengths_only"
        return self._builder.build(self._name, identity, None)

    def _kind(self) -> Kind:
        """What all prompts are, and a note where the file has more than can be used."""
        kept, ids = self._num_bodies, self._num_ids
        notes, total = self._builder.notes, len(self._results)
        if kept < total or not kept:
            if kept:
                notes.append(
                    f"the whole prompt of {kept:,} of {total:,} requests is in the file: "
                    "lengths only"
                )
            elif not self._texts.in_bytes:
                notes.append("no prompt is in the file: --tokenizer has nothing to do")
            return "lengths"
        if ids == total:
            return "ids"
        if self._texts.in_bytes and ids:
            notes.append(
                "some prompts are text, others token ids: lengths only without --tokenizer"
            )
            return "lengths"
        if self._texts.in_bytes and self._num_reporting:
            notes.append(
                f"the prompts' text is in the file, and {self._num_reporting:,} requests report "
                "cached tokens, which bytes of text cannot be compared with: lengths only; with "
                "--tokenizer both are used"
            )
            return "lengths"
        return "text"

    def _timed(self) -> bool:
        """Whether the file tells times; if not, the order of the requests stands for them."""
        timed = any(result.row.arrival_s != NO_TIME for result in self._results)
        if self._results and not timed:
            self._builder.has_times = False
            self._builder.notes.append(
                "no times in this trace: the order of the rows is the order of arrival"
            )
        return timed

    def _row(self, taken: _Taken, kind: Kind, number: int | None, adapters: bool) -> Row:
        row, place = taken.row, taken.place
        if number is not None:
            row.arrival_s = float(number)
        elif row.arrival_s == NO_TIME:
            raise InputError(place, "", "no time, but other requests have one")
        row.context = Context(None if adapters else row.model, adapter=row.context.adapter)
        if kind == "lengths":
            self._take_length(taken)
            return row
        if isinstance(taken.prompt, InputError):
            raise taken.prompt
        assert taken.prompt is not None
        row.prompt, row.prompt_tokens = taken.prompt, len(taken.prompt)
        if kind == "text":
            self._take_reply(taken)
        return row

    def _take_length(self, taken: _Taken) -> None:
        row = taken.row
        told = row.reported_prompt if row.reported_prompt is not None else taken.prompt_tokens
        if told is None:
            cause = "missing: how long the prompt is cannot be told"
            raise InputError(taken.place, self._tokens_field, cause)
        row.prompt_tokens = check_tokens(told, self._tokens_field, taken.place)
        row.reported_prompt = None

    def _take_reply(self, taken: _Taken) -> None:
        """The reply in the unit of the prompt; a count of tokens is none of bytes."""
        row = taken.row
        if self._texts.in_bytes:
            row.output_tokens = None
        if taken.reply is not None:
            row.output = self._texts.reply(taken.reply, taken.is_chat, "output", taken.place)
            row.output_tokens = len(row.output)


def seconds(value: float | None, name: str, place: str) -> float | None:
    """A time that may be absent, or InputError."""
    return None if value is None else check_seconds(value, name, place)


def tokens(value: int | None, name: str, place: str) -> int | None:
    """A count that may be absent, or InputError."""
    return None if value is None else check_tokens(value, name, place)


def span_s(begin: float | None, end: float | None) -> float | None:
    """Seconds from one moment to another, None where one is absent or they are out of order."""
    if begin is None or end is None or end < begin:
        return None
    return end - begin

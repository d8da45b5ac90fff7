"""The requests of a vLLM log as rows: what stands for their prompts, and what was cut.

`--max-log-len N` of the server keeps the first N token ids and the first N characters of the
text of each request (vllm/entrypoints/logger.py, RequestLogger.log_inputs). Such a prompt is no
prompt: it would look as if it ended there, and all that shares its beginning as if it were equal.
"""

from collections import Counter
from dataclasses import dataclass
from functools import partial

import numpy as np

from hitpath.core import InputError
from hitpath.traces.conversations import build_text
from hitpath.traces.prompts import TextPrompts
from hitpath.traces.rows import Row, Symbols, TraceBuilder
from hitpath.traces.table import Context, Trace
from hitpath.traces.whole_prompts import WholePrompts

COMPLETIONS = ("cmpl-", "embd-")
"""Beginnings of the ids of requests whose text gets the tokenizer's frame; chats are rendered."""

_LEAST_LIMIT = 32
"""Below this a text may have as many characters as tokens by itself."""

_NO_PROMPT = (
    "neither token ids nor text: vLLM 0.10.2 and 0.11.0 print None for completions, and from "
    "0.11.1 on both are printed at DEBUG level only (VLLM_LOGGING_LEVEL=DEBUG)"
)


@dataclass(slots=True)
class Request:
    """One request of the log. limit: `--max-log-len` as its server said it, None for no limit
    (`limit_told`) or not known; num_characters: of its text; worker: its log, of several."""

    id: str
    place: str
    arrival_s: float | None
    ids: Symbols | None
    text: str | None
    num_characters: int | None
    limit: int | None
    limit_told: bool
    adapter: str | None = None
    prompt_adapter: str | None = None
    is_served: bool = True
    worker: str | None = None
    finish_s: float | None = None
    output: Symbols | None = None


class LogRows:
    """From the requests to the trace: what stands for the prompts, and what was cut."""

    def __init__(
        self,
        name: str,
        requests: list[Request],
        dated: bool | None,
        builder: TraceBuilder,
        texts: TextPrompts,
    ) -> None:
        """name: of the format. dated: whether times have a year, None without any time."""
        self._format = name
        self._requests = [request for request in requests if request.is_served]
        self._tokenize_calls = len(requests) - len(self._requests)
        self._dated = dated
        self._builder = builder
        self._texts = texts
        self._prompts = WholePrompts(texts)
        self._names: Counter[str] = Counter()
        self._in_ids = all(request.ids is not None for request in self._told())

    def build(self, where: str) -> Trace:
        """The trace. where: the first log, for errors of all. Raises InputError."""
        notes, told = self._builder.notes, self._told()
        if self._tokenize_calls:
            notes.append(f"{self._tokenize_calls:,} calls of /tokenize left out")
            if not self._requests:
                raise InputError(where, "", "no request left: only calls of /tokenize")
        num_text = sum(request.ids is None for request in told)
        if self._texts.in_bytes and 0 < num_text < len(told):
            cause = (
                f"{num_text:,} requests have text only, {len(told) - num_text:,} have token ids: "
                "give --tokenizer, so that both are tokens"
            )
            raise InputError(where, "", cause)
        limit = self._unsaid_limit(told)
        for number, request in enumerate(self._requests):
            units_agree = self._texts.comparable
            row = partial(self._row, request, number, limit)
            self._builder.attempt(row, request.place, units_agree)
        self._note_times()
        repeated = sum(count - 1 for count in self._names.values())
        if repeated:
            notes.append(f"{repeated:,} requests have the id of an earlier one: numbered behind it")
        if self._in_ids:
            return self._builder.build(self._format, "tokens", None)
        return build_text(self._builder, self._format, self._texts)

    def _told(self) -> list[Request]:
        return [r for r in self._requests if r.ids is not None or r.text is not None]

    def _unsaid_limit(self, told: list[Request]) -> int | None:
        """The `--max-log-len` that a log shows without saying it: where it cuts, the longest text
        has as many characters as the longest list has ids. Notes a mere suspicion."""
        unsaid = [request for request in told if not request.limit_told]
        sizes = [_size(request) for request in unsaid]
        longest = max(sizes, default=0)
        with_both = [
            request.num_characters
            for request in unsaid
            if request.ids is not None and request.num_characters is not None
        ]
        if longest >= _LEAST_LIMIT and max(with_both, default=0) == longest:
            return longest
        at_most = [request for request in unsaid if _size(request) == longest]
        if longest and any(_differ(at_most[0], other) for other in at_most[1:]):
            unit = "token ids" if self._in_ids else "characters or token ids"
            self._builder.notes.append(
                f"{len(at_most):,} of {len(unsaid):,} prompts have exactly {longest:,} {unit} and "
                "none has more, as where --max-log-len cuts them: if it does, all figures are "
                "wrong (the server's arguments at the beginning of its log would tell)"
            )
        return None

    def _row(self, request: Request, number: int, unsaid_limit: int | None) -> Row:
        place = request.place
        if request.ids is None and request.text is None:
            raise InputError(place, "", _NO_PROMPT)
        limit = request.limit if request.limit_told else unsaid_limit
        if limit is not None and _size(request) == limit:
            cause = f"cut at {limit:,} by --max-log-len: the rest of the prompt is not in the log"
            if not request.limit_told:
                cause += " (no text and no list of token ids in it is longer)"
            raise InputError(place, "prompt", cause)
        if self._dated is not None and request.arrival_s is None:
            raise InputError(place, "", "no time before the message, but other lines have one")
        prompt = self._symbols(request)
        if not len(prompt):
            raise InputError(place, "prompt", "empty")
        others = (("prompt_adapter", request.prompt_adapter),) if request.prompt_adapter else ()
        output = request.output if self._in_ids or not self._texts.in_bytes else None
        return Row(
            id=self._name(request.id),
            id_may_repeat=True,
            arrival_s=float(number) if request.arrival_s is None else request.arrival_s,
            finish_s=request.finish_s,
            prompt=prompt,
            prompt_tokens=len(prompt),
            output=output,
            output_tokens=None if output is None else len(output),
            worker=request.worker,
            context=Context(adapter=request.adapter, others=others),
        )

    def _symbols(self, request: Request) -> Symbols:
        if request.ids is not None:
            return request.ids
        assert request.text is not None
        if request.id.startswith(COMPLETIONS):
            return self._texts.prompt(request.text, None, "prompt", request.place)
        return self._prompts.rendered(request.text, None, "prompt", request.place)

    def _name(self, name: str) -> str:
        """The id; clients may send one twice."""
        self._names[name] += 1
        return name if self._names[name] == 1 else f"{name}#{self._names[name]}"

    def _note_times(self) -> None:
        notes = self._builder.notes
        if self._dated is None:
            self._builder.has_times = False
            notes.append("no times in this log: the order of its lines is the order of arrival")
        elif not self._dated:
            notes.append(
                "the log's times are whole seconds without a year: requests of one second keep "
                "the order of the log, and several logs are taken to begin in the same year"
            )


def _differ(one: Request, other: Request) -> bool:
    if one.ids is None or other.ids is None:
        return one.text != other.text
    return bool(np.any(one.ids != other.ids))


def _size(request: Request) -> int:
    """Token ids, or characters of a text without them."""
    if request.ids is not None:
        return len(request.ids)
    return request.num_characters or 0

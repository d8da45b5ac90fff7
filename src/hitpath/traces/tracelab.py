"""Rounds of SyFI TraceLab: one LLM call of a coding agent a line, lengths and reported hits.

From uw-syfi/TraceLab at b889eb7 (docs/prompt_cache_accounting.md, artifacts/utils/DB_SCHEMA.md,
scripts/extract_{claude,codex}_rounds.py). `input_tokens_total` is the whole prompt of either
provider, `prefix_tokens` its cached part, `newly_append_tokens` the rest (for Claude with the
tokens written to the cache). The extractors write 0 where the agent's log had no count: a round's
0 is a count only where some round of its session has one above 0, as in bench_serve.py.
"""

from collections import Counter
from collections.abc import Sequence
from functools import partial

import msgspec

from hitpath.core import InputError
from hitpath.traces.client_results import Result, Results, tokens
from hitpath.traces.conversations import decode_struct, iso_seconds
from hitpath.traces.rows import NO_SYMBOLS, Row, TraceBuilder
from hitpath.traces.sources import Format, Input, ReadOptions, lines_of
from hitpath.traces.table import Trace, model_context

NAME = "tracelab"
_COUNTS = ("input_tokens_total", "prefix_tokens", "newly_append_tokens")
_INPUTS = {"user_message", "tool_result"}


class _Event(msgspec.Struct, kw_only=True):
    event_type: str
    timestamp: str | None = None


class _Round(msgspec.Struct, kw_only=True):
    """The fields that are read."""

    input_tokens_total: int
    prefix_tokens: int
    newly_append_tokens: int
    output_tokens: int | None = None
    claude_cache_creation_input_tokens: int | None = None
    timing_events: list[_Event] = []
    session_id: str | None = None
    round_index: int | None = None
    trace_key: str | None = None
    model: str | None = None
    user: str | None = None


_decoder = msgspec.json.Decoder(_Round)


def recognises(value: object) -> bool:
    """Whether a first row is of this format."""
    return isinstance(value, dict) and value.keys() >= set(_COUNTS)


def read(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> Trace:
    """All rounds. Raises InputError."""
    rounds = _Rounds(Results(NAME, builder, options, "input_tokens_total", ""))
    for place, line in lines_of(inputs):
        rounds.results.take(partial(rounds.make, line, place))
    untold = rounds.forget_untold()
    if rounds.repeated:
        builder.notes.append(
            f"{rounds.repeated:,} rounds have the trace_key of an earlier one; kept, as TraceLab "
            "keeps them, with a number behind it"
        )
    if untold:
        builder.notes.append(
            f"{untold:,} rounds have 0 cached tokens, and no round of their session has any: "
            "TraceLab writes 0 also where the agent's log had no count, so they are taken as not "
            "told"
        )
    return rounds.results.build(inputs)


class _Rounds:
    """Makes results; counts what must be told."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.repeated = 0
        self._zeros: list[Row] = []
        self._telling: set[str | None] = set()
        self._keys: Counter[str] = Counter()

    def make(self, line: bytes, place: str) -> Result | str:
        """One round, or why it is left out. Raises InputError."""
        data: _Round = decode_struct(_decoder, line, place)
        if not any([tokens(getattr(data, name), name, place) for name in _COUNTS]):  # noqa: C419
            return "rounds without any count of their prompt"
        arrival_s, finish_s = _times(data.timing_events, place)
        index = tokens(data.round_index, "round_index", place)
        row = Row(
            id=self._name(data.trace_key),
            id_may_repeat=True,
            arrival_s=arrival_s,
            finish_s=finish_s,
            prompt=NO_SYMBOLS,
            prompt_tokens=0,
            output_tokens=tokens(data.output_tokens, "output_tokens", place),
            session=data.session_id,
            turn=None if index is None else index + 1,
            tenant=data.user,
            model=data.model,
            context=model_context(data.model),
            reported=data.prefix_tokens,
            written=tokens(
                data.claude_cache_creation_input_tokens,
                "claude_cache_creation_input_tokens",
                place,
            ),
        )
        if data.prefix_tokens + data.newly_append_tokens != data.input_tokens_total:
            row.excluded = (
                f"{data.prefix_tokens:,} cached and {data.newly_append_tokens:,} new tokens are "
                f"not {data.input_tokens_total:,} tokens of prompt"
            )
        if data.prefix_tokens or row.written:
            self._telling.add(data.session_id)
        else:
            self._zeros.append(row)
        return Result(row, place, data.input_tokens_total)

    def forget_untold(self) -> int:
        """Take the zeros of sessions without a count above 0 as not told; for how many rounds."""
        telling = self._telling - {None}
        untold = [row for row in self._zeros if row.session not in telling]
        for row in untold:
            row.reported, row.written = None, None
        return len(untold)

    def _name(self, key: str | None) -> str:
        """The round's key; keys are not unique in TraceLab's data."""
        if key is None:
            return str(self.results.number)
        self._keys[key] += 1
        if self._keys[key] == 1:
            return key
        self.repeated += 1
        return f"{key}#{self._keys[key]}"


def _times(events: list[_Event], place: str) -> tuple[float, float | None]:
    """Arrival: the last input before the first output, or the first event that has a time.
    Finish: the last output. Raises InputError without any time."""
    timed = [
        (event.event_type in _INPUTS, iso_seconds(event.timestamp, "timing_events", place))
        for event in events
        if event.timestamp is not None
    ]
    if not timed:
        raise InputError(place, "timing_events", "no event has a time")
    first_output = next((i for i, (is_input, _) in enumerate(timed) if not is_input), len(timed))
    arrival_s = timed[max(first_output - 1, 0)][1]
    finish_s = max((at for is_input, at in timed if not is_input), default=None)
    if finish_s is None or finish_s < arrival_s:
        return arrival_s, None
    return arrival_s, finish_s


FORMAT = Format(NAME, "TraceLab rounds", recognises, read)

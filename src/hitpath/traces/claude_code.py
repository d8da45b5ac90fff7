"""Claude Code transcripts (`~/.claude/projects/*/*.jsonl`): the usage of each call, lengths only.

Source: rows of daaain/claude-code-log, and anthropics/claude-code#87303 and ccusage#888: one call
stands in several rows, one a block of content, under the same message id and request id, and only
its last row has the final usage; copies of a session repeat them in another file. Anthropic's
`input_tokens` are those neither read from the cache nor written to it, so a prompt is the sum of
all three counts, and where one is absent the prompt's length is not known.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from hitpath.core import InputError
from hitpath.traces.conversations import iso_seconds, rows_of
from hitpath.traces.decode import as_input_error
from hitpath.traces.rows import (
    NO_SYMBOLS,
    Row,
    TraceBuilder,
    check_tokens,
    check_usd,
    whole_prompt,
)
from hitpath.traces.sources import Format, Input, ReadOptions
from hitpath.traces.table import Trace, model_context

NAME = "claude-code"
_MARKS = {"sessionId", "leafUuid", "parentUuid", "messageId", "isSidechain"}
_OTHERS = {"id", "traceId", "trace_id", "startTime", "start_time", "arrival_s"}
_SYNTHETIC = "<synthetic>"


class _Writes(msgspec.Struct, kw_only=True):
    """Tokens written to the cache by time to live."""

    ephemeral_5m_input_tokens: int | None = None
    ephemeral_1h_input_tokens: int | None = None


class _Usage(msgspec.Struct, kw_only=True):
    input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation: _Writes | None = None
    output_tokens: int | None = None


class _Message(msgspec.Struct, kw_only=True):
    usage: _Usage
    id: str | None = None
    model: str | None = None


class _Line(msgspec.Struct, kw_only=True):
    """A row with the usage of a call; the fields that are read."""

    timestamp: str
    message: _Message
    request_id: str | None = msgspec.field(default=None, name="requestId")
    session_id: str | None = msgspec.field(default=None, name="sessionId")
    agent_id: str | None = msgspec.field(default=None, name="agentId")
    is_sidechain: bool | None = msgspec.field(default=None, name="isSidechain")
    uuid: str | None = None
    cost_usd: int | float | None = msgspec.field(default=None, name="costUSD")


class _MessageOutline(msgspec.Struct):
    usage: msgspec.Raw = msgspec.Raw(b"null")
    model: msgspec.Raw = msgspec.Raw()


class _Outline(msgspec.Struct):
    type: msgspec.Raw = msgspec.Raw()
    message: msgspec.Raw = msgspec.Raw(b"null")


_line = msgspec.json.Decoder(_Line)
_outline, _message_outline = msgspec.json.Decoder(_Outline), msgspec.json.Decoder(_MessageOutline)


def recognises(value: object) -> bool:
    """Whether a first line is one of a transcript, or of the files that stand beside them."""
    if not isinstance(value, dict) or value.keys() & _OTHERS:
        return False
    if "agentType" in value:  # agent-<id>.meta.json
        return True
    entries = value.get("entries")
    if isinstance(entries, list) and "version" in value:  # sessions-index.json
        return all(isinstance(e, dict) and "sessionId" in e for e in entries)
    return isinstance(value.get("type"), str) and bool(value.keys() & _MARKS)


def read(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> Trace:
    """All calls. Raises InputError."""
    calls = _Calls()
    for source in inputs:
        for place, text in rows_of(source):
            try:
                calls.offer(text, place)
            except InputError as error:
                builder.reject(error)
    calls.add_to(builder)
    return builder.build(NAME, "lengths_only", None)


@dataclass(slots=True)
class _Call:
    """One call; usage: of the row that tells most of it."""

    place: str
    line: _Line
    arrival_s: float
    prompt_tokens: int | None
    written: int | None

    @property
    def told(self) -> tuple[bool, int]:
        """By this the rows of one call are ordered: whole counts first, then the longest reply."""
        output = self.line.message.usage.output_tokens
        return self.prompt_tokens is not None, -1 if output is None else output


class _Calls:
    """Gathers the calls, each once."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str | None] | int, _Call] = {}
        self._passed = Counter[str]()

    def offer(self, text: bytes, place: str) -> None:
        """A line, whatever it holds. Raises InputError for broken JSON or a broken usage."""
        if not self._is_call(text, place):
            return
        call = _call_of(text, place)
        message = call.line.message
        key = len(self._found) if message.id is None else (message.id, call.line.request_id)
        before = self._found.setdefault(key, call)
        if before is call:
            return
        self._passed["repeats"] += 1
        best, other = (call, before) if call.told >= before.told else (before, call)
        if best.line.cost_usd is None:
            best.line.cost_usd = other.line.cost_usd
        best.arrival_s = min(before.arrival_s, call.arrival_s)
        best.place, best.line.session_id = before.place, before.line.session_id
        self._found[key] = best

    def _is_call(self, text: bytes, place: str) -> bool:
        try:
            outline = _outline.decode(text)
            message = _message_outline.decode(outline.message)
        except msgspec.ValidationError:  # no object, or no message
            self._passed["others"] += 1
            return False
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise as_input_error(error, place) from error
        if bytes(outline.type) != b'"assistant"' or bytes(message.usage) == b"null":
            self._passed["others"] += 1
            return False
        synthetic = bytes(message.model) == b'"%s"' % _SYNTHETIC.encode()
        self._passed["synthetic"] += synthetic
        return not synthetic

    def add_to(self, builder: TraceBuilder) -> None:
        """Rows and notes. Raises InputError where no call tells how long its prompt was."""
        unknown = [call for call in self._found.values() if call.prompt_tokens is None]
        field = "message.usage.cache_read_input_tokens"
        if unknown and len(unknown) == len(self._found) and not builder.skipped:
            cause = "missing here or in cache_creation_input_tokens, as in every call: how long "
            raise InputError(unknown[0].place, field, f"{cause}the prompts were is not known")
        for call in self._found.values():
            if call.prompt_tokens is not None:
                builder.attempt(partial(_row, call, len(builder.rows)), call.place)
        for count, told in (
            (self._passed["others"], "lines hold no usage of a call (user, system, summary ...)"),
            (self._passed["repeats"], "rows repeat a call (one row a block of content, or a copy "
             "of the session): each call counts once, with its last usage"),
            (self._passed["synthetic"], f"messages are Claude Code's own ({_SYNTHETIC}): no calls"),
            (len(unknown), "calls tell input_tokens without the tokens read from and written to "
             "the cache: how long their prompts were is not known, they are left out"),
        ):  # fmt: skip
            if count:
                builder.notes.append(f"{count:,} {told}")
        builder.notes.append("times are those at which answers were written to the transcript")


def _call_of(text: bytes, place: str) -> _Call:
    try:
        line: _Line = _line.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise as_input_error(error, place) from error
    usage = line.message.usage
    for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens",
                 "output_tokens"):  # fmt: skip
        if (told := getattr(usage, name)) is not None:
            check_tokens(told, f"message.usage.{name}", place)
    writes = usage.cache_creation or _Writes()
    parts = (writes.ephemeral_5m_input_tokens, writes.ephemeral_1h_input_tokens)
    told_parts = [
        check_tokens(n, "message.usage.cache_creation", place) for n in parts if n is not None
    ]
    written = usage.cache_creation_input_tokens
    if written is None and told_parts:
        written = sum(told_parts)
    if line.cost_usd is not None:
        check_usd(line.cost_usd, "costUSD", place)
    prompt = whole_prompt(usage.input_tokens, usage.cache_read_input_tokens, written)
    arrival_s = iso_seconds(line.timestamp, "timestamp", place)
    return _Call(place, line, arrival_s, prompt, written)


def _row(call: _Call, number: int) -> Row:
    line, message = call.line, call.line.message
    ids = [name for name in (message.id, line.request_id) if name]
    writes = message.usage.cache_creation
    return Row(
        id="/".join(ids) or line.uuid or str(number),
        id_may_repeat=not (ids or line.uuid),
        arrival_s=call.arrival_s,
        prompt=NO_SYMBOLS,
        prompt_tokens=call.prompt_tokens or 0,
        output_tokens=message.usage.output_tokens,
        session=_session(line),
        model=message.model,
        context=model_context(message.model),
        reported=message.usage.cache_read_input_tokens,
        written=call.written,
        written_1h=None if writes is None else writes.ephemeral_1h_input_tokens,
        cost_usd=line.cost_usd,
    )


def _session(line: _Line) -> str | None:
    """A sub-agent has a conversation, and so a session, of its own."""
    if not line.is_sidechain:
        return line.session_id
    return "/".join(filter(None, (line.session_id, line.agent_id or "sidechain")))


FORMAT = Format(NAME, "Claude Code transcripts", recognises, read)

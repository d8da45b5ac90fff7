"""hitpath's own JSONL: one request a line (docs/trace-format.md lists every field).

The prompt is exactly one of `tokens`, `block_keys` (+ `block_size`, `prompt_tokens`),
`messages` (+ `tools`), `prompt`, `segments`; all rows of a trace use the same kind (text and
messages count as one). Text stands as bytes.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import msgspec

from hitpath.core import InputError
from hitpath.traces.blocks import check_block_size, check_num_ids
from hitpath.traces.decode import RowDecoder
from hitpath.traces.hitpath_prompts import LENGTHS, OwnPrompts
from hitpath.traces.prompts import TextPrompts
from hitpath.traces.rows import (
    Row,
    Symbols,
    TraceBuilder,
    check_seconds,
    check_tokens,
    check_usd,
)
from hitpath.traces.sources import Format, Input, ReadOptions, lines_of
from hitpath.traces.table import Context, Identity, Trace

NAME = "hitpath"
HOUR_S = 3600
"""Written tokens that are kept so long are billed as an hour's."""


class Reported(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What the engine or provider told of one request. Counts are tokens, times seconds."""

    prompt_tokens: int | None = None
    counting: str | None = None
    cached_tokens: int | None = None
    cached_by_tier: dict[str, int] | None = None
    cache_write_tokens: int | None = None
    cache_write_ttl_s: int | float | None = None
    cache_write_1h_tokens: int | None = None
    output_tokens: int | None = None
    queue_s: int | float | None = None
    lookup_s: int | float | None = None
    prefill_s: int | float | None = None
    ttft_s: int | float | None = None
    decode_s: int | float | None = None
    e2e_s: int | float | None = None
    cost: int | float | None = None
    currency: str | None = None


class HitpathRow(msgspec.Struct, kw_only=True):
    """One line."""

    id: str | int
    arrival_s: int | float | None
    tokens: list[int] | None = None
    block_keys: list[int | str] | None = None
    block_size: int | None = None
    prompt_tokens: int | None = None
    messages: list[dict[str, Any]] | None = None
    tools: list[Any] | None = None
    prompt: str | None = None
    segments: list[tuple[str, int]] | None = None
    output_tokens: int | None = None
    output_ids: list[int] | None = None
    output_block_keys: list[int | str] | None = None
    reply: str | None = None
    reply_segments: list[tuple[str, int]] | None = None
    finish_s: int | float | None = None
    session: str | int | None = None
    parent: str | int | None = None
    turn: int | None = None
    tenant: str | int | None = None
    model: str | None = None
    worker: str | int | None = None
    context: dict[str, str | int | None] | None = None
    model_is_label: bool = False
    id_may_repeat: bool = False
    unit: Literal["tokens", "bytes"] = "tokens"
    id_scope: str | int | None = None
    clock: str | int | None = None
    reported: Reported | None = None
    excluded: str | None = None


class StrictRow(HitpathRow, forbid_unknown_fields=True, kw_only=True):
    """One line without fields that we do not have."""


_OURS_ALONE = frozenset(
    ("session", "turn", "tenant", "worker", "context", "reported", "output_tokens", "reply",
     "finish_s", "parent", "excluded")
)  # fmt: skip
"""Fields that no request body has."""
_KINDS = ("tokens", "block_keys", "messages", "prompt", "segments")
_IDENTITY: dict[str, Identity] = {
    LENGTHS: "lengths_only",
    "tokens": "tokens",
    "segments": "tokens",
    "block_keys": "chained",
    "messages": "text",
    "prompt": "text",
}
_REPORTED_CHECKS: tuple[tuple[str, Callable[..., object]], ...] = (
    *((name, check_tokens) for name in Reported.__struct_fields__ if name.endswith("_tokens")),
    *((name, check_seconds) for name in Reported.__struct_fields__ if name.endswith("_s")),
)
_OUTPUT_OF = {
    "output_ids": ("tokens",),
    "output_block_keys": ("block_keys",),
    "reply": ("messages", "prompt", "segments"),
    "reply_segments": ("segments",),
}


def recognises(value: object) -> bool:
    """Whether a first row is of this format. A request body that was given an id is none."""
    if not isinstance(value, dict):
        return False
    if "arrival_s" in value:
        return True
    is_body = "model" in value and "messages" in value and not value.keys() & _OURS_ALONE
    return "id" in value and not is_body and any(kind in value for kind in _KINDS)


def read(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> Trace:
    """All rows. Raises InputError."""
    rows = HitpathRows(builder, TextPrompts(options.tokenizer))
    decoder = RowDecoder(HitpathRow, StrictRow, builder.ignored_fields)

    def make_row(line: bytes, place: str) -> Row:
        return rows.make(decoder.decode(line, place), place)

    def units_agree() -> bool:
        return rows.units_agree

    for place, line in lines_of(inputs):
        builder.attempt(partial(make_row, line, place), place, units_agree)
    return rows.build(NAME)


class _Whole(NamedTuple):
    """What all rows of a trace have, or none; named as the fields that decide it."""

    arrival_s: bool = True
    clock: bool = False
    model_is_label: bool = False
    unit: bool = False


class HitpathRows:
    """Makes rows; remembers what must agree between them."""

    def __init__(self, builder: TraceBuilder, prompts: TextPrompts) -> None:
        self.prompts = prompts
        self._builder = builder
        self._own = OwnPrompts(prompts)
        self._whole = _Whole()
        self._kinds: dict[tuple[bool, ...], str] = {}
        self._contexts: dict[object, Context] = {}
        self.kind: str | None = None
        self._kind_place = ""
        self.block_size: int | None = None
        self.uncounted = 0
        self.other_currencies = 0

    @property
    def units_agree(self) -> bool:
        """Whether reported counts are in the unit of the prompt (bytes are not tokens)."""
        if self._whole.unit:
            return False
        return self.kind not in ("messages", "prompt") or not self.prompts.in_bytes

    def build(self, name: str) -> Trace:
        """The trace of all rows, with the notes that their kind needs."""
        builder = self._builder
        if self.other_currencies:
            builder.notes.append(
                f"reported.cost is not in USD in {self.other_currencies:,} rows: not used"
            )
        if self.uncounted:
            builder.notes.append(
                f"reported.prompt_tokens without reported.counting in {self.uncounted:,} rows: "
                "whether it includes cached tokens is not known, so it is not compared"
            )
        identity = _IDENTITY[self.kind or "tokens"]
        if identity == "text" and not self.prompts.in_bytes:
            identity = "tokens"
        if self._whole.unit:
            identity = "text"  # whoever wrote the rows counted bytes
        if identity == "text":
            builder.notes.append(
                "no tokenizer: one byte of text stands for one token in every count"
            )
            if any(row.reported is not None for row in builder.rows):
                builder.notes.append(
                    "reported counts are tokens and prompts here are bytes: not comparable, "
                    "shown apart"
                )
        if not self._whole.arrival_s:
            builder.has_times = False
            builder.notes.append(
                "no times in this trace: the order of the rows is the order of arrival"
            )
        if self._whole.clock:
            num_clocks = len({row.clock for row in builder.rows})
            builder.notes.append(f"{num_clocks:,} clocks: rows are taken in the order of the file")
        return builder.build(
            name,
            identity,
            self.block_size,
            own_clocks=self._whole.clock,
            model_is_label=self._whole.model_is_label,
            report_in_other_units=identity == "text",
            key_names=self._own.key_names,
            stretches=self._own.stretches() if self.kind == "segments" else None,
        )

    def make(self, data: HitpathRow, place: str) -> Row:
        """One row, or InputError."""
        kind = self._kind_of(data, place)
        whole = self._check_whole(data, place)
        prompt, output = self._own.of(kind, data, place)
        row = Row(
            id=str(data.id),
            id_may_repeat=data.id_may_repeat,
            arrival_s=self._arrival_s(data, place),
            prompt=prompt,
            prompt_tokens=self._prompt_tokens(data, kind, len(prompt), place),
            output=output,
            output_tokens=self._output_tokens(data, kind, output, place),
            finish_s=None
            if data.finish_s is None
            else check_seconds(data.finish_s, "finish_s", place),
            session=_name(data.session),
            tenant=_name(data.tenant),
            model=data.model,
            worker=_name(data.worker),
            turn=data.turn,
            context=self._context(data),
            scope=_name(data.id_scope),
            clock=_name(data.clock),
            excluded=data.excluded,
        )
        if data.turn is not None:
            check_tokens(data.turn, "turn", place)
        if kind == "block_keys":
            self._check_blocks(row, data, place)
        if data.reported is not None:
            self._take_reported(row, data.reported, place)
        if self.kind is None:
            self.kind, self._kind_place = kind, place
            self._whole = whole
            self.block_size = data.block_size if kind == "block_keys" else None
        return row

    def _kind_of(self, data: HitpathRow, place: str) -> str:
        """The kind of prompt. Rows with the same fields as one that passed need no check."""
        fields = (
            data.tokens is not None,
            data.block_keys is not None,
            data.messages is not None,
            data.prompt is not None,
            data.segments is not None,
            data.prompt_tokens is not None,
            data.output_ids is not None,
            data.output_block_keys is not None,
            data.reply is not None,
            data.reply_segments is not None,
            data.tools is not None,
            data.id_scope is not None,
            data.unit == "bytes",
            self.kind is not None,
        )
        kind = self._kinds.get(fields)
        if kind is None:
            kind = self._kinds[fields] = self._checked_kind(data, place)
        return kind

    def _checked_kind(self, data: HitpathRow, place: str) -> str:
        kinds = [kind for kind in _KINDS if getattr(data, kind) is not None]
        if len(kinds) > 1 or (not kinds and data.prompt_tokens is None):
            found = "none" if not kinds else " and ".join(kinds)
            wanted = f"{', '.join(_KINDS)} (or prompt_tokens alone, for lengths only)"
            raise InputError(place, "", f"needs exactly one of {wanted}; has {found}")
        kind = kinds[0] if kinds else LENGTHS
        text = ("messages", "prompt")
        if self.kind not in (None, kind) and not (kind in text and self.kind in text):
            raise InputError(place, kind, f"{self._kind_place} has {self.kind}: one kind a trace")
        for name, kinds_of_name in _OUTPUT_OF.items():
            if getattr(data, name) is not None and kind not in kinds_of_name:
                raise InputError(place, name, f"does not go with {kind}")
        if data.reply is not None and data.reply_segments is not None:
            raise InputError(place, "reply_segments", "reply stands there too: give one of them")
        if data.unit == "bytes" and kind not in ("segments", "tokens"):
            raise InputError(place, "unit", f"does not go with {kind}")
        if data.id_scope is not None and kind != "block_keys":
            raise InputError(place, "id_scope", f"does not go with {kind}")
        if data.tools is not None and kind != "messages":
            raise InputError(place, "tools", f"does not go with {kind}")
        return kind

    def _check_whole(self, data: HitpathRow, place: str) -> _Whole:
        """What the first row decides for the whole trace."""
        here = _Whole._make(
            (
                data.arrival_s is not None,
                data.clock is not None,
                data.model_is_label,
                data.unit == "bytes",
            )
        )
        if self.kind is not None and here != self._whole:
            name, has = next(
                (name, has)
                for name, has, had in zip(_Whole._fields, here, self._whole, strict=True)
                if has != had
            )
            first, now = ("not in", "here") if has else ("in", "absent here")
            cause = f"{first} {self._kind_place}, but {now}: all rows or none"
            raise InputError(place, name, cause)
        if data.arrival_s is None and data.finish_s is not None:
            raise InputError(place, "finish_s", "needs arrival_s beside it")
        return here

    def _arrival_s(self, data: HitpathRow, place: str) -> float:
        """Without times (null) the number of the row stands for them."""
        if data.arrival_s is None:
            return float(len(self._builder.rows) + len(self._builder.skipped))
        return check_seconds(data.arrival_s, "arrival_s", place)

    def _context(self, data: HitpathRow) -> Context:
        """The same object for rows that say the same."""
        key = (data.model, None if data.context is None else tuple(data.context.items()))
        known = self._contexts.get(key)
        if known is None:
            told = {k: str(v) for k, v in (data.context or {}).items() if v is not None}
            known = self._contexts[key] = Context(
                model=told.pop("model", data.model),
                salt=told.pop("salt", None),
                adapter=told.pop("adapter", None),
                media_salt=told.pop("media_salt", None),
                others=tuple(sorted(told.items())),
            )
        return known

    @staticmethod
    def _prompt_tokens(data: HitpathRow, kind: str, length: int, place: str) -> int:
        if kind in ("block_keys", LENGTHS):
            if data.prompt_tokens is None:
                raise InputError(place, "prompt_tokens", "missing: needed beside block_keys")
            return check_tokens(data.prompt_tokens, "prompt_tokens", place)
        told = data.prompt_tokens
        if told is not None and told != length and kind in ("tokens", "segments"):
            raise InputError(place, "prompt_tokens", f"{told}, but {kind} hold {length}")
        return length

    @staticmethod
    def _output_tokens(
        data: HitpathRow, kind: str, output: Symbols | None, place: str
    ) -> int | None:
        told = data.output_tokens
        if told is not None:
            check_tokens(told, "output_tokens", place)
        if output is None:
            return told
        if kind == "block_keys":
            if told is None:
                raise InputError(place, "output_tokens", "missing: needed with output_block_keys")
            return told
        if kind == "tokens" and told is not None and told != len(output):
            raise InputError(place, "output_tokens", f"{told}, but output_ids hold {len(output)}")
        return len(output)

    def _check_blocks(self, row: Row, data: HitpathRow, place: str) -> None:
        size = data.block_size
        if size is None:
            raise InputError(place, "block_size", "missing: needed beside block_keys")
        check_block_size(size, "block_size", place)
        if self.block_size not in (None, size):
            raise InputError(place, "block_size", f"{size}, but {self.block_size} before")
        check_num_ids(len(row.prompt), row.prompt_tokens, size, "block_keys", place)
        if row.output is not None and row.output_tokens is not None:
            whole = row.prompt_tokens // size
            total = row.prompt_tokens + row.output_tokens
            check_num_ids(whole + len(row.output), total, size, "output_block_keys", place)

    def _take_reported(self, row: Row, reported: Reported, place: str) -> None:
        """Cached tokens, and the prompt as the engine counted it where its counting is known."""
        for name, check in _REPORTED_CHECKS:
            value = getattr(reported, name)
            if value is not None:
                check(value, f"reported.{name}", place)
        if reported.cached_by_tier:
            for tier, value in reported.cached_by_tier.items():
                check_tokens(value, f"reported.cached_by_tier.{tier}", place)
            row.tiers = reported.cached_by_tier
        if reported.cost is not None:
            check_usd(reported.cost, "reported.cost", place)
            if reported.currency in (None, "USD"):
                row.cost_usd = float(reported.cost)
            else:
                self.other_currencies += 1
        if reported.counting not in (None, "inclusive", "exclusive"):
            cause = f"{reported.counting!r} is neither inclusive nor exclusive"
            raise InputError(place, "reported.counting", cause)
        row.written = reported.cache_write_tokens
        row.written_1h = reported.cache_write_1h_tokens
        ttl_s = reported.cache_write_ttl_s
        if row.written_1h is None and row.written is not None and ttl_s is not None:
            row.written_1h = row.written if ttl_s >= HOUR_S else 0
        row.reported_output = reported.output_tokens
        row.ttft_s = None if reported.ttft_s is None else float(reported.ttft_s)
        row.reported = reported.cached_tokens
        if row.reported is None and row.tiers:
            row.reported = sum(row.tiers.values())
        if reported.prompt_tokens is None:
            return
        if reported.counting is None:
            self.uncounted += 1
        elif reported.counting == "inclusive":
            row.reported_prompt = reported.prompt_tokens
        elif row.reported is None:
            # More than the whole prompt without its cached part: wrong whatever that part is.
            if reported.prompt_tokens > row.prompt_tokens:
                row.reported_prompt = reported.prompt_tokens
        else:
            written = reported.cache_write_tokens or 0
            row.reported_prompt = reported.prompt_tokens + row.reported + written


def _name(value: str | int | None) -> str | None:
    return None if value is None else str(value)


FORMAT = Format(NAME, "hitpath JSONL", recognises, read)

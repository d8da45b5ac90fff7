"""One request on its way from a reader into the table, and the checks that all formats share.

A reader makes a `Row` a request and hands it to `TraceBuilder.add`; the builder checks what no
single format can know (duplicate ids, mixed kinds, reported counts against the prompt), keeps
the order of the file, and builds the columns. Nothing is altered silently: whatever is dropped
is listed, whatever is reordered or ignored is noted.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hitpath.core import ABSENT, MAX_TOKENS, InputError, printable
from hitpath.traces.partial_ids import mark_partial_ids
from hitpath.traces.problems import Problem, SkippedSoFar
from hitpath.traces.sampling import Sampler
from hitpath.traces.segments import Stretches
from hitpath.traces.table import (
    Context,
    Identity,
    Labels,
    Names,
    Runs,
    Thinned,
    Trace,
    encode_labels,
    runs_of,
)
from hitpath.traces.table import Symbols as Symbols

DEFAULT_BLOCK_SIZE = 16
MAX_SECONDS = 1e12
MOST_TIERS = 64
MOST_NAMED = 20
"""Fields that are not read, a note each."""
MAX_USD = 1e9
_TOKEN_LIMIT = 1 << 32

NO_CONTEXT = Context()
NO_TIERS: Mapping[str, int] = MappingProxyType({})
NO_SYMBOLS: Symbols = np.zeros(0, dtype=np.uint64)
"""The prompt of a row of which only lengths are known (identity "lengths_only")."""


class Row(msgspec.Struct, gc=False):
    """One request. `prompt` and `output`: symbols; None = the file does not have them.
    `id_may_repeat`: the file gives no id (then it is made of the row's number), or none that
    stands once; where it is taken, a number comes behind it. `scope`: within which block ids
    mean the same, None for the one without a name.

    `reported`: hit tokens that the engine told; `reported_prompt`: its count of the whole
    prompt, cached tokens included; `tiers`: the hit by tier; `written`: tokens that a provider
    says it wrote into its cache (within the prompt, beside the hit), `written_1h` of them for an
    hour; `reported_output`: its count of the output; `cost_usd`: what the request is said to
    have cost; `ttft_s`: seconds to the first token. None is "not told", never 0. `clock`: whose
    clock the times are of, where requests have clocks of their own; `excluded`: why the row must
    leave all sums, where the file itself says so.
    """

    id: str
    arrival_s: float
    prompt: Symbols
    prompt_tokens: int
    output: Symbols | None = None
    output_tokens: int | None = None
    finish_s: float | None = None
    session: str | None = None
    tenant: str | None = None
    model: str | None = None
    worker: str | None = None
    turn: int | None = None
    context: Context = NO_CONTEXT
    scope: str | None = None
    reported: int | None = None
    reported_prompt: int | None = None
    tiers: Mapping[str, int] = NO_TIERS
    written: int | None = None
    written_1h: int | None = None
    reported_output: int | None = None
    cost_usd: float | None = None
    ttft_s: float | None = None
    clock: str | None = None
    excluded: str | None = None
    num_ids: int = 0
    last_kept: bool = True
    id_may_repeat: bool = False


def symbols_from(values: list[Any], dtype: type, name: str, place: str) -> Symbols:
    """A list of JSON integers as an array; InputError names the entry that does not fit."""
    try:
        # array.array takes a list 2.5 times faster than numpy does.
        return np.frombuffer(array("I" if dtype is np.uint32 else "Q", values), dtype=dtype)
    except (OverflowError, ValueError, TypeError):
        limit = _TOKEN_LIMIT if dtype is np.uint32 else 1 << 64
        for i, value in enumerate(values):
            if not (type(value) is int and 0 <= value < limit):
                bits = limit.bit_length() - 1
                cause = f"{value!r} is not an integer from 0 to 2**{bits} - 1"
                raise InputError(place, f"{name}[{i}]", cause) from None
        raise


def check_seconds(value: float, name: str, place: str) -> float:
    """A time must be finite and not negative. An integer of any size may come in."""
    if not 0 <= value <= MAX_SECONDS:
        raise InputError(place, name, f"{value} s is not a time from 0 to {MAX_SECONDS:g} s")
    return float(value)


def scaled_seconds(value: int | float, per_s: float, name: str, place: str) -> float:
    """A time in units of which `per_s` are a second, as seconds; an integer of any size may come
    in. Raises InputError for what is negative or too large."""
    if not 0 <= value <= MAX_SECONDS * per_s:
        cause = f"{value} / {per_s:g} s is not a time from 0 to {MAX_SECONDS:g} s"
        raise InputError(place, name, cause)
    return value / per_s


def check_tokens(value: int, name: str, place: str) -> int:
    """A token count must not be negative, nor so large that sums could overflow."""
    if not 0 <= value <= MAX_TOKENS:
        raise InputError(place, name, f"{value} is not a count from 0 to 2**40")
    return value


def check_usd(value: float, name: str, place: str) -> float:
    """A cost must be finite and not negative."""
    if not 0 <= value < MAX_USD:
        raise InputError(place, name, f"{value} is no cost in USD")
    return float(value)


def whole_prompt(uncached: int | None, hit: int | None, written: int | None) -> int | None:
    """The whole prompt where a provider counts its parts apart (Anthropic, Bedrock): tokens neither
    read from its cache nor written to it, those read, and those written. None where any is not
    told: absent is not 0."""
    if uncached is None or hit is None or written is None:
        return None
    return uncached + hit + written


def _broken_invariant(row: Row) -> tuple[str, str] | None:
    """(field, cause) where the reported counts contradict the prompt or each other."""
    if row.tiers and row.reported is not None and sum(row.tiers.values()) != row.reported:
        told = " + ".join(f"{n:,} {tier}" for tier, n in row.tiers.items())
        return "reported.cached_by_tier", f"{told} is not {row.reported:,} cached tokens"
    if row.reported_prompt is not None and row.reported_prompt != row.prompt_tokens:
        return (
            "reported.prompt_tokens",
            f"{row.reported_prompt:,} tokens, but the prompt here has {row.prompt_tokens:,}",
        )
    if row.reported is not None and row.reported > row.prompt_tokens:
        return (
            "reported.cached_tokens",
            f"{row.reported:,} cached of {row.prompt_tokens:,} prompt tokens",
        )
    if (row.reported or 0) + (row.written or 0) > row.prompt_tokens:
        return (
            "reported.cache_write_tokens",
            f"{row.written:,} written beside {row.reported or 0:,} cached of "
            f"{row.prompt_tokens:,} prompt tokens",
        )
    if row.written is not None and (row.written_1h or 0) > row.written:
        return (
            "reported.cache_write_1h_tokens",
            f"{row.written_1h:,} of {row.written:,} tokens written",
        )
    return None


class TraceBuilder:
    """Gathers rows in file order. `skip_bad_rows`: list bad rows instead of raising.

    sampler: keep only some blocks of each prompt (`token_block_size` where rows hold tokens).
    prompts_in_sequence: a reader's word that the prompts of its rows are views of one buffer, each
    behind the one before, as IdParser makes them: then they are not copied where nothing moved.
    keeps_places: whether the trace tells where its rows stand.
    """

    def __init__(
        self,
        skip_bad_rows: bool = False,
        sampler: Sampler | None = None,
        token_block_size: int = DEFAULT_BLOCK_SIZE,
    ) -> None:
        self.rows: list[Row] = []
        self.skipped = SkippedSoFar()
        self.excluded: dict[int, Problem] = {}
        self.ignored_fields: Counter[str] = Counter()
        self.notes: list[str] = []
        self.has_times = True
        self.prompts_in_sequence = False
        self.keeps_places = False
        self._skip = skip_bad_rows
        self._first_place: dict[str, str] = {}
        self._repeated: Counter[str] = Counter()
        self._num_renamed = 0
        self._tiers: frozenset[str] = frozenset()
        self._sampler = sampler
        self._token_block_size = token_block_size

    @property
    def thins(self) -> bool:
        """Whether only some blocks of a row's prompt are kept, in a copy."""
        return self._sampler is not None

    def reject(self, error: InputError) -> None:
        """A bad row: raise, or list it under --skip-bad-rows."""
        if not self._skip:
            raise error
        self.skipped.append(Problem(error.place, error.field, error.cause))

    def attempt(
        self,
        make_row: Callable[[], Row],
        place: str,
        units_agree: Callable[[], bool] = lambda: True,
    ) -> None:
        """Make one row and add it; an InputError from either goes through `reject`."""
        try:
            row = make_row()
            if row.id_may_repeat and row.id in self._first_place:
                row.id = self._free_id(row.id)
            if row.id in self._first_place or row.finish_s is not None:
                self._check(row, place)
            check_tokens(row.prompt_tokens, "prompt_tokens", place)
            if row.tiers:
                self._check_tiers(row, place)
        except InputError as error:
            self.reject(error)
            return
        broken = None
        if row.reported is not None or row.reported_prompt is not None or row.written is not None:
            broken = _broken_invariant(row) if units_agree() else None
        if row.excluded is not None:
            broken = ("excluded", row.excluded)
        if broken is not None:
            self.excluded[len(self.rows)] = Problem(place, *broken)
        self._first_place[row.id] = place
        row.num_ids = len(row.prompt)
        if self._sampler is not None:
            self._thin(row, self._sampler)
        self.rows.append(row)

    def _free_id(self, taken: str) -> str:
        """The next of `taken#2`, `taken#3` and so on that no row has."""
        self._num_renamed += 1
        found = taken
        while found in self._first_place:
            self._repeated[taken] += 1
            found = f"{taken}#{self._repeated[taken] + 1}"
        return found

    def place_of(self, row: Row) -> str:
        """Where a row that was added stands."""
        return self._first_place[row.id]

    def _thin(self, row: Row, sampler: Sampler) -> None:
        ids = sampler.ids_of(row.prompt, self._token_block_size)
        row.num_ids = len(ids)
        kept = sampler.keep(ids)
        row.last_kept = bool(kept[-1]) if len(ids) else False
        row.prompt, row.output = ids[kept], None

    def _check(self, row: Row, place: str) -> None:
        if row.id in self._first_place:
            raise InputError(place, "id", f"{row.id!r} stands at {self._first_place[row.id]} too")
        if row.finish_s is not None and row.finish_s < row.arrival_s:
            cause = f"{row.finish_s} s is before the arrival at {row.arrival_s} s"
            raise InputError(place, "finish_s", cause)

    def _check_tiers(self, row: Row, place: str) -> None:
        """Each tier is a column of the trace: few, whatever the file says."""
        if self._tiers.issuperset(row.tiers):
            return
        tiers = self._tiers.union(row.tiers)
        if len(tiers) > MOST_TIERS:
            cause = f"more than {MOST_TIERS} tiers in one trace: these are names of something else"
            raise InputError(place, "reported.cached_by_tier", cause)
        self._tiers = tiers

    def build(
        self,
        format_name: str,
        identity: Identity,
        block_size: int | None,
        *,
        own_clocks: bool = False,
        model_is_label: bool = False,
        report_in_other_units: bool = False,
        key_names: tuple[str, ...] | None = None,
        stretches: Stretches | None = None,
    ) -> Trace:
        """The table, ordered by arrival and then by file (by file alone with `own_clocks`).

        key_names, stretches: of what the reader has numbered (see `Names`).
        """
        rows, excluded = self.rows, self.excluded
        moved = None if own_clocks else self._moved()
        if moved is not None:
            rows = [rows[i] for i in moved.tolist()]
            place_of = {old: new for new, old in enumerate(moved.tolist())}
            excluded = {place_of[i]: problem for i, problem in excluded.items()}
        if self._num_renamed:
            self.notes.append(
                f"{self._num_renamed:,} requests without an id that stands once have that of an "
                "earlier one: #2, #3 ... behind it"
            )
        unnamed = [row.worker for row in rows].count(None)
        if 0 < unnamed < len(self.rows):
            self.notes.append(
                f"{unnamed:,} rows name no worker, others do: taken as one more worker, "
                f"{UNNAMED_WORKER}"
            )
        ignored = sorted(self.ignored_fields.items())
        for name, count in ignored[:MOST_NAMED]:
            self.notes.append(f"field {name!r} is not one that hitpath reads ({count:,} rows)")
        if len(ignored) > MOST_NAMED:
            self.notes.append(f"{len(ignored) - MOST_NAMED:,} more fields are not read")
        if self._sampler is not None and block_size is None:
            block_size = self._token_block_size
        return _columns(
            rows,
            {
                "format": format_name,
                "identity": identity,
                "block_size": block_size,
                "excluded": dict(sorted(excluded.items())),
                "skipped": self.skipped.found(),
                "notes": tuple(map(printable, self.notes)),  # they may hold names from the file
                "own_clocks": own_clocks,
                "has_times": self.has_times,
                "model_is_label": model_is_label,
                "thinned": self._thinned(rows),
                "places": tuple(map(self.place_of, rows)) if self.keeps_places else (),
            },
            key_names=None if self.thins else key_names,
            stretches=None if self.thins else stretches,
            keep_reports=not report_in_other_units,
            in_sequence=self.prompts_in_sequence and moved is None,
        )

    def _moved(self) -> NDArray[np.int64] | None:
        """The order by arrival, None where the rows stand in it."""
        arrival_s = np.array([row.arrival_s for row in self.rows], dtype=np.float64)
        if np.all(arrival_s[1:] >= arrival_s[:-1]):
            return None
        order: NDArray[np.int64] = np.argsort(arrival_s, kind="stable")
        moved = int(np.count_nonzero(order != np.arange(len(order))))
        self.notes.append(
            f"{moved:,} of {len(order):,} rows did not stand in order of arrival; sorted"
        )
        return order

    def _thinned(self, rows: list[Row]) -> Thinned | None:
        if self._sampler is None:
            return None
        num_ids = np.array([row.num_ids for row in rows], dtype=np.int64)
        last_kept = np.array([row.last_kept for row in rows], dtype=np.bool_)
        return Thinned(self._sampler.one_in, num_ids, last_kept)


def _integers(values: list[int | None]) -> NDArray[np.int64]:
    num_absent = values.count(None)
    if num_absent == len(values):
        return np.full(len(values), ABSENT, dtype=np.int64)
    if num_absent:
        values = [ABSENT if v is None else v for v in values]
    return np.array(values, dtype=np.int64)


def _seconds_column(values: list[float | None]) -> NDArray[np.float64]:
    if values.count(None) == len(values):
        return np.full(len(values), np.nan)
    return np.array(values, dtype=np.float64)  # None becomes NaN


def _tier_columns(rows: list[Row]) -> dict[str, NDArray[np.int64]]:
    names = sorted({tier for row in rows for tier in row.tiers})
    return {name: _integers([row.tiers.get(name) for row in rows]) for name in names}


def _sessions(rows: list[Row]) -> tuple[Labels, tuple[str, ...]]:
    """(session names, the file's own names by the same codes): one name that two tenants use
    stands for a session of each."""
    tenants = [row.tenant for row in rows]
    if tenants.count(None) == len(rows):
        labels = encode_labels([row.session for row in rows])
        return labels, labels.names
    pairs = list(zip([row.session for row in rows], tenants, strict=True))
    distinct = [pair for pair in dict.fromkeys(pairs) if pair[0] is not None]
    num_tenants = Counter(session for session, _ in distinct)
    name_of: dict[tuple[str | None, str | None], str | None] = {
        (session, tenant): f"{tenant}/{session}" if num_tenants[session] > 1 else session
        for session, tenant in distinct
    }
    codes = {pair: code for code, pair in enumerate(distinct)}
    column = np.array([codes.get(pair, ABSENT) for pair in pairs], dtype=np.int64)
    labels = Labels(column, tuple(str(name) for name in name_of.values()))
    return labels, tuple(str(session) for session, _ in distinct)


def _contexts(rows: list[Row]) -> tuple[tuple[Context, ...], NDArray[np.int64]]:
    """(the contexts, the number of each row's). Each object is hashed once."""
    objects = [row.context for row in rows]
    numbers: dict[Context, int] = {}
    distinct = dict(zip(map(id, objects), objects, strict=True))
    code_of = {key: numbers.setdefault(c, len(numbers)) for key, c in distinct.items()}
    codes = np.fromiter(map(code_of.__getitem__, map(id, objects)), dtype=np.int64, count=len(rows))
    return tuple(numbers), codes


def _scopes(rows: list[Row]) -> tuple[NDArray[np.int64], tuple[str | None, ...]]:
    """(the number of each row's scope, the names by number). 0 is the one without a name."""
    numbers: dict[str | None, int] = {None: 0}
    codes = [numbers.setdefault(row.scope, len(numbers)) for row in rows]
    return np.array(codes, dtype=np.int64), tuple(numbers)


UNNAMED_WORKER = "(not named)"


def _workers(rows: list[Row]) -> Labels:
    values = [row.worker for row in rows]
    if any(v is not None for v in values):
        values = [UNNAMED_WORKER if v is None else v for v in values]
    return encode_labels(values)


def _dtype_of_tokens(rows: list[Row]) -> type:
    """uint8 where every prompt and output is bytes of text, else uint32."""
    sizes = {row.prompt.itemsize for row in rows}
    sizes.update(row.output.itemsize for row in rows if row.output is not None)
    return np.uint8 if sizes == {1} else np.uint32


def _columns(
    rows: list[Row],
    rest: dict[str, Any],
    *,
    key_names: tuple[str, ...] | None,
    stretches: Stretches | None,
    keep_reports: bool,
    in_sequence: bool,
) -> Trace:
    in_tokens = rest["identity"] in ("tokens", "text") and rest["thinned"] is None
    dtype = _dtype_of_tokens(rows) if in_tokens else np.uint64
    contexts, context = _contexts(rows)
    scope, scopes = _scopes(rows)
    session, sessions = _sessions(rows)
    empty: Symbols = np.zeros(0, dtype=dtype)
    outputs = [row.output for row in rows]
    with_output = any(output is not None for output in outputs)
    no_runs = Runs(empty, np.zeros(len(rows) + 1, dtype=np.int64))
    prompts = runs_of([row.prompt for row in rows], dtype, in_sequence)
    if not in_tokens and rest["thinned"] is None and rest["block_size"] is not None:
        tokens = np.array([row.prompt_tokens for row in rows], dtype=np.int64)
        mark_partial_ids(prompts, tokens, rest["block_size"])
    none: list[int | None] = [None] * len(rows)
    return Trace(
        ids=tuple(row.id for row in rows),
        id_may_repeat=np.array([row.id_may_repeat for row in rows], dtype=np.bool_),
        arrival_s=np.array([row.arrival_s for row in rows], dtype=np.float64),
        finish_s=_seconds_column([row.finish_s for row in rows]),
        prompt_tokens=np.array([row.prompt_tokens for row in rows], dtype=np.int64),
        output_tokens=_integers([row.output_tokens for row in rows]),
        prompts=prompts,
        outputs=runs_of([empty if o is None else o for o in outputs], dtype)
        if with_output
        else no_runs,
        has_output=np.array([o is not None for o in outputs], dtype=np.bool_),
        contexts=contexts,
        context=context,
        scope=scope,
        session=session,
        tenant=encode_labels([row.tenant for row in rows]),
        model=encode_labels([row.model for row in rows]),
        worker=_workers(rows),
        turn=_integers([row.turn for row in rows]),
        clock=encode_labels([row.clock for row in rows]),
        reported_hit=_integers([row.reported for row in rows] if keep_reports else none),
        reported_tiers=_tier_columns(rows) if keep_reports else {},
        reported_written=_integers([row.written for row in rows]),
        reported_written_1h=_integers([row.written_1h for row in rows]),
        reported_output=_integers([row.reported_output for row in rows]),
        reported_usd=_seconds_column([row.cost_usd for row in rows]),
        apart_hit=_integers(none if keep_reports else [row.reported for row in rows]),
        apart_prompt=_integers(none if keep_reports else [row.reported_prompt for row in rows]),
        ttft_s=_seconds_column([row.ttft_s for row in rows]),
        names=Names(key_names, stretches, scopes, sessions),
        **rest,
    )

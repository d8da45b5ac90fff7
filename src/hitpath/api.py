"""The public Python API: `hitpath.analyze`, `hitpath.read`, `hitpath.Result`.

    import hitpath

    found = hitpath.analyze("trace.jsonl", engine="lru", capacity_tokens=1_000_000)
    found.hit_rate                  # 0.3734: hit tokens / prompt tokens
    found.causes["evicted"]         # tokens, or None where not known
    found.ledger                    # pyarrow.Table, one row a request

Errors are `hitpath.HitpathError` (`InputError`: place, field, cause; `SettingError`: option,
cause), each one line. Nothing is printed, nothing leaves the machine.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from hitpath.core import CAUSES, InputError, Setting, SettingError, one_of
from hitpath.report.convert.redact import read_key
from hitpath.report.convert.run import TARGETS, Conversion, write_trace
from hitpath.report.diff import side_of
from hitpath.report.document import document
from hitpath.report.explain import Explanation, explain
from hitpath.report.lengths import lengths_document, lengths_table
from hitpath.report.rows import ledger_table
from hitpath.spine import analyze_trace, check_some_counts
from hitpath.summary import Analysis, LengthsAnalysis, sum_up_lengths
from hitpath.summary.diff import Comparison, compare
from hitpath.summary.labelled_rows import BY
from hitpath.summary.lengths import NO_IDENTITY
from hitpath.text.tokenizer import load_tokenizer
from hitpath.traces import read_rows, read_trace
from hitpath.traces.table import Trace

if TYPE_CHECKING:
    from pyarrow import Table

Place = str | PathLike[str]
Row = Mapping[str, Any]
Traces = Place | Sequence[Place] | Iterable[Row] | Trace


def read(
    traces: Traces,
    *,
    tokenizer: str | None = None,
    block_size: int | None = None,
    mapping: Sequence[str] = (),
    skip_bad_rows: bool = False,
) -> Trace:
    """One trace from files, or from rows in memory.

    traces: a file, folder, glob or "-", or several of them, of any format that hitpath reads
    (docs/trace-format.md); or rows of hitpath's own format as dicts (lists may be numpy
    arrays). tokenizer, mapping: as `--tokenizer`, and each `--map`. block_size: tokens, of a
    Mooncake trace that does not tell. skip_bad_rows: bad rows are in `Trace.skipped` instead of
    raising. Raises InputError or SettingError.
    """
    if isinstance(traces, Trace):
        _refuse("is for reading; this trace is read already", tokenizer=tokenizer, mapping=mapping)
        return traces
    loaded = load_tokenizer(tokenizer)
    if isinstance(traces, str | PathLike):
        traces = [traces]
    items = list(traces)
    places = [fspath(item) for item in items if isinstance(item, str | PathLike)]
    if len(places) == len(items) and places:
        return read_trace(
            places,
            block_size=block_size,
            tokenizer=loaded,
            mapping=mapping,
            skip_bad_rows=skip_bad_rows,
        )
    rows = [item for item in items if isinstance(item, Mapping)]
    if len(rows) != len(items) or not rows:
        raise InputError("traces", "", "neither files nor rows: give one or more of one kind")
    _refuse("is for files; rows in memory have hitpath's own names", mapping=mapping)
    return read_rows(rows, tokenizer=loaded, skip_bad_rows=skip_bad_rows)


def _refuse(cause: str, **options: Any) -> None:
    """Raise SettingError for an option that would be ignored."""
    for name, value in options.items():
        if value:
            raise SettingError(name, cause)


def _setting(options: dict[str, Any]) -> Setting:
    """Raises SettingError for a field that is none, or that only the command has."""
    known = [field.name for field in fields(Setting) if field.name != "sample_frac"]
    for name in options:
        if name not in known:
            raise SettingError(name, f"not one of {', '.join(known)}")
    return Setting(**options)


def analyze(
    traces: Traces,
    *,
    mapping: Sequence[str] = (),
    skip_bad_rows: bool = False,
    **setting: Any,
) -> "Result":
    """Measure the hit rate of a trace, and give every missed token one cause.

    traces, mapping, skip_bad_rows: as `read`. setting: the fields of `hitpath.Setting`, named as
    the options of `hitpath analyze` (engine, capacity_tokens, block_size, last_token, outputs,
    workers, router, seed, split_models, tokenizer); counts are tokens.
    Raises InputError or SettingError.
    """
    how = _setting(setting)
    trace = read(
        traces,
        tokenizer=how.tokenizer,
        block_size=how.block_size,
        mapping=mapping,
        skip_bad_rows=skip_bad_rows,
    )
    check_some_counts(trace)
    if trace.identity == "lengths_only":
        return Result(sum_up_lengths(trace, how))
    return Result(analyze_trace(trace, how))


def diff(
    a: "Traces | Result", b: "Traces | Result", *, by: str | None = None, **setting: Any
) -> Comparison:
    """Why the hit rate moved from A to B, cause by cause, mix against behaviour.

    a, b: traces as `analyze` takes them, analysed under one `setting`, or Results. by: tenant,
    model, worker, session, turn or length; None chooses what both name. The effects in
    `Comparison.difference` are `fractions.Fraction` and add up exactly (docs/diff.md).
    Raises InputError for a side without a hit rate, SettingError for a label that a side lacks.
    """
    if isinstance(a, Result) or isinstance(b, Result):
        _refuse("a Result has its setting already", **setting)
    found_a, found_b = (x if isinstance(x, Result) else analyze(x, **setting) for x in (a, b))
    side_a, side_b = side_of("A", "A", found_a.analysis), side_of("B", "B", found_b.analysis)
    return compare(side_a, side_b, None if by is None else one_of("by", by, BY))


def convert(
    traces: Traces,
    out: Place,
    *,
    to: str = "hitpath",
    block_size: int | None = None,
    every_s: float | None = None,
    redact: Place | None = None,
    hash_labels: bool = False,
    tokenizer: str | None = None,
    mapping: Sequence[str] = (),
    skip_bad_rows: bool = False,
) -> list[str]:
    """Write a trace as hitpath's own rows (.jsonl, .jsonl.gz, .jsonl.zst, .parquet by `out`'s
    ending) or as Mooncake JSONL; returns what there is to know of the file, a sentence each.

    redact: a key file; prompts become keyed hashes, and analysing the file gives the same answers
    (docs/adr/0014). block_size, every_s: for "mooncake" only, tokens a block and seconds between
    requests of a trace without times. Raises InputError, SettingError or OutputError.
    """
    how = Conversion(
        traces=[],
        out=fspath(out),
        to=one_of("to", to, TARGETS),
        block_size=block_size,
        every_s=every_s,
        redact=None if redact is None else fspath(redact),
        hash_labels=hash_labels,
    )
    how.check()
    key = None if how.redact is None else read_key(how.redact)
    trace = read(traces, tokenizer=tokenizer, mapping=mapping, skip_bad_rows=skip_bad_rows)
    return write_trace(trace, how, key)


@dataclass(frozen=True, repr=False)
class Result:
    """One analysis. N requests, in serving order; counts are tokens, rates 0 to 1, times seconds;
    None is "not known" (`not_known` says why), never 0.

    `analysis` is the whole record that reports are made from; its fields are not pinned.
    """

    analysis: Analysis | LengthsAnalysis

    def __repr__(self) -> str:
        rate = "no hit rate" if self.hit_rate is None else f"{self.hit_rate:.2%} hit"
        return f"Result({rate}, {self.prompt_tokens:,} prompt tokens, {len(self.trace):,} requests)"

    @property
    def trace(self) -> Trace:
        """What was read."""
        return self.analysis.trace

    @property
    def hit_rate(self) -> float | None:
        """Token-weighted: hit tokens / prompt tokens over all counted requests (of a trace of
        lengths only: over those that report their hit)."""
        return self.analysis.hit_rate.token_weighted

    @property
    def rates(self) -> dict[str, float | None]:
        """Every hit rate under its own name (docs/what-counts-as-a-hit.md)."""
        return dict(self.document["hit_rate"])

    @property
    def prompt_tokens(self) -> int:
        """Of all counted requests."""
        return int(self.document["tokens"]["prompt"])

    @property
    def hit_tokens(self) -> int | None:
        """Reported where the trace reports, else modelled."""
        found: int | None = self.document["tokens"]["hit"]
        return found

    @property
    def causes(self) -> dict[str, int | None]:
        """Missed tokens by cause, in the order of the ladder. With `hit_tokens` and
        `document["tokens"]["unexplained"]` they add up to `prompt_tokens`; all None for a trace
        of lengths only."""
        causes = self.document["tokens"]["causes"]
        return {cause: causes[cause] for cause in CAUSES}

    @property
    def not_known(self) -> dict[str, str]:
        """Cause -> why it cannot be told; its tokens stand in the next cause."""
        return dict(self.document["tokens"]["not_known"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before quoting a number."""
        return self.analysis.warnings

    @cached_property
    def document(self) -> dict[str, Any]:
        """What `--json` writes (docs/json-output.md)."""
        if isinstance(self.analysis, LengthsAnalysis):
            return lengths_document(self.analysis)
        return document(self.analysis, None)

    @property
    def ledger(self) -> "Table":
        """[N] One row a request, the columns of `--ledger` (docs/json-output.md)."""
        table: Table = (
            lengths_table(self.analysis)
            if isinstance(self.analysis, LengthsAnalysis)
            else ledger_table(self.analysis)
        )
        return table

    @property
    def curve(self) -> "Table":
        """`capacity_tokens`, `hit_rate`: LRU over one cache for all requests, exact at each
        point. No rows for a trace of lengths only."""
        points = (self.document["curve"] or {"points": []})["points"]
        return _table(points, {"capacity_tokens": "int64", "hit_rate": "float64"})

    @property
    def over_time(self) -> "Table":
        """`begin`, `end` (s, or request numbers), `num_requests`, `prompt_tokens`,
        `hit_tokens`, `token_weighted`, `request_mean_token_full`: up to 24 windows."""
        rows = [{**window, **window["rates"]} for window in self.document["over_time"]["windows"]]
        numbers = {"begin": "float64", "end": "float64"}
        counts = dict.fromkeys(("num_requests", "prompt_tokens", "hit_tokens"), "int64")
        rates = dict.fromkeys(("token_weighted", "request_mean_token_full"), "float64")
        return _table(rows, {**numbers, **counts, **rates})

    def by(self, label: str) -> "Table":
        """`name`, `num_requests`, `prompt_tokens`, `hit_tokens`, `possible_tokens`, `hit_rate`
        of each tenant, session, model, worker or turn. Raises KeyError for another label."""
        columns = ("num_requests", "prompt_tokens", "hit_tokens", "possible_tokens")
        rows = [
            {name: getattr(group, name) for name in ("name", *columns, "hit_rate")}
            for group in self.analysis.groups[label]
        ]
        types = {"name": "string", **dict.fromkeys(columns, "int64"), "hit_rate": "float64"}
        return _table(rows, types)

    def hit_rate_at(self, capacity_tokens: int) -> float | None:
        """The modelled LRU hit rate of one cache of this size, exact. None without prompts.
        Raises SettingError for a size that is none."""
        if type(capacity_tokens) is not int or capacity_tokens < 0:
            raise SettingError("capacity_tokens", f"{capacity_tokens!r} is no number of tokens")
        if isinstance(self.analysis, LengthsAnalysis) or not self.prompt_tokens:
            return None
        curve = self.analysis.curve
        blocks = capacity_tokens // curve.block_size
        return curve.at(blocks) * curve.block_size / self.prompt_tokens

    def explain(self, request_id: str) -> Explanation:
        """One request: labels, nearest relative, first difference. Raises InputError for an
        unknown id or a trace of lengths only."""
        if isinstance(self.analysis, LengthsAnalysis):
            raise InputError("trace", "", f"nothing to explain: {NO_IDENTITY}")
        return explain(self.analysis, request_id)


def _table(rows: Sequence[Mapping[str, Any]], types: Mapping[str, str]) -> "Table":
    import pyarrow as pa

    known: dict[str, Any] = {
        "int64": pa.int64(),
        "float64": pa.float64(),
        "string": pa.string(),
    }
    schema = pa.schema([(name, known[alias]) for name, alias in types.items()])
    shown = [{name: row[name] for name in types} for row in rows]
    table: Table = pa.Table.from_pylist(shown, schema)
    return table

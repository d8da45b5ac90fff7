"""The public Python API: `hitpath.analyze`, `hitpath.read`, `hitpath.observe`, their results.

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
from typing import TYPE_CHECKING, Any

from hitpath.core import (
    CAUSES,
    InputError,
    Setting,
    SettingError,
    one_of,
    whole_number,
    yes_or_no,
)
from hitpath.cost.price_list import PriceList, load_price_list
from hitpath.cost.pricing import Pricing
from hitpath.doctor.kept import KeptRows, keep_rows
from hitpath.doctor.rung import canonical_rung
from hitpath.report.arguments import (
    Place,
    Row,
    mapping_of,
    place_of,
    places_or_rows,
    texts_of,
)
from hitpath.report.arrow import table_of
from hitpath.report.convert.redact import read_key
from hitpath.report.convert.run import TARGETS, Conversion, write_trace
from hitpath.report.diff import side_of
from hitpath.report.doctor_result import Diagnosed as Diagnosed
from hitpath.report.doctor_run import examine, subject_of
from hitpath.report.document import document
from hitpath.report.explain import Explanation, explain
from hitpath.report.lengths import lengths_document, lengths_table
from hitpath.report.observed_result import Observed as Observed
from hitpath.report.rows import ledger_table
from hitpath.report.run import check_outputs
from hitpath.report.simulate_result import Fleet
from hitpath.report.simulate_result import Simulated as Simulated
from hitpath.report.simulate_result import Sized as Sized
from hitpath.report.simulate_result import Swept as Swept
from hitpath.spine import analyze_trace, check_some_counts
from hitpath.summary import Analysis, LengthsAnalysis, sum_up_lengths, with_worth
from hitpath.summary.diff import Comparison, compare
from hitpath.summary.labelled_rows import BY
from hitpath.summary.lengths import NO_IDENTITY
from hitpath.text.tokenizer import load_tokenizer
from hitpath.traces import engine_logs, open_inputs, read_rows, read_trace
from hitpath.traces.detect import statistics_in
from hitpath.traces.table import Trace

if TYPE_CHECKING:
    from pyarrow import Table

Traces = Place | Sequence[Place] | Iterable[Row] | Trace


def read(
    traces: Traces,
    *,
    tokenizer: Place | None = None,
    block_size: int | None = None,
    mapping: Sequence[str] = (),
    skip_bad_rows: bool = False,
) -> Trace:
    """One trace from files, or from rows in memory.

    traces: a file, folder, glob or "-", or several of them, of any format that hitpath reads
    (docs/trace-format.md); or rows of hitpath's own format as dicts (lists may be numpy
    arrays). tokenizer, mapping: as `--tokenizer`, and each `--map`. block_size: tokens, of a
    Mooncake trace that does not tell. skip_bad_rows: bad rows are in `Trace.skipped` instead of
    raising, the first 10,000 of `Trace.skipped.num`. Raises InputError or SettingError.
    """
    how = _setting({"tokenizer": tokenizer, "block_size": block_size})
    trace = _read(traces, how, mapping_of(mapping), yes_or_no("skip_bad_rows", skip_bad_rows))
    if block_size is not None and (isinstance(traces, Trace) or trace.block_size != how.block_size):
        cause = "is for block ids whose file does not tell it; here it belongs to the analysis"
        raise SettingError("block_size", cause)
    return trace


def _read(
    traces: Traces,
    how: Setting,
    mapping: list[str],
    skip_bad_rows: bool,
    kept: KeptRows | None = None,
) -> Trace:
    """Of the setting, what reading needs: the tokenizer, and the size of blocks of ids. kept: takes
    the text of the rows."""
    if isinstance(traces, Trace):
        if kept is not None:
            cause = "a trace that is read already has no text: give the files or rows"
            raise SettingError("traces", cause)
        _refuse(
            "is for reading; this trace is read already",
            tokenizer=how.tokenizer,
            mapping=mapping,
            skip_bad_rows=skip_bad_rows,
        )
        return traces
    places, rows = places_or_rows(traces)
    loaded = load_tokenizer(how.tokenizer)
    if places:
        return read_trace(
            places,
            block_size=how.block_size,
            tokenizer=loaded,
            mapping=mapping,
            skip_bad_rows=skip_bad_rows,
            inputs=None if kept is None else keep_rows(open_inputs(places), kept),
            keep_places=kept is not None,
        )
    _refuse("is for files; rows in memory have hitpath's own names", mapping=mapping)
    keep = None if kept is None else kept.keep
    return read_rows(rows, tokenizer=loaded, skip_bad_rows=skip_bad_rows, keep=keep)


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
    if options.get("tokenizer") is not None:
        options = {**options, "tokenizer": place_of("--tokenizer", options["tokenizer"])}
    return Setting(**options)


def analyze(
    traces: Traces,
    *,
    mapping: Sequence[str] = (),
    skip_bad_rows: bool = False,
    pricing: Pricing | None = None,
    prices: Sequence[str] | str = (),
    canonical: bool = False,
    **setting: Any,
) -> "Result":
    """Measure the hit rate of a trace, and give every missed token one cause.

    traces, mapping, skip_bad_rows: as `read`. setting: the fields of `hitpath.Setting`, named as
    the options of `hitpath analyze` (engine, capacity_tokens, block_size, last_token, outputs,
    workers, router, seed, split_models, tokenizer); counts are tokens.
    pricing: `hitpath.load_pricing(model, hardware, ...)`, for GPU time and money by cause
    (`document["price"]`). prices: "provider/model", or "MODEL=provider/model" for one model of
    the trace, to recompute a provider's bill (`document["bill"]`). canonical: also find the tokens
    that only `diverged`, of text in files or rows (docs/doctor.md).
    Raises InputError or SettingError.
    """
    how = _setting(setting)
    price_list = _priced(pricing, prices)
    kept = KeptRows() if yes_or_no("canonical", canonical) else None
    skip = yes_or_no("skip_bad_rows", skip_bad_rows)
    trace = _read(traces, how, mapping_of(mapping), skip, kept)
    check_some_counts(trace)
    if trace.identity == "lengths_only":
        return Result(with_worth(sum_up_lengths(trace, how), pricing, price_list))
    rung = None
    if kept is not None:
        tokenizer = load_tokenizer(how.tokenizer)
        rung = canonical_rung(trace, kept, how.split_models, tokenizer=tokenizer)
    return Result(with_worth(analyze_trace(trace, how, None, rung), pricing, price_list))


def _priced(pricing: Pricing | None, prices: Sequence[str] | str) -> PriceList | None:
    """The price list that was asked for. Raises SettingError for what is neither."""
    if pricing is not None and not isinstance(pricing, Pricing):
        raise SettingError("pricing", "is made by hitpath.load_pricing(model, hardware, ...)")
    asked = [prices] if isinstance(prices, str) else prices
    listed = texts_of("prices", asked, "provider/model")
    return load_price_list(listed) if listed else None


def diagnose(
    traces: Traces,
    *,
    mapping: Sequence[str] = (),
    skip_bad_rows: bool = False,
    pricing: Pricing | None = None,
    prices: Sequence[str] | str = (),
    what_ifs: bool = True,
    **setting: Any,
) -> Diagnosed:
    """Which text broke the prefixes, what that cost, and what a fix gives, by replay.

    traces: files or rows, with text (a trace already read has none). what_ifs: whether choices are
    priced too (a replay each). The rest as `analyze`; docs/doctor.md says what the figures are.
    Raises InputError or SettingError.
    """
    how = _setting(setting)
    price_list = _priced(pricing, prices)
    kept, skip = KeptRows(), yes_or_no("skip_bad_rows", skip_bad_rows)
    places: list[str] = []
    if not isinstance(traces, Trace):
        places, rows = places_or_rows(traces)
        traces = places or rows
    trace = _read(traces, how, mapping_of(mapping), skip, kept)
    subject = subject_of(trace, kept, how)
    choices = yes_or_no("what_ifs", what_ifs)
    found = examine(subject, what_ifs=choices, pricing=pricing, prices=price_list)
    return Diagnosed(found, subject, tuple(places))


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
    tokenizer: Place | None = None,
    mapping: Sequence[str] = (),
    skip_bad_rows: bool = False,
) -> list[str]:
    """Write a trace as hitpath's own rows (.jsonl, .jsonl.gz, .jsonl.zst, .parquet by `out`'s
    ending) or as Mooncake JSONL; returns what there is to know of the file, a sentence each.

    redact: a key file; prompts become keyed hashes, and analysing the file gives the same answers
    (docs/adr/0014). block_size, every_s: for "mooncake" only, tokens a block and seconds between
    requests of a trace without times. Raises InputError, SettingError or OutputError.
    """
    places: list[str] = []
    if not isinstance(traces, Trace):
        places, rows = places_or_rows(traces)
        traces = places or rows
    reading = _setting({"tokenizer": tokenizer})
    how = Conversion(
        traces=places,
        out=place_of("out", out),
        to=one_of("to", to, TARGETS),
        block_size=block_size,
        every_s=every_s,
        redact=None if redact is None else place_of("redact", redact),
        hash_labels=yes_or_no("hash_labels", hash_labels),
        tokenizer=reading.tokenizer,
    )
    how.check()
    key = None if how.redact is None else read_key(how.redact)
    check_outputs([how.out], places, how.tokenizer, (how.redact,))
    skip = yes_or_no("skip_bad_rows", skip_bad_rows)
    return write_trace(_read(traces, reading, mapping_of(mapping), skip), how, key)


def observe(statistics: Place | Sequence[Place], *, skip_bad_rows: bool = False) -> "Observed":
    """What an engine's log or /metrics says of its prefix cache (docs/engine-logs.md).

    statistics: a file, folder, glob or "-", or several of them, which are read together.
    skip_bad_rows: samples that cannot be right are left out and listed instead of raising.
    Raises InputError, also for files that hold requests: those are for `analyze`.
    """
    places, rows = places_or_rows(statistics)
    if rows:
        raise InputError("statistics", "", "are files of an engine's log or metrics, no rows")
    inputs = open_inputs(places)
    if not statistics_in(inputs):
        cause = "no statistics of an engine: a trace is for hitpath.analyze"
        raise InputError(", ".join(places), "", cause)
    skip = yes_or_no("skip_bad_rows", skip_bad_rows)
    return Observed(engine_logs.observe(inputs, skip_bad_rows=skip))


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
        return table_of(points, {"capacity_tokens": "int64", "hit_rate": "float64"})

    @property
    def over_time(self) -> "Table":
        """`begin`, `end` (s, or request numbers), `num_requests`, `prompt_tokens`,
        `hit_tokens`, `token_weighted`, `request_mean_token_full`: up to 24 windows."""
        rows = [{**window, **window["rates"]} for window in self.document["over_time"]["windows"]]
        numbers = {"begin": "float64", "end": "float64"}
        counts = dict.fromkeys(("num_requests", "prompt_tokens", "hit_tokens"), "int64")
        rates = dict.fromkeys(("token_weighted", "request_mean_token_full"), "float64")
        return table_of(rows, {**numbers, **counts, **rates})

    def by(self, label: str) -> "Table":
        """`name`, `num_requests`, `prompt_tokens`, `hit_tokens`, `possible_tokens`, `hit_rate`
        of each tenant, session, model, worker or turn. Raises KeyError for another label."""
        columns = ("num_requests", "prompt_tokens", "hit_tokens", "possible_tokens")
        rows = [
            {name: getattr(group, name) for name in ("name", *columns, "hit_rate")}
            for group in self.analysis.groups[label]
        ]
        types = {"name": "string", **dict.fromkeys(columns, "int64"), "hit_rate": "float64"}
        return table_of(rows, types)

    def hit_rate_at(self, capacity_tokens: int) -> float | None:
        """The modelled LRU hit rate of one cache of this size, exact. None without prompts.
        Raises SettingError for a size that is none."""
        capacity = whole_number("capacity_tokens", capacity_tokens)
        if capacity < 0:
            raise SettingError("capacity_tokens", "is below 0: no size of a cache")
        if isinstance(self.analysis, LengthsAnalysis) or not self.prompt_tokens:
            return None
        curve = self.analysis.curve
        blocks = capacity // curve.block_size
        return curve.at(blocks) * curve.block_size / self.prompt_tokens

    def explain(self, request_id: str | int) -> Explanation:
        """One request: labels, nearest relative, first difference. Raises InputError for an
        unknown id or a trace of lengths only."""
        if isinstance(self.analysis, LengthsAnalysis):
            raise InputError("trace", "", f"nothing to explain: {NO_IDENTITY}")
        return explain(self.analysis, _id_of(request_id))


def _id_of(request: str | int) -> str:
    """Ids are text; a row's number is the same id."""
    if isinstance(request, str):
        return request
    number = whole_number("request_id", request)
    if number.bit_length() > 64:
        raise SettingError("request_id", "a number of more than 64 bits is no id")
    return str(number)


def simulate(
    traces: Traces,
    fleet: Fleet | None = None,
    *,
    tokenizer: Place | None = None,
    split_models: bool = False,
    mapping: Sequence[str] = (),
    skip_bad_rows: bool = False,
    **options: Any,
) -> Simulated:
    """Serve a trace on a simulated fleet: latency, throughput, hits, and where they were lost.

    traces, tokenizer, mapping, skip_bad_rows: as `read`. fleet: a fleet file (docs/simulate.md), or
    what stands in one as nested mappings. options: as `hitpath simulate` (workers, router, model,
    hardware, tp, weights, kv_dtype, efficiency, fit, engine, capacity_tokens, unlimited,
    memory_frac, block_size, max_batch_tokens, max_running, step_s, token_s, arrivals, scale, rate,
    think_s, output_tokens, outputs, slo, seed, scrape_interval_s, scrape_age_s, index_lag,
    index_loss, max_in_flight, gpu_hour); they go over the fleet. Raises InputError or SettingError.
    """
    how = _setting({"tokenizer": tokenizer, "split_models": split_models})
    trace = _read(traces, how, mapping_of(mapping), yes_or_no("skip_bad_rows", skip_bad_rows))
    return Simulated.of(trace, how, fleet, **options)


def sweep(
    traces: Traces,
    axes: Mapping[str, Sequence[Any] | str],
    fleet: Fleet | None = None,
    *,
    objective: str | None = None,
    tokenizer: Place | None = None,
    split_models: bool = False,
    mapping: Sequence[str] = (),
    skip_bad_rows: bool = False,
    **options: Any,
) -> Swept:
    """A grid of simulated fleets, on all cores. axes: name -> values, as `--sweep`; objective,
    default "ttft_p90" ("goodput" with an slo). The rest as `simulate`."""
    how = _setting({"tokenizer": tokenizer, "split_models": split_models})
    trace = _read(traces, how, mapping_of(mapping), yes_or_no("skip_bad_rows", skip_bad_rows))
    return Swept.of(trace, how, fleet, axes, objective, **options)


def size(
    traces: Traces,
    slo: str,
    fleet: Fleet | None = None,
    *,
    routers: Sequence[str] | None = None,
    max_workers: int = 64,
    tokenizer: Place | None = None,
    split_models: bool = False,
    mapping: Sequence[str] = (),
    skip_bad_rows: bool = False,
    **options: Any,
) -> Sized:
    """The smallest fleet that keeps an SLO ("ttft_p90<0.5,tpot_p99<0.05"), and the best router
    for it. The rest as `simulate`."""
    how = _setting({"tokenizer": tokenizer, "split_models": split_models})
    trace = _read(traces, how, mapping_of(mapping), yes_or_no("skip_bad_rows", skip_bad_rows))
    names = None if routers is None else tuple(texts_of("routers", routers, "llmd-precise"))
    most = whole_number("max_workers", max_workers)
    return Sized.of(trace, how, fleet, names, most, slo=slo, **options)

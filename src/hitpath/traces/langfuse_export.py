"""Langfuse: observations of type GENERATION, from the API, the UI, or the export to storage.

Source: langfuse-docs (token-and-cost-tracking, "Usage types are mutually exclusive buckets";
blob-storage-export-fields; observations-api) and langfuse/langfuse ingestion/types.ts, as of
server v3. `usage_details` are buckets that do not overlap and `total` is their sum, so the prompt
is the sum of all buckets named after the input. A row whose buckets do not add up to its total
breaks that contract (some producers count cached tokens twice): nothing is read from it.
"""

from collections.abc import Sequence
from typing import Any

from hitpath.traces.export_fields import (
    Fields,
    as_count,
    as_usd,
    first_row,
    prompt_text,
    stored_replies,
)
from hitpath.traces.exports import Call, ExportRows
from hitpath.traces.request_bodies import Counts
from hitpath.traces.rows import TraceBuilder
from hitpath.traces.sources import Format, Input, ReadOptions
from hitpath.traces.table import Trace

NAME = "langfuse"
_WRAPPERS = ("data", "observations")
_HITS = {"input_cached_tokens", "cache_read_input_tokens", "input_cache_read"}
_WRITES = ("cache_creation", "cache_write", "ephemeral")
"""Parts of the names of the buckets of writes, one or several by time to live."""
_ALL_WRITES, _WRITES_BY_TTL = "cache_creation_input_tokens", "cache_creation_ephemeral_"


def recognises(value: object) -> bool:
    """Whether a first row or document is of this format."""
    row = first_row(value, *_WRAPPERS)
    if row is None or "call_type" in row or not isinstance(row.get("type"), str):
        return False
    return bool({"traceId", "trace_id"} & row.keys() and {"startTime", "start_time"} & row.keys())


def read(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> Trace:
    """All generations. Raises InputError."""
    rows = ExportRows(NAME, builder, options)
    reader = _Generations(rows)
    for source in inputs:
        rows.read(source, _WRAPPERS, reader.call)
    reader.add_notes(builder)
    return rows.build()


class _Generations:
    """Makes calls of observations; counts what must be said about them."""

    def __init__(self, rows: ExportRows) -> None:
        self._rows = rows
        self._named_by_trace = 0
        self._unclear = 0

    def call(self, row: Fields) -> Call | None:
        """A call, None for an observation that is none. Raises InputError."""
        if row.text("type") != "GENERATION":
            self._rows.leave_out(row.place, "are observations that are no generations: no requests")
            return None
        start_s = row.start("startTime", "start_time")
        first_s = row.seconds("completionStartTime", "completion_start_time")
        stored = row.get(Any, "input")
        text = prompt_text(stored)
        counts, output_tokens = self._counts(row)
        session, trace = row.text("sessionId", "session_id"), row.text("traceId", "trace_id")
        if session is None and row.around is not None:  # a trace with its observations
            session = row.around.text("sessionId")
        self._named_by_trace += session is None and trace is not None
        return Call(
            id=row.text("id"),
            arrival_s=start_s,
            counts=counts,
            text=text,
            why_no_text="input is no prompt that can be read" if stored else "input is not stored",
            replies=stored_replies(row.get(Any, "output")) if text is not None else [],
            output_tokens=output_tokens,
            cost_usd=_cost_usd(row),
            finish_s=row.seconds("endTime", "end_time"),
            ttft_s=first_s - start_s if first_s is not None and first_s >= start_s else None,
            session=session or trace,
            tenant=row.text("userId", "user_id"),
            model=row.text("providedModelName", "provided_model_name", "model"),
        )

    def _counts(self, row: Fields) -> tuple[Counts, int | None]:
        """(of the prompt, of the output); untold where the buckets do not keep to the contract."""
        named = "usageDetails" if row.raw("usageDetails") else "usage_details"
        buckets = {
            name: count
            for name, value in row.object(named).items()
            if (count := as_count(value, f"{named}.{name}", row.place)) is not None
        }
        total = buckets.pop("total", None)
        sums = [sum(buckets.values())]
        by_ttl = {n: c for n, c in buckets.items() if n.startswith(_WRITES_BY_TTL)}
        if by_ttl and sum(by_ttl.values()) == buckets.get(_ALL_WRITES):
            # The handler for LangChain tells the writes twice: all of them, and by time to live.
            buckets = {n: c for n, c in buckets.items() if n not in by_ttl}
            sums.append(sum(buckets.values()))
        inputs = {n: c for n, c in buckets.items() if "input" in n}
        outputs = {n: c for n, c in buckets.items() if "output" in n and n not in inputs}
        others = sum(c for n, c in buckets.items() if n not in inputs and n not in outputs)
        hits = [c for n, c in inputs.items() if n in _HITS]
        writes = [c for n, c in inputs.items() if any(part in n for part in _WRITES)]
        if not buckets:
            return Counts(), None
        if total not in (None, *sums) or others or len(hits) > 1 or not inputs:
            self._unclear += 1
            return Counts(), None
        hit, written = hits[0] if hits else None, sum(writes) if writes else None
        # Anthropic's writes by time to live, where every one of them is told so.
        hours = [c for n, c in by_ttl.items() if "1h" in n]
        written_1h = sum(hours) if hours and sum(by_ttl.values()) == written else None
        prompt = Counts(sum(inputs.values()), hit, written, written_1h)
        return prompt, sum(outputs.values()) if outputs else None

    def add_notes(self, builder: TraceBuilder) -> None:
        """What the analysis should say of these rows."""
        if self._named_by_trace:
            builder.notes.append(
                f"{self._named_by_trace:,} generations name no session: their trace stands for it"
            )
        if self._unclear:
            builder.notes.append(
                f"the usage of {self._unclear:,} generations does not add up to its total, or has "
                "keys that are not Langfuse's: it is not known whether input includes the cached "
                "tokens, so their counts are not used"
            )


def _cost_usd(row: Fields) -> float | None:
    """The whole cost, which Langfuse keeps in USD; of the details only their own total."""
    for names in (("totalCost", "total_cost"), ("calculatedTotalCost",)):
        if (told := row.usd(*names)) is not None:
            return told
    named = "costDetails" if row.raw("costDetails") else "cost_details"
    return as_usd(row.object(named).get("total"), f"{named}.total", row.place)


FORMAT = Format(NAME, "Langfuse generations", recognises, read)

"""One row a request: JSON lines for people, a Parquet ledger for questions in SQL."""

from dataclasses import asdict
from typing import IO, Any

import msgspec
import numpy as np

from hitpath.core import ABSENT, CAUSES, NUM_RUNGS, Setting
from hitpath.summary import Analysis
from hitpath.summary.billed import Billed
from hitpath.summary.priced import Priced
from hitpath.traces.table import Floats, Ints, Labels, Trace


def write_per_request(analysis: Analysis, file: IO[bytes]) -> None:
    """`id`, the three hits, causes, unexplained, excess; null where not known."""
    ledger, ids = analysis.ledger, analysis.trace.ids
    encoder = msgspec.json.Encoder()
    known = [cause not in ledger.rungs.unknown for cause in CAUSES]
    columns = [column.tolist() for column in ledger.causes]
    reported, modelled = ledger.rungs.reported.tolist(), ledger.rungs.model[0].tolist()
    prompt, hit = ledger.prompt.tolist(), ledger.hit.tolist()
    unexplained, excess = ledger.unexplained.tolist(), ledger.excess.tolist()
    workers = analysis.workers
    for i, counted in enumerate(ledger.counted.tolist()):
        row = {
            "id": ids[i],
            "worker": workers.of(i),
            "prompt_tokens": prompt[i],
            "hit_tokens": hit[i] if counted else None,
            "modelled_hit_tokens": modelled[i],
            "reported_hit_tokens": None if reported[i] == ABSENT else reported[i],
            "causes": {
                cause: column[i] if counted and is_known else None
                for cause, is_known, column in zip(CAUSES, known, columns, strict=True)
            },
            "unexplained": unexplained[i] if counted else None,
            "excess": excess[i] if counted else None,
            "excluded": not counted,
        }
        file.write(encoder.encode(row) + b"\n")


METADATA_KEY = b"hitpath.ledger"
REASON_COLUMNS = (
    "evicted.capacity",
    "evicted.not_stored",
    "rounding.last_token",
    "rounding.block",
    "isolated.salt",
    "isolated.adapter",
    "isolated.media_salt",
    "isolated.several",
)
"""The reasons that ledgers have, in the order of their columns."""

WORTH_COLUMNS = (
    "miss_prefill_s",
    "prefill_s",
    "miss_prefill_flops",
    "prefill_flops",
    "bill_usd",
)
"""What requests cost, where it was asked for."""


def label_column(labels: Labels) -> Any:
    """Dictionary-encoded names, null where absent."""
    import pyarrow as pa

    codes: Any = pa.array(labels.codes.astype(np.int32), mask=labels.codes == ABSENT)
    return pa.DictionaryArray.from_arrays(codes, pa.array(labels.names, type=pa.string()))


def trace_columns(trace: Trace, worker: Any) -> dict[str, Any]:
    """What a ledger takes from the trace: name, times, labels, lengths."""
    import pyarrow as pa

    def integers(column: Ints) -> Any:
        return pa.array(column, mask=column == ABSENT)

    return {
        "id": pa.array(trace.ids, type=pa.string()),
        "arrival_s": pa.array(trace.arrival_s),
        "session": label_column(trace.session),
        "tenant": label_column(trace.tenant),
        "model": label_column(trace.model),
        "worker": worker,
        "turn": integers(trace.turn),
        "prompt_tokens": integers(trace.prompt_tokens),
        "output_tokens": integers(trace.output_tokens),
    }


def ledger_table(analysis: Analysis) -> Any:
    """The ledger as a pyarrow.Table: one row a request, labels, lengths, rungs r0..r8, causes,
    reasons. Counts are tokens; what is not known, and sums of excluded rows, are null."""
    import pyarrow as pa  # 0.1 s of import, for this output only

    trace, ledger = analysis.trace, analysis.ledger
    out = ~ledger.counted

    def integers(column: Ints, unknown: Any = False) -> Any:
        return pa.array(column, mask=(column == ABSENT) | unknown)

    columns: dict[str, Any] = {
        **trace_columns(trace, label_column(analysis.workers)),
        "hit_tokens": integers(ledger.hit, out),
        "modelled_hit_tokens": integers(ledger.rungs.model[0]),
        "reported_hit_tokens": integers(ledger.rungs.reported),
    }
    for i in range(NUM_RUNGS):
        columns[f"r{i}"] = integers(ledger.rungs.model[i])
    for i, cause in enumerate(CAUSES):
        columns[cause] = integers(ledger.causes[i], out | (cause in ledger.rungs.unknown))
    for name in REASON_COLUMNS:
        cause, reason = name.split(".")
        unknown = out | (cause in ledger.rungs.unknown)
        columns[name] = integers(ledger.reasons[cause][reason], unknown)
    columns["unexplained"] = integers(ledger.unexplained, out)
    columns["excess"] = integers(ledger.excess, out)
    columns["excluded"] = pa.array(out)
    columns |= worth_columns(len(trace), analysis.priced, analysis.billed)
    made = {
        "setting": setting_of(analysis.setting),
        "block_size": analysis.engine.block_size,
        "workers": len(analysis.workers.names),
        "unit": "bytes" if trace.identity == "text" else "tokens",
        "block_ids": trace.block_size is not None,
        "format": trace.format,
    }
    return with_origin(pa.table(columns), made)


def worth_columns(num_rows: int, priced: Priced | None, billed: Billed | None) -> dict[str, Any]:
    """Seconds and FLOPs of prefill with nothing cached and as served, and the bill; null where not
    asked for or not known."""
    import pyarrow as pa

    def spread(rows: Ints, values: Floats) -> Any:
        whole = np.full(num_rows, np.nan)
        whole[rows] = values
        return pa.array(whole, mask=np.isnan(whole))

    nothing = pa.nulls(num_rows, pa.float64())
    columns = dict.fromkeys(WORTH_COLUMNS, nothing)
    if priced is not None:
        of = priced.requests
        columns["miss_prefill_s"] = spread(of.rows, of.miss.seconds)
        columns["prefill_s"] = spread(of.rows, of.served.seconds)
        columns["miss_prefill_flops"] = spread(of.rows, of.miss.flops)
        columns["prefill_flops"] = spread(of.rows, of.served.flops)
    if billed is not None:
        columns["bill_usd"] = spread(billed.rows, billed.bill.row_usd)
    return columns


def setting_of(setting: Setting) -> dict[str, Any]:
    """The setting as ledgers and comparisons carry it."""
    told = asdict(setting)
    del told["sample_frac"]  # a ledger is of a whole trace
    return told


def with_origin(table: Any, made: dict[str, Any]) -> Any:
    """The table with how it was made in its metadata, under METADATA_KEY, as JSON."""
    return table.replace_schema_metadata({METADATA_KEY: msgspec.json.encode(made)})


def write_ledger(analysis: Analysis, file: IO[bytes]) -> None:
    """The ledger as Parquet."""
    import pyarrow.parquet as pq

    pq.write_table(ledger_table(analysis), file, compression="zstd")

"""One row a request: JSON lines for people, a Parquet ledger for questions in SQL."""

from typing import IO, Any

import msgspec
import numpy as np

from hitpath.core import ABSENT, CAUSES, NUM_RUNGS
from hitpath.summary import Analysis
from hitpath.traces.table import Ints, Labels


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


def write_ledger(analysis: Analysis, file: IO[bytes]) -> None:
    """An Arrow table as Parquet: labels, lengths, rungs r0..r8, causes, reasons."""
    import pyarrow as pa  # 0.1 s of import, for this output only
    import pyarrow.parquet as pq

    trace, ledger = analysis.trace, analysis.ledger
    out = ~ledger.counted

    def integers(column: Ints, unknown: Any = False) -> Any:
        return pa.array(column, mask=(column == ABSENT) | unknown)

    def labels(column: Labels) -> Any:
        codes: Any = pa.array(column.codes.astype(np.int32), mask=column.codes == ABSENT)
        return pa.DictionaryArray.from_arrays(codes, pa.array(column.names, type=pa.string()))

    columns: dict[str, Any] = {
        "id": pa.array(trace.ids, type=pa.string()),
        "arrival_s": pa.array(trace.arrival_s),
        "session": labels(trace.session),
        "tenant": labels(trace.tenant),
        "model": labels(trace.model),
        "worker": labels(analysis.workers),
        "turn": integers(trace.turn),
        "prompt_tokens": integers(trace.prompt_tokens),
        "output_tokens": integers(trace.output_tokens),
        "hit_tokens": integers(ledger.hit, out),
        "modelled_hit_tokens": integers(ledger.rungs.model[0]),
        "reported_hit_tokens": integers(ledger.rungs.reported),
    }
    for i in range(NUM_RUNGS):
        columns[f"r{i}"] = integers(ledger.rungs.model[i])
    for i, cause in enumerate(CAUSES):
        columns[cause] = integers(ledger.causes[i], out | (cause in ledger.rungs.unknown))
    for cause, parts in ledger.reasons.items():
        for reason, part in parts.items():
            columns[f"{cause}.{reason}"] = integers(part, out | (cause in ledger.rungs.unknown))
    columns["unexplained"] = integers(ledger.unexplained, out)
    columns["excess"] = integers(ledger.excess, out)
    columns["excluded"] = pa.array(out)
    pq.write_table(pa.table(columns), file, compression="zstd")

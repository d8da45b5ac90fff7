"""The ledger of a simulated fleet: the ordinary columns, and when what happened to each request.

One row a request that was sent. First those that were admitted, in the order of their admission,
with all columns of `analyze --ledger`; then those that never were, whose tokens stand in no sum:
their label, lengths, times and ending, and null elsewhere (`excluded` is true).
"""

from typing import IO, Any

import numpy as np

from hitpath.core import ABSENT
from hitpath.report.rows import label_column, ledger_table, trace_columns
from hitpath.serving_spine import Simulation
from hitpath.sim.serving.records import ENDINGS
from hitpath.sim.serving_rows import take_rows
from hitpath.traces.table import Floats, Ints, Labels

TIME_COLUMNS = (
    "sent_s",
    "admit_s",
    "first_token_s",
    "finish_s",
    "ttft_s",
    "tpot_s",
    "e2e_s",
)


def simulation_ledger(simulation: Simulation) -> Any:
    """As a pyarrow.Table. Times in seconds of virtual time, null where something never came."""
    import pyarrow as pa

    ledger = ledger_table(simulation.analysis)
    for name, column in _columns(simulation, simulation.order).items():
        ledger = ledger.append_column(name, column)
    never = np.flatnonzero(np.isnan(simulation.served.outcome.admit_s))
    if not len(never):
        return ledger
    workers = Labels(simulation.served.outcome.worker[never], simulation.prepared.plan.worker_names)
    columns = {
        **trace_columns(take_rows(simulation.prepared.inputs.trace, never), label_column(workers)),
        **_columns(simulation, never),
        "excluded": pa.array(np.ones(len(never), dtype=np.bool_)),
    }
    columns["arrival_s"] = pa.nulls(len(never), pa.float64())
    rest = pa.table(columns)
    whole = pa.concat_tables([ledger, rest], promote_options="permissive").unify_dictionaries()
    return whole.replace_schema_metadata(ledger.schema.metadata)


def _columns(simulation: Simulation, rows: Ints) -> dict[str, Any]:
    import pyarrow as pa

    served, outcome = simulation.served, simulation.served.outcome

    def times(column: Floats) -> Any:
        values = column[rows]
        return pa.array(values, mask=np.isnan(values))

    def integers(column: Ints) -> Any:
        values = column[rows]
        return pa.array(values, mask=values == ABSENT)

    seconds = (
        outcome.sent_s,
        outcome.admit_s,
        outcome.first_token_s,
        outcome.finish_s,
        outcome.ttft_s,
        outcome.tpot_s(served.output_tokens),
        outcome.e2e_s,
    )
    endings = Labels(outcome.ending[rows], tuple(ENDINGS[code] for code in sorted(ENDINGS)))
    decoded_by = Labels(outcome.decode_worker[rows], simulation.prepared.plan.worker_names)
    return {
        **{name: times(column) for name, column in zip(TIME_COLUMNS, seconds, strict=True)},
        "ending": label_column(endings),
        "decode_worker": label_column(decoded_by),
        "generated_tokens": integers(served.output_tokens),
        "believed_tokens": integers(outcome.believed_match),
        "hit_host_tokens": integers(outcome.hit_host_tokens),
        "hit_remote_tokens": integers(outcome.hit_remote_tokens),
        "num_preemptions": integers(outcome.num_preemptions),
        "recomputed_tokens": integers(outcome.recomputed_tokens),
        "stage": integers(simulation.prepared.sending.stage),
    }


def write_simulation_ledger(simulation: Simulation, file: IO[bytes]) -> None:
    """As Parquet."""
    import pyarrow.parquet as pq

    pq.write_table(simulation_ledger(simulation), file, compression="zstd")

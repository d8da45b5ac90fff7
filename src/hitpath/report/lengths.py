"""Outputs for a trace of lengths only: the same JSON schema and rows, null where nothing can be
known, and the reason beside it."""

from dataclasses import asdict
from typing import IO, Any

import msgspec
import numpy as np

from hitpath.accounting.rates import ratio
from hitpath.core import ABSENT, CAUSES, NUM_RUNGS, RUNG_NAMES
from hitpath.report.document import SCHEMA, clock_of, groups_part
from hitpath.report.rows import (
    REASON_COLUMNS,
    label_column,
    setting_of,
    trace_columns,
    with_origin,
    worth_columns,
)
from hitpath.report.worth import bill_part, price_part
from hitpath.summary.lengths import NO_IDENTITY, NOTHING_REPORTED, LengthsAnalysis
from hitpath.summary.losses import WAITS_S, lost_turns


def lengths_document(analysis: LengthsAnalysis) -> dict[str, Any]:
    """The whole document, ready for JSON."""
    trace = analysis.trace
    rate_known = analysis.hit_tokens is not None
    return {
        "schema": SCHEMA,
        "trace": {
            "format": trace.format,
            "num_requests": len(trace),
            "num_reporting_requests": int(np.count_nonzero(analysis.told)),
            "prompt_tokens": analysis.prompt_tokens,
            "output_tokens": analysis.output_tokens,
            "block_size": None,
            "own_block_size": None,
            "identity": trace.identity,
            "num_skipped_rows": trace.skipped.num,
            "num_excluded_rows": len(trace.excluded),
            "first_arrival_s": float(trace.arrival_s.min()) if trace.has_times else None,
            "last_arrival_s": float(trace.arrival_s.max()) if trace.has_times else None,
            "clock": clock_of(trace),
        },
        "setting": None,
        "model": None,
        "hit_rate": asdict(analysis.hit_rate),
        "hit_rate_not_known": None if rate_known else NOTHING_REPORTED,
        "steady": asdict(analysis.steady),
        "modelled_hit_rate": None,
        "reported_apart": None,
        "tokens": _tokens(analysis),
        "ladder": _ladder(analysis),
        "curve": None,
        "capacity_for": None,
        "capacity_for_gib": None,
        "over_time": {
            "by": "arrival_s" if trace.common_clock else "request",
            "windows": [asdict(window) for window in analysis.over_time],
        },
        "quantiles": {name: asdict(found) for name, found in analysis.quantiles.items()},
        "by_hit_share": [asdict(step) for step in analysis.by_share],
        "lost_turns": _lost_turns(analysis),
        "origin": None,
        "origin_not_known": NO_IDENTITY,
        "sharing": None,
        "shared_pairs": None,
        "shared_prefixes": None,
        "reuse_gaps": None,
        "price": price_part(analysis.priced),
        "bill": bill_part(analysis.billed),
        "by": {name: groups_part(groups) for name, groups in analysis.groups.items()},
        "skipped_rows": [asdict(problem) for problem in trace.skipped],
        "excluded_rows": [
            {"id": trace.ids[row], **asdict(problem)} for row, problem in trace.excluded.items()
        ],
        "warnings": list(analysis.warnings),
    }


def _lost_turns(analysis: LengthsAnalysis) -> dict[str, Any] | None:
    found = lost_turns(analysis.trace)
    if found is None:
        return None
    waits = zip(WAITS_S, found.num_after, strict=True)
    return {
        "num_judged": found.num_judged,
        "num_shortened": found.num_shortened,
        "num_lost": found.num_lost,
        "lost_tokens": found.lost_tokens,
        "after": [{"wait_s": wait_s, "num_lost": num} for wait_s, num in waits],
        "num_other_model": found.num_other_model,
        "turns": [asdict(turn) for turn in found.turns],
    }


def _tokens(analysis: LengthsAnalysis) -> dict[str, Any]:
    return {
        "prompt": analysis.prompt_tokens,
        "hit": analysis.hit_tokens,
        "hit_by_tier": tiers_of(analysis),
        "missed_cause_not_known": analysis.missed_tokens,
        "not_reported": analysis.not_reported_tokens,
        "written": analysis.written_tokens,
        "causes": dict.fromkeys(CAUSES),
        "requests_touched": dict.fromkeys(CAUSES),
        "reasons": {},
        "evicted_split": None,
        "evicted_split_not_known": NO_IDENTITY,
        "clairvoyant_hit": None,
        "unexplained": None,
        "excess": None,
        "not_known": dict.fromkeys(CAUSES, NO_IDENTITY),
        "notes": {},
    }


def tiers_of(analysis: LengthsAnalysis) -> dict[str, int]:
    """Reported hits under the tiers that the trace names, the rest `unknown`."""
    trace, told = analysis.trace, analysis.told
    tiers = {
        name: int(column[told & (column != ABSENT)].sum())
        for name, column in trace.reported_tiers.items()
    }
    rest = (analysis.hit_tokens or 0) - sum(tiers.values())
    return {**tiers, "unknown": tiers.get("unknown", 0) + rest}


def _ladder(analysis: LengthsAnalysis) -> list[dict[str, Any]]:
    """Rung 0 over the requests that report, rung 8 over all; nothing between can be known."""
    known = {0: analysis.hit_tokens, len(RUNG_NAMES) - 1: analysis.prompt_tokens}
    told_prompt = analysis.prompt_tokens - analysis.not_reported_tokens
    wholes = {0: told_prompt, len(RUNG_NAMES) - 1: analysis.prompt_tokens}
    return [
        {
            "rung": i,
            "name": name,
            "tokens": known.get(i),
            "hit_rate": ratio(known.get(i), wholes.get(i, 0)),
        }
        for i, name in enumerate(RUNG_NAMES)
    ]


def write_lengths_per_request(analysis: LengthsAnalysis, file: IO[bytes]) -> None:
    """One JSON object a request: the keys of every analysis, with times beside them."""
    trace = analysis.trace
    encoder = msgspec.json.Encoder()
    counted = analysis.counted.tolist()
    for i, request in enumerate(trace.ids):
        reported = int(trace.reported_hit[i])
        hit = None if reported == ABSENT else reported
        row = {
            "id": request,
            "worker": trace.worker.of(i),
            "prompt_tokens": int(trace.prompt_tokens[i]),
            "hit_tokens": hit if counted[i] else None,
            "modelled_hit_tokens": None,
            "reported_hit_tokens": hit,
            "causes": dict.fromkeys(CAUSES),
            "unexplained": None,
            "excess": None,
            "excluded": not counted[i],
        }
        file.write(encoder.encode(row) + b"\n")


def lengths_table(analysis: LengthsAnalysis) -> Any:
    """The columns of every ledger as a pyarrow.Table; what is modelled there is null here."""
    import pyarrow as pa  # 0.1 s of import, for this output only

    trace = analysis.trace
    nothing = pa.nulls(len(trace), pa.int64())
    absent = trace.reported_hit == ABSENT
    columns = {
        **trace_columns(trace, label_column(trace.worker)),
        "hit_tokens": pa.array(trace.reported_hit, mask=absent | ~analysis.counted),
        "modelled_hit_tokens": nothing,
        "reported_hit_tokens": pa.array(trace.reported_hit, mask=absent),
    }
    for i in range(NUM_RUNGS):
        columns[f"r{i}"] = nothing
    for name in (*CAUSES, *REASON_COLUMNS, "unexplained", "excess"):
        columns[name] = nothing
    columns["excluded"] = pa.array(~analysis.counted)
    columns |= worth_columns(len(trace), analysis.priced, analysis.billed)
    made = {
        "setting": setting_of(analysis.setting),
        "block_size": None,
        "workers": None,
        "unit": "tokens",
        "block_ids": None,
        "format": trace.format,
    }
    return with_origin(pa.table(columns), made)


def write_lengths_ledger(analysis: LengthsAnalysis, file: IO[bytes]) -> None:
    """The ledger as Parquet."""
    import pyarrow.parquet as pq

    pq.write_table(lengths_table(analysis), file, compression="zstd")

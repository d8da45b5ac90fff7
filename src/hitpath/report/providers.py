"""`hitpath providers`: predicted cached and written tokens and the bill, beside the reported."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hitpath.core import ABSENT, InputError, SettingError
from hitpath.cost.price_list import load_price_list
from hitpath.report.output import is_stdout, write_whole
from hitpath.report.pages import print_page, write_json
from hitpath.report.providers_terminal import print_providers
from hitpath.report.run import check_outputs, shown_progress
from hitpath.summary.provider_prompts import NO_PROMPTS, provider_prompts, reported_of
from hitpath.summary.providers import (
    PROVIDERS,
    PredictedCache,
    ProvidersAnalysis,
    Refused,
    predict_providers,
)
from hitpath.text.tokenizer import load_tokenizer
from hitpath.traces import open_inputs, read_trace
from hitpath.traces.cache_marks import read_marks

SCHEMA = "hitpath.providers/1"
_COLUMNS = {
    "provider": "string",
    "request": "string",
    "arrival_s": "float64",
    "prompt_tokens": "int64",
    "read_tokens": "int64",
    "written_tokens": "int64",
    "written_1h_tokens": "int64",
    "usd": "float64",
    "reported_prompt_tokens": "int64",
    "reported_read_tokens": "int64",
    "reported_written_tokens": "int64",
    "excluded": "bool",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvidersJob:
    """One command, as typed."""

    traces: list[str]
    providers: Sequence[str] = ()
    prices: Sequence[str] = ()
    tokenizer: str | None = None
    bytes_per_token: float | None = None
    block_size: int | None = None
    mapping: Sequence[str] = ()
    skip_bad_rows: bool = False
    json: str | None = None
    out: str | None = None

    def files(self) -> list[str]:
        """Every output that was asked for."""
        return [path for path in (self.json, self.out) if path is not None]


def run_providers(job: ProvidersJob) -> None:
    """Predict, write, and print unless standard output is taken. Raises HitpathError."""
    check_outputs(job.files(), job.traces, job.tokenizer)
    with shown_progress() as progress:
        found = analysed(job, progress)
    if job.json is not None:
        write_json(job.json, providers_document(found))
    if job.out is not None:
        _write_rows(job.out, found)
    if not any(map(is_stdout, job.files())):
        print_page(lambda page: print_providers(page, found))


def analysed(job: ProvidersJob, progress: Any = None) -> ProvidersAnalysis:
    """The whole flow. Raises HitpathError."""
    names = asked_providers(job.providers)
    prices = load_price_list(job.prices) if job.prices else None
    trace = read_trace(
        job.traces,
        block_size=job.block_size,
        skip_bad_rows=job.skip_bad_rows,
        tokenizer=load_tokenizer(job.tokenizer),
        mapping=job.mapping,
        progress=progress,
        inputs=open_inputs(job.traces, progress),
        keep_places=True,
    )
    if trace.identity == "lengths_only":
        raise InputError(job.traces[0], "", NO_PROMPTS)
    marks = read_marks(job.traces, trace)
    prompts = provider_prompts(trace, marks, job.bytes_per_token)
    return predict_providers(trace, prompts, names, prices)


def asked_providers(typed: Sequence[str]) -> list[str]:
    """All of them, or those typed, once each and in the order typed. Raises SettingError."""
    names = [name.strip() for text in typed for name in text.split(",")]
    for name in names:
        if name not in PROVIDERS:
            raise SettingError(f"--provider {name}", f"not one of {', '.join(PROVIDERS)}")
    return list(dict.fromkeys(names)) or list(PROVIDERS)


def providers_document(found: ProvidersAnalysis) -> dict[str, Any]:
    """Ready for JSON; null is not known."""
    trace, prompts, reported = found.trace, found.prompts, found.reported
    return {
        "schema": SCHEMA,
        "trace": {
            "format": trace.format,
            "requests": len(found.counted),
            "excluded_requests": len(trace) - len(found.counted),
            "prompt_tokens": int(prompts.prompt_tokens[found.counted].sum()),
            "unit_tokens": prompts.size,
            "bytes_per_token": prompts.bytes_per_token,
        },
        "reported": {
            "requests": len(reported.rows),
            "prompt_tokens": reported.prompt_tokens,
            "read_tokens": reported.read_tokens,
            "written_tokens": reported.written_tokens,
            "hit_rate": _rate(reported.read_tokens, reported.prompt_tokens),
            "usd": reported.usd,
            "usd_requests": reported.num_usd,
        },
        "providers": [_one(found, its) for its in found.predicted],
        "notes": list(found.notes),
    }


def _rate(part: int | None, whole: int | None) -> float | None:
    return part / whole if part is not None and whole else None


def _one(found: ProvidersAnalysis, its: PredictedCache | Refused) -> dict[str, Any]:
    if isinstance(its, Refused):
        return {"provider": its.provider, "refused": its.cause}
    counted, reporting = found.counted, found.reported.rows
    hour = int(its.written_1h[counted].sum())
    return {
        "provider": its.provider,
        "rule": its.rule,
        "read_tokens": int(its.read[counted].sum()),
        "written_tokens": int(its.written[counted].sum()) if its.bills_writes else None,
        "written_1h_tokens": hour if its.bills_writes else None,
        "hit_rate": found.hit_rate(its.read, counted),
        "requests_hit": int((its.read[counted] > 0).sum()),
        "where_reported": {
            "read_tokens": int(its.read[reporting].sum()),
            "hit_rate": found.hit_rate(its.read, reporting),
        }
        if len(reporting)
        else None,
        "bill": _bill(its),
        "notes": list(its.notes),
    }


def _bill(its: PredictedCache) -> dict[str, Any] | None:
    if its.bill is None:
        return None
    return {
        "prices": its.prices,
        "prompt_usd": its.prompt_usd,
        "output_usd": its.bill.buckets["output"].usd,
        "total_usd": its.bill.total_usd,
        "prompt_usd_without_cache": its.without_cache_usd,
        "reasons": list(its.bill.reasons),
    }


def _write_rows(path: str, found: ProvidersAnalysis) -> None:
    """One row a provider and request. Raises OutputError."""
    import pyarrow.parquet as pq

    from hitpath.report.arrow import table_of

    table = table_of(list(_rows(found)), _COLUMNS)
    write_whole(path, lambda file: pq.write_table(table, file))


def _rows(found: ProvidersAnalysis) -> Any:
    trace, counted = found.trace, {int(row): i for i, row in enumerate(found.counted)}
    reported, whole = reported_of(trace)
    for its in found.predicted:
        if isinstance(its, Refused):
            continue
        for row in range(len(trace)):
            at = counted.get(row)
            usd = None if its.bill is None or at is None else float(its.bill.row_usd[at])
            yield {
                "provider": its.provider,
                "request": trace.ids[row],
                "arrival_s": float(trace.arrival_s[row]) if trace.has_times else None,
                "prompt_tokens": int(found.prompts.prompt_tokens[row]),
                "read_tokens": int(its.read[row]),
                "written_tokens": int(its.written[row]) if its.bills_writes else None,
                "written_1h_tokens": int(its.written_1h[row]) if its.bills_writes else None,
                "usd": None if usd is None or np.isnan(usd) else usd,
                "reported_prompt_tokens": _known(whole[row]),
                "reported_read_tokens": _known(reported[row]),
                "reported_written_tokens": _known(trace.reported_written[row]),
                "excluded": at is None,
            }


def _known(value: np.int64) -> int | None:
    return None if value == ABSENT else int(value)

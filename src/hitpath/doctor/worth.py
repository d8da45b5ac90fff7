"""What invalidated tokens cost: GPU-seconds of prefill on given hardware, or a provider's money.

Seconds: each request's prefill with what was reusable as it is, less its prefill had the
invalidated tokens been reusable too; a kind has its share by tokens. Money: the tokens at the price
of fresh ones, less at that of read ones; where usage tells that a part of what was not read was
written to the cache, that part of them at the price of written ones. In tokens only: a byte has no
price, unless usage tells how many tokens a prompt of bytes has.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import cast

import numpy as np

from hitpath.core import ABSENT, SettingError
from hitpath.cost.money import gpu_usd
from hitpath.cost.path_rows import price_with
from hitpath.cost.price_list import PriceList
from hitpath.cost.prices import BucketName, Prices
from hitpath.cost.pricing import Pricing
from hitpath.cost.provider_prices import PriceSchedule
from hitpath.doctor.defects import Costs
from hitpath.doctor.diagnose import Finding
from hitpath.doctor.diagnosis import Worth, Worths
from hitpath.traces.table import Floats, Ints, Trace

IN_BYTES = "text is counted in bytes here, and a byte has no cost: give --tokenizer too"


def worth_of(
    trace: Trace,
    findings: Sequence[Finding],
    costs: Costs,
    since: Ints,
    pricing: Pricing | None,
    prices: PriceList | None,
) -> Worths | None:
    """None where nothing was asked for. Raises SettingError."""
    if pricing is None and prices is None:
        return None
    if trace.identity == "text" and pricing is not None:
        raise SettingError("--hardware", IN_BYTES)
    gpu_s = None if pricing is None else _seconds(trace, costs, since, pricing)
    usd = None if prices is None else _money(trace, costs, prices)
    hour = None if pricing is None else pricing.gpu_hour_usd
    if usd is None and gpu_s is not None and hour is not None:
        usd = gpu_s * gpu_usd(1.0, hour, 1)
    kinds: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    applications: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    total = [0.0, 0.0]
    elsewhere = _elsewhere(costs)
    for finding in findings:
        row, lost = finding.row, int(costs.lost[finding.row])
        of_row = [0.0 if one is None else float(one[row]) for one in (gpu_s, usd)]
        for sums in (applications[finding.application], total):
            _add(sums, of_row, 1.0)
        told = [
            (change.kind, costs.of[row, number].invalidated)
            for number, change in enumerate(finding.comparison.changes)
        ]
        for kind, tokens in (*told, *elsewhere[row]):
            _add(kinds[kind], of_row, tokens / lost if lost else 0.0)

    def worth(sums: list[float]) -> Worth:
        return Worth(None if gpu_s is None else sums[0], None if usd is None else sums[1])

    return Worths(
        {kind: worth(sums) for kind, sums in kinds.items()},
        {number: worth(sums) for number, sums in applications.items()},
        worth(total),
    )


def _add(sums: list[float], more: Sequence[float], share: float) -> None:
    for at, value in enumerate(more):
        sums[at] += share * value


def _elsewhere(costs: Costs) -> dict[int, list[tuple[str, int]]]:
    """(kind, tokens) by row, of what another request than the relative explains."""
    found: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for (row, (_, kind, *_)), tokens in costs.elsewhere.items():
        found[row].append((kind, tokens))
    return found


def _seconds(trace: Trace, costs: Costs, since: Ints, pricing: Pricing) -> Floats:
    """GPU-seconds that each request's invalidated tokens took."""
    prompt = trace.prompt_tokens
    as_is = price_with(pricing.replica, prompt, since, pricing.chunk_tokens).seconds
    healed = price_with(
        pricing.replica, prompt, np.minimum(since + costs.lost, prompt), pricing.chunk_tokens
    ).seconds
    return (as_is - healed) * pricing.replica.num_gpus


def _money(trace: Trace, costs: Costs, prices: PriceList) -> Floats:
    """USD that each request's invalidated tokens cost more than read ones."""
    tokens, prompt = _tokens(trace, costs)
    written, hour = _written(trace, prompt)
    usd = np.zeros(len(trace))
    by_model = {label: _at(trace, schedule) for label, schedule in prices.entries}
    for row in np.flatnonzero(tokens > 0).tolist():
        held = by_model.get(trace.model.of(row), by_model.get(None))
        parts = {"fresh": 1.0 - written[row], "written_5m": written[row] - hour[row],
                 "written_1h": hour[row], "read": -1.0}  # fmt: skip
        for bucket, share in parts.items():
            price = None if held is None else held.of(cast("BucketName", bucket))
            if share and price is None:
                name = trace.model.of(row) or "a model without a name"
                cause = f"{name} has no price of {bucket.partition('_')[0]} tokens here"
                raise SettingError("--prices", cause)
            if share and price is not None:
                cost = price.usd(tokens[row : row + 1], prompt[row : row + 1])
                usd[row] += share * float(cost[0])
    return usd


def _written(trace: Trace, prompt: Ints) -> tuple[Floats, Floats]:
    """Shares of each request's tokens that were not read, which were written: all, and for an hour;
    0 where usage tells of none."""
    read = np.maximum(np.maximum(trace.reported_hit, trace.apart_hit), 0)
    rest = np.maximum(prompt - read, 1)
    told = [
        np.maximum(one, 0) / rest for one in (trace.reported_written, trace.reported_written_1h)
    ]
    written = np.minimum(told[0], 1.0)
    return written, np.minimum(told[1], written)


def _tokens(trace: Trace, costs: Costs) -> tuple[Ints, Ints]:
    """(invalidated, prompt) tokens of each request; of bytes by what usage tells."""
    if trace.identity != "text":
        return costs.lost, trace.prompt_tokens
    told = trace.apart_prompt
    if np.any((told == ABSENT) & (costs.lost > 0)):
        raise SettingError("--prices", IN_BYTES)
    share = costs.lost / np.maximum(trace.prompt_tokens, 1)
    prompt = np.where(told == ABSENT, 0, told)
    return np.round(share * prompt).astype(np.int64), prompt


def _at(trace: Trace, schedule: PriceSchedule) -> Prices:
    """The prices that held when the trace ended."""
    return schedule.at(float(trace.arrival_s.max()) if trace.has_times else None)

"""What invalidated tokens cost: GPU-seconds of prefill on given hardware, or a provider's money.

Seconds: each request's prefill with what was reusable as it is, less its prefill had the
invalidated tokens been reusable too; a kind has its share by tokens. Money: the tokens at the price
of fresh ones, less at that of read ones. In tokens only: a byte has no price, unless usage tells
how many tokens a prompt of bytes has.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from hitpath.core import ABSENT, SettingError
from hitpath.cost.money import gpu_usd
from hitpath.cost.path_rows import price_with
from hitpath.cost.price_list import PriceList
from hitpath.cost.prices import Prices
from hitpath.cost.pricing import Pricing
from hitpath.cost.provider_prices import PriceSchedule
from hitpath.doctor.defects import Costs
from hitpath.doctor.diagnose import Finding
from hitpath.doctor.diagnosis import Worth
from hitpath.traces.table import Floats, Ints, Trace

IN_BYTES = "text is counted in bytes here, and a byte has no cost: give --tokenizer too"


def worth_of_kinds(
    trace: Trace,
    findings: Sequence[Finding],
    costs: Costs,
    since: Ints,
    pricing: Pricing | None,
    prices: PriceList | None,
) -> dict[str, Worth]:
    """By kind; empty where nothing was asked for. Raises SettingError."""
    if pricing is None and prices is None:
        return {}
    if trace.identity == "text" and pricing is not None:
        raise SettingError("--hardware", IN_BYTES)
    gpu_s = None if pricing is None else _seconds(trace, costs, since, pricing)
    usd = None if prices is None else _money(trace, costs, prices)
    found: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for finding in findings:
        row = finding.row
        lost = int(costs.lost[row])
        for number, change in enumerate(finding.comparison.changes):
            share = costs.of[row, number].invalidated / lost if lost else 0.0
            sums = found[change.kind]
            sums[0] += share * (0.0 if gpu_s is None else float(gpu_s[row]))
            sums[1] += share * (0.0 if usd is None else float(usd[row]))
    return {kind: _worth(sums, gpu_s is not None, usd is not None, pricing)
            for kind, sums in found.items()}  # fmt: skip


def _worth(sums: list[float], has_seconds: bool, has_usd: bool, pricing: Pricing | None) -> Worth:
    gpu_s = sums[0] if has_seconds else None
    if has_usd:
        return Worth(gpu_s, sums[1])
    hour = None if pricing is None else pricing.gpu_hour_usd
    return Worth(gpu_s, None if hour is None or gpu_s is None else gpu_usd(gpu_s, hour, 1))


def _seconds(trace: Trace, costs: Costs, since: Ints, pricing: Pricing) -> Floats:
    """GPU-seconds that each request's invalidated tokens took."""
    prompt = trace.prompt_tokens
    as_is = price_with(pricing.replica, prompt, since, pricing.chunk_tokens).seconds
    healed = price_with(
        pricing.replica, prompt, np.minimum(since + costs.lost, prompt), pricing.chunk_tokens
    ).seconds
    return (as_is - healed) * pricing.replica.num_gpus


def _money(trace: Trace, costs: Costs, prices: PriceList) -> Floats:
    """USD that each request's invalidated tokens cost more fresh than read."""
    tokens, prompt = _tokens(trace, costs)
    usd = np.zeros(len(trace))
    by_model = {label: _at(trace, schedule) for label, schedule in prices.entries}
    for row in np.flatnonzero(tokens > 0).tolist():
        held = by_model.get(trace.model.of(row), by_model.get(None))
        if held is None or held.fresh is None or held.read is None:
            name = trace.model.of(row) or "a model without a name"
            raise SettingError("--prices", f"{name} has no price of fresh and of read tokens here")
        one, length = tokens[row : row + 1], prompt[row : row + 1]
        usd[row] = float((held.fresh.usd(one, length) - held.read.usd(one, length))[0])
    return usd


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

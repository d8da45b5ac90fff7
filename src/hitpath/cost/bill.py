"""A provider's bill, recomputed from usage: one price a bucket, no token charged twice.

Buckets whose price is not known cost nobody-knows-what: their tokens are named, what is known is
summed as `known_usd`, and the total is None. A row's cost is then nan.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hitpath.core import ABSENT
from hitpath.cost.prices import BUCKETS, BucketName, Prices
from hitpath.cost.usage import Usage

Usd = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BucketBill:
    """`tokens` = all reported ones; `usd` None where some of them have no price or some rows no
    count, with `unpriced_tokens` and `absent_rows` saying how many."""

    tokens: int
    usd: float | None
    unpriced_tokens: int
    absent_rows: int


@dataclass(frozen=True, slots=True)
class Bill:
    """What the rows cost. `row_usd` has nan where a row's cost is not known."""

    prices: str
    num_rows: int
    buckets: Mapping[BucketName, BucketBill]
    total_usd: float | None
    known_usd: float
    row_usd: Usd
    reasons: tuple[str, ...]

    def check(self) -> None:
        """Every token in one bucket, every dollar in one row. Raises AssertionError."""
        parts = [bucket.usd for bucket in self.buckets.values() if bucket.usd is not None]
        assert self.known_usd >= 0
        if self.total_usd is not None:
            assert np.isclose(self.total_usd, sum(parts), rtol=1e-9, atol=1e-12)
            assert np.isclose(self.total_usd, self.row_usd.sum(), rtol=1e-9, atol=1e-12)


@dataclass(frozen=True, slots=True)
class Difference:
    """A recomputed bill against a reported one, over the rows where both are known.

    `difference_usd` = reported - recomputed: above 0 the provider (or the tool that reported)
    charged more than the usage explains.
    """

    num_rows: int
    num_rows_left_out: int
    recomputed_usd: float
    reported_usd: float
    difference_usd: float
    num_rows_differing: int
    largest_row: int | None


def bill(usage: Usage, prices: Prices) -> Bill:
    """What `usage` costs at `prices`; tiers by the prompt of each row."""
    prompt = usage.prompt_tokens()
    row_usd = np.zeros(len(usage))
    known_usd = 0.0
    buckets: dict[BucketName, BucketBill] = {}
    reasons: list[str] = []
    for name in BUCKETS:
        part, bucket = _bucket(usage, prompt, name, prices)
        buckets[name] = bucket
        row_usd += part
        known_usd += float(np.nansum(part))
        reasons += _reasons(name, bucket, prices)
    unknown = any(bucket.usd is None for bucket in buckets.values())
    made = Bill(
        prices=prices.name,
        num_rows=len(usage),
        buckets=buckets,
        total_usd=None if unknown else known_usd,
        known_usd=known_usd,
        row_usd=row_usd,
        reasons=tuple(reasons),
    )
    made.check()
    return made


def bill_rows(usage: Usage, prices: Sequence[Prices], which: npt.NDArray[np.int64]) -> Bill:
    """The same where prices changed: row i is billed at `prices[which[i]]`, at least one row."""
    row_usd = np.zeros(len(usage))
    parts: list[Bill] = []
    for number, own in enumerate(prices):
        rows = np.flatnonzero(which == number)
        if len(rows):
            parts.append(bill(usage.take(rows), own))
            row_usd[rows] = parts[-1].row_usd
    buckets = {name: _joined([part.buckets[name] for part in parts]) for name in BUCKETS}
    totals = [part.total_usd for part in parts]
    made = Bill(
        prices=prices[0].name,
        num_rows=len(usage),
        buckets=buckets,
        total_usd=None if None in totals else sum(t for t in totals if t is not None),
        known_usd=sum(part.known_usd for part in parts),
        row_usd=row_usd,
        reasons=tuple(reason for part in parts for reason in part.reasons),
    )
    made.check()
    return made


def _joined(parts: Sequence[BucketBill]) -> BucketBill:
    usd = [part.usd for part in parts]
    return BucketBill(
        tokens=sum(part.tokens for part in parts),
        usd=None if None in usd else sum(u for u in usd if u is not None),
        unpriced_tokens=sum(part.unpriced_tokens for part in parts),
        absent_rows=sum(part.absent_rows for part in parts),
    )


def _bucket(
    usage: Usage, prompt: npt.NDArray[np.int64], name: BucketName, prices: Prices
) -> tuple[Usd, BucketBill]:
    """USD of each row for this bucket (nan: not known), and their sum."""
    counted, price = usage.of(name), prices.of(name)
    absent = counted == ABSENT
    num_absent = int(absent.sum())
    if num_absent:
        counted = np.where(absent, 0, counted)
    tokens = int(counted.sum())
    if price is None:
        usd = np.where(counted == 0, 0.0, np.nan)
        unpriced = tokens
    else:
        usd = price.usd(counted, prompt)
        unpriced = 0
        if price.tiers:  # the tier of a prompt of unknown length is not known
            tierless = (prompt == ABSENT) & (counted > 0)
            usd[tierless] = np.nan
            unpriced = int(counted[tierless].sum())
    if num_absent:
        usd[absent] = np.nan
    total = None if unpriced or num_absent else float(usd.sum())
    return usd, BucketBill(tokens, total, unpriced, num_absent)


def _reasons(name: BucketName, bucket: BucketBill, prices: Prices) -> list[str]:
    reasons = []
    if bucket.unpriced_tokens and prices.of(name) is None:
        cause = f"{prices.name} has no known price for them"
        reasons.append(f"{bucket.unpriced_tokens:,} {name} tokens: {cause}")
    elif bucket.unpriced_tokens:
        cause = "their price depends on the prompt's length, which is not known"
        reasons.append(f"{bucket.unpriced_tokens:,} {name} tokens: {cause}")
    if bucket.absent_rows:
        reasons.append(f"{bucket.absent_rows:,} rows report no {name} tokens")
    return reasons


def difference(recomputed: Bill, reported_usd: Usd, tolerance_usd: float = 1e-6) -> Difference:
    """Row by row against what was reported (USD, nan where a row reports nothing).

    Rows that differ by at most `tolerance_usd` count as equal: reports are rounded.
    """
    both = ~(np.isnan(recomputed.row_usd) | np.isnan(reported_usd))
    gap = np.where(both, reported_usd - recomputed.row_usd, 0.0)
    apart = np.abs(gap) > tolerance_usd
    own, told = float(recomputed.row_usd[both].sum()), float(reported_usd[both].sum())
    return Difference(
        num_rows=int(both.sum()),
        num_rows_left_out=int((~both).sum()),
        recomputed_usd=own,
        reported_usd=told,
        difference_usd=told - own,
        num_rows_differing=int(apart.sum()),
        largest_row=int(np.abs(gap).argmax()) if apart.any() else None,
    )

"""Prices of hosted models, from the snapshot inside the `genai-prices` package (extra `prices`).

Nothing is fetched: the package goes to the network only in its `UpdatePrices`, which is never
started here, and the snapshot is read from the package's own data, not from what another part of
the process may have put in its place. The snapshot is as old as the package; its version is
named with every price.

What its fields mean (0.2.3: types.py, decompose.py, data_units.py): `input_mtok` is the price of
the prompt tokens that no narrower field covers. Its usage counts are inclusive, and it takes the
cached tokens out itself before it multiplies; where a model has no `cache_read_mtok` it charges
cached tokens the full price in silence. Here they have no price then. `cache_write_mtok` is the
write of the default lifetime, `cache_write_1h_mtok` of an hour; without the latter it charges an
hour's write like a short one, and here it has no price. A tier holds for the whole request once
its prompt, cached tokens included, is longer than the tier's start. Prices change by date and,
at DeepSeek, by the hour: such models need the time of the requests.
"""

import difflib
import importlib.metadata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hitpath.core import SettingError
from hitpath.cost.prices import Price, Prices

if TYPE_CHECKING:
    from decimal import Decimal

    from genai_prices import types

DAY_S = 86_400
_FIRST_DATE_S = datetime(2020, 1, 1, tzinfo=UTC).timestamp()
_LAST_DATE_S = datetime(2100, 1, 1, tzinfo=UTC).timestamp()

# The fields of the package that a bucket takes its price from, the first that is there.
_FIELDS = {
    "fresh": ("input_mtok",),
    "read": ("cache_read_mtok",),
    "written_5m": ("cache_write_5m_mtok", "cache_write_mtok"),
    "written_1h": ("cache_write_1h_mtok",),
    "output": ("output_mtok",),
}
_COVERED = {name for names in _FIELDS.values() for name in names}

# Parts of the output that some models bill at their own price: how many of a row's output tokens
# they are is not known here, so neither is the price of its output.
_PARTS_OF_OUTPUT = ("output_reasoning_mtok", "output_citation_mtok")


@dataclass(frozen=True, slots=True)
class PriceSchedule:
    """The prices of one model over time. `changes`: they depend on the time of the request."""

    name: str
    source: str
    notes: tuple[str, ...]
    changes: bool
    model: "types.ModelInfo" = field(repr=False)
    context: Mapping[str, str] = field(default_factory=dict)

    def at(self, unix_s: float | None) -> Prices:
        """The prices of a request at that time. Raises SettingError where they depend on a time
        that is None, or counted from the start of a trace rather than a date."""
        if self.changes and (unix_s is None or not _FIRST_DATE_S <= unix_s < _LAST_DATE_S):
            cause = "its prices changed over time: needs the dates of the requests"
            raise SettingError(f"--prices {self.name}", cause)
        unix_s = 0.0 if unix_s is None or not self.changes else unix_s
        moment = datetime.fromtimestamp(unix_s, tz=UTC)
        missing = _context_without_price(self.model, self.context, moment)
        if missing:
            return Prices(self.name, self.source, notes=(*self.notes, missing))
        return _prices(self, self.model.get_prices(moment, self.context or None))

    def at_times(
        self, unix_s: npt.NDArray[np.float64]
    ) -> tuple[list[Prices], npt.NDArray[np.int64]]:
        """(the prices that were in force, for each time the number of its own). Raises as `at`."""
        if not len(unix_s):
            return [], np.zeros(0, dtype=np.int64)
        if not self.changes:
            return [self.at(None)], np.zeros(len(unix_s), dtype=np.int64)
        undated = ~((unix_s >= _FIRST_DATE_S) & (unix_s < _LAST_DATE_S))
        if undated.any():
            self.at(None)
        days, clocks = _edges(self.model, self.context)
        whole, part = np.floor_divide(unix_s, DAY_S), np.mod(unix_s, DAY_S)
        segment = np.searchsorted(days, whole, side="right") * (len(clocks) + 1)
        segment += np.searchsorted(clocks, part, side="right")
        _, first, which = np.unique(segment, return_index=True, return_inverse=True)
        return [self.at(float(unix_s[row])) for row in first], which.astype(np.int64)


def load_prices(reference: str, context: Mapping[str, str] | None = None) -> PriceSchedule:
    """The prices of "provider/model", as "anthropic/claude-opus-4-5".

    `context` selects the package's variants, as {"service_tier": "flex"} or {"processing":
    "batch"}; one that no variant of the model names is refused. Raises SettingError where the
    package is not installed, or knows no such provider or model.
    """
    option = f"--prices {reference}"
    try:
        from genai_prices.data import providers
        from genai_prices.data_snapshot import find_provider_by_id
    except ImportError as error:
        raise SettingError(option, "needs genai-prices: pip install 'hitpath[prices]'") from error
    version = importlib.metadata.version("genai-prices")
    provider_name, slash, model_name = reference.partition("/")
    if not slash or not model_name:
        raise SettingError(option, "not of the form provider/model")
    provider = find_provider_by_id(providers, provider_name)
    if provider is None:
        names = [known.id for known in providers]
        cause = f"genai-prices {version} has no provider {provider_name}"
        raise SettingError(option, cause + _nearest(provider_name, names))
    model = next((known for known in provider.models if known.id == model_name), None)
    if model is None:
        model = provider.find_model(model_name, all_providers=providers)
    if model is None:
        cause = f"genai-prices {version} has no price of {model_name} at {provider.id}"
        names = [known.id for known in provider.models]
        raise SettingError(option, cause + _nearest(model_name, names))
    own = any(model is known for known in provider.models)
    if context:
        _check_context(option, model, context, own)
    return PriceSchedule(
        name=reference,
        source=f"genai-prices {version}, offline snapshot",
        notes=_notes(reference, provider, model, own),
        changes=bool(_constraints(model, context or {})),
        model=model,
        context=dict(context or {}),
    )


def _check_context(
    option: str, model: "types.ModelInfo", context: Mapping[str, str], own: bool
) -> None:
    """A tier that the table does not have would otherwise be billed at the standard price."""
    known = {pair for variant in model.price_variants or () for pair in variant.when.items()}
    if not own:
        raise SettingError(option, "its price is another provider's, whose tiers do not apply")
    for pair in context.items():
        if pair not in known:
            names = ", ".join(sorted(f"{key}={value}" for key, value in known)) or "none"
            raise SettingError(option, f"no price for {pair[0]}={pair[1]} (there are: {names})")


def _notes(
    reference: str, provider: "types.Provider", model: "types.ModelInfo", own: bool
) -> tuple[str, ...]:
    notes = []
    if model.id != reference.partition("/")[2]:
        notes.append(f"{reference} was read as {model.id} of {provider.id}.")
    if not own:
        notes.append(f"{provider.id} has no price of its own for {model.id} in the snapshot: these")
        notes[-1] += " are the prices of the model's maker."
    return tuple(notes)


def _nearest(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    return f"; nearest: {', '.join(near)}" if near else ""


def _constraints(
    model: "types.ModelInfo", context: Mapping[str, str]
) -> "list[types.StartDateConstraint | types.TimeOfDateConstraint]":
    conditional = model.prices if isinstance(model.prices, list) else []
    found = [price.constraint for price in conditional]
    found += [variant.constraint for variant in _variants(model, context)]
    return [constraint for constraint in found if constraint is not None]


def _variants(model: "types.ModelInfo", context: Mapping[str, str]) -> "list[types.PriceVariant]":
    variants = model.price_variants or []
    return [variant for variant in variants if variant.when.items() <= context.items()]


def _context_without_price(
    model: "types.ModelInfo", context: Mapping[str, str], moment: datetime
) -> str:
    """Why a tier's price is not known at that time, or "". The package itself falls back to the
    standard price before its record of a tier begins."""
    for pair in context.items():
        known = [v for v in _variants(model, context) if pair in v.when.items()]
        if not any(v.constraint is None or v.constraint.active(moment) for v in known):
            return f"no price of {pair[0]}={pair[1]} is recorded for {moment:%Y-%m-%d}."
    return ""


def _edges(
    model: "types.ModelInfo", context: Mapping[str, str]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """(days since 1970 on which a price begins, seconds of the day at which one does or ends),
    both in UTC and ascending: between two edges the prices are the same."""
    from genai_prices.types import StartDateConstraint

    days: set[float] = set()
    clocks: set[float] = set()
    for constraint in _constraints(model, context):
        if isinstance(constraint, StartDateConstraint):
            days.add((constraint.start_date - date(1970, 1, 1)).days)
        else:
            clocks |= {_utc_seconds(constraint.start_time), _utc_seconds(constraint.end_time)}
    return np.array(sorted(days), dtype=np.float64), np.array(sorted(clocks), dtype=np.float64)


def _utc_seconds(clock: time) -> float:
    """A time of day in seconds of the UTC day; one without a zone is UTC."""
    moment = datetime.combine(date(1970, 1, 2), clock)
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment.timestamp() % DAY_S


def _prices(schedule: PriceSchedule, found: "types.ModelPrice") -> Prices:
    fields = {name: value for name, value in vars(found).items() if value is not None}
    buckets: dict[str, Price | None] = {}
    notes = list(schedule.notes)
    for bucket, names in _FIELDS.items():
        stated = next((name for name in names if name in fields), None)
        buckets[bucket] = None if stated is None else _price(fields[stated])
        if stated is None:
            notes.append(f"{bucket} tokens have no price: no {' or '.join(names)}.")
    for part in _PARTS_OF_OUTPUT:
        if part in fields:
            buckets["output"] = None
            notes.append(f"output tokens have no one price: {part} is another.")
    return Prices(
        name=schedule.name,
        source=schedule.source,
        fresh=buckets["fresh"],
        read=buckets["read"],
        written_5m=buckets["written_5m"],
        written_1h=buckets["written_1h"],
        output=buckets["output"],
        unpriced=tuple(sorted(set(fields) - _COVERED)),
        notes=tuple(notes),
    )


def _price(value: "Decimal | types.TieredPrices") -> Price:
    from genai_prices.types import TieredPrices

    if isinstance(value, TieredPrices):
        tiers = tuple((tier.start, float(tier.price)) for tier in value.tiers)
        return Price(float(value.base), tiers)
    return Price(float(value))

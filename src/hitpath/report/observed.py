"""What an engine's statistics say, as a JSON document and as a sentence; options that need
requests are refused."""

from collections.abc import Iterable, Sequence
from typing import Any

from hitpath.core import Setting, SettingError
from hitpath.cost.models import ModelKV
from hitpath.report.text_parts import percent
from hitpath.traces.engine_logs import QUANTITIES, Observation, Observed

SCHEMA = "hitpath.observed/1"
MOST_RATES = 4
"""Named one by one in the answer; of more, the lowest and the highest."""

_NEEDS_REQUESTS = "needs requests, and these are an engine's statistics: leave it out"
_OPTIONS = {
    "engine": "--engine",
    "capacity_tokens": "--capacity-tokens",
    "last_token": "--last-token",
    "outputs": "--outputs",
    "block_size": "--block-size",
    "router": "--router",
    "workers": "--workers",
    "seed": "--seed",
    "split_models": "--split-models",
    "sample_frac": "--sample",
    "tokenizer": "--tokenizer",
}


def check_observable(
    setting: Setting, model: ModelKV | None, files: Iterable[tuple[str, object]]
) -> None:
    """Raise SettingError for the first option that statistics cannot honour. files: (option,
    what it asks for or None) of the outputs and prices that need requests."""
    for option, value in files:
        if value is not None:
            raise SettingError(option, _NEEDS_REQUESTS)
    for name, option in _OPTIONS.items():
        value = getattr(setting, name)
        if value != getattr(Setting(), name):
            shown = option if value is True else f"{option} {value}"
            raise SettingError(shown, _NEEDS_REQUESTS)
    if model is not None:
        raise SettingError("--model", _NEEDS_REQUESTS)


def weighting(one: Observation) -> str:
    """What a rate is weighted by."""
    if one.unit is not None:
        return f"by {one.unit}"
    return "by tokens from vLLM 0.9, by blocks before"


def observed_document(observed: Observed) -> dict[str, Any]:
    """The document, ready for JSON."""
    places = {id(one): i for i, one in enumerate(observed.observations)}
    return {
        "schema": SCHEMA,
        "inputs": list(observed.inputs),
        "num_lines": observed.num_lines,
        "num_used_lines": observed.num_used_lines,
        "engines": list(observed.engines),
        "answer": {
            "text": answer(observed.headline),
            "observations": [places[id(one)] for one in observed.headline if id(one) in places],
        },
        "observations": [_record(one) for one in observed.observations],
        "facts": [
            {"engine": f.engine, "name": f.name, "value": f.value, "place": f.place}
            for f in observed.facts
        ],
        "traps": list(observed.traps),
        "not_known": list(observed.not_known),
        "num_skipped_rows": observed.skipped.num,
        "skipped_rows": [
            {"place": p.place, "field": p.field, "cause": p.cause} for p in observed.skipped
        ],
    }


def _record(one: Observation) -> dict[str, Any]:
    quantity = QUANTITIES[one.quantity]
    return {
        "engine": one.engine,
        "quantity": one.quantity,
        "title": quantity.title,
        "model": one.model,
        "worker": one.worker or None,
        "num_workers": one.worker_count,
        "rate": one.rate,
        "hit": one.hit,
        "total": one.total,
        "unit": one.unit,
        "weighting": weighting(one),
        "kind": one.kind,
        "decimals": one.decimals,
        "window": {
            "kind": one.window.kind,
            "text": one.window.text,
            "begin": one.window.begin,
            "end": one.window.end,
        },
        "parts": [{"source": source, "hit": hit} for source, hit in one.parts],
        "covers": list(quantity.covers),
        "num_values": one.num_values,
        "over_time": [{"at": point.at, "rate": point.rate} for point in one.over_time],
        "place": one.place,
    }


def rate_text(one: Observation) -> str:
    """With the decimals that it was printed with, else two."""
    if one.rate is None or one.decimals is None:
        return percent(one.rate)
    return f"{one.rate * 100:.{one.decimals}f} %"


def joined(words: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def answer(headline: Sequence[Observation]) -> str | None:
    """The first line; None where no rate can be given."""
    if not headline:
        return None
    if len(headline) <= MOST_RATES:
        rates = joined([rate_text(one) for one in headline])
    else:
        known = sorted(headline, key=lambda one: one.rate or 0.0)
        rates = f"{rate_text(known[0])} to {rate_text(known[-1])}"
    units = {one.unit for one in headline}
    unit = "blocks" if units == {"blocks"} else "prompt tokens"
    unit += " or blocks" if "blocks" in units and len(units) > 1 else ""
    hits = {QUANTITIES[one.quantity].hits for one in headline}
    return f"{rates} of {unit} {hits.pop() if len(hits) == 1 else 'hit'}"

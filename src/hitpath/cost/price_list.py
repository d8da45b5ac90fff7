"""Which prices hold for which model of a trace, as `--prices [MODEL=]provider/model` tells."""

from collections.abc import Sequence
from dataclasses import dataclass

from hitpath.core import SettingError
from hitpath.cost.provider_prices import PriceSchedule, load_prices


@dataclass(frozen=True, slots=True)
class PriceList:
    """`entries`: (the trace's name of a model, or None for every other, its prices)."""

    entries: tuple[tuple[str | None, PriceSchedule], ...]


def load_price_list(references: Sequence[str]) -> PriceList:
    """From "provider/model" for all models, and "MODEL=provider/model" for one. Raises
    SettingError for what is neither, or stands twice."""
    entries: dict[str | None, PriceSchedule] = {}
    for reference in references:
        label, equals, name = reference.rpartition("=")
        key = label if equals else None
        if key == "" or key in entries:
            cause = "names no model before the =" if key == "" else "a second price of one model"
            raise SettingError(f"--prices {reference}", cause)
        entries[key] = load_prices(name)
    return PriceList(tuple(entries.items()))

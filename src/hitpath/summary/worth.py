"""GPU time and money put beside an analysis, where they were asked for."""

from dataclasses import replace

import numpy as np

from hitpath.core import SettingError
from hitpath.cost.price_list import PriceList
from hitpath.cost.pricing import Pricing
from hitpath.summary.analysis import Analysis
from hitpath.summary.billed import bill_analysis, bill_lengths
from hitpath.summary.lengths import NOTHING_REPORTED, LengthsAnalysis
from hitpath.summary.priced import price_analysis, price_lengths

IN_BYTES = "text is counted in bytes here, and a byte has no cost: give --tokenizer too"


def with_worth(
    found: Analysis | LengthsAnalysis, pricing: Pricing | None, prices: PriceList | None
) -> Analysis | LengthsAnalysis:
    """The analysis with its prefill priced and its bill recomputed. Raises SettingError where the
    trace does not tell what they need."""
    if pricing is not None:
        _check_priceable(found)
    if isinstance(found, LengthsAnalysis):
        return replace(
            found,
            priced=None if pricing is None else price_lengths(found, pricing),
            billed=None if prices is None else bill_lengths(found, prices),
        )
    return replace(
        found,
        priced=None if pricing is None else price_analysis(found, pricing),
        billed=None if prices is None else bill_analysis(found, prices),
    )


def _check_priceable(found: Analysis | LengthsAnalysis) -> None:
    if found.trace.identity == "text":
        raise SettingError("--hardware", IN_BYTES)
    if isinstance(found, LengthsAnalysis) and not np.any(found.told):
        raise SettingError("--hardware", f"nothing to price: {NOTHING_REPORTED}")

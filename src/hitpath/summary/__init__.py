"""From the stages' records to the sums that reports show. No file, no printing."""

from hitpath.summary.analysis import Analysis, Stages, sum_up
from hitpath.summary.estimate import Estimate, Estimated
from hitpath.summary.lengths import LengthsAnalysis, sum_up_lengths
from hitpath.summary.worth import with_worth

__all__ = [
    "Analysis",
    "Estimate",
    "Estimated",
    "LengthsAnalysis",
    "Stages",
    "sum_up",
    "sum_up_lengths",
    "with_worth",
]

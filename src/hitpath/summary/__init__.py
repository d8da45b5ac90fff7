"""From the stages' records to the sums that reports show. No file, no printing."""

from hitpath.summary.analysis import Analysis, Stages, sum_up
from hitpath.summary.estimate import Estimate, Estimated

__all__ = ["Analysis", "Estimate", "Estimated", "Stages", "sum_up"]

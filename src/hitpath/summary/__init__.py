"""From the stages' records to the sums that reports show. No file, no kernel, no printing."""

from hitpath.summary.analysis import Analysis, Stages, sum_up

__all__ = ["Analysis", "Stages", "sum_up"]

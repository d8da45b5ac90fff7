"""Simulated fleets: one run with its ledger, a grid of them, the smallest that is enough."""

from hitpath.serving_spine.run import (
    Prepared,
    Simulation,
    conclude,
    prepare,
    read_for_serving,
    servable,
    simulate_trace,
)

__all__ = [
    "Prepared",
    "Simulation",
    "conclude",
    "prepare",
    "read_for_serving",
    "servable",
    "simulate_trace",
]

"""Which worker gets a request: pure policies, the same in simulation and live."""

"""The parts of llmd_73_capacity.py: the report's load, its way of counting, and the comparison."""

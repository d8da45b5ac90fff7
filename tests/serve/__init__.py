"""Tests of the server. fake.py: an engine without a model; running.py: a server in a thread."""

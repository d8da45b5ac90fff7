"""Serving in virtual time: workers with caches, steps and queues behind a router."""

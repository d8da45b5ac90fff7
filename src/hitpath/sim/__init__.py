"""Caches in virtual time: what each worker holds when a request arrives. No latency here."""

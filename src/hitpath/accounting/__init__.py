"""Rungs in, ledger out: the arithmetic of causes. It takes rungs as data and calls nobody."""

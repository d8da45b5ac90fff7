"""An `Analysis` as a terminal page, JSON, rows and a ledger. Nothing is computed here."""

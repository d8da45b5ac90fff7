"""What tokens cost: for now bytes of KV a token."""

"""A trace written as another format: hitpath's own rows, Mooncake's, with or without content."""

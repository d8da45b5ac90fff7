"""Where two prompts part, what kind of text did it, and fixes proved by replay."""

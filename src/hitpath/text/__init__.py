"""Prompts as text. For now bytes stand for tokens; a tokenizer brings the real ones."""

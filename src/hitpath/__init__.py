"""hitpath: measure and explain the prefix (KV) cache of large-language-model serving."""

__version__ = "0.1.0"

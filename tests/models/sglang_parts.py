"""Methods taken out of SGLang's large classes as they stand, with stand-ins for what they name.

`scheduler.py`, `schedule_batch.py` and `batch_result_processor.py` cannot be imported without
torch and half of the server. Their methods can be compiled one by one from the same text: nothing
of them is rewritten, and a name that they use and nobody gave is a stand-in that does nothing.
"""

import ast
import builtins
from pathlib import Path
from unittest.mock import MagicMock

KEPT_DECORATORS = ("property", "staticmethod", "classmethod")


class Nothing(int):
    """0, False, empty, and a function that returns the same."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return NOTHING

    def __call__(self, *_, **__):
        return NOTHING

    def __iter__(self):
        return iter(())

    def __len__(self):
        return 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


NOTHING = Nothing()


class Options(Nothing):
    """A part of the server's configuration: what is not given is off."""

    def __new__(cls, **given):
        made = super().__new__(cls)
        made.__dict__.update(given)
        return made

    def __call__(self, *_, **__):
        return self


class Names(dict):
    """The globals of the methods: those given, else a stand-in."""

    def __missing__(self, name):
        if hasattr(builtins, name):
            raise KeyError(name)
        self[name] = MagicMock(name=name)
        return self[name]


def taken(path, owner, wanted, names):
    """Methods `wanted` of class `owner` (functions of the module, if None) in a file of the wheel,
    by name. Raises KeyError for one that the release does not have."""
    module = ast.parse(Path(path).read_text())
    body = module.body
    if owner is not None:
        (found,) = [n for n in body if isinstance(n, ast.ClassDef) and n.name == owner]
        body = found.body
    parts = {n.name: n for n in body if isinstance(n, ast.FunctionDef) and n.name in wanted}
    future = ast.parse("from __future__ import annotations").body
    made = {}
    for name in wanted:
        part = parts[name]
        part.decorator_list = [
            d for d in part.decorator_list if isinstance(d, ast.Name) and d.id in KEPT_DECORATORS
        ]
        code = compile(ast.Module([*future, part], []), str(path), "exec")
        scope = {}
        exec(code, names, scope)
        made[name] = scope[name]
    return made

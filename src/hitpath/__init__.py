"""hitpath: measure and explain the prefix (KV) cache of large-language-model serving.

The public names are those of `__all__` (documented in docs/python.md); they load on first use,
so that `import hitpath` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = [
    "HitpathError",
    "InputError",
    "OutputError",
    "Result",
    "Setting",
    "SettingError",
    "__version__",
    "analyze",
    "convert",
    "diff",
    "read",
]

if TYPE_CHECKING:
    from hitpath.api import Result, analyze, convert, diff, read
    from hitpath.core import HitpathError, InputError, OutputError, Setting, SettingError

_FROM_CORE = ("HitpathError", "InputError", "OutputError", "Setting", "SettingError")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'hitpath' has no attribute {name!r}")
    # The API brings numba and pyarrow with it; errors and settings do not need them.
    module = "hitpath.core" if name in _FROM_CORE else "hitpath.api"
    return getattr(import_module(module), name)

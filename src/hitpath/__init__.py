"""hitpath: measure and explain the prefix (KV) cache of large-language-model serving.

The public names are those of `__all__` (documented in docs/python.md); they load on first use,
so that `import hitpath` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = [
    "Diagnosed",
    "HitpathError",
    "InputError",
    "Observed",
    "OutputError",
    "Pricing",
    "Result",
    "Setting",
    "SettingError",
    "Simulated",
    "Sized",
    "Swept",
    "__version__",
    "analyze",
    "convert",
    "diagnose",
    "diff",
    "load_pricing",
    "observe",
    "read",
    "simulate",
    "size",
    "sweep",
]

if TYPE_CHECKING:
    from hitpath.api import (
        Diagnosed,
        Observed,
        Result,
        Simulated,
        Sized,
        Swept,
        analyze,
        convert,
        diagnose,
        diff,
        observe,
        read,
        simulate,
        size,
        sweep,
    )
    from hitpath.core import HitpathError, InputError, OutputError, Setting, SettingError
    from hitpath.cost.pricing import Pricing, load_pricing

_MODULE_OF = {
    **dict.fromkeys(("HitpathError", "InputError", "OutputError"), "hitpath.core"),
    **dict.fromkeys(("Setting", "SettingError"), "hitpath.core"),
    **dict.fromkeys(("Pricing", "load_pricing"), "hitpath.cost.pricing"),
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'hitpath' has no attribute {name!r}")
    # The API brings numba and pyarrow with it; errors, settings and prices do not need them.
    return getattr(import_module(_MODULE_OF.get(name, "hitpath.api")), name)

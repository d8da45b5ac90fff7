"""The one place that knows about numba: the decorator for the kernels.

Kernels take arrays and numbers only, release the GIL, and are cached on disk, so that a
machine compiles each of them once. With ``NUMBA_DISABLE_JIT=1`` the same source runs as plain
Python (coverage, debugging); tests compare both. Unsigned products wrap around by design, so
the plain version silences numpy's overflow warning, and nothing else.
"""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

_kernels: list[Any] = []


def kernel(function: F) -> F:
    """Compile `function` on first call (cached on disk, no GIL)."""
    if getattr(numba.config, "DISABLE_JIT"):  # noqa: B009 (set at run time)

        @wraps(function)
        def plain(*args: Any) -> Any:
            with np.errstate(over="ignore"):
                return function(*args)

        return cast("F", plain)
    compiled = numba.njit(cache=True, nogil=True)(function)
    _kernels.append(compiled)
    return cast("F", compiled)


def nothing_compiled_yet() -> bool:
    """Whether no kernel imported so far has a compiled form on this disk: a first run."""
    for compiled in _kernels:
        cache = compiled._cache
        if (Path(cache.cache_path) / cache._cache_file._index_name).exists():
            return False
    return bool(_kernels)

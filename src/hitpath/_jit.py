"""The one place that knows about numba: the decorator for the kernels.

Kernels take arrays and numbers only, release the GIL, and are cached on disk, so that a
machine compiles each of them once, and again when its file or that of a kernel it calls changes
(numba itself looks at the kernel's own file only, and would run the old callee for ever). Where no
folder can be written (a read-only install without a home), or what is there cannot be used, they
are compiled anew, and nothing else changes. With ``NUMBA_DISABLE_JIT=1`` the same source runs as
plain Python (coverage, debugging); tests compare both. Unsigned products wrap around by design, so
the plain version silences numpy's overflow warning, and nothing else.
"""

from collections.abc import Callable
from functools import cache, wraps
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

_kernels: list[Any] = []
_files: dict[int, frozenset[str]] = {}
"""By the id of a kernel, which lives as long as its module: its file and those of what it calls."""


class _Lenient:
    """numba's cache of one kernel (numba/core/caching.py), where a file that cannot be read or
    written costs a compilation and no more."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The compiled form, None where there is none that can be used."""
        try:
            return self._cache.load_overload(signature, context)
        except Exception:  # a damaged index is a damaged pickle: that raises anything
            self._begin_anew()
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep it if possible: a disk may be full."""
        try:
            self._cache.save_overload(signature, compiled)
        except Exception:
            self._cache.disable()

    def _begin_anew(self) -> None:
        try:
            self._cache.flush()
        except OSError:
            self._cache.disable()


def kernel(function: F) -> F:
    """Compile `function` on first call (cached on disk, no GIL)."""
    if getattr(numba.config, "DISABLE_JIT"):  # noqa: B009 (set at run time)

        @wraps(function)
        def plain(*args: Any) -> Any:
            with np.errstate(over="ignore"):
                return function(*args)

        return cast("F", plain)
    compiled: Any = numba.njit(nogil=True)(function)
    try:
        compiled.enable_caching()
    except RuntimeError:
        pass  # no folder can be written: compiled by each process
    else:
        _stamp(compiled, function)
        compiled._cache = _Lenient(compiled._cache)
    _kernels.append(compiled)
    return cast("F", compiled)


def _stamp(compiled: Any, function: Callable[..., Any]) -> None:
    """Have the kernel's cache hold for the state of all files that it was compiled from: numba puts
    its callees into it. Kernels of other files are imported, so they are there by now."""
    files = {function.__code__.co_filename}
    for name in function.__code__.co_names:
        files |= _files.get(id(function.__globals__.get(name)), frozenset())
    _files[id(compiled)] = frozenset(files)
    try:
        digests = [_digest(file) for file in sorted(files)]
    except OSError:
        return  # from an archive: numba's own stamp stands
    compiled._cache._cache_file._source_stamp = tuple(digests)


@cache
def _digest(file: str) -> bytes:
    return sha256(Path(file).read_bytes()).digest()


def nothing_compiled_yet(within: str = "hitpath") -> bool:
    """Whether no kernel of a package imported so far has a compiled form on this disk: a first
    run."""
    kernels = [k for k in _kernels if k.py_func.__module__.startswith(within)]
    for compiled in kernels:
        cache = compiled._cache
        if _is_kept(compiled) and (Path(cache.cache_path) / cache._cache_file._index_name).exists():
            return False
    return bool(kernels)


def kernels_are_kept() -> bool:
    """Whether there is a folder on this disk for what is compiled."""
    return any(map(_is_kept, _kernels))


def _is_kept(compiled: Any) -> bool:
    return isinstance(compiled._cache, _Lenient)

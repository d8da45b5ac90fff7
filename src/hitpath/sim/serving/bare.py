"""Kernels that count no references, and that are compiled anew when any of them changes.

numba counts the references to every array of a tuple that a function is given, with locked
instructions; a step of the simulator calls a dozen small functions with twenty arrays each, and
that took most of its time. All arrays here outlive the call of `loop.run`, and these kernels make
none, so nothing is lost by not counting.

numba keeps a compiled function as long as the file that it stands in is the same, and knows nothing
of what it calls in other files. These kernels call each other and the routers' across files, so
each is kept as long as all of those files are the same.
"""

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from hitpath._jit import kernel

F = TypeVar("F", bound=Callable[..., Any])


def bare_kernel(function: F) -> F:
    """As `kernel`, for a function that makes no array (views are fine) and that only other kernels
    call: it gets no entry for Python, which takes long to compile for so many arrays."""
    compiled = bare_entry(function)
    options = getattr(compiled, "targetoptions", None)
    if options is not None:
        options.update(no_cpython_wrapper=True, no_cfunc_wrapper=True)
    return compiled


def bare_entry(function: F) -> F:
    """The same for a function that Python calls."""
    compiled: Any = kernel(function)
    if hasattr(compiled, "targetoptions"):
        compiled.targetoptions.update(_nrt=False, error_model="numpy")
        kept = getattr(compiled._cache, "_cache_file", None)
        if kept is not None:
            kept._source_stamp = _stamp()
    return compiled  # type: ignore[no-any-return]


@cache
def _stamp() -> bytes:
    """Of all files whose kernels are compiled into each other here."""
    here = Path(__file__).parent
    package = here.parent.parent
    digest = sha256()
    for path in sorted([*here.glob("*.py"), *(package / "routing").glob("*.py")]):
        digest.update(path.read_bytes())
    return digest.digest()

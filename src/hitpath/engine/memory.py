"""Memory that the system refuses, as an error that names the switch that asks for less."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from hitpath.core import SettingError


@contextmanager
def allocating(option: str, what: str) -> Iterator[None]:
    """Want of memory within leaves as SettingError(option, `what` ...). torch has an error class
    for it on GPUs only; its CPU allocator raises a RuntimeError of many lines."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not _is_want_of_memory(error):
            raise
        cause = f"{what} cannot be allocated: this machine has not so much memory"
        raise SettingError(option, cause) from error


def _is_want_of_memory(error: Exception) -> bool:
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return "allocate memory" in str(error)

"""Errors for `--no-content`: place, field and cause, without the values that the input made up."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from hitpath.core import InputError

_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*(?:'|$)|\"(?:[^\"\\]|\\.)*(?:\"|$)")
_NAMES = re.compile(r"\b(fields|columns): [^()]*(?=\)|$)")
_LONG_NUMBER = re.compile(r"[-+]?\d[\d,._]{6,}\d(?:[eE][-+]?\d+)?")


@contextmanager
def values_hidden(is_asked: bool) -> Iterator[None]:
    """Raises what is raised within; an InputError without values, where that is asked for."""
    try:
        yield
    except InputError as error:
        if not is_asked:
            raise
        raise InputError(error.place, error.field, without_values(error.cause)) from None


def without_values(cause: str) -> str:
    """Quoted values, names of unknown fields and long numbers give way to a word for them."""
    cause = _QUOTED.sub(lambda found: f"a text of {max(len(found[0]) - 2, 0):,} characters", cause)
    cause = _NAMES.sub(lambda found: f"{found[1]}: {found[0].count(',') + 1:,}", cause)
    return _LONG_NUMBER.sub("a number", cause)

"""What was typed behind a name: "name:option=value,option=value"."""

import math
from collections.abc import Mapping

from hitpath.core import SettingError, one_line
from hitpath.routing.rule import Option


def typed_options(option: str, known: Mapping[str, Option], rest: str) -> dict[str, float]:
    """Option -> value, of the text behind the colon; a word stands for its number. option: of the
    command line, for errors. Raises SettingError for what is not known, out of range, without a
    value, or there twice."""
    typed: dict[str, float] = {}
    for part in filter(None, (p.strip() for p in rest.split(","))):
        name, equals, value = (p.strip() for p in part.partition("="))
        if name not in known:
            there = ", ".join(known) or "none"
            raise SettingError(option, f"no option {one_line(name)!r}; there are: {there}")
        if not equals or not value:
            raise SettingError(option, f"{name} has no value; write {name}=...")
        if name in typed:
            raise SettingError(option, f"{name} is given twice")
        typed[name] = _number(option, known[name], value)
    return typed


def _number(option: str, own: Option, text: str) -> float:
    if own.words:
        if text not in own.words:
            cause = f"{own.name}={one_line(text)} is not one of {', '.join(own.words)}"
            raise SettingError(option, cause)
        return float(own.words.index(text))
    try:
        if not text.isascii() or "_" in text:
            raise ValueError  # Python would take both
        value = float(text)
    except ValueError:
        raise SettingError(option, f"{own.name}={one_line(text)} is no number") from None
    if math.isnan(value) or not own.low <= value <= own.high:
        cause = f"{own.name}={one_line(text)} is not from {own.low:g} to {own.high:g}"
        raise SettingError(option, cause)
    if own.whole and value != int(value):
        raise SettingError(option, f"{own.name}={one_line(text)} is no whole number")
    return value

"""Prometheus' text format, as far as engines' metrics need it.

One sample a line: name{label="value",…} value [timestamp in ms], # HELP and # TYPE before them
(prometheus.io/docs/instrumenting/exposition_formats). prometheus-client has a parser of it, but
is no dependency of the core; it stops at the first line that it does not know, and pasted
metrics have such lines. Here only samples of the engines are parsed, so that the rest of a page
costs nothing; a sample of theirs that is not in the format is an error with its place.
"""

import math
import re
from dataclasses import dataclass

from hitpath.core import InputError

_NAME = re.compile(rb"(?:ray_)?(vllm|sglang)[:_](\w+)(?=\{|[ \t])")
_START = re.compile(rb"process_start_time_seconds(?=\{|[ \t])")
_HELP = re.compile(rb"# HELP (?:ray_)?(vllm|sglang)[:_](\w+)\s+(.*)", re.DOTALL)
_LABEL = re.compile(rb'\s*([A-Za-z_]\w*)\s*=\s*"((?:[^"\\\n]|\\.)*)"\s*(?:,|(?=\}))')
_ESCAPE = re.compile(rb"\\(.)")
_MOST_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Sample:
    """engine: "vllm", "sglang" or, for the start of the process, "". name: without the engine's
    prefix and without `_total`. timestamp_s: of the sample itself, rarely told."""

    engine: str
    name: str
    labels: tuple[tuple[str, str], ...]
    value: float
    timestamp_s: float | None
    place: str


@dataclass(frozen=True, slots=True)
class Help:
    """What the engine says a metric is."""

    engine: str
    name: str
    text: str


def name_of(line: bytes) -> tuple[str, str] | None:
    """(engine, name) of the sample that a line holds; None for any other line."""
    match = _NAME.match(line)
    if match:
        return match[1].decode(), _canonical(match[2])
    return ("", "process_start_time_seconds") if _START.match(line) else None


def help_of(line: bytes) -> Help | None:
    """A HELP line of an engine's metric; None for any other line."""
    match = _HELP.match(line)
    if match is None:
        return None
    text = match[3].decode("utf-8", "replace")
    return Help(match[1].decode(), _canonical(match[2]), text)


def _canonical(name: bytes) -> str:
    return name.decode("utf-8", "replace").removesuffix("_total")


def parse(line: bytes, place: str) -> Sample:
    """The sample of a line that `name_of` knows. Raises InputError (place, name, cause)."""
    named = name_of(line)
    assert named is not None
    engine, name = named
    shown = f"{engine}:{name}" if engine else name
    if len(line) > _MOST_BYTES:
        raise InputError(place, shown, f"a sample of more than {_MOST_BYTES:,} bytes")
    match = _NAME.match(line) or _START.match(line)
    assert match is not None
    labels, end = _labels(line, match.end(), place, shown)
    words = line[end:].split(b" # ", 1)[0].split()
    if not 1 <= len(words) <= 2:
        raise InputError(place, shown, "no value" if not words else "more than value and time")
    value = _float(words[0], place, shown)
    timestamp = _float(words[1], place, shown) / 1000 if len(words) == 2 else None
    if timestamp is not None and not math.isfinite(timestamp):
        raise InputError(place, shown, "the timestamp is no number")
    return Sample(engine, name, labels, value, timestamp, place)


def _labels(
    line: bytes, begin: int, place: str, name: str
) -> tuple[tuple[tuple[str, str], ...], int]:
    """(labels in the order of their names, where the value begins)."""
    if line[begin : begin + 1] != b"{":
        return (), begin
    labels: dict[str, str] = {}
    at = begin + 1
    while line[at : at + 1] != b"}":
        match = _LABEL.match(line, at)
        if match is None:
            if line[at:].lstrip()[:1] == b"}":
                at = line.index(b"}", at)
                break
            raise InputError(place, name, 'its labels are not closed, or not label="value"')
        labels[match[1].decode()] = _unescaped(match[2]).decode("utf-8", "replace")
        at = match.end()
    return tuple(sorted(labels.items())), at + 1


def _unescaped(value: bytes) -> bytes:
    return _ESCAPE.sub(lambda match: b"\n" if match[1] == b"n" else match[1], value)


def _float(word: bytes, place: str, name: str) -> float:
    try:
        if b"_" not in word:
            return float(word)
    except ValueError:
        pass
    raise InputError(place, name, "the value is no number")

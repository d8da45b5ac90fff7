"""Lints Python source: changing values that flow into a system prompt, tools, or ahead of text.

What flows is found by lint_taint.py; here files are found and read, and flows become findings: at
the origin, with the place of the prompt. A clock by the hour or day is a note. A line with
`hitpath: ignore` is passed over.
"""

import ast
import os
import tokenize
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hitpath.core import InputError, why_no_file
from hitpath.doctor.lint_flow import Flow
from hitpath.doctor.lint_record import (
    RULE_OF_KIND,
    Finding,
    Level,
    fingerprinted,
    stable_path,
)
from hitpath.doctor.lint_sources import COARSE_CLOCK
from hitpath.doctor.lint_taint import flows_of

SUFFIXES = (".py", ".pyi", ".pyw")
_IGNORE = "hitpath: ignore"
_LONGEST_BYTES = 20 << 20
_TOGETHER_BYTES = 6 << 20
"""Files are looked at together up to this much source, for memory; each such part by itself."""
_NOT_OURS = frozenset(["node_modules", "__pycache__", "site-packages", "venv", "build", "dist"])


def lint_source(paths: list[str]) -> list[Finding]:
    """All findings in Python files, and in those of folders, at any depth. A file of a folder that
    cannot be read is a finding; raises InputError for one that was named, with its line."""
    return lint_source_and_count(paths)[0]


def lint_source_and_count(paths: list[str]) -> tuple[list[Finding], int]:
    """The same with the number of files."""
    files: dict[str, _Source] = {}
    findings: list[Finding] = []
    held_bytes = 0
    seen: set[str] = set()
    for path, is_named in _wanted(paths):
        if str(path) in seen:
            continue
        seen.add(str(path))
        try:
            source = _parsed(path, is_named)
        except InputError as error:
            if is_named:
                raise
            findings.append(_unreadable(path, error))
            continue
        held_bytes += len(source.text)
        if files and held_bytes > _TOGETHER_BYTES:
            findings += _of_files(files)
            files, held_bytes = {}, len(source.text)
        files[str(path)] = source
    return fingerprinted([*findings, *_of_files(files)]), len(seen)


def _wanted(paths: list[str]) -> Iterator[tuple[Path, bool]]:
    """Files, and whether they were named themselves."""
    for path in paths:
        if not path:
            raise InputError('""', "", "no such file or folder")
        if not Path(path).is_dir():
            yield Path(path), True
            continue
        files = list(python_files(Path(path)))
        if not files:
            raise InputError(path, "", "no Python file in this folder; name other files themselves")
        yield from ((file, False) for file in files)


class _Source(NamedTuple):
    tree: ast.Module
    text: str
    is_named: bool


def _of_files(files: dict[str, _Source]) -> list[Finding]:
    """Files that are looked at together: values are followed from one to another."""
    absolute = {os.path.abspath(path): path for path in files}  # imports are found by folders
    flows, failures = flows_of((full, files[path].tree) for full, path in absolute.items())
    findings = []
    for full, cause in failures.items():
        path = absolute[full]
        error = InputError(path, "", f"cannot be analysed: {cause}")
        if files[path].is_named:
            raise error
        findings.append(_unreadable(Path(path), error))
    lines = {full: files[path].text.split("\n") for full, path in absolute.items()}
    for flow in flows:
        line = lines[flow.origin.path][flow.origin.line - 1]
        if _IGNORE not in line + lines[flow.sink_path][flow.sink_line - 1]:
            path, sink_path = absolute[flow.origin.path], absolute[flow.sink_path]
            findings.append(_finding(stable_path(path), stable_path(sink_path), flow, line))
    return findings


def _unreadable(path: Path, error: InputError) -> Finding:
    """The others are looked at where one cannot be read."""
    line = error.place.removeprefix(str(path)).removeprefix(":")
    return Finding(
        RULE_OF_KIND["unreadable"],
        stable_path(str(path)),
        int(line) if line.isdecimal() else 1,
        1,
        f"{error.cause[:1].upper()}{error.cause[1:]}: nothing is known of this file.",
        "",
        plain_message=RULE_OF_KIND["unreadable"].sentence,
    )


def python_files(path: Path) -> Iterator[Path]:
    """The file, or the Python files of a folder in a stable order (no hidden folders, no installed
    packages). Raises InputError."""
    if not path.is_dir():
        yield path
        return
    for folder, names, files in os.walk(path):
        names[:] = sorted(n for n in names if not n.startswith(".") and n not in _NOT_OURS)
        for name in sorted(files):
            if name.endswith(SUFFIXES):
                yield Path(folder, name)


def _parsed(path: Path, is_named: bool) -> _Source:
    text = _read(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the file's own strings, not ours to tell
            return _Source(ast.parse(text, str(path)), text, is_named)
    except SyntaxError as error:
        place = f"{path}:{error.lineno}" if error.lineno else str(path)
        raise InputError(place, "", f"not Python: {error.msg}") from error
    except (RecursionError, MemoryError, ValueError) as error:
        cause = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InputError(str(path), "", f"cannot be analysed: {cause}") from error


def _read(path: Path) -> str:
    try:
        if not path.exists():
            raise InputError(str(path), "", "no such file or folder")
        if not path.is_file():
            raise InputError(str(path), "", why_no_file(path))
        if path.stat().st_size > _LONGEST_BYTES:
            cause = f"larger than {_LONGEST_BYTES >> 20} MiB: no source that a person wrote"
            raise InputError(str(path), "", cause)
        with tokenize.open(path) as file:  # in the encoding that the file says
            return file.read()
    except (OSError, SyntaxError, UnicodeDecodeError, ValueError) as error:
        cause = getattr(error, "strerror", None) or str(error)
        raise InputError(str(path), "", f"cannot be read: {cause}") from error


def _finding(path: str, sink_path: str, flow: Flow, line: str) -> Finding:
    origin = flow.origin
    before = line.encode()[: origin.column - 1].decode("utf-8", "replace")  # ast counts bytes
    is_coarse = origin.kind == COARSE_CLOCK
    rule = RULE_OF_KIND["clock" if is_coarse else origin.kind]
    where = "here" if flow.sink_line == origin.line else f"on line {flow.sink_line}"
    plain_where = where
    if sink_path != path:
        where, plain_where = f"at {sink_path}:{flow.sink_line}", "of another file"
    level: Level = "note" if is_coarse else "warning"
    told = f"{rule.sentence[:-1]}: it flows into {flow.sink} {where}."
    if origin.kind == "key_order":
        told = f"A JSON object with the keys as they come flows into {flow.sink} {where}."
    if is_coarse:
        told = f"A clock by the hour or day flows into {flow.sink} {where}: all miss when it turns."
    return Finding(
        rule=rule,
        path=path,
        line=origin.line,
        column=len(before) + 1,
        message=told,
        excerpt=origin.text,
        level=level,
        plain_message=f"{rule.sentence[:-1]}: it flows into a prompt {plain_where}.",
        context=f"{flow.function} {flow.sink} {origin.text}",
    )

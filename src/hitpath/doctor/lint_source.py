"""Lints Python source: changing values that flow into a system prompt, tools, or ahead of text.

What flows is found by lint_taint.py; here files are found and read, and flows become findings. A
clock by the hour or day is a note. A line with `hitpath: ignore` is passed over.
"""

import ast
import os
import tokenize
import warnings
from collections.abc import Iterator
from pathlib import Path

from hitpath.core import InputError
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
_NOT_OURS = frozenset(["node_modules", "__pycache__", "site-packages", "venv", "build", "dist"])


def lint_source(paths: list[str]) -> list[Finding]:
    """All findings in Python files, and in those of folders, at any depth. Raises InputError for
    what cannot be read or is not Python, with its line."""
    findings: list[Finding] = []
    for path in paths:
        files = list(python_files(Path(path)))
        if not files:
            raise InputError(path, "", "no Python file in this folder; name other files themselves")
        for file in files:
            findings += _of_file(file)
    return fingerprinted(findings)


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


def _of_file(path: Path) -> Iterator[Finding]:
    source = _read(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the file's own strings, not ours to tell
            flows = flows_of(ast.parse(source, str(path)))
    except SyntaxError as error:
        place = f"{path}:{error.lineno}" if error.lineno else str(path)
        raise InputError(place, "", f"not Python: {error.msg}") from error
    except (RecursionError, MemoryError, ValueError) as error:
        cause = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InputError(str(path), "", f"cannot be analysed: {cause}") from error
    lines = source.split("\n")
    for flow in flows:
        if _IGNORE not in lines[flow.origin.line - 1] + lines[flow.sink_line - 1]:
            yield _finding(stable_path(str(path)), flow, lines[flow.origin.line - 1])


def _read(path: Path) -> str:
    try:
        if not path.exists():
            raise InputError(str(path), "", "no such file or folder")
        if not path.is_file():
            raise InputError(str(path), "", "is no file")
        if path.stat().st_size > _LONGEST_BYTES:
            cause = f"larger than {_LONGEST_BYTES >> 20} MiB: no source that a person wrote"
            raise InputError(str(path), "", cause)
        with tokenize.open(path) as file:  # in the encoding that the file says
            return file.read()
    except (OSError, SyntaxError, UnicodeDecodeError, ValueError) as error:
        cause = getattr(error, "strerror", None) or str(error)
        raise InputError(str(path), "", f"cannot be read: {cause}") from error


def _finding(path: str, flow: Flow, line: str) -> Finding:
    origin = flow.origin
    before = line.encode()[: origin.column - 1].decode("utf-8", "replace")  # ast counts bytes
    is_coarse = origin.kind == COARSE_CLOCK
    rule = RULE_OF_KIND["clock" if is_coarse else origin.kind]
    where = "here" if flow.sink_line == origin.line else f"on line {flow.sink_line}"
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
        plain_message=f"{rule.sentence[:-1]}: it flows into a prompt {where}.",
        context=f"{flow.function} {flow.sink} {origin.text}",
    )

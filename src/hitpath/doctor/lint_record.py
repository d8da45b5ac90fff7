"""What the linter finds: one record, its rules, and a fingerprint that survives moved lines."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple

Level = Literal["warning", "note"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


class Rule(NamedTuple):
    """A rule: its id in every output, the doctor's kind, a sentence, and what to do about it."""

    id: str
    kind: str
    sentence: str
    fix: str


_TAIL = "Put it into the last message (hitpath.canonical.volatile_to_tail), or make it coarser."
RULES = {
    rule.id: rule
    for rule in (
        Rule("HP000", "unreadable", "A file of the folder could not be read as Python.",
             "Mend it, or keep it out of the folders that are looked at."),
        Rule("HP001", "clock", "A clock stands before text that requests share.", _TAIL),
        Rule("HP002", "request_id", "An id of one request stands before shared text.", _TAIL),
        Rule("HP003", "counter", "A counter stands before text that requests share.", _TAIL),
        Rule("HP004", "random_sample", "A random choice stands before shared text.",
             "Seed it by what is constant, or put the choice into the last message."),
        Rule("HP005", "attribution", "Where or by whom it was sent stands before shared text.",
             _TAIL),
        Rule("HP006", "tool_order", "The same tools come in another order.",
             "Sort them by name (hitpath.canonical.stable_tools)."),
        Rule("HP007", "key_order", "The same JSON object has its keys in another order.",
             "Write JSON with sorted keys (hitpath.canonical.canonical_json)."),
        Rule("HP008", "array_order", "What has no order of its own is written in a changing one.",
             "Sort it before it is written."),
        Rule("HP009", "white_space", "Texts differ only in white space.",
             "One form of it (hitpath.canonical.normalise_space)."),
        Rule("HP010", "hidden_characters", "The text holds characters that nobody sees.",
             "Take them out (hitpath.canonical.normalise_space)."),
        Rule("HP011", "unicode_form", "Texts differ only in their Unicode form.",
             "One form of it (hitpath.canonical.normalise_unicode)."),
        Rule("HP012", "number_format", "The same number is written in two ways.",
             "One form of it (hitpath.canonical.canonical_json)."),
    )
}  # fmt: skip
_KEY = re.compile(r'"(?:[^"\\]|\\.)*"|[A-Za-z_$][\w$-]*', re.ASCII)
_PUBLIC_KEYS = _words(
    """
    messages input system instructions content text output tools functions function parameters
    input_schema inputSchema properties items description enum anyOf oneOf allOf required type
    name title toolSpec json functionDeclarations response_format json_schema schema format
    tool_calls arguments prompt $defs definitions additionalProperties
    """
)
RULE_OF_KIND = {rule.kind: rule for rule in RULES.values()}


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect at one place.

    line, column: from 1, in the file (of JSON: the row's line, column 1). json_path, char_offset,
    num_chars: within a request, None for source. excerpt: the text there (content!). num_requests:
    in how many requests it changed, of `of_requests` that share what follows; chars_behind:
    characters of a request from there on, at most. level "note": told, but no failure.
    plain_message: without names of the input, where the message has some.
    """

    rule: Rule
    path: str
    line: int
    column: int
    message: str
    excerpt: str
    level: Level = "warning"
    json_path: str | None = None
    char_offset: int | None = None
    num_chars: int | None = None
    num_requests: int | None = None
    of_requests: int | None = None
    chars_behind: int | None = None
    plain_message: str = ""
    context: str = ""
    fingerprint: str = ""

    @property
    def place(self) -> str:
        """file:line:column, as editors take it."""
        return f"{self.path}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class LookedAt:
    """What a run has looked at: files of source (None: none was asked for) and requests; of these
    how many are one text (`prompt`), and how many have neither instructions nor tools otherwise:
    nothing in them was looked at."""

    num_source_files: int | None = None
    num_requests: int | None = None
    num_one_text: int = 0
    num_without_instructions: int = 0

    @property
    def num_passed_over(self) -> int:
        return self.num_one_text + self.num_without_instructions


def stable_path(path: str) -> str:
    """A name that is the same on another machine: from the folder that the command runs in, where
    the file is below it, with forward slashes."""
    place = Path(path)
    try:
        if place.is_absolute():
            place = place.relative_to(Path.cwd())
    except (OSError, ValueError):
        return place.as_posix()
    return place.as_posix()


def fingerprinted(findings: Iterable[Finding]) -> list[Finding]:
    """In the order of files and lines, each with its fingerprint: rule, file, context (no line
    number, no value), and how many alike stand before it."""
    seen: dict[str, int] = {}
    made = []
    for one in sorted(findings, key=_order):
        key = "\0".join((one.rule.id, one.path, one.json_path or "", one.context))
        number = seen[key] = seen.get(key, -1) + 1
        hashed = sha256(f"{key}\0{number}".encode("utf-8", "surrogatepass")).hexdigest()
        made.append(replace(one, fingerprint=hashed[:24]))
    return made


def _order(one: Finding) -> tuple[str, int, int, str, str, int]:
    return one.path, one.line, one.column, one.rule.id, one.json_path or "", one.char_offset or 0


def without_content(findings: Iterable[Finding]) -> list[Finding]:
    """The same with a hash and a length instead of text, and no name that the input made up."""
    return [
        replace(
            one,
            excerpt=told_without_content(one.excerpt),
            message=one.plain_message or one.message,
            json_path=None if one.json_path is None else path_without_content(one.json_path),
        )
        for one in findings
    ]


def path_without_content(path: str) -> str:
    """A JSON path whose keys are those of the APIs and of JSON schema; others by their hash."""
    return _KEY.sub(
        lambda found: found[0] if found[0] in _PUBLIC_KEYS else f"#{_hashed(found[0])[:8]}", path
    )


def told_without_content(text: str) -> str:
    """A text by its hash and length."""
    return f"sha256:{_hashed(text)[:12]}, {len(text)} characters" if text else ""


def _hashed(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

"""What an application says in all its requests, letter by letter: no fix may touch it.

A uuid in a rule, the hour of a daily reset, "after turn 10" look as if they were stamped and are
not. Only what was seen to differ between requests moves: a line that all requests have stays, and
so does a value that all of them have within a line that changes otherwise.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from hitpath.canonical.slots import descriptions_of
from hitpath.doctor.diagnose import Finding, Requests
from hitpath.doctor.prompt import SYSTEM, Prompt
from hitpath.doctor.resolve import general_path
from hitpath.doctor.volatile_lines import volatile_in

_MOST_ROWS, _MOST_OF_ONE, _FEWEST_OF_ONE = 4_000, 96, 4
TOOLS = "tools"


@dataclass(frozen=True, slots=True)
class Constants:
    """Lines, and values within lines, that stay. once: lines that were never seen with another
    value in them, wherever they stand."""

    lines: frozenset[str]
    values: frozenset[str]
    once: frozenset[str]

    def keeps(self, text: str, start: int, stop: int, is_seen: bool) -> bool:
        """Whether these characters of a text stay. is_seen: something like them was seen to change,
        and not only looks as if it did."""
        if not is_seen and _line_of(text, start, stop) in self.once:
            return True
        return _line_of(text, start, stop) in self.lines or text[start:stop] in self.values


_Known = tuple[Sequence[Finding], dict[str, Constants]]
_known: "WeakKeyDictionary[Requests, _Known]" = WeakKeyDictionary()
"""Of the findings that were asked about last: each fix that is replayed asks again."""


def constants_of(findings: Sequence[Finding], requests: Requests) -> dict[str, Constants]:
    """By the general path of a text of the instructions; of all tools' descriptions together."""
    known = _known.get(requests)
    if known is not None and known[0] is findings:
        return known[1]
    made = _made(findings, requests)
    _known[requests] = findings, made
    return made


def _made(findings: Sequence[Finding], requests: Requests) -> dict[str, Constants]:
    rows: dict[int, list[int]] = defaultdict(list)
    for finding in findings:
        rows[finding.application].append(finding.row)
    most = min(max(_MOST_ROWS // max(len(rows), 1), _FEWEST_OF_ONE), _MOST_OF_ONE)
    lines: dict[str, _Counts] = defaultdict(_Counts)
    values: dict[str, _Counts] = defaultdict(_Counts)
    forms: dict[str, _Forms] = defaultdict(_Forms)
    for own in rows.values():
        told: dict[str, list[list[str]]] = defaultdict(list)
        for row in own[:: -(-len(own) // most)]:
            request = requests.of(row)
            if request is not None:
                for path, texts in _instructions(request.prompt).items():
                    told[path].append(texts)
        for path, all_texts in told.items():
            told_lines = [_lines_of(texts) for texts in all_texts]
            whole = set.intersection(*told_lines)
            lines[path].add(told_lines)
            values[path].add([_values_of(texts, whole) for texts in all_texts])
            forms[path].add(all_texts)
    return {
        path: Constants(lines[path].kept, values[path].kept, forms[path].once) for path in lines
    }


class _Forms:
    """Lines by what is left of them without the values that look as if they were stamped."""

    def __init__(self) -> None:
        self._lines: dict[str, set[str]] = defaultdict(set)

    def add(self, told: Sequence[Sequence[str]]) -> None:
        """One application's requests."""
        for texts in told:
            for text in texts:
                for line, form in _forms_of(text):
                    if len(self._lines[form]) < 2:
                        self._lines[form].add(line)

    @property
    def once(self) -> frozenset[str]:
        return frozenset(next(iter(its)) for its in self._lines.values() if len(its) == 1)


def _forms_of(text: str) -> Iterator[tuple[str, str]]:
    """(line, its form) of each line that has such a value."""
    by_line: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
    for one in volatile_in(text):
        begin = text.rfind("\n", 0, one.start) + 1
        line = _line_of(text, one.start, one.stop)
        by_line[begin, line].append((one.start - begin, one.stop - begin))
    for (_, line), spans in by_line.items():
        pieces, at = [], 0
        for start, stop in sorted(spans):
            if start >= at:
                pieces.append(line[at:start])
                at = stop
        yield line, "\0".join((*pieces, line[at:]))


class _Counts:
    """What all requests of some application have, and none of another has in some only."""

    def __init__(self) -> None:
        self._all: set[str] = set()
        self._some: set[str] = set()

    def add(self, told: Sequence[set[str]]) -> None:
        """One application's requests."""
        counts = Counter(one for its in told for one in its)
        for one, num in counts.items():
            (self._all if num == len(told) else self._some).add(one)

    @property
    def kept(self) -> frozenset[str]:
        return frozenset(self._all - self._some)


def _instructions(prompt: Prompt) -> dict[str, list[str]]:
    """Texts of the instructions by their general path."""
    found: dict[str, list[str]] = defaultdict(list)
    for part in prompt.parts:
        if part.segment == SYSTEM and part.form in ("string", "escaped"):
            found[general_path(part.path)].append(part.text)
    for number in prompt.tools:
        slots = descriptions_of(prompt.parts[number].value, TOOLS)
        found[TOOLS] += [slot.text for slot in slots]
    return found


def _lines_of(texts: Sequence[str]) -> set[str]:
    return {line for text in texts for line in text.split("\n")}


def _values_of(texts: Sequence[str], whole: set[str]) -> set[str]:
    """What looks as if it were stamped, in lines that are not the same in all requests: a value of
    a rule may equal one that moves."""
    return {
        text[one.start : one.stop]
        for text in texts
        for one in volatile_in(text)
        if _line_of(text, one.start, one.stop) not in whole
    }


def _line_of(text: str, start: int, stop: int) -> str:
    begin, end = text.rfind("\n", 0, start) + 1, text.find("\n", stop)
    return text[begin:] if end < 0 else text[begin:end]

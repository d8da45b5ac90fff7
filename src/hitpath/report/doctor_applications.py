"""The applications of a trace as reports show them: a number, the words that one begins with, and
what it lost."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hitpath.core import printable
from hitpath.doctor.defects import Defect
from hitpath.doctor.diagnose import Finding, Requests
from hitpath.doctor.diagnosis import Diagnosis
from hitpath.doctor.prompt import SYSTEM, Prompt

MOST_SHOWN = 100
_NAME_CHARS = 48
_OF_WORDS = ("string", "escaped")


@dataclass(frozen=True, slots=True)
class Application:
    """name: how its first prompt's instructions begin, "" where that is not known. lost:
    invalidated tokens; kinds: of them, by kind."""

    number: int
    name: str
    num_requests: int
    prompt_tokens: int
    lost: int
    kinds: Mapping[str, int]


def application_names(findings: Sequence[Finding], requests: Requests) -> dict[int, str]:
    """Of the MOST_SHOWN applications with the most requests."""
    counts = Counter(finding.application for finding in findings)
    wanted = {application for application, _ in counts.most_common(MOST_SHOWN)}
    names: dict[int, str] = {}
    for finding in findings:
        if finding.application in wanted and finding.application not in names:
            request = requests.of(finding.row)
            names[finding.application] = "" if request is None else _name(request.prompt)
    return names


def _name(prompt: Prompt) -> str:
    """The first words of the instructions, else of the prompt."""
    texts = [part for part in prompt.parts if part.text.strip() and part.form in _OF_WORDS]
    own = [part for part in texts if part.segment == SYSTEM] or texts
    words = " ".join(own[0].text[: 4 * _NAME_CHARS].split()) if own else ""
    return words if len(words) <= _NAME_CHARS else f"{words[: _NAME_CHARS - 1].rstrip()}…"


def applications_of(found: Diagnosis) -> list[Application]:
    """By their number of requests, MOST_SHOWN at most."""
    counts: Counter[int] = Counter()
    tokens: Counter[int] = Counter()
    lost: Counter[int] = Counter()
    for finding in found.findings:
        counts[finding.application] += 1
        tokens[finding.application] += int(found.trace.prompt_tokens[finding.row])
        lost[finding.application] += int(found.costs.lost[finding.row])
    return [
        Application(
            number,
            found.application_names.get(number, ""),
            count,
            tokens[number],
            lost[number],
            _kinds(found.defects, number),
        )
        for number, count in counts.most_common(MOST_SHOWN)
    ]


def _kinds(defects: Sequence[Defect], application: int) -> Counter[str]:
    kinds: Counter[str] = Counter()
    for defect in defects:
        if defect.application == application:
            kinds[defect.kind] += defect.tokens_invalidated
    return kinds


def application_words(found: Diagnosis, defect: Defect, content: bool) -> str:
    """Which application a defect is of, "" where there is one."""
    if len(found.application_names) < 2:
        return ""
    name = printable(found.application_names.get(defect.application, "")) if content else ""
    return f"application {defect.application}" + (f' ("{name}")' if name else "")

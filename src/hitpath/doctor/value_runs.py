"""What stood at one place in every request of an application, in order of arrival, as runs of one
value: an edit makes two or three long ones, a user's value or one that is drawn comes back.

A request in which nothing changed has what its relative has, unless the whole line of the value
came or went.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hitpath.doctor.diagnose import Finding
from hitpath.doctor.open_groups import Seen
from hitpath.doctor.relatives import NONE

_MOST_LOOKED_AT, _FEWEST_BACK, _LEAST_SPREAD = 4_000, 2, 0.3
_MOST_RUNS, _LEAST_RUN, _LEAST_SESSIONS = 3, 5, 2


@dataclass(slots=True)
class Run:
    """One value, requests and beginnings of sessions in a row that have it."""

    value: str
    num_requests: int = 0
    num_sessions: int = 0


def runs_of(seen: Sequence[Seen], findings: Sequence[Finding]) -> list[Run]:
    """In order; requests whose value is not known are left out."""
    application = findings[seen[0].finding].application
    place = min(one.told.start for one in seen)
    rows = [n for n, f in enumerate(findings[:_MOST_LOOKED_AT]) if f.application == application]
    changed = {one.finding for one in seen}
    words = _WORD.findall(seen[0].told.label)[-_LABEL_WORDS:]
    changed.update(n for n in rows if words and _comes_or_goes(findings[n], words))
    values = {findings[one.finding].relative: one.told.there for one in seen}
    values.update((one.finding, one.told.here) for one in seen)
    alike = [
        (n, findings[n].relative) for n in rows if n not in changed and _reaches(findings[n], place)
    ]
    for number, relative in reversed(alike):
        if number in values:
            values.setdefault(relative, values[number])
    for number, relative in alike:
        if relative in values:
            values.setdefault(number, values[relative])
    runs: list[Run] = []
    for number in rows:
        value = values.get(number, "")
        if not value:
            continue
        if not runs or runs[-1].value != value:
            runs.append(Run(value))
        runs[-1].num_requests += 1
        runs[-1].num_sessions += not findings[number].same_session
    return runs


def _reaches(finding: Finding, place: int) -> bool:
    """Whether a request was compared with its relative up to a place, a byte of the prompt."""
    new_at = finding.comparison.new_at
    return finding.relative != NONE and (new_at is None or new_at.start > place)


def _comes_or_goes(finding: Finding, words: Sequence[str]) -> bool:
    """Whether a text that holds these words is in one of the two prompts only."""
    changes = finding.comparison.changes
    texts = [one.here or one.there for one in changes if "" in (one.there, one.here)]
    return any(all(word in text for word in words) for text in texts)


_WORD, _LABEL_WORDS = re.compile(r"[^\W\d_]{2,}"), 2


def are_edits(runs: Sequence[Run], is_within: bool) -> bool:
    """Whether a value gave way to another for all, once or twice, and each stood for long.
    is_within: whether sessions show it too; else several begin with each value, for a user's is
    another in each."""
    if not 1 < len(runs) <= _MOST_RUNS or any(run.num_requests < _LEAST_RUN for run in runs):
        return False
    return is_within or all(run.num_sessions >= _LEAST_SESSIONS for run in runs)


def come_back(runs: Sequence[Run]) -> bool:
    """Whether a few values stand in many sessions, by turns: no request's own id does, and no edit,
    but for a while around it, while not all servers have it."""
    begun = [run for run in runs if run.num_sessions]
    gone, last, at = set[str](), "", 0
    back: list[int] = []
    for run in begun:
        if run.value != last and run.value in gone:
            back.append(at)
        if run.value != last:
            gone.add(last)
        last, at = run.value, at + run.num_sessions
    return len(back) >= _FEWEST_BACK and back[-1] - begun[0].num_sessions >= _LEAST_SPREAD * at


def are_many(runs: Sequence[Run]) -> bool:
    """Whether a value gives way to ever new ones, each of which stands for a short while."""
    num = sum(run.num_requests for run in runs)
    return len({run.value for run in runs}) > _MOST_RUNS and num < _LEAST_RUN * len(runs)

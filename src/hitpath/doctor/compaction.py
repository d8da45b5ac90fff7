"""What it costs to compact a history early or late, from the growth of this trace's sessions.

Each session's turns add what they added; where a history would grow beyond a share of the window it
gives way to a summary, and all behind the instructions is computed anew. Nothing is said of what a
summary forgets, nor of what broke in the trace: a session goes on where its last turn ended, and
begins with the instructions that its application's first session had computed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hitpath.doctor.diagnose import Finding
from hitpath.doctor.diagnosis import WhatIf
from hitpath.doctor.prompt import SYSTEM, TOOLS, Prompt
from hitpath.doctor.rows_read import Requests
from hitpath.traces.table import Trace

SHARES = (0.25, 0.5, 0.9)
SUMMARY_FRAC = 0.05
"""Of the window, what a summary takes."""
_LEAST_TURNS = 3


@dataclass(slots=True)
class _Session:
    """first: its first finding; lengths: of its prompts, in tokens, turn by turn."""

    first: Finding
    lengths: list[int] = field(default_factory=list)


def compaction_choices(
    trace: Trace, requests: Requests, findings: Sequence[Finding]
) -> list[WhatIf]:
    """The hit rate by the share of the window at which a history is compacted; the window is the
    longest prompt. Empty where no session grows."""
    sessions = _sessions(trace, findings)
    if not sessions:
        return []
    heads = _heads(trace, requests, sessions)
    known: set[int] = set()
    starts = []
    for session in sessions:
        starts.append(session.first.application in known)
        known.add(session.first.application)
    window = int(trace.prompt_tokens.max())
    found: list[WhatIf] = []
    latest = 0
    for share in reversed(SHARES):
        hit = prompt = 0
        for session, head, is_known in zip(sessions, heads, starts, strict=True):
            served = _served(session.lengths, head, is_known, share * window, SUMMARY_FRAC * window)
            hit, prompt = hit + served[0], prompt + served[1]
        computed = prompt - hit
        latest = latest or computed
        name = f"at {share:.0%} of {window:,}"
        found.append(WhatIf("compaction", name, hit / prompt if prompt else 0.0, latest - computed))
    return found[::-1]


def _sessions(trace: Trace, findings: Sequence[Finding]) -> list[_Session]:
    """Those of at least _LEAST_TURNS that grow, in the order in which they began."""
    thread: dict[int, int] = {}
    sessions: dict[int, _Session] = {}
    for finding in findings:
        row = finding.row
        joins = finding.same_session and finding.relative in thread
        thread[row] = thread[finding.relative] if joins else row
        session = sessions.setdefault(thread[row], _Session(finding))
        session.lengths.append(int(trace.prompt_tokens[row]))
    return [
        session
        for session in sessions.values()
        if len(session.lengths) >= _LEAST_TURNS and max(session.lengths) > session.lengths[0]
    ]


def _heads(trace: Trace, requests: Requests, sessions: Sequence[_Session]) -> list[int]:
    """Tokens of each session's instructions. Of ids alone, the most that a session of the same
    application began with as another had."""
    shared: dict[int, int] = {}
    for session in sessions:
        one = session.first
        shared[one.application] = max(shared.get(one.application, 0), one.common)
    heads: list[int] = []
    for session in sessions:
        row = session.first.row
        request = requests.of(row)
        found = None if request is None else _instructions(request.prompt)
        if request is None or found is None:
            heads.append(min(shared[session.first.application], session.lengths[0]))
        else:
            size = max(len(request.prompt.rendered), 1)
            heads.append(round(found * session.lengths[0] / size))
    return heads


def _instructions(prompt: Prompt) -> int | None:
    """Bytes before the first message that is no instruction; None where nothing tells."""
    if prompt.is_flat:
        return None
    for message in prompt.messages:
        if message.segment not in (SYSTEM, TOOLS):
            return prompt.starts[message.begin]
    return len(prompt.rendered)


def _served(
    lengths: Sequence[int], head: int, is_known: bool, most: float, summary: float
) -> tuple[int, int]:
    """(hit, prompt tokens) of a session whose history is compacted beyond `most`. is_known: whether
    its instructions were computed before it."""
    before = length = prompt = lengths[0]
    hit = head if is_known else 0
    for tokens in lengths[1:]:
        grown = max(tokens - before, 0)
        before = tokens
        kept = length
        length += grown
        if length > most and length - grown > head + summary:
            kept, length = head, int(head + summary) + grown
        hit, prompt = hit + min(kept, length), prompt + length
    return hit, prompt

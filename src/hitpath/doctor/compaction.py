"""What it costs to compact a history early or late, from the growth of this trace's sessions.

Each session's turns add what they added; where a history would grow beyond a share of the window it
gives way to a summary, and all behind the instructions is computed anew. Nothing is said of what a
summary forgets.
"""

from collections import defaultdict
from collections.abc import Sequence

from hitpath.doctor.diagnose import Finding
from hitpath.doctor.diagnosis import WhatIf
from hitpath.traces.table import Trace

SHARES = (0.25, 0.5, 0.9)
SUMMARY_FRAC = 0.05
"""Of the window, what a summary takes."""
_LEAST_TURNS = 3


def compaction_choices(trace: Trace, findings: Sequence[Finding]) -> list[WhatIf]:
    """The hit rate by the share of the window at which a history is compacted; the window is the
    longest prompt. Empty where no session grows."""
    sessions = _growths(trace, findings)
    if not sessions or not len(trace):
        return []
    window = int(trace.prompt_tokens.max())
    found: list[WhatIf] = []
    latest = 0
    for share in reversed(SHARES):
        hit = prompt = 0
        for turns in sessions:
            more_hit, more_prompt = _served(turns, share * window, SUMMARY_FRAC * window)
            hit, prompt = hit + more_hit, prompt + more_prompt
        computed = prompt - hit
        latest = latest or computed
        name = f"at {share:.0%} of {window:,}"
        found.append(WhatIf("compaction", name, hit / prompt if prompt else 0.0, latest - computed))
    return found[::-1]


def _growths(trace: Trace, findings: Sequence[Finding]) -> list[list[tuple[int, int]]]:
    """(length, what the relative had of it) of each turn, session by session."""
    thread: dict[int, int] = {}
    sessions: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for finding in findings:
        row = finding.row
        joins = finding.same_session and finding.relative in thread
        thread[row] = thread[finding.relative] if joins else row
        sessions[thread[row]].append((int(trace.prompt_tokens[row]), finding.common))
    return [turns for turns in sessions.values() if len(turns) >= _LEAST_TURNS]


def _served(turns: Sequence[tuple[int, int]], most: float, summary: float) -> tuple[int, int]:
    """(hit, prompt tokens) of a session whose history is compacted beyond `most`."""
    head = min(turns[0][1], turns[0][0])
    length = turns[0][0]
    hit, prompt = head, length
    before = turns[0][0]
    for tokens, _ in turns[1:]:
        grown = max(tokens - before, 0)
        before = tokens
        kept = length
        length += grown
        if length > most and length - grown > head + summary:
            kept, length = head, int(head + summary) + grown
        hit, prompt = hit + min(kept, length), prompt + length
    return hit, prompt

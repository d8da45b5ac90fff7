"""The scorer of the ranked list: each planted kind of each application stands in it, at a place
where it was planted, and nothing stands in it that its application does not have.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from doctor_planted.judging import MESSAGE_KINDS, Relatives, Score, is_exact
from doctor_planted.plain_diff import common, holds, rendered
from doctor_planted.traces import MixedTrace
from doctor_planted.truth import GLUE, NONE, Planted, Truth, truth_of

Expected = dict[tuple[str, str], list[Truth]]


def score_defects(trace: MixedTrace, defects: Sequence[dict[str, Any]]) -> Score:
    """A defect belongs to the application of its example. What is expected is what is true of some
    request and its usual relative, also where another defect stands before it in every prompt."""
    result, expected = Score(), _expected(trace)
    by_id = {request.id: request for request in trace.requests}
    named: dict[str, set[str]] = defaultdict(set)
    for defect in defects:
        new = by_id[str(defect["example"]["id"])]
        if _is_right(result, by_id, defect):
            named[new.app].add(str(defect["kind"]))
    for (app, kind), truths in expected.items():
        there = any(named[app] & true.accepted for true in truths)
        result.tallies[kind].found += there
        result.tallies[kind].missed += not there
        if not there:
            paths = sorted({true.place.path for true in truths if true.place})
            result.notes.append(f"{kind} of {app} at {paths[:3]} is not in the list")
    return result


def _expected(trace: MixedTrace) -> Expected:
    expected: Expected = defaultdict(list)
    for requests, only in [(trace.requests, ""), *((r, k) for (_, k), r in trace.behind.items())]:
        relatives = Relatives(requests)
        for new in requests:
            old = relatives.usual(new)
            true = None if old is None else truth_of(new, old)
            if (
                not true
                or not true.counts
                or not true.place
                or _is_a_tie(relatives, new, old, true)
            ):
                continue
            if true.kind and only in ("", true.kind):
                expected[new.app, true.kind].append(true)
    return dict(expected)


def _is_a_tie(relatives: Relatives, new: Planted, old: Planted | None, true: Truth) -> bool:
    """Whether messages are gone that an earlier request of the dialogue did not have yet, which is
    as near: nothing is lost by them, and with that one as the relative nothing is to be told."""
    if true.kind not in MESSAGE_KINDS or old is None:
        return False
    mine = rendered(new.body)
    shared = common(mine, rendered(old.body))
    return any(
        common(mine, rendered(other.body)) >= shared and truth_of(new, other).kind == NONE
        for other in relatives.allowed(new)
        if other.dialogue == new.dialogue and other is not old
    )


def _is_right(result: Score, by_id: dict[str, Planted], defect: dict[str, Any]) -> bool:
    """Whether its example shows what it says: a planted kind of the application, at its place."""
    kind, path, example = str(defect["kind"]), str(defect["json_path"]), defect["example"]
    new, old = by_id[str(example["id"])], by_id[str(example["relative_id"])]
    true = truth_of(new, old)
    if kind == "new_content" or (kind in true.accepted and true.kind == NONE):
        return False
    tally = result.tallies[true.kind if kind in true.accepted else kind]
    if kind in true.accepted and is_exact(new, old, defect, true):
        tally.placed += 1
        tally.exact += _is_first_token(new, old, defect, true)
        if not _is_first_token(new, old, defect, true):
            result.notes.append(f"{kind} of {new.app}: token {defect['token_offset']}")
        return True
    if not is_planted(new, old, kind, path, defect["char_offset"]):
        tally.false += 1
        result.notes.append(f"{kind} of {new.app} at {path} is in the list, and not planted there")
        return False
    tally.placed += 1
    place = true.place if kind in true.accepted else None
    is_later = place is None or path != place.path or defect["char_offset"] > place.offset + GLUE
    tally.exact += is_later
    if not is_later:
        result.notes.append(f"{kind} of {new.app}: {path} {defect['char_offset']}, {true.place}")
    return True


def _is_first_token(new: Planted, old: Planted, defect: dict[str, Any], true: Truth) -> bool:
    """Bytes that the two rendered prompts share, or those of the characters that they share. Not
    asked where messages were replaced (which one is told by the path) and of what is no text."""
    if true.kind in MESSAGE_KINDS or true.kind == "context_changed":
        return True
    text, other = rendered(new.body), rendered(old.body)
    whole = len(text[: common(text, other)].encode())
    return defect["token_offset"] in {whole, common(text.encode(), other.encode())}


def _unplanted(request: Planted, path: str, offset: int) -> tuple[int, int]:
    """(the offset in the text without what was planted before it, how many pieces that were)."""
    before = [span for span in request.spans if span.path == path and span.end <= offset]
    return offset - sum(span.end - span.start for span in before), len(before)


def is_planted(new: Planted, old: Planted, kind: str, path: str, offset: int) -> bool:
    """Whether two requests differ by this kind there, be it the first difference or a later one."""
    for span in new.spans:
        near = span.start - GLUE <= offset <= span.end + GLUE
        if kind in span.kinds and span.path == path and near:
            return True
    for span in old.spans:
        # The offset is one in the new text, where what stood before may be longer or gone.
        at, num_before = _unplanted(old, path, span.start)
        here, num_here = _unplanted(new, path, offset)
        near = abs(here - at) <= GLUE * (1 + num_before + num_here)
        if kind in span.kinds and span.path == path and near:
            return True
    states = {(owner.kinds, owner.path): owner.state for owner in old.owners}
    return any(
        kind in owner.kinds
        and (holds(owner.path, path) or holds(path, owner.path))
        and states.get((owner.kinds, owner.path), owner.state) != owner.state
        for owner in new.owners
    )

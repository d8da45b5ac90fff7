"""The scorer of several defects in one prompt: behind the first difference of two requests the
others that were planted in their instructions are named, and nothing else is.
"""

from collections.abc import Sequence
from typing import Any

from doctor_planted.judging import Fault, Relatives, Score
from doctor_planted.judging_list import is_planted
from doctor_planted.plain_diff import value_at
from doctor_planted.truth import Planted, in_dialogue, truth_of

Found = Sequence[dict[str, Any]]


def score_others(requests: Sequence[Planted], found: Found) -> Score:
    """found: the rows of `per_request`. Only requests whose first difference is named rightly and
    is a defect: what stands behind a wrong first answer is judged with it."""
    result, relatives = Score(), Relatives(requests)
    for row in found:
        new, old = relatives.by_id[str(row["id"])], relatives.by_id.get(str(row["relative_id"]))
        if old is None:
            continue
        true = truth_of(new, old)
        if row["kind"] not in true.accepted or not true.kind:
            continue
        result.rows += 1
        said = {str(other["kind"]) for other in row["others"]}
        for kinds in second_kinds(new, old):
            if not kinds & true.accepted:
                there = bool(said & kinds)
                tally = result.tallies[min(kinds)]
                tally.found += there
                tally.missed += not there
                if not there:
                    result.faults.append(Fault(f"{min(kinds)} behind it", new, old, row, true))
        for other in row["others"]:
            kind, path, offset = str(other["kind"]), str(other["json_path"]), other["char_offset"]
            if kind not in true.accepted and not is_planted(new, old, kind, path, offset):
                result.tallies[kind].false += 1
                result.faults.append(Fault(f"{kind} is not behind it", new, old, row, true))
    return result


def second_kinds(new: Planted, old: Planted) -> set[frozenset[str]]:
    """Kinds by which the instructions or tools of two requests surely differ, each with the names
    that are as right."""
    kinds = set()
    for span in new.spans:
        others = [other for other in old.spans if other.path == span.path]
        others = [other for other in others if other.kinds == span.kinds]
        same = [s for s in new.spans if s.path == span.path and s.kinds == span.kinds]
        if not in_dialogue(new, span.path) and len(others) == len(same) == 1:
            text, before = value_at(new.body, span.path), value_at(old.body, others[0].path)
            if text[span.start : span.end] != before[others[0].start : others[0].end]:
                kinds.add(frozenset(span.kinds))
    states = {(owner.kinds, owner.path): owner.state for owner in old.owners}
    for owner in new.owners:
        known = states.get((owner.kinds, owner.path), owner.state)
        same_there = value_at(new.body, owner.path) == value_at(old.body, owner.path)
        changed = owner.path.startswith("tools") and known != owner.state
        # Other numbers are equal to JSON's eye: 20 and 20.0.
        if changed and (not same_there or "number_format" in owner.kinds):
            kinds.add(frozenset(owner.kinds))
    return kinds

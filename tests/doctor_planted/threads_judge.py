"""`python -m doctor_planted.threads_judge --seed 1`: what happens between the turns of real agents,
planted in sessions, asked of `hitpath doctor` as a command, and judged.
"""

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from doctor_planted.judge import run_doctor, table
from doctor_planted.judging import Fault, Score
from doctor_planted.plain_diff import common, rendered
from doctor_planted.threads_forms import FORMS
from doctor_planted.threads_traces import Sent, make_traces
from doctor_planted.threads_truth import as_planted, placed_right, second_of, truth_of
from doctor_planted.truth import NONE

_NAMES_OF_NONE = (None, "", "new_content", "none")


def judged(sent: Sequence[Sent], told: dict[str, Any]) -> tuple[Score, Score]:
    """The scores of first differences, and of those behind a value in the instructions."""
    first, behind = Score(), Score()
    by_id = {request.id: request for request in sent}
    rows = {str(row["id"]): row for row in told["per_request"]}
    of_dialogue: dict[tuple[str, str], list[Sent]] = defaultdict(list)
    of_app: dict[tuple[str, bool], list[Sent]] = defaultdict(list)
    for new in sent:
        apps = of_app[new.step.app.name, new.is_helper]
        usual = [*apps, *of_dialogue[new.dialogue]][-1:]
        old = usual[0] if usual else None
        row = rows.get(new.id)
        first.rows += 1
        first.missing_rows += row is None
        if row is not None and row["relative_id"] is not None:
            named = by_id[str(row["relative_id"])]
            if named.step.app is not new.step.app:
                first.wrong_relatives += 1
            old = named if named.step.app is new.step.app else None
        apps.append(new)
        of_dialogue[new.dialogue].append(new)
        if row is not None and old is not None:
            _judge(first, behind, new, old, row)
        elif row is not None and row["kind"] not in _NAMES_OF_NONE:
            first.tallies[str(row["kind"])].false += 1
            first.faults.append(Fault("first of its application", as_planted(new), None, row, None))
    return first, behind


def _judge(first: Score, behind: Score, new: Sent, old: Sent, row: dict[str, Any]) -> None:
    true = truth_of(new, old)
    kind = NONE if row["kind"] in _NAMES_OF_NONE else str(row["kind"])
    fault = Fault("kind", as_planted(new), as_planted(old), row, true)
    if kind not in true.accepted:
        if true.kind != NONE and true.counts:
            first.tallies[true.kind].missed += 1
        if kind != NONE:
            first.tallies[kind].false += 1
        first.faults.append(fault)
    elif kind != NONE and true.kind != NONE:
        tally = first.tallies[kind]
        tally.found += true.counts
        tally.idle += not true.counts
        tally.placed += 1
        tally.exact += placed_right(new, old, row, kind, true)
        if not placed_right(new, old, row, kind, true):
            fault.what = "place"
            first.faults.append(fault)
    is_plain = "input" not in new.body and new.step.context == old.step.context
    if row["relative_id"] is not None and is_plain:
        both = [rendered(request.body).encode() for request in (new, old)]
        first.wrong_common += row["common_tokens"] != common(*both)
    _judge_second(behind, new, old, row)


def _judge_second(behind: Score, new: Sent, old: Sent, row: dict[str, Any]) -> None:
    second = second_of(new, old, truth_of(new, old))
    if second is None or new.form is None:
        return
    behind.rows += 1
    others = {str(other["kind"]) for other in row["others"]}
    for kind in others - second.allowed - {"new_content"}:
        behind.tallies[kind].false += 1
        what = f"{kind} is not behind it"
        behind.faults.append(Fault(what, as_planted(new), as_planted(old), row, None))
    if second.is_due and row["kind"] == new.value_kind:
        there = bool(others & set(new.form.kinds))
        behind.tallies[new.form.kinds[0]].found += there
        behind.tallies[new.form.kinds[0]].missed += not there
        if not there:
            what = f"{new.form.name} behind it"
            behind.faults.append(Fault(what, as_planted(new), as_planted(old), row, None))


def main() -> None:
    parser = argparse.ArgumentParser(prog="doctor_planted.threads_judge")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--n", type=int, default=1, help="seeds from the first on")
    parser.add_argument("--only", default="", help=f"forms, of {', '.join(FORMS)}")
    parser.add_argument("--show", type=int, default=0, help="wrong answers to print")
    parser.add_argument("--keep", type=Path, help="a folder for the traces")
    options = parser.parse_args()
    only = tuple(name for name in options.only.split(",") if name)
    first, behind = Score(), Score()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for seed in range(options.seed, options.seed + options.n):
            for number, (sent, lines) in enumerate(make_traces(seed, only)):
                path = folder / f"threads-{seed}-{number}.jsonl"
                path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
                for total, one in zip(
                    (first, behind), judged(sent, run_doctor(path, folder)), strict=True
                ):
                    total.add(one)
    for fault in (first.faults + behind.faults)[: options.show]:
        print(f"--- {fault.what}: {fault.new.app} {fault.new.id}\nsaid: {fault.said}")
        print(f"true: {fault.true}")
    print(table(first))
    print("\nBehind a value in the instructions")
    print(table(behind))


if __name__ == "__main__":
    main()

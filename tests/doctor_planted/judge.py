"""`python -m doctor_planted.judge --seed 1 --kind clock --n 5`: plants, asks, prints a table.

Runs `hitpath doctor` as a process of its own, so that nothing but its documented output counts.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from doctor_planted.form_sets import SETS
from doctor_planted.judging import Fault, Score, score
from doctor_planted.judging_list import score_defects
from doctor_planted.judging_several import score_others
from doctor_planted.plain_diff import value_at
from doctor_planted.token_traces import (
    KINDS,
    TokenTrace,
    make_token_trace,
    score_tokens,
    write_tokenizer,
)
from doctor_planted.traces import PLANTERS, MixedTrace, make_trace

ROOT = Path(__file__).resolve().parents[2]
GROUPS = ["+".join(list(PLANTERS)[i::4]) for i in range(4)]
"""Kinds that stand in one trace, so that the command starts four times and not twenty-one."""
COMMAND = (sys.executable, "-m", "hitpath", "doctor")


def run_doctor(trace: Path, folder: Path, *more: str) -> dict[str, Any]:
    """The JSON that the command writes into the folder, with a row a request."""
    out = folder / f"{trace.stem}.doctor.json"
    command = [*COMMAND, str(trace), "--json", str(out), "--rows", *more]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\nexit code {done.returncode}\n{done.stderr}")
    told: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return told


def judged(trace: MixedTrace, folder: Path, name: str, *more: str) -> tuple[Score, Score, Score]:
    """One trace, asked once: the score of its requests, of the ranked list, and of the defects
    behind another in one prompt."""
    told = run_doctor(trace.write(folder / f"{name}.jsonl"), folder, *more)
    rows = told["per_request"]
    return (
        score(trace.requests, rows),
        score_defects(trace, told["defects"]),
        score_others(trace.requests, rows),
    )


def judged_tokens(trace: TokenTrace, folder: Path, name: str) -> Score:
    """A trace of one of the kinds that only token ids show."""
    tokenizer = write_tokenizer(folder)
    told = run_doctor(trace.write(folder / f"{name}.jsonl"), folder, "--tokenizer", str(tokenizer))
    return score_tokens(trace, told["per_request"])


def table(total: Score) -> str:
    """A line a kind."""
    lines = [
        f"{'kind':<20}{'found':>7}{'idle':>7}{'missed':>7}{'false':>7}{'prec':>8}{'recall':>8}{'exact':>8}"
    ]
    for kind in sorted(total.tallies):
        tally = total.tallies[kind]
        figures = "".join(
            f"{'-' if value is None else format(value, '.4f'):>8}"
            for value in (tally.precision, tally.recall, tally.exact_frac)
        )
        counts = (tally.found, tally.idle, tally.missed, tally.false)
        lines.append(f"{kind:<20}{''.join(f'{n:>7}' for n in counts)}{figures}")
    lines.append(
        f"{total.rows} requests, {total.missing_rows} without a row, "
        f"{total.wrong_relatives} with a relative that is none, {total.wrong_common} wrong counts"
    )
    return "\n".join(lines)


def told(fault: Fault) -> str:
    """A wrong answer in a few lines."""
    lines = [f"--- {fault.what}: {fault.new.app}, request {fault.new.id} "
             f"against {fault.old.id if fault.old else None}"]  # fmt: skip
    lines.append(f"said: {json.dumps(fault.said, ensure_ascii=False)}")
    if fault.true is not None:
        kind = fault.true.kind or "no defect"
        lines.append(f"true: {kind} {sorted(fault.true.accepted)} {fault.true.place}")
    if fault.old is not None and fault.true is not None and fault.true.place is not None:
        place = fault.true.place
        for name, side in (("old", fault.old), ("new", fault.new)):
            value = value_at(side.body, place.path)
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            lines.append(f"{name}: {text[max(0, place.offset - 40) : place.offset + 60]!r}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="doctor_planted.judge")
    parser.add_argument("--seed", type=int, default=0)
    names = ", ".join([*PLANTERS, *KINDS])
    parser.add_argument("--kind", default="all", help=f"all, grouped, none, or of {names}")
    parser.add_argument("--n", type=int, default=2, help="traces a kind")
    parser.add_argument("--forms", default="usual", choices=SETS, help="the set of surface forms")
    parser.add_argument("--apps", type=int, default=8, help="applications a trace, at most 18")
    parser.add_argument("--show", type=int, default=0, help="wrong answers to print, a kind")
    parser.add_argument("--keep", type=Path, help="a folder for the traces")
    options = parser.parse_args()
    many = {"all": [*PLANTERS, *KINDS], "grouped": [*GROUPS, *KINDS]}
    kinds = many.get(options.kind, options.kind.split(","))
    tokens = SETS[options.forms].tokens
    total, listed, behind = Score(), Score(), Score()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for kind in kinds:
            one = Score()
            for seed in range(options.seed, options.seed + options.n):
                name = f"{kind}-{seed}"
                if kind in KINDS:
                    one.add(judged_tokens(make_token_trace(seed, kind, forms=tokens), folder, name))
                    continue
                trace = make_trace(seed, kind, options.apps, forms=options.forms)
                by_request, by_defect, others = judged(trace, folder, name)
                one.add(by_request)
                listed.add(by_defect)
                behind.add(others)
            for fault in one.faults[: options.show]:
                print(told(fault))
            total.add(one)
    print(table(total))
    print("\nThe ranked list: planted kinds of an application found in it")
    print(table(listed))
    for note in listed.notes[: options.show * len(kinds)]:
        print(note)
    print("\nSecond defects of a prompt")
    print(table(behind))


if __name__ == "__main__":
    main()

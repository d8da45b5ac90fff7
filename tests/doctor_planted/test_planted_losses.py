"""What planted defects cost, and what mending them gives: exact to the token against a slow oracle
(losses.py) that compares every prompt with every earlier one and knows what was planted where.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from doctor_planted.judge import ROOT, run_doctor
from doctor_planted.loss_traces import (
    CANONICAL,
    CUTS,
    FORMS,
    ORDERS,
    VALUES,
    LossTrace,
    make_loss_trace,
)
from doctor_planted.losses import (
    Places,
    Prompt,
    by_kind,
    common,
    cut_prompt,
    diverged,
    hits,
    lost_to,
    marked_prompt,
)
from doctor_planted.marks import mark
from doctor_planted.plain_diff import rendered

pytestmark = pytest.mark.long

ALONE = (*VALUES, *FORMS, *ORDERS, *CUTS)
PAIRS = (
    "clock+request_id", "hidden_characters+clock", "request_id+per_user_field",
    "white_space+unicode_form", "counter+hidden_characters",
)  # fmt: skip
GROUPS = {"alone": (ALONE, 11), "pairs": (PAIRS, 13)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("losses")


@lru_cache(maxsize=len(GROUPS))
def asked(name: str, folder: Path) -> tuple[LossTrace, dict[str, Any], list[Places]]:
    """A trace, what the command says of it, and the bytes that each request lost."""
    trace = make_loss_trace(*GROUPS[name])
    number = list(GROUPS).index(name)
    path = trace.write(folder / f"{number}.jsonl")
    told = run_doctor(path, folder, "--fix", str(folder / f"{number}.fixed.jsonl"))
    by_id = {prompt.id: prompt for prompt in trace.prompts}
    lost = []
    for i, (new, row) in enumerate(zip(trace.prompts, told["per_request"], strict=True)):
        assert row["id"] == new.id
        relative, earlier = by_id.get(row["relative_id"]), trace.prompts[:i]
        places = np.array([], dtype=int) if relative is None else lost_to(new, relative, earlier)
        if set(trace.planted[i].split("+")) <= CANONICAL:
            places = np.union1d(places, diverged(new, earlier))
        lost.append(places)
    return trace, told, lost


@pytest.mark.parametrize("name", GROUPS)
def test_every_request_loses_what_the_oracle_says(name: str, folder: Path) -> None:
    trace, told, lost = asked(name, folder)
    seen: Counter[str] = Counter()
    for planted, row, places in zip(trace.planted, told["per_request"], lost, strict=True):
        want = len(places)
        assert row["tokens_invalidated"] == want, (planted, row)
        seen[planted] += want
    assert all(seen[planted] > 0 for planted in GROUPS[name][0]), seen


@pytest.mark.parametrize("name", GROUPS)
def test_defects_and_the_rest_add_up(name: str, folder: Path) -> None:
    trace, told, lost = asked(name, folder)
    of_defects = sum(defect["tokens_invalidated"] for defect in told["defects"])
    assert told["prompt_tokens"] == sum(len(prompt.text) for prompt in trace.prompts)
    assert told["invalidated_tokens"] == sum(map(len, lost))
    assert told["invalidated_tokens"] == sum(r["tokens_invalidated"] for r in told["per_request"])
    assert told["invalidated_tokens"] == of_defects + told["unattributed_tokens"]


@pytest.mark.parametrize("kind", [*VALUES, *FORMS, *ORDERS])
def test_a_single_defect_has_all_its_application_lost(kind: str, folder: Path) -> None:
    trace, told, lost = asked("alone", folder)
    here = [i for i, planted in enumerate(trace.planted) if planted == kind]
    defects = of_application(trace, told, kind)
    assert {defect["kind"] for defect in defects} == {kind}
    found, want = sum(d["tokens_invalidated"] for d in defects), sum(len(lost[i]) for i in here)
    assert found == want


@pytest.mark.parametrize("kind", [*VALUES, *FORMS])
def test_tokens_changed_are_those_of_the_value(kind: str, folder: Path) -> None:
    """A value is what changed, as a whole, in each request whose relative has another."""
    trace, told, _ = asked("alone", folder)
    by_id = {prompt.id: prompt for prompt in trace.prompts}
    want, num_requests = 0, 0
    for new, planted, row in zip(trace.prompts, trace.planted, told["per_request"], strict=True):
        relative = by_id.get(row["relative_id"])
        if planted == kind and relative is not None:
            other = new.marks[0].text != relative.marks[0].text
            want += other * len(new.marks[0].text)
            num_requests += other
    defects = of_application(trace, told, kind)
    assert sum(defect["tokens_changed"] for defect in defects) == want
    assert sum(defect["num_requests"] for defect in defects) == num_requests


def test_each_of_two_defects_has_the_tokens_behind_it(folder: Path) -> None:
    trace, told, lost = asked("pairs", folder)
    by_id = {prompt.id: prompt for prompt in trace.prompts}
    pair = "clock+request_id"
    want: Counter[str] = Counter()
    for i, row in enumerate(told["per_request"]):
        relative = by_id.get(row["relative_id"])
        if trace.planted[i] == pair and relative is not None:
            want.update(by_kind(trace.prompts[i], relative, lost[i]))
    found: Counter[str] = Counter()
    for defect in of_application(trace, told, pair):
        found[defect["kind"]] += defect["tokens_invalidated"]
    assert found == want
    assert set(found) == {"clock", "request_id"}


def of_application(trace: LossTrace, told: dict[str, Any], planted: str) -> list[dict[str, Any]]:
    kinds = {p.id: kinds for p, kinds in zip(trace.prompts, trace.planted, strict=True)}
    return [d for d in told["defects"] if kinds[d["example"]["id"]] == planted]


def test_rung_seven_of_analyze_is_what_the_oracle_says(folder: Path) -> None:
    """The label `diverged`, request by request, for kinds that the canonical form knows."""
    trace, _, _ = asked("alone", folder)
    out = folder / "rows.jsonl"
    command = [sys.executable, "-m", "hitpath", "analyze", str(folder / "0.jsonl"), "--canonical"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    subprocess.run([*command, "--per-request", str(out)], check=True, capture_output=True,
                   env=environment, timeout=120)  # fmt: skip
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    total = 0
    for i, (new, row) in enumerate(zip(trace.prompts, rows, strict=True)):
        assert row["id"] == new.id
        if trace.planted[i] in CANONICAL:
            want = len(diverged(new, trace.prompts[:i]))
            assert row["causes"]["diverged"] == want, (trace.planted[i], row)
            total += want
    assert total > 100_000


@pytest.mark.parametrize("name", GROUPS)
def test_the_gain_is_that_of_the_written_trace(name: str, folder: Path) -> None:
    """Both traces through a brute-force cache: tokens to compute before, less those after."""
    trace, told, _ = asked(name, folder)
    fixed = folder / f"{list(GROUPS).index(name)}.fixed.jsonl"
    rows = [json.loads(line) for line in fixed.read_text(encoding="utf-8").splitlines()]
    after = [marked_prompt("", (), rendered(row)) for row in rows]
    before = [marked_prompt("", (), rendered(row)) for row in trace.rows]
    together = told["fixes"][-1]
    assert (together["prompt_tokens"], together["hit_tokens"]) == (size(after), hits(after))
    assert told["hit_rate"]["before"] == pytest.approx(hits(before) / size(before), abs=1e-12)
    assert told["hit_rate"]["after"] == pytest.approx(hits(after) / size(after), abs=1e-12)
    saved = size(before) - hits(before) - (size(after) - hits(after))
    assert together["gain_tokens"] == saved


@pytest.mark.parametrize("kind", ["tool_order", "hidden_characters", "white_space"])
def test_the_gain_of_an_exact_cure_is_that_of_the_clean_trace(kind: str, folder: Path) -> None:
    """Nothing else is planted, and the cure is known: tools by name, or what was put in is gone."""
    trace = make_loss_trace((kind,), 14)
    told = run_doctor(trace.write(folder / f"{kind}.jsonl"), folder)
    clean = [marked_prompt("", (), bytes(prompt.clean).decode()) for prompt in trace.prompts]
    if kind == "tool_order":
        bodies = [{**b, "tools": sorted(b["tools"], key=name_of_tool)} for b in trace.bodies]
        clean = [marked_prompt("", (), rendered(body)) for body in bodies]
    to_compute = size(trace.prompts) - hits(trace.prompts)
    (fix,) = told["fixes"][:-1]
    assert (fix["prompt_tokens"], fix["hit_tokens"]) == (size(clean), hits(clean))
    assert fix["gain_tokens"] == to_compute - (size(clean) - hits(clean)) > 0
    assert {defect["gain_tokens"] for defect in told["defects"]} == {fix["gain_tokens"]}


def name_of_tool(tool: dict[str, Any]) -> str:
    return str(tool.get("function", tool)["name"])


def size(prompts: Sequence[Prompt]) -> int:
    return sum(len(prompt.text) for prompt in prompts)


def test_the_oracle_itself_on_prompts_worked_out_by_hand() -> None:
    """a: 4 shared bytes, a value, 6 behind it. b: another value, the same 6, 2 new ones."""
    a = marked_prompt("a", (), f"abcd{mark('clock', '10')}efghij")
    b = marked_prompt("b", (), f"abcd{mark('clock', '12')}efghijkl")
    assert bytes(b.text) == b"abcd12efghijkl"
    assert list(b.image) == [0, 1, 2, 3, -1, -1, 4, 5, 6, 7, 8, 9, 10, 11]
    assert common(a.text, b.text) == 5
    assert list(diverged(b, [a])) == list(lost_to(b, a, [a])) == [6, 7, 8, 9, 10, 11]
    assert by_kind(b, a, lost_to(b, a, [a])) == {"clock": 6}
    c = marked_prompt("c", (("model", "n"),), bytes(b.text).decode())
    assert list(diverged(c, [a, b])) == []
    cut = cut_prompt("d", (), [("ab", True, True), ("S", True, False), ("cd", False, True),
                               ("efghij", True, True)])  # fmt: skip
    assert bytes(cut.text) == b"abSefghij"
    assert list(lost_to(cut, a, [a])) == [3, 4, 5, 6, 7, 8]
    long = [marked_prompt("", (), "x" * 40 + tail) for tail in ("", "y", "")]
    assert hits(long) == 0 + 32 + 32

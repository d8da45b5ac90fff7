"""`hitpath doctor` against prompts with planted defects: precision and recall of each kind, exact
locations, several defects in one prompt, traffic that has none.
"""

from pathlib import Path

import pytest

from doctor_planted.bases import TAU
from doctor_planted.judge import NoSuchCommand, judged, judged_tokens, run_doctor, table, told
from doctor_planted.judging import Score
from doctor_planted.token_traces import KINDS, make_token_trace
from doctor_planted.traces import PLANTERS, make_trace
from support import shared_data

LEAST = 0.98
GROUPS = ["+".join(list(PLANTERS)[i::4]) for i in range(4)]
"""Kinds that stand in one trace, so that the command starts four times and not twenty-one."""


def check(result: Score) -> None:
    """Each kind by itself, and every location."""
    shown = "\n".join(told(fault) for fault in result.faults[:12])
    report = "\n".join([table(result), shown, *result.notes[:12]])
    assert result.wrong_relatives == 0, report
    assert result.wrong_common == 0, report
    for tally in result.tallies.values():
        assert tally.precision is not None, report
        assert tally.precision >= LEAST, report
        assert tally.recall is not None, report
        assert tally.recall >= LEAST, report
        assert tally.exact == tally.placed, report


@pytest.mark.parametrize(("group", "seed"), zip(GROUPS, (101, 202, 303, 404), strict=True))
def test_planted_kinds_are_named_and_located(group: str, seed: int, tmp_path: Path) -> None:
    trace = make_trace(seed, group, num_apps=16)
    try:
        by_request, by_defect = judged(trace, tmp_path, "planted")
    except NoSuchCommand:
        pytest.skip("hitpath has no command doctor yet")
    check(by_request)
    assert set(group.split("+")) <= set(by_request.tallies)
    check(by_defect)


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_that_only_token_ids_show(kind: str, tmp_path: Path) -> None:
    try:
        result = judged_tokens(make_token_trace(303, kind), tmp_path, kind)
    except NoSuchCommand:
        pytest.skip("hitpath has no command doctor yet")
    check(result)
    assert kind in result.tallies


def test_clean_traffic_has_no_defect(tmp_path: Path) -> None:
    """Changing questions, dates and ids in the user's own text, new documents, new sessions."""
    try:
        by_request, by_defect = judged(make_trace(1, "none", num_apps=12), tmp_path, "clean")
    except NoSuchCommand:
        pytest.skip("hitpath has no command doctor yet")
    check(by_request)
    assert not by_request.tallies
    assert not by_defect.tallies, by_defect.notes


def test_the_real_agent_is_clean() -> None:
    """All kinds but new content and edits together stay below 0.1 % of its tokens."""
    shared_data("tau_bench")
    try:
        told_of_it = run_doctor(TAU)
    except NoSuchCommand:
        pytest.skip("hitpath has no command doctor yet")
    harmless = ("new_content", "edited_message")
    lost = sum(d["tokens_invalidated"] for d in told_of_it["defects"] if d["kind"] not in harmless)
    assert lost < 0.001 * told_of_it["prompt_tokens"]

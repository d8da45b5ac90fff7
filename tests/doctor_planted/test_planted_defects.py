"""`hitpath doctor` against prompts with planted defects: precision and recall of each kind, exact
locations, several defects in one prompt, traffic that has none.
"""

from pathlib import Path

import pytest

from doctor_planted.bases import TAU
from doctor_planted.judge import judged, judged_tokens, run_doctor, table, told
from doctor_planted.judging import Score
from doctor_planted.token_traces import KINDS, make_token_trace
from doctor_planted.traces import PLANTERS, make_trace
from support import shared_data

LEAST = 0.98
GROUPS = ["+".join(list(PLANTERS)[i::4]) for i in range(4)]
"""Kinds that stand in one trace, so that the command starts four times and not twenty-one."""


NOT_YET: dict[int, dict[str, dict[str, tuple[int, int]]]] = {
    101: {
        "requests": {"edited_message": (0, 1)},
        "list": {"compacted_history": (1, 0), "edited_message": (0, 1), "per_user_field": (0, 1)},
    },
    202: {
        "requests": {"edited_message": (0, 1)},
        "list": {
            "compacted_history": (0, 1),
            "edited_message": (0, 1),
            "truncated_history": (1, 0),
        },
    },
    303: {
        "requests": {"attribution": (0, 4), "request_id": (8, 0), "white_space": (0, 4)},
        "list": {"attribution": (0, 1), "white_space": (0, 1)},
    },
    404: {
        "requests": {
            "edited_message": (0, 4),
            "moved_block": (0, 1),
            "truncated_history": (5, 0),
        },
        "list": {
            "compacted_history": (0, 2),
            "context_changed": (1, 0),
            "edited_message": (0, 1),
            "moved_block": (0, 1),
            "truncated_history": (1, 0),
        },
    },
}
"""By seed: what misses the goal of LEAST, as the most (missed, false) that there may be.
These may only fall."""
WRONG_RELATIVES = {202: 1}


def check(result: Score, seed: int | None = None, of: str = "requests") -> None:
    """Each kind by itself, and every location. Kinds of NOT_YET by what is known of them."""
    not_yet = {} if seed is None else NOT_YET[seed][of]
    shown = "\n".join(told(fault) for fault in result.faults[:12])
    report = "\n".join([table(result), shown, *result.notes[:12]])
    assert result.wrong_relatives <= WRONG_RELATIVES.get(seed or 0, 0), report
    assert result.wrong_common == 0, report
    for kind, tally in result.tallies.items():
        assert tally.exact == tally.placed, report
        if kind in not_yet:
            assert tally.missed <= not_yet[kind][0], report
            assert tally.false <= not_yet[kind][1], report
            continue
        assert tally.precision is not None, report
        assert tally.precision >= LEAST, report
        assert tally.recall is not None, report
        assert tally.recall >= LEAST, report


@pytest.mark.parametrize(("group", "seed"), list(zip(GROUPS, (101, 202, 303, 404), strict=True)))
def test_planted_kinds_are_named_and_located(group: str, seed: int, tmp_path: Path) -> None:
    trace = make_trace(seed, group, num_apps=16)
    by_request, by_defect = judged(trace, tmp_path, "planted")
    check(by_request, seed)
    assert set(group.split("+")) <= set(by_request.tallies)
    check(by_defect, seed, "list")


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_that_only_token_ids_show(kind: str, tmp_path: Path) -> None:
    result = judged_tokens(make_token_trace(303, kind), tmp_path, kind)
    check(result)
    assert kind in result.tallies


def test_clean_traffic_has_no_defect(tmp_path: Path) -> None:
    """Changing questions, dates and ids in the user's own text, new documents, new sessions."""
    by_request, by_defect = judged(make_trace(1, "none", num_apps=12), tmp_path, "clean")
    check(by_request)
    assert not by_request.tallies
    assert not by_defect.tallies, by_defect.notes


def test_the_real_agent_is_clean(tmp_path: Path) -> None:
    """All kinds but new content and edits together stay below 0.1 % of its tokens."""
    shared_data("tau_bench")
    told_of_it = run_doctor(TAU, tmp_path)
    harmless = ("new_content", "edited_message")
    lost = sum(d["tokens_invalidated"] for d in told_of_it["defects"] if d["kind"] not in harmless)
    assert lost < 0.001 * told_of_it["prompt_tokens"]

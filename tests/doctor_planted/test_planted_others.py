"""`hitpath doctor` where the traces are not the judge's usual ones: kinds that only token ids show,
traffic without any defect, the real agent as it is and with planted defects.
"""

from pathlib import Path

import pytest

from doctor_planted.bases import TAU
from doctor_planted.judge import judged, judged_tokens, run_doctor
from doctor_planted.test_planted_defects import check
from doctor_planted.token_traces import KINDS, make_token_trace
from doctor_planted.traces import make_real_trace, make_trace
from support import shared_data

pytestmark = pytest.mark.long


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_that_only_token_ids_show(kind: str, tmp_path: Path) -> None:
    result = judged_tokens(make_token_trace(303, kind), tmp_path, kind)
    check(result)
    assert kind in result.tallies


def test_clean_traffic_has_no_defect(tmp_path: Path) -> None:
    """Changing questions, dates and ids in the user's own text, new documents, new sessions."""
    by_request, by_defect, behind = judged(make_trace(1, "none", num_apps=12), tmp_path, "clean")
    check(by_request)
    assert not by_request.tallies
    assert not behind.tallies
    assert not by_defect.tallies, by_defect.notes


def test_the_real_agent_is_clean(tmp_path: Path) -> None:
    """All kinds but new content and edits together stay below 0.1 % of its tokens."""
    shared_data("tau_bench")
    told_of_it = run_doctor(TAU, tmp_path)
    harmless = ("new_content", "edited_message")
    lost = sum(d["tokens_invalidated"] for d in told_of_it["defects"] if d["kind"] not in harmless)
    assert lost < 0.001 * told_of_it["prompt_tokens"]


@pytest.mark.parametrize("kind", ["clock", "tool_order", "white_space", "truncated_history"])
def test_the_real_agent_with_planted_defects(kind: str, tmp_path: Path) -> None:
    shared_data("tau_bench")
    trace = make_real_trace(1, kind, num_sessions=5)
    by_request, by_defect, behind = judged(trace, tmp_path, "planted")
    assert by_request.tallies[kind].found >= 5
    for result in (by_request, by_defect, behind):
        check(result)
        assert set(result.tallies) <= {kind}

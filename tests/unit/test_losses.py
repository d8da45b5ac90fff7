"""Turns that lost the cache, against a plain loop over rows."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitpath.core import Setting
from hitpath.spine import analyze
from hitpath.summary.losses import MOST_LISTED, LostTurns, lost_turns
from hitpath.traces import Trace
from support import trace_of_rows


def row_of(number: int, session: str | None, prompt: int, hit: int | None, **more: Any) -> dict:
    row = {"id": f"r{number}", "arrival_s": 60 * number, "prompt_tokens": prompt, **more}
    row["reported"] = {"cached_tokens": hit}
    return row if session is None else {**row, "session": session}


def by_hand(rows: list[dict]) -> tuple[int, int, dict[str, tuple]]:
    """(judged, shortened, id -> (gap, previous prompt, lost)): one row after the other."""
    last: dict[str, dict] = {}
    judged = shortened = 0
    lost = {}
    for row in sorted(rows, key=lambda row: row["arrival_s"]):
        hit, prompt = row["reported"]["cached_tokens"], row["prompt_tokens"]
        if hit is not None and hit > prompt:
            continue
        session = row.get("session")
        before = last.get(session) if session is not None else None
        if session is not None:
            last[session] = row
        if before is None or hit is None or before["prompt_tokens"] < 1024:
            continue
        if prompt < before["prompt_tokens"] / 2:
            shortened += 1
            continue
        judged += 1
        can_share = min(prompt, before["prompt_tokens"])
        if hit < can_share / 2:
            gap_s = row["arrival_s"] - before["arrival_s"]
            lost[row["id"]] = (gap_s, before["prompt_tokens"], can_share - hit)
    return judged, shortened, lost


LENGTHS = st.sampled_from([0, 500, 1023, 1024, 1025, 2047, 2048, 2049, 4000, 9000])


@given(
    st.lists(
        st.tuples(
            st.none() | st.sampled_from("ab"),
            LENGTHS,
            st.none() | LENGTHS,
            st.sampled_from([0, 1, 300, 301, 3600, 3601]),
        ),
        min_size=1,
        max_size=40,
    )
)
def test_against_a_loop(tmp_path_factory: pytest.TempPathFactory, told: list[tuple]) -> None:
    rows, now = [], 0
    for i, (session, prompt, hit, wait_s) in enumerate(told):
        now += wait_s
        rows.append(row_of(i, session, prompt, hit) | {"arrival_s": now})
    found = lost_turns(trace_of_rows(tmp_path_factory.mktemp("t"), rows))
    judged, shortened, lost = by_hand(rows)
    assert (found is None) == (judged + shortened == 0)
    if found is None:
        return
    assert (found.num_judged, found.num_shortened, found.num_lost) == (
        judged,
        shortened,
        len(lost),
    )
    listed = {t.id: (t.gap_s, t.previous_prompt_tokens, t.lost_tokens) for t in found.turns}
    assert listed == lost
    assert found.lost_tokens == sum(tokens for *_, tokens in lost.values())
    waits = [gap_s for gap_s, *_ in lost.values()]
    assert found.num_after == tuple(sum(w > limit for w in waits) for limit in (300, 3600))
    sizes = [turn.lost_tokens for turn in found.turns]
    assert sizes == sorted(sizes, reverse=True)


def found_in(trace: Trace) -> LostTurns:
    found = lost_turns(trace)
    assert found is not None
    return found


def test_what_is_told_of_a_turn(tmp_path) -> None:
    rows = [
        row_of(0, "s", 2000, 0, model="a", turn=7),
        row_of(1, "s", 3000, 1000, model="b", turn=8),  # half of 2,000: kept
        row_of(2, "s", 4000, 1499, model="a", turn=9),
        row_of(3, "s", 1900, 0, model="a"),  # cut
    ]
    found = found_in(trace_of_rows(tmp_path, rows))
    assert (found.num_judged, found.num_shortened, found.num_other_model) == (2, 1, 1)
    [turn] = found.turns
    assert (turn.id, turn.session, turn.turn, turn.gap_s) == ("r2", "s", 9, 60.0)
    assert (turn.prompt_tokens, turn.hit_tokens, turn.lost_tokens) == (4000, 1499, 1501)


def test_the_biggest_are_listed_and_all_are_summed(tmp_path) -> None:
    rows = [row_of(i, "s", 2000 + i, 0) for i in range(MOST_LISTED + 51)]
    found = found_in(trace_of_rows(tmp_path, rows))
    assert len(found.turns) == MOST_LISTED
    assert found.num_lost == MOST_LISTED + 50
    assert found.lost_tokens == sum(2000 + i for i in range(MOST_LISTED + 50))
    assert [turn.turn for turn in found.turns[:2]] == [MOST_LISTED + 51, MOST_LISTED + 50]


def test_without_times_there_is_no_gap(tmp_path) -> None:
    rows = [row_of(i, "s", 2000, 0, arrival_s=9999 * i) for i in range(2)]
    trace = trace_of_rows(tmp_path, rows)
    assert found_in(trace).num_after == (1, 1)
    found = found_in(replace(trace, has_times=False))
    assert [turn.gap_s for turn in found.turns] == [None]
    assert found.num_after == (0, 0)


def test_nothing_to_judge(tmp_path) -> None:
    assert lost_turns(trace_of_rows(tmp_path, [row_of(i, None, 2000, 0) for i in range(3)])) is None


def test_a_trace_with_prompts_can_be_asked_too(tmp_path) -> None:
    rows = [
        {"id": i, "arrival_s": i, "session": "s", "tokens": list(range(1500))}
        | {"reported": {"cached_tokens": 0}}
        for i in range(2)
    ]
    trace = trace_of_rows(tmp_path, rows)
    assert analyze([str(tmp_path / "trace.jsonl")], Setting()).trace.identity == "tokens"
    assert found_in(trace).lost_tokens == 1500

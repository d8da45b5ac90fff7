"""Claude Code transcripts: one call counts once, absent counts are not zero.

The folder of real rows is shared/data/claude_code_log (daaain/claude-code-log). The rows below
are written by hand from the shapes shown in anthropics/claude-code#87303, ccusage#888 and
tokscale#563: several rows a call, the last with the final usage; sub-agents under the session's id.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from hitpath.core import ABSENT, InputError
from hitpath.traces import Trace, read_trace
from hitpath.traces.detect import FORMATS
from support import shared_data, write_jsonl

PARTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
USAGE = {
    "input_tokens": 3,
    "cache_creation_input_tokens": 2285,
    "cache_read_input_tokens": 22137,
    "output_tokens": 90,
}
CALL = {
    "parentUuid": "u0",
    "isSidechain": False,
    "sessionId": "s1",
    "version": "2.1.228",
    "type": "assistant",
    "timestamp": "2026-03-11T02:40:22.650Z",
    "requestId": "req_x",
    "uuid": "u1",
    "message": {"id": "msg_x", "role": "assistant", "model": "claude-opus-4-6", "usage": USAGE},
}
OTHERS: list[Any] = [
    {"type": "user", "sessionId": "s1", "timestamp": "t", "message": {"role": "user"}},
    {"type": "user", "sessionId": "s1", "message": "error"},
    {"type": "user", "sessionId": "s1", "message": {"usage": {"input_tokens": 1}}},
    {"type": "summary", "summary": "a", "leafUuid": "u1"},
    {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}},
    {"type": "system", "subtype": "turn_duration", "sessionId": "s1"},
    {"type": "assistant", "sessionId": "s1", "message": {"id": "m", "content": []}},
    {"type": "assistant", "sessionId": "s1", "message": {"id": "m", "usage": None}},
    {"type": "assistant", "sessionId": "s1", "message": None},
    {"type": "assistant", "sessionId": "s1", "message": "gone"},
    {"type": 5, "sessionId": "s1"},
    {"silly": "this"},
    "massive error",
    42,
]


def call(identifier: str | None, request: str | None = "req_x", **change: Any) -> dict[str, Any]:
    """A row of a call; `usage` changes counts (None drops one), the rest changes fields."""
    usage = {**USAGE, **change.pop("usage", {})}
    usage = {name: told for name, told in usage.items() if told is not None}
    message = {**CALL["message"], "id": identifier, "usage": usage, **change.pop("message", {})}
    return {**CALL, "requestId": request, **change, "message": message}


def read(tmp_path: Path, rows: list[Any], **options: Any) -> Trace:
    return read_trace([str(write_jsonl(tmp_path / "t.jsonl", rows))], **options)


def counts(trace: Trace) -> list[tuple[int, int, int, int]]:
    columns = (
        trace.prompt_tokens, trace.reported_hit, trace.reported_written, trace.output_tokens,
    )  # fmt: skip
    return [tuple(int(column[i]) for column in columns) for i in range(len(trace))]


def independent_sums(folder: Path) -> dict[str, Any]:
    """The same sums with json and a dict alone: the last row of each (message id, request id)."""
    calls: dict[tuple[str, str], Any] = {}
    others = repeats = 0
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            usage = None
            if isinstance(row, dict) and row.get("type") == "assistant":
                usage = row["message"].get("usage")
            if usage is None:
                others += 1
                continue
            key = (row["message"]["id"], row["requestId"])
            repeats += key in calls
            calls[key] = (row["timestamp"], row["sessionId"], usage)
    told = sorted((c for c in calls.values() if set(PARTS) <= set(c[2])), key=lambda c: c[0])
    return {
        "others": others,
        "repeats": repeats,
        "unknown": len(calls) - len(told),
        "prompts": [sum(usage[part] for part in PARTS) for _, _, usage in told],
        "hit": sum(usage["cache_read_input_tokens"] for _, _, usage in told),
        "output": sum(usage["output_tokens"] for _, _, usage in told),
        "sessions": {session for _, session, _ in told},
    }


def test_the_real_transcripts(tmp_path):
    """Reference: computed by `independent_sums` when this test was written, and pinned."""
    folder = shared_data("claude_code_log")
    expected = {
        "others": 30,
        "repeats": 1,
        "unknown": 6,
        "prompts": [25, 45, 78, 25, 45, 35, 200, 85, 20],
        "hit": 0,
        "output": 830,
        "sessions": {"test_session", "edge_cases", "session_b"},
    }
    assert independent_sums(folder) == expected
    trace = read_trace([str(folder)])
    assert (trace.format, trace.identity) == ("claude-code", "lengths_only")
    assert trace.prompt_tokens.tolist() == expected["prompts"]
    assert sum(expected["prompts"]) == 558
    assert trace.reported_hit.tolist() == [0] * 9
    assert trace.reported_written.tolist() == [0] * 9
    assert int(trace.output_tokens.sum()) == expected["output"]
    assert set(trace.session.names) == expected["sessions"]
    assert trace.model.names == ("claude-3-sonnet-20240229",)
    for note in ("30 lines hold no usage", "1 rows repeat a call", "6 calls tell input_tokens"):
        assert any(told.startswith(note) for told in trace.notes), note


def test_a_prompt_is_the_sum_of_the_three_counts(tmp_path):
    trace = read(tmp_path, [CALL])
    assert counts(trace) == [(3 + 22137 + 2285, 22137, 2285, 90)]
    assert trace.ids == ("msg_x/req_x",)
    assert trace.arrival_s.tolist() == [1773196822.65]
    assert (trace.session.of(0), trace.model.of(0)) == ("s1", "claude-opus-4-6")
    assert trace.prompts.lengths.tolist() == [0]
    assert not trace.excluded


def test_lines_that_are_no_calls_are_counted(tmp_path):
    trace = read(tmp_path, [*OTHERS[:4], CALL, *OTHERS[4:]])
    assert len(trace) == 1
    assert f"{len(OTHERS)} lines hold no usage of a call" in trace.notes[0]


def test_rows_of_one_call_count_once_with_the_last_usage(tmp_path):
    first, last = "2026-03-11T02:40:21.204Z", "2026-03-11T02:40:22.650Z"
    early = call("msg_x", timestamp=first, usage={"output_tokens": 2}, uuid="u0")
    rows = [early, call("msg_x", timestamp=last), call("msg_x", timestamp=last, uuid="u2")]
    for order in (rows, rows[::-1]):
        trace = read(tmp_path, order)
        assert counts(trace) == [(24425, 22137, 2285, 90)]
        assert trace.arrival_s.tolist() == [1773196821.204]
        assert any(note.startswith("2 rows repeat a call") for note in trace.notes)
    # A snapshot without its counts does not hide the row that has them.
    bare = call("msg_x", usage={"cache_read_input_tokens": None, "output_tokens": 99})
    assert counts(read(tmp_path, [rows[1], bare])) == [(24425, 22137, 2285, 90)]


def test_what_makes_two_rows_one_call(tmp_path):
    rows = [call("a"), call("a", "other"), call("a", None), call("a", None), call("b", "other"),
            call(None, None, uuid="u7"), call(None, None, uuid="u8")]  # fmt: skip
    trace = read(tmp_path, rows)
    assert trace.ids == ("a/req_x", "a/other", "a", "b/other", "u7", "u8")


def test_a_copy_of_a_session_repeats_its_calls(tmp_path):
    for name, session in (("a", "s1"), ("b", "s2")):
        rows = [call("x", sessionId=session), call(f"own-{name}", sessionId=session)]
        write_jsonl(tmp_path / f"{name}.jsonl", rows)
    trace = read_trace([str(tmp_path)])
    assert trace.ids == ("x/req_x", "own-a/req_x", "own-b/req_x")
    assert [trace.session.of(i) for i in range(3)] == ["s1", "s1", "s2"]


@pytest.mark.parametrize("gone", PARTS)
def test_an_absent_count_is_not_zero(tmp_path, gone):
    short = call("y", usage={gone: None})
    trace = read(tmp_path, [CALL, short])
    assert trace.ids == ("msg_x/req_x",)
    assert any(note.startswith("1 calls tell input_tokens without") for note in trace.notes)
    with pytest.raises(
        InputError, match="as in every call: how long the prompts were is not known"
    ):
        read(tmp_path, [short])


def test_writes_told_by_time_to_live_alone_are_added_up(tmp_path):
    split = {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 85}
    alone = call("y", usage={"cache_creation_input_tokens": None, "cache_creation": split})
    both = call("z", usage={"cache_creation": split})
    empty = call("e", usage={"cache_creation_input_tokens": None, "cache_creation": {}})
    trace = read(tmp_path, [alone, both, empty])
    assert counts(trace) == [(22425, 22137, 285, 90), (24425, 22137, 2285, 90)]


def test_messages_of_claude_code_itself_are_no_calls(tmp_path):
    own = call("own", message={"model": "<synthetic>"}, isApiErrorMessage=True)
    trace = read(tmp_path, [own, CALL])
    assert trace.ids == ("msg_x/req_x",)
    assert "1 messages are Claude Code's own (<synthetic>): no calls" in trace.notes


def test_sub_agents_have_sessions_of_their_own(tmp_path):
    write_jsonl(tmp_path / "s1.jsonl", [CALL, call("old", isSidechain=True)])
    agent = call("y", isSidechain=True, agentId="a35b")
    write_jsonl(tmp_path / "agent-a35b.jsonl", [agent, call("z", agentId="a35b")])
    # What stands beside them.
    (tmp_path / "agent-a35b.meta.json").write_text('{\n "agentType": "Explore"\n}')
    index = {"version": 1, "entries": [{"sessionId": "s1"}], "originalPath": "/p"}
    (tmp_path / "sessions-index.json").write_text(json.dumps(index, indent=2))
    trace = read_trace([str(tmp_path)])
    sessions = {name: trace.session.of(i) for i, name in enumerate(trace.ids)}
    assert sessions == {
        "y/req_x": "s1/a35b",
        "z/req_x": "s1",
        "msg_x/req_x": "s1",
        "old/req_x": "s1/sidechain",
    }
    assert any(note.startswith("2 lines hold no usage") for note in trace.notes)


def test_output_may_be_untold(tmp_path):
    assert counts(read(tmp_path, [call("x", usage={"output_tokens": None})]))[0][3] == ABSENT


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (call("x", usage={"input_tokens": "3"}), "message.usage.input_tokens"),
        (call("x", usage={"cache_read_input_tokens": -1}), "message.usage.cache_read_input_tokens"),
        (call("x", usage={"output_tokens": 2**41}), "message.usage.output_tokens"),
        (call("x", usage={"cache_creation": 5}), "message.usage.cache_creation"),
        (call("x", timestamp="soon"), "timestamp"),
        ({k: v for k, v in CALL.items() if k != "timestamp"}, "timestamp"),
        (call("x", sessionId=5), "sessionId"),
    ],
)
def test_a_broken_call_is_named(tmp_path, row, field):
    with pytest.raises(InputError) as error:
        read(tmp_path, [CALL, row])
    assert (error.value.place, error.value.field) == (f"{tmp_path}/t.jsonl:2", field)
    trace = read(tmp_path, [CALL, row], skip_bad_rows=True)
    assert (len(trace), len(trace.skipped)) == (1, 1)


def test_broken_json_is_a_bad_row(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(CALL) + "\n" + json.dumps(call("y"))[:-9] + "\n")
    with pytest.raises(InputError) as error:
        read_trace([str(path)])
    assert error.value.place == f"{path}:2"
    assert len(read_trace([str(path)], skip_bad_rows=True)) == 1


@pytest.mark.parametrize("row", [CALL, *OTHERS[:6]])
def test_transcripts_are_recognised_by_their_first_line(row):
    assert [known.name for known in FORMATS if known.recognises(row)] == ["claude-code"]


@pytest.mark.parametrize(
    "row",
    [
        {"type": "GENERATION", "id": "o", "traceId": "t", "sessionId": "s", "startTime": "x"},
        {"type": "text", "chat_id": 1, "parent_chat_id": -1, "hash_ids": []},
        {"type": 5, "sessionId": "s"},
        {"version": 1, "entries": [{"a": 1}]},
        [],
        "assistant",
    ],
)
def test_other_rows_are_not_taken_for_transcripts(row):
    assert not next(f for f in FORMATS if f.name == "claude-code").recognises(row)


def test_a_cost_that_only_another_row_of_the_call_tells_is_kept(tmp_path: Path) -> None:
    first = call("m", costUSD=0.02, usage={"output_tokens": 1})
    trace = read(tmp_path, [first, call("m"), call("n", "req_y")])
    assert trace.reported_usd.tolist()[0] == 0.02
    assert str(trace.reported_usd[1]) == "nan"

"""Sums that the ledger does not hold: names, clocks, gaps, turns, sharing, warnings."""

import json

import pytest

from cli import call
from hitpath.core import Setting, SettingError
from hitpath.spine import analyze, analyze_trace
from support import trace_of_rows


def row(i, segments, **rest):
    return {"id": str(i), "arrival_s": float(rest.pop("at", i)), "segments": segments, **rest}


def test_sessions_of_two_tenants_with_one_name_are_two(tmp_path):
    text = [["doc", 64]]
    rows = [
        row(0, text, tenant="a", session="s"),
        row(1, [["other", 64]], tenant="b", session="s"),
        row(2, text, tenant="c", session="a/s"),
    ]
    analysis = analyze_trace(trace_of_rows(tmp_path, rows), Setting(block_size=16))
    assert (analysis.origin.same_session, analysis.origin.other_tenant) == (0, 64)
    assert [g.num_requests for g in analysis.groups["session"]] == [1, 1, 1]


def test_an_isolated_token_names_the_one_field_that_differs(tmp_path):
    contexts = [{}, {"salt": "x"}, {"adapter": "y"}, {"media_salt": "z"}]
    for i, context in enumerate(contexts[1:], 1):
        rows = [row(0, [["p", 48]]), row(1, [["p", 48]], context=context)]
        analysis = analyze_trace(trace_of_rows(tmp_path, rows), Setting(block_size=16))
        reasons = analysis.ledger.reasons["isolated"]
        told = {name: int(part.sum()) for name, part in reasons.items() if part.sum()}
        assert told == {next(iter(contexts[i])): 48}
        assert any("really different" in w for w in analysis.warnings) == ("adapter" in told)
    both = [row(0, [["p", 48]]), row(1, [["p", 48]], context={"salt": "x", "adapter": "y"})]
    reasons = analyze_trace(trace_of_rows(tmp_path, both), Setting()).ledger.reasons["isolated"]
    assert int(reasons["several"].sum()) == 48


def test_rows_without_a_worker_among_others_are_told(tmp_path):
    rows = [row(0, [["p", 64]], worker="w"), row(1, [["p", 64]])]
    analysis = analyze_trace(trace_of_rows(tmp_path, rows), Setting())
    assert any("1 rows name no worker" in w for w in analysis.warnings)
    assert analysis.workers.names == ("w", "(not named)")


def session_file(tmp_path, name, start_s, scope):
    request = {"t": start_s, "in": 128, "out": 1, "hash_ids": [1, 2]}
    later = {**request, "t": start_s + 30}
    document = {"id": name, "block_size": 64, "hash_id_scope": scope, "requests": [request, later]}
    path = tmp_path / f"{name}.json"
    path.write_text(json.dumps(document))
    return str(path)


@pytest.mark.parametrize(("scope", "known"), [("local", True), ("global", False)])
def test_gaps_between_clocks_that_have_nothing_to_do_with_each_other(tmp_path, scope, known):
    paths = [session_file(tmp_path, n, t, scope) for n, t in (("a", 1000), ("b", 2000))]
    analysis = analyze(paths, Setting())
    assert (analysis.gaps is not None) == known
    if known:
        assert analysis.gaps.within == (0, *[256] * 6)  # 30 s: not within 10 s, within 60 s
    assert any(w.startswith("2 sessions with clocks") for w in analysis.warnings)


def test_gaps_are_weighted_by_tokens_and_since_the_last_use(tmp_path):
    rows = [
        row(0, [["p", 64]], at=0),
        row(1, [["p", 64], ["q", 64]], at=100),
        row(2, [["p", 64], ["q", 64]], at=105),
    ]
    gaps = analyze_trace(trace_of_rows(tmp_path, rows), Setting(block_size=16)).gaps
    # p again after 100 s, then p and q after 5 s
    assert gaps.tokens == 64 + 128
    assert gaps.within == (128, 128, 192, 192, 192, 192, 192)


def test_turns_count_in_each_session(tmp_path):
    rows = [
        row(i, [[f"s{s}", 32 * (n + 1)]], session=f"s{s}")
        for i, (s, n) in enumerate([(0, 0), (1, 0), (0, 1), (0, 2), (1, 1)])
    ]
    turns = analyze_trace(trace_of_rows(tmp_path, rows), Setting(block_size=16)).groups["turn"]
    assert [(g.name, g.num_requests, g.hit_tokens) for g in turns] == [
        ("1", 2, 0),
        ("2", 2, 64),
        ("3", 1, 64),
    ]


def test_sharing_factor_and_stretches_add_up(tmp_path):
    rows = [row(i, [["sys", 50], [f"u{i % 3}", 30]]) for i in range(6)]
    analysis = analyze_trace(trace_of_rows(tmp_path, rows), Setting(block_size=10))
    # sys is held once, each of three users' stretches once
    assert analysis.held_once_tokens == 50 + 3 * 30
    assert sum(p.reusable_tokens for p in analysis.prefixes) == 6 * 80 - analysis.held_once_tokens
    first = analysis.prefixes[0]
    assert (first.begin_token, first.end_token, first.num_requests) == (0, 50, 6)


def test_usage_errors_are_one_line(tmp_path):
    for arguments in (["analyze"], ["analyze", "x", "--nope"], ["analyze", "x", "--workers", "y"],
                      ["nope"]):  # fmt: skip
        ended = call(*arguments)
        assert ended.code == 2
        assert ended.err.startswith("hitpath: error: ")
        assert ended.err.count("\n") == 1
    assert call("--help").code == 0
    assert "Commands:" in call().text
    assert call("--version").text.startswith("hitpath ")


def mooncake_rows(ids_of_rows, first):
    return [
        {"timestamp": i, "input_length": 512 * len(ids), "hash_ids": [first + x for x in ids]}
        for i, ids in enumerate(ids_of_rows)
    ]


@pytest.mark.parametrize("first", [0, 10**15])
def test_ids_of_content_are_told_from_chained_ones(tmp_path, first):
    """Small ids are looked up in an array, large ones in a table: both must notice."""
    chained = mooncake_rows([[0, 1, 2], [0, 1, 3], [4, 5]], first)
    analysis = analyze_trace(trace_of_rows(tmp_path, chained), Setting())
    assert analysis.trace.identity == "chained"
    content = trace_of_rows(tmp_path, mooncake_rows([[0, 1, 2], [4, 1, 2], [0, 1, 2]], first))
    analysis = analyze_trace(content, Setting())
    assert analysis.trace.identity == "content"
    assert analysis.ledger.hit.tolist() == [0, 0, 1536]
    assert any("ids of content" in w for w in analysis.warnings)
    with pytest.raises(SettingError, match="cannot be joined"):
        analyze_trace(content, Setting(block_size=1024))


def test_local_ids_of_two_files_are_no_content_ids(tmp_path):
    """The same number in two files is two ids; twice in one file is not."""
    paths = [session_file(tmp_path, n, 0, "local") for n in ("a", "b")]
    assert analyze(paths, Setting()).trace.identity == "chained"
    request = {"t": 0, "in": 128, "hash_ids": [1, 2]}
    other = {**request, "hash_ids": [2, 1]}
    document = {"id": "c", "block_size": 64, "requests": [request, other]}
    (tmp_path / "c.json").write_text(json.dumps(document))
    assert analyze([*paths, str(tmp_path / "c.json")], Setting()).trace.identity == "content"

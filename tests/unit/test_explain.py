"""One request explained: its numbers are the ledger's, its relative is the nearest one."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hitpath
from cli import call, is_one_line
from hitpath.core import CAUSES, InputError, Setting
from hitpath.report.explain import SCHEMA, explain
from hitpath.spine import analyze_trace
from hitpath.traces import read_trace
from hitpath.traces.synthetic import demo_rows
from support import shared_data, trace_of_rows, write_jsonl
from unit.test_docs import keys_of
from unit.test_excerpts import byte_level_model

DOCS = Path(__file__).resolve().parents[2] / "docs"
FIELDS = ("salt", "adapter", "media_salt")


def explained(tmp_path, rows, request, **setting):
    return explain(analyze_trace(trace_of_rows(tmp_path, rows), Setting(**setting)), request)


def where(found):
    """The first difference as (after, here, there), each side as (kind, id, text)."""
    at = found.first_difference
    return at.after, *((side.kind, side.id, side.text) for side in (at.here, at.there))


# ---- the relative, against a loop over all earlier sequences -----------------------------------


@st.composite
def traces(draw):
    """(rows, whether model_is_label): one kind of prompt, one kind of clock."""
    kind = draw(st.sampled_from(["tokens", "prompt", "block_keys"]))
    clocks = draw(st.sampled_from(["one", "own", "none"]))
    is_label, isolated, scoped = (draw(st.booleans()) for _ in range(3))
    rows, now = [], 0
    for i in range(draw(st.integers(1, 9))):
        now = now + draw(st.integers(0, 2)) if clocks == "one" else draw(st.integers(0, 9))
        row = {"id": f"r{i}", "arrival_s": None if clocks == "none" else now}
        row["context"] = {f: draw(SALTS) if isolated else None for f in FIELDS}
        row["model"] = draw(st.sampled_from(["m", "m", "n"]))
        if scoped and kind == "block_keys":
            row["id_scope"] = draw(st.sampled_from(["s", "s", "t"]))
        if is_label:
            row["model_is_label"] = True
        if clocks == "own":
            row["clock"] = draw(st.sampled_from(["c", "d"]))
        make = {"tokens": token_row, "prompt": text_row, "block_keys": key_row}[kind]
        row.update(make(draw))
        # What a finish time means beside clocks of their own is not this test's question.
        if clocks == "one" and draw(st.booleans()):
            row["finish_s"] = now + draw(st.integers(0, 4))
        rows.append(row)
    return rows


SALTS = st.sampled_from([None, None, "x", "y"])
SYMBOLS = st.lists(st.integers(0, 1), max_size=7)


def token_row(draw):
    row = {"tokens": draw(SYMBOLS)}
    return {**row, "output_ids": draw(SYMBOLS)} if draw(st.booleans()) else row


def text_row(draw):
    row = {"prompt": "".join("aé"[s] for s in draw(SYMBOLS))}
    return {**row, "reply": "".join("aé"[s] for s in draw(SYMBOLS))} if draw(st.booleans()) else row


def key_row(draw):
    """Keys of blocks of 4 tokens, in chains such as a cache makes: equal key, equal prefix."""

    def num_keys(tokens):
        return draw(st.sampled_from([tokens // 4, -(-tokens // 4)]))

    prompt, bits = (
        draw(st.integers(0, 14)),
        draw(st.lists(st.integers(0, 1), min_size=8, max_size=8)),
    )
    keys = [f"k{bits[: i + 1]}" for i in range(8)]
    row = {"block_size": 4, "prompt_tokens": prompt, "block_keys": keys[: num_keys(prompt)]}
    if not draw(st.booleans()):
        return row
    output = draw(st.integers(0, 8))
    kept = keys[prompt // 4 : num_keys(prompt + output)]
    return {**row, "output_tokens": output, "output_block_keys": kept}


def symbols(row, with_output):
    """What a cache compares, one entry a token or block; a partial block is another symbol."""
    if "tokens" in row:
        return row["tokens"] + (row["output_ids"] if with_output else [])
    if "prompt" in row:
        return list((row["prompt"] + (row["reply"] if with_output else "")).encode())
    total, whole = row["prompt_tokens"], row["prompt_tokens"] // 4
    keys = row["block_keys"]
    if with_output:
        total += row["output_tokens"]
        keys = keys[:whole] + row["output_block_keys"]
    return [(key, min(4, total - 4 * i)) for i, key in enumerate(keys)]


def num_tokens(row):
    return row["prompt_tokens"] if "prompt_tokens" in row else len(symbols(row, False))


def common(a, b):
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return n


def tokens_of(mine, row, shared):
    return sum(part for _, part in mine[:shared]) if "block_keys" in row else shared


def sequences_before(rows, i):
    """(row number, symbols, whether with output) that were there when request i arrived, in the
    order in which they came."""
    timed = "clock" not in rows[0] and rows[0]["arrival_s"] is not None
    found = []
    for j, row in enumerate(rows[:i]):
        arrival = row["arrival_s"] if timed else j
        found.append((arrival, j, 0, symbols(row, False)))
        if {"output_ids", "reply", "output_block_keys"} & row.keys():
            finish = row.get("finish_s", arrival)
            if finish <= (rows[i]["arrival_s"] if timed else i):
                found.append((finish, j, 1, symbols(row, True)))
    found.sort(key=lambda one: one[:3])
    return [(j, sequence, bool(kind)) for _, j, kind, sequence in found]


def differing(mine, other, split_models):
    """The fields in which two contexts differ; a model that is a mere label is none."""
    fields = [f for f in FIELDS if mine["context"][f] != other["context"][f]]
    if mine["model"] != other["model"] and (split_models or "model_is_label" not in mine):
        fields.append("model")
    if mine.get("id_scope") != other.get("id_scope"):
        fields.append("id_scope")
    return tuple(fields)


def expected_relatives(rows, i, split_models):
    """The nearest in the same context and in a related one, as (shared symbols, …, row number,
    whether with output, fields) or None, and the sequences of the same context."""
    mine, own, others, same = symbols(rows[i], False), [], [], []
    for j, sequence, with_output in sequences_before(rows, i):
        fields = differing(rows[i], rows[j], split_models)
        shared = common(mine, sequence)
        if not fields:
            same.append((j, sequence))
            own.append((shared, j, with_output, fields))
        elif "model" not in fields and "block_keys" not in rows[i]:
            order = FIELDS[::-1].index(fields[0]) if len(fields) == 1 else -1
            others.append((shared, order, j, with_output, fields))
    nearest = max(own, default=(0,))
    other = max(others, default=(0,))
    return (
        nearest if nearest[0] else None,
        other if other[0] > nearest[0] else None,
        same,
    )


@settings(max_examples=300)
@given(traces(), st.sampled_from(["ignore", "insert"]), st.booleans(), st.booleans())
def test_the_relative_is_the_one_that_a_loop_finds(
    tmp_path_factory, rows, outputs, split_models, small
):
    trace = trace_of_rows(tmp_path_factory.mktemp("t"), rows)
    size = 4 if "block_keys" in rows[0] else 2
    engine = {"engine": "lru", "capacity_tokens": 2 * size} if small else {}
    setting = Setting(outputs=outputs, split_models=split_models, block_size=size, **engine)
    analysis = analyze_trace(trace, setting)
    rungs = analysis.ledger.rungs
    for i, row in enumerate(rows):
        found, mine = explain(analysis, row["id"]), symbols(row, False)
        own, other, same = expected_relatives(rows, i, split_models)
        assert found.num_earlier_requests == sum(
            not differing(row, earlier, split_models) for earlier in rows[:i]
        )
        for told, expected in ((found.relative, own), (found.other_context, other)):
            assert (told is None) == (expected is None)
            if told is None:
                continue
            shared, j, with_output, fields = expected[0], *expected[-3:]
            relative = rows[j]
            tokens = tokens_of(mine, row, shared)
            assert (told.id, told.shared_tokens) == (relative["id"], tokens)
            assert told.differs_in == fields
            assert told.output_tokens == max(0, tokens - num_tokens(relative))
            assert told.seconds_before == seconds_before(row, relative)
            at = told.first_difference
            theirs = symbols(relative, with_output)
            for side, there in ((at.here, mine), (at.there, theirs)):
                assert (side.kind in ("end", "unnamed")) == (shared == len(there))
                if side.kind == "token":
                    assert side.id == there[shared]
        # As the rungs see it: 5 in its own context, 6 across salts and adapters.
        nearest = found.relative.shared_tokens if found.relative else 0
        assert nearest == rungs.model[5, i]
        assert (found.other_context.shared_tokens if other else nearest) == rungs.model[6, i]
        if other and found.causes["isolated"]:
            named = other[-1][0] if len(other[-1]) == 1 else "several"
            assert [r for r, n in found.reasons["isolated"].items() if n][-1] == named
        held = found.best_worker_tokens
        assert held == rungs.model[3, i]
        first = (
            rows[j]["id"]
            for j, sequence in same
            if tokens_of(mine, row, common(mine, sequence)) >= held
        )
        assert found.first_computed_by == (next(first) if held else None)


def seconds_before(row, relative):
    if row["arrival_s"] is None or row.get("clock") != relative.get("clock"):
        return None
    passed = row["arrival_s"] - relative["arrival_s"]
    return passed if passed >= 0 else None


# ---- numbers -----------------------------------------------------------------------------------


def test_numbers_are_the_ledgers(tmp_path):
    trace = trace_of_rows(tmp_path, demo_rows(0)[:150])
    setting = Setting(engine="lru", capacity_tokens=60_000, workers=2, router="round-robin")
    analysis = analyze_trace(trace, setting)
    ledger = analysis.ledger
    for row in range(0, 150, 7):
        found = explain(analysis, trace.ids[row])
        assert (found.hit_tokens, found.unit) == (ledger.hit[row], "tokens")
        assert [found.causes[c] for c in CAUSES if found.causes[c] is not None] == [
            ledger.cause(c)[row] for c in CAUSES if c not in ledger.rungs.unknown
        ]
        assert found.best_worker_tokens == ledger.rungs.model[3, row]
        # The nearest relative is what was ever computed, outputs included.
        shared = found.relative.shared_tokens if found.relative else 0
        assert shared == ledger.rungs.model[5, row]
        known = [rung.tokens for rung in found.ladder if rung.tokens is not None]
        assert known == sorted(known)
        assert (known[0], known[-1]) == (found.hit_tokens, found.prompt_tokens)


OPTIONS = (
    ("--engine", "lru", "--model", "llama-3.1-8b", "--capacity-gib", "0.05"),
    ("--engine", "lru", "--capacity-tokens", "400", "--outputs", "insert", "--split-models"),
    ("--workers", "3", "--router", "random", "--seed", "4", "--last-token", "--block-size", "8"),
)


@pytest.mark.parametrize("options", OPTIONS)
def test_the_command_tells_what_analyze_tells(tmp_path, options):
    rows = demo_rows(0)[:40]
    for i, row in enumerate(rows):
        row.update(model=f"m{i % 2}", model_is_label=True)
    bad = {**rows[0], "id": "bad", "arrival_s": -1}
    path = write_jsonl(tmp_path / "t.jsonl", [*rows, bad])
    options = (*options, "--skip-bad-rows")
    per_request = tmp_path / "per.jsonl"
    assert call("analyze", path, *options, "--per-request", per_request).code == 0
    told = [json.loads(line) for line in per_request.read_text().splitlines()]
    for row in told[::3]:
        found = json.loads(call("explain", row["id"], path, *options, "--json", "-").text)
        for key, value in row.items():
            assert found[key] == value, key
        assert found["skipped_rows"][0]["field"] == "arrival_s"


def test_every_key_is_documented(tmp_path):
    page = (DOCS / "explain.md").read_text()
    path = write_jsonl(tmp_path / "t.jsonl", ISOLATED)
    told = json.loads(call("explain", "d", path, "--json", "-").text)
    assert told["schema"] == SCHEMA
    assert told["relative"]  # so that its keys are there
    assert told["other_context"]
    missing = sorted(key for key in set(keys_of(told)) if f"`{key}`" not in page)
    assert not missing
    assert all(f"`{kind}`" in page for kind in KINDS)


def test_the_worked_example(tmp_path):
    examples = re.findall(r"```(?:json)?\n(.*?)```", (DOCS / "explain.md").read_text(), re.DOTALL)
    path = tmp_path / "chat.jsonl"
    path.write_text(examples[0])
    for name, shown in zip(("p2", "p3"), examples[1:], strict=True):
        page = "\n".join(line.rstrip() for line in call("explain", name, path).text.splitlines())
        assert shown.rstrip() in page


KINDS = ("text", "token", "block", "partial_block", "unnamed", "end")


# ---- single cases ------------------------------------------------------------------------------


def test_the_first_difference_and_the_holder(tmp_path):
    rows = [
        {"id": "a", "arrival_s": 0, "tokens": list(range(40)), "worker": "w0"},
        {"id": "b", "arrival_s": 5, "tokens": [*range(35), 99, 98], "worker": "w1"},
        {"id": "c", "arrival_s": 6, "tokens": [*range(40)], "worker": "w1"},
        {"id": "d", "arrival_s": 7, "tokens": [7], "worker": "w1"},
    ]
    analysis = analyze_trace(trace_of_rows(tmp_path, rows), Setting(block_size=16))
    b = explain(analysis, "b")
    assert (b.relative.id, b.relative.shared_tokens, b.relative.seconds_before) == ("a", 35, 5.0)
    assert where(b.relative) == (None, ("token", 99, None), ("token", 35, None))
    assert (b.best_worker, b.best_worker_tokens, b.first_computed_by) == ("w0", 32, "a")
    assert (b.hit_tokens, b.causes["elsewhere"], b.causes["rounding"]) == (0, 32, 3)
    c = explain(analysis, "c")
    assert (c.relative.id, where(c.relative)) == ("a", (None, END, END))
    d = explain(analysis, "d")
    assert (d.best_worker, d.first_computed_by, d.relative) == (None, None, None)
    assert d.num_earlier_requests == 3
    assert explain(analysis, "a").num_earlier_requests == 0
    with pytest.raises(InputError, match="'z' is not in this trace of 4"):
        explain(analysis, "z")


END = ("end", None, None)


def test_an_output_is_a_relative_from_its_finish_on(tmp_path):
    """Request 2 comes while the reply of 1 is being made, request 3 after it."""
    one = {"id": "1", "arrival_s": 0, "tokens": [1] * 16, "output_ids": [2] * 20, "finish_s": 5}
    late = [
        {"id": i, "arrival_s": t, "tokens": [1] * 16 + [2] * 17} for i, t in (("2", 4), ("3", 6))
    ]
    early, after = (explained(tmp_path, [one, row], row["id"], outputs="insert") for row in late)
    assert (early.relative.shared_tokens, early.relative.output_tokens) == (16, 0)
    assert where(early.relative)[1:] == (("token", 2, None), END)
    assert (after.hit_tokens, after.relative.shared_tokens, after.relative.output_tokens) == (
        32,
        33,
        17,
    )
    assert where(after.relative)[1:] == (END, ("token", 2, None))


ISOLATED = [
    {"id": "a", "arrival_s": 0, "tokens": [1] * 50, "context": {"salt": "x", "adapter": "l"}},
    {"id": "b", "arrival_s": 2, "tokens": [1] * 40, "context": {"salt": "y"}},
    {"id": "c", "arrival_s": 3, "tokens": [1] * 20 + [2], "context": {"salt": "x"}},
    {"id": "d", "arrival_s": 4, "tokens": [1] * 60, "context": {"salt": "x"}},
    {"id": "e", "arrival_s": 5, "tokens": [1] * 60, "model": "other"},
]


def test_isolation_names_the_field(tmp_path):
    analysis = analyze_trace(trace_of_rows(tmp_path, ISOLATED), Setting(block_size=1))
    found = explain(analysis, "d")
    assert (found.relative.id, found.relative.shared_tokens) == ("c", 20)
    other = found.other_context
    assert (other.id, other.shared_tokens, other.differs_in) == ("a", 50, ("adapter",))
    assert found.reasons["isolated"] == {"salt": 20, "adapter": 10, "media_salt": 0, "several": 0}
    assert explain(analysis, "b").other_context.differs_in == ("salt", "adapter")
    assert explain(analysis, "e").other_context is None  # another model is no isolation
    path = write_jsonl(tmp_path / "t.jsonl", ISOLATED)
    page = call("explain", "c", path).text
    assert "nearest relative: none, this is the first of its context" in page
    # Of equals the field that `isolated` names first, then the latest.
    assert "under another salt: b on worker 0, 1 s before: shares 20 tokens" in page


def test_clocks_of_their_own_have_no_seconds_between_them(tmp_path):
    rows = [
        {"id": str(i), "arrival_s": t, "clock": clock, "tokens": [1] * (9 - i)}
        for i, (t, clock) in enumerate([(900, "p"), (5, "q"), (7.5, "q"), (6, "q")])
    ]
    before = [explained(tmp_path, rows, str(i)).relative for i in range(1, 4)]
    assert [relative.id for relative in before] == ["0", "1", "2"]
    assert [relative.seconds_before for relative in before] == [None, 2.5, None]
    page = call("explain", "1", tmp_path / "trace.jsonl").text
    assert "nearest relative: 0 on worker 0: the first 8 tokens are the same" in page


def test_text_is_counted_in_bytes_and_cut_between_characters(tmp_path):
    rows = [
        {"id": "a", "arrival_s": 0, "prompt": "Today is\nMonday — yes"},
        {"id": "b", "arrival_s": 1, "prompt": "Today is\nMonday – no\x1b[31m"},
    ]
    found = explained(tmp_path, rows, "b")
    assert found.unit == "bytes"
    assert found.relative.shared_tokens == len(b"Today is\nMonday \xe2\x80")
    assert where(found.relative) == (
        "Today is\nMonday ",
        ("text", None, "– no\x1b[31m"),
        ("text", None, "— yes"),
    )
    page = call("explain", "b", tmp_path / "trace.jsonl").text
    assert "of 27 prompt bytes hit (modelled)" in page
    assert r"after  “Today is\nMonday ”" in page
    assert r"here   “– no\x1b[31m”" in page
    assert " tokens" not in page


def test_stretches_counted_in_bytes_have_no_text(tmp_path):
    rows = [
        {"id": i, "arrival_s": i, "unit": "bytes", "segments": [["s", 500], [f"q{i}", 9]]}
        for i in range(2)
    ]
    found = explained(tmp_path, rows, "1")
    assert (found.unit, found.relative.shared_tokens) == ("bytes", 500)
    after, here, there = where(found.relative)
    assert (after, here[0], here[2], there[2]) == (None, "token", None, None)


def test_a_tokenizer_decodes_the_pieces(tmp_path):
    file = str(byte_level_model(tmp_path / "model"))
    rows = [
        {"id": "a", "arrival_s": 0, "prompt": "You are brief. Today is Monday"},
        {"id": "b", "arrival_s": 1, "prompt": "You are brief. Today is Tuesday"},
    ]
    path = write_jsonl(tmp_path / "t.jsonl", rows)
    told = json.loads(call("explain", "b", path, "--tokenizer", file, "--json", "-").text)
    at = told["relative"]["first_difference"]
    assert told["unit"] == "tokens"
    assert "You are brief. Today is Tuesday".endswith(at["here"]["text"])
    assert "You are brief. Today is Monday".endswith(at["there"]["text"])
    assert (at["after"] + at["here"]["text"]).endswith("is Tuesday")
    assert at["here"]["id"] != at["there"]["id"]
    foreign = [{"id": i, "arrival_s": i, "tokens": [5, 900_000 + i]} for i in range(2)]
    path = write_jsonl(tmp_path / "foreign.jsonl", foreign)
    told = json.loads(call("explain", "1", path, "--tokenizer", file, "--json", "-").text)
    assert told["relative"]["first_difference"]["here"]["text"] is None  # not its ids


def test_what_block_ids_can_tell(tmp_path):
    def row(name, at, tokens, keys):
        return {
            "id": name,
            "arrival_s": at,
            "block_size": 4,
            "prompt_tokens": tokens,
            "block_keys": keys,
        }

    rows = [row("a", 0, 10, [1, 2, 3]), row("b", 1, 12, [1, 2, 3]), row("c", 2, 10, [1, 2])]
    rows += [row("d", 3, 4, [1])]
    analysis = analyze_trace(trace_of_rows(tmp_path, rows), Setting())
    b, c, d = (explain(analysis, name).relative for name in "bcd")
    assert (b.shared_tokens, where(b)[1:]) == (
        8,
        (("block", 3, None), ("partial_block", None, None)),
    )
    assert (c.shared_tokens, where(c)[1:]) == (8, (("unnamed", None, None), ("block", 3, None)))
    assert (d.shared_tokens, where(d)[1:]) == (4, (END, ("block", 2, None)))
    page = call("explain", "c", tmp_path / "trace.jsonl").text
    assert "here   tokens without an id" in page


def test_a_row_that_contradicts_itself_has_no_labels(tmp_path):
    rows = [
        {"id": i, "arrival_s": i, "tokens": [1] * 20, "reported": {"cached_tokens": 16 + 9 * i}}
        for i in range(2)
    ]
    found = explained(tmp_path, rows, "1")
    assert found.excluded
    assert (found.hit_tokens, found.unexplained, found.reported_hit_tokens) == (None, None, 25)
    assert {rung.tokens for rung in found.ladder} == set(found.causes.values()) == {None}
    assert found.relative.id == "0"
    page = call("explain", "1", tmp_path / "trace.jsonl").text
    assert "in no sum: 25 cached of 20 prompt tokens" in page


def test_mooncake_and_the_command(tmp_path):
    path = str(shared_data("mooncake/conversation_trace.jsonl"))
    analysis = analyze_trace(read_trace([path]), Setting())
    found = explain(analysis, "12030")
    assert found.relative.shared_tokens == analysis.ledger.rungs.model[5, 12030]
    assert found.relative.first_difference.here.kind == "block"
    demo = write_jsonl(tmp_path / "d.jsonl", demo_rows(0)[:60])
    name = demo_rows(0)[40]["id"]
    told = json.loads(call("explain", name, demo, "--json", "-").text)
    assert told["id"] == name
    page = call("explain", name, demo).text
    assert f"{told['hit_tokens']:,} of {told['prompt_tokens']:,} prompt tokens hit" in page
    assert told["relative"]["id"] in page
    rules = [line for line in page.splitlines() if "───" in line]
    assert rules
    assert all(line.startswith("  ─") for line in rules)
    for ended in (call("explain", "nobody", demo), call("explain", name, demo, "--json", demo)):
        assert ended.code == 2
        assert is_one_line(ended.err)


def test_the_api_returns_the_record():
    found = hitpath.analyze(ISOLATED, block_size=1).explain("d")
    assert (found.relative.id, found.other_context.id) == ("c", "a")

"""The judge itself: marks, the plain diff, clean dialogues, planted kinds, the scorer."""

import base64
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from doctor_planted import base_words, images, plain_diff
from doctor_planted.bases import SHAPES, make_app, steps_of
from doctor_planted.carriers import STYLES
from doctor_planted.form_sets import SETS
from doctor_planted.judging import Relatives, score
from doctor_planted.marks import CLOSE, OPEN, mark, strip
from doctor_planted.plain_diff import Place, compact, first_difference, rendered, value_at
from doctor_planted.plant_forms import shuffled_arrays, shuffled_keys
from doctor_planted.plant_history import re_encoded
from doctor_planted.token_traces import KINDS, VISIBLE, decode, make_token_trace
from doctor_planted.traces import PLANTERS, MixedTrace, make_trace
from doctor_planted.truth import NONE, planted, truth_of
from hitpath.traces import read_trace

pytestmark = pytest.mark.long


def pairs(trace: MixedTrace) -> list[tuple[Any, Any]]:
    """Each request with its usual relative."""
    relatives = Relatives(trace.requests)
    both = [(new, relatives.usual(new)) for new in trace.requests]
    return [(new, old) for new, old in both if old is not None]


def test_a_mark_becomes_a_span_and_leaves_the_text() -> None:
    clean, spans = strip({"a": [{"b": f"now {mark('clock/counter', '12:00')}!"}]})
    assert clean == {"a": [{"b": "now 12:00!"}]}
    assert [(s.path, s.start, s.end, s.kinds) for s in spans] == [
        ("a[0].b", 4, 9, ("clock", "counter"))
    ]


def test_the_plain_diff_finds_the_deepest_value_and_its_equal_characters() -> None:
    def body(**more: Any) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": "abc"}], **more}

    tool = {"function": {"name": "f", "parameters": {"a": 1, "b": 2}}}
    other = {"function": {"name": "f", "parameters": {"b": 2, "a": 1}}}
    assert first_difference(body(), body()) is None
    assert first_difference(body(tools=[tool]), body(tools=[other])) == Place(
        "tools[0].function.parameters", 2
    )
    longer = {"messages": [{"role": "user", "content": "abX"}]}
    assert first_difference(body(), longer) == Place("messages[0].content", 2)
    grown = {"messages": [*body()["messages"], {"role": "assistant", "content": "d"}]}
    assert first_difference(body(), grown) == Place("messages[1]", 0, ends=True)
    assert value_at(body(tools=[tool]), "tools[0].function.parameters.b") == 2


@pytest.mark.parametrize("kind", ["clock", "white_space", "truncated_history", "key_order"])
def test_places_are_where_the_rendered_prompts_first_differ(kind: str) -> None:
    """Truth is what a plain comparison of two rendered prompts says, character by character."""
    checked = 0
    for new, old in [pair for seed in range(3) for pair in pairs(make_trace(seed, kind))]:
        place = first_difference(old.body, new.body)
        if place is None or place.ends:
            continue
        told, before = value_at(new.body, place.path), value_at(old.body, place.path)
        if (
            not isinstance(told, str)
            or not isinstance(before, str)
            or not place.path.endswith("content")
        ):
            continue
        assert told[: place.offset] == before[: place.offset]
        text, other = rendered(new.body), rendered(old.body)
        at = plain_diff.common(text, other)
        inside_json = compact([told[: place.offset]])[2:-2]
        assert text[:at].endswith((told[: place.offset], inside_json))
        checked += 1
    assert checked > 10


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("style", STYLES)
def test_clean_dialogues_only_grow(shape: str, style: str) -> None:
    """Hard negatives: user text with dates, ids and counters, new sessions, new documents."""
    rng = random.Random(f"{shape}{style}")
    app = make_app(rng, base_words.APPS[4], shape, 4)
    requests = [planted(step, style) for step in steps_of(app, rng, (2.0, 90.0), 5.0)]
    assert not any(request.spans or request.owners for request in requests)
    last: dict[str, Any] = {}
    for request in requests:
        old = last.get(request.dialogue)
        if old is not None:
            place = first_difference(old.body, request.body)
            assert place is None or place.ends
            assert rendered(request.body).startswith(rendered(old.body))
        for other in last.values():
            assert truth_of(request, other).kind == NONE
        last[request.dialogue] = request


@pytest.mark.parametrize("forms", SETS)
@pytest.mark.parametrize("group", ["+".join(list(PLANTERS)[i::4]) for i in range(4)])
def test_each_kind_is_planted_and_no_mark_is_left(group: str, forms: str) -> None:
    found: Counter[str] = Counter()
    for seed in range(2 if forms == "usual" else 5):
        trace = make_trace(seed, group, num_apps=12, forms=forms, clean=1)
        text = "".join(json.dumps(row, ensure_ascii=False) for row in trace.rows)
        assert OPEN not in text
        assert CLOSE not in text
        for new, old in pairs(trace):
            true = truth_of(new, old)
            found[true.kind] += true.counts
            if true.kind != NONE:
                assert true.kind in trace.planted_kinds[new.app]
    assert all(found[kind] >= 3 for kind in group.split("+")), found


@pytest.mark.parametrize(
    ("kind", "forms"),
    [("image_encoding+template_flip", "usual"), ("context_changed", "usual"), ("none", "usual"),
     ("counter+request_id", "field"), ("tool_set+truncated_history+moved_block", "field")],
)  # fmt: skip
def test_the_truth_is_about_the_prompts_that_hitpath_reads(
    kind: str, forms: str, tmp_path: Path
) -> None:
    for seed in range(2):
        trace = make_trace(seed, kind, num_apps=9, forms=forms)
        read = read_trace([str(trace.write(tmp_path / "trace.jsonl"))])
        assert list(read.ids) == [request.id for request in trace.requests]
        for i, request in enumerate(trace.requests):
            start, end = read.prompts.offsets[i : i + 2]
            assert bytes(read.prompts.flat[start:end]) == rendered(request.body).encode()


def test_bodies_of_the_responses_api_are_among_them() -> None:
    rows = [row for seed in range(6) for row in make_trace(seed, "counter", forms="field").rows]
    there = [row for row in rows if "input" in row]
    assert there
    assert all(isinstance(row["instructions"], str) for row in there)


def test_the_same_seed_gives_the_same_trace() -> None:
    first, second = make_trace(5, "tool_order"), make_trace(5, "tool_order")
    assert first.rows == second.rows
    assert first.rows != make_trace(6, "tool_order").rows


def perfect(trace: MixedTrace) -> list[dict[str, Any]]:
    """What a doctor would say that makes no mistake."""
    relatives, rows = Relatives(trace.requests), []
    for new in trace.requests:
        old = relatives.usual(new)
        row: dict[str, Any] = {"id": new.id, "relative_id": None, "kind": None}
        if old is not None:
            true = truth_of(new, old)
            row |= {"relative_id": old.id, "kind": true.kind or "new_content"}
            row["common_tokens"] = plain_diff.common(
                rendered(new.body).encode(), rendered(old.body).encode()
            )
            if true.place is not None:
                row |= {"json_path": true.place.path, "char_offset": true.place.offset}
        rows.append(row)
    return rows


def test_a_doctor_without_mistakes_scores_one() -> None:
    trace = make_trace(1, "counter")
    result = score(trace.requests, perfect(trace))
    assert not result.faults
    tally = result.tallies["counter"]
    assert tally.found > 20
    assert (tally.precision, tally.recall, tally.exact_frac) == (1.0, 1.0, 1.0)


def test_each_mistake_is_counted_where_it_belongs() -> None:
    trace = make_trace(1, "counter", num_apps=4)
    right = perfect(trace)
    truths = {new.id: truth_of(new, old) for new, old in pairs(trace)}
    sure = {i for i, true in truths.items() if true.kind == "counter" and true.counts}
    named = [i for i, row in enumerate(right) if row["id"] in sure]

    def with_change(**change: Any) -> Any:
        rows = [dict(row) for row in right]
        rows[named[0]] |= change
        return score(trace.requests, rows)

    assert with_change(kind="clock").tallies["clock"].false == 1
    assert with_change(kind="clock").tallies["counter"].missed == 1
    assert with_change(kind=None).tallies["counter"].missed == 1
    far = with_change(char_offset=10**6).tallies["counter"]
    assert far.exact == far.placed - 1
    coarse = with_change(json_path="messages").tallies["counter"]
    assert coarse.exact == coarse.placed - 1
    strangers = {r.id for r in trace.requests if r.app != trace.requests[named[0]].app}
    assert with_change(relative_id=min(strangers)).wrong_relatives == 1
    assert with_change(common_tokens=-1).wrong_common == 1


def test_a_row_that_is_missing_is_a_missed_defect() -> None:
    trace = make_trace(1, "counter")
    result = score(trace.requests, [])
    assert result.missing_rows == len(trace.requests)
    assert result.tallies["counter"].recall == 0.0


def test_shuffles_change_the_order_and_nothing_else() -> None:
    value = {"a": [{"x": 1, "y": 2, "z": 3}], "required": ["p", "q", "r", "s"], "b": {"c": 1}}
    orders = set()
    for seed in range(20):
        other = shuffled_keys(value, random.Random(seed), 1)
        assert other == value
        orders.add(json.dumps(other))
        mixed = shuffled_arrays(value, random.Random(seed), ("required",))
        assert sorted(mixed["required"]) == value["required"]
        assert {**mixed, "required": 0} == {**value, "required": 0}
    assert len(orders) > 3


@pytest.mark.parametrize("form", ["level", "filter", "comment", "lines", "both"])
def test_a_picture_encoded_anew_has_the_same_pixels(form: str) -> None:
    rows = images.picture(random.Random(1))
    url = f"data:image/png;base64,{images.base64_of(images.png(rows))}"
    others = {re_encoded(url, form, epoch) for epoch in range(1, 5)}
    assert others != {url}
    for other in others:
        data = base64.b64decode(other.split(",", 1)[1])
        assert images.pixels(data) == rows


@pytest.mark.parametrize("kind", KINDS)
def test_token_traces_are_what_they_say(kind: str) -> None:
    last: dict[str, Any] = {}
    there = 0
    for request in make_token_trace(2, kind).requests:
        old, last[request.dialogue] = last.get(request.dialogue), request
        if old is None:
            assert request.kind == ""
            continue
        whole = old.tokens + old.output
        if request.kind == "":
            assert request.tokens[: len(old.tokens)] == old.tokens
        elif kind == "position_shift":
            tail = old.tokens[-VISIBLE:]
            at = [i for i in range(len(request.tokens)) if request.tokens[i : i + VISIBLE] == tail]
            assert at
            assert at[-1] + VISIBLE < len(old.tokens)
        else:
            assert decode(request.tokens).startswith(decode(whole))
            assert request.tokens[: len(whole)] != whole
        there += request.kind == kind
    assert there > 8

"""`hitpath diff`: its numbers worked out by hand, its groups, its page."""

import io
import json
import re
from fractions import Fraction

import numpy as np
import pytest
from rich.console import Console

from cli import call
from hitpath.accounting.diff import MOST_GROUPS, GroupKey, difference, largest_groups
from hitpath.core import Setting
from hitpath.report.diff import DiffJob, compare_traces, diff_document
from hitpath.report.terminal_diff import answer, points, print_diff
from hitpath.summary.labelled_rows import steps_of_two
from support import write_jsonl
from unit.test_docs import ROOT, keys_of

X, Y = GroupKey("x"), GroupKey("y")
A = {X: {"hit": 300, "evicted": 200, "cold": 100}, Y: {"hit": 320, "evicted": 0, "cold": 80}}
B = {X: {"hit": 240, "evicted": 400, "cold": 160}, Y: {"hit": 160, "evicted": 0, "cold": 40}}

DAY_A = [
    {"id": "a1", "arrival_s": 0, "tenant": "chat", "segments": [["system", 80]]},
    {"id": "a2", "arrival_s": 1, "tenant": "chat", "segments": [["system", 80]]},
    {"id": "a3", "arrival_s": 2, "tenant": "batch", "segments": [["job 1", 40]]},
]
LENGTHS = [
    {"id": "a", "arrival_s": 0, "prompt_tokens": 100, "reported": {"cached_tokens": 60}},
    {"id": "b", "arrival_s": 1, "prompt_tokens": 300, "reported": {"cached_tokens": 0}},
    {"id": "c", "arrival_s": 2, "prompt_tokens": 999},
]


def compared(a, b, by=None, mapping=(), skip=False, **setting):
    return compare_traces(DiffJob(str(a), str(b), by, Setting(**setting), mapping, skip, None))


def page_of(comparison, width=110):
    out = io.StringIO()
    print_diff(comparison, Console(file=out, width=width, highlight=False))
    return out.getvalue()


def prose(page):
    """The page without its line ends."""
    return " ".join(page.split())


# The arithmetic


def test_two_groups_by_hand():
    """R: 0.62 and 0.40, mean 0.51. w_x: 0.6 and 0.8, w_y: 0.4 and 0.2. r_x: 0.5 and 0.3."""
    found = difference(A, B, ["evicted", "cold"])
    x, y = found.groups
    assert (x.key, y.key) == (X, Y)
    assert (found.rate_a, found.rate_b) == (Fraction(62, 100), Fraction(40, 100))
    # 0.2 * ((0.5 + 0.3) / 2 - 0.51) and (0.6 + 0.8) / 2 * (0.3 - 0.5)
    assert (x.effect.mix, x.effect.behaviour) == (Fraction("-0.022"), Fraction("-0.14"))
    # -0.2 * (0.8 - 0.51), and y hits as before
    assert (y.effect.mix, y.effect.behaviour) == (Fraction("-0.058"), 0)
    assert (found.effect.mix, found.effect.behaviour) == (Fraction("-0.08"), Fraction("-0.14"))
    # evicted: S 0.2 and 0.4; s_x 1/3 and 1/2; s_y 0. A share that rises is a loss.
    evicted = x.causes["evicted"]
    assert evicted.mix == -Fraction(2, 10) * (Fraction(5, 12) - Fraction(3, 10))
    assert evicted.behaviour == -Fraction(7, 10) * Fraction(1, 6)
    assert (y.causes["evicted"].mix, y.causes["evicted"].behaviour) == (Fraction("-0.06"), 0)
    assert found.causes["evicted"].total == Fraction("-0.2")
    # cold: S 0.18 and 0.20; s_x 1/6 and 1/5; s_y 1/5
    cold = x.causes["cold"]
    assert (cold.mix, cold.behaviour) == (Fraction(1, 750), -Fraction(7, 300))
    assert (y.causes["cold"].mix, y.causes["cold"].behaviour) == (Fraction("0.002"), 0)
    assert found.causes["cold"].total == Fraction("-0.02")
    assert found.largest_cause == "evicted"


def test_a_group_of_one_side_is_all_mix():
    """w_y: 0 and 0.5, r_y = 0 on both by the rule; R: 0.5 and 0.25."""
    a = {X: {"hit": 50, "cold": 50}}
    b = {X: {"hit": 50, "cold": 50}, Y: {"hit": 0, "cold": 100}}
    found = difference(a, b, ["cold"])
    effects = {group.key: group.effect for group in found.groups}
    assert {group.key: dict(group.tokens_a) for group in found.groups}[Y] == {}
    # -0.5 * (0.5 - 0.375) and 0.5 * (0 - 0.375)
    assert (effects[X].mix, effects[X].behaviour) == (-Fraction(1, 16), 0)
    assert (effects[Y].mix, effects[Y].behaviour) == (-Fraction(3, 16), 0)
    assert found.effect.total == -Fraction(1, 4)


def test_a_cause_of_one_side_counts_as_zero_on_the_other():
    a = {X: {"hit": 10, "elsewhere": 30, "cold": 60}}
    b = {X: {"hit": 10, "cold": 90}}
    found = difference(a, b, ["elsewhere", "cold"])
    assert found.causes["elsewhere"].total == Fraction(30, 100)
    assert found.causes["cold"].total == -Fraction(30, 100)
    assert found.effect.total == 0


def test_groups_without_a_token_are_left_out_and_none_moves_nothing():
    a = {X: {"hit": 1, "cold": 1}, Y: {"hit": 0, "cold": 0}}
    found = difference(a, a, ["cold"])
    assert [group.key for group in found.groups] == [X]
    assert found.largest_cause is None


def test_check_notices_what_does_not_add_up():
    found = difference(A, B, ["evicted", "cold"])
    for field, wrong in (
        ("tokens_a", {**found.tokens_a, "hit": 621}),
        ("groups", found.groups[:1]),
        ("causes", {"evicted": found.causes["evicted"]}),
        ("effect", found.causes["cold"]),
    ):
        values = {name: getattr(found, name) for name in type(found).__slots__}
        with pytest.raises(AssertionError):
            type(found)(**{**values, field: wrong}).check()


def test_the_largest_groups_keep_their_names():
    assert largest_groups({"a": 1, "b": 5}, {"a": 5, "c": 6, "d": 2}, most=2) == {"a", "c"}
    assert largest_groups({"b": 3, "a": 3}, {"c": 3}, most=2) == {"a", "b"}
    many = {f"s{i}": i + 1 for i in range(MOST_GROUPS + 7)}
    assert len(largest_groups(many, many)) == MOST_GROUPS
    assert "s6" not in largest_groups(many, {})


def test_steps_end_at_powers_of_two():
    values = np.array([-1, 0, 1, 2, 3, 4, 5, 8, 9, 1024, 1025, 2**40])
    steps = steps_of_two(values)
    assert [steps.of(i) for i in range(len(values))] == [
        None,
        *("0", "1", "2", "3-4", "3-4", "5-8", "5-8", "9-16", "513-1,024", "1,025-2,048"),
        "549,755,813,889-1,099,511,627,776",
    ]
    assert steps_of_two(np.array([], dtype=np.int64)).names[:3] == ("0", "1", "2")


# The example of docs/diff.md


@pytest.fixture
def days(tmp_path):
    """The two traces that docs/diff.md shows."""
    page = (ROOT / "docs" / "diff.md").read_text()
    blocks = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    for name, block in zip(("monday", "tuesday"), blocks, strict=True):
        (tmp_path / f"{name}.jsonl").write_text(block)
    return tmp_path


def test_the_worked_example(days):
    """By hand. chat: w 0.8 and 0.6, r 1/2 and 1/3; batch: w 0.2 and 0.4, r 0. Mean R: 0.3."""
    found = compared(days / "monday.jsonl", days / "tuesday.jsonl")
    assert (found.by, found.by_was_asked) == ("tenant", False)
    chat, batch = found.difference.groups
    assert (chat.key.name, batch.key.name) == ("chat", "batch")
    assert (chat.effect.mix, chat.effect.behaviour) == (-Fraction(7, 300), -Fraction(7, 60))
    assert (batch.effect.mix, batch.effect.behaviour) == (-Fraction(6, 100), 0)
    isolated, cold = (chat.causes[name] for name in ("isolated", "cold"))
    assert (isolated.mix, isolated.behaviour) == (Fraction(1, 75), -Fraction(7, 30))
    assert (cold.mix, cold.behaviour) == (-Fraction(11, 300), Fraction(7, 60))
    assert found.difference.causes["cold"].total == 0


def test_the_page_of_the_documentation_is_what_the_command_prints(days, monkeypatch):
    monkeypatch.chdir(days)
    ended = call("diff", "monday.jsonl", "tuesday.jsonl")
    assert ended.code == 0, ended.err
    page = (ROOT / "docs" / "diff.md").read_text()
    shown = page.split("prints\n\n```\n")[1].split("```")[0]
    assert [line.strip() for line in shown.splitlines() if line.strip()] == [
        line.strip() for line in ended.text.splitlines() if line.strip()
    ]


def test_the_document_holds_what_is_needed_to_do_it_again(days):
    found = compared(days / "monday.jsonl", days / "tuesday.jsonl")
    document = json.loads(json.dumps(diff_document(found, Setting())))
    assert document["schema"] == "hitpath.diff/1"
    assert document["a"]["tokens"]["hit"] == 80
    assert document["a"]["tokens"]["in_flight"] is None
    wholes = [document[side]["prompt_tokens"] for side in ("a", "b")]
    mix = behaviour = 0.0
    for group in document["groups"]:
        w_a, w_b = group["prompt_tokens_a"] / wholes[0], group["prompt_tokens_b"] / wholes[1]
        r_a = group["tokens_a"]["hit"] / group["prompt_tokens_a"]
        r_b = group["tokens_b"]["hit"] / group["prompt_tokens_b"]
        mean = (document["a"]["hit_rate"] + document["b"]["hit_rate"]) / 2
        assert group["mix"] == pytest.approx((w_b - w_a) * ((r_a + r_b) / 2 - mean))
        assert group["behaviour"] == pytest.approx((w_a + w_b) / 2 * (r_b - r_a))
        mix, behaviour = mix + group["mix"], behaviour + group["behaviour"]
    assert (document["mix"], document["behaviour"]) == pytest.approx((mix, behaviour))
    assert document["effect"] == pytest.approx(-0.2)


def test_every_json_key_is_documented(tmp_path, days):
    page = (ROOT / "docs" / "diff.md").read_text()
    (days / "broken.jsonl").write_text((days / "monday.jsonl").read_text() + "{}\n")
    found = compared(days / "broken.jsonl", days / "tuesday.jsonl", skip=True)
    lengths = write_jsonl(tmp_path / "l.jsonl", LENGTHS)
    others = compared(lengths, lengths)
    keys = {*keys_of(diff_document(found, Setting())), *keys_of(diff_document(others, Setting()))}
    assert not [key for key in sorted(keys) if f"`{key}`" not in page]


# By which label


def test_the_default_label(tmp_path):
    def default(*rows):
        return compared(*(write_jsonl(tmp_path / f"{i}.jsonl", r) for i, r in enumerate(rows))).by

    plain = [{k: v for k, v in row.items() if k != "tenant"} for row in DAY_A]
    named = [{**row, "model": f"m{i}"} for i, row in enumerate(plain)]
    sessions = [{**row, "session": "s"} for row in plain]
    one = [{**row, "tenant": "t"} for row in plain]
    assert default(DAY_A, DAY_A) == "tenant"
    assert default(plain, DAY_A) == "length"
    assert default(named, named) == "model"
    assert default(sessions, sessions) == "turn"
    assert default(one, one) == "length"
    assert default(one, [*one, {**plain[0], "id": "u", "tenant": "u"}]) == "tenant"
    # two tenants that never meet would make everything mix
    assert default(one, [{**row, "tenant": "u"} for row in plain]) == "length"
    assert default([*one[:2], plain[2]], one) == "tenant"


def test_rows_without_a_name_are_a_group_of_their_own(tmp_path):
    rows = [*DAY_A[:2], {k: v for k, v in DAY_A[2].items() if k != "tenant"}]
    path, other = write_jsonl(tmp_path / "n.jsonl", rows), write_jsonl(tmp_path / "a.jsonl", DAY_A)
    found = compared(path, other)
    assert {group.key.name for group in found.difference.groups} == {"chat", "batch", None}
    assert "(none)" in page_of(found)
    assert any(
        note.startswith("20.0% of A's prompt tokens and 20.0% of B's are in groups by tenant")
        for note in found.warnings
    )


def many(tmp_path, name, small_hit):
    """299 tenants of growing prompts, each sent twice, and one that is named `others`. The 100
    smallest hit on one side only: nothing else moves but by its share."""
    rows = []
    for i in range(299):
        texts = ["same", "same"] if i >= 100 or small_hit else ["one", "other"]
        for text in texts:
            row = {"id": len(rows), "arrival_s": len(rows), "tenant": f"t{i:03}"}
            rows.append({**row, "segments": [[f"{text} {i}", 160 + i]]})
    rows.append({"id": "o", "arrival_s": 9e9, "tenant": "others", "segments": [["o", 9000]]})
    return write_jsonl(tmp_path / name, rows)


def test_small_groups_become_others_and_the_column_still_adds_up(tmp_path):
    found = compared(many(tmp_path, "a", True), many(tmp_path, "b", False))
    keys = {group.key for group in found.difference.groups}
    assert {GroupKey("others"), GroupKey("others", 100)} <= keys
    assert len(keys) == MOST_GROUPS + 1
    assert GroupKey("t100") in keys
    assert GroupKey("t099") not in keys
    assert "the 100 smallest groups by tenant are one group here, others" in found.warnings
    assert found.difference.groups[0].key == GroupKey("others", 100)
    page = page_of(found, 200)
    assert "others (100 groups)" in page
    cells = [line for line in page.split("Groups by tenant")[1].splitlines() if "%" in line]
    assert len(cells) == 12 + 1 + 1
    assert cells[12].strip().startswith("… and 189 more")
    shown = found.difference.groups[:12]
    rest = found.difference.effect.total - sum(group.effect.total for group in shown)
    assert points(rest) in cells[12]


def test_the_rows_that_are_not_shown_count_every_merged_group(tmp_path):
    """The same on both sides: nothing moves, and of equals the most tokens come first."""
    same = many(tmp_path, "a", True)
    found = compared(same, same)
    places = [group.key for group in found.difference.groups]
    assert places.index(GroupKey("others", 100)) >= 12
    assert f"… and {299 + 1 - 12:,} more" in page_of(found, 200)


# The page


def test_a_long_name_gives_way(tmp_path):
    rows = [{**row, "tenant": f"{'x' * 400}\n\x1b[31m{row['tenant']}"} for row in DAY_A]
    path = write_jsonl(tmp_path / "l.jsonl", rows)
    page = page_of(compared(path, path), 80)
    assert all(len(line) <= 80 for line in page.splitlines())
    assert "\x1b" not in page


def test_points():
    assert points(Fraction(0)) == "0.00"
    assert points(Fraction(1, 80)) == "+1.25"
    assert points(-Fraction(1337, 10_000)) == "-13.37"
    assert points(-Fraction(1, 10**9)) == "+0.00"


def test_the_answer_in_one_sentence():
    fell = answer(difference(A, B, ["evicted", "cold"]))
    assert fell == (
        "The hit rate fell from 62.00 % to 40.00 %: -22.00 points, of which mix -8.00 and "
        "behaviour -14.00; the largest cause: evicted -20.00"
    )
    rose = answer(difference(B, A, ["evicted", "cold"]))
    assert rose.startswith("The hit rate rose from 40.00 % to 62.00 %: +22.00 points")
    same = answer(difference(A, A, ["evicted", "cold"]))
    assert same == "The hit rate did not move: 62.00 % on both sides, mix 0.00 and behaviour 0.00"


def test_bad_rows_are_listed(tmp_path):
    path = write_jsonl(tmp_path / "b.jsonl", [*DAY_A, {"id": "x"}])
    full = write_jsonl(tmp_path / "f.jsonl", DAY_A)
    assert call("diff", full, path).code == 2
    page = page_of(compared(full, path, skip=True))
    assert "Skipped rows of B: 1" in page
    assert "b.jsonl:4" in page
    assert "B: 1 rows skipped" in page

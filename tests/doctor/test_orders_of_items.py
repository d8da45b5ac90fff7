"""What stands in another order within a line, or over lines that only their numbers tell apart; each
with what looks alike and is not. Written by hand."""

import json
import random
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from hitpath.core import Setting
from hitpath.doctor.json_strings import opened_blocks
from hitpath.doctor.leaf import leaf_changes
from hitpath.doctor.leaf_change import LeafChange
from hitpath.report.doctor_run import examine, open_subject

RULES = "You are the desk of a small hotel; be brief and kind, and never quote a rate.\n" * 2


def changes(there: str, here: str) -> list[LeafChange]:
    return leaf_changes(f"{RULES}{there}\n{RULES}", f"{RULES}{here}\n{RULES}", "system")


def kinds(there: str, here: str) -> set[str]:
    return {change.kind for change in changes(there, here)}


# ruff: noqa: E501
ARRAYS = [
    ("Closed counters: 560, 3, 9, 221, 87, 14.", "Closed counters: 3, 221, 87, 14, 9, 560."),
    ("Rooms: 560 3 9", "Rooms: 3 9 560"),
    ("weights: 3.0, 0.5, 9.5", "weights: 0.5, 9.5, 3.0"),
    ("codes 1,2,3,40,5", "codes 40,2,3,1,5"),
    ("rows 12, 3 and 9 are closed", "rows 3, 9 and 12 are closed"),
    ("Dear guest, rooms 560, 3, 9 are closed, sorry.", "Dear guest, rooms 3, 560, 9 are closed, sorry."),
    ("Dear guest, rooms 560 3 9 are closed, sorry.", "Dear guest, rooms 3 560 9 are closed, sorry."),
    ("Dear guest, we speak German, French and Italian here, sorry.", "Dear guest, we speak French, Italian and German here, sorry."),
    ("Ask Dr Ann, Dr Bob or Dr Cy about it, please.", "Ask Dr Bob, Dr Cy or Dr Ann about it, please."),
    ("closed = [560, 3, 9]", "closed = [3, 560, 9]"),
    ("Slots: 12:30, 14:00, 9:15", "Slots: 9:15, 12:30, 14:00"),
    ("Rooms R12, R7 and R40", "Rooms R7, R40 and R12"),
    ('allow("red, blue, green") now.', 'allow("green, red, blue") now.'),
    ("Sources: https://a.x/1, https://b.y, http://c.z", "Sources: http://c.z, https://a.x/1, https://b.y"),
    ("see C:/a and D:/b", "see D:/b and C:/a"),
    ("Path 3 -> 9 -> 14 -> 2", "Path 9 -> 3 -> 2 -> 14"),
    ("3、9、14", "9、14、3"),
    ("Offsets: -5, 3, -12", "Offsets: 3, -12, -5"),
    ("- 560\n- 3\n- 9", "- 3\n- 9\n- 560"),
    ("no,rate\n7,80\n9,120\n12,95\n14,70", "no,rate\n7,80\n14,70\n12,95\n9,120"),
    ("1. Room 560\n2. Room 3\n3. Room 87", "1. Room 3\n2. Room 87\n3. Room 560"),
    ("1. invoices\n2. ideas\n3. project_x\n4. notes\n5. holidays ", "1. ideas\n2. invoices\n3. holidays\n4. project_x\n5. notes "),
    ("Folders: 1. invoices\n2. ideas\n3. project_x\n4. notes\n5. holidays and no others.", "Folders: 1. ideas\n2. invoices\n3. holidays\n4. notes\n5. project_x and no others."),
    ("Run `export -x -q -n -v` only.", "Run `export -q -x -v -n` only."),
    ("Use `tool /q /v /x:5 /n`.", "Use `tool /x:5 /n /q /v`."),
]  # fmt: skip
KEYS = [
    ("Run `export --lang=de --rows=71 --full=yes` only.", "Run `export --rows=71 --full=yes --lang=de` only."),
    ("Run `export --lang de --rows 71 --full yes` only.", "Run `export --rows 71 --full yes --lang de` only."),
    ("Run with rows=71 lang=de full=yes.", "Run with full=yes lang=de rows=71."),
    ('<p style="margin: 0; width: 50px; color: red">', '<p style="width: 50px; color: red; margin: 0">'),
    ("Use rows: 71 lang: de full: yes here.", "Use full: yes lang: de rows: 71 here."),
    ("(export :rows 71 :lang de :full yes)", "(export :full yes :lang de :rows 71)"),
    ("$x = array('rows' => 71, 'sort' => 'asc', 'lang' => 'de');", "$x = array('sort' => 'asc', 'lang' => 'de', 'rows' => 71);"),
    ('Connect by "Server=a.b;Port=71;Database=x y;" only.', 'Connect by "Database=x y;Port=71;Server=a.b;" only.'),
    ("Settings\ndesk.rows: 40\ndesk.mode: strict\ndesk.lang: de", "Settings\ndesk.mode: strict\ndesk.rows: 40\ndesk.lang: de"),
]  # fmt: skip
MOVED = [
    ("Be brief. Be kind to all. Ask once.", "Be kind to all. Ask once. Be brief."),
    ("Room 12 is closed.\nRoom 31 is closed.\nRoom 7 is closed.", "Room 7 is closed.\nRoom 12 is closed.\nRoom 31 is closed."),
    ("Tools\nmine: Break blocks.\nmove_to: Walk to a place.\nlook: Tell what is near.", "Tools\nmove_to: Walk to a place.\nlook: Tell what is near.\nmine: Break blocks."),
    ("Tools\nmine: Break blocks with it\nmove_to: Walk to a place\nlook: Tell what is near", "Tools\nmove_to: Walk to a place\nlook: Tell what is near\nmine: Break blocks with it"),
]  # fmt: skip
OTHERS = [
    ("Dice: 4, 18, 7", "Dice: 2, 18, 9", "?number"),
    ("Score 3, 5", "Score 5, 3", "?number"),
    ("Total 123,456,789", "Total 456,123,789", "?number"),
    ("step 3/4/7", "step 4/3/7", "?number"),
    ("At 10:12:21 now", "At 10:21:12 now", "clock"),
    ("It is 12.10.2026", "It is 10.12.2026", "clock"),
    ("It is 2026-10-12", "It is 2026-12-10", "clock"),
    ("Turn 3\nTurn 4", "Turn 4\nTurn 3", "?number"),
    ("Yes. No. Maybe so.", "No. Yes. Maybe so.", "?words"),
    ("Ann: yes Bob: no", "Ann: no Bob: yes", "?words"),
    ("seed:3 step:5", "seed:5 step:3", "?number"),
    ("the dog bit the man", "the man bit the dog", "?words"),
    ("Fly from 12 to 21", "Fly from 21 to 12", "?number"),
    ("[1, 2, 3]", "[1,2,3]", "white_space"),
    ("sku, qty\nA1, 55\nB2, 7", "sku,qty\nA1,55\nB2,7", "white_space"),
    ("1,000 rows", "1000 rows", "number_format"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("there", "here", "kind"),
    [
        *[(*pair, "array_order") for pair in ARRAYS],
        *[(*pair, "key_order") for pair in KEYS],
        *[(*pair, "moved_block") for pair in MOVED],
        *OTHERS,
    ],
)
def test_orders_and_what_looks_alike(there: str, here: str, kind: str) -> None:
    assert kinds(there, here) == {kind}
    assert kinds(here, there) == {kind}


VALUE = {"tier": "gold", "open": 6, "tags": ["a", "b"], "limit": {"rows": 3, "days": 9}}


def twice(value: object) -> str:
    return json.dumps(json.dumps(value))


BESIDE = [
    ("Modes: fast, slow, exact. Regions: us, eu, ap.", "Modes: slow, exact, fast. Regions: eu, ap, us.", set()),
    ("Closed are rooms 5, 3, 9 today; floors 9, 3, 5 tomorrow.", "Closed are rooms 3, 5, 9 today; floors 5, 9, 3 tomorrow.", set()),
    ("It is 2026-03-09 10:21. Modes: fast, slow, exact.", "It is 2026-03-09 10:29. Modes: slow, exact, fast.", {"clock"}),
    ("You are at turn 7. Modes: fast, slow, exact.", "You are at turn 8. Modes: slow, exact, fast.", {"?number"}),
    ("You serve Ann. Modes: fast, slow, exact.", "You serve Bob. Modes: slow, exact, fast.", {"?words"}),
]  # fmt: skip


@pytest.mark.parametrize(("there", "here", "others"), BESIDE)
def test_sentences_of_a_line_are_looked_at_one_by_one(
    there: str, here: str, others: set[str]
) -> None:
    assert kinds(there, here) == {"array_order", *others}
    assert kinds(here, there) == {"array_order", *others}


@pytest.mark.parametrize("form", ["payload={}", 'Ticket: {{"kind": "case", "payload": {}}}'])
def test_orders_within_escaped_json(form: str) -> None:
    keys = form.format(twice(dict(reversed(VALUE.items()))))
    tags = form.format(twice({**VALUE, "tags": ["b", "a"]}))
    other = form.format(twice({**VALUE, "open": 7}))
    assert kinds(form.format(twice(VALUE)), keys) == {"key_order"}
    assert kinds(form.format(twice(VALUE)), tags) == {"array_order"}
    assert kinds(form.format(twice(VALUE)), other) == {"?number"}


def test_a_telephones_number_is_no_list() -> None:
    assert "array_order" not in kinds("Call 555-123-456", "Call 555-456-123")


def listed(*lines: str) -> str:
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))


STEPS = ("read the log", "stop the pump", "call the desk")


@pytest.mark.parametrize("at", range(4))
def test_numbers_of_a_list_that_gained_a_line_are_part_of_it(at: int) -> None:
    longer = [*STEPS[:at], "wash your hands", *STEPS[at:]]
    for there, here in ((STEPS, longer), (longer, STEPS)):
        (change,) = changes(listed(*there), listed(*here))
        assert change.kind == "?words"
        assert "wash your hands" in change.there + change.here
        assert "21." not in change.there + change.here


def test_a_heading_is_numbered_too() -> None:
    there = "\n".join(f"### Rule {n}\n{step}\n" for n, step in enumerate(STEPS, 1))
    steps = ("wash your hands", *STEPS)
    here = "\n".join(f"### Rule {n}\n{step}\n" for n, step in enumerate(steps, 1))
    assert kinds(there, here) == {"?words"}


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("Step 2 of 12", "Step 3 of 12"),
        ("3. be kind", "4. be kind"),
        ("Row 7: x y z", "Be quick.\nRow 8: x y z"),
        (f"{listed(*STEPS)}\n7. visit", f"{listed('wash your hands', *STEPS)}\n6. visit"),
        (f"{listed(*STEPS)}\n7. visit", f"{listed('wash your hands', *STEPS)}\n12. visit"),
        (f"{listed(*STEPS)}\nTurn 7", f"{listed('wash your hands', *STEPS)}\nTurn 8"),
    ],
)
def test_a_number_that_no_list_explains_still_counts(there: str, here: str) -> None:
    assert "?number" in kinds(there, here)


def test_json_in_strings_is_opened() -> None:
    inner = twice(VALUE)
    outer = json.dumps({"payload": json.dumps(VALUE)})
    for text in (f"payload={inner} now", f"curl -d {inner[1:-1]} now", f"Ticket: {outer}"):
        ((start, stop, value),) = opened_blocks(text)
        assert value in (VALUE, {"payload": VALUE})
        assert text[start] == "{"
        assert text[stop - 1] == "}"
    ((start, stop, value),) = opened_blocks(f"args {twice({'n': 1, 'p': json.dumps(VALUE)})}")
    assert value == {"n": 1, "p": VALUE}


def test_escaped_json_ends_where_it_ends() -> None:
    smile = {"a": "\U0001f600é", "b": 1}
    text = f'x={twice(smile)} then {{"c": 2}}'
    found = [(text[start:stop], value) for start, stop, value in opened_blocks(text)]
    assert [value for _, value in found] == [smile, {"c": 2}]
    assert found[0][0].endswith("1}")


@pytest.mark.parametrize(
    "text", ['{\\"a', '[\\"a\\", {', '{\\"a\\": 1', "{\\x", '{"a": "{"}', "[" * 5000]
)
def test_what_is_no_json_is_none(text: str) -> None:
    assert [value for _, _, value in opened_blocks(text)] in ([], [{"a": "{"}])


def _numbers(own: random.Random, num: int) -> list[str]:
    return [str(own.randrange(10**6)) for _ in range(num)]


def test_long_lists_take_no_long_time() -> None:
    own = random.Random(3)
    lists = [_numbers(own, 60) for _ in range(100)]
    there = "\n".join(map(", ".join, lists))
    here = "\n".join(", ".join(own.sample(x, len(x))) for x in lists)
    digits = "\n".join("".join(own.sample(line, len(line))) for line in there.split("\n"))
    rooms = [f"Room {number}" for number in range(3_000)]
    moved = "\n".join(own.sample(rooms, len(rooms)))
    start = time.process_time()
    assert kinds(there, here) == {"array_order"}
    leaf_changes(there, digits, "system")
    assert kinds("\n".join(rooms), moved) == {"moved_block"}
    opened_blocks('{\\"' * 5_000)
    assert time.process_time() - start < 10


def told(folder: Path, lines: list[str]) -> Counter[str]:
    """The kinds of a trace whose instructions hold one line of these each, three turns a session."""
    rows = [
        {
            "id": str(number), "arrival_s": number * 20, "session": f"s{number // 3}",
            "messages": [
                {"role": "system", "content": f"{RULES}{line}\n{RULES}"},
                {"role": "user", "content": f"Is room {number // 3} free?"},
                *[{"role": "user", "content": f"And then, {turn}?"} for turn in range(number % 3)],
            ],
        }
        for number, line in enumerate(lines)
    ]  # fmt: skip
    path = folder / "trace.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = examine(open_subject([str(path)], Setting()), what_ifs=False)
    return Counter({defect.kind: defect.num_requests for defect in found.defects})


NUMBERS = ["560", "3", "9", "221", "87", "14"]
NAMES = ["red", "blue", "green", "grey"]


def test_a_short_list_that_is_drawn_anew_is_never_an_order(tmp_path: Path) -> None:
    own = random.Random(5)
    dice = [f"Dice: {', '.join(own.choices('123456', k=3))}" for _ in range(60)]
    assert any(
        one != other and sorted(one) == sorted(other) for one, other in pairwise(dice)
    )  # by chance
    assert set(told(tmp_path, dice)) == {"random_sample"}
    names = [f"Use: {', '.join(own.sample(NAMES, 3))}" for _ in range(40)]
    assert set(told(tmp_path, names)) == {"random_sample"}


def test_a_list_that_is_shuffled_stays_one_though_a_member_changed(tmp_path: Path) -> None:
    own = random.Random(6)
    lists = [own.sample([*NUMBERS[: 6 - (n in (5, 9))], "777"][:6], 6) for n in range(20)]
    found = told(tmp_path, [f"Closed: {', '.join(members)}" for members in lists])
    assert found["array_order"] >= 14
    assert found["random_sample"] + found["edited_message"] <= 4


def test_a_list_is_told_beside_a_clock_of_its_line(tmp_path: Path) -> None:
    own = random.Random(7)
    lines = [
        f"It is 2026-03-09 10:{n:02d}:07. Closed: {', '.join(own.sample(NUMBERS, 6))}."
        for n in range(15)
    ]
    assert set(told(tmp_path, lines)) == {"clock", "array_order"}

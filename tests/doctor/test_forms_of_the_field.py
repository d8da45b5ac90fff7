"""Shapes as applications in the field write them, each with what must not be taken for it. Written
by hand."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from hitpath.core import Setting
from hitpath.doctor.compare import compare
from hitpath.doctor.diagnosis import Diagnosis
from hitpath.doctor.flat import flat_prompt
from hitpath.doctor.flat_compare import cut_of_flat
from hitpath.doctor.leaf import leaf_changes
from hitpath.doctor.literals import literal_blocks
from hitpath.report.doctor_run import examine, open_subject


def kinds(there: str, here: str) -> set[str]:
    return {change.kind for change in leaf_changes(there, here, "system")}


# ruff: noqa: E501
SHAPES = [
    ("Attempt: this is your 7th try.", "Attempt: this is your 8th try.", "?number"),
    ("It is your 1st visit.", "It is your 2nd visit.", "?number"),
    ("Loop 8: 6992 iterations left", "Loop 9: 6991 iterations left", "?number"),
    ("weight: 2kg", "weight: 3kg", "?number"),
    ("Bugün 9 Mart 2026, saat 18.37.", "Bugün 9 Mart 2026, saat 18.41.", "clock"),
    ("Dziś jest 9 marca 2026, godz. 8.05.", "Dziś jest 10 marca 2026, godz. 7.15.", "clock"),
    ("Hôm nay là ngày 9 tháng 3 năm 2026, 18:37:00.", "Hôm nay là ngày 10 tháng 3 năm 2026, 07:02:41.", "clock"),
    ("Vandaag is maandag 9 maart 2026.", "Vandaag is dinsdag 10 maart 2026.", "clock"),
    ("الآن ٠٩/٠٣/٢٠٢٦ ١٠:٠٩:٢٣", "الآن ٠٩/٠٣/٢٠٢٦ ١٠:١٩:٤٠", "clock"),
    ("Uptime: 0h 35m 8s", "Uptime: 0h 36m 19s", "clock"),
    ("now = datetime.datetime(2025, 11, 29, 7, 21, 22)", "now = datetime.datetime(2025, 11, 29, 7, 22, 21)", "clock"),
    ('{"user_tz": "UTC", "ts": 1773039418.191000}\n\nHelp them.', "Help them.", "clock"),
    ("Sie sagte: „ja“.", 'Sie sagte: "ja".', "unicode_form"),
    ("Il a dit « oui ».", 'Il a dit "oui".', "unicode_form"),
    ("Le café crème", "Le cafÃ© crÃ¨me", "unicode_form"),
    ("Ask R&amp;D first.", "Ask R&D first.", "unicode_form"),
    ("limit ١٢", "limit 12", "unicode_form"),
    ("Das Limit liegt bei 20000 Zeichen", "Das Limit liegt bei 20.000 Zeichen", "number_format"),
    ("Maximal 20’000 Franken", "Maximal 20000 Franken", "number_format"),
    ("weight: 2kg", "weight: 2.0kg", "number_format"),
    ("Il a dit « oui ».", "Il a dit «\u00a0oui\u00a0».", "unicode_form"),
    ("Session started 5 minutes ago", "Session started 12 minutes ago", "clock"),
    ("it is half past nine", "it is quarter to ten", "clock"),
    ("hour=9 minute=5", "hour=10 minute=41", "clock"),
    ("Dnes je pondělí 9. 3. 2026, 19:43", "Dnes je úterý 10. 3. 2026, 08:42", "clock"),
    ("現在時刻: 午前9時5分", "現在時刻: 午後2時41分", "clock"),
    ("plan v3 holds", "plan v4 holds", "?number"),
    ("You can read, write and run.", "You can run, read and write.", "array_order"),
    ("scopes: openid email profile", "scopes: profile openid email", "array_order"),
    ("Sorry.", "Sorry.\n<!-- rid:1ac5ddf3e675 -->", "?id"),
    ("Message-Id: <a11595b814d367672030@mail.example.org>", "Message-Id: <ecfcfb2901925289002f@mail.example.org>", "?id"),
    ("event: evt_pEAqacvaHQEgEIfdJSAVDbnv; api", "event: evt_aEAqaQeWHQEgEIfdRSAVDbnv; api", "?id"),
    ("state: ok; lot of it; req 8f3a2b1c9d", "state: ok; lot of it; req 1c9d8f3a2b", "?id"),
    ("Now: {'owner': None, 'limit': 7, 'on': True}", "Now: {'on': True, 'owner': None, 'limit': 7}", "key_order"),
    ("allowed = {'a', 'b', 'c'}", "allowed = {'c', 'a', 'b'}", "array_order"),
    ("Config(limit=5, mode=fast, ttl=9) is set", "Config(mode=fast, ttl=9, limit=5) is set", "key_order"),
    ('<doc id="1" lang="en" src="a.md">', '<doc lang="en" id="1" src="a.md">', "key_order"),
    ("See /v1/x?a=1&b=2&c=3 now", "See /v1/x?c=3&a=1&b=2 now", "key_order"),
    ("Use {owner: null, limit: 78} now", "Use {limit: 78, owner: null} now", "key_order"),
    ("Regions: us, eu, and ap.", "Regions: ap, us, and eu.", "array_order"),
    ("Set so:\n```yaml\nrows: 35\nregion: us\non: true\n``` Then go.", "Set so:\n```yaml\non: true\nrows: 35\nregion: us\n``` Then go.", "key_order"),
]  # fmt: skip
OTHERS = [
    ("You serve Ann, who likes Bob.", "You serve Bob, who likes Ann.", {"array_order", "key_order", "moved_block"}),
    ("Flight 12 to 21", "Flight 21 to 12", {"array_order", "number_format", "clock"}),
    ("Pick five to ten items", "Pick six to ten items", {"clock"}),
    ("At most 30 requests per hour: 30", "At most 30 requests per hour: 40", {"clock"}),
    ("Sorry.", "Sorry.\nSee model gpt4o2024 for all", {"?id"}),
    ("name: the red fox runs", "name: the fox red runs.", {"key_order"}),
    ("The limit is 20.000 km", "The limit is 21.000 km", {"number_format"}),
    ("weight: 2kg", "weight: 2lb", {"number_format"}),
    ("Write to ann@example.org", "Write to bob@example.org", {"?id"}),
    ("call getUserByIdFromDB now", "call setUserByIdFromDB now", {"request_id", "counter"}),
    ("Le café est bon", "Le thé est bon", {"unicode_form"}),
    ("It is 2025, 12 years on", "It is 2025, 13 years on", {"clock", "array_order"}),
]  # fmt: skip


@pytest.mark.parametrize(("there", "here", "kind"), SHAPES)
def test_each_form_is_of_its_kind(there: str, here: str, kind: str) -> None:
    assert kinds(there, here) == {kind}
    assert kinds(here, there) == {kind}


@pytest.mark.parametrize(("there", "here", "not_kinds"), OTHERS)
def test_what_looks_alike_is_not(there: str, here: str, not_kinds: set[str]) -> None:
    found = kinds(there, here)
    assert found
    assert not found & not_kinds


def test_excerpts_keep_the_digits_that_stand_there() -> None:
    (change,) = leaf_changes("الآن ٠٩/٠٣/٢٠٢٦", "الآن ١٠/٠٣/٢٠٢٦", "system")
    assert (change.there, change.here) == ("٠٩/٠٣/٢٠٢٦", "١٠/٠٣/٢٠٢٦")


TOOLS = ["search(q: str) - Find pages.", "sql(q: str) - Run a statement.", "mail(q: str) - Write."]


@pytest.mark.parametrize(
    ("before", "behind"), [("", ""), ("You may call: ", " Be brief."), ("A\n", "\nB")]
)
def test_lines_in_another_order_are_one_move_also_in_a_sentence(before: str, behind: str) -> None:
    one = before + "\n".join(TOOLS) + behind
    other = before + "\n".join(TOOLS[::-1]) + behind
    (change,) = leaf_changes(one, other, "system")
    assert change.kind == "moved_block"
    assert one[: change.first] == other[: change.first]
    assert one[change.first] != other[change.first]


def test_paragraphs_moved_and_examples_drawn_are_two_defects() -> None:
    files = [f"## {name}\nThe {name} archive is read only." for name in ("a.md", "b.md", "c.md")]
    rules = "Read a record first.\nBe kind to all callers.\nNever promise a date.\n"
    shots = ["Q: Is it open?\nA: Until six.\n", "Q: May I pay later?\nA: Within a week.\n"]
    one = "\n\n".join(files) + "\n\n" + rules + shots[0]
    other = "\n\n".join(files[::-1]) + "\n\n" + rules + shots[1]
    found = [change.kind for change in leaf_changes(one, other, "system")]
    assert found[0] == "moved_block"
    assert set(found[1:]) == {"?words"}


def test_a_list_of_which_members_were_exchanged_is_one_change() -> None:
    one = "Be kind. Suggested follow-ups: Who is my contact?; I was charged twice.; What is new?"
    other = "Be kind. Suggested follow-ups: I was charged twice.; Who is my contact?; Is it open?"
    (change,) = leaf_changes(one, other, "system")
    assert (change.kind, change.label) == ("?words", "Be kind. Suggested follow-ups:")


def test_the_same_question_in_another_form_is_no_new_one() -> None:
    cut = cut_of_flat(
        "Valid? Höchstbetrag: 1234,50 EUR", "Valid? Höchstbetrag: 1.234,50 EUR", False
    )
    assert [change.kind for change in cut.changes] == ["number_format"]
    assert not cut_of_flat("Book 2 seats at 10:00", "Book 3 seats at 11:00", False).changes


def test_literals_are_read_in_bounded_time() -> None:
    began = time.process_time()
    for text in ("{'a':" * 20_000, "['" * 50_000, "{'a': 1} " * 10_000, "[[[[" * 20_000 + "'x'"):
        literal_blocks(text)
    assert time.process_time() - began < 5
    assert [value for *_, value in literal_blocks("x = {'a': [1, None], 'b': -2}")] == [
        {"a": [1, None], "b": -2}
    ]
    assert literal_blocks("f({'a': open('x')})") == []


def diagnosis(folder: Path, systems: list[str], num_turns: int = 2, **more: Any) -> Diagnosis:
    """A session for each text, of a few turns; the instructions change from session to session."""
    rows = []
    for number, system in enumerate(systems):
        said = [{"role": "system", "content": system}]
        for turn in range(num_turns):
            said = [*said, {"role": "user", "content": f"Question {number}-{turn} on billing?"}]
            rows.append({"id": f"r{len(rows)}", "session": f"s{number}", "arrival_s": float(len(rows)),
                         "messages": said, **more})  # fmt: skip
            said = [*said, {"role": "assistant", "content": f"Answer {number}-{turn}."}]
    path = folder / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return examine(open_subject([str(path)], Setting()), what_ifs=False)


RULES = "Be exact and brief. Never promise a date. Hand over to a colleague when asked to.\n"


def told(found: Diagnosis) -> set[str]:
    return {defect.kind for defect in found.defects}


def test_a_seed_that_looks_like_a_time_is_a_seed_with_all_others(tmp_path: Path) -> None:
    seeds = [
        2012746000,
        812,
        1700000123,
        55,
        1690000009,
        777_001,
        90_210,
        13,
        1712345678,
        4_000_111,
    ]
    found = diagnosis(tmp_path, [f"{RULES}Sampling seed: {seed}\n{RULES}" for seed in seeds])
    assert told(found) == {"random_sample"}


def test_a_clock_stays_one_where_all_say_so(tmp_path: Path) -> None:
    times = [f"2026-03-09 1{hour}:0{hour}:2{hour}" for hour in range(8)]
    found = diagnosis(tmp_path, [f"{RULES}Current time: {time}\n{RULES}" for time in times])
    assert told(found) == {"clock"}


def test_memories_under_a_heading_are_of_a_user(tmp_path: Path) -> None:
    people = ["Wei lives in Pune", "Ana lives in Lima", "Ito lives in Oslo", "Wei lives in Pune",
              "Zoe lives in Bonn", "Ana lives in Lima", "Kai lives in Cork"]  # fmt: skip
    found = diagnosis(tmp_path, [f"{RULES}# Memory\n- {one}\n\n{RULES}" for one in people])
    assert told(found) == {"per_user_field"}


def test_examples_under_a_heading_are_drawn(tmp_path: Path) -> None:
    shots = [f"Customer: Is {word} open today?\nYou: Yes, {word} is." for word in
             ("Pune", "Lima", "Oslo", "Bonn", "Cork", "Graz", "Brno")]  # fmt: skip
    found = diagnosis(
        tmp_path, [f"{RULES}Here are some examples:\n\n{s}\n\n{RULES}" for s in shots]
    )
    assert told(found) == {"random_sample"}


def test_a_sentence_that_came_for_good_is_an_edit(tmp_path: Path) -> None:
    systems = [RULES + "Read first."] * 3 + [RULES + "Hello again! Read first."] * 4
    assert told(diagnosis(tmp_path, systems)) == {"edited_message"}


def test_a_parameter_more_is_told_at_the_object_that_holds_it(tmp_path: Path) -> None:
    def tool(**properties: Any) -> dict[str, Any]:
        schema = {"type": "object", "properties": {"query": {"type": "string"}, **properties}}
        return {"type": "function", "function": {"name": "find", "description": "Finds a record.",
                                                 "parameters": schema}}  # fmt: skip

    rows = [
        {"id": f"r{n}", "session": "s", "arrival_s": float(n), "tools": [tool(**more)],
         "messages": [{"role": "system", "content": RULES},
                      {"role": "user", "content": "Question on billing?"}]}
        for n, more in enumerate(({}, {"since": {"type": "string"}}))
    ]  # fmt: skip
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (defect,) = examine(open_subject([str(path)], Setting()), what_ifs=False).defects
    same = '{"query": {"type": "string"}'  # as the file has it
    assert (defect.kind, defect.json_path, defect.char_offset) == (
        "tool_set", "tools[0].function.parameters.properties", len(same),
    )  # fmt: skip


def test_names_drawn_from_a_pool_are_a_sample(tmp_path: Path) -> None:
    towns = ["Osaka, Graz, Pune, Brno", "Osaka, Malmö, Pune, Lima", "Cork, Graz, Bonn, Lima",
             "Osaka, Cork, Pune, Graz", "Bonn, Malmö, Oslo, Brno"]  # fmt: skip
    found = diagnosis(tmp_path, [f"{RULES}Offices to recommend: {x}\n{RULES}" for x in towns])
    assert told(found) <= {"random_sample", "array_order"}
    assert "random_sample" in told(found)


def test_a_log_line_has_a_kind_for_each_field(tmp_path: Path) -> None:
    people = ["Ben", "Ann", "Kai", "Ben", "Zoe", "Ann"]
    lines = [f"[07:1{n}:22] user={name} req={(n + 3) * 7_654_321:x}ab{n}2 n={n + 5}"
             for n, name in enumerate(people)]  # fmt: skip
    found = diagnosis(tmp_path, [f"{RULES}{line}\n{RULES}" for line in lines])
    assert told(found) == {"clock", "per_user_field", "request_id", "counter"}


@pytest.mark.parametrize("frame", ["\n\nuser: {}\nassistant:", "\n\n### user\n{}\n### assistant\n"])
def test_a_flat_dialogue_in_small_letters_has_messages(tmp_path: Path, frame: str) -> None:
    asked = [f"Question on order {n * 911 % 7919} of 2026-04-{n:02}?" for n in range(10, 20)]
    rows = [
        {"id": f"r{n}", "arrival_s": float(n),
         "prompt": f"{RULES * 3}Current time: 2026-05-04 09:{n}:56" + frame.format(question)}
        for n, question in enumerate(asked, 10)
    ]  # fmt: skip
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = examine(open_subject([str(path)], Setting()), what_ifs=False)
    assert told(found) == {"clock"}
    assert [defect.char_offset for defect in found.defects] == [len(RULES * 3) + 29]


@pytest.mark.parametrize(
    "thought", ["[BEGIN_THOUGHT]Look first.[END_THOUGHT]", "<seed:think>Look first.</seed:think>",
                "<|channel|>analysis<|message|>Look first.<|end|>"],
)  # fmt: skip
def test_thoughts_that_are_left_out_are_a_template_flip(thought: str) -> None:
    changes = leaf_changes(f"{thought}It is open.", "It is open.", "assistant")
    assert {change.kind for change in changes} == {"template_flip"}


def test_a_mark_at_the_head_of_the_reply_that_history_has_not_is_a_template_flip() -> None:
    start = "<|im_start|>system\nYou sell tickets.<|im_end|>\n<|im_start|>user\nTwo, please."
    head = "<|im_end|>\n<|im_start|>assistant\n"
    for mark in ("<answer>\n", "</think>\n\n"):
        said = f"{start}{head}Which day?<|im_end|>\n<|im_start|>user\nMonday{head}{mark}"
        found = compare(
            flat_prompt(f"{start}{head}{mark}", "prompt"), flat_prompt(said, "prompt"), True
        )
        assert [change.kind for change in found.changes] == ["template_flip"]
        assert found.changes[0].char_offset == len(start + head)


def test_a_date_and_time_as_mysql_logs_is_one_clock() -> None:
    one, other = "260309 22:12:30 [Note] ready", "260310 02:03:38 [Note] ready"
    changes = leaf_changes(one, other, "system")
    assert [(change.kind, change.first) for change in changes] == [("clock", 4)]
    ids = leaf_changes("ticket 260309 of 12", "ticket 260310 of 12", "system")
    assert {change.kind for change in ids} != {"clock"}


def test_an_empty_line_more_is_told_beside_an_order() -> None:
    one = 'Scroll on.\nIgnore pages.\n<settings>{"features": ["maps", "voice"]}</settings>\n'
    other = 'Scroll on.\n\nIgnore pages.\n<settings>{"features": ["voice", "maps"]}</settings>\n'
    found = [(change.kind, change.first) for change in leaf_changes(one, other, "system")]
    assert found == [("white_space", 11), ("array_order", 51)]


PEOPLE = [("Wei Berg", "Pune", "pro"), ("Ana Ruiz", "Lima", "free"), ("Dmitri Haddad", "Malmö", "starter"),
          ("Zoe Lund", "Bonn", "pro"), ("Ana Ruiz", "Lima", "free"), ("Wei Berg", "Pune", "pro"),
          ("Kai Ito", "Cork", "free")]  # fmt: skip


@pytest.mark.parametrize(
    "block", ["# Memory\n- {0} lives in {1}\n- {0}'s plan: {2}", "Klant: {0}, {1} ({2})",
              "What you know of the human:\n* called {0}\n* pays for {2}", "用户: {0} {1}"],
)  # fmt: skip
def test_whom_a_session_is_for_is_known_in_any_words(tmp_path: Path, block: str) -> None:
    found = diagnosis(tmp_path, [f"{RULES}{block.format(*who)}\n\n{RULES}" for who in PEOPLE])
    assert told(found) == {"per_user_field"}


def test_a_sentence_of_a_tool_that_comes_and_goes_is_of_its_set(tmp_path: Path) -> None:
    rows = []
    for number, more in enumerate(
        ["", " It takes several at once.", "", "", " It takes several at once.", ""]
    ):
        tool = {"type": "function", "function": {"name": "find", "description": f"Finds it.{more}",
                                                 "parameters": {"type": "object"}}}  # fmt: skip
        said = [
            {"role": "system", "content": RULES},
            {"role": "user", "content": f"Is {number} due?"},
        ]
        rows.append(
            {"id": f"r{number}", "arrival_s": float(number), "tools": [tool], "messages": said}
        )
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert told(examine(open_subject([str(path)], Setting()), what_ifs=False)) == {"tool_set"}


def test_blocks_in_another_order_are_no_window_that_moved_on() -> None:
    block = "<memory id='{0}.md'>The {0} archive is read only. Lines end with a newline.</memory>"
    blocks = [block.format(name) for name in ("rules", "notes", "main")]
    head, asked = "The hotline answers on Saturdays too.\n", "\n\nuser: Is it due?\nassistant:"
    one = head + "\n\n".join(blocks) + asked
    other = head + "\n\n".join(blocks[1:] + blocks[:1]) + asked
    assert [change.kind for change in cut_of_flat(one, other, False).changes] == ["moved_block"]
    gone = head + "\n\n".join(blocks[1:]) + asked
    assert "moved_block" not in [change.kind for change in cut_of_flat(one, gone, False).changes]

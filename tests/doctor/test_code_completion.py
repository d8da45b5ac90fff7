"""Code completion (fill in the middle): what an author types, wherever in the file, is new content;
what nobody typed is a defect."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from doctor.code_editors import (
    FILE,
    FILES,
    LAYOUTS,
    OTHERS,
    Asked,
    moved_down,
    prompt_of,
    rows_of,
    typed,
)
from hitpath.core import Setting
from hitpath.doctor.completion_marks import completion_of
from hitpath.doctor.flat import flat_prompt
from hitpath.report.doctor_run import examine, open_subject
from support import write_jsonl

if TYPE_CHECKING:
    from pathlib import Path

START = datetime(2026, 3, 1, 10, 15, 7, tzinfo=UTC)
PREFIX_FIRST = [name for name in LAYOUTS if not name.endswith("_spm")]


def found_in(rows: list[dict[str, Any]], tmp_path: Path) -> list[tuple[str, int]]:
    """Kind and character of each request's first defect."""
    trace = write_jsonl(tmp_path / "trace.jsonl", rows)
    told = examine(open_subject([str(trace)], Setting()), what_ifs=False)
    return [
        (one.comparison.changes[0].kind, one.comparison.changes[0].char_offset)
        for one in told.findings
        if one.comparison.changes
    ]


def edited(edit: Any, asked: list[Asked] | None = None) -> list[Asked]:
    asked = typed(8) if asked is None else asked
    for number, one in enumerate(asked):
        edit(number, one)
    return asked


def kinds_of(asked: list[Asked], layout: str, tmp_path: Path, **how: bool) -> set[str]:
    prompts = [prompt_of(one, layout) for one in asked]
    rows = rows_of(prompts, how.get("session", True), how.get("chat", False))
    return {kind for kind, _ in found_in(rows, tmp_path)}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_typed_is_new(layout: str, tmp_path: Path) -> None:
    assert kinds_of(typed(10), layout, tmp_path) == set()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_lines_that_go_before_the_cursor_are_new(layout: str, tmp_path: Path) -> None:
    assert kinds_of(moved_down(8), layout, tmp_path) == set()


@pytest.mark.parametrize("layout", ["qwen", "codestral_spm", "codellama_spm"])
@pytest.mark.parametrize("session", [True, False])
def test_so_it_is_in_a_message(layout: str, session: bool, tmp_path: Path) -> None:
    for asked in (typed(8), moved_down(8)):
        assert kinds_of(asked, layout, tmp_path, session=session, chat=True) == set()


def _other_numbers(number: int, asked: Asked) -> None:
    asked.lines[5] = f"START = date(2026, 3, {1 + number})"
    asked.lines[6] = f"RUN = '{number:032x}'"


def _other_lines(number: int, asked: Asked) -> None:
    if number >= 3:
        asked.lines[5] = "LIMIT = 60"
    if number >= 5:
        asked.lines[9] = "@dataclass(frozen=True)"


def _deeper(number: int, asked: Asked) -> None:
    if number >= 3:
        asked.lines[17:19] = [f"    {line}" for line in asked.lines[17:19]]
    if number >= 5:
        asked.lines[19] += "  "


def _lines_gone(number: int, asked: Asked) -> None:
    if number >= 3:
        del asked.lines[2]
        asked.line -= 1
    if number >= 5:
        del asked.lines[13:20]
        asked.line -= 7


def _function_moved(number: int, asked: Asked) -> None:
    if number >= 4:
        asked.lines[21:26], asked.lines[9:14] = asked.lines[9:14], asked.lines[21:26]


@pytest.mark.parametrize("layout", ["qwen", "codellama", "codestral_spm", "zed"])
@pytest.mark.parametrize(
    "edit", [_other_numbers, _other_lines, _deeper, _lines_gone, _function_moved]
)
def test_an_edit_far_in_front_of_the_cursor_is_new(edit: Any, layout: str, tmp_path: Path) -> None:
    assert kinds_of(edited(edit), layout, tmp_path) == set()


def _clock(number: int, asked: Asked) -> None:
    asked.header = f"# Asked at {START + timedelta(seconds=2 * number):%Y-%m-%d %H:%M:%S}\n"


def _counter(number: int, asked: Asked) -> None:
    asked.header = f"# completion number {17 + number}\n"


def _id(number: int, asked: Asked) -> None:
    asked.header = f"# request id: 0c5bd54f{number:02x}7c4e53a1c9{number + 90:02x}2f18ab73d0\n"


def _mark_of_order(number: int, asked: Asked) -> None:
    asked.header = "\ufeff" if number % 3 == 1 else ""


def _composed(number: int, asked: Asked) -> None:
    form = "NFD" if number % 3 == 1 else "NFC"
    asked.lines[0] = unicodedata.normalize(form, '"""Bestellungen aus Köln und Zürich."""')


@pytest.mark.parametrize("layout", ["starcoder", "deepseek", "codellama_spm", "seed_spm"])
@pytest.mark.parametrize(
    ("edit", "kind"),
    [
        (_clock, "clock"),
        (_counter, "counter"),
        (_id, "request_id"),
        (_mark_of_order, "hidden_characters"),
        (_composed, "unicode_form"),
    ],
)
def test_what_stands_above_the_document(edit: Any, kind: str, layout: str, tmp_path: Path) -> None:
    assert kinds_of(edited(edit), layout, tmp_path) == {kind}


def test_the_place_of_a_clock(tmp_path: Path) -> None:
    rows = rows_of([prompt_of(one, "qwen") for one in edited(_clock)], session=True)
    assert found_in(rows, tmp_path)[0] == (
        "clock",
        len("<|fim_prefix|># Asked at 2026-03-01 10:15:0"),
    )


def _ends(number: int, asked: Asked) -> None:
    asked.end = "\r\n" if number % 3 == 1 else "\n"


def _tabs(number: int, asked: Asked) -> None:
    if number % 3 == 1:
        asked.lines = [line.replace("    ", "\t") for line in asked.lines]
        asked.column = len(asked.lines[asked.line])


@pytest.mark.parametrize("layout", ["qwen", "codestral_spm"])
@pytest.mark.parametrize("edit", [_ends, _tabs])
def test_another_encoding_of_all_lines(edit: Any, layout: str, tmp_path: Path) -> None:
    assert kinds_of(edited(edit), layout, tmp_path, chat=True) == {"white_space"}


@pytest.mark.parametrize("layout", FILES)
def test_files_of_the_repository(layout: str, tmp_path: Path) -> None:
    files = list(OTHERS.items())

    def same(number: int, asked: Asked) -> None:
        asked.files = files

    def grown(number: int, asked: Asked) -> None:
        asked.files = [files[0], (files[1][0], f"{files[1][1]}LIMIT = {number}\n"), files[2]]

    def turned(number: int, asked: Asked) -> None:
        asked.files = files if number % 3 else [files[1], files[0], files[2]]

    assert kinds_of(edited(same), layout, tmp_path) == set()
    assert kinds_of(edited(grown), layout, tmp_path) == set()
    assert kinds_of(edited(turned), layout, tmp_path) == {"moved_block"}


@pytest.mark.parametrize("layout", ["qwen", "codellama", "deepseek"])
@pytest.mark.parametrize("chat", [False, True])
def test_a_mark_that_comes_and_goes(layout: str, chat: bool, tmp_path: Path) -> None:
    mark = LAYOUTS[layout]("\0", "").partition("\0")[0]
    prompts = [prompt_of(one, layout) for one in typed(8)]
    prompts[1::3] = [prompt.removeprefix(mark) for prompt in prompts[1::3]]
    assert {kind for kind, _ in found_in(rows_of(prompts, True, chat), tmp_path)} == {
        "template_flip"
    }


@pytest.mark.parametrize("other", ["starcoder_spm", "qwen"])
def test_other_marks_or_another_order(other: str, tmp_path: Path) -> None:
    prompts = [
        LAYOUTS[other if number % 3 == 1 else "starcoder"](one.before, one.after)
        for number, one in enumerate(typed(8))
    ]
    assert {kind for kind, _ in found_in(rows_of(prompts, True), tmp_path)} == {"template_flip"}


def _long_file() -> list[Asked]:
    lines = [line for n in range(24) for line in (
        f"def extra_{n}(orders, rate):", f"    return [one.total({n}) * rate for one in orders]", ""
    )]  # fmt: skip
    lines = [*FILE[:22], *lines, *FILE[22:]]
    return [Asked(lines, 24 + 3 * n, 20) for n in range(8)]


@pytest.mark.parametrize("layout", ["qwen", "codellama", "mellum_spm"])
def test_a_window_that_moves_on(layout: str, tmp_path: Path) -> None:
    by_chars = [LAYOUTS[layout](one.before[-400:], "\n") for one in _long_file()]
    by_lines = [
        LAYOUTS[layout]("\n".join(one.before.split("\n")[-14:]), "\n") for one in _long_file()
    ]
    for rows in (rows_of(by_chars, True), rows_of(by_lines, True), rows_of(by_chars, True, True)):
        assert {kind for kind, _ in found_in(rows, tmp_path)} == {"position_shift"}


@pytest.mark.parametrize(
    "text",
    [
        "What do <|fim_prefix|>, <|fim_suffix|> and <|fim_middle|> mean in a prompt?",
        "Why does [PREFIX] stand behind [SUFFIX] for Codestral?",
        "Write <PRE> in capitals, <SUF> too; is <MID> needed for that model?",
        "The capital of France is [BLANK].",
    ],
)
def test_who_quotes_the_marks_completes_nothing(text: str) -> None:
    assert completion_of(text) is None


def test_a_dialogue_about_the_marks_keeps_its_defects(tmp_path: Path) -> None:
    system = f"You explain prompts. Time: %s.\n{'Be exact and short. ' * 12}"
    question = "What do <|fim_prefix|>, <|fim_suffix|> and <|fim_middle|> mean in a prompt?"
    messages = [{"role": "user", "content": question}]
    rows = []
    for number in range(3):
        now = f"{START + timedelta(seconds=40 * number):%H:%M:%S}"
        told = [{"role": "system", "content": system % now}, *messages]
        rows.append(
            {"id": f"r{number}", "arrival_s": 40.0 * number, "session": "s", "messages": told}
        )
        messages = [*messages, {"role": "assistant", "content": f"Marks, {number}."},
                    {"role": "user", "content": f"And number {number}?"}]  # fmt: skip
    assert {kind for kind, _ in found_in(rows, tmp_path)} == {"clock"}


def test_names_of_files_are_no_messages() -> None:
    text = "<|repo_name|>shop\n" + "".join(
        f"<|file_sep|>{name}\n{text}\n" for name, text in OTHERS.items()
    )
    whole = flat_prompt(
        f"{text}<|file_sep|>a.py\n<|fim_prefix|>x = (<|fim_suffix|>)\n<|fim_middle|>", "prompt"
    )
    assert whole.is_flat
    chat = flat_prompt(
        f"<|im_start|>system\nComplete.<|im_end|>\n<|im_start|>user\n{text}<|fim_prefix|>"
        "User: str = (<|fim_suffix|>)\n<|fim_middle|><|im_end|>\n<|im_start|>assistant\n",
        "prompt",
    )
    assert [message.role for message in chat.messages] == ["system", "user"]


def test_a_document_that_holds_the_marks() -> None:
    before = 'PREFIX = "<|fim_prefix|>"\nSUFFIX = "<|fim_suffix|>"\nx = '
    text = f"<|fim_prefix|>{before}<|fim_suffix|>1\n<|fim_middle|>"
    found = completion_of(text)
    assert found is not None
    assert [text[one.start : one.stop] for one in found.stretches] == ["", before, "1\n", ""]

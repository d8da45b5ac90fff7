"""Hostile input ends in a right answer or one line of error, in bounded time."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from hitpath.core import InputError, Setting
from hitpath.doctor.diagnosis import Diagnosis
from hitpath.report.doctor_document import doctor_document
from hitpath.report.doctor_run import examine, open_subject

MOST_S = 20  # a machine may be busy; an unbounded case takes minutes


def diagnosis_of(folder: Path, data: bytes) -> Diagnosis:
    path = folder / "t.jsonl"
    path.write_bytes(data)
    began = time.perf_counter()
    found = examine(open_subject([str(path)], Setting()), what_ifs=False)
    doctor_document(found, Setting(), rows=True)
    assert time.perf_counter() - began < MOST_S
    return found


def chats(*contents: str, **more: Any) -> bytes:
    rows = []
    for content in contents:
        messages = [{"role": "system", "content": content},
                    {"role": "user", "content": "hello there, my good friend"}]  # fmt: skip
        rows.append({"model": "m", "messages": messages, "session_id": "s", **more})
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


BOMBS = {
    "colons": ("1:" * 20_000 + " a", "1:" * 20_000 + " b"),
    "dashes": ("-" * 30_000 + "a1" * 9_000, "-" * 30_000 + "a1" * 9_000 + "x"),
    "hidden": ("\u200b" * 50_000 + "x", "\u200b" * 50_001 + "x"),
    "items": (", ".join(map(str, range(9_000))), ", ".join(map(str, range(8_999, -1, -1)))),
    "lines": ("\n".join(f"row {i * 7 % 1999} of it" for i in range(1999)),
              "\n".join(f"row {i * 11 % 1999} of it" for i in range(1999))),
    "brackets": ("[{" * 20_000 + "1", "[{" * 20_000 + "2"),
    "long": ("word " * 90_000 + "a", "word " * 90_000 + "b"),
    "letters": ("x" * 600_000 + "1", "x" * 600_000 + "2"),
    "months": ("Mon " * 9_000 + "a", "Mon " * 9_000 + "b"),
    "words": ("a " * 30_000 + "b " * 30_000, "b " * 30_000 + "a " * 30_000),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_texts_that_make_patterns_work_hard(name: str, tmp_path: Path) -> None:
    found = diagnosis_of(tmp_path, chats(*BOMBS[name]))
    assert found.defects
    assert found.defects[0].json_path == "messages[0].content"


def test_the_first_difference_of_long_texts_is_exact(tmp_path: Path) -> None:
    found = diagnosis_of(tmp_path, chats(*BOMBS["letters"]))
    assert found.defects[0].char_offset == 600_000


@pytest.mark.parametrize("depth", [300, 700])
def test_deep_json_in_tools(depth: int, tmp_path: Path) -> None:
    deep = "[" * depth + "]" * depth
    line = (
        '{"model":"m","session_id":"s","messages":[{"role":"user","content":"hello my friend %d"}],'
        '"tools":[{"name":"a","p":%s,"x":%d}]}\n'
    )
    data = "".join(line % (i, deep, i) for i in range(3)).encode()
    assert {defect.kind for defect in diagnosis_of(tmp_path, data).defects} == {"tool_set"}


def test_half_a_surrogate_in_json_within_a_text(tmp_path: Path) -> None:
    tools = '[{"name": "b", "description": "\\ud800"}, {"name": "a", "description": "x"}] %d'
    found = diagnosis_of(tmp_path, chats(tools % 1, tools % 2))
    assert found.defects[0].char_offset == len(tools % 1) - 1


def test_deep_json_in_a_text(tmp_path: Path) -> None:
    texts = ['{"a":' * 2_000 + str(i) + "}" * 2_000 for i in range(2)]
    assert diagnosis_of(tmp_path, chats(*texts)).defects[0].char_offset == 10_000


@pytest.mark.parametrize(
    "data",
    [
        b'{"model":"m","messages":[{"role":"system","content":"abc \xff"}]}\n',
        b'{"model":"m","messages":[{"role":"system","content":"abc \\ud800 d"}]}\n',
        b'{"model":"m","messages":[{"role":"user","content":"x"}],"tools":' + b"[" * 99_999,
        b'{"model":"m","messages":',
        b"",
    ],
)
def test_what_is_no_request_is_one_line(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        diagnosis_of(tmp_path, data)
    assert "\n" not in str(error.value)


def test_odd_shapes_are_read_as_far_as_they_go(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"model": "m", "messages": []},
        {"model": "m", "messages": [{"role": None, "content": 5}, {"content": {"a": 1}}]},
        {"model": "m", "messages": [{"role": ["x"]}], "tools": [1, None, "x", {"name": None}]},
        {"model": "m", "messages": [{"role": "user", "content": [1, None, {"type": 3}]}]},
        {"model": "m", "messages": [{"role": "user", "content": "a"}], "tools": [{"v": 10**300}]},
        {"model": "m", "messages": [{"role": "user", "content": "a"}],
         "tools": [{"properties": {'a.b[0]"': 1, "": 2}}]},
    ]  # fmt: skip
    rows += [{**row, "session_id": "s"} for row in rows for _ in range(2)]
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    diagnosis_of(tmp_path, data).costs.check()


@pytest.mark.parametrize("zero", ["-0.0", "[-0.0]", '{"y": -0.0}'])
@pytest.mark.parametrize("holder", ["image_url", "input"])
def test_a_zero_with_a_sign_is_another_form_of_a_number(
    holder: str, zero: str, tmp_path: Path
) -> None:
    """It is equal to zero, and its text is another."""
    rows = []
    for value in (zero.replace("-", ""), zero):
        kind = {"image_url": "image_url", "input": "tool_use"}[holder]
        block = (
            f'{{"type": "{kind}", "{holder}": {{"url": "data:image/png;base64,AA", "x": {value}}}}}'
        )
        content = f'[{block}, {{"type": "text", "text": "What is on this picture, please?"}}]'
        rows.append(
            '{"model": "m", "session_id": "s", "messages": [{"role": "user", "content": '
            f'{content}}}, {{"role": "assistant", "content": "A cat on a mat."}}, '
            '{"role": "user", "content": "Which colour has it?"}]}'
        )
    found = diagnosis_of(tmp_path, "\n".join(rows).encode())
    kind = "image_encoding" if holder == "image_url" else "number_format"
    assert [defect.kind for defect in found.defects] == [kind]

"""What differs can be seen in an excerpt where only white space or form does."""

from pathlib import Path

import pytest

from hitpath.core import Setting
from hitpath.report.doctor_run import examine, open_subject
from hitpath.report.doctor_words import seen
from hitpath.report.html.doctor import doctor_page
from support import write_jsonl

CASES = [
    ("Café…ño", "unicode_form", r"Caf\xe9…\xf1o"),
    ("Cafe\u0301", "unicode_form", r"Cafe\u0301"),
    ("a\u200bb\ufeff", "hidden_characters", r"a\u200bb\ufeff"),
    ("naïve", "hidden_characters", "naïve"),
    (" a\r\n\tb\u00a0", "white_space", "␠a\\r\\n\\tb\\xa0"),
    ("\n ", "edited_message", "\\n␠"),
    ("a b\n", "edited_message", "a b\n"),
    ("", "white_space", ""),
]


@pytest.mark.parametrize(("text", "kind", "shown"), CASES)
def test_what_is_shown(text: str, kind: str, shown: str) -> None:
    assert seen(text, kind) == shown  # type: ignore[arg-type]


def test_a_page_has_no_control_and_no_mark_of_direction_as_it_is(tmp_path: Path) -> None:
    """They would turn the text around them, or hide in it."""
    marks = "\u202efdp\u202c \u001b[1mx \u2066y\u2069 👩\u200d🔬 שלום."
    rows = []
    for number in range(3):
        system = f"Time 10:1{number}:07 {marks} {'Be brief. ' * 40}"
        said = [{"role": "system", "content": system}, {"role": "user", "content": "Hi"}]
        rows.append({"model": "m", "messages": said})
    path = write_jsonl(tmp_path / "t.jsonl", rows)
    subject = open_subject([str(path)], Setting())
    page = doctor_page(examine(subject, what_ifs=False), subject.requests, "", True).decode()
    assert not set(page) & set("\u202e\u202c\u001b\u2066\u2069")
    assert r"\u202efdp\u202c \x1b[1mx \u2066y\u2069 👩" in page
    assert "👩\u200d🔬 שלום" in page

"""What differs can be seen in an excerpt where only white space or form does."""

import pytest

from hitpath.report.doctor_words import seen

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

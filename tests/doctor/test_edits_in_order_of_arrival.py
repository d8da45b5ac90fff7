"""What gave way to another for all requests, once or twice, was edited, taken back or not; what
comes back all along is a user's or drawn; what rises by a step counts.
"""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from doctor.test_dates_that_tell_no_time import kinds_in_time
from doctor.test_fields_by_all_pairs import Text, rows_with

UUIDS = ("3b1f0c9a-52d4-4e0b-9a77-0d5e6f1c2a84", "c4d8e2f6-91a3-4b7c-8f20-7e6d5c4b3a29")
EDITS: dict[str, Text] = {
    "taken back": lambda _, n: "Be casual." if 15 <= n < 25 else "Be formal.",
    "limit taken back": lambda _, n: f"Write at most {150 if 15 <= n < 25 else 200} words.",
    "price": lambda _, n: f"A late fee is {12.5 if n < 20 else 13.5:.2f} euros a week.",
    "two servers for a while": lambda _, n: (
        "Ask for the name." if n < 18 or n in (19, 21) else "Ask for the order."
    ),
    "index": lambda _, n: f"Use index {UUIDS[n >= 20]}.",
}
RETURN: dict[str, tuple[Text, str]] = {
    "language of a user": (lambda s, _: f"Reply in {pick(s, 'French', 'German', 'English')}.",
                           "per_user_field"),
    "form of address": (lambda s, _: f"Anrede: {pick(s, 'Frau', 'Herr')}", "per_user_field"),
    "tone of a user": (lambda s, _: f"Preferred tone: {pick(s, 'formal', 'casual', 'warm')}",
                       "per_user_field"),
    "tone that is drawn": (lambda _, n: f"[Стиль: {pick(n, 'с иронией', 'как друг', 'сухо')}]",
                           "random_sample"),
    "every other request": (lambda _, n: f"<noise>{' '.join(words(n // 2))}</noise>",
                            "random_sample"),
    "batch": (lambda _, n: f"Batch {7 + n // 14}", "counter"),
}  # fmt: skip


def pick(seed: int, *values: str) -> str:
    return random.Random(seed).choice(values)


def words(seed: int) -> Sequence[str]:
    return random.Random(seed).sample(["ferns", "bread", "opera", "fonts", "moss", "salt"], 3)


@pytest.mark.parametrize("text", EDITS.values(), ids=EDITS)
def test_an_edit(text: Text, tmp_path: Path) -> None:
    assert set(kinds_in_time(rows_with(text, 20, 2), tmp_path)) == {"edited_message"}


@pytest.mark.parametrize(("text", "kind"), RETURN.values(), ids=RETURN)
def test_what_is_no_edit(text: Text, kind: str, tmp_path: Path) -> None:
    assert set(kinds_in_time(rows_with(text, 20, 2), tmp_path)) == {kind}


def test_an_id_whose_line_comes_and_goes_is_no_draw(tmp_path: Path) -> None:
    """A request without the line does not have the id that its relative has."""

    def text(_: int, n: int) -> str:
        return f"Langfuse trace lf-{random.Random(n).getrandbits(96):024x} (ignore)" * (n % 3 < 2)

    assert set(kinds_in_time(rows_with(text, 20, 1), tmp_path)) == {"request_id"}

"""A counter that is spelt out, or written in other numerals, counts; numbers that are drawn, a
user's, and words that only look like numbers do not."""

import random
from pathlib import Path

import pytest

from doctor.test_fields_by_all_pairs import Text, drawn, rows_with
from doctor.test_planted_kinds import kinds_of
from hitpath.doctor.leaf import leaf_changes
from hitpath.doctor.number_words import number_in, numbers_of_sides

_ENGLISH = "one two three four five six seven eight nine ten eleven twelve"
ONES = _ENGLISH.split()
NUMBERS = {
    "seven": 7, "Seven": 7, "fourteenth": 14, "twenty-one": 21, "thirtieth": 30,
    "ninety-ninth": 99, "a hundred": 100, "one hundred and nine": 109,
    "zwölf": 12, "siebte": 7, "einundzwanzigsten": 21, "dreißig": 30,
    "première": 1, "dix-septième": 17, "vingt et un": 21, "soixante-douze": 72,
    "quatre-vingt-onze": 91, "dieciséis": 16, "treinta y dos": 32, "tercer": 3,
    "ventuno": 21, "terza": 3, "três": 3, "quarenta e dois": 42, "eenentwintig": 21,
    "седьмой": 7, "четвёртая": 4, "الرابع": 4, "다섯": 5, "üçüncü": 3, "पाँच": 5,
    "XIV": 14, "iv": 4, "Ⅳ": 4, "⑫": 12, "二十一": 21, "十": 10, "两": 2, "一〇五": 105,
}  # fmt: skip
NO_NUMBERS = ["", "mix", "civil", "IIII", "VX", "turn", "seven eight", "第", "十四回合", "hundred"]
COUNTED = {
    "This is question {} of the survey.": _ENGLISH,
    "Dies ist die {} Anfrage.": "erste zweite dritte vierte fünfte sechste siebte achte",
    "Es la pregunta número {}.": "uno dos tres cuatro cinco seis siete ocho nueve diez",
    "现在是第{}回合，轮到你行动。": "八 九 十 十一 十二 十三 十四 十五 十六 十七",
    "You are writing Chapter {} of the saga.": "I II III IV V VI VII VIII IX X",
    "Request {}.": "eighteen nineteen twenty twenty-one twenty-two twenty-three",
    "Only {} turns are left.": "six five four three two one",
    "步骤{}：继续": "① ② ③ ④ ⑤ ⑥ ⑦ ⑧",
}


@pytest.mark.parametrize(("text", "number"), NUMBERS.items())
def test_a_number_is_read(text: str, number: int) -> None:
    assert number_in(text) == number


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_other_words_are_no_numbers(text: str) -> None:
    assert number_in(text) is None


def test_numerals_within_a_run_of_words() -> None:
    assert numbers_of_sides("第三回合一起", "第四回合一起") == (3, 4)
    assert numbers_of_sides("第三回合", "第四步") is None
    assert numbers_of_sides("三人四次", "四人五次") is None


def test_a_number_of_two_words_is_one_value() -> None:
    found = leaf_changes("Round twenty-one of it.", "Round twenty-two of it.", "system")
    assert [(x.there, x.here, x.label, x.first) for x in found] == [
        ("twenty-one", "twenty-two", "Round", 13)
    ]


@pytest.mark.parametrize(("form", "told"), COUNTED.items())
@pytest.mark.parametrize("num_turns", [1, 3])
def test_what_is_spelt_out_counts(form: str, told: str, num_turns: int, tmp_path: Path) -> None:
    words = told.split()
    rows = rows_with(lambda _, n: form.format(words[n]), len(words) // num_turns, num_turns)
    assert set(kinds_of(rows, tmp_path)) == {"counter"}


OTHERS: dict[str, tuple[Text, str]] = {
    "drawn": (lambda _, n: f"Pick number {drawn(n, *ONES)} today.", "random_sample"),
    "drawn in figures": (
        lambda _, n: f"Pick number {random.Random(n).randrange(1, 13)} today.", "random_sample",
    ),
    "of a session": (lambda s, _: f"Table for {drawn(s, *ONES[:6])} guests.", "per_user_field"),
    "class of a pupil": (lambda s, _: f"Class {drawn(s, 'I', 'II', 'IV')} C", "per_user_field"),
    "letters": (lambda s, _: f"Plan {drawn(s, *'CIVX')} holds.", "per_user_field"),
    "kings": (lambda _, n: f"Henry {drawn(n, 'I', 'IV', 'V', 'VIII')} reigned.", "random_sample"),
    "once": (lambda _, n: f"Use at most {ONES[3 - (n > 9)]} sentences.", "edited_message"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "kind"), OTHERS.values(), ids=OTHERS)
def test_what_does_not_count(text: Text, kind: str, tmp_path: Path) -> None:
    assert set(kinds_of(rows_with(text, 8, 3), tmp_path)) == {kind}


WAVERING = [
    ((1, 2, 3, 2, 3, 1, 2, 3, 2, 3), "random_sample"),
    ((1, 2, 3, 2, 3, 1, 2, 3, 4, 5), "counter"),
]


@pytest.mark.parametrize(("numbers", "kind"), WAVERING)
def test_a_number_that_falls_in_one_turn_of_four_is_drawn(
    numbers: tuple[int, ...], kind: str, tmp_path: Path
) -> None:
    rows = rows_with(lambda _, n: f"Turn {numbers[n]} of it.", 2, 5)
    assert set(kinds_of(rows, tmp_path)) == {kind}

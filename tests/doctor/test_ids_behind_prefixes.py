"""Ids behind a prefix are ids, however few digits they happen to have, two of them in one line are
two; names in camel case are none. Whose a number is, a person's label tells where no session does.
"""

import random
import string
from pathlib import Path

import pytest

from doctor.test_fields_by_all_pairs import Text, drawn, rows_with
from doctor.test_planted_kinds import kinds_of
from hitpath.doctor.shapes import is_id

IDS = ["RM_oHwLMeaZqo9D", "AJ_zmlpVpxQH6EA", "PA_KmqIkRIyIdZa", "sid_i0VpEBOWfbZA"]
NAMES = [
    "get_userName1", "MY_ConstantV2", "api_SearchV2", "plan_ProPlusMax", "my_iPhone9Pro",
    "top_TopLevelDomain", "LARK_ROOMS", "is_JavaScript", "front_desk_north",
]  # fmt: skip


@pytest.mark.parametrize("word", IDS)
def test_an_id_behind_a_prefix(word: str) -> None:
    assert is_id(word)


@pytest.mark.parametrize("word", NAMES)
def test_a_name_behind_a_prefix_is_none(word: str) -> None:
    assert not is_id(word)


EDGES = [
    ("RM_aXbYcdefghij", True),
    ("RM_aXbYcdefghijk", False),
    ("RM_aXb4cdef", True),
    ("RM_aXb4cdefg", False),
    ("prefix_aXbYcdef", True),
    ("prefixe_aXbYcdef", False),
]


@pytest.mark.parametrize(("word", "is_one"), EDGES)
def test_how_mixed_an_id_is(word: str, is_one: bool) -> None:
    assert is_id(word) == is_one


def mixed(seed: int) -> str:
    return "".join(random.Random(seed).choices(string.ascii_letters + string.digits, k=12))


def person(seed: int) -> str:
    return drawn(seed, "Hanako Petrov", "Wei Zhang", "Zoë Berg", "Noah Ruiz", "Ann Lee", "Bob Ray")


def digits(seed: int) -> int:
    return random.Random(seed).randrange(1000, 9999)


FIELDS: dict[str, tuple[Text, str]] = {
    "two ids": (lambda _, n: f"Room SID: RM_{mixed(n)}, job AJ_{mixed(n + 99)}", "request_id"),
    "holder": (lambda s, _: f"Policyholder: {person(s)}, policy {digits(s)}-7", "per_user_field"),
    "card": (
        lambda s, _: f"Account holder {person(s)}, card ****{digits(s)}, balance {digits(s)}.25.",
        "per_user_field",
    ),
    "genitive": (
        lambda s, _: f"{person(s).split()[0]}'s diet: {drawn(s, 'vegan', 'no milk', 'kosher')}.",
        "per_user_field",
    ),
    "who said it": (
        lambda _, n: f"Quote: {drawn(n, 'Be kind', 'Ask twice', 'Say when')} ({person(n + 9)})",
        "random_sample",
    ),
}  # fmt: skip


@pytest.mark.parametrize("num_turns", [1, 3])
@pytest.mark.parametrize(("text", "kind"), FIELDS.values(), ids=FIELDS)
def test_over_a_trace(text: Text, kind: str, num_turns: int, tmp_path: Path) -> None:
    assert set(kinds_of(rows_with(text, 12, num_turns), tmp_path)) == {kind}

"""Whose a value is: what reaches a person is theirs, whoever's session stands beside it; what is
used up counts, however large it is, and begins again with each session.
"""

import random
from pathlib import Path

import pytest

from doctor.test_fields_by_all_pairs import Text, letters, rows_with
from doctor.test_planted_kinds import kinds_of


def digits(seed: int, num: int) -> str:
    return str(random.Random(seed).randrange(10 ** (num - 1), 10**num))


def used(session: int, row: int) -> int:
    """Tokens that were used: more with each turn of three, from nearly the same number on."""
    return 22_864 + 1_733 * (row % 3) + 7 * session


PERSONS: dict[str, Text] = {
    "channel of a session": lambda s, _: f"Número WhatsApp da sessão: 55{digits(s, 11)}",
    "calling": lambda s, _: f"Calling from +49{digits(s, 10)}",
    "groups": lambda s, _: f"Session: +49 {digits(s, 3)} {digits(s + 50, 7)}",
    "telephone": lambda s, _: f"Conversation by telephone {digits(s, 9)}",
    "Chinese": lambda s, _: f"会话手机号：1{digits(s, 10)}",
    "Korean": lambda s, _: f"세션 전화번호: 010-{digits(s, 4)}-{digits(s + 50, 4)}",
    "handle": lambda s, _: f"Telegram chat with @ann_{letters(s, 5)}{digits(s, 2)}",
    "IBAN": lambda s, _: f"IBAN of this request: DE{digits(s, 20)}",
}
REQUESTS: dict[str, Text] = {
    "session id": lambda _, n: f"session id: {digits(n, 13)}",
    "of a channel": lambda _, n: f"WhatsApp session id: {digits(n, 13)}",
    "ID da sessão": lambda _, n: f"ID da sessão no WhatsApp: {digits(n, 13)}",
    "with dashes": lambda _, n: f"Request-ID {digits(n, 2)}-{digits(n + 50, 2)}-{digits(n, 7)}",
    "trace": lambda _, n: f"trace {digits(n, 13)}",
    "order": lambda _, n: f"order no. {digits(n, 13)}",
}
AMOUNTS: dict[str, Text] = {
    "usage": lambda s, n: (
        f"<w>Token usage: {used(s, n)}/1000000; {1_000_000 - used(s, n)} remaining</w>"
    ),
    "only the rest": lambda s, n: f"[{200_000 - used(s, n)} tokens left]",
    "share": lambda s, n: f"Context: {used(s, n) // 250}% used",
    "of a whole": lambda s, n: f"Progress {n % 3 + 3} of 20",
    "Chinese": lambda s, n: f"步骤 {n % 3 + 1}/10",
    "Russian": lambda s, n: f"Осталось {400_000 - used(s, n)} токенов",
}
NO_AMOUNTS: dict[str, tuple[Text, str]] = {
    "score": (lambda _, n: f"Seed {digits(n, 6)}/1000000", "random_sample"),
    "user's": (lambda s, _: f"User's rating: {1 + s * 7 % 5}/5", "per_user_field"),
}


@pytest.mark.parametrize("text", PERSONS.values(), ids=PERSONS)
def test_what_reaches_a_person(text: Text, tmp_path: Path) -> None:
    assert set(kinds_of(rows_with(text, 12, 3), tmp_path)) == {"per_user_field"}


@pytest.mark.parametrize("text", REQUESTS.values(), ids=REQUESTS)
def test_what_a_request_is_known_by(text: Text, tmp_path: Path) -> None:
    assert set(kinds_of(rows_with(text, 8, 3), tmp_path)) == {"request_id"}


@pytest.mark.parametrize("num_sessions", [2, 5])
@pytest.mark.parametrize("text", AMOUNTS.values(), ids=AMOUNTS)
def test_what_is_used_up(text: Text, num_sessions: int, tmp_path: Path) -> None:
    assert set(kinds_of(rows_with(text, num_sessions, 3), tmp_path)) == {"counter"}


@pytest.mark.parametrize(("text", "kind"), NO_AMOUNTS.values(), ids=NO_AMOUNTS)
def test_a_part_of_a_whole_may_be_drawn(text: Text, kind: str, tmp_path: Path) -> None:
    assert set(kinds_of(rows_with(text, 12, 3), tmp_path)) == {kind}

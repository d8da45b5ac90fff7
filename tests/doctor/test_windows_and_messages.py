"""Token ids with text: a window that moved on cuts within messages, a client drops whole ones. Each
beside its hard negative. A token is a character here, or half of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from hitpath.doctor.replies import Ids, same_text_change
from hitpath.doctor.symbols import compare_symbols

if TYPE_CHECKING:
    from collections.abc import Sequence

HEAD = "# Desk\nBe brief, and tell no secret of the house to anybody who asks.\n"
TURNS = [
    ("User", "Our server wrote this, what does it mean?\n14:02 ERROR worker-4 gave up after 19 s"),
    ("Assistant", "Three things:\n1) it was called at nine\n2) it was told to wait two days"),
    ("User", "Our server stands in the cellar of the old mill, beside the stairs."),
    ("Assistant", "Then it is cold there.\nThe fan of worker-4 may have stopped for good."),
    ("User", "Can that be mended by somebody from the village, or by me?"),
]
NEW = "Assistant: It can.\nUser: Our server wrote this once more, what does that say?\n"
CHATML = ("<|im_start|>{}\n{}<|im_end|>\n", "<|im_start|>user\nAnd what does it cost?<|im_end|>\n")


def ids(text: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([ord(c) for c in text], dtype=np.int64)


def decode(numbers: Sequence[int]) -> str:
    return "".join(map(chr, numbers))


def kinds(there: str, here: str) -> list[str]:
    found = compare_symbols(ids(there), ids(here), True, decode)
    return [change.kind for change in found.changes]


def plain(turns: list[tuple[str, str]]) -> str:
    return "".join(f"{role}: {text}\n" for role, text in turns)


def chatml(turns: list[tuple[str, str]]) -> str:
    return "".join(CHATML[0].format(role.lower(), text) for role, text in turns)


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_whole_messages_were_dropped_by_a_client(cut: int) -> None:
    """Two of the turns begin with the same words, so that the gap may lie behind them."""
    there, here = HEAD + plain(TURNS), HEAD + plain(TURNS[cut:]) + NEW
    assert kinds(there, here) == ["truncated_history"]
    system = CHATML[0].format("system", HEAD)
    there, here = system + chatml(TURNS), system + chatml(TURNS[cut:]) + CHATML[1]
    assert kinds(there, here) == ["truncated_history"]


@pytest.mark.parametrize("lost", ["14:02", "1) it", "2) it", "The fan", "ERROR", "cellar"])
@pytest.mark.parametrize("keep", [2, 7, len(HEAD)])
def test_a_window_cuts_at_a_line_by_chance(lost: str, keep: int) -> None:
    text = HEAD + plain(TURNS)
    at = text.index(lost)
    assert kinds(text, text[:keep] + text[at:] + NEW) == ["position_shift"]


def test_words_of_what_is_gone_that_are_said_again_are_no_move() -> None:
    again = "User: Our server wrote this, what does it mean? It says worker-4 gave up after 30 s.\n"
    text = HEAD + plain(TURNS)
    there, here = text, HEAD + text[text.index("2) it") :] + again
    assert kinds(there, here) == ["position_shift"]


@pytest.mark.parametrize(("num", "kind"), [(91, "moved_block"), (90, "position_shift")])
def test_what_moved_is_three_quarters_of_what_is_gone(num: int, kind: str) -> None:
    rng = np.random.default_rng(3)
    head, gone, rest, new = (rng.integers(0, 9_000, n) for n in (8, 120, 300, 40))
    there, here = np.concatenate([head, gone, rest]), np.concatenate([head, rest, new, gone[:num]])
    assert [change.kind for change in compare_symbols(there, here, True).changes] == [kind]


@pytest.mark.parametrize("new", [("", NEW), (NEW, "")])
def test_a_reminder_that_stands_behind_what_is_new_has_moved(new: tuple[str, str]) -> None:
    reminder = (
        "<reminder>Use the list of tasks where it helps you, and say so to nobody.</reminder>\n"
    )
    turns = plain(TURNS)
    there, here = HEAD + reminder + turns, HEAD + turns + new[0] + reminder + new[1]
    assert kinds(there, here) == ["moved_block"]


def test_half_of_a_character_says_nothing() -> None:
    """Bytes as ids: what is left of two letters that a window has cut is the same mark."""

    def of_bytes(numbers: Sequence[int]) -> str:
        return bytes(numbers).decode("utf-8", "replace")

    def symbols(text: bytes) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array(list(text), dtype=np.int64)

    one, other = "はい。".encode(), "に。".encode()
    there, here = symbols(b"Desk\n" + one[1:]), symbols(b"Desk\n" + other[2:] + b" So it is.")
    assert same_text_change(Ids(there, here, len(there), 5), of_bytes) is None

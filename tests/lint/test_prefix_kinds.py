"""What a prompt builder did is named by the one thing that was changed, where words do not tell."""

import random
import secrets
import time
from typing import Any

import pytest
from prefix_builders import shelves_of_a_library

from hitpath.pytest_plugin import assert_prefix_stable
from hitpath.pytest_plugin.assertion import PrefixBroken

RULES = "You are the assistant of a small library. Answer in one sentence."
TIPS = ("Knock first.", "Return on time.", "Ask for the map.", "No ink, please.")


def chat(system: str) -> list[dict[str, Any]]:
    return [{"role": "system", "content": f"{system}\n{RULES}"}, {"role": "user", "content": "Hi"}]


def window(history: list[str]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text} for text in ("rules", *history[-2:])]


def dotted(names: Any) -> str:
    return "Can " + ", ".join(names)


CASES: dict[str, tuple[Any, tuple[Any, ...], str, str]] = {
    "a minute by itself": (lambda: chat(str(time.localtime().tm_min)), (), "clock", "the clock"),
    "a zone's name": (lambda: chat(time.strftime("%Z")), (), "clock", "in another time zone"),
    "a tip": (lambda: chat(random.choice(TIPS)), (), "random_sample", "random seed"),
    "a number": (lambda: chat(f"{random.random()}"), (), "random_sample", "random seed"),
    "another each time": (lambda: chat(" ".join(secrets.choice(TIPS) for _ in range(30))),
                          (), "random_sample", "called once more"),
    "hex": (lambda: chat(secrets.token_hex(12)), (), "request_id", "called once more"),
    "an argument's order": (lambda names: chat(dotted(names)), ({"zulu": 1, "alfa": 2},),
                            "array_order", "in another order"),
    "a dict written": (lambda names: chat(f"Limits {names}"), ({"zulu": 1, "alfa": 2},),
                       "key_order", "in another order"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_kind_is_that_of_what_was_changed(name: str) -> None:
    build, arguments, kind, world = CASES[name]
    with pytest.raises(PrefixBroken) as caught:
        assert_prefix_stable(build, *arguments, hash_seeds=False)
    assert caught.value.difference.kind == kind
    assert world in caught.value.world
    assert "  fix      " in str(caught.value)


def test_a_window_that_moves_on_is_a_truncated_history() -> None:
    with pytest.raises(PrefixBroken) as caught:
        assert_prefix_stable(
            window, ["a", "b"], grows=[["a", "b", "c"]], free_tail=False, hash_seeds=False
        )
    assert caught.value.difference.kind == "truncated_history"


def test_a_rewritten_message_is_edited() -> None:
    with pytest.raises(PrefixBroken) as caught:
        assert_prefix_stable(window, ["a", "b"], grows=[["x", "y"]], hash_seeds=False)
    assert caught.value.difference.kind == "edited_message"


def test_a_set_s_own_order() -> None:
    with pytest.raises(PrefixBroken) as caught:
        assert_prefix_stable(shelves_of_a_library, hash_seeds=True)
    assert caught.value.difference.kind == "array_order"

"""Keep a prompt's prefix stable: pytest examples/stable_prompt_test.py

`support_prompt` is what an application may look like: nothing that changes stands before what
requests share. The three builders after it each have one defect that costs every request its
cached prefix, and the tests show how each is caught.
"""

import random
from datetime import datetime

import pytest

from hitpath.canonical import stable_tools
from hitpath.pytest_plugin import assert_prefix_stable

RULES = "You answer questions about orders. Be brief, and never invent an order number."
TOOLS = [
    {"name": "find_order", "description": "Finds an order by its number.", "input_schema": {}},
    {"name": "cancel_order", "description": "Cancels an order.", "input_schema": {}},
]


def support_prompt(history, question):
    """Rules, tools in one order, the history as it was; the clock in the last message only."""
    asked = f"{question}\n\n(It is {datetime.now():%Y-%m-%d %H:%M}.)"
    return {
        "system": RULES,
        "tools": stable_tools(TOOLS).value,
        "messages": [*history, {"role": "user", "content": asked}],
    }


def with_a_clock(history, question):
    """The clock stands first."""
    body = support_prompt(history, question)
    return {**body, "system": f"Current time: {datetime.now()}\n{RULES}"}


def with_mixed_tools(history, question):
    """Tools come as a registry happens to give them."""
    body = support_prompt(history, question)
    return {**body, "tools": random.sample(TOOLS, len(TOOLS))}


def with_a_sliding_history(history, question):
    """Only the last two messages are kept."""
    body = support_prompt(history, question)
    return {**body, "messages": body["messages"][-2:]}


HISTORY = [
    {"role": "user", "content": "Where is order 17?"},
    {"role": "assistant", "content": "It arrives tomorrow."},
]
LATER = [
    *HISTORY,
    {"role": "user", "content": "And order 18?"},
    {"role": "assistant", "content": "It was cancelled."},
]


def test_the_prompt_is_stable():
    checked = assert_prefix_stable(
        support_prompt, HISTORY, "And order 18?", grows=[(LATER, "Why?")]
    )
    assert len(checked.worlds) >= 5


def test_a_clock_in_the_system_prompt_is_caught():
    with pytest.raises(AssertionError, match=r"kind     clock\n  at       system, character"):
        assert_prefix_stable(with_a_clock, HISTORY, "And order 18?")


def test_tools_in_another_order_are_caught():
    with pytest.raises(AssertionError, match="kind     tool_order"):
        assert_prefix_stable(with_mixed_tools, HISTORY, "And order 18?")


def test_a_history_that_slides_is_caught():
    with pytest.raises(AssertionError, match="from turn 1 to turn 2"):
        assert_prefix_stable(
            with_a_sliding_history, HISTORY, "And order 18?", grows=[(LATER, "Why?")]
        )

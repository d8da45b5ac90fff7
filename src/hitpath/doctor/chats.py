"""A chat request as a chat template takes it, and the same with other texts in it.

Parts of a prompt (prompt.py) are known by their path in the request; templates take the messages
without marks and in their short form (`plain_message`), where the same text may stand elsewhere.
"""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Any

from hitpath.doctor.in_row import Step
from hitpath.doctor.prompt import Part
from hitpath.doctor.requests import Request
from hitpath.traces.conversations import plain_message, plain_tools


def messages_of(request: Request) -> list[dict[str, Any]]:
    """The messages as a template takes them. Shared with the request: not to be changed."""
    return [plain_message(said.message) for said in request.said]


def tools_of(request: Request) -> list[Any]:
    """The tools, without marks for a provider's cache."""
    return plain_tools([tool for _, tool in request.tools])


def with_values(request: Request, changed: Iterable[tuple[Part, Any]]) -> list[dict[str, Any]]:
    """Copies of the messages, with these values where the parts stand; parts of tools are passed
    over."""
    messages = messages_of(request)
    own: set[int] = set()
    for part, value in changed:
        if part.message < 0:
            continue
        if part.message not in own:
            own.add(part.message)
            messages[part.message] = deepcopy(messages[part.message])
        put(messages[part.message], part.steps, value)
    return messages


def put(holder: Any, steps: Sequence[Step], value: Any) -> None:
    """Set what stands behind these steps."""
    for step in steps[:-1]:
        holder = holder[step]
    holder[steps[-1]] = value

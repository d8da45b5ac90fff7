"""A chat request as a chat template takes it, and the same with other texts in it.

Parts of a prompt (prompt.py) are known by their path in the request; templates take the messages
without marks and in their short form (`plain_message`), where the same text may stand elsewhere.
"""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Any

from hitpath.canonical.json_path import joined
from hitpath.doctor.build_prompt import Said
from hitpath.doctor.prompt import Part
from hitpath.doctor.requests import Request, path_steps
from hitpath.traces.conversations import plain_message, plain_tools

Steps = list[str | int]


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
        put(messages[part.message], steps_to(request.said[part.message], part), value)
    return messages


def steps_to(said: Said, part: Part) -> Steps:
    """Where a part stands in its plain message."""
    if part.form == "string":
        return ["content"]
    content = said.content_path or joined(said.path, "content")
    if part.path.startswith(content):
        return ["content", *path_steps(part.path.removeprefix(content))]
    return path_steps(part.path.removeprefix(said.path))


def put(holder: Any, steps: Sequence[str | int], value: Any) -> None:
    """Set what stands behind these steps."""
    for step in steps[:-1]:
        holder = holder[step]
    holder[steps[-1]] = value

"""A fixed trace as hitpath's own rows, for formats in which a prompt has no place of its own.

Chats stand as `messages` and `tools`, prompts of one text as `prompt`, both with what the fixes
change; all that is no prompt is written as `hitpath convert` writes it. Where the tokens of a trace
are no tokens of such a row's text (ids without text, prompts that a server has framed), the ids of
the replay are written.
"""

from collections.abc import Callable, Iterable
from typing import IO, Any

import msgspec

from hitpath.canonical.json_path import joined
from hitpath.core import InputError
from hitpath.doctor.diagnose import Requests
from hitpath.doctor.diagnosis import Diagnosis
from hitpath.doctor.in_row import InRow, path_steps
from hitpath.doctor.in_row import Steps as Way
from hitpath.doctor.put import put
from hitpath.doctor.requests import Request
from hitpath.report.convert.own_rows import JsonRow, Plain

Changes = Callable[[int, Request], Iterable[tuple[str, Any]]]


class FixedRows(Plain):
    """Prompts with their fixes. changes: (row, request) -> (path in it, what should stand there).
    Raises InputError for a prompt that cannot be taken apart among others that can."""

    def __init__(self, found: Diagnosis, requests: Requests, changes: Changes) -> None:
        super().__init__(found.trace if found.fixed is None else found.fixed.trace)
        self._found = found
        self._requests = requests
        self._changes = changes
        self._is_text = found.trace.has_text or all(map(self._is_told, range(len(found.trace))))

    def of(self, row: int) -> JsonRow:
        """Prompt fields of one row."""
        if not self._is_text:
            return super().of(row)
        request = self._requests.of(row)
        if request is None:
            raise InputError(self._found.trace.places[row], "", "--fix: no request stands here")
        prompt = _own_prompt(request)
        names = _names_of(request)
        for path, value in self._changes(row, request):
            put(prompt, names.steps(path), value)
        return {**prompt, **_reply_of(request)}

    def _is_told(self, row: int) -> bool:
        request = self._requests.of(row)
        return request is not None and (bool(request.said) or request.is_framed)


def _own_prompt(request: Request) -> JsonRow:
    """The prompt as it was sent. Copies, for fixes write into it."""
    if not request.said:
        return {"prompt": request.prompt.rendered.decode()}
    told: JsonRow = {"messages": [one.message for one in request.said]}
    if request.tools:
        told["tools"] = [tool for _, tool in request.tools]
    copied: JsonRow = msgspec.json.decode(msgspec.json.encode(told))
    return copied


def _names_of(request: Request) -> InRow:
    """Where paths of the request lead in such a row."""
    names: dict[Way, Way] = {}
    for number, one in enumerate(request.said):
        names[tuple(path_steps(one.path))] = ("messages", number)
        content = one.content_path or joined(one.path, "content")
        names[tuple(path_steps(content))] = ("messages", number, "content")
    if not request.said:
        names[tuple(path_steps(request.prompt.messages[0].path))] = ("prompt",)
    return InRow(names)


def _reply_of(request: Request) -> JsonRow:
    """The reply, where it is text alone: a row has no other."""
    if len(request.replies) != 1 or request.replies[0].keys() != {"role", "content"}:
        return {}
    content = request.replies[0]["content"]
    return {"reply": content} if isinstance(content, str) else {}


def write_lines(file: IO[bytes], rows: Iterable[Any]) -> None:
    """A line of JSON a row."""
    for row in rows:
        file.write(msgspec.json.encode(row) + b"\n")

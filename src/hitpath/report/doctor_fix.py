"""The trace as it should be: the same rows with prompts in canonical form, for `--fix`.

Request bodies (OpenAI, Anthropic, hitpath's `messages` and `prompt`) are written as they came, with
the texts, tools and JSON that changed; rows of other formats become rows of hitpath's JSONL.
"""

from typing import IO, Any

import msgspec

from hitpath.core import InputError
from hitpath.doctor.diagnose import Requests
from hitpath.doctor.diagnosis import Diagnosis
from hitpath.doctor.forms import form_of, parts_of_form
from hitpath.doctor.kept import KeptRows
from hitpath.doctor.prove import fixes_for, spaced_of, whole_plan
from hitpath.doctor.requests import path_steps
from hitpath.doctor.steps import Steps
from hitpath.traces import hitpath_jsonl, openai_requests
from hitpath.traces.table import Trace

_BODIES = (openai_requests.NAME, hitpath_jsonl.NAME)
_WRAPPERS = ("body", "request", "params")


def check_fixable(trace: Trace) -> None:
    """Raise InputError for a format whose rows cannot be written again."""
    if trace.format not in _BODIES or not trace.has_text:
        cause = "--fix writes request bodies and hitpath's own rows with text, in bytes"
        raise InputError(trace.format, "", cause)


def write_fixed(found: Diagnosis, kept: KeptRows, requests: Requests, file: IO[bytes]) -> None:
    """A line a request, in the order of the trace; with the fixes that cure what was found."""
    trace, fixes = found.trace, fixes_for(found.defects)
    steps = Steps(whole_plan(found.findings, spaced_of(found.defects), fixes))
    for row in range(len(trace)):
        file.write(msgspec.json.encode(_fixed(trace, kept, requests, steps, row)) + b"\n")


def _fixed(
    trace: Trace, kept: KeptRows, requests: Requests, steps: Steps, row: int
) -> dict[str, Any]:
    kept_row = kept.text(trace.places[row])
    request = requests.of(row)
    assert kept_row is not None
    assert request is not None
    whole: dict[str, Any] = msgspec.json.decode(kept_row)
    is_bare = any(name in whole for name in ("messages", "input", "prompt"))
    name = next((n for n in _WRAPPERS if not is_bare and whole.get(n) == request.body), None)
    body = whole if name is None else whole[name]
    if request.prompt.is_one_text:
        text = form_of(request.prompt, steps)[0]
        _put(body, request.prompt.messages[0].path, text.decode())
        return whole
    tools: list[Any] = []
    holder = ""
    for part, value in parts_of_form(request.prompt, steps):
        if part.segment == "tools":
            holder = part.path.rpartition("[")[0]
            tools.append(value)
        else:
            _put(body, part.path, value)
    if holder in body:
        body[holder] = tools
    return whole


def _put(body: Any, path: str, value: Any) -> None:
    """Set what stands at a JSON path."""
    steps = path_steps(path)
    for step in steps[:-1]:
        body = body[step]
    body[steps[-1]] = value

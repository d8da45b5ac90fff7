"""The trace as it should be: the same rows with prompts in canonical form, for `--fix`.

Request bodies (OpenAI, Anthropic, hitpath's `messages` and `prompt`) are written as they came, with
the texts, tools and JSON that changed; hitpath's rows of token ids with generated ids put back.
"""

from collections.abc import Mapping
from typing import IO, Any

import msgspec

from hitpath.core import InputError
from hitpath.doctor.diagnose import Requests
from hitpath.doctor.diagnosis import Diagnosis
from hitpath.doctor.forms import form_of, parts_of_form
from hitpath.doctor.kept import KeptRows
from hitpath.doctor.prove import fixes_for, spaced_of, whole_plan
from hitpath.doctor.reasoning import Reasoning
from hitpath.doctor.requests import Request, path_steps
from hitpath.doctor.steps import Steps
from hitpath.traces import hitpath_jsonl, openai_requests
from hitpath.traces.table import Trace

_BODIES = (openai_requests.NAME, hitpath_jsonl.NAME)
_WRAPPERS = ("body", "request", "params")


def check_fixable(trace: Trace) -> None:
    """Raise InputError for a format whose rows cannot be written again."""
    if trace.format not in _BODIES or not (trace.has_text or trace.identity == "tokens"):
        cause = "--fix writes request bodies and hitpath's own rows with text or token ids"
        raise InputError(trace.format, "", cause)


def write_fixed(found: Diagnosis, kept: KeptRows, requests: Requests, file: IO[bytes]) -> None:
    """A line a request, in the order of the trace; with the fixes that cure what was found. Raises
    InputError where nothing could be replayed, for nothing is known to be a fix then."""
    if found.why_no_proof:
        raise InputError(found.trace.format, "", f"--fix: {found.why_no_proof}")
    writer = _Writer(found, kept, requests)
    for row in range(len(found.trace)):
        file.write(msgspec.json.encode(writer.row(row)) + b"\n")


class _Writer:
    """Writes the rows of one trace."""

    def __init__(self, found: Diagnosis, kept: KeptRows, requests: Requests) -> None:
        self._found = found
        self._kept = kept
        self._requests = requests
        plan = whole_plan(
            found.findings, requests, spaced_of(found.defects), fixes_for(found.defects)
        )
        self._steps = Steps(plan)
        self._reasoning = Reasoning(requests, found.findings) if plan.reasoning else None

    def row(self, row: int) -> dict[str, Any]:
        """One row as it should be."""
        trace = self._found.trace
        kept_row = self._kept.text(trace.places[row])
        assert kept_row is not None
        whole: dict[str, Any] = msgspec.json.decode(kept_row)
        request = self._requests.of(row)
        if request is None:
            return self._with_ids(row, whole)
        missing = {} if self._reasoning is None else self._reasoning.messages(row)
        if self._reasoning is not None:
            request = self._reasoning.request(row, request)
        return _fixed(whole, request, missing, self._steps)

    def _with_ids(self, row: int, whole: dict[str, Any]) -> dict[str, Any]:
        """A row of token ids. Ids of a completion's body stay: nobody generated them there."""
        fixed = self._found.fixed
        if "tokens" in whole and fixed is not None and row in fixed.changed:
            runs = fixed.trace.prompts
            ids = runs.flat[runs.offsets[row] : runs.offsets[row + 1]].tolist()
            whole["tokens"] = ids
            if "prompt_tokens" in whole:
                whole["prompt_tokens"] = len(ids)
        return whole


def _fixed(
    whole: dict[str, Any], request: Request, missing: Mapping[int, Any], steps: Steps
) -> dict[str, Any]:
    """A row with text. missing: messages that have their reasoning again, by their numbers."""
    is_bare = any(name in whole for name in ("messages", "input", "prompt"))
    name = next((n for n in _WRAPPERS if not is_bare and whole.get(n) == request.body), None)
    body = whole if name is None else whole[name]
    for number, message in missing.items():
        _put(body, request.said[number].path, message)
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

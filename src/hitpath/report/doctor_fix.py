"""The trace as it should be: the same rows with prompts in canonical form, for `--fix`.

Rows are written as they came, with the texts, tools and JSON that changed, wherever their format
keeps these; hitpath's rows of token ids with generated ids put back. Request bodies and hitpath's
own rows are written in the order of the trace, a line each; of other formats the documents in their
order in the files, a line each, or as an array where they stood in one. Where a prompt has no place
of its own (the turns of a conversation, a log, a table, a document of which only pieces are read),
hitpath's own rows are written (doctor_fix_own.py).
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import IO, Any

import msgspec

from hitpath.core import InputError
from hitpath.doctor.diagnose import Requests
from hitpath.doctor.diagnosis import Diagnosis
from hitpath.doctor.forms import form_of, parts_of_form
from hitpath.doctor.in_row import Steps as Way
from hitpath.doctor.kept import KeptRows
from hitpath.doctor.prove import FIXES, spaced_of, whole_plan
from hitpath.doctor.put import put
from hitpath.doctor.reasoning import Reasoning
from hitpath.doctor.requests import Request
from hitpath.doctor.steps import Steps
from hitpath.report.convert.own_rows import own_rows
from hitpath.report.doctor_fix_own import FixedRows, write_lines
from hitpath.traces import (
    guidellm,
    helicone_export,
    hitpath_jsonl,
    inference_perf,
    langfuse_export,
    litellm_logs,
    lmcache_agent,
    mapped,
    openai_requests,
    otel_genai,
    swe_agent,
)
from hitpath.traces.request_bodies import WRAPPERS
from hitpath.traces.table import Trace

_BODIES = (openai_requests.NAME, hitpath_jsonl.NAME)
_DOCUMENTS = (
    litellm_logs.NAME, langfuse_export.NAME, helicone_export.NAME, lmcache_agent.NAME, mapped.NAME,
    guidellm.NAME, inference_perf.NAME, swe_agent.NAME, otel_genai.NAME,
)  # fmt: skip
_ELEMENT = re.compile(r".*\[\d+\]")
_HISTORY = "history"
_CALL = re.compile(r"messages\[\d+\]\.tool_calls\[\d+\]")
_FUNCTIONS = "llm.request.functions"
_UNTOLD = (KeyError, IndexError, TypeError, StopIteration, msgspec.MsgspecError)


def check_fixable(trace: Trace) -> None:
    """Raise InputError for prompts that no fix can rewrite."""
    if not (trace.has_text or trace.identity == "tokens"):
        raise InputError(trace.format, "", "--fix writes rows with text or token ids")


def write_fixed(found: Diagnosis, kept: KeptRows, requests: Requests, file: IO[bytes]) -> None:
    """All requests, with the fixes that cure what was found. Raises InputError where nothing could
    be replayed, for nothing is known to be a fix then, and where a row cannot be written."""
    if found.why_no_proof:
        raise InputError(found.trace.format, "", f"--fix: {found.why_no_proof}")
    writer = _Writer(found, kept, requests)
    if found.trace.format in _BODIES:
        write_lines(file, map(writer.row, range(len(found.trace))))
        return
    if not keeps_places(found.trace, kept, requests):
        write_lines(file, own_rows(found.trace, FixedRows(found, requests, writer.changes)))
        return
    is_array = None
    for place, document in writer.documents():
        of_array = _ELEMENT.fullmatch(place) is not None
        if of_array:
            file.write(b",\n" if is_array else b"[")
            is_array = True
        file.write(msgspec.json.encode(document) + (b"" if of_array else b"\n"))
    file.write(b"]\n" if is_array else b"")


def keeps_places(trace: Trace, kept: KeptRows, requests: Requests) -> bool:
    """Whether each request has a place of its own in documents of JSON that were kept whole."""
    if trace.format not in _DOCUMENTS or kept.has_table:
        return False
    for row, place in enumerate(trace.places):
        document, _ = kept.document(place)
        is_piece = document is None or not place.startswith(document)
        if document is None or (is_piece and trace.format == guidellm.NAME):
            return False
        request = requests.of(row) if trace.format == swe_agent.NAME else None
        if request is not None and request.in_row.steps("messages")[0] == _HISTORY:
            return False  # one list holds the messages of all requests
    return True


class _Writer:
    """Writes the rows of one trace."""

    def __init__(self, found: Diagnosis, kept: KeptRows, requests: Requests) -> None:
        self._found = found
        self._kept = kept
        self._requests = requests
        names = {proof.name for proof in found.proofs if not proof.is_left_out}
        fixes = [fix for fix in FIXES if fix.name in names]
        plan = whole_plan(found.findings, requests, spaced_of(found.defects), fixes)
        self._steps = Steps(plan)
        self._reasoning = Reasoning(requests, found.findings) if plan.reasoning else None

    def row(self, row: int) -> dict[str, Any]:
        """One row as it should be."""
        kept_row = self._kept.text(self._found.trace.places[row])
        assert kept_row is not None
        whole: dict[str, Any] = msgspec.json.decode(kept_row)
        request = self._requests.of(row)
        if request is None:
            return self._with_ids(row, whole)
        is_bare = any(name in whole for name in ("messages", "input", "prompt"))
        name = next((n for n in WRAPPERS if not is_bare and whole.get(n) == request.body), None)
        self._change(row, request, whole if name is None else whole[name], ())
        return whole

    def documents(self) -> Iterator[tuple[str, Any]]:
        """(place, document) of every document that holds requests, in the order of the files."""
        rows: dict[str, list[tuple[int, Way]]] = defaultdict(list)
        for row, place in enumerate(self._found.trace.places):
            document, way = self._kept.document(place)
            assert document is not None
            rows[document].append((row, way))
        for place in self._kept.places:
            if place in rows:
                text = self._kept.text(place)
                assert text is not None
                whole = msgspec.json.decode(text)
                for row, way in rows[place]:
                    request = self._requests.of(row)
                    if request is not None:
                        self._change(row, request, whole, way)
                yield place, whole

    def _change(self, row: int, request: Request, whole: Any, way: Way) -> None:
        """Put what is new of a request into the row that stands there in a document."""
        for path, value in self._recorded(row, request):
            steps = (*way, *request.in_row.steps(path))
            try:
                _put(whole, steps, value)
            except _UNTOLD as error:
                place = self._found.trace.places[row]
                cause = "--fix cannot write what stands here"
                raise InputError(place, request.in_row.path(path), cause) from error

    def _recorded(self, row: int, request: Request) -> Iterator[tuple[str, Any]]:
        """The changes, by what was recorded: a call of OpenTelemetry's parts is another object than
        the template's form of it, and only what it says is written."""
        is_chat = self._found.trace.format == otel_genai.NAME and not self._found.trace.has_text
        for path, value in self.changes(row, request):
            if not is_chat or _CALL.fullmatch(path) is None:
                yield path, value
                continue
            message, number = map(int, re.findall(r"\d+", path))
            told = request.said[message].message["tool_calls"][number]["function"]
            for name, new in value["function"].items():
                if new != told.get(name):
                    yield f"{path}.function.{name}", new

    def changes(self, row: int, request: Request) -> Iterator[tuple[str, Any]]:
        """(path in the request, what should stand there)."""
        if self._reasoning is not None:
            items = self._reasoning.items.input(row, request)
            if items is not None:
                yield "input", items
            for number, message in self._reasoning.messages(row).items():
                yield request.said[number].path, message
            request = self._reasoning.request(row, request)
        if request.prompt.is_one_text:
            text = form_of(request.prompt, self._steps)[0].decode()
            yield request.prompt.messages[0].path, text
            return
        yield from _changes_of(request, self._steps)

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


def _changes_of(request: Request, steps: Steps) -> Iterator[tuple[str, Any]]:
    """Texts and JSON that a plan rewrites; each list of tools as a whole, where one of it is new or
    stands elsewhere. Marks for a provider's cache stay at their places."""
    told: dict[str, list[Any]] = defaultdict(list)
    places: dict[str, list[str]] = defaultdict(list)
    for path, tool in request.tools:
        told[path.rpartition("[")[0]].append(tool)
        places[path.rpartition("[")[0]].append(path)
    new: dict[str, list[Any]] = defaultdict(list)
    for part, value in parts_of_form(request.prompt, steps):
        if part.segment == "tools" and part.form == "json" and part.message < 0:
            new[part.path.rpartition("[")[0]].append(value)
        else:
            yield part.path, value
    for holder, tools in new.items():
        marked = [_with_mark(tool, old) for tool, old in zip(tools, told[holder], strict=True)]
        if msgspec.json.encode(marked) == msgspec.json.encode(told[holder]):
            continue
        if places[holder][-1] == f"{holder}[{len(marked) - 1}]":
            yield holder, marked
        else:  # marks stand among them, and stay there
            yield from zip(places[holder], marked, strict=True)


def _with_mark(tool: Any, old: Any) -> Any:
    """A tool with the mark of the one that stood in its place."""
    if isinstance(tool, dict) and isinstance(old, dict) and "cache_control" in old:
        return {**tool, "cache_control": old["cache_control"]}
    return tool


def _put(whole: Any, way: Way, value: Any) -> None:
    """Set what stands there. OpenLLMetry has no list of tools, but a key a field of each."""
    if way and way[-1] == _FUNCTIONS:
        for number, tool in enumerate(value):
            for name, inner in _fields_of(tool).items():
                put(whole, (*way[:-1], f"{_FUNCTIONS}.{number}.{name}"), inner)
        return
    put(whole, way, value)


def _fields_of(tool: Mapping[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = tool["function"]
    return {name: inner for name, inner in told.items() if inner is not None}

"""Every request against its relative: the doctor's pass over a trace.

A prompt that goes on where its relative ends needs no look at its structure: that is most of a
healthy trace. Else both rows are read again, by their place, and compared part by part. At most
`_MOST_REQUESTS` requests with structure are in memory.
"""

from collections import OrderedDict, deque
from dataclasses import dataclass, fields, replace

import numpy as np

from hitpath.core import Progress
from hitpath.doctor._kernels import common_symbols
from hitpath.doctor.change import Change, Comparison, NewAt
from hitpath.doctor.compare import compare
from hitpath.doctor.flat import flat_prompt
from hitpath.doctor.kept import KeptRows
from hitpath.doctor.prompt import GLUE
from hitpath.doctor.relatives import NONE, Families
from hitpath.doctor.replies import (
    ONE_PLACE,
    Decode,
    Ids,
    id_change,
    reply_changes,
    same_text_change,
)
from hitpath.doctor.requests import Request, path_steps, raw_at, request_of
from hitpath.doctor.symbols import common_of, compare_symbols, in_symbols, shared_symbols
from hitpath.doctor.textdiff import common_length
from hitpath.doctor.threads import (
    Threads,
    are_built_otherwise,
    are_two_dialogues,
    is_one_application,
    is_one_conversation,
    shares_words,
)
from hitpath.traces import hitpath_jsonl
from hitpath.traces.table import Context, Symbols, Trace

_MOST_REQUESTS = 64
_MOST_BACK, _CLOSER_BYTES, _CLOSER_TOKENS = 4, 256, 64
_LEAST_MOVED = 24
_SURELY_ONE = 1024
"""Leading symbols in common that two applications do not have by chance."""
_HEAD = b"<|assistant|>\n"
_CONTEXT_PATHS = {"model": "model", "salt": "cache_salt", "adapter": "adapter",
                  "media_salt": "media_salt"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Finding:
    """A request against its relative (NONE: it has none). same_session: as the trace says or as the
    messages show. common: symbols that both share from the beginning. application: its number, that
    of its relative."""

    row: int
    relative: int
    same_session: bool
    common: int
    comparison: Comparison
    application: int = 0

    @property
    def first(self) -> Change | None:
        """The first difference that is a defect."""
        return self.comparison.changes[0] if self.comparison.changes else None


class Requests:
    """Rows of a trace as requests with structure; flat text where nothing is known of it."""

    def __init__(self, trace: Trace, kept: KeptRows) -> None:
        self._trace = trace
        self._kept = kept
        self._known: OrderedDict[int, Request] = OrderedDict()

    def symbols(self, row: int) -> Symbols:
        """The prompt as the reader made it."""
        runs = self._trace.prompts
        return runs.flat[runs.offsets[row] : runs.offsets[row + 1]]

    def with_output(self, row: int) -> Symbols:
        """The prompt and what was generated behind it, as far as that is known."""
        runs = self._trace.outputs
        output = runs.flat[runs.offsets[row] : runs.offsets[row + 1]]
        prompt = self.symbols(row)
        whole: Symbols = np.concatenate([prompt, output.astype(prompt.dtype)])
        return whole

    def of(self, row: int) -> Request | None:
        """None where there is neither structure nor text."""
        found = self._known.get(row)
        if found is None:
            made = self._made(row)
            if made is None:
                return None
            self._known[row] = found = made
            if len(self._known) > _MOST_REQUESTS:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(row)
        return found

    def _made(self, row: int) -> Request | None:
        trace = self._trace
        text = self._kept.text(trace.places[row]) if trace.places else None
        request = None if text is None else request_of(trace.format, text, trace.ids[row])
        if not trace.has_text:
            return request
        rendered = self.symbols(row).tobytes()
        if request is not None and request.prompt.rendered == rendered:
            return request
        return Request(flat_prompt(rendered.decode("utf-8", "replace"), "prompt"))


class _Windows:
    """The last requests of each session, for windows that moved on so far that no beginning and
    few chunks are left."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        self._last: dict[str, deque[int]] = {}

    def add(self, row: int, session: str | None) -> None:
        """After the request was looked at."""
        if session is not None:
            self._last.setdefault(session, deque(maxlen=_MOST_BACK)).append(row)

    def moved_on(self, row: int, session: str | None) -> int:
        """The latest request of the session of which a run stands here, NONE without one."""
        here = self._requests.symbols(row)
        for other in reversed(self._last.get(session or "", ())):
            if shared_symbols(self._requests.symbols(other), here) >= _LEAST_MOVED:
                return other
        return NONE


def diagnose(
    trace: Trace,
    kept: KeptRows,
    families: Families,
    progress: Progress | None = None,
    decode: Decode | None = None,
) -> list[Finding]:
    """One finding a request, in the order of the trace. decode: of the tokenizer that made the
    trace's ids, if one did."""
    requests = Requests(trace, kept)
    threads, windows = Threads(), _Windows(requests)
    num = 0
    found: list[Finding] = []
    for row, other in enumerate(families.nearest.tolist()):
        if progress is not None and row % 256 == 0:
            progress("comparing requests", row, len(trace))
        if trace.session.of(row) is None and (request := requests.of(row)) is not None:
            earlier = threads.continued_by(row, request.prompt)
            if earlier is not None and not _is_one_conversation(requests, earlier, request):
                earlier = None
            other = other if earlier is None else _nearest_of_thread(trace, found, row, earlier)
        in_session = bool(families.in_session[row])
        if trace.identity == "tokens" and not in_session:
            shifted = windows.moved_on(row, trace.session.of(row))
            in_session, other = shifted != NONE, other if shifted == NONE else shifted
        is_other = (
            _is_another_app(requests, row, other)
            if in_session
            else (not _is_related(requests, families, row, other))
        )
        if is_other:
            in_session, other = False, NONE
        finding = _finding(trace, requests, families, row, other, in_session, decode)
        application = num if other == NONE else found[other].application
        num += other == NONE
        found.append(replace(finding, application=application))
        windows.add(row, trace.session.of(row))
    return found


def _is_one_conversation(requests: Requests, other: int, here: Request) -> bool:
    there = requests.of(other)
    return there is not None and is_one_conversation(there.prompt, here.prompt)


def _is_another_app(requests: Requests, row: int, other: int) -> bool:
    """Whether two requests of a session are of two applications, as those of a helper that an agent
    calls: other tools, or instructions elsewhere, and nothing said that both have."""
    one, two = requests.of(other), requests.of(row)
    if one is None or two is None or one.prompt.is_flat or two.prompt.is_flat:
        return False
    return are_built_otherwise(one.prompt, two.prompt) and are_two_dialogues(one.prompt, two.prompt)


def _is_related(requests: Requests, families: Families, row: int, other: int) -> bool:
    """Whether two requests are of one session, or of one application: by what they have in common,
    else by their instructions and tools (of retrieval most of a prompt is another each time)."""
    if other == NONE:
        return False
    if other != families.nearest[row]:
        return True
    one, two = requests.of(other), requests.of(row)
    is_near = bool(families.application[row] == families.application[other])
    if one is None or two is None or one.prompt.is_flat or two.prompt.is_flat:
        return is_near
    if is_near and families.common[row] >= _SURELY_ONE:
        return True
    if is_one_application(one.prompt, two.prompt):
        return True
    return is_near and shares_words(one.prompt, two.prompt)


def _nearest_of_thread(trace: Trace, found: list[Finding], row: int, latest: int) -> int:
    """The latest request of a conversation, unless one of those before it shares much more."""
    runs, closer = trace.prompts, _CLOSER_BYTES if trace.has_text else _CLOSER_TOKENS
    best, other = latest, latest
    best_common = int(common_symbols(runs.flat, runs.offsets, row, latest))
    for _ in range(_MOST_BACK - 1):
        if not found[other].same_session:
            break
        other = found[other].relative
        common = int(common_symbols(runs.flat, runs.offsets, row, other))
        if common >= best_common + closer:
            best, best_common = other, common
    return best


def _finding(
    trace: Trace,
    requests: Requests,
    families: Families,
    row: int,
    other: int,
    labelled: bool,
    decode: Decode | None,
) -> Finding:
    if other == NONE:
        start = NewAt("", "", 0, 0)
        return Finding(row, NONE, False, 0, Comparison((), (), start))
    common = int(families.common[row])
    if other != families.nearest[row]:
        runs = trace.prompts
        common = int(common_symbols(runs.flat, runs.offsets, row, other))
    length = int(trace.prompts.offsets[other + 1] - trace.prompts.offsets[other])
    if _goes_on(trace, requests, other, common, length):
        comparison = _going_on(trace, requests, row, other, common, decode)
        same = True
    else:
        same, comparison = _compared(trace, requests, row, other, common, labelled, decode)
        if trace.identity == "tokens" and same:
            comparison = _ids_looked_at(trace, requests, row, other, comparison, decode)
    return Finding(row, other, same, common, _with_context(trace, row, other, same, comparison))


def _going_on(
    trace: Trace, requests: Requests, row: int, other: int, common: int, decode: Decode | None
) -> Comparison:
    """A prompt that begins with all of its relative's: is the reply there as it was given?"""
    plain = Comparison((), ((0, common),), NewAt("", "", 0, common))
    if not trace.has_output[other]:
        return plain
    expected = requests.with_output(other)
    own = requests.symbols(row)
    same = common_of(expected, own)
    if same >= min(len(expected), len(own)):
        return plain
    one, two = requests.of(other), requests.of(row)
    changes: tuple[Change, ...] = ()
    if one is not None and two is not None:
        changes = tuple(reply_changes(one, two.prompt))
        if changes and not trace.has_text:
            changes = tuple(replace(change, start=same, stop=same) for change in changes)
    if not changes and trace.identity == "tokens":
        return _ids_looked_at(trace, requests, row, other, plain, decode)
    return Comparison(changes, plain.kept, plain.new_at)


def _ids_looked_at(
    trace: Trace,
    requests: Requests,
    row: int,
    other: int,
    comparison: Comparison,
    decode: Decode | None,
) -> Comparison:
    """With ids that differ where the request does not. Where only ids are known, what their runs
    show at the very place is the same difference; where the texts part too, it is new text."""
    expected = requests.with_output(other)
    own = requests.symbols(row)
    ids = Ids(expected, own, len(requests.symbols(other)), common_of(expected, own))
    has_structure = requests.of(row) is not None and requests.of(other) is not None
    change = None
    if decode is not None and (comparison.changes or not has_structure):
        if ids.common < len(expected):
            change = same_text_change(ids, decode)
    elif not comparison.changes:
        change = id_change(ids, decode)
    if change is None:
        return comparison
    rest = comparison.changes
    if not has_structure:
        rest = tuple(c for c in rest if c.start > ids.common + ONE_PLACE)
    return Comparison((change, *rest), comparison.kept, comparison.new_at)


def _compared(
    trace: Trace,
    requests: Requests,
    row: int,
    other: int,
    common: int,
    labelled: bool,
    decode: Decode | None,
) -> tuple[bool, Comparison]:
    """(whether both are of one session, the comparison in the trace's own symbols)."""
    one, two = requests.of(other), requests.of(row)
    if one is None or two is None:
        found = compare_symbols(requests.symbols(other), requests.symbols(row), labelled, decode)
        return labelled, found
    if not trace.has_text and two.prompt.rendered.startswith(one.prompt.rendered):
        return True, Comparison((), ((0, common),), NewAt("", "", 0, common))
    unnamed = trace.session.of(row) is None
    same = labelled or (unnamed and is_one_conversation(one.prompt, two.prompt))
    same = same and not are_two_dialogues(one.prompt, two.prompt)
    found = compare(one.prompt, two.prompt, same)
    changes = tuple(_as_in_the_file(one, two, change) for change in found.changes)
    found = replace(found, changes=changes)
    if not trace.has_text:
        found = in_symbols(found, two.prompt, common, len(requests.symbols(row)))
    return same, found


def _goes_on(trace: Trace, requests: Requests, other: int, common: int, length: int) -> bool:
    """Whether a prompt begins with all of its relative's, but for the head of the reply."""
    if common >= length:
        return True
    if not trace.has_text or common < length - len(_HEAD):
        return False
    return requests.symbols(other)[-len(_HEAD) :].tobytes() == _HEAD


def _as_in_the_file(there: Request, here: Request, change: Change) -> Change:
    """With the character of a subtree counted in its text in the file, where that is known."""
    if not change.there_path or not there.raw or not here.raw:
        return change
    old = raw_at(there.raw, path_steps(change.there_path))
    new = raw_at(here.raw, path_steps(change.json_path))
    if not old or not new or old == new:
        return change
    texts = [text.decode("utf-8", "replace") for text in (old, new)]
    return replace(change, char_offset=common_length(*texts))


def _with_context(
    trace: Trace, row: int, other: int, same_session: bool, comparison: Comparison
) -> Comparison:
    """With what else must be equal: model, adapter, salt and the rest of the context."""
    if not same_session or trace.context[row] == trace.context[other]:
        return comparison
    here, there = (trace.contexts[trace.context[r]] for r in (row, other))
    changes = tuple(
        Change(
            "context_changed",
            path,
            GLUE,
            common_length(str(old or ""), str(new or "")),
            0,
            0,
            str(old),
            str(new),
            "",
            _field_of(path),
        )
        for path, old, new in _differing(there, here, trace.format == hitpath_jsonl.NAME)
    )
    return Comparison((*changes, *comparison.changes), comparison.kept, comparison.new_at)


def _field_of(path: str) -> str:
    """The name of the field of a context."""
    return {"cache_salt": "salt"}.get(path, path.rpartition(".")[2])


def _differing(there: Context, here: Context, is_own: bool) -> list[tuple[str, object, object]]:
    """(path, value there, value here) of each field that differs."""
    found: list[tuple[str, object, object]] = []
    for field in fields(Context):
        old, new = getattr(there, field.name), getattr(here, field.name)
        if old == new:
            continue
        if field.name != "others":
            is_context = is_own and field.name != "model"
            path = f"context.{field.name}" if is_context else _CONTEXT_PATHS[field.name]
            found.append((path, old, new))
            continue
        olds, news = dict(old), dict(new)
        found += [
            (f"context.{name}", olds.get(name), news.get(name))
            for name in sorted(olds.keys() | news.keys())
            if olds.get(name) != news.get(name)
        ]
    return found

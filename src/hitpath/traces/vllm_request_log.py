"""vLLM request logs: the prompts that a server printed, as token ids or as rendered text.

Lines are told apart in `vllm_request_lines.py`; all others are passed over. One trace has one
unit: token ids where all requests have them, else text (tokens with `--tokenizer`, else bytes).
Text of chat requests was rendered by the server: its special tokens stand in it. What is not in
such a log: the cache salt, pictures (only their placeholders), and what was cached.
"""

from collections.abc import Sequence

from hitpath.core import InputError, printable
from hitpath.traces.log_times import LogClock, is_dated, is_stamped
from hitpath.traces.prompts import TextPrompts
from hitpath.traces.rows import TraceBuilder
from hitpath.traces.sources import Format, Input, ReadOptions
from hitpath.traces.table import Trace
from hitpath.traces.vllm_log_rows import LogRows, Request
from hitpath.traces.vllm_request_lines import (
    Event,
    is_request,
    log_limit,
    may_be_event,
    parse,
    shows_prompt,
)

NAME = "vllm-request-log"
_HEAD_BYTES = 4 << 20


def stands_in(source: Input) -> bool:
    """Whether the first 4 MiB of a text (of its first 200,000 lines) are a log with requests: with
    a prompt, or without any where it has no statistics either (then there is at least a reason to
    tell)."""
    size, requests, statistics = 0, False, False
    for _, line in source.peek():
        if shows_prompt(line):
            return True
        requests = requests or is_request(line)
        statistics = statistics or b"throughput: " in line
        size += len(line)
        if size > _HEAD_BYTES:
            break
    return requests and not statistics


def read(inputs: Sequence[Input], builder: TraceBuilder, options: ReadOptions) -> Trace:
    """All requests of all logs. Raises InputError."""
    log = _Log(builder)
    for source, worker in zip(inputs, _workers(inputs), strict=True):
        log.read(source, worker)
    if len(inputs) > 1:
        builder.notes.append(
            f"{len(inputs):,} logs are given: each is a worker with a cache of its own, named "
            "after its file (the parts of one server's log must be joined before)"
        )
    rows = LogRows(NAME, log.requests, log.dated, builder, TextPrompts(options.tokenizer))
    return rows.build(inputs[0].name)


def _workers(inputs: Sequence[Input]) -> list[str | None]:
    """Who wrote each of several logs: the file's name without its endings, with as much of its
    path before it as tells it from the others. One log is one server, whatever it is called."""
    if len(inputs) == 1:
        return [None]
    paths = [
        (source.name,) if source.path is None else source.path.absolute().parts for source in inputs
    ]
    for depth in range(1, max(map(len, paths)) + 1):
        names = ["/".join((*path[-depth:-1], path[-1].split(".")[0])) for path in paths]
        if len(set(names)) == len(names):
            return list(map(printable, names))
    return [source.name for source in inputs]


class _Log:
    """The requests of all lines, in their order."""

    def __init__(self, builder: TraceBuilder) -> None:
        self._builder = builder
        self.requests: list[Request] = []
        self.dated: bool | None = None

    def read(self, source: Input, worker: str | None) -> None:
        """The requests of one source."""
        clock = LogClock()
        by_id: dict[str, Request] = {}
        waiting: dict[tuple[str, str], Request] = {}  # by the kind of line that is to come
        limit_told, limit = False, None
        for place, line in source.lines():
            told, found = log_limit(line)
            if told:
                limit_told, limit = True, found
            if not may_be_event(line):
                continue
            try:
                event = parse(line, place)
                if event is None:
                    continue
                time_s = self._time_s(event, clock, place)
            except InputError as error:
                self._builder.reject(error)
                continue
            if event.kind in ("response", "finished"):
                _finish(by_id.get(event.id), event, time_s)
            elif (event.kind, event.id) in waiting:
                _complete(waiting.pop((event.kind, event.id)), event)
            else:
                request = _request(event, place, time_s, limit if limit_told else None, limit_told)
                request.worker = worker
                self.requests.append(request)
                by_id[event.id] = request
                if not event.whole:
                    other = "details" if event.kind == "request" else "request"
                    waiting[other, event.id] = request

    def _time_s(self, event: Event, clock: LogClock, place: str) -> float | None:
        if self.dated is None and (is_dated(event.head) or is_stamped(event.head)):
            self.dated = is_dated(event.head)
        return clock.seconds(event.head, bool(self.dated), place)


def _request(
    event: Event, place: str, time_s: float | None, limit: int | None, limit_told: bool
) -> Request:
    return Request(
        id=event.id,
        place=place,
        arrival_s=time_s,
        ids=event.ids,
        text=event.text if event.ids is None else None,
        num_characters=None if event.text is None else len(event.text),
        limit=limit,
        limit_told=limit_told,
        adapter=event.adapter,
        prompt_adapter=event.prompt_adapter,
        is_served=event.is_served,
    )


def _complete(request: Request, event: Event) -> None:
    """What the other of two lines tells: prompt and adapter, in either order."""
    if event.kind == "details":
        request.ids, request.text = event.ids, event.text if event.ids is None else None
        request.num_characters = None if event.text is None else len(event.text)
    else:
        request.adapter, request.prompt_adapter = event.adapter, event.prompt_adapter
        request.is_served = event.is_served


def _finish(request: Request | None, event: Event, time_s: float | None) -> None:
    """The end of a request; of several choices the first is its output."""
    if request is None:
        return
    if time_s is not None and request.arrival_s is not None and time_s >= request.arrival_s:
        request.finish_s = time_s
    if request.output is None and event.ids is not None and len(event.ids) != request.limit:
        request.output = event.ids


def never_json(value: object) -> bool:
    """The format is text: no JSON value is of it."""
    return False


FORMAT = Format(NAME, "vLLM request log", never_json, read)

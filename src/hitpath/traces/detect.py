"""Finding out by content which format a source is of, before any reader sees it."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hitpath.core import InputError
from hitpath.traces import (
    aiperf,
    azure,
    baseten,
    bench_serve,
    burstgpt,
    claude_code,
    coding_agent,
    engine_logs,
    guidellm,
    helicone_export,
    hitpath_jsonl,
    inference_perf,
    langfuse_export,
    litellm_logs,
    lmcache_agent,
    mapped,
    mooncake,
    openai_requests,
    otel_genai,
    qwen_bailian,
    ragpulse,
    sharegpt,
    swe_agent,
    tracelab,
    vllm_request_log,
)
from hitpath.traces.decode import decode_outline, other_encoding
from hitpath.traces.engine_logs.other_metrics import other_metrics
from hitpath.traces.folders import nothing_in
from hitpath.traces.mapping_hints import example_for
from hitpath.traces.own_outputs import own_json, own_table
from hitpath.traces.sources import Format, Input
from hitpath.traces.tabular import CsvTable, ParquetTable, header_of, is_parquet

if TYPE_CHECKING:
    from hitpath.traces.mapping import Mapping

FORMATS: tuple[Format, ...] = (
    coding_agent.FORMAT,
    qwen_bailian.FORMAT,  # before Mooncake, whose fields its rows have too
    ragpulse.FORMAT,
    mooncake.FORMAT,
    litellm_logs.FORMAT,  # the next three before hitpath's own, which has id and messages too
    langfuse_export.FORMAT,
    helicone_export.FORMAT,
    claude_code.FORMAT,
    hitpath_jsonl.FORMAT,
    lmcache_agent.FORMAT,
    openai_requests.FORMAT,
    sharegpt.FORMAT,
    otel_genai.FORMAT,
    swe_agent.FORMAT,
    aiperf.FORMAT,
    guidellm.FORMAT,
    inference_perf.FORMAT,
    bench_serve.FORMAT,
    tracelab.FORMAT,
    vllm_request_log.FORMAT,
    azure.FORMAT,
    burstgpt.FORMAT,
    baseten.FORMAT,
    mapped.FORMAT,
)
"""Asked in this order; the first that recognises a source reads it."""


_JSON_BEGINS = (b"{", b"[")
_NO_FORMAT = (
    "not a format that hitpath knows: no JSON lines, no table, no log with requests or statistics "
    "(docs/trace-format.md lists them)"
)
_NAME = re.compile(r"[^\W\d][^{}\[\]=]{0,63}")
_MOST_NAMES = 20


def find_format(
    source: Input, skip_bad_rows: bool, mapping: "Mapping | None" = None
) -> Format | None:
    """The source's format (with `mapping`, always the mapped one), and its table if it is one.
    None for an empty source, or (with `source.problem`) one without a readable row under
    `skip_bad_rows`. Raises InputError."""
    large = None if mapping is not None else _of_large_object(source)
    if large is not None:
        source.in_parts = True
        return large
    if is_parquet(source):
        source.table = ParquetTable(source)
        columns = source.table.columns
        if mapping is not None:
            return mapped.FORMAT
        _refuse(own_table(columns), source.name)
        found = _format_of_columns(columns)
        if found is None:
            raise _unknown_table(source.name, columns)
        return found
    if source.is_array:
        return mapped.FORMAT if mapping is not None else _of_array(source, skip_bad_rows)
    first = next(source.peek(), None)
    if first is None:
        return None
    number, line = first
    place = f"{source.name}:{number}"
    _refuse(other_encoding(line), source.name)
    if mapping is not None:
        return _mapped(source, line, place)
    for known in FORMATS:
        if known.sniffs(line):
            return known
    try:
        value = decode_outline(line, place)
    except InputError as problem:
        return _of_text(problem, source, skip_bad_rows)
    return _format_of(value, place)


def statistics_in(inputs: Sequence[Input]) -> bool:
    """Whether these sources are an engine's log or metrics without requests (engine_logs/), which
    are no trace. What was looked at stays readable.

    Raises InputError where only some of them are: statistics and requests do not go together.
    """
    told = []
    for source in inputs:
        told.append((source.name, _is_statistics(source)))
        if len(inputs) > 1:
            source.release()
    ours = [name for name, is_it in told if is_it]
    others = [name for name, is_it in told if is_it is False]
    if ours and others:
        cause = f"holds statistics of an engine, but {others[0]} does not: give them apart"
        raise InputError(ours[0], "", cause)
    return bool(ours)


def _is_statistics(source: Input) -> bool | None:
    """None for an empty source."""
    if source.is_array or _of_large_object(source) is not None or is_parquet(source):
        return False
    first = next(source.peek(), None)
    if first is None:
        return None
    if not engine_logs.is_engine_log(source):
        return False
    header = header_of(first[1])  # a table may hold a log in one of its cells
    return header is None or _format_of_columns(header[0]) is None


def _of_large_object(source: Input) -> Format | None:
    """By what stands at its top; None also where its format has no parts."""
    names = source.large_object
    return None if names is None else next((f for f in FORMATS if f.begins(names)), None)


def _of_array(source: Input, skip_bad_rows: bool) -> Format | None:
    """By the first element that is JSON."""
    first: InputError | None = None
    for place, text in source.peek_elements():
        try:
            value = decode_outline(text, place)
        except InputError as problem:
            if not skip_bad_rows:
                raise
            first = first or problem
        else:
            return _format_of([value], place.rpartition("[")[0])
    source.problem = first
    return None


def _of_text(problem: InputError, source: Input, skip_bad_rows: bool) -> Format | None:
    """The first line is no JSON: a log, the header of a table, or what `_in_spite_of` makes
    of it."""
    if vllm_request_log.stands_in(source):
        return vllm_request_log.FORMAT
    line = next(source.peek())[1]
    if line.lstrip()[:1] not in _JSON_BEGINS:
        problem = InputError(problem.place, "", _NO_FORMAT)
    header = header_of(line)
    if header is not None:
        _refuse(own_table(header[0]), source.name)
        found = _format_of_columns(header[0])
        if found is not None:
            source.table = CsvTable(source, *header)
            return found
        if len(header[0]) > 1 and all(map(_NAME.fullmatch, filter(None, header[0]))):
            problem = _unknown_table(problem.place, header[0])
    if engine_logs.is_engine_log(source):
        return engine_logs.FORMAT
    told = other_metrics(source)
    if told is not None:
        raise InputError(source.name, "", told)
    return _in_spite_of(problem, source, skip_bad_rows)


def without_strangers(inputs: list[Input]) -> list[Input]:
    """Without those texts of folders that are neither a log nor a trace; the first input that stays
    has a note of them. Raises InputError for a folder of which none stays."""
    kept: list[Input] = []
    strangers: list[Input] = []
    for source in inputs:
        (kept if not source.is_perhaps or _is_known(source) else strangers).append(source)
        if len(inputs) > 1:
            source.release()
    texts = Counter(source.path.parent for source in strangers if source.path is not None)
    for source in kept:
        if source.path is not None:
            texts.pop(source.path.parent, None)
    for folder, count in texts.items():
        raise nothing_in(folder, count)
    if strangers:
        named = [source.name for source in strangers]
        more = f" and {len(named) - _MOST_NAMES:,} more" if len(named) > _MOST_NAMES else ""
        kept[0].note = (
            f"{len(named):,} texts of the folder are neither a log nor a trace that hitpath knows: "
            f"passed over ({', '.join(named[:_MOST_NAMES])}{more})"
        )
    return kept


def _is_known(source: Input) -> bool:
    """Whether a text is a log or a trace. Raises InputError for one that cannot be read."""
    if not source.is_array:
        next(source.peek(), None)
    try:
        return bool(_is_statistics(source)) or find_format(source, False) is not None
    except InputError:
        return False


def _mapped(source: Input, line: bytes, place: str) -> Format:
    """JSON rows, or a table: a mapping can be of either."""
    if line.lstrip()[:1] not in _JSON_BEGINS:
        header = header_of(line)
        if header is None:
            cause = "neither JSON nor a line with the names of columns"
            raise InputError(place, "", cause)
        source.table = CsvTable(source, *header)
    return mapped.FORMAT


def _format_of_columns(columns: Sequence[str]) -> Format | None:
    names = frozenset(columns)
    return next((known for known in FORMATS if known.has_columns(names)), None)


def _unknown_table(place: str, columns: Sequence[str]) -> InputError:
    named = [name for name in columns if name]
    shown = ", ".join(named[:_MOST_NAMES]) + (" …" if len(named) > _MOST_NAMES else "")
    cause = (
        f"format not recognised; say which columns mean what, as in {example_for(columns)} "
        f"(columns: {shown})"
    )
    return InputError(place, "", cause)


def _in_spite_of(problem: InputError, source: Input, skip_bad_rows: bool) -> Format | None:
    """The first line is no JSON: one document over several lines, or a bad row to skip."""
    if next(source.peek())[1].lstrip()[:1] in _JSON_BEGINS and source.begins_document():
        try:
            value = decode_outline(source.document(), source.name)
        except InputError:
            pass  # not a document either: `problem` is what is told
        else:
            return _format_of(value, source.name)
    if not skip_bad_rows:
        raise problem
    for number, line in source.peek():
        try:
            return _format_of(decode_outline(line, source.name), f"{source.name}:{number}")
        except InputError:
            continue  # this row is bad as well; the reader lists it
    cause = f"{problem.cause}; none of the rows looked at, from the first on, is better"
    source.problem = InputError(problem.place, problem.field, cause)
    return None


def _refuse(why: str | None, place: str) -> None:
    if why is not None:
        raise InputError(place, "", why)


def _format_of(value: object, place: str) -> Format:
    _refuse(own_json(value), place)
    for known in FORMATS:
        if known.recognises(value):
            return known
    if isinstance(value, dict):
        found = "fields: " + (", ".join(sorted(map(str, value))[:8]) or "none")
    else:
        found = f"a JSON {type(value).__name__}"
    raise InputError(place, "", f"format not recognised ({found}); docs/trace-format.md lists them")

"""What else must be equal for a prefix to be found again: model, adapter, salt and the rest of the
context of a request."""

from dataclasses import fields

from hitpath.doctor.change import Change, Comparison
from hitpath.doctor.prompt import GLUE
from hitpath.doctor.textdiff import common_length
from hitpath.traces import hitpath_jsonl
from hitpath.traces.table import Context, Trace

_PATHS = {"model": "model", "salt": "cache_salt", "adapter": "adapter", "media_salt": "media_salt"}


def with_context(
    trace: Trace, row: int, other: int, same_session: bool, comparison: Comparison
) -> Comparison:
    """The comparison with the fields of the context that differ, if both are of one session."""
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
            path = f"context.{field.name}" if is_context else _PATHS[field.name]
            found.append((path, old, new))
            continue
        olds, news = dict(old), dict(new)
        found += [
            (f"context.{name}", olds.get(name), news.get(name))
            for name in sorted(olds.keys() | news.keys())
            if olds.get(name) != news.get(name)
        ]
    return found

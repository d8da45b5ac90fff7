"""`hitpath diff`: two traces or ledgers, and why the hit rate of one is not that of the other.

The JSON document has schema "hitpath.diff/1": fields are added, never renamed. Effects are
floats; the token sums beside them are exact, so that the arithmetic can be done again.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from hitpath.accounting.diff import HIT, Effect, GroupEffect
from hitpath.accounting.rates import ratio
from hitpath.core import InputError, Setting, SettingError
from hitpath.report.ledger_input import is_ledger, labelled_rows, origin_of, read_ledgers
from hitpath.report.lengths import lengths_table
from hitpath.report.pages import print_page, write_json
from hitpath.report.rows import ledger_table, setting_of
from hitpath.report.run import Outputs, announce_compilation, shown_progress
from hitpath.report.terminal_diff import print_diff
from hitpath.spine import analyze
from hitpath.summary import Analysis, LengthsAnalysis
from hitpath.summary.diff import Comparison, Side, compare
from hitpath.summary.labelled_rows import By
from hitpath.traces.files import STDIN, Source, expand

SCHEMA = "hitpath.diff/1"


@dataclass(frozen=True, slots=True)
class DiffJob:
    """One command. a, b: a trace (file, folder, glob, -) or a ledger each. mapping: `--map`."""

    a: str
    b: str
    by: By | None
    setting: Setting
    mapping: Sequence[str]
    skip_bad_rows: bool
    json: str | None


def run_diff(job: DiffJob) -> None:
    """Read both sides, write the JSON, then print the page unless standard output is taken.
    Raises HitpathError."""
    outputs = Outputs(json=job.json)
    outputs.check([job.a, job.b], job.setting.tokenizer)
    comparison = compare_traces(job)
    if job.json is not None:
        write_json(job.json, diff_document(comparison, job.setting))
    if outputs.page_wanted():
        print_page(lambda page: print_diff(comparison, page))


def compare_traces(job: DiffJob) -> Comparison:
    """Both sides under one setting. Raises HitpathError."""
    if job.a == job.b == STDIN:
        raise InputError("stdin", "", "is both A and B, but can be read once")
    sources = {"A": expand([job.a]), "B": expand([job.b])}
    ledgers = {letter: _all_ledgers(found) for letter, found in sources.items()}
    _check_options(job, ledgers)
    if not all(ledgers.values()):
        announce_compilation()
    a, b = (
        _ledger_side(letter, name, sources[letter])
        if ledgers[letter]
        else _trace_side(letter, name, job)
        for letter, name in (("A", job.a), ("B", job.b))
    )
    return compare(a, b, job.by)


def _all_ledgers(sources: list[Source]) -> bool:
    """Whether a side is ledgers. Raises InputError where only some of its files are."""
    found = {source.name: is_ledger(source) for source in sources}
    if any(found.values()) and not all(found.values()):
        trace = next(name for name, is_one in found.items() if not is_one)
        raise InputError(trace, "", "is no ledger, but others of the same side are")
    return all(found.values())


def _check_options(job: DiffJob, ledgers: dict[str, bool]) -> None:
    """Raise SettingError for an option that ledgers cannot honour."""
    for letter, name in (("A", job.a), ("B", job.b)):
        for field in fields(Setting):
            if ledgers[letter] and getattr(job.setting, field.name) != field.default:
                option = "--" + field.name.replace("_", "-")
                cause = f"{letter} ({name}): the ledger was made under its own setting"
                raise SettingError(option, cause)
    for option, asked in (("--map", job.mapping), ("--skip-bad-rows", job.skip_bad_rows)):
        if asked and all(ledgers.values()):
            raise SettingError(option, "is for reading traces; both sides are ledgers")


def _ledger_side(letter: str, name: str, sources: list[Source]) -> Side:
    rows = read_ledgers(sources)
    notes: tuple[str, ...] = ()
    if rows.lengths_only and rows.num_reporting < rows.num_counted:
        silent = f"{rows.num_counted - rows.num_reporting:,} of {rows.num_counted:,} requests"
        notes = (f"{silent} do not report their hit: they are in no rate here",)
    made = origin_of(sources)
    if made is None:
        return Side(letter, name, True, None, None, None, None, None, rows, notes)
    return Side(
        letter=letter,
        name=name,
        is_ledger=True,
        format=made.format,
        unit=made.unit,
        block_size=made.block_size,
        block_ids=made.block_ids,
        setting=made.setting,
        rows=rows,
        warnings=notes,
    )


def _trace_side(letter: str, name: str, job: DiffJob) -> Side:
    with shown_progress() as progress:
        analysis = analyze(
            [name],
            job.setting,
            skip_bad_rows=job.skip_bad_rows,
            mapping=job.mapping,
            progress=progress,
        )
    return side_of(letter, name, analysis)


def side_of(letter: str, name: str, analysis: Analysis | LengthsAnalysis) -> Side:
    """One side from its analysis."""
    trace = analysis.trace
    if isinstance(analysis, LengthsAnalysis):
        table, block_size, block_ids = lengths_table(analysis), None, None
    else:
        table, block_size = ledger_table(analysis), analysis.engine.block_size
        block_ids = trace.block_size is not None
    return Side(
        letter=letter,
        name=name,
        is_ledger=False,
        format=trace.format,
        unit="bytes" if trace.identity == "text" else "tokens",
        block_size=block_size,
        block_ids=block_ids,
        setting=setting_of(analysis.setting),
        rows=labelled_rows(table, lambda row: f"{name}:{row + 1}"),
        warnings=analysis.warnings,
        skipped=trace.skipped,
        excluded=tuple(trace.excluded.values()),
    )


def diff_document(comparison: Comparison, setting: Setting) -> dict[str, Any]:
    """The whole document, ready for JSON."""
    a, b, found = comparison.a, comparison.b, comparison.difference
    return {
        "schema": SCHEMA,
        "a": _side(a),
        "b": _side(b),
        "setting": a.setting if a.is_ledger else setting_of(setting),
        "by": comparison.by,
        "by_was_asked": comparison.by_was_asked,
        **_effect(found.effect),
        "largest_cause": found.largest_cause,
        "causes": {label: _effect(effect) for label, effect in found.causes.items()},
        "groups": [_group(group, a, b) for group in found.groups],
        "warnings": list(comparison.warnings),
    }


def _side(side: Side) -> dict[str, Any]:
    tokens, prompt = side.rows.label_tokens(), int(side.rows.prompt.sum())
    return {
        "name": side.name,
        "source": "ledger" if side.is_ledger else "trace",
        "format": side.format,
        "unit": side.unit,
        "block_size": side.block_size,
        "num_requests": len(side.rows.prompt),
        "num_reporting_requests": side.rows.num_reporting,
        "prompt_tokens": prompt,
        "hit_rate": ratio(tokens[HIT], prompt),
        "tokens": tokens,
        "num_skipped_rows": side.skipped.num,
        "skipped_rows": [asdict(problem) for problem in side.skipped],
        "excluded_rows": [asdict(problem) for problem in side.excluded],
    }


def _effect(effect: Effect) -> dict[str, float]:
    return {
        "effect": float(effect.total),
        "mix": float(effect.mix),
        "behaviour": float(effect.behaviour),
    }


def _group(group: GroupEffect, a: Side, b: Side) -> dict[str, Any]:
    return {
        "name": group.key.name,
        "merged_groups": group.key.merged,
        "prompt_tokens_a": group.prompt_a,
        "prompt_tokens_b": group.prompt_b,
        "tokens_a": {label: group.tokens_a.get(label, 0) for label in a.rows.tokens},
        "tokens_b": {label: group.tokens_b.get(label, 0) for label in b.rows.tokens},
        **_effect(group.effect),
        "causes": {label: _effect(effect) for label, effect in group.causes.items()},
    }

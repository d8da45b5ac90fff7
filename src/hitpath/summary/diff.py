"""Two sides, A and B, made comparable: what may stand beside what, by which label the change is
split, the sums for `accounting.diff`, and what a reader must know about them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hitpath.accounting.diff import Difference, GroupKey, difference, largest_groups
from hitpath.core import ABSENT, CAUSES, InputError, SettingError
from hitpath.summary.labelled_rows import MISSES, UNEXPLAINED, By, LabelledRows, totals_of
from hitpath.summary.lengths import NOTHING_REPORTED
from hitpath.traces.problems import NOTHING_SKIPPED, Problem, Skipped

_BY_DEFAULT: tuple[By, ...] = ("tenant", "model", "turn")
_WORTH_A_WARNING_FRAC = 0.01


@dataclass(frozen=True, slots=True)
class Side:
    """One side as it was read. letter: "A" or "B"; name: what was typed. unit: "tokens" or
    "bytes"; it, `block_size` (tokens), `block_ids` (whether prompts are block ids) and `setting`
    are None where a ledger does not say, the second and third also where only lengths are known."""

    letter: str
    name: str
    is_ledger: bool
    format: str | None
    unit: str | None
    block_size: int | None
    block_ids: bool | None
    setting: Mapping[str, Any] | None
    rows: LabelledRows
    warnings: tuple[str, ...] = ()
    skipped: Skipped = NOTHING_SKIPPED
    excluded: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both sides, the label by which they were split, the change, and what to know about it."""

    a: Side
    b: Side
    by: By
    by_was_asked: bool
    difference: Difference
    warnings: tuple[str, ...]


def compare(a: Side, b: Side, by: By | None) -> Comparison:
    """Why the hit rate moved from A to B. Raises InputError for a side without a hit rate and for
    two that cannot stand beside each other, SettingError for a label that a side lacks."""
    for side in (a, b):
        _check_hit_rate(side)
    _check_comparable(a, b)
    chosen = by or _default_by(a.rows, b.rows)
    for side in (a, b):
        if not side.rows.named(chosen):
            raise SettingError(f"--by {chosen}", f"{side.letter} ({side.name}) names none")
    prompt_a, prompt_b = a.rows.prompt_by_name(chosen), b.rows.prompt_by_name(chosen)
    kept = largest_groups(prompt_a, prompt_b)
    merged = len({**prompt_a, **prompt_b}) - len(kept)
    found = difference(
        _sums(a.rows, chosen, kept, merged),
        _sums(b.rows, chosen, kept, merged),
        [label for label in MISSES if label in a.rows.tokens or label in b.rows.tokens],
    )
    warnings = (
        *_about_settings(a, b),
        *_about_groups(found, chosen),
        *_of_sides(a, b),
    )
    return Comparison(a, b, chosen, by is not None, found, warnings)


def differing(here: Mapping[str, Any], there: Mapping[str, Any]) -> str:
    """The fields of two settings that differ, as "engine lru (unlimited there)"."""
    return ", ".join(
        f"{name} {value} ({there.get(name)} there)"
        for name, value in here.items()
        if value != there.get(name)
    )


def _check_hit_rate(side: Side) -> None:
    if side.rows.prompt.sum():
        return
    silent = side.rows.lengths_only and not side.rows.num_reporting
    why = NOTHING_REPORTED if silent else "the requests that count have no prompt tokens"
    raise InputError(side.name, "", f"no hit rate to compare: {why}")


def _check_comparable(a: Side, b: Side) -> None:
    if a.rows.lengths_only != b.rows.lengths_only:
        lengths, full = (a, b) if a.rows.lengths_only else (b, a)
        cause = (
            f"tells lengths and reported hits only, {full.name} also what the prompts are: the "
            "causes of one cannot stand beside those of the other"
        )
        raise InputError(lengths.name, "", cause)
    if None not in (a.unit, b.unit) and a.unit != b.unit:
        cause = f"is counted in {b.unit}, {a.name} in {a.unit}; --tokenizer makes text tokens"
        raise InputError(b.name, "", cause)
    if a.setting is not None and b.setting is not None and a.setting != b.setting:
        cause = (
            f"was made with {differing(b.setting, a.setting)}: under two settings the change would "
            "be theirs; make both ledgers under one"
        )
        raise InputError(b.name, "", cause)


def _default_by(a: LabelledRows, b: LabelledRows) -> By:
    """The first label that makes at least two groups, one of them on both sides, else length."""
    for by in _BY_DEFAULT:
        names_a, names_b = set(a.prompt_by_name(by)), set(b.prompt_by_name(by))
        unnamed = any(np.any(rows.prompt[rows.by[by].codes == ABSENT]) for rows in (a, b))
        if names_a & names_b and len(names_a | names_b) + unnamed > 1:
            return by
    return "length"


def _sums(
    rows: LabelledRows, by: By, kept: set[str], merged: int
) -> dict[GroupKey, dict[str, int]]:
    """Token sums by group and label: kept names, the merged others, rows without a name."""
    labels = rows.by[by]
    keys = [GroupKey(name) for name in labels.names if name in kept]
    place = {key.name: code for code, key in enumerate(keys)}
    others, nameless = len(keys), len(keys) + 1
    # Indexed by a label's code: ABSENT, which is -1, takes the last.
    places = [*(place.get(name, others) for name in labels.names), nameless]
    codes = np.array(places, dtype=np.int64)[labels.codes]
    totals = {
        label: totals_of(codes, column, len(keys) + 2).tolist()
        for label, column in rows.tokens.items()
    }
    if merged:  # else only names without a token are there
        keys.append(GroupKey("others", merged))
    found = {
        key: {label: column[code] for label, column in totals.items()}
        for code, key in enumerate(keys)
    }
    found[GroupKey(None)] = {label: column[nameless] for label, column in totals.items()}
    return found


def _of_sides(a: Side, b: Side) -> Iterable[str]:
    """The warnings of both analyses; what is said of both is said once."""
    both = [note for note in a.warnings if note in b.warnings]
    yield from (f"A and B: {note}" for note in both)
    for side in (a, b):
        yield from (f"{side.letter}: {note}" for note in side.warnings if note not in both)


def _about_settings(a: Side, b: Side) -> Iterable[str]:
    """What makes the sides differ beside their traffic."""
    yield from _known_on_one_side(a, b)
    yield from _known_on_one_side(b, a)
    if None not in (a.block_size, b.block_size) and a.block_size != b.block_size:
        yield (
            f"blocks of {a.block_size} tokens on A, of {b.block_size} on B: part of the change may "
            "be that (--block-size)"
        )
    if None not in (a.block_ids, b.block_ids) and a.block_ids != b.block_ids:
        ids, symbols = (a, b) if a.block_ids else (b, a)
        yield (
            f"{ids.letter} tells block ids, {symbols.letter} what stands in them: rounding is a "
            f"lower bound on {ids.letter}"
        )
    reporting = [side.rows.num_reporting / side.rows.num_counted for side in (a, b)]
    if not a.rows.lengths_only and reporting[0] != reporting[1]:
        told = " and ".join(
            f"{side.rows.num_reporting:,} of {side.rows.num_counted:,} requests of {side.letter}"
            for side in (a, b)
        )
        yield f"{told} report their hit, the others' is modelled: part of the change may be that"
    if a.setting is None or b.setting is None:
        yield (
            "a ledger does not say its setting (engine, block size, tokenizer): both sides are "
            "taken to be of the same"
        )


def _known_on_one_side(here: Side, there: Side) -> Iterable[str]:
    """Causes that `here` knows and `there` does not."""
    for i, cause in enumerate(CAUSES):
        if cause in here.rows.tokens and cause not in there.rows.tokens:
            following = (*CAUSES[i + 1 :], UNEXPLAINED)
            label = next(label for label in following if label in there.rows.tokens)
            yield (
                f"{_words(cause)} is known on {here.letter} only: on {there.letter} its tokens "
                f"stand in {_words(label)}, so judge the two together"
            )


def _about_groups(found: Difference, by: By) -> Iterable[str]:
    merged = max((group.key.merged for group in found.groups), default=0)
    if merged:
        yield f"the {merged:,} smallest groups by {by} are one group here, others"
    only_a = sum(group.prompt_a for group in found.groups if not group.prompt_b)
    only_b = sum(group.prompt_b for group in found.groups if not group.prompt_a)
    share_a = only_a / sum(found.tokens_a.values())
    share_b = only_b / sum(found.tokens_b.values())
    if max(share_a, share_b) >= _WORTH_A_WARNING_FRAC:
        yield (
            f"{share_a:.1%} of A's prompt tokens and {share_b:.1%} of B's are in groups by {by} "
            "that the other side lacks: what they do counts as mix"
        )


def _words(label: str) -> str:
    return label.replace("_", " ")

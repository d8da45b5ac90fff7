"""One place has one kind: what a single pair of requests shows there as an edit, or half of, is of
the kind that most pairs show.

A name of which the first part is the same in two requests stands behind other words than the whole
name does elsewhere, and one line of drawn ones may be told as edited. Where they stand they have in
common: some characters apart, for what stands before them may be a little longer or shorter.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from hitpath.doctor.change import Change, Kind
from hitpath.doctor.diagnose import Finding
from hitpath.doctor.open_groups import general_path

At = tuple[int, int]
_NEAR, _FEWEST, _MOSTLY, _LONGEST = 40, 3, 0.6, 190
_WORDS: tuple[Kind, ...] = ("per_user_field", "random_sample")
_NONE: tuple[Kind, ...] = ("edited_message", "tool_set")


def as_their_place(
    findings: Sequence[Finding], decided: Mapping[At, Kind]
) -> Iterator[tuple[At, Kind]]:
    """(finding, change) of words that were told as another kind than most words at their place."""
    places: dict[tuple[int, str], list[tuple[int, At, Kind]]] = defaultdict(list)
    for number, finding in enumerate(findings):
        for at, change in enumerate(finding.comparison.changes):
            if change.kind == "?words" and _is_short(change):
                kind = decided.get((number, at), change.kind)
                place = finding.application, general_path(change.json_path)
                places[place].append((change.char_offset, (number, at), kind))
    for seen in places.values():
        for cluster in _clusters(sorted(seen)):
            counts = Counter(kind for _, _, kind in cluster)
            (most, num), *others = counts.most_common()
            if most in _WORDS and others and num >= max(_FEWEST, _MOSTLY * len(cluster)):
                yield from ((at, most) for _, at, kind in cluster if kind in (*_WORDS, *_NONE))


def _is_short(change: Change) -> bool:
    return max(len(change.there), len(change.here)) <= _LONGEST


def _clusters(seen: list[tuple[int, At, Kind]]) -> Iterator[list[tuple[int, At, Kind]]]:
    """Changes with less than so many characters from one to the next."""
    cluster = seen[:1]
    for one in seen[1:]:
        if one[0] - cluster[-1][0] > _NEAR:
            yield cluster
            cluster = []
        cluster.append(one)
    yield cluster

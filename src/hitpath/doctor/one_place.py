"""One field has one kind: where nearly all requests of an application say that a value is a clock,
a few whose digits look like something else do not make another field of it."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from hitpath.doctor.change import Change, Kind
from hitpath.doctor.diagnose import Finding
from hitpath.doctor.open_groups import general_path, nearest_words

_VALUES: tuple[Kind, ...] = (
    "clock", "request_id", "counter", "random_sample", "per_user_field", "edited_message",
    "tool_set",
)  # fmt: skip
_NO_VALUES: tuple[Kind, ...] = ("edited_message", "tool_set")
_MOSTLY, _LEAST, _LEAST_WORDS, _LONGEST = 0.6, 4, 3, 120
Field = tuple[int, str, str]
At = tuple[int, int]


def of_one_place(
    findings: Sequence[Finding], decided: Mapping[At, Kind]
) -> Iterator[tuple[At, Kind]]:
    """(finding, change) that are told as another kind than the field they are of, and its kind."""
    seen: dict[Field, list[tuple[At, Kind]]] = defaultdict(list)
    for number, finding in enumerate(findings):
        for at, change in enumerate(finding.comparison.changes):
            kind = decided.get((number, at), change.kind)
            field = _field_of(finding.application, change)
            if kind in _VALUES and field is not None:
                seen[field].append(((number, at), kind))
    for members in seen.values():
        counts = Counter(kind for _, kind in members)
        (kind, count), *others = counts.most_common()
        if others and count >= max(_LEAST, _MOSTLY * len(members)) and kind not in _NO_VALUES:
            yield from ((at, kind) for at, told in members if told != kind)


def _field_of(application: int, change: Change) -> Field | None:
    """By the words right before a short value that gave way to another one."""
    words = nearest_words(change.label)
    if sum(map(str.isalpha, words)) < _LEAST_WORDS or not (change.there and change.here):
        return None
    if max(len(change.there), len(change.here)) > _LONGEST or "\n" in change.there + change.here:
        return None
    return application, general_path(change.json_path), words

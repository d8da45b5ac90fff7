"""What a trace was seen to stamp into its instructions, as patterns by which it is found in every
request: the words before it, to the end of the line."""

import re
from collections import defaultdict
from collections.abc import Sequence

from hitpath.doctor.diagnose import Finding
from hitpath.doctor.prompt import SYSTEM
from hitpath.doctor.resolve import general_path, nearest_words
from hitpath.doctor.steps import Stamp

_KINDS = ("clock", "request_id", "counter", "random_sample", "per_user_field", "attribution")
_LEAST_LABEL = 3
_MOST = 32


def stamps_of(findings: Sequence[Finding], *kinds: str) -> dict[str, tuple[Stamp, ...]]:
    """By general path. kinds: all that can be moved, where none is named."""
    wanted = kinds or _KINDS
    labels: dict[str, dict[tuple[str, str], None]] = defaultdict(dict)
    for finding in findings:
        for change in finding.comparison.changes:
            if change.kind in wanted and change.segment == SYSTEM:
                label = nearest_words(change.label)
                if len(label) >= _LEAST_LABEL:
                    labels[general_path(change.json_path)][change.kind, label] = None
    return {
        path: tuple(Stamp(kind, _pattern(label)) for kind, label in list(found)[:_MOST])
        for path, found in labels.items()
    }


def _pattern(label: str) -> re.Pattern[str]:
    """The label with any number for its masked ones, and what follows in its line."""
    words = r"\d{1,40}".join(re.escape(part) for part in label.split("0"))
    return re.compile(rf"{words}[ \t]{{0,4}}(?P<value>[^\n]{{1,400}})")

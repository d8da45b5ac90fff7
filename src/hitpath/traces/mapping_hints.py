"""What a message about a table suggests: a `--map` line by the names of its columns, a field of
ours by one that is nearly it. Nothing is read by these guesses: the user has to type them.
"""

import difflib
import re
import shlex
from collections.abc import Sequence

_LIKELY = (
    ("arrival_s", re.compile(r"arriv|time|date|start|^ts|_ts|created", re.IGNORECASE)),
    (
        "prompt_tokens",
        re.compile(r"(prompt|input|context|request).*(tok|len)|^n_?in", re.IGNORECASE),
    ),
    (
        "output_tokens",
        re.compile(r"(output|compl|generat|response).*(tok|len)|^n_?out", re.IGNORECASE),
    ),
    ("reported.cached_tokens", re.compile(r"cache", re.IGNORECASE)),
)
_LONGEST = 200
"""Characters of a name that are looked at: `.*` behind each word takes the square of them."""
_ENDS_IN_UNIT = re.compile(r"_(ms|us|ns)$", re.IGNORECASE)


def example_for(columns: Sequence[str]) -> str:
    """A `--map` line that could fit a table with these columns, for a message."""
    free = [name for name in columns if name]
    words = []
    for ours, like in _LIKELY:
        found = next((name for name in free if like.search(name[:_LONGEST])), None)
        if found is None:
            if ours in ("arrival_s", "prompt_tokens"):
                words.append(f"--map {ours}=COLUMN")
            continue
        free.remove(found)
        unit = _ENDS_IN_UNIT.search(found[-3:]) if ours == "arrival_s" else None
        theirs = found if unit is None else f"{found}:{unit[1].lower()}"
        words.append(f"--map {shlex.quote(f'{ours}={theirs}')}")
    return " ".join(words)


def nearest(name: str, known: Sequence[str]) -> str:
    """The end of a sentence about a name that is not `known`."""
    near = difflib.get_close_matches(name, known) or ["arrival_s", "prompt_tokens", "block_keys"]
    return f"; some are {', '.join(near)} (docs/trace-format.md lists all)"

"""What of a folder is read: its JSON files, else its tables, else its logs.

A table beside traces is more often a result than a trace, and a text beside either a note. Where a
folder has texts only, their content decides which of them are logs (detect.without_strangers).
"""

import glob
import os
from collections import Counter
from pathlib import Path

from hitpath.core import InputError

COMPRESSED = (".gz", ".zst")
_JSON = (".jsonl", ".json", ".ndjson", ".traj")
_TABLES = (".csv", ".tsv", ".parquet")
_LOGS = (".log", ".txt")
_KINDS = (_JSON, _TABLES, _LOGS)
_MOST_FILES = 100_000


def _ending(name: str, kind: tuple[str, ...]) -> str | None:
    """The ending by which a file is of a kind, with that of its compression, as it is written."""
    bare = name.lower()
    for ending in COMPRESSED:
        bare = bare.removesuffix(ending)
    found = next((ending for ending in kind if bare.endswith(ending)), None)
    return None if found is None else name[len(bare) - len(found) :]


def is_log(path: Path) -> bool:
    """Whether a file is a log, or a text of any other kind, by its name."""
    return _ending(path.name, _LOGS) is not None


def traces_in(folder: Path) -> list[Path]:
    """The files of the first kind that a folder has, by name. Raises InputError for none."""
    entries = sorted(folder.iterdir())
    for kind in _KINDS:
        found = [path for path in entries if _ending(path.name, kind) and path.is_file()]
        if found:
            return found
    raise nothing_in(folder)


def nothing_in(folder: Path, num_texts: int = 0) -> InputError:
    """That a folder has no trace, and which glob finds those below it. num_texts: how many texts
    it has that are no logs."""
    cause = "no .jsonl or .json file in this folder, nor .csv, .parquet or .log"
    if num_texts:
        cause = f"no trace in this folder: none of its {num_texts:,} texts is a log of a known kind"
    below = _most_below(folder)
    if below is not None:
        ending, count = below
        pattern = os.path.join(glob.escape(str(folder)), "**", f"*{ending}")
        cause += f"; {count} {ending} below it: give '{pattern}'"
    return InputError(str(folder), "", cause)


def _most_below(folder: Path) -> tuple[str, str] | None:
    """(ending, number of files) of the commonest ending of the first kind among the files that a
    glob finds in subfolders: none that is hidden. Looks at some 100,000 files at most."""
    endings: tuple[Counter[str], ...] = tuple(Counter() for _ in _KINDS)
    seen = 0
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        if Path(place) == folder:
            continue
        for name in names:
            for kind, counts in zip(_KINDS, endings, strict=True):
                ending = _ending(name, kind)
                if ending is not None and not name.startswith("."):
                    counts[ending] += 1
        seen += len(names)
        if seen > _MOST_FILES:
            break
    found = next((counts.most_common(1)[0] for counts in endings if counts), None)
    at_least = "at least " if seen > _MOST_FILES else ""
    return None if found is None else (found[0], f"{at_least}{found[1]:,}")

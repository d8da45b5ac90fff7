"""Token ids whose tokenizer is known have a text: it tells the kind of what gave way to something
else in its place, where runs of ids tell no more than that.

Places stay those of the ids. Told only where the texts of single ids are the text of all of them: a
character that is parted between two ids has no place of its own.
"""

from dataclasses import replace

import numpy as np

from hitpath.doctor.change import Change, Comparison
from hitpath.doctor.compare import compare
from hitpath.doctor.flat import flat_prompt
from hitpath.doctor.replies import Decode
from hitpath.traces.table import Ints, Symbols

_IN_ITS_PLACE = ("edited_message", "moved_block")
_PATH = "tokens"
_MOST_IDS = 100_000


def compare_texts(
    there: Symbols, here: Symbols, same_session: bool, found: Comparison, decode: Decode
) -> Comparison | None:
    """The comparison with the kinds that the texts tell; None where they tell no more. found: by
    the ids alone."""
    is_told = found.changes and all(change.kind in _IN_ITS_PLACE for change in found.changes)
    if not is_told or max(len(there), len(here)) > _MOST_IDS:
        return None
    text = decode(here.tolist())
    ends = _ends_of(here, text, decode)
    if ends is None:
        return None
    prompts = flat_prompt(decode(there.tolist()), _PATH), flat_prompt(text, _PATH)
    told = compare(prompts[0], prompts[1], same_session)
    if not told.changes:
        return None
    changes = tuple(_placed(change, ends) for change in told.changes)
    return Comparison(changes, found.kept, found.new_at)


def _ends_of(ids: Symbols, text: str, decode: Decode) -> Ints | None:
    """Bytes of the text up to the end of each id."""
    known = {number: decode([number]) for number in set(ids.tolist())}
    pieces = [known[number] for number in ids.tolist()]
    if "".join(pieces) != text:
        return None
    ends: Ints = np.cumsum([len(piece.encode()) for piece in pieces], dtype=np.int64)
    return ends


def _placed(change: Change, ends: Ints) -> Change:
    """In ids: those that hold its characters. Characters of a list of ids are its numbers."""
    start, at = (int(np.searchsorted(ends, n, side="right")) for n in (change.start, change.offset))
    stop = start
    if change.stop > change.start:
        stop = int(np.searchsorted(ends, change.stop - 1, side="right")) + 1
    return replace(change, char_offset=at, start=start, stop=stop, at=at)

"""The canonical form of every prompt of a trace in tokens, with the image of each token: rung 7 of
a trace whose tokens a tokenizer and its chat template made.

The canonical request is rendered and tokenised as the request was. A token's image is the token of
the form that holds the image of its last character, where all its characters stand there side by
side.
"""

import numpy as np

from hitpath.core import HitpathError, Progress
from hitpath.doctor.char_image import NO_IMAGE, Canonical, canonical_of, char_image
from hitpath.doctor.forms import Forms, make_forms
from hitpath.doctor.rendered import Rendered
from hitpath.doctor.requests import Request
from hitpath.doctor.rows_read import Requests
from hitpath.doctor.steps import Plan, Steps
from hitpath.doctor.token_ends import TokenEnds
from hitpath.text.tokenizer import TextTokenizer
from hitpath.traces.table import Ints, Symbols, Trace, runs_of

_UNTOLD = (HitpathError, OverflowError, RecursionError, TypeError, ValueError)


def forms_of(
    trace: Trace,
    requests: Requests,
    tokenizer: TextTokenizer | None,
    progress: Progress | None = None,
) -> Forms | str:
    """The canonical forms of a trace in its own symbols; why not, where they are not known.
    tokenizer: that which made its tokens."""
    if trace.has_text:
        return make_forms(trace, requests, Plan(), progress)
    if tokenizer is None or trace.identity != "tokens":
        return NO_TEXT
    return make_token_forms(trace, requests, Plan(), tokenizer, progress)


NO_TEXT = "needs the text of the prompts: messages or text in the trace, and --tokenizer for tokens"


def make_token_forms(
    trace: Trace,
    requests: Requests,
    plan: Plan,
    tokenizer: TextTokenizer,
    progress: Progress | None = None,
) -> Forms | str:
    """The forms of all rows of a trace of tokens; why not, where a row's tokens are not those of
    its text."""
    steps, reading = Steps(plan), _Reading(tokenizer)
    pieces: list[Symbols] = []
    images: list[Ints] = []
    changed: dict[int, tuple[str, ...]] = {}
    for row in range(len(trace)):
        if progress is not None and row % 256 == 0:
            progress("canonical forms", row, len(trace))
        own, request = requests.symbols(row), requests.of(row)
        if request is None:
            return NO_TEXT
        form = canonical_of(request, steps)
        if form is None:
            pieces.append(own)
            images.append(np.array([[0, 0, len(own)]], dtype=np.int64))
            continue
        made = reading.form(request, own, form)
        if made is None:
            return f"the tokens of request {row + 1:,} are not those of its text by this tokenizer"
        pieces.append(made[0])
        images.append(made[1])
        changed[row] = tuple(dict.fromkeys(k for _, _, new in form.pairs for k in new.kinds))
    columns = np.concatenate(images) if images else np.zeros((0, 3), dtype=np.int64)
    return Forms(
        prompts=runs_of(pieces, trace.prompts.flat.dtype.type),
        starts=columns[:, 0],
        new_starts=columns[:, 1],
        lengths=columns[:, 2],
        ends=np.cumsum([len(of_row) for of_row in images]).astype(np.int64),
        changed=changed,
    )


class _Reading:
    """Renders and tokenises."""

    def __init__(self, tokenizer: TextTokenizer) -> None:
        self._tokenizer = tokenizer
        self._ends = TokenEnds(tokenizer)
        self._form_ends = TokenEnds(tokenizer)

    def form(
        self, request: Request, own: Symbols, canonical: Canonical
    ) -> tuple[Symbols, Ints] | None:
        """(the tokens of the form, images as rows of start, new start, length); None where the
        request's text does not give its tokens, or the form cannot be rendered."""
        try:
            one = Rendered(request, self._tokenizer)
            other = Rendered(canonical.request, self._tokenizer)
            tokens, ends = self._ends.of(one.text)
            new_tokens, new_ends = self._form_ends.of(other.text)
        except _UNTOLD:
            return None
        head, tail = self._frame(request)
        if not np.array_equal(own, np.concatenate([head, tokens, tail])):
            return None
        image = token_image(ends, char_image(one, other, canonical), new_ends)
        rows = [(0, 0, len(head)), *_runs(image, len(head))]
        rows.append((len(head) + len(tokens), len(head) + len(new_tokens), len(tail)))
        form: Symbols = np.concatenate([head, new_tokens, tail])
        return form, np.array([row for row in rows if row[2]], dtype=np.int64).reshape(-1, 3)

    def _frame(self, request: Request) -> tuple[Symbols, Symbols]:
        """What stands around the text of one string."""
        none = np.zeros(0, dtype=np.uint32)
        if request.said or not request.is_framed:
            return none, none
        head, tail = self._tokenizer.prompt_frame
        return np.asarray(head, dtype=np.uint32), np.asarray(tail, dtype=np.uint32)


def token_image(ends: Ints, image: Ints, new_ends: Ints) -> Ints:
    """For each token its token of the form, NO_IMAGE without one. ends, new_ends: the character
    behind the last one that a token has a part of; image: of each character."""
    if not len(ends):
        return np.zeros(0, dtype=np.int64)
    starts = np.minimum(np.concatenate([np.zeros(1, dtype=np.int64), ends[:-1]]), ends - 1)
    breaks = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.diff(image) != 1)])
    last = image[ends - 1]
    is_whole = (image[starts] != NO_IMAGE) & (breaks[ends - 1] == breaks[starts])
    first = np.searchsorted(new_ends, last, side="right")
    of_one_character = np.searchsorted(new_ends, last + 1, side="right") - 1
    place = np.minimum(first + _ranks(ends), np.maximum(first, of_one_character))
    found: Ints = np.where(is_whole, place, NO_IMAGE).astype(np.int64)
    return found


def _ranks(ends: Ints) -> Ints:
    """Which of the tokens of one character a token is, from 0."""
    numbers = np.arange(len(ends))
    first = np.searchsorted(ends, ends, side="left")
    ranks: Ints = numbers - first
    return ranks


def _runs(image: Ints, head: int) -> list[tuple[int, int, int]]:
    """Stretches (start, new start, length) of tokens whose images follow each other."""
    found: list[tuple[int, int, int]] = []
    known = np.flatnonzero(image != NO_IMAGE)
    if not len(known):
        return found
    cuts = np.flatnonzero((np.diff(known) != 1) | (np.diff(image[known]) != 1)) + 1
    for run in np.split(known, cuts):
        found.append((head + int(run[0]), head + int(image[run[0]]), len(run)))
    return found

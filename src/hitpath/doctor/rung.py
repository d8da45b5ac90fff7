"""Rung 7 of the ladder: what was there before, but for what changes no meaning."""

from collections.abc import Callable
from functools import partial

from hitpath.core import Progress
from hitpath.doctor.diagnose import Requests
from hitpath.doctor.kept import KeptRows
from hitpath.doctor.token_forms import forms_of
from hitpath.sim.rungs import root_codes
from hitpath.text.tokenizer import TextTokenizer
from hitpath.traces.table import Ints, Trace


def canonical_rung(
    trace: Trace,
    kept: KeptRows,
    split_models: bool,
    progress: Progress | None = None,
    tokenizer: TextTokenizer | None = None,
) -> Callable[[Ints], Ints] | None:
    """From rung 6 of each request to the tokens that rung 7 adds; None where it is not known: the
    trace has no text, or tokens that are not those of its text. tokenizer: that which made them."""
    forms = forms_of(trace, Requests(trace, kept), tokenizer, progress)
    if isinstance(forms, str):
        return None
    return partial(forms.covered, forms.match(trace, root_codes(trace, split_models)))

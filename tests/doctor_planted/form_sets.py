"""The sets of surface forms, and what stands around them: words, frames of flat prompts, places.

usual: those of the planters themselves. kept_back: written after the rules, and shown since.
field: after real applications; shown, so that rules can be mended by them.
unseen: written beside them, measured before anybody saw them, and shown since.
real: after the prompt builders of public applications; a third was measured before it was shown.
fresh: after code, documents and threads of further ones; a half was measured before it was shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from doctor_planted import (
    base_words,
    field_forms,
    field_words,
    fresh_set,
    fresh_words,
    kept_back,
    real_forms,
    real_words,
    token_traces,
    unseen_forms,
)
from doctor_planted.carriers import FLAT_KEPT_BACK, KEPT_BACK, RESPONSES


@dataclass(frozen=True)
class FormSet:
    """label: what the seed of a trace is mixed with. forms: by kind. places: beyond the usual."""

    label: str
    forms: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    words: ModuleType = base_words
    frames: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    bodies: tuple[str, ...] = KEPT_BACK
    tokens: token_traces.TokenForms = token_traces.USUAL


FIELD_BODIES = (*KEPT_BACK, *[RESPONSES] * 4)
FIELD_PLACES = ("tool_parameter", "user_tail")
SETS = {
    "usual": FormSet("False"),
    "kept_back": FormSet("True", kept_back.FORMS, frames=FLAT_KEPT_BACK),
    "field": FormSet(
        "field",
        field_forms.FORMS,
        field_words,
        ("flat_gemma", "flat_roles"),
        FIELD_PLACES,
        FIELD_BODIES,
        token_traces.FIELD,
    ),
    "unseen": FormSet(
        "sealed",
        unseen_forms.FORMS,
        field_words,
        ("flat_phi", "flat_hashes"),
        FIELD_PLACES,
        FIELD_BODIES,
        token_traces.UNSEEN,
    ),
    "real": FormSet(
        "real",
        real_forms.FORMS,
        real_words,
        ("flat_gemma", "flat_roles", "flat_headers", "flat_phi", "flat_hashes"),
        FIELD_PLACES,
        FIELD_BODIES,
    ),
    "fresh": FormSet(
        "fresh",
        fresh_set.FORMS,
        fresh_words,
        ("flat_gemma", "flat_roles", "flat_headers", "flat_phi", "flat_hashes"),
        FIELD_PLACES,
        FIELD_BODIES,
    ),
}

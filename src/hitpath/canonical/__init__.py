"""Canonical forms of prompts and request bodies: pure functions that change no meaning.

For applications and gateways that want one prompt to be one prompt, and for `hitpath doctor`, which
proves what that is worth. Needs only the standard library. Every function is idempotent, takes any
JSON (bounded: see json_value.MAX_DEPTH), changes nothing that it is given, and returns a named
tuple `(value, changes)`; a change says where the original differs, exact to the character.
"""

from hitpath.canonical.change import (
    Canonical,
    CanonicalText,
    Change,
    Kept,
    apply_changes,
    compose,
    kept_stretches,
)
from hitpath.canonical.clock import ClockUnit, coarsen_clock
from hitpath.canonical.json_text import canonical_json_text, json_text_kept
from hitpath.canonical.json_value import canonical_json
from hitpath.canonical.request import Options, canonical_request
from hitpath.canonical.space import UnicodeForm, normalise_space, normalise_unicode
from hitpath.canonical.tail import volatile_to_tail
from hitpath.canonical.tools import stable_tools
from hitpath.canonical.volatile import Volatile, VolatileKind, find_volatile

__all__ = [
    "Canonical",
    "CanonicalText",
    "Change",
    "ClockUnit",
    "Kept",
    "Options",
    "UnicodeForm",
    "Volatile",
    "VolatileKind",
    "apply_changes",
    "canonical_json",
    "canonical_json_text",
    "canonical_request",
    "coarsen_clock",
    "compose",
    "find_volatile",
    "json_text_kept",
    "kept_stretches",
    "normalise_space",
    "normalise_unicode",
    "stable_tools",
    "volatile_to_tail",
]

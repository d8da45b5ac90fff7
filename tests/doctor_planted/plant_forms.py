"""Planters of the same text in another form: white space, hidden characters, Unicode forms,
number formats, order of JSON keys and arrays in text."""

import json
import random
import unicodedata
from collections.abc import Callable
from typing import Any

from doctor_planted import places, rates
from doctor_planted.bases import Step
from doctor_planted.marks import mark
from doctor_planted.places import Site
from doctor_planted.plant_values import Plant
from doctor_planted.rates import Rate

Variant = Callable[[str], str]

TOGGLE = ("every", "nth", "sometimes", "boundary")


def toggled(rate: Rate, step: Step, num_variants: int) -> int:
    """Which variant a request shows."""
    epoch = rate.epoch(step)
    if rate.name == "sometimes":
        return 1 + epoch % (num_variants - 1) if epoch >= 0 else 0
    return epoch % num_variants


def between(kind: str, *gaps: str) -> tuple[Variant, ...]:
    """Variants of what stands between the first and the second word that a blank parts."""

    def variant(gap: str) -> Variant:
        def change(text: str) -> str:
            head, blank, tail = text.partition(" ")
            return head + mark(kind, gap) + tail if blank else text

        return change

    return tuple(variant(gap) for gap in gaps)


def at(kind: str, where: str, *pieces: str) -> tuple[Variant, ...]:
    """Variants of what stands before the text, behind it, or inside its longest word."""

    def variant(piece: str) -> Variant:
        def change(text: str) -> str:
            if where == "before":
                return mark(kind, piece) + text
            if where == "behind":
                return text + mark(kind, piece)
            word = max(text.split(), key=len)
            cut = text.index(word) + len(word) // 2
            return text[:cut] + mark(kind, piece) + text[cut:]

        return change

    return tuple(variant(piece) for piece in pieces)


def line_ends(kind: str, *ends: str) -> tuple[Variant, ...]:
    def variant(end: str) -> Variant:
        def change(text: str) -> str:
            return mark(kind, text.replace(". ", "." + end))

        return change

    return tuple(variant(end) for end in ends)


WHITE_SPACE: tuple[tuple[Variant, ...], ...] = (
    between("white_space", " ", "  "),
    between("white_space", " ", "\t"),
    between("white_space", " ", "\n"),
    at("white_space", "behind", "", " "),
    at("white_space", "behind", "", "\n", "\n\n"),
    at("white_space", "behind", "", "   \n"),
    at("white_space", "before", "", " "),
    at("white_space", "before", "", "\n"),
    line_ends("white_space/hidden_characters", "\n", "\r\n"),
    line_ends("white_space", "\n", "\n    "),
    line_ends("white_space", "\n", " \n"),
    line_ends("white_space", "\n    ", "\n\t"),
)

HIDDEN: tuple[tuple[Variant, ...], ...] = (
    at("hidden_characters", "inside", "", "\u200b"),
    at("hidden_characters", "before", "", "\ufeff"),
    at("hidden_characters", "inside", "", "\u00ad"),
    at("hidden_characters", "inside", "", "\u200d", "\u200c"),
    at("hidden_characters", "inside", "", "\u2060"),
    at("hidden_characters", "behind", "", "\u200e"),
    at("hidden_characters", "before", "", "\u200f"),
    between("hidden_characters/white_space", " ", "\u00a0"),
    between("hidden_characters/white_space", " ", "\u202f"),
    at("hidden_characters", "behind", "", "\u200b\u200b"),
)


def written(kind: str, sentence: str, *forms: str) -> tuple[Variant, ...]:
    """Variants of one word in a sentence put behind the text."""

    def variant(form: str) -> Variant:
        head, tail = sentence.split("*")
        return lambda text: f"{text} {head}{mark(kind, form)}{tail}"

    return tuple(variant(form) for form in forms)


def _nfd(text: str) -> str:
    return unicodedata.normalize("NFD", text)


UNICODE: tuple[tuple[Variant, ...], ...] = (
    written("unicode_form", "The café is called *.", "Crème Brûlée", _nfd("Crème Brûlée")),
    written("unicode_form", "Write to * in Köln.", "Frau Schröder", _nfd("Frau Schröder")),
    written("unicode_form", "The unit is the *, not the metre.", "\u212bngström", "\u00c5ngström"),
    written("unicode_form", "The office in * answers mail.", "서울", _nfd("서울")),
    written("unicode_form", "See the *.", "ﬁle of oﬃce rules", "file of office rules"),
    written("unicode_form/number_format", "Room * is the largest.", "１２", "12"),
    written("unicode_form", "Call it a *.", "ｶﾅ", "カナ"),
    written("unicode_form", "The desk in * is closed.", "Việt Trì", _nfd("Việt Trì")),
    written("unicode_form", "Wait a moment* then ask.", "\u2026", "..."),
)  # fmt: skip

NUMBERS: tuple[tuple[Variant, ...], ...] = (
    written("number_format", "The fee is * euros.", "12.5", "12.50"),
    written("number_format", "At most * rows are shown.", "1000", "1,000"),
    written("number_format", "The threshold is * of the total.", "0.8", "0.80", ".8"),
    written("number_format", "Use temperature * here.", "1", "1.0", "1e0"),
    written("number_format", "The limit is * tokens.", "100000", "1e5", "100_000"),
    written("number_format", '{"radius_km": *, "unit": "km"}', "25", "25.0"),
    written("number_format", "Der Preis beträgt * Euro.", "3,5", "3,50", "3.5"),
    written("number_format", "A ratio of * is normal.", "0.001", "1e-3"),
)


def _toggle(groups: tuple[tuple[Variant, ...], ...]) -> Callable[[Site], Plant]:
    def make(site: Site) -> Plant:
        rng, app, num, where, more = site.rng, site.app, site.num, site.where, site.more
        variants = rng.choice(more or groups)
        spot = places.make_spot(rng, app, where)
        rate = rates.make_rate(rng, TOGGLE, num)

        def plant(step: Step) -> None:
            spot.edit(step, variants[toggled(rate, step, len(variants))])

        return plant

    return make


plant_white_space = _toggle(WHITE_SPACE)
plant_hidden = _toggle(HIDDEN)
plant_unicode = _toggle(UNICODE)
_number_in_text = _toggle(NUMBERS)


def plant_number(site: Site) -> Plant:
    """Numbers in text, in a tool's schema, in the JSON of a tool's result."""
    rng, app, num, where = site.rng, site.app, site.num, site.where
    if not app.tools or "tool_description" not in where or rng.random() < 0.5:
        return _number_in_text(site)
    rate = rates.make_rate(rng, TOGGLE, num)
    with_numbers = [i for i, tool in enumerate(app.tools) if _has_number(tool)]
    at = rng.choice(with_numbers) if with_numbers else 0

    def plant(step: Step) -> None:
        variant = toggled(rate, step, 2)
        if not with_numbers:
            step.tools[at]["function"]["parameters"]["x-cost"] = 3
        if variant:
            step.tools[at] = _as_floats(step.tools[at])
        step.owners.append(("number_format", "tools", at, variant))

    return plant


def _has_number(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_number, value.values()))
    if isinstance(value, list):
        return any(map(_has_number, value))
    return isinstance(value, int) and not isinstance(value, bool)


def _as_floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_floats(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_as_floats(part) for part in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def shuffled_keys(value: Any, rng: random.Random, depth: int) -> Any:
    """The same JSON with another order of keys at `depth` (0 the outermost) and nowhere else."""
    if isinstance(value, list):
        return [shuffled_keys(part, rng, depth) for part in value]
    if not isinstance(value, dict):
        return value
    keys = list(value)
    if depth == 0:
        rng.shuffle(keys)
        return {key: value[key] for key in keys}
    return {key: shuffled_keys(value[key], rng, depth - 1) for key in keys}


def shuffled_arrays(value: Any, rng: random.Random, names: tuple[str, ...]) -> Any:
    """The same JSON with the arrays of strings under these names in another order."""
    if isinstance(value, list):
        return [shuffled_arrays(part, rng, names) for part in value]
    if not isinstance(value, dict):
        return value
    out = {}
    for key, part in value.items():
        if key in names and isinstance(part, list) and all(isinstance(p, str) for p in part):
            out[key] = rng.sample(part, len(part))
        else:
            out[key] = shuffled_arrays(part, rng, names)
    return out


def loads(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None

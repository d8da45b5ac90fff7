"""Planters of text that changes by itself: clocks, ids, counters, samples, users, attribution."""

import random
from collections.abc import Callable
from datetime import timedelta

from doctor_planted import places, rates, surface_time, surface_values
from doctor_planted.bases import START, Step
from doctor_planted.marks import mark
from doctor_planted.places import Site, Spot
from doctor_planted.rates import Rate

Plant = Callable[[Step], None]


def plant_clock(site: Site) -> Plant:
    """A date or time of the request, written as one of many forms; or a day that rolls over in
    all sessions at once."""
    rng = site.rng
    if not site.more and rng.random() < 0.15:
        return _midnight(site)
    spot = places.make_spot(rng, site.app, site.where)
    forms = surface_time.FORMS if rng.random() < 0.75 else surface_time.COARSE
    form = rng.choice(site.more or forms)
    rate = rates.make_rate(rng, ("every", "every", "nth", "sometimes"), site.num)
    held: dict[int, str] = {}

    def plant(step: Step) -> None:
        epoch = rate.epoch(step)
        if epoch >= 0:
            text = held.setdefault(epoch, form(step.time))
            spot.insert(step, mark("clock", text))

    return plant


def _midnight(site: Site) -> Plant:
    form = site.rng.choice(surface_time.COARSE[1:])
    spot = places.make_spot(site.rng, site.app, [n for n in site.where if n.startswith("system")])
    at = site.num // 2

    def plant(step: Step) -> None:
        time = START + timedelta(days=int(step.number >= at))
        spot.insert(step, mark("clock", form(time)))

    return plant


def _seeded(
    kind: str, make: Callable[[random.Random], str], spot: Spot, rate: Rate, seed: int
) -> Plant:
    def plant(step: Step) -> None:
        epoch = rate.epoch(step)
        if epoch >= 0:
            text = make(random.Random(f"{seed}:{epoch}"))
            spot.insert(step, mark(kind, text))

    return plant


def plant_request_id(site: Site) -> Plant:
    """An id that is new with the request, or with the session."""
    rng, app, num, where, more = site.rng, site.app, site.num, site.where, site.more
    make = rng.choice(more or surface_values.REQUEST_IDS)
    rate = rates.make_rate(rng, ("every", "every", "nth", "sometimes", "session"), num)
    return _seeded("request_id", make, places.make_spot(rng, app, where), rate, rng.getrandbits(32))


def plant_attribution(site: Site) -> Plant:
    """The line of a client's attribution, first in the system prompt."""
    rng, num, more = site.rng, site.num, site.more
    make = rng.choice(more or surface_values.ATTRIBUTIONS)
    rate = rates.make_rate(rng, ("every", "every", "sometimes"), num)
    spot = Spot(rng.choice(("system_line", "system_own", "system_head")), 0)
    return _seeded("attribution", make, spot, rate, rng.getrandbits(32))


def plant_counter(site: Site) -> Plant:
    """A number that grows with the request or the turn."""
    rng, app, num, where, more = site.rng, site.app, site.num, site.where, site.more
    form = rng.choice(more or surface_values.COUNTERS)
    spot = places.make_spot(rng, app, where)
    rate = rates.make_rate(rng, ("every", "every", "nth", "turn"), num)
    start = rng.choice((1, 1, 7, 40, 98))

    def plant(step: Step) -> None:
        spot.insert(step, mark("counter", form(start + rate.epoch(step))))

    return plant


_SAID = ("first_user", "user_tail", "history")


def plant_user(site: Site) -> Plant:
    """A field of the user ahead of what all users share."""
    rng, app, where, more = site.rng, site.app, site.where, site.more
    form = rng.choice(more or surface_values.USER_FIELDS)
    spot = places.make_spot(rng, app, tuple(n for n in where if n not in _SAID))

    def plant(step: Step) -> None:
        spot.insert(step, mark("per_user_field", form(step.user)))

    return plant


def plant_sample(site: Site) -> Plant:
    """Examples or hints drawn anew from a pool."""
    rng, app, num, where, more = site.rng, site.app, site.num, site.where, site.more
    make = rng.choice(more or SAMPLES)
    rate = rates.make_rate(rng, ("every", "every", "nth"), num)
    spot = places.make_spot(rng, app, tuple(n for n in where if n.startswith("system")))
    return _seeded("random_sample", make, spot, rate, rng.getrandbits(32))


def _shots(form: str, count: int) -> Callable[[random.Random], str]:
    def make(rng: random.Random) -> str:
        chosen = rng.sample(surface_values.SHOTS, count)
        return "\n".join(form.format(i=i, q=q, a=a) for i, (q, a) in enumerate(chosen, 1))

    return make


SAMPLES: tuple[Callable[[random.Random], str], ...] = (
    _shots("Example {i}\nUser: {q}\nAssistant: {a}", 3),
    _shots("Q: {q}\nA: {a}", 4),
    _shots("<example>\n<question>{q}</question>\n<answer>{a}</answer>\n</example>", 2),
    _shots('- "{q}" -> "{a}"', 5),
    lambda r: "Hints of the day:\n" + "\n".join(f"* {t}" for t in r.sample(surface_values.TIPS, 3)),
    lambda r: "Style examples: " + " | ".join(r.sample(surface_values.TIPS, 2)),
)

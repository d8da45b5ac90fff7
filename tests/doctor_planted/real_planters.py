"""Planters for the forms of public applications (real_*.py): text that stands in every prompt, text
that several names fit, and text that stands in one message only.
"""

import random
from collections.abc import Callable, Sequence
from datetime import datetime

from doctor_planted import places, rates
from doctor_planted.bases import Message, Step
from doctor_planted.marks import mark
from doctor_planted.own_planters import Own
from doctor_planted.places import Site, Spot
from doctor_planted.plant_values import Plant
from doctor_planted.surface_values import User, hex_digits

_SAID = ("first_user", "user_tail", "history")
_TALKS = ("service", "code", "browser", "tau")


def uuid_of(rng: random.Random) -> str:
    return "-".join(hex_digits(rng, length) for length in (8, 4, 4, 4, 12))


def number_of(user: User, modulus: int = 10**9) -> int:
    """A number of a user, the same in all requests."""
    return sum((i + 7) ** 3 * ord(c) for i, c in enumerate(user.email)) * 7919 % modulus


def phone_of(user: User) -> str:
    return f"+1{number_of(user, 9 * 10**9) + 10**9}"


def login_of(user: User) -> str:
    return user.email.split("@")[0]


def _system(where: Sequence[str]) -> tuple[str, ...]:
    return tuple(n for n in where if n.startswith("system")) or ("system_tail",)


def by_user(kinds: str, form: Callable[[User], str]) -> Own:
    """Text of a session's user, in instructions or tools."""

    def plant_in(site: Site) -> Plant:
        spot = places.make_spot(site.rng, site.app, [n for n in site.where if n not in _SAID])
        return lambda step: _put(spot, step, mark(kinds, form(step.user)))

    return Own(plant_in)


def by_time(form: Callable[[datetime], str], kinds: str = "clock") -> Own:
    """A line that every prompt has, with the time of its request in it."""

    def plant_in(site: Site) -> Plant:
        spot = places.make_spot(site.rng, site.app, site.where)
        rate = rates.make_rate(site.rng, ("every", "every", "nth"), site.num)
        held: dict[int, str] = {}

        def plant(step: Step) -> None:
            _put(spot, step, mark(kinds, held.setdefault(rate.epoch(step), form(step.time))))

        return plant

    return Own(plant_in)


def by_draw(
    make: Callable[[random.Random], str],
    kinds: str = "request_id",
    names: tuple[str, ...] = ("every", "every", "nth", "session"),
) -> Own:
    """A line that every prompt has, with something in it that is drawn. Samples stand in the
    instructions."""

    def plant_in(site: Site) -> Plant:
        where = _system(site.where) if kinds.startswith("random_sample") else site.where
        spot = places.make_spot(site.rng, site.app, where)
        rate = rates.make_rate(site.rng, names, site.num)
        seed = site.rng.getrandbits(32)

        def plant(step: Step) -> None:
            _put(spot, step, mark(kinds, make(random.Random(f"{seed}:{rate.epoch(step)}"))))

        return plant

    return Own(plant_in)


def by_number(form: Callable[[int], str], kinds: str = "counter") -> Own:
    """A line with the number of the request, or of the turn within its session."""

    def plant_in(site: Site) -> Plant:
        spot = places.make_spot(site.rng, site.app, site.where)
        rate = rates.make_rate(site.rng, ("every", "turn"), site.num)
        start = site.rng.choice((1, 1, 3))
        return lambda step: _put(spot, step, mark(kinds, form(start + rate.epoch(step))))

    return Own(plant_in)


def _put(spot: Spot, step: Step, text: str) -> None:
    spot.insert(step, text)


def on_last_user(kinds: str, text: str) -> Own:
    """A reminder that a client puts behind the user's last message and nowhere else: the same
    message goes without it once there is a later one."""

    def plant(step: Step) -> None:
        last = [m for m in step.messages if m["role"] == "user"][-1]
        if isinstance(last["content"], str):
            last["content"] += mark(kinds, text)

    return Own(lambda site: plant, ("service", "code", "tau"))


def rewritten(kinds: str, change: Callable[[Message], bool], keep: int) -> Own:
    """Messages before the last `keep` are rewritten in place; change: whether it did."""

    def plant(step: Step) -> None:
        for i, message in enumerate(step.messages):
            done = i < len(step.messages) - keep and change(message)
            step.owners.append((kinds, "messages", i, done))

    return Own(lambda site: plant, _TALKS)

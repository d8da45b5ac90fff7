"""Planters of order: tools, JSON keys and arrays in schemas, in calls, in results and in text."""

import json
import random
from collections.abc import Callable
from typing import Any

from doctor_planted import places, rates
from doctor_planted.bases import Step
from doctor_planted.marks import mark
from doctor_planted.places import Site
from doctor_planted.plant_forms import loads, shuffled_arrays, shuffled_keys
from doctor_planted.plant_values import Plant

_ORDER_RATES = ("every", "every", "nth", "sometimes", "boundary")
Shuffle = Callable[[Any, random.Random], Any]


def plant_tool_order(site: Site) -> Plant:
    """The same tools in another order: any, two neighbours, the last one first."""
    rng, num = site.rng, site.num
    rate = rates.make_rate(rng, _ORDER_RATES, num)
    seed, form = rng.getrandbits(32), rng.choice(("any", "any", "neighbours", "rotated"))

    def plant(step: Step) -> None:
        epoch = rate.epoch(step)
        order = list(range(len(step.tools)))
        own = random.Random(f"{seed}:{epoch}")
        if epoch > 0 or (epoch == 0 and rate.name != "boundary"):
            if form == "any":
                own.shuffle(order)
            elif form == "neighbours":
                at = own.randrange(len(order) - 1)
                order[at], order[at + 1] = order[at + 1], order[at]
            else:
                by = own.randrange(1, len(order))
                order = order[by:] + order[:by]
        step.tools = [step.tools[i] for i in order]
        step.owners.append(("tool_order", "tools", None, tuple(order)))

    return plant


def _plant_json(kind: str, shuffles: dict[str, Shuffle]) -> Callable[[Site], Plant]:
    """shuffles: for schemas of tools, for results of tools, for JSON in the system prompt."""

    def make(site: Site) -> Plant:
        rng, app, num, where = site.rng, site.app, site.num, site.where
        targets = ["system"]
        if app.tools and "tool_description" in where:
            targets += ["tools", "tools", "tools"]
        if app.shape in ("service", "tau") and "history" in where:
            targets += ["results", "results"]
        if (
            app.shape in ("service", "code", "browser", "tau")
            and kind == "key_order"
            and "history" in where
        ):
            targets.append("calls")
        target = rng.choice(targets)
        rate = rates.make_rate(rng, _ORDER_RATES, num)
        seed = rng.getrandbits(32)
        at = rng.randrange(len(app.tools)) if app.tools else 0
        usable = [name for name in where if name in places.SYSTEM]
        spot = places.make_spot(rng, app, usable or ("system_tail",))
        indent = rng.choice((None, 2))
        settings = _settings(rng)

        def plant(step: Step) -> None:
            epoch = rate.epoch(step)
            still = epoch < 0 or (epoch == 0 and rate.name == "boundary")

            def moved(value: Any) -> Any:
                return value if still else shuffles[target](value, random.Random(f"{seed}:{epoch}"))

            state = json.dumps(epoch) if not still else "still"
            if target == "tools":
                step.tools[at] = moved(step.tools[at])
                step.owners.append((kind, "tools", at, state))
            elif target == "system":
                text = json.dumps(moved(settings), indent=indent)
                spot.insert(step, mark(kind, f"<settings>{text}</settings>"))
            else:
                _in_history(step, kind, target, moved, state)

        return plant

    return make


def _in_history(
    step: Step, kind: str, target: str, moved: Callable[[Any], Any], state: str
) -> None:
    """All results (or calls) of the history are written anew by a client that holds them parsed."""
    for i, message in enumerate(step.messages):
        if target == "results" and message["role"] == "tool":
            value = loads(message["content"])
            if isinstance(value, dict):
                message["content"] = mark(kind, json.dumps(moved(value)))
        if target == "calls":
            for call in message.get("tool_calls") or []:
                value = loads(call["function"]["arguments"])
                if isinstance(value, dict) and len(value) > 1:
                    call["function"]["arguments"] = json.dumps(moved(value))
                    step.owners.append((kind, "messages", i, state))


def _settings(rng: random.Random) -> dict[str, Any]:
    return {
        "region": rng.choice(("eu", "us", "apac")),
        "features": rng.sample(("search", "refunds", "chat", "maps", "voice", "export"), 5),
        "limits": {"rows": rng.randrange(10, 99), "seconds": rng.randrange(5, 60), "retries": 2},
        "languages": rng.sample(("de", "fr", "en", "ja", "pt"), 4),
        "tone": rng.choice(("plain", "warm", "formal")),
    }


def _tool_keys(value: Any, rng: random.Random) -> Any:
    """Keys at one depth of a tool: its function, the schema, the properties, one of them."""
    return shuffled_keys(value, rng, rng.choice((1, 2, 3, 3, 4)))


def _any_keys(value: Any, rng: random.Random) -> Any:
    return shuffled_keys(value, rng, rng.choice((0, 0, 1)))


def _names(*names: str) -> Shuffle:
    return lambda value, rng: shuffled_arrays(value, rng, names)


plant_key_order = _plant_json(
    "key_order",
    {"tools": _tool_keys, "system": _any_keys, "results": _any_keys,
     "calls": lambda value, rng: shuffled_keys(value, rng, 0)},
)  # fmt: skip
plant_array_order = _plant_json(
    "array_order",
    {"tools": _names("required"), "system": _names("features", "languages"),
     "results": _names("tags")},
)  # fmt: skip

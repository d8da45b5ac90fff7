"""Forms that plant by themselves, where the usual planter of a kind has no surface text to vary:
orders told in text, tools rewritten, history cut or edited, ids made anew, pictures written anew.
"""

import base64
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from doctor_planted import images, places, rates
from doctor_planted.bases import Message, Step
from doctor_planted.marks import mark
from doctor_planted.places import Site
from doctor_planted.plant_forms import toggled
from doctor_planted.plant_values import Plant

Draw = Callable[[random.Random], str]
_RATES = ("every", "every", "nth", "sometimes", "boundary")


@dataclass(frozen=True)
class Own:
    """plant: what a planter of PLANTERS is. shapes: of applications that can carry it, or all."""

    plant: Callable[[Site], Plant]
    shapes: tuple[str, ...] = ()


def ordered(kinds: str, make: Callable[[random.Random], Callable[[random.Random], str]]) -> Own:
    """Text in the instructions whose parts come in another order. make: from an application's own
    draw the text of an epoch; epoch 0 of a boundary is the first order."""

    def plant_in(site: Site) -> Plant:
        rate = rates.make_rate(site.rng, _RATES, site.num)
        usable = tuple(name for name in site.where if name in places.SYSTEM)
        spot = places.make_spot(site.rng, site.app, usable or ("system_tail",))
        write, seed = make(site.rng), site.rng.getrandbits(32)

        def plant(step: Step) -> None:
            epoch = rate.epoch(step)
            still = epoch < 0 or (epoch == 0 and rate.name == "boundary")
            text = write(random.Random(f"{seed}:{'still' if still else epoch}"))
            spot.insert(step, mark(kinds, text))

        return plant

    return Own(plant_in)


def shuffled(form: Callable[[list[str]], str], items: tuple[str, ...], least: int = 4) -> Any:
    """For `ordered`: some of the items, the same ones in every request, in any order."""

    def make(rng: random.Random) -> Draw:
        chosen = rng.sample(items, rng.randrange(least, len(items) + 1))
        return lambda own: form(own.sample(chosen, len(chosen)))

    return make


def tools_changed(
    kinds: str,
    change: Callable[[list[Any], int, random.Random], list[Any]],
    num_variants: int = 2,
    always: bool = False,
) -> Own:
    """Tools rewritten in turns: change(tools, which tool, a draw of the variant); the first variant
    is the application's own, or with `always` a changed one too."""

    def plant_in(site: Site) -> Plant:
        rate = rates.make_rate(site.rng, ("nth", "sometimes", "boundary"), site.num)
        at, seed = site.rng.randrange(len(site.app.tools)), site.rng.getrandbits(32)

        def plant(step: Step) -> None:
            variant = toggled(rate, step, num_variants)
            if variant or always:
                step.tools = change(step.tools, at, random.Random(f"{seed}:{variant}"))
            step.owners.append((kinds, "tools", None, json.dumps(step.tools)))

        return plant

    return Own(plant_in, ("service", "code", "browser", "tau"))


def history_cut(kinds: str, change: Callable[[list[Message]], tuple[list[Message], object]]) -> Own:
    """The history rewritten: its new messages, and a state that differs where they do."""

    def plant_in(site: Site) -> Plant:
        def plant(step: Step) -> None:
            step.messages, state = change(step.messages)
            step.owners.append((kinds, "messages", None, state))

        return plant

    return Own(plant_in, ("service", "code", "browser", "tau"))


def calls_named_anew(make: Draw) -> Own:
    """A client that makes up the ids of all calls in the history with each request."""

    def plant_in(site: Site) -> Plant:
        rate = rates.make_rate(site.rng, ("every", "nth"), site.num)
        seed = site.rng.getrandbits(32)

        def plant(step: Step) -> None:
            epoch = rate.epoch(step)
            for i, message in enumerate(step.messages):
                for call in message.get("tool_calls") or []:
                    text = make(random.Random(f"{seed}:{epoch}:{step.session}:{i}"))
                    old, call["id"] = call["id"], mark("request_id", text)
                    for answer in step.messages[i + 1 :]:
                        if answer.get("tool_call_id") == old:
                            answer["tool_call_id"] = mark("request_id", text)

        return plant

    return Own(plant_in, ("service", "code", "browser", "tau"))


def pictures(write: Callable[[list[bytes], int], str]) -> Own:
    """Pictures of the history written anew; write: a data URL from the pixels and an epoch."""

    def plant_in(site: Site) -> Plant:
        rate = rates.make_rate(site.rng, ("every", "nth", "sometimes", "boundary"), site.num)

        def plant(step: Step) -> None:
            epoch = max(0, rate.epoch(step))
            for i, message in enumerate(step.messages):
                for block in message["content"] if isinstance(message["content"], list) else []:
                    if block["type"] == "image_url" and epoch:
                        url = block["image_url"]["url"]
                        rows = images.pixels(base64.b64decode(url.split(",", 1)[1]))
                        block["image_url"]["url"] = write(rows, epoch)
                step.owners.append(("image_encoding", "messages", i, epoch))

        return plant

    return Own(plant_in)


def flipped(name: str) -> Own:
    """A flat template that treats the last user message, or the reply to come, in its own way."""
    return Own(lambda site: lambda step: setattr(step, "flip", name), ("chat",))


def reasoning(change: Callable[[Message, str], None]) -> Own:
    """Replies since the last user message show their reasoning; change(message, thought)."""

    def plant_in(site: Site) -> Plant:
        seed = site.rng.getrandbits(32)

        def plant(step: Step) -> None:
            users = [i for i, m in enumerate(step.messages) if m["role"] == "user"]
            for i, message in enumerate(step.messages):
                if message["role"] == "assistant":
                    own = random.Random(f"{seed}:{step.session}:{i}")
                    shown = i > max(users, default=0)
                    if shown:
                        change(message, " ".join(own.sample(THOUGHTS, 3)))
                    step.owners.append(("template_flip", "messages", i, shown))

        return plant

    return Own(plant_in, ("service",))


THOUGHTS = (
    "Okay, so the user is asking about a delay.", "First I look at what was said.",
    "The tool may give the state.", "I must not promise a day.", "Hmm, two records could match.",
    "Better to ask than to guess.", "The limit is not reached yet.", "Now I can answer in brief.",
)  # fmt: skip

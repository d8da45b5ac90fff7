"""What planted defects cost in tokens, by a slow replay: every prompt against every earlier one,
token by token. The generator of planted traces is that of the losses in bytes; the requests are
rendered by a chat template with the marks of what was planted still in, so that every byte's place
in the clean prompt is known. Only the tokenizer's own library is asked for tokens; nothing of the
doctor is used.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from doctor_planted import base_words
from doctor_planted.bases import make_app, steps_of
from doctor_planted.carriers import prompt_of
from doctor_planted.loss_traces import FORMS, ORDERS, SPOTS, VALUES
from doctor_planted.losses import PLANTED, Prompt, marked_prompt, shuffled_prompt
from doctor_planted.marks import strip
from doctor_planted.places import Spot

Render = Callable[[dict[str, Any]], str]
Encode = Callable[[str], tuple[list[int], list[int]]]
"""The tokens of a text, and how many bytes of it each has."""


@dataclass
class TokenPrompt:
    """prompt: in bytes of the rendered text, with the images. tokens, clean: of its text and of the
    text without what was planted; ends, clean_ends: bytes behind the last one of each token."""

    prompt: Prompt
    tokens: list[int]
    ends: list[int]
    clean: list[int]
    clean_ends: list[int]

    def spans(self) -> list[tuple[int, int]]:
        return list(zip([0, *self.ends[:-1]], self.ends, strict=True))


@dataclass
class Trace:
    prompts: list[TokenPrompt] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)


def planted_trace(
    kind: str, seed: int, render: Render, encode: Encode, shape: str = "service"
) -> Trace:
    """One application with one kind planted (of loss_traces: VALUES, FORMS or ORDERS)."""
    rng = random.Random(f"tokens:{kind}:{seed}")
    app = make_app(rng, rng.choice(base_words.APPS), shape, 2 if shape == "service" else 8)
    steps = steps_of(app, rng, (4.0, 400.0), 30.0)
    at = Spot(rng.choice(SPOTS), rng.randrange(1, 5))
    trace = Trace()
    for number, step in enumerate(steps):
        before = render(strip(prompt_of(step, "openai"))[0])
        if kind in VALUES:
            at.insert(step, VALUES[kind](step, rng))
        elif kind in FORMS:
            other = step.number >= 4 if kind == "edited_message" else step.number % 3 == 1
            at.edit(step, partial(FORMS[kind], planted=other))
        else:
            ORDERS[kind](step, rng)
        marked = prompt_of(step, "openai")
        body = strip(marked)[0]
        made = marked_prompt(str(number), (), render(marked))
        if kind in ORDERS:
            made = shuffled_prompt(str(number), (), render(body), before)
        trace.prompts.append(token_prompt(made, encode))
        trace.rows.append(
            {"custom_id": str(number), "model": "m", "session_id": step.session,
             "timestamp": step.time.isoformat(), **body}
        )  # fmt: skip
    return trace


def token_prompt(made: Prompt, encode: Encode) -> TokenPrompt:
    sides: list[list[int]] = []
    for data in (bytes(made.text), bytes(made.clean)):
        ids, lengths = encode(data.decode())
        assert sum(lengths) == len(data)
        sides += [ids, np.cumsum(lengths).tolist()]
    return TokenPrompt(made, *sides)


def common(a: Sequence[int], b: Sequence[int]) -> int:
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y),
                min(len(a), len(b)))  # fmt: skip


def rung_six(new: TokenPrompt, earlier: Sequence[TokenPrompt]) -> int:
    return max((common(new.tokens, old.tokens) for old in earlier), default=0)


def diverged(new: TokenPrompt, earlier: Sequence[TokenPrompt]) -> set[int]:
    """Rung 7: tokens from rung 6 on that stand, whole, in the longest beginning of the clean
    prompt's tokens that the clean tokens of an earlier prompt have."""
    match = max((common(new.clean, old.clean) for old in earlier), default=0)
    stop = new.clean_ends[match - 1] if match else 0
    six, image = rung_six(new, earlier), new.prompt.image
    found = set()
    for number, (start, end) in enumerate(new.spans()):
        own = image[start:end]
        is_whole = np.all(own != PLANTED) and np.all(np.diff(own) == 1) and len(own)
        if number >= six and is_whole and own[-1] < stop:
            found.add(number)
    return found


def lost_to(new: TokenPrompt, relative: TokenPrompt, earlier: Sequence[TokenPrompt]) -> set[int]:
    """Tokens from rung 6 on, all of whose bytes one earlier prompt has, up to where the two differ
    without anything planted."""
    one, other = new.prompt, relative.prompt
    most = min(len(one.clean), len(other.clean))
    differ = np.flatnonzero(one.clean[:most] != other.clean[:most])
    match = int(differ[0]) if len(differ) else most
    there = np.isin(one.image, other.image[other.image != PLANTED]) & (one.image < match)
    for mark, old in zip(one.marks, other.marks, strict=False):
        before = int(np.count_nonzero(one.image[: mark.start] != PLANTED))
        if mark.text == old.text and before <= match:
            there[mark.start : mark.start + len(mark.text)] = True
    six = rung_six(new, earlier)
    return {n for n, (a, b) in enumerate(new.spans()) if n >= six and b > a and np.all(there[a:b])}

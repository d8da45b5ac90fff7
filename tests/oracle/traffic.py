"""Random traffic, rich in sharing, for comparing the product with the oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.world import Request

if TYPE_CHECKING:
    import random

    from oracle.world import Tokens


def random_requests(
    rng: random.Random,
    *,
    num_requests: int = 30,
    block_size: int = 4,
    num_workers: int = 3,
    alphabet: int = 3,
    max_new_tokens: int | None = None,
    num_models: int = 2,
    num_salts: int = 2,
    num_adapters: int = 2,
    num_sessions: int = 4,
    num_tenants: int = 2,
    with_outputs: bool = True,
    with_reported: bool = True,
) -> list[Request]:
    """Requests in arrival order; small whole-second times, so that ties are common.

    The first model, no salt and no adapter are the most common, so that contexts do share.
    """
    longest_new = 3 * block_size if max_new_tokens is None else max_new_tokens
    requests: list[Request] = []
    now = 0.0
    for _ in range(num_requests):
        now += rng.choice([0, 0, 1, 1, 2])
        tokens = random_prompt(rng, requests, block_size, alphabet, longest_new)
        output, finish_s = None, None
        if with_outputs and rng.random() < 0.6:
            output = new_tokens(rng, rng.randint(0, longest_new), alphabet)
            if rng.random() < 0.6:
                finish_s = now + rng.choice([-1, 0, 0, 1, 2, 3, 8])
        elif with_outputs and rng.random() < 0.1:
            finish_s = now + 1  # a finish time without an output
        reported = None
        if with_reported and rng.random() < 0.5:
            reported = random_reported(rng, len(tokens), block_size)
        requests.append(
            Request(
                tokens=tokens,
                output=output,
                arrival_s=now,
                finish_s=finish_s,
                model=f"model{pick(rng, num_models)}",
                salt=label(rng, "salt", num_salts),
                adapter=label(rng, "adapter", num_adapters),
                worker=rng.randrange(num_workers),
                session=name_or_none(rng, "session", num_sessions),
                tenant=name_or_none(rng, "tenant", num_tenants),
                reported=reported,
            )
        )
    return requests


def new_tokens(rng: random.Random, count: int, alphabet: int) -> Tokens:
    return tuple(rng.randrange(alphabet) for _ in range(count))


def random_prompt(
    rng: random.Random,
    earlier: list[Request],
    block_size: int,
    alphabet: int,
    longest_new: int,
) -> Tokens:
    """An earlier sequence, whole or cut at a random point, and new tokens behind it."""
    kind = rng.random()
    if kind < 0.04:
        return ()
    if kind < 0.10 and block_size > 1:
        return new_tokens(rng, rng.randint(1, block_size - 1), alphabet)
    tokens: Tokens = ()
    if earlier and kind < 0.90:
        source = rng.choice(earlier)
        tokens = source.whole if rng.random() < 0.5 else source.tokens
        if rng.random() < 0.5:
            tokens = tokens[: rng.randint(0, len(tokens))]
    if rng.random() < 0.8:
        tokens += new_tokens(rng, rng.randint(0, longest_new), alphabet)
    tokens = tokens[: 12 * block_size]
    if rng.random() < 0.3:
        tokens = tokens[: len(tokens) // block_size * block_size]
    return tokens


def random_reported(rng: random.Random, num_tokens: int, block_size: int) -> int:
    """Anything from nothing to everything, often whole blocks, now and then too much."""
    kind = rng.random()
    if kind < 0.08:
        return num_tokens + rng.randint(1, 3)
    if kind < 0.50:
        return rng.randint(0, num_tokens // block_size) * block_size
    return rng.randint(0, num_tokens)


def pick(rng: random.Random, count: int) -> int:
    """0 more often than not, else any."""
    return 0 if rng.random() < 0.6 else rng.randrange(count)


def label(rng: random.Random, kind: str, count: int) -> str | None:
    """None more often than not, else one of `count` names."""
    number = pick(rng, count + 1)
    return None if number == 0 else f"{kind}{number}"


def name_or_none(rng: random.Random, kind: str, count: int) -> str | None:
    return None if rng.random() < 0.15 else f"{kind}{rng.randrange(count)}"

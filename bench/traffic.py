"""Synthetic chat traffic in Mooncake's JSONL form, deterministic for a seed.

Forty system prompts drawn by a Zipf law, sessions of several turns that interleave in time. Each
turn's prompt is the one before it plus the reply plus new user text. Ids are chained: one id means
one whole prefix. They are numbered from 0 in order of first appearance; the last id of a prompt
that does not end on a block boundary stands for a partial block and is never used again.

Only the sessions that are still open are held in memory, each with its ids as rendered text.
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import time
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSION = 1  # raise it when the same arguments would write different bytes

NUM_SYSTEM_PROMPTS = 40
SYSTEM_TOKENS = (500, 6_000)
ZIPF_EXPONENT = 1.0
MEAN_PROMPT_TOKENS = 9_400  # aimed at; 20,000 requests come out some 2 % below it (seed 7)
MEAN_TURNS = 3.5
REPLY_TO_USER = 0.5  # mean reply length as a share of the mean user text
TEXT_SIGMA = 0.8  # of the log-normal lengths
SESSIONS_PER_S = 1.0
THINK_S = 30.0
S_PER_OUTPUT_TOKEN = 0.02


@dataclass
class Written:
    """What one call of `generate` put on disk."""

    version: int
    seed: int
    block_size: int
    num_requests: int = 0
    num_ids: int = 0
    num_distinct_ids: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    num_sessions: int = 0


@dataclass
class SystemPrompt:
    """A shared prefix: its whole blocks are rendered when it is first used."""

    tokens: int
    ids: str | None = None


@dataclass
class Session:
    """One conversation, with the ids of its whole blocks so far as text."""

    system: SystemPrompt
    user_tokens: list[int]
    reply_tokens: list[int]
    think_s: list[float]
    turn: int = 0
    prompt_tokens: int = 0
    num_blocks: int = 0
    ids: str = ""


@dataclass
class Request:
    """One line of the trace; `ids` is the rendered list without its brackets."""

    timestamp_ms: int
    prompt_tokens: int
    output_tokens: int
    num_ids: int
    ids: str

    def line(self) -> str:
        return (
            f'{{"timestamp": {self.timestamp_ms}, "input_length": {self.prompt_tokens}, '
            f'"output_length": {self.output_tokens}, "hash_ids": [{self.ids}]}}\n'
        )


class Traffic:
    """The random source and the id counter behind one trace."""

    def __init__(self, seed: int, block_size: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.block_size = block_size
        self.next_id = 0
        self.num_sessions = 0
        lengths = self.rng.permutation(np.linspace(*SYSTEM_TOKENS, NUM_SYSTEM_PROMPTS).astype(int))
        self.systems = [SystemPrompt(int(n)) for n in lengths]
        weights = np.arange(1, NUM_SYSTEM_PROMPTS + 1) ** -ZIPF_EXPONENT
        self.popularity = weights / weights.sum()
        # A request stands at turn k (from 0) with probability q^k (1 - q), so its mean prompt is
        # system + user * MEAN_TURNS + reply * (MEAN_TURNS - 1): solve that for the user text.
        growth = MEAN_TURNS + REPLY_TO_USER * (MEAN_TURNS - 1)
        self.mean_user = (MEAN_PROMPT_TOKENS - float(self.popularity @ lengths)) / growth

    def _lengths(self, mean: float, count: int) -> list[int]:
        mu = np.log(mean) - TEXT_SIGMA**2 / 2
        drawn = self.rng.lognormal(mu, TEXT_SIGMA, count)
        return [max(1, int(length)) for length in drawn]

    def _new_ids(self, count: int) -> str:
        first = self.next_id
        self.next_id += count
        return ", ".join(map(str, range(first, first + count)))

    def open_session(self) -> Session:
        self.num_sessions += 1
        turns = int(self.rng.geometric(1 / MEAN_TURNS))
        return Session(
            system=self.systems[int(self.rng.choice(NUM_SYSTEM_PROMPTS, p=self.popularity))],
            user_tokens=self._lengths(self.mean_user, turns),
            reply_tokens=self._lengths(self.mean_user * REPLY_TO_USER, turns),
            think_s=self.rng.exponential(THINK_S, turns).tolist(),
        )

    def _extend(self, session: Session, prompt_tokens: int) -> None:
        """Let the session's whole blocks reach `prompt_tokens`."""
        size, system = self.block_size, session.system
        if session.turn == 0:
            session.num_blocks = system.tokens // size
            if system.ids is None:
                system.ids = self._new_ids(session.num_blocks)
            session.ids = system.ids
        count = prompt_tokens // size - session.num_blocks
        if count > 0:
            more = self._new_ids(count)
            session.ids = f"{session.ids}, {more}" if session.ids else more
            session.num_blocks += count
        session.prompt_tokens = prompt_tokens

    def take_turn(self, session: Session, now_s: float) -> Request:
        """The session's next request; its turn counter moves on."""
        turn = session.turn
        before = session.prompt_tokens + session.reply_tokens[turn - 1] if turn else 0
        self._extend(session, (before or session.system.tokens) + session.user_tokens[turn])
        session.turn += 1
        ids, num_ids = session.ids, session.num_blocks
        if session.prompt_tokens % self.block_size:
            partial = self._new_ids(1)
            ids, num_ids = f"{ids}, {partial}" if ids else partial, num_ids + 1
        output = session.reply_tokens[turn]
        return Request(int(now_s * 1000), session.prompt_tokens, output, num_ids, ids)

    def requests(self) -> Iterator[Request]:
        """Requests in time order, without end."""
        arrivals = 0.0
        serial = 0
        waiting: list[tuple[float, int, Session]] = [(arrivals, serial, self.open_session())]
        newest = serial
        while True:
            now, order, session = heapq.heappop(waiting)
            if order == newest:  # the latest arrival has come: book the next one
                arrivals += float(self.rng.exponential(1 / SESSIONS_PER_S))
                serial += 1
                newest = serial
                heapq.heappush(waiting, (arrivals, serial, self.open_session()))
            request = self.take_turn(session, now)
            yield request
            if session.turn < len(session.user_tokens):
                pause = request.output_tokens * S_PER_OUTPUT_TOKEN + session.think_s[session.turn]
                serial += 1
                heapq.heappush(waiting, (now + pause, serial, session))


def generate(path: Path, num_requests: int, block_size: int, seed: int) -> Written:
    """Write the trace and, beside it, `PATH.meta.json`; neither is ever left half written."""
    traffic = Traffic(seed, block_size)
    written = Written(VERSION, seed, block_size)
    draft = path.with_name(path.name + ".part")
    path.parent.mkdir(parents=True, exist_ok=True)
    with draft.open("w", encoding="ascii", buffering=1 << 20) as out:
        for request in islice(traffic.requests(), num_requests):
            out.write(request.line())
            written.num_requests += 1
            written.num_ids += request.num_ids
            written.prompt_tokens += request.prompt_tokens
            written.output_tokens += request.output_tokens
    written.num_distinct_ids = traffic.next_id
    written.num_sessions = traffic.num_sessions
    os.replace(draft, path)
    meta = path.with_name(path.name + ".meta.json")
    meta.write_text(json.dumps(asdict(written)) + "\n", encoding="ascii")
    return written


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="the JSONL file to write")
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--block", type=int, default=16, help="tokens a block")
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    if args.requests < 1 or args.block < 1:
        parser.error("--requests and --block must be at least 1")
    start = time.perf_counter()
    written = generate(args.out, args.requests, args.block, args.seed)
    print(
        f"{args.out}: {written.num_requests:,} requests, {written.num_ids:,} ids "
        f"({written.num_distinct_ids:,} distinct), {written.prompt_tokens:,} prompt tokens "
        f"(mean {written.prompt_tokens / written.num_requests:,.0f}), "
        f"{written.output_tokens:,} output tokens, {args.out.stat().st_size / 1e6:,.1f} MB "
        f"in {time.perf_counter() - start:.1f} s"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

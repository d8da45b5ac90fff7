"""Made-up calls for the files of readers.py: lengths and ids from traffic.py, text from words.

Deterministic for a seed. Text is English-like words with the line ends, quotes and non-ASCII
characters that real prompts have, so that JSON escapes stand in it as they do in real files.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from traffic import Session, Traffic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from traffic import Request

BEGIN_S = 1_768_478_400.0  # 2026-01-15T12:00:00Z
MODEL = "meta-llama/Llama-3.1-8B-Instruct"
NO_BLOCKS = 1 << 30
"""A block size for traffic whose ids are of no interest."""
_PARAMETERS = {"type": "object", "properties": {"q": {"type": "string"}}}
_SEARCH = {"name": "search", "description": "Look something up.", "parameters": _PARAMETERS}
TOOLS = [{"type": "function", "function": _SEARCH}]
_NUM_WORDS = 4_000
_NUM_SYSTEM = 20
_SYSTEM_CHARS, _USER_CHARS, _REPLY_CHARS = 2_000, 500, 900
_SYLLABLES = [
    "ka",
    "lo",
    "mi",
    "ter",
    "an",
    "der",
    "pro",
    "con",
    "tion",
    "ing",
    "es",
    "ré",
    "形",
    "na",
]
_SYLLABLES += ["su", "per", "al", "is", "or", "en", "the", "of", "in", "to", "re", "ly", "st", "ar"]


@dataclass(frozen=True)
class Lengths:
    """One call without its text. ids: block ids as they stand inside a JSON list, ceil(n / B).
    cached_tokens: what the session's turn before left, in whole blocks."""

    number: int
    session: int
    turn: int
    arrival_s: float
    prompt_tokens: int
    output_tokens: int
    ids: str
    cached_tokens: int

    @property
    def ttft_s(self) -> float:
        return round(0.05 + (self.prompt_tokens - self.cached_tokens) * 5e-5, 6)

    @property
    def finish_s(self) -> float:
        return round(self.arrival_s + self.ttft_s + 0.02 * self.output_tokens, 6)


class _Numbered(Traffic):
    """Traffic that says of which session and turn the last request was."""

    def __init__(self, seed: int, block_size: int) -> None:
        super().__init__(seed, block_size)
        self._numbers: dict[int, tuple[Session, int]] = {}
        self.last = (0, 0)

    def open_session(self) -> Session:
        session = super().open_session()
        self._numbers[id(session)] = (session, self.num_sessions)
        return session

    def take_turn(self, session: Session, now_s: float) -> Request:
        request = super().take_turn(session, now_s)
        self.last = (self._numbers[id(session)][1], session.turn)
        if session.turn == len(session.user_tokens):
            del self._numbers[id(session)]
        return request


def lengths(num: int, block_size: int, seed: int) -> Iterator[Lengths]:
    """The traffic of traffic.py with sessions, turns and cached tokens."""
    traffic = _Numbered(seed, block_size)
    before: dict[int, int] = {}
    for number, request in enumerate(islice(traffic.requests(), num)):
        session, turn = traffic.last
        yield Lengths(
            number,
            session,
            turn,
            request.timestamp_ms / 1000,
            request.prompt_tokens,
            request.output_tokens,
            request.ids,
            before.get(session, 0) // 16 * 16,
        )
        before[session] = request.prompt_tokens


@dataclass(frozen=True)
class Chat:
    """One chat call: its messages up to the user's last, and the reply."""

    number: int
    session: int
    turn: int
    arrival_s: float
    messages: list[dict[str, str]]
    reply: str

    @property
    def finish_s(self) -> float:
        return round(self.arrival_s + 0.5 + len(self.reply) / 200, 3)

    @cached_property
    def prompt_tokens(self) -> int:
        return sum(len(message["content"]) // 4 + 4 for message in self.messages)

    @property
    def output_tokens(self) -> int:
        return len(self.reply) // 4 + 1


class _Words:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        rng = self.rng
        self._words = [
            "".join(rng.choices(_SYLLABLES, k=rng.randint(1, 4))) for _ in range(_NUM_WORDS)
        ]

    def text(self, mean_chars: int) -> str:
        """A text of about `mean_chars`, exponentially distributed, in lines."""
        num_words = max(3, int(self.rng.expovariate(7 / mean_chars)))
        words = self.rng.choices(self._words, k=num_words)
        for at in range(11, num_words, 12):
            words[at] += self.rng.choice((".\n", ",", '"', ".", ":\n\n", "\\"))
        return " ".join(words)


def chats(num: int, seed: int) -> Iterator[Chat]:
    """Conversations behind shared system prompts, one after the other."""
    words = _Words(seed)
    rng = words.rng
    systems = [words.text(_SYSTEM_CHARS) for _ in range(_NUM_SYSTEM)]
    number, session, now_s = 0, 0, BEGIN_S
    while number < num:
        session += 1
        messages = [{"role": "system", "content": rng.choice(systems)}]
        for turn in range(1, 1 + min(12, int(rng.expovariate(1 / 4)) + 1)):
            now_s = round(now_s + rng.expovariate(1), 3)
            messages = [*messages, {"role": "user", "content": words.text(_USER_CHARS)}]
            reply = words.text(_REPLY_CHARS)
            yield Chat(number, session, turn, now_s, messages, reply)
            number += 1
            if number == num:
                return
            messages = [*messages, {"role": "assistant", "content": reply}]


def iso(seconds: float) -> str:
    """ISO 8601 in UTC, with milliseconds."""
    moment = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return moment.replace("+00:00", "Z")


def write_lines(path: Path, rows: Iterable[Any]) -> None:
    """Text as it is, anything else as JSON, a line each."""
    with path.open("w", encoding="utf-8", buffering=1 << 20) as out:
        for row in rows:
            out.write(row if isinstance(row, str) else json.dumps(row, ensure_ascii=False))
            out.write("\n")

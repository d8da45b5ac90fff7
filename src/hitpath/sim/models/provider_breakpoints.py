"""Providers that cache up to marked places: Anthropic, Bedrock, OpenAI from GPT-5.6 on.

Anthropic (platform.claude.com, "Prompt caching", autumn 2026), and Claude on Bedrock
(`cachePoint`):

- At most four breakpoints. At each, the stored prefixes that end at its block or at one of the 19
  before it are looked for: 20 places, the breakpoint's own the first. The longest found at any of
  them is read.
- From there to the last breakpoint is written, unless that prefix is shorter than the model's
  minimum: then nothing is cached, without an error. A stretch has the lifetime of the breakpoint
  that ends it; longer lifetimes must come first.
- Each use begins an entry's lifetime anew. Entries stand at breakpoints only: a chat that grows by
  20 blocks or more between two of them loses its hit.
- An entry can be read once the first response has begun.

Not modelled: that on the Claude API a run of tool_use blocks, or of tool_result blocks, is one
place of the 20.

OpenAI from GPT-5.6 on (developers.openai.com, "Prompt caching", September 2026): a hit needs the
prompt up to a stored breakpoint to be equal. Four can be written: in mode "implicit" the end of the
newest message and the last three explicit breakpoints, in mode "explicit" the last four of these.
Looked at are the first two and the latest 50 explicit breakpoints and, in mode "implicit", ends of
earlier messages. From 1,024 tokens on; 30 minutes after the last use, which costs no second write.
How many ends of messages are looked at is told twice: 20 of those that could be breakpoints, and 80
breakpoints in all (the API's reference). It is 80 ends of blocks here, for which message could be
one is not known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hitpath.core import SettingError
from hitpath.sim.models.providers import (
    MINUTE_S,
    Breakpoint,
    Entry,
    Predicted,
    Prompt,
    visible_from,
)

Stored = int
"""The number of a prefix that ends with a block."""

ANTHROPIC_MINIMUMS = {
    "fable-5": 512,
    "mythos-5": 512,
    "opus-5": 512,
    "opus-4.1": 1024,
    "opus-4.5": 4096,
    "opus-4.6": 4096,
    "opus-4.7": 2048,
    "opus-4.8": 1024,
    "sonnet-4": 1024,
    "sonnet-4.5": 1024,
    "sonnet-4.6": 1024,
    "sonnet-5": 1024,
    "haiku-3.5": 2048,
    "haiku-4.5": 4096,
}
"""Shortest prefix that is cached, as Anthropic's page has it in autumn 2026. In the spring it said
4,096 of Opus 4.7 and 2,048 of Sonnet 4.6; Bedrock has a list of its own."""

MOST_WRITTEN = 4
FIRST_EXPLICIT, LATEST_EXPLICIT, LATEST_ENDS = 2, 50, 80


@dataclass(frozen=True, slots=True)
class BreakpointRule:
    """`least`: the shortest prefix that is cached. `lookback`: blocks before a breakpoint whose
    ends are looked at too."""

    least: int
    most_breakpoints: int = 4
    lookback: int = 19


class _Store:
    """Entries by prefix, where prefixes end with blocks."""

    def __init__(self) -> None:
        self._numbers: dict[object, Stored] = {}
        self.entries: dict[Stored, Entry] = {}

    def ends(self, prompt: Prompt) -> list[tuple[int, Stored]]:
        """(end, number) of the prompt's blocks, in order."""
        ends = [*prompt.block_ends]
        if not ends or ends[-1] < len(prompt.tokens):
            ends.append(len(prompt.tokens))
        found: list[tuple[int, Stored]] = []
        parent: object = ("root", prompt.context)
        start = 0
        for end in ends:
            key = (parent, tuple(prompt.tokens[start:end]))
            parent = number = self._numbers.setdefault(key, len(self._numbers))
            found.append((end, number))
            start = end
        return found

    def readable(self, number: Stored, now_s: float) -> Entry | None:
        entry = self.entries.get(number)
        return entry if entry is not None and entry.readable(now_s) else None

    def keep(self, number: Stored, prompt: Prompt, lifetime_s: float) -> None:
        """Stored, or used again: its lifetime begins anew."""
        now, entry = prompt.arrival_s, self.entries.get(number)
        if entry is None or entry.expires_s < now:
            self.entries[number] = Entry(visible_from(prompt), now + lifetime_s)
        else:
            entry.expires_s = max(entry.expires_s, now + lifetime_s)


class BreakpointProvider:
    """Anthropic's rule, and Bedrock's for Claude."""

    def __init__(self, rule: BreakpointRule) -> None:
        self.rule = rule
        self._store = _Store()

    def serve(self, prompt: Prompt) -> Predicted:
        marks = prompt.breakpoints
        self._check(marks)
        ends = self._store.ends(prompt)
        place = {end: i for i, (end, _) in enumerate(ends)}
        read, found = 0, None
        for mark in marks:
            at = place[mark.end]
            for end, number in reversed(ends[max(0, at - self.rule.lookback) : at + 1]):
                if self._store.readable(number, prompt.arrival_s) and end > read:
                    read, found = end, number
                    break
        if found is not None:
            lifetimes = [mark.lifetime_s for mark in marks if mark.end >= read]
            self._store.keep(found, prompt, max(lifetimes, default=0.0))
        return Predicted(read, self._write(prompt, marks, dict(ends), read))

    def _check(self, marks: Sequence[Breakpoint]) -> None:
        if len(marks) > self.rule.most_breakpoints:
            cause = f"{len(marks)} are more than {self.rule.most_breakpoints}"
            raise SettingError("breakpoints", cause)
        lifetimes = [mark.lifetime_s for mark in marks]
        if lifetimes != sorted(lifetimes, reverse=True):
            raise SettingError("breakpoints", "longer lifetimes must come first")

    def _write(
        self, prompt: Prompt, marks: Sequence[Breakpoint], numbers: dict[int, Stored], read: int
    ) -> dict[float, int]:
        written: dict[float, int] = {}
        if not marks or marks[-1].end < self.rule.least:
            return written
        start = read
        for mark in marks:
            if mark.end >= self.rule.least:
                self._store.keep(numbers[mark.end], prompt, mark.lifetime_s)
            if mark.end > start:
                written[mark.lifetime_s] = written.get(mark.lifetime_s, 0) + mark.end - start
                start = mark.end
        return written


class OpenAiBreakpoints:
    """OpenAI's rule from GPT-5.6 on."""

    def __init__(
        self,
        mode: Literal["implicit", "explicit"] = "implicit",
        least: int = 1024,
        lifetime_s: float = 30 * MINUTE_S,
    ) -> None:
        self._mode = mode
        self._least = least
        self._lifetime_s = lifetime_s
        self._store = _Store()

    def serve(self, prompt: Prompt) -> Predicted:
        ends = self._store.ends(prompt)
        explicit = [mark.end for mark in prompt.breakpoints]
        newest = [ends[-1][0]] if self._mode == "implicit" else []
        places = {*explicit[:FIRST_EXPLICIT], *explicit[-LATEST_EXPLICIT:]}
        if self._mode == "implicit":
            places.update(end for end, _ in ends[-LATEST_ENDS:])
        read = 0
        for end, number in ends:
            if end in places and self._store.readable(number, prompt.arrival_s):
                self._store.keep(number, prompt, self._lifetime_s)
                read = end
        written = [*explicit[-(MOST_WRITTEN - len(newest)) :], *newest]
        kept = [end for end in sorted({*written}) if end >= self._least]
        for end in kept:
            self._store.keep(dict(ends)[end], prompt, self._lifetime_s)
        behind = kept[-1] if kept else 0
        return Predicted(read, {self._lifetime_s: behind - read} if behind > read else {})

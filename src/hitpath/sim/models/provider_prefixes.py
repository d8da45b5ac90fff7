"""Providers that cache by themselves: OpenAI before GPT-5.6, Gemini, DeepSeek.

OpenAI     from 1,024 tokens on, in steps of 128: 1024 + floor((m - 1024) / 128) x 128 for the
           longest common prefix m; five to ten minutes after the last use (guide "Prompt
           caching", developers.openai.com, up to summer 2026). Since then it says that the steps
           depend on the model (2,048 tokens for GPT-5.5), the minimum on the request, and that many
           models keep entries for 30 minutes and more: not modelled, for it gives no figures
Gemini     from a minimum on (2,048 for 2.5, 4,096 from 3 on; ai.google.dev, 13 October 2026); no
           step and no lifetime is told: one token, and minutes
DeepSeek   units: the end of a prompt, the end of a reply, where two prompts part (from the
           second on), and each `interval` tokens, a figure that is not told; a unit is read as a
           whole or not at all (api-docs.deepseek.com). Earlier models: whole units of 64 tokens
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from hitpath.sim.models.chains import Chains, Prefix
from hitpath.sim.models.providers import MINUTE_S, Entry, Predicted, Prompt, visible_from


@dataclass(frozen=True, slots=True)
class PrefixRule:
    """`least` tokens are cached, in steps of `step`, for `idle_s` after their last use."""

    least: int
    step: int
    idle_s: float


OPENAI = PrefixRule(1024, 128, 10 * MINUTE_S)
GEMINI_2_5 = PrefixRule(2048, 1, 10 * MINUTE_S)
GEMINI_3 = PrefixRule(4096, 1, 10 * MINUTE_S)
DEEPSEEK_V3 = PrefixRule(64, 64, 24 * 60 * MINUTE_S)


class PrefixProvider:
    """Any common prefix can be read, by its rule."""

    def __init__(self, rule: PrefixRule) -> None:
        self.rule = rule
        self._chains = Chains(rule.step)
        self._entries: dict[Prefix, Entry] = {}

    def serve(self, prompt: Prompt) -> Predicted:
        prefixes: list[Prefix] = []
        self._chains.extend(prefixes, prompt.tokens, prompt.context)
        found = 0
        for prefix in prefixes:
            entry = self._entries.get(prefix)
            if entry is None or not entry.readable(prompt.arrival_s):
                break
            found += 1
        read = found * self.rule.step
        visible, expires = visible_from(prompt), prompt.arrival_s + self.rule.idle_s
        for i, prefix in enumerate(prefixes):
            entry = self._entries.get(prefix)
            if entry is not None and entry.expires_s >= prompt.arrival_s:
                entry.expires_s = max(entry.expires_s, expires)
                entry.visible_s = entry.visible_s if i < found else min(entry.visible_s, visible)
            else:
                self._entries[prefix] = Entry(visible, expires)
        return Predicted(read if read >= self.rule.least else 0, {})


class UnitProvider:
    """DeepSeek's units. `interval`: tokens after which a unit ends by itself, 0 for none."""

    def __init__(self, interval: int = 0, idle_s: float = 24 * 60 * MINUTE_S) -> None:
        self._interval = interval
        self._idle_s = idle_s
        self._chains = Chains(1)
        self._units: dict[Prefix, Entry] = {}
        self._seen: dict[Prefix, float] = {}

    def serve(self, prompt: Prompt) -> Predicted:
        now = prompt.arrival_s
        own = self._prefixes(prompt.tokens, prompt.context)
        read = 0
        for end, prefix in enumerate(own, start=1):
            entry = self._units.get(prefix)
            if entry is not None and entry.readable(now):
                entry.expires_s = now + self._idle_s
                read = end
        parted = 0
        while parted < len(own) and self._seen.get(own[parted], float("inf")) <= now:
            parted += 1
        whole = self._prefixes([*prompt.tokens, *prompt.output], prompt.context)
        ends = {len(own), len(whole), parted}
        if self._interval:
            ends.update(range(self._interval, len(whole) + 1, self._interval))
        visible = visible_from(prompt)
        for end in sorted(ends - {0}):
            entry = self._units.setdefault(whole[end - 1], Entry(visible, 0.0))
            entry.expires_s = now + self._idle_s
        for prefix in whole:
            self._seen.setdefault(prefix, visible)
        return Predicted(read, {})

    def _prefixes(self, tokens: Sequence[int], context: Hashable) -> list[Prefix]:
        prefixes: list[Prefix] = []
        self._chains.extend(prefixes, tokens, context)
        return prefixes

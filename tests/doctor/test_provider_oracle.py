"""The provider's view against an oracle that is slow and written from the sentence alone, over
random traces of usage: blocks are compared as blocks, tokens are sums of theirs.

    our prefix broke / below the minimum length / TTL passed / breakpoint missed (20-block
    look-back) / other host or model / provider missed although the prefix was stable and young
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from hitpath.core import Setting
from hitpath.report.doctor_run import examine, open_subject
from support import write_jsonl

if TYPE_CHECKING:
    from pathlib import Path

LEAST = {"claude-opus-4-5": 4096, "claude-sonnet-4-5": 1024, "gpt-4o": 1024}
START = 1_764_400_000
WORDS = ["lamp", "river", "stone", "cloud", "ember", "quiet", "maple"]
LIFE_S = {None: 300, "5m": 300, "1h": 3600}


@dataclass
class Sent:
    """A request: texts of its blocks, instructions first; marks: (number of a block, ttl)."""

    session: str
    at_s: int
    model: str
    system: list[str]
    said: list[tuple[str, list[str]]]
    marks: list[tuple[int, str | None]] = field(default_factory=list)
    automatic: bool = False
    read: int = 0

    @property
    def blocks(self) -> list[str]:
        return [*self.system, *(text for _, texts in self.said for text in texts)]

    @property
    def tokens(self) -> int:
        return sum(map(size, self.blocks))

    @property
    def all_marks(self) -> list[tuple[int, str | None]]:
        last = [(len(self.blocks) - 1, None)] if self.automatic else []
        return [*self.marks, *last]


def size(text: str) -> int:
    return len(text) // 4


def slack(tokens: int) -> int:
    """What the documentation calls read: but for 160 tokens or 5 %."""
    return max(160, tokens // 20)


def common_blocks(one: Sent, other: Sent) -> int:
    pairs = zip(one.blocks, other.blocks, strict=False)
    return next(
        (n for n, (a, b) in enumerate(pairs) if a != b), min(map(len, (one.blocks, other.blocks)))
    )


def oracle(new: Sent, old: Sent | None) -> str:
    """Why no more was read."""
    if old is None:
        return "first"
    shared = common_blocks(old, new)
    shared_tokens = sum(map(size, new.blocks[:shared]))
    least = LEAST[new.model]
    if new.model != old.model:
        return "other_model_or_host"
    should = len(old.blocks) if new.session == old.session else len(old.system)
    if shared < should:
        whole = sum(map(size, new.blocks[: min(should, len(new.blocks))]))
        return broken(new, old, whole, shared)
    if new.read == 0 and shared_tokens < least:
        return "below_minimum"
    if new.session != old.session and shared_tokens < least:
        return "read"  # what two conversations share is too short for any cache: nothing to read
    if shared_tokens - new.read <= slack(shared_tokens):
        return "read"
    if shared_tokens < least:
        return "below_minimum"
    age_s = new.at_s - old.at_s
    if new.model.startswith("gpt"):
        return "ttl_passed" if age_s > 600 else "provider_missed"
    if not new.all_marks or not old.all_marks:
        return "no_breakpoint"
    stored = {
        block: (sum(map(size, old.blocks[: block + 1])), LIFE_S[ttl])
        for block, ttl in old.all_marks
        if block < shared and sum(map(size, old.blocks[: block + 1])) >= least
    }
    found = [
        stored[place]
        for mark, _ in new.all_marks
        for place in range(mark, mark - 20, -1)
        if place in stored
    ]
    if not found:
        return "breakpoint_missed"
    best, life_s = max(found)
    if best - new.read > slack(best):
        return "ttl_passed" if age_s > life_s else "provider_missed"
    longest = max(end for end, _ in stored.values())
    return "breakpoint_missed" if longest - best > slack(longest) else "read"


def broken(new: Sent, old: Sent, whole: int, shared: int) -> str:
    """What stands before the break is judged as any prefix, the rest the break cost."""
    stable = sum(map(size, new.blocks[:shared]))
    life_s: float = 600
    if not new.model.startswith("gpt"):
        ends = entries(new, old, shared)
        stable, life_s = max(ends) if ends else (0, 0)
    if stable < LEAST[new.model] or stable - new.read <= slack(stable):
        return "read" if whole - new.read <= slack(whole) else "prefix_broke"
    missed = stable - new.read
    if missed <= whole - new.read - missed:
        return "prefix_broke"
    return "ttl_passed" if new.at_s - old.at_s > life_s else "provider_missed"


def entries(new: Sent, old: Sent, shared: int) -> list[tuple[int, int]]:
    """(tokens, lifetime) of what the relative stored within the blocks that both begin with, and
    that stands at a mark of this request or in one of the 19 places before it."""
    found = []
    for block, ttl in old.all_marks:
        tokens = sum(map(size, old.blocks[: block + 1]))
        near = any(mark - 20 < block <= mark for mark, _ in new.all_marks)
        if block < shared and tokens >= LEAST[new.model] and near:
            found.append((tokens, LIFE_S[ttl]))
    return found


def readable(new: Sent, old: Sent | None) -> list[int]:
    """What a provider may have read: nothing, or up to some end of the relative's."""
    if old is None:
        return [0]
    shared = common_blocks(old, new)
    ends = [sum(map(size, new.blocks[:n])) for n in (0, len(new.system), shared)]
    ends += [sum(map(size, old.blocks[: mark + 1])) for mark, _ in old.all_marks if mark < shared]
    return ends


class Writing:
    """Makes one random trace."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.words = 0

    def text(self, tokens: int) -> str:
        """A text that no other one begins like."""
        self.words += 1
        head = f"{self.words:05} of {self.rng.getrandbits(40):x}: "
        words = [self.rng.choice(WORDS) for _ in range(tokens)]
        return (head + " ".join(words))[: 4 * tokens]

    def trace(self, provider: str) -> list[Sent]:
        rng = self.rng
        made: list[Sent] = []
        model = rng.choice([m for m in LEAST if m.startswith(provider)])
        system = [self.text(rng.choice((200, 900, 3_000))) for _ in range(rng.randint(1, 2))]
        histories: dict[str, list[tuple[str, list[str]]]] = {"a": [], "b": []}
        policy = rng.choice(["last", "system", "both", "none", "automatic", "first block"])
        at_s = 0
        for _ in range(10):
            session = rng.choice("ab")
            said = histories[session]
            if said:
                said.append(("assistant", [self.text(300)]))
            num = rng.choice((1, 1, 2, 6, 18, 21, 30)) if provider == "claude" else 1
            said.append(("user", [self.text(rng.choice((250, 400))) for _ in range(num)]))
            at_s += rng.choice((20, 20, 200, 700, 5_000))
            sent = Sent(session, at_s, model, list(system), [(r, list(t)) for r, t in said])
            self._mark(sent, policy if provider == "claude" else "none")
            self._break(sent, made)
            made.append(sent)
        return made

    def _mark(self, sent: Sent, policy: str) -> None:
        ttl = self.rng.choice((None, "5m", "1h"))
        last, head = len(sent.blocks) - 1, len(sent.system) - 1
        places = {"last": [last], "system": [head], "both": [head, last],
                  "first block": [head + 1]}.get(policy, [])  # fmt: skip
        if self.rng.random() < 0.9:
            sent.marks = [(place, ttl) for place in dict.fromkeys(places)]
            sent.automatic = policy == "automatic"

    def _break(self, sent: Sent, made: list[Sent]) -> None:
        if not any(one.session == sent.session for one in made):
            return
        kind = self.rng.random()
        if kind < 0.08:
            others = [m for m in LEAST if m[:3] == sent.model[:3] and m != sent.model]
            sent.model = self.rng.choice(others or [sent.model])
        elif kind < 0.2:
            sent.system[0] = f"It is 10:{self.rng.randint(10, 59)}:07. {sent.system[0]}"


def body_of(sent: Sent, inclusive: bool) -> dict[str, Any]:
    """As Anthropic's API or OpenAI's has it, with the counts that it tells."""
    around = {"model": sent.model, "session_id": sent.session, "timestamp": START + sent.at_s}
    if inclusive:
        text = "\n\n".join(sent.system)
        said = [{"role": role, "content": texts[0]} for role, texts in sent.said]
        usage = {"prompt_tokens": sent.tokens,
                 "prompt_tokens_details": {"cached_tokens": sent.read}}  # fmt: skip
        return {**around, "messages": [{"role": "system", "content": text}, *said], "usage": usage}
    number = 0

    def block(text: str) -> dict[str, Any]:
        nonlocal number
        made: dict[str, Any] = {"type": "text", "text": text}
        for mark, ttl in sent.marks:
            if mark == number:
                more = {} if ttl is None else {"ttl": ttl}
                made["cache_control"] = {"type": "ephemeral", **more}
        number += 1
        return made

    body: dict[str, Any] = {**around, "system": [block(text) for text in sent.system]}
    body["messages"] = [
        {"role": role, "content": [block(text) for text in texts]} for role, texts in sent.said
    ]
    if sent.automatic:
        body["cache_control"] = {"type": "ephemeral"}
    written = (sent.tokens - sent.read) // 2
    body["usage"] = {"input_tokens": sent.tokens - sent.read - written,
                     "cache_read_input_tokens": sent.read,
                     "cache_creation_input_tokens": written}  # fmt: skip
    return body


@pytest.mark.parametrize("provider", ["claude", "gpt"])
@pytest.mark.parametrize("seed", range(40))
def test_every_reason_is_the_oracles(provider: str, seed: int, tmp_path: Path) -> None:
    writing = Writing(seed)
    made = writing.trace(provider)
    if provider == "gpt":
        for sent in made:
            sent.system = ["\n\n".join(sent.system)]
    rows = [body_of(sent, provider == "gpt") for sent in made]
    path = str(write_jsonl(tmp_path / "t.jsonl", rows))
    relatives = [
        f.relative for f in examine(open_subject([path], Setting()), what_ifs=False).findings
    ]
    pairs = [
        (new, None if other < 0 else made[other])
        for new, other in zip(made, relatives, strict=True)
    ]
    for new, old in pairs:
        new.read = writing.rng.choice(readable(new, old))
    rows = [body_of(sent, provider == "gpt") for sent in made]
    write_jsonl(tmp_path / "t.jsonl", rows)
    found = examine(open_subject([path], Setting()), what_ifs=False)
    assert [f.relative for f in found.findings] == relatives
    assert found.provider is not None
    told = [found.provider.reasons[row] for row in range(len(made))]
    assert told == [oracle(new, old) for new, old in pairs]

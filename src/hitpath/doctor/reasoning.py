"""Reasoning put back into histories as it was sent or generated.

A message of the assistant is known again by its words and calls without reasoning and by the
message before it; where that one was changed, by its words alone if nothing else has said them.
Where an earlier request of the conversation, or the reply itself, has it with its reasoning and
this one without, it gets what the earlier one had: blocks, fields, or tags within the text. Nothing
is taken out.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from hitpath.doctor.build_prompt import Said
from hitpath.doctor.diagnose import Finding, Requests
from hitpath.doctor.reasoning_items import ReasoningItems, said_of
from hitpath.doctor.relatives import NONE
from hitpath.doctor.requests import Request, built_of
from hitpath.doctor.thoughts import without_thoughts
from hitpath.traces.conversations import plain_message

_FIELDS = ("reasoning_content", "reasoning", "thinking", "reasoning_details", "thinking_blocks",
           "tool_plan")  # fmt: skip
_BLOCKS = ("thinking", "redacted_thinking", "reasoning")
Message = dict[str, Any]
Words = tuple[int, int]
"""(conversation, hash of the message without reasoning)."""
Place = tuple[int, int]
"""(hash of the message before it, how many of these words stand behind such a one before it)."""
Known = dict[Words, dict[Place, Message | None]]
"""The message with its reasoning, None where it was seen without only."""


class Reasoning:
    """What each request's messages should have been, by row."""

    def __init__(self, requests: Requests, findings: Sequence[Finding]) -> None:
        self._kept: dict[int, dict[int, Message]] = {}
        self.items = ReasoningItems(requests, findings)
        known: Known = {}
        thread: dict[int, int] = {}
        for finding in findings:
            row, other = finding.row, finding.relative
            joins = finding.same_session and other != NONE
            thread[row] = thread[other] if joins else row
            request = requests.of(row)
            if request is None or not request.said:
                continue
            seen: Counter[Place] = Counter()
            found = dict(_restored(request, thread[row], known, seen))
            if found:
                self._kept[row] = found
            for reply in request.replies[:1]:
                if _has_reasoning(reply) and (words := _key(reply)) is not None:
                    before = _before(request.said[-1].message)
                    place = before, seen[words, before]
                    known.setdefault((thread[row], words), {}).setdefault(place, reply)

    def __len__(self) -> int:
        """How many requests lack reasoning that is known."""
        return len(self._kept)

    def messages(self, row: int) -> dict[int, Message]:
        """The messages that have their reasoning again, by their numbers."""
        return self._kept.get(row, {})

    def request(self, row: int, request: Request) -> Request:
        """The request with its reasoning."""
        items = self.items.input(row, request)
        if items is not None:
            built = built_of(said_of(request, items), request.tools)
            return replace(request, prompt=built.prompt, said=built.said)
        found = self._kept.get(row)
        if not found:
            return request
        said = [
            Said(found[number], one.path, one.content_path) if number in found else one
            for number, one in enumerate(request.said)
        ]
        prompt = built_of(said, request.tools)
        return replace(request, prompt=prompt.prompt, said=prompt.said)


def _restored(
    request: Request, thread: int, known: Known, seen: Counter[Place]
) -> Iterator[tuple[int, Message]]:
    """(number, message with its reasoning); what was said is remembered."""
    keys = {
        number: words
        for number, said in enumerate(request.said)
        if said.message.get("role") in ("assistant", "model")
        and (words := _key(said.message)) is not None
    }
    often = Counter(keys.values())
    for number, words in keys.items():
        message = request.said[number].message
        before = _before(request.said[number - 1].message) if number else 0
        place = before, seen[words, before]
        seen[words, before] += 1
        others = known.setdefault((thread, words), {})
        if _has_reasoning(message):
            if others.get(place) is None:
                others[place] = message
            continue
        earlier = others.get(place)
        if place not in others and len(others) == 1 and often[words] == 1:
            earlier = next(iter(others.values()))
        others.setdefault(place, earlier)
        if earlier is not None:
            more = {name: earlier[name] for name in _FIELDS if earlier.get(name)}
            content = earlier.get("content")
            if _thinks(content):
                more["content"] = content
            yield number, {**message, **more}


def _before(message: Message) -> int:
    """Equal for messages before a reply that say the same; instructions are all one."""
    role = message.get("role")
    if role in ("system", "developer"):
        return 0
    if role in ("assistant", "model"):
        return _key(message) or 0
    return hash(msgspec.json.encode(plain_message(message)))


def _has_reasoning(message: Message) -> bool:
    return any(message.get(name) for name in _FIELDS) or _thinks(message.get("content"))


def _thinks(content: Any) -> bool:
    if isinstance(content, str):
        return without_thoughts(content) != content.strip()
    if not isinstance(content, list):
        return False
    return any(_is_thought(block) or _thinks(_text_of(block)) for block in content)


def _is_thought(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") in _BLOCKS


def _text_of(block: Any) -> str | None:
    text = block.get("text") if isinstance(block, dict) else block
    return text if isinstance(text, str) else None


def _key(message: Message) -> int | None:
    """Equal for what is said and called alike, whatever was thought; blocks that are no text count
    as they are. None for a message that says nothing."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else [] if content is None else [content]
    texts: list[str] = []
    others: list[Any] = []
    for block in blocks:
        text = _text_of(block)
        if text is not None:
            texts.append(without_thoughts(text))
        elif not _is_thought(block):
            others.append(block)
    calls = message.get("tool_calls") or []
    words = "\n".join(filter(None, texts))
    if not (words or others or calls):
        return None
    return hash((words, msgspec.json.encode([others, calls])))

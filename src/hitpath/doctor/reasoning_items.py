"""Items of reasoning (OpenAI's responses API) put back into `input` as they were given or sent.

There reasoning is no part of a message but an item before it: a summary, and what only the service
can read. A reply is known again by what it says or calls and by the item before it; where an
earlier request of the conversation, or the response itself, has items of reasoning right before it
and this request has none, it gets them.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from hitpath.doctor.build_prompt import Said
from hitpath.doctor.diagnose import Finding, Requests
from hitpath.doctor.relatives import NONE
from hitpath.doctor.requests import Request, item_as_message

Item = dict[str, Any]
Spoken = tuple[int, int]
"""(conversation, hash of what is said or called)."""
Place = tuple[int, int]
"""(hash of the item before it, how many alike stand behind such a one before it)."""
_TYPE = "reasoning"
_NAMES = ("role", "content", "name", "call_id", "arguments", "output")


class ReasoningItems:
    """What each request's input lacks, by row: the number of the item before which it belongs."""

    def __init__(self, requests: Requests, findings: Sequence[Finding]) -> None:
        self._lacking: dict[int, dict[int, tuple[Item, ...]]] = {}
        known: dict[Spoken, dict[Place, tuple[Item, ...]]] = {}
        thread: dict[int, int] = {}
        for finding in findings:
            row, other = finding.row, finding.relative
            joins = finding.same_session and other != NONE
            thread[row] = thread[other] if joins else row
            request = requests.of(row)
            items = None if request is None else _input(request)
            if request is None or items is None:
                continue
            seen: Counter[tuple[int, int]] = Counter()
            lacking: dict[int, tuple[Item, ...]] = {}
            for number, thoughts, key, before in _spoken([*items, *request.items]):
                place = before, seen[key, before]
                seen[key, before] += 1
                places = known.setdefault((thread[row], key), {})
                if thoughts:
                    places.setdefault(place, thoughts)
                elif number < len(items) and places.get(place):
                    lacking[number] = places[place]
            if lacking:
                self._lacking[row] = lacking

    def of(self, row: int) -> dict[int, tuple[Item, ...]]:
        """Items of reasoning by the number of the item of `input` before which they belong."""
        return self._lacking.get(row, {})

    def input(self, row: int, request: Request) -> list[Item] | None:
        """The whole `input` with them, None where nothing is lacking."""
        items, lacking = _input(request), self.of(row)
        if items is None or not lacking:
            return None
        return [one for n, item in enumerate(items) for one in (*lacking.get(n, ()), item)]


def said_of(request: Request, items: Sequence[Item]) -> list[Said]:
    """A request's messages with another `input`."""
    said = [one for one in request.said if not one.path.startswith("input[")]
    return [*said, *(Said(item_as_message(item), f"input[{n}]") for n, item in enumerate(items))]


def _input(request: Request) -> list[Item] | None:
    """The items of `input`; None for requests of another kind."""
    told = request.body.get("input") if isinstance(request.body, dict) else None
    is_list = isinstance(told, list) and all(isinstance(item, dict) for item in told)
    return told if is_list else None


def _spoken(items: Sequence[Item]) -> Iterator[tuple[int, tuple[Item, ...], int, int]]:
    """(number, items of reasoning right before it, key, key of the item before those) of each item
    that the model wrote."""
    thoughts: list[Item] = []
    before = 0
    for number, item in enumerate(items):
        if item.get("type") == _TYPE:
            thoughts.append(item)
            continue
        is_reply = item.get("role") == "assistant" or item.get("type") == "function_call"
        key = _key(item)
        if is_reply:
            yield number, tuple(thoughts), key, before
        thoughts, before = [], key


def _key(item: Item) -> int:
    """Equal for items that say the same; ids and states of the service are not said."""
    told = {name: item[name] for name in _NAMES if item.get(name) is not None}
    if isinstance(told.get("content"), list):
        told["content"] = [
            block.get("text", block) if isinstance(block, dict) else block
            for block in told["content"]
        ]
    return hash((item.get("type") or "message", msgspec.json.encode(told, order="sorted")))

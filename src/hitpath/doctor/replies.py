"""Replies that come back in the next turn: what was generated against what the history says it was.

In bytes the reply is compared as a message. In tokens its ids are compared too: where they differ
and both decode to one text, the text was tokenised again (or merges with what stands before it).
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hitpath.doctor.build_prompt import PromptBuilder, Said
from hitpath.doctor.change import Change, Kind
from hitpath.doctor.compare_message import message_changes
from hitpath.doctor.prompt import ASSISTANT, GLUE, Prompt
from hitpath.doctor.requests import Request
from hitpath.doctor.splicing import Splicing
from hitpath.doctor.textdiff import common_length
from hitpath.traces.table import Symbols

Decode = Callable[[Sequence[int]], str]
_IDS = "tokens"
_SEAM_TOKENS = 8
"""Nearer to a seam than this, other ids are a merge there."""
_LOOKED_AT = ONE_PLACE = 64
"""Ids from a difference on that are looked at as one."""
_KEPT = ("content", "tool_calls")
OTHER_IDS = (
    "the request goes on from the one before, its ids do not: the template writes it otherwise"
)
_SHOWN = 200
_TELLING = 24
"""Characters by which the beginning of a text is known."""
REASONING = "reasoning"
LEFT_OUT = "reasoning was left out"
_MARKS = re.compile("[\ufdd0\ufdd1]")
"""By which control tokens are told from text (text/mistral.py)."""
_BROKEN = "\ufffd"
"""What a decoder gives for half of a character."""


def reply_changes(there: Request, here: Prompt) -> Iterator[Change]:
    """How the history has another reply than the one that was given. `here` goes on from there."""
    number = len(there.prompt.messages)
    if not there.replies or number >= len(here.messages) or here.is_flat:
        return
    if there.replies[0].get("role") == REASONING:
        yield from _item_left_out(there, here, number)
        return
    if len(there.replies) != 1:
        return
    new = here.messages[number]
    if new.role != "assistant":
        return
    made = built_reply(there.replies[0], new.path)
    old = made.messages[0]
    if old.key == new.key:
        return
    for change in message_changes(made, old, here, new):
        yield replace(change, segment=ASSISTANT)


def _item_left_out(there: Request, here: Prompt, number: int) -> Iterator[Change]:
    """An item of reasoning (responses API) that was given before the reply and is not sent back,
    though what was said behind it is."""
    spoken = [reply for reply in there.replies if reply.get("role") != REASONING]
    new = here.messages[number]
    if not spoken or new.role == REASONING:
        return
    made = PromptBuilder().prompt([Said(there.replies[0], new.path), Said(spoken[0], new.path)])
    thought, said = made.messages
    if said.key != new.key:
        return
    start = here.starts[new.begin]
    text = made.text_of(thought)
    yield Change("template_flip", new.path, ASSISTANT, 0, start, start, text[:_SHOWN], "", "",
                 LEFT_OUT)  # fmt: skip


def built_reply(reply: dict[str, Any], path: str) -> Prompt:
    """A reply as a message of the assistant, as a later request sends it."""
    return PromptBuilder().prompt([Said(_as_sent(reply), path)])


def _as_sent(reply: dict[str, Any]) -> dict[str, Any]:
    kept = {key: reply[key] for key in _KEPT if reply.get(key) is not None}
    return {"role": "assistant", **kept}


@dataclass(frozen=True, slots=True)
class Ids:
    """Ids that a prompt should have begun with (`expected`: the relative's, and its reply's where
    that is known), and the prompt's own. prompt_length: of the relative's prompt; common: leading
    ids that are the same."""

    expected: Symbols
    own: Symbols
    prompt_length: int
    common: int


def id_change(ids: Ids, decode: Decode | None) -> Change | None:
    """Why ids differ though nothing in the request does: None where they do not."""
    if ids.common >= len(ids.expected):
        return None
    if decode is None:
        detail = "ids of the reply differ; whether its text does, --tokenizer would tell"
        return Change("edited_message", _IDS, ASSISTANT, ids.common, ids.common, ids.common,
                      detail=detail) if _is_in_reply(ids) else None  # fmt: skip
    found = same_text_change(ids, decode)
    if found is not None:
        return found
    there, here = _windows(ids)
    return _change("template_flip", ids, decode(there), decode(here))


def same_text_change(ids: Ids, decode: Decode) -> Change | None:
    """A seam or a text tokenised again: other ids from `common` on that say the same. None where
    the texts part too."""
    there, here = _windows(ids)
    if not there or not here:
        return None
    old, new = decode(there), decode(here)
    shared = common_length(old, new)
    is_all = len(there) < _LOOKED_AT and shared >= len(old.rstrip(_BROKEN))
    longest = max(len(decode(there[:1])), len(decode(here[:1])))
    if not old[:shared].strip(_BROKEN) or not (is_all or shared > longest or shared == len(new)):
        return None
    seams = (ids.prompt_length, len(ids.expected))
    merged = any(_merges_at(seam - ids.common, there, here, decode) for seam in seams)
    found = _change("seam_merge" if merged else "retokenised", ids, old, new)
    return replace(found, stop=_end_of_same_text(ids, decode))


def in_text(change: Change, own: Symbols, prompt: Prompt, decode: Decode) -> Change:
    """A difference of ids at its character, where the request is one text; `tokens` is no part of
    such a row. Unchanged where the ids before it do not say that text's beginning."""
    path = next((part.path for part in prompt.parts if part.path), "")
    text = prompt.rendered.decode("utf-8", "replace")
    before = decode(own[: change.start].tolist()).rstrip(_BROKEN)
    begin = before.find(text[:_TELLING])  # behind what a tokenizer puts in front
    if not prompt.is_flat or not path or begin < 0 or not text.startswith(before[begin:]):
        return change
    return replace(change, json_path=path, char_offset=len(before) - begin)


def _end_of_same_text(ids: Ids, decode: Decode) -> int:
    """Where the last ids end here that say in another way what was expected."""
    reader = Splicing(decode, lambda _: ids.own[:0], texts=True, reasoning=False)
    edits = reader.read(ids.expected[ids.common :], ids.own[ids.common :]).edits
    return ids.common + (edits[-1].stop if edits else 0)


def _windows(ids: Ids) -> tuple[list[int], list[int]]:
    """The ids from the first that differs on, there and here."""
    return (
        ids.expected[ids.common : ids.common + _LOOKED_AT].tolist(),
        ids.own[ids.common : ids.common + _LOOKED_AT].tolist(),
    )


def _merges_at(seam: int, there: Sequence[int], here: Sequence[int], decode: Decode) -> bool:
    """Whether one id here holds text of both sides of a seam so many ids further on."""
    if not 0 < seam <= min(_SEAM_TOKENS, len(there)):
        return False
    place = len(decode(there[:seam]))
    ends = [len(decode(here[: number + 1])) for number in range(min(len(here), 2 * _SEAM_TOKENS))]
    return place not in ends


def _change(kind: Kind, ids: Ids, old: str, new: str) -> Change:
    segment = ASSISTANT if _is_in_reply(ids) else GLUE
    old, new = (_MARKS.sub("", text[:_SHOWN]) for text in (old, new))
    detail = OTHER_IDS if kind == "template_flip" else ""
    return Change(kind, _IDS, segment, ids.common, ids.common, ids.common, old, new, detail=detail)


def _is_in_reply(ids: Ids) -> bool:
    return ids.common >= ids.prompt_length

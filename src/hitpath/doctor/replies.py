"""Replies that come back in the next turn: what was generated against what the history says it was.

In bytes the reply is compared as a message. In tokens its ids are compared too: where they differ
and both decode to one text, the text was tokenised again (or merges with what stands before it).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hitpath.doctor.build_prompt import PromptBuilder, Said
from hitpath.doctor.change import Change, Kind
from hitpath.doctor.compare_message import message_changes
from hitpath.doctor.prompt import ASSISTANT, GLUE, Prompt
from hitpath.doctor.requests import Request
from hitpath.traces.table import Symbols

Decode = Callable[[Sequence[int]], str]
_IDS = "tokens"
_SEAM_TOKENS = 8
"""Nearer to a seam than this, other ids are a merge there."""
_LOOKED_AT = 64
_KEPT = ("content", "tool_calls")


def reply_changes(there: Request, here: Prompt) -> Iterator[Change]:
    """How the history has another reply than the one that was given. `here` goes on from there."""
    number = len(there.prompt.messages)
    if len(there.replies) != 1 or number >= len(here.messages) or here.is_flat:
        return
    new = here.messages[number]
    if new.role != "assistant":
        return
    reply = _as_sent(there.replies[0])
    made = PromptBuilder().prompt([Said(reply, new.path)])
    old = made.messages[0]
    if old.key == new.key:
        return
    for change in message_changes(made, old, here, new):
        yield replace(change, segment=ASSISTANT)


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
    left = len(ids.expected) - ids.common
    there = ids.expected[ids.common : ids.common + _LOOKED_AT].tolist()
    here = ids.own[ids.common : ids.common + _LOOKED_AT].tolist()
    if decode is None:
        detail = "ids of the reply differ; whether its text does, --tokenizer would tell"
        return Change("edited_message", _IDS, ASSISTANT, ids.common, ids.common, ids.common,
                      detail=detail) if _is_in_reply(ids) else None  # fmt: skip
    old, new = decode(there), decode(here)
    is_same = _same_text(old, new)
    in_reply = _is_in_reply(ids)
    near_seam = 0 <= ids.prompt_length - ids.common <= _SEAM_TOKENS or left <= _SEAM_TOKENS
    if is_same and near_seam and not (in_reply and left > _SEAM_TOKENS):
        kind: Kind = "seam_merge"
    elif is_same:
        kind = "retokenised"
    else:
        kind = "template_flip"
    segment = ASSISTANT if in_reply else GLUE
    return Change(kind, _IDS, segment, ids.common, ids.common, ids.common, old[:200], new[:200])


def _is_in_reply(ids: Ids) -> bool:
    return ids.common >= ids.prompt_length


def _same_text(old: str, new: str) -> bool:
    """Whether one text goes on as the other does: cut off somewhere, so the shorter decides."""
    most = min(len(old), len(new))
    least = max(1, most - 4)  # the last characters may be half of a token
    return most > 0 and old[:least] == new[:least]

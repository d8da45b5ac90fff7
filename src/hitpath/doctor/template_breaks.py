"""Where a template did not append: what broke, by what shape, who wrote it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from hitpath.doctor.template_dialogues import (
    FIRST_QUESTION,
    LATE_SYSTEM,
    TOOL_NAME,
    TOOLS_SAY,
    Dialogue,
)
from hitpath.doctor.template_lines import Rendered
from hitpath.doctor.textdiff import common_length

Part = Literal["prompt", "reply"]
Shape = Literal[
    "reasoning_stripped",
    "empty_think_block",
    "generation_prompt",
    "date",
    "tools_moved",
    "system_moved",
    "thinking_switch",
    "last_message",
    "seam",
]
KINDS = {"date": "clock", "tools_moved": "moved_block", "system_moved": "moved_block",
         "seam": "seam_merge"}  # fmt: skip
"""The doctor's kind of a shape; of all others template_flip."""

SENTENCES: dict[Shape, str] = {
    "reasoning_stripped": "the reply's reasoning is not in the history",
    "empty_think_block": "an empty think block is written for one turn only",
    "generation_prompt": "the head of the reply is another one in the history",
    "date": "the template prints the date",
    "tools_moved": "tools move with the last message",
    "system_moved": "a system message is written at another place than its own",
    "thinking_switch": "what switches thinking stands ahead of the reply, so all of it changes",
    "last_message": "a message is written otherwise while it is the last one",
    "seam": "equal text, but its last tokens merge with what follows",
}
_CONTEXT = 48
_WORD = "(?:think|thinking|thoughts?|reasoning|reflection|analysis)"
_BEGIN = (
    rf"(?:<\|?(?:\w+:)?(?:start_|begin_(?:of_)?)?{_WORD}\|?>|◁think▷|\[(?:BEGIN_|START_)?{_WORD}\]"
    rf"|<\|inner_prefix\|>|<\|channel\|?>{_WORD}(?:<\|message\|>)?)"
)
_END = (
    rf"(?:<\|?/(?:\w+:)?{_WORD}\|?>|<\|end_(?:of_)?{_WORD}\|>|◁/think▷|\[(?:/|END_){_WORD}\]"
    r"|<\|inner_suffix\|>|<channel\|>)"
)
"""How templates mark a thought: in tags, or as Cohere, Kimi, Mistral, Apertus, Gemma do."""
_THOUGHT = re.compile(rf"\s*(?:{_BEGIN}|{_END})", re.I)
_OPEN = re.compile(rf"\s*{_BEGIN}\s*\Z", re.I)
_EMPTY = re.compile(rf"\s*{_BEGIN}?\s*{_END}", re.I)
_TAG_BEGINS, _TAG_ENDS = "<[◁", ">]▷"
_LONGEST_TAG = 24
_WORDS = 12


@dataclass(frozen=True, slots=True)
class TemplateBreak:
    """The first difference between turn `turn` and the next one of a dialogue.

    part: "prompt" where the prompt itself is not the beginning of the next one, "reply" where only
    what the model wrote is written otherwise. Offsets are in the turn's text; `token_offset` and
    `tokens_lost` where a tokenizer is at hand. `line` wrote the character there, `next_line` the
    one that stands there in the next turn.
    """

    mode: str
    turn: int
    part: Part
    shape: Shape
    kind: str
    char_offset: int
    num_chars: int
    chars_lost: int
    token_offset: int | None
    tokens_lost: int | None
    line: int
    line_text: str
    next_line: int
    next_line_text: str
    before: str
    here: str
    next_here: str


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn as rendered: the prompt up to the head of the reply, the same without that head, and
    closed by the reply (None for the last). as_next: the prompt with the next turn's variables,
    where these are others."""

    prompt: Rendered
    without_head: Rendered
    closed: Rendered | None
    as_next: Rendered | None = None


Encode = Callable[[str], Sequence[int]]


def breaks_of(
    dialogue: Dialogue, turns: Sequence[Turn], encode: Encode | None
) -> list[TemplateBreak]:
    """One break at most for each turn and its next, the prompt's before the reply's."""
    found: list[TemplateBreak] = []
    for number, (turn, following) in enumerate(pairwise(turns)):
        one = _of_pair(dialogue, number, turn, following, encode)
        if one is not None:
            found.append(one)
    return found


def _of_pair(
    dialogue: Dialogue, number: int, turn: Turn, following: Turn, encode: Encode | None
) -> TemplateBreak | None:
    made = _Pair(dialogue, number, turn, following, encode)
    at = common_length(turn.prompt.text, following.prompt.text)
    if len(dialogue.variables) > 1:  # another head was asked for: only what is before it counts
        at = min(at, len(turn.without_head.text))
        if at == len(turn.without_head.text):
            return None
    if at < len(turn.prompt.text):
        return made.broken("prompt", turn.prompt, at)
    if turn.closed is not None:
        at = common_length(turn.closed.text, following.prompt.text)
        is_whole = turn.closed.text.startswith(turn.prompt.text)
        if is_whole and _loses_words(dialogue, number, turn.closed.text[at:]):
            return made.broken("reply", turn.closed, at)
        if dialogue.reasons and not _says(following.prompt.text, dialogue, number):
            return made.broken("reply", turn.closed, len(turn.prompt.text), "reasoning_stripped")
    return made.merged()


def _says(text: str, dialogue: Dialogue, number: int) -> bool:
    """Whether a text has the reasoning of the reply to this turn."""
    reply = dialogue.messages[dialogue.turns()[number]]
    said = str(reply.get("reasoning_content") or reply["content"])
    return any(reason in said and reason in text for reason in dialogue.reasons)


@dataclass(frozen=True, slots=True)
class _Pair:
    dialogue: Dialogue
    number: int
    turn: Turn
    following: Turn
    encode: Encode | None

    def broken(
        self, part: Part, old: Rendered, at: int, shape: Shape | None = None
    ) -> TemplateBreak:
        token_offset = tokens_lost = None
        if self.encode is not None:
            ids, next_ids = self.encode(old.text), self.encode(self.following.prompt.text)
            token_offset = common(ids, next_ids)
            tokens_lost = len(ids) - token_offset
        return self._break(
            part, shape or self._shape(part, old, at), old, at, token_offset, tokens_lost
        )

    def merged(self) -> TemplateBreak | None:
        """Where the characters agree but the tokens do not."""
        old = self.turn.prompt
        if self.encode is None or not self.following.prompt.text.startswith(old.text):
            return None
        ids, next_ids = self.encode(old.text), self.encode(self.following.prompt.text)
        same = common(ids, next_ids)
        if same == len(ids):
            return None
        last = max(len(old.text) - 1, 0)
        return self._break("prompt", "seam", old, last, same, len(ids) - same)

    def _break(
        self,
        part: Part,
        shape: Shape,
        old: Rendered,
        at: int,
        token_offset: int | None,
        tokens_lost: int | None,
    ) -> TemplateBreak:
        new = self.following.prompt
        return TemplateBreak(
            mode=self.dialogue.mode,
            turn=self.number + 1,
            part=part,
            shape=shape,
            kind=KINDS.get(shape, "template_flip"),
            char_offset=at,
            num_chars=len(old.text),
            chars_lost=len(old.text) - at,
            token_offset=token_offset,
            tokens_lost=tokens_lost,
            line=old.line_at(at),
            line_text=old.line_text(at),
            next_line=new.line_at(at),
            next_line_text=new.line_text(at),
            before=old.text[max(0, at - _CONTEXT) : at],
            here=old.text[at : at + _CONTEXT],
            next_here=new.text[at : at + _CONTEXT],
        )

    def _shape(self, part: Part, old: Rendered, at: int) -> Shape:
        """What the text at the break and that of the next turn there tell."""
        next_text = self.following.prompt.text
        rest, opened = old.text[at:], _tag_begin(old.text, at)
        if self.dialogue.days:
            return "date"
        gone = [reason for reason in self.dialogue.reasons if reason in rest]
        is_lost = any(reason not in next_text for reason in gone)
        if is_lost or (self.dialogue.reasons and _OPEN.match(old.text, opened)):
            return "reasoning_stripped"
        if self._is_switch(at):
            return "thinking_switch"
        if _EMPTY.match(old.text, opened) or _EMPTY.match(next_text, opened):
            return "empty_think_block"
        is_thought = _THOUGHT.match(old.text, opened) and not _THOUGHT.match(next_text, opened)
        if self.dialogue.reasons and is_thought:
            return "reasoning_stripped"
        if self.dialogue.tools and TOOLS_SAY in rest[:600]:
            return "tools_moved"
        if _is_hoisted(next_text) and not _is_hoisted(old.text):
            return "system_moved"
        if part == "prompt" and at >= common_length(old.text, self.turn.without_head.text):
            return "generation_prompt"
        return "last_message"

    def _is_switch(self, at: int) -> bool:
        """Whether the same turn with the next one's variables has there what the next one has."""
        as_next = self.turn.as_next
        return as_next is not None and common_length(as_next.text, self.following.prompt.text) > at


def _tag_begin(text: str, at: int) -> int:
    """Where the tag begins that a character is in: the first one that differs may be within it."""
    begin = max(text.rfind(mark, max(0, at - _LONGEST_TAG), at) for mark in _TAG_BEGINS)
    is_open = begin >= 0 and not any(mark in text[begin:at] for mark in _TAG_ENDS)
    return begin if is_open else at


def _is_hoisted(text: str) -> bool:
    """Whether the late system message stands before the first question."""
    return 0 <= text.find(LATE_SYSTEM) < text.find(FIRST_QUESTION)


def _loses_words(dialogue: Dialogue, number: int, rest: str) -> bool:
    """Whether what the model wrote, not only the mark at its end, stands in a text."""
    reply = dialogue.messages[dialogue.turns()[number]]
    words = str(reply["content"])[-_WORDS:]
    reason = str(reply.get("reasoning_content", ""))
    called = "tool_calls" in reply and TOOL_NAME in rest
    return bool(called or (words and words in rest) or (reason and reason in rest))


def common(one: Sequence[int], other: Sequence[int]) -> int:
    """How many leading tokens are equal."""
    for at, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return at
    return min(len(one), len(other))

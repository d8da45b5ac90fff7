"""The dialogues that a template is tried with: one for each way in which templates are known to
rewrite what they have already written.

Every message has words of its own, so that what moved or vanished can be told by its words.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

SYSTEM = "You keep the catalogue of a small library."
LATE_SYSTEM = "From now on answer in one short sentence."
REASONS = ("first I recall the shelves", "then I compare both authors", "last I count the copies")
TOOL_NAME = "find_book"
TOOLS_SAY = "Finds books by words of their title."
TOOLS: tuple[dict[str, Any], ...] = (
    {
        "type": "function",
        "function": {
            "name": TOOL_NAME,
            "description": TOOLS_SAY,
            "parameters": {
                "type": "object",
                "properties": {"title": {"type": "string", "description": "Words of the title."}},
                "required": ["title"],
            },
        },
    },
)
FIRST_QUESTION = "Which books on whales are there?"
_QUESTIONS = (FIRST_QUESTION, "And on tides?", "Which is the shorter one?")
_ANSWERS = ("There are two of them.", "There is one on tides.", "The second is shorter.")


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A mode: what it tries, the messages, and the variables of turn n (switched on and off).

    needs_words: tried only where the template's source has one of these words. days: between two
    turns, for templates that print a date.
    """

    mode: str
    messages: tuple[dict[str, Any], ...]
    tools: tuple[dict[str, Any], ...] = ()
    variables: tuple[dict[str, Any], ...] = ({},)
    needs_words: tuple[str, ...] = ()
    days: int = 0
    reasons: tuple[str, ...] = field(default=())

    def turns(self) -> list[int]:
        """How many messages stand before each reply, the one to come among them."""
        replies = [n for n, m in enumerate(self.messages) if m["role"] == "assistant"]
        return [*replies, len(self.messages)]

    def variables_of(self, turn: int) -> dict[str, Any]:
        return self.variables[turn % len(self.variables)]


_THINK = ("think", "reason")
_ON: dict[str, Any] = {"enable_thinking": True, "thinking": True}
_OFF: dict[str, Any] = {"enable_thinking": False, "thinking": False}


def dialogues() -> Sequence[Dialogue]:
    """All modes, the plain one first."""
    reasoned = _chat("reasoning_content")
    inline = _chat("inline")
    with_tools, several = _with_tools(1, False), _with_tools(2, False)
    return (
        Dialogue("chat", _chat()),
        Dialogue("chat without system", _chat()[1:]),
        Dialogue("thinking", reasoned, (), (_ON,), _THINK, reasons=REASONS),
        Dialogue("thinking, in the reply's text", inline, (), (_ON,), _THINK, reasons=REASONS),
        Dialogue("thinking, not sent back", _chat(), (), (_ON,), _THINK),
        Dialogue("thinking off", _chat(), (), (_OFF,), _THINK),
        Dialogue("thinking off, sent back empty", _chat("empty"), (), (_OFF,), _THINK),
        Dialogue("thinking on and off by turns", _chat(), (), (_ON, _OFF), _THINK),
        Dialogue("tools", with_tools, TOOLS),
        Dialogue("tools, several results", several, TOOLS),
        Dialogue("tools, thinking", _with_tools(1, True), TOOLS, (_ON,), _THINK, reasons=REASONS),
        Dialogue("tools, thinking, not sent back", with_tools, TOOLS, (_ON,), _THINK),
        Dialogue("tools, thinking off", with_tools, TOOLS, (_OFF,), _THINK),
        Dialogue("system message late", _late_system()),
        Dialogue("empty reply", _with_reply("")),
        Dialogue("another day each turn", _chat(), days=1, needs_words=("strftime_now",)),
    )


def with_arguments_as_text(dialogue: Dialogue) -> Dialogue:
    """The same with the arguments of calls as JSON text, as APIs have them and some templates."""
    messages = []
    for message in dialogue.messages:
        calls = [
            {**call, "function": {**call["function"], "arguments": json.dumps(arguments)}}
            for call in message.get("tool_calls", ())
            for arguments in [call["function"]["arguments"]]
        ]
        messages.append({**message, "tool_calls": calls} if calls else message)
    name = f"{dialogue.mode}, arguments as text"
    return replace(dialogue, mode=name, messages=tuple(messages))


def _said(role: str, content: str | None, **rest: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **rest}


def _chat(reasons: str = "") -> tuple[dict[str, Any], ...]:
    """System, then question and answer in turn, a question last."""
    messages = [_said("system", SYSTEM)]
    for question, answer, reason in zip(_QUESTIONS, _ANSWERS, REASONS, strict=True):
        messages.append(_said("user", question))
        if reasons == "reasoning_content":
            messages.append(_said("assistant", answer, reasoning_content=reason))
        elif reasons == "empty":  # as servers tell it where the model did not reason
            messages.append(_said("assistant", answer, reasoning_content=""))
        elif reasons == "inline":
            text = f"<think>\n{reason}\n</think>\n\n{answer}"
            messages.append(_said("assistant", text))
        else:
            messages.append(_said("assistant", answer))
    return tuple(messages[:-1])


def _with_tools(num_results: int, thinks: bool) -> tuple[dict[str, Any], ...]:
    """Two questions, each answered after a tool was called; a third one last."""
    messages = [_said("system", SYSTEM)]
    thought = [{"reasoning_content": reason} if thinks else {} for reason in REASONS]
    for turn in range(2):
        calls = [_call(turn * num_results + n) for n in range(num_results)]
        messages.append(_said("user", _QUESTIONS[turn]))
        messages.append(_said("assistant", "", tool_calls=calls, **thought[turn]))
        for call in calls:
            found = f'{{"copies": {3 + turn}}}'
            messages.append(_said("tool", found, tool_call_id=call["id"], name=TOOL_NAME))
        messages.append(_said("assistant", _ANSWERS[turn], **thought[turn + 1]))
    return (*messages, _said("user", _QUESTIONS[2]))


def _call(number: int) -> dict[str, Any]:
    arguments = {"title": ("whales", "tides", "moon", "sea")[number]}
    call_id = f"call{number:05d}"  # nine letters and digits: Mistral's templates want that
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": TOOL_NAME, "arguments": arguments},
    }


def _late_system() -> tuple[dict[str, Any], ...]:
    chat = _chat()
    return (*chat[:3], _said("system", LATE_SYSTEM), *chat[3:])


def _with_reply(text: str) -> tuple[dict[str, Any], ...]:
    chat = _chat()
    return (*chat[:2], _said("assistant", text), *chat[3:])

"""A request in the forms that `hitpath` reads: OpenAI bodies with text or blocks, Anthropic
bodies, hitpath's own rows.
"""

import json
from typing import Any

from doctor_planted.bases import Message, Step
from doctor_planted.marks import mark, unmarked

STYLES = ("openai", "openai_blocks", "anthropic", "anthropic_blocks")
KEPT_BACK = ("openai_split", "openai_examples")
"""Two messages of instructions; an example dialogue between the instructions and the user."""
RESPONSES = "responses"
"""The responses API, for dialogues without tools."""
FLAT_KEPT_BACK = ("flat_headers", "flat_brackets")


def prompt_of(step: Step, style: str) -> dict[str, Any]:
    """tools, system and messages as the style has them; marks still stand in the text."""
    if style in _FRAMES:
        return {"prompt": _framed(step, *_FRAMES[style])}
    if style == "flat":
        return {"prompt": flat(step)}
    if style.startswith("anthropic"):
        return _anthropic(step, style)
    if style == RESPONSES:
        return {"instructions": step.app.joiner.join(step.system), "input": step.messages}
    system: Any = step.app.joiner.join(step.system)
    if style == "openai_blocks":
        cut = max(1, len(step.system) // 2)
        halves = step.system[:cut], step.system[cut:]
        system = [{"type": "text", "text": step.app.joiner.join(half)} for half in halves if half]
    before = [{"role": "system", "content": system}]
    if style == "openai_split":
        head, tail = step.system[:1], step.system[1:]
        before = [{"role": "system", "content": step.app.joiner.join(head)},
                  {"role": "developer", "content": step.app.joiner.join(tail)}]  # fmt: skip
    elif style == "openai_examples":
        before += EXAMPLE
    body: dict[str, Any] = {"messages": [*before, *step.messages]}
    if step.tools:
        body["tools"] = step.tools
    return body


def flat(step: Step) -> str:
    """The prompt as one text, in the frame that many models use. step.flip: how the template
    treats the reply to come, or the last user message, otherwise than the history."""
    flip = step.flip
    parts = [("system", step.app.joiner.join(step.system))]
    parts += [(m["role"], m["content"] or "") for m in step.messages]
    last_user = max(i for i, (role, _) in enumerate(parts) if role == "user")
    text = ""
    for i, (role, content) in enumerate(parts):
        if i == last_user and flip in _LAST_USER:
            content = _LAST_USER[flip].format(content)
        text += f"<|im_start|>{role}\n{content}<|im_end|>\n"
    return text + "<|im_start|>assistant\n" + _GENERATION.get(flip, "")


LAST_USER = {
    "no_think": "{}" + mark("template_flip", " /no_think"),
    "last": mark("template_flip", "[LAST]") + "{}",
}
GENERATION = {
    "empty_think": mark("template_flip", "<think>\n\n</think>\n\n"),
    "open_think": mark("template_flip", "<think>\n"),
    "channel": mark("template_flip", "<|channel|>final<|message|>"),
}
LATER_LAST_USER = {
    "tools_before": mark(
        "template_flip", '[AVAILABLE_TOOLS][{{"name": "look_up"}}][/AVAILABLE_TOOLS]\n'
    )
    + "{}",
    "hint": "{}" + mark("template_flip/moved_block", "\n\nReasoning effort: low"),
    "nothink": "{}" + mark("template_flip", "\n/nothink"),
}
LATER_GENERATION = {
    "answer": mark("template_flip", "<answer>\n"),
    "closed_think": mark("template_flip", "</think>"),
    "cohere": mark("template_flip", "<|START_THINKING|><|END_THINKING|>"),
    "brace": mark("template_flip", "```json\n{"),
}
_LAST_USER = {**LAST_USER, **LATER_LAST_USER}
_GENERATION = {**GENERATION, **LATER_GENERATION}


_FRAMES = {
    "flat_headers": (
        "<|begin_of_text|>", "<|start_header_id|>{role}<|end_header_id|>\n\n{text}<|eot_id|>",
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
    ),
    "flat_brackets": ("<s>", "[{role}] {text} [/{role}]\n", "[assistant]"),
    "flat_gemma": (
        "<bos>", "<start_of_turn>{role}\n{text}<end_of_turn>\n", "<start_of_turn>assistant\n",
    ),
    "flat_roles": ("", "{role}: {text}\n\n", "assistant:"),
    "flat_phi": ("", "<|{role}|>\n{text}<|end|>\n", "<|assistant|>\n"),
    "flat_hashes": ("", "### {role}\n{text}\n\n", "### assistant\n"),
}  # fmt: skip


def _framed(step: Step, begin: str, turn: str, end: str) -> str:
    parts = [("system", step.app.joiner.join(step.system))]
    parts += [(m["role"], m["content"] or "") for m in step.messages]
    return begin + "".join(turn.format(role=r, text=t) for r, t in parts) + end


EXAMPLE = [
    {"role": "user", "content": "Good morning, who is this?"},
    {"role": "assistant", "content": "The assistant. How can I help?"},
]


def num_before(style: str) -> int:
    """Messages of the body before the first of the dialogue."""
    return {"openai_split": 2, "openai_examples": 3}.get(
        style, 0 if style.startswith(("anthropic", RESPONSES)) else 1
    )


def _anthropic(step: Step, style: str) -> dict[str, Any]:
    system: Any = step.app.joiner.join(step.system)
    if style == "anthropic_blocks":
        system = [{"type": "text", "text": paragraph} for paragraph in step.system]
    body: dict[str, Any] = {"system": system}
    if step.tools:
        body["tools"] = [_anthropic_tool(tool) for tool in step.tools]
    body["messages"] = [_anthropic_message(message) for message in step.messages]
    return body


def _anthropic_tool(tool: dict[str, Any]) -> dict[str, Any]:
    names = {"parameters": "input_schema"}
    return {names.get(key, key): value for key, value in tool["function"].items()}


def _anthropic_message(message: Message) -> Message:
    if message["role"] == "tool":
        result = {"type": "tool_result", "tool_use_id": message["tool_call_id"],
                  "content": message["content"]}  # fmt: skip
        return {"role": "user", "content": [result]}
    content = message["content"]
    blocks: list[Any] = []
    if message.get("reasoning_content"):
        blocks.append({"type": "thinking", "thinking": message["reasoning_content"]})
    if isinstance(content, str) and content:
        if not blocks and not message.get("tool_calls"):
            return {"role": message["role"], "content": content}
        blocks.append({"type": "text", "text": content})
    elif isinstance(content, list):
        blocks += [_anthropic_block(block) for block in content]
    for call in message.get("tool_calls") or []:
        blocks.append({"type": "tool_use", "id": call["id"], "name": call["function"]["name"],
                       "input": _loaded(call["function"]["arguments"])})  # fmt: skip
    return {"role": message["role"], "content": blocks}


def _anthropic_block(block: dict[str, Any]) -> dict[str, Any]:
    if block["type"] != "image_url":
        return block
    head, _, data = block["image_url"]["url"].partition(",")
    kind = head.removeprefix("data:").split(";")[0]
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def _loaded(arguments: str) -> Any:
    """Arguments of OpenAI are text; those of Anthropic a value, so that a mark must not be in."""
    return json.loads(unmarked(arguments))

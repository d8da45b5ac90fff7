"""A request of a thread as OpenAI, Anthropic and Responses bodies."""

import json
from typing import Any

from doctor_planted.threads_sessions import Message, Step
from doctor_planted.threads_templates import TEMPLATES, text_of

Body = dict[str, Any]


def body_of(step: Step) -> Body:
    style = step.app.style
    if style.startswith("flat_"):
        how = step.extra.get("flat", {})
        return {"prompt": TEMPLATES[style[5:]](step, how.get("keep", True), how.get("think", True))}
    if style.startswith("anthropic"):
        return _anthropic(step, in_blocks=style != "anthropic")
    if style == "responses":
        return _responses(step)
    return _openai(step, in_blocks=style == "openai_blocks")


def _openai(step: Step, in_blocks: bool) -> Body:
    system: Any = "\n\n".join(step.system)
    if in_blocks:
        system = [{"type": "text", "text": paragraph} for paragraph in step.system]
    messages = [{"role": step.extra.get("role", "system"), "content": system}]
    for message in step.messages:
        shown = {key: value for key, value in message.items() if not key.startswith("_")}
        if in_blocks and shown["role"] == "user" and isinstance(shown["content"], str):
            shown["content"] = [{"type": "text", "text": shown["content"]}]
        messages.append(shown)
    return {"messages": messages, **({"tools": step.tools} if step.tools else {})}


def _anthropic(step: Step, in_blocks: bool) -> Body:
    system: Any = "\n\n".join(step.system)
    if in_blocks:
        system = [{"type": "text", "text": paragraph} for paragraph in step.system]
    body: Body = {"system": system}
    if step.tools:
        names = {"parameters": "input_schema"}
        body["tools"] = [
            {names.get(k, k): v for k, v in tool["function"].items()} for tool in step.tools
        ]
    body["messages"] = []
    in_results = False
    for message in step.messages:
        if message["role"] != "tool":
            body["messages"].append(_anthropic_message(message))
        else:
            content = message["content"]
            if isinstance(content, list):
                content = [_anthropic_block(block) for block in content]
            result = {"type": "tool_result", "tool_use_id": message["tool_call_id"],
                      "content": content}  # fmt: skip
            if in_results:
                body["messages"][-1]["content"].append(result)
            else:
                body["messages"].append({"role": "user", "content": [result]})
        in_results = message["role"] == "tool"
    if step.extra.get("swap"):
        _swap_blocks(body["messages"])
    return body


def _swap_blocks(messages: list[Message]) -> None:
    """In replies before the last question the text stands behind the calls."""
    asked = [i for i, m in enumerate(messages) if isinstance(m["content"], str)
             and m["role"] == "user"]  # fmt: skip
    for message in messages[: asked[-1]]:
        content = message["content"]
        if message["role"] == "assistant" and isinstance(content, list):
            message["content"] = content[1:] + content[:1]


def _anthropic_message(message: Message) -> Message:
    content = message.get("content")
    blocks: list[Any] = []
    if message.get("reasoning_content"):
        thinking = message["reasoning_content"]
        blocks.append({"type": "thinking", "thinking": thinking, "signature": ""})
    if isinstance(content, str):
        if content and not blocks and not message.get("tool_calls"):
            return {"role": message["role"], "content": content}
        blocks += [{"type": "text", "text": content}] if content else []
    elif content:
        blocks += [_anthropic_block(block) for block in content]
    for call in message.get("tool_calls") or []:
        function = call["function"]
        arguments = json.loads(function["arguments"] or "{}")
        blocks.append(
            {"type": "tool_use", "id": call["id"], "name": function["name"], "input": arguments}
        )
    return {"role": message["role"], "content": blocks}


def _anthropic_block(block: Message) -> Message:
    if block["type"] != "image_url":
        return block
    url = block["image_url"]["url"]
    if url.startswith("file:"):
        source = {"type": "file", "file_id": "file_011CN" + url[5:].zfill(6)}
    elif url.startswith("data:"):
        head, _, data = url.partition(",")
        media_type = head.removeprefix("data:").split(";")[0]
        source = {"type": "base64", "media_type": media_type, "data": data}
    else:
        source = {"type": "url", "url": url}
    return {"type": "image", "source": source}


def _responses(step: Step) -> Body:
    items: list[Message] = []
    for message in step.messages:
        items += _items(message)
    body: Body = {"instructions": "\n\n".join(step.system), "input": items}
    if step.tools:
        body["tools"] = [{"type": "function", **tool["function"]} for tool in step.tools]
    return body


def _items(message: Message) -> list[Message]:
    content = message.get("content")
    if message["role"] == "tool":
        output = content if isinstance(content, str) else text_of(content)
        return [{"type": "function_call_output", "call_id": message["tool_call_id"],
                 "output": output}]  # fmt: skip
    items: list[Message] = []
    if message.get("reasoning_content") is not None:
        summary = [{"type": "summary_text", "text": message["reasoning_content"]}]
        items.append({"type": "reasoning", "summary": summary})
    if content:
        kind = "output_text" if message["role"] == "assistant" else "input_text"
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        parts = [
            {"type": kind, "text": block["text"]}
            if block["type"] == "text"
            else {"type": "input_image", "image_url": block["image_url"]["url"]}
            for block in blocks
        ]
        items.append({"type": "message", "role": message["role"], "content": parts})
    for call in message.get("tool_calls") or []:
        function = call["function"]
        items.append({"type": "function_call", "call_id": call["id"], "name": function["name"],
                      "arguments": function["arguments"]})  # fmt: skip
    return items

"""Flat prompts, written after public chat templates: how each treats tools, calls, and above all
the reasoning of earlier turns. keep: reasoning stays everywhere, else it stands behind the last
question only. think: whether the model thinks at all.
"""

import json
from collections.abc import Callable

from doctor_planted.threads_sessions import Message, Step

Template = Callable[[Step, bool, bool], str]


def text_of(content: object) -> str:
    """The text of a content: itself, or that of its blocks."""
    if isinstance(content, list):
        return "\n".join(block.get("text", "") for block in content if block["type"] == "text")
    return str(content or "")


def _calls(message: Message, frame: str) -> str:
    """frame: what stands around one call, with {c} for its JSON."""
    told = [
        f'{{"name": "{c["function"]["name"]}", "arguments": {c["function"]["arguments"]}}}'
        for c in message.get("tool_calls") or []
    ]
    return "".join(frame.replace("{c}", call) for call in told)


def _system(step: Step) -> str:
    return "\n\n".join(step.system)


def _tools(step: Step) -> str:
    return "".join("\n" + json.dumps(tool, ensure_ascii=False) for tool in step.tools)


def _last(step: Step) -> int:
    return max((i for i, m in enumerate(step.messages) if m["role"] == "user"), default=0)


def qwen3(step: Step, keep: bool, think: bool) -> str:
    """Qwen3: an empty think block stands in the head of the reply where thinking is off."""
    text = "<|im_start|>system\n" + _system(step)
    if step.tools:
        text += "\n\n# Tools\n\nYou may call one or more functions to assist with the user query."
        text += f"\n\n<tools>{_tools(step)}\n</tools>"
    text += "<|im_end|>\n"
    roles = [m["role"] for m in step.messages]
    for i, message in enumerate(step.messages):
        content = text_of(message.get("content"))
        if roles[i] == "tool":
            text += "<|im_start|>user" if i == 0 or roles[i - 1] != "tool" else ""
            text += f"\n<tool_response>\n{content}\n</tool_response>"
            text += "" if roles[i + 1 : i + 2] == ["tool"] else "<|im_end|>\n"
        elif roles[i] == "assistant":
            text += "<|im_start|>assistant\n"
            if keep or i > _last(step):
                text += f"<think>\n{message['_thought'] if think else ''}\n</think>\n\n"
            text += content + _calls(message, "\n<tool_call>\n{c}\n</tool_call>") + "<|im_end|>\n"
        else:
            text += f"<|im_start|>{roles[i]}\n{content}<|im_end|>\n"
    return text + "<|im_start|>assistant\n" + ("" if think else "<think>\n\n</think>\n\n")


def deepseek(step: Step, keep: bool, think: bool) -> str:
    """DeepSeek R1 and V3.1: replies are cut behind </think>."""
    text = "<｜begin▁of▁sentence｜>" + _system(step)
    for i, message in enumerate(step.messages):
        content = text_of(message.get("content"))
        if message["role"] == "user":
            text += "<｜User｜>" + content
        elif message["role"] == "tool":
            text += f"<｜tool▁output▁begin｜>{content}<｜tool▁output▁end｜>"
        else:
            text += "<｜Assistant｜>"
            if keep and think:
                text += f"<think>\n{message['_thought']}\n"
            text += ("</think>" if keep or i > _last(step) else "") + content
            text += _calls(message, "<｜tool▁call▁begin｜>{c}<｜tool▁call▁end｜>")
            text += "<｜end▁of▁sentence｜>"
    return text + "<｜Assistant｜>" + ("<think>\n" if think else "</think>")


def gpt_oss(step: Step, keep: bool, think: bool) -> str:
    """gpt-oss: analysis messages of earlier turns are left out."""
    text = "<|start|>system<|message|>You are ChatGPT, a large language model.\n"
    text += "Reasoning: medium<|end|><|start|>developer<|message|># Instructions\n\n"
    text += _system(step) + "<|end|>"
    for i, message in enumerate(step.messages):
        content = text_of(message.get("content"))
        if message["role"] == "user":
            text += f"<|start|>user<|message|>{content}<|end|>"
        elif message["role"] == "tool":
            text += "<|start|>functions.tool to=assistant<|channel|>commentary<|message|>"
            text += json.dumps(content, ensure_ascii=False) + "<|end|>"
        else:
            if keep or i > _last(step):
                text += "<|start|>assistant<|channel|>analysis<|message|>"
                text += message["_thought"] + "<|end|>"
            for call in message.get("tool_calls") or []:
                text += f"<|start|>assistant to=functions.{call['function']['name']}"
                text += "<|channel|>commentary json<|message|>"
                text += call["function"]["arguments"] + "<|call|>"
            if content and not message.get("tool_calls"):
                text += f"<|start|>assistant<|channel|>final<|message|>{content}<|end|>"
    return text + "<|start|>assistant"


def glm(step: Step, keep: bool, think: bool) -> str:
    """GLM 4.5: the think block of earlier turns stays, empty."""
    text = "[gMASK]<sop>"
    if step.tools:
        text += f"<|system|>\n# Tools\n\n<tools>{_tools(step)}\n</tools>"
    text += "<|system|>\n" + _system(step)
    for i, message in enumerate(step.messages):
        content = text_of(message.get("content"))
        if message["role"] == "user":
            text += "<|user|>\n" + content
        elif message["role"] == "tool":
            text += f"<|observation|>\n<tool_response>\n{content}\n</tool_response>"
        else:
            thought = message["_thought"] if keep or i > _last(step) else ""
            text += f"<|assistant|>\n<think>{thought}</think>\n{content}"
            text += _calls(message, "\n<tool_call>{c}</tool_call>")
    return text + "<|assistant|>\n"


def minimax(step: Step, keep: bool, think: bool) -> str:
    """MiniMax M2: thoughts within the loop of tools stay, those before the last question go."""
    text = f"]~!b[]~b]system\n{_system(step)}[e~[\n"
    for i, message in enumerate(step.messages):
        content = text_of(message.get("content"))
        if message["role"] == "tool":
            text += f"]~b]tool\n<response>{content}</response>[e~[\n"
        elif message["role"] == "assistant":
            text += "]~b]ai\n"
            if keep or i > _last(step):
                text += f"<think>\n{message['_thought']}\n</think>\n\n"
            text += content + _calls(message, "\n<minimax:tool_call>{c}</minimax:tool_call>")
            text += "[e~[\n"
        else:
            text += f"]~b]user\n{content}[e~[\n"
    return text + "]~b]ai\n<think>\n"


def kimi(step: Step, keep: bool, think: bool) -> str:
    """Kimi K2: results bear the id of their call."""
    heads = {"tool": "<|im_system|>tool", "assistant": "<|im_assistant|>assistant",
             "user": "<|im_user|>user"}  # fmt: skip
    text = f"<|im_system|>system<|im_middle|>{_system(step)}<|im_end|>"
    for i, message in enumerate(step.messages):
        text += heads.get(message["role"], "<|im_system|>system") + "<|im_middle|>"
        if message["role"] == "tool":
            text += f"## Return of {message['tool_call_id']}\n"
        if message["role"] == "assistant":
            thought = message["_thought"] if keep or i > _last(step) else ""
            text += f"<think>{thought}</think>"
        text += text_of(message.get("content"))
        text += _calls(message, "<|tool_call_begin|>{c}<|tool_call_end|>") + "<|im_end|>"
    return text + "<|im_assistant|>assistant<|im_middle|>"


def mistral(step: Step, keep: bool, think: bool) -> str:
    """Mistral v3 (keep false): the tools stand before the last question."""
    text = f"<s>[SYSTEM_PROMPT]{_system(step)}[/SYSTEM_PROMPT]"
    for i, message in enumerate(step.messages):
        content = text_of(message.get("content"))
        if message["role"] == "user":
            if step.tools and not keep and i == _last(step):
                tools = json.dumps(step.tools, ensure_ascii=False)
                text += f"[AVAILABLE_TOOLS]{tools}[/AVAILABLE_TOOLS]"
            text += f"[INST]{content}[/INST]"
        elif message["role"] == "tool":
            text += f"[TOOL_RESULTS]{content}[/TOOL_RESULTS]"
        else:
            text += content + _calls(message, "[TOOL_CALLS]{c}") + "</s>"
    return text


def gemma(step: Step, keep: bool, think: bool) -> str:
    """Gemma 3: no turn of its own for the instructions."""
    text = "<bos>"
    for i, message in enumerate(step.messages):
        role = "model" if message["role"] == "assistant" else "user"
        head = _system(step) + "\n\n" if i == 0 else ""
        content = text_of(message.get("content")) + _calls(message, "\n{c}")
        text += f"<start_of_turn>{role}\n{head}{content}<end_of_turn>\n"
    return text + "<start_of_turn>model\n"


def llama(step: Step, keep: bool, think: bool) -> str:
    """Llama 3.1."""
    head = "<|start_header_id|>{}<|end_header_id|>\n\n"
    text = "<|begin_of_text|>" + head.format("system") + _system(step) + "<|eot_id|>"
    for message in step.messages:
        role = {"tool": "ipython"}.get(message["role"], message["role"])
        content = text_of(message.get("content")) + _calls(message, "{c}")
        text += head.format(role) + content + "<|eot_id|>"
    return text + head.format("assistant")


TEMPLATES: dict[str, Template] = {
    "qwen3": qwen3, "deepseek": deepseek, "gptoss": gpt_oss, "glm": glm, "minimax": minimax,
    "kimi": kimi, "mistral": mistral, "gemma": gemma, "llama": llama,
}  # fmt: skip

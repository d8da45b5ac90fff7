"""Reasoning and marks of templates that come and go between two turns."""

import base64
from random import Random

from doctor_planted.threads_forms import OAI, Plant, form, thinks
from doctor_planted.threads_sessions import App, Message, Step


@form(
    "flat_deepseek_strip",
    "template_flip",
    styles=("flat_deepseek",),
    shapes=("chat", "service"),
    source="DeepSeek-V3.1: </think> of earlier turns",
)
def flat_deepseek_strip(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        s.extra["flat"] = {"keep": False, "think": True}

    return plant


@form(
    "flat_mistral_tools",
    "template_flip/moved_block/tool_set",
    styles=("flat_mistral",),
    shapes=("service", "code"),
    source="Mistral v3: [AVAILABLE_TOOLS] before the last user message",
)
def flat_mistral_tools(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        s.extra["flat"] = {"keep": False}

    return plant


@form(
    "redacted_thinking",
    "template_flip",
    styles=("anthropic", "anthropic_blocks"),
    source="redacted_thinking blocks of earlier turns left out",
)
def redacted_thinking(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        def write(m: Message) -> None:
            c = m["content"]
            own = [{"type": "text", "text": c}] if isinstance(c, str) and c else []
            m["content"] = [
                {
                    "type": "redacted_thinking",
                    "data": base64.b64encode(m["_thought"].encode()).decode(),
                },
                *own,
            ]

        thinks(s, lambda i: i > s.last_user, write)

    return plant


@form(
    "reasoning_items",
    "template_flip",
    styles=("responses",),
    source="billion-context#70: reasoning items of earlier turns trimmed (Responses)",
)
def reasoning_items(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        ass = [i for i, m in enumerate(s.messages) if m["role"] == "assistant"][-1:]
        thinks(
            s,
            lambda i: i in ass or i > s.last_user,
            lambda m: m.__setitem__("reasoning_content", m["_thought"]),
        )

    return plant


@form(
    "think_line",
    "template_flip",
    styles=OAI,
    source=(
        "a tag on a line of its own before the reply, gone from history (Hermes "
        "<SCRATCH_PAD>, Apriel [BEGIN FINAL RESPONSE])"
    ),
)
def think_line(app: App, rng: Random) -> Plant:
    a = rng.choice(
        (
            "<SCRATCH_PAD>\n{t}\n</SCRATCH_PAD>\n{m}",
            "Here are my reasoning steps:\n{t}\n[BEGIN FINAL RESPONSE]\n{m}\n[END FINAL RESPONSE]",
            "<seed:think>{t}</seed:think>{m}",
            "[THINK]{t}[/THINK]{m}",
        )
    )

    def plant(s: Step) -> None:
        thinks(
            s,
            lambda i: i > s.last_user,
            lambda m: m.__setitem__("content", a.format(t=m["_thought"], m=m["content"] or "")),
        )

    return plant


@form(
    "flat_loop_strip",
    "template_flip",
    styles=("flat_qwen3", "flat_gptoss", "flat_glm", "flat_minimax"),
    shapes=("code", "service"),
    source="the same templates, sessions of many tool loops",
)
def flat_loop_strip(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        s.extra["flat"] = {"keep": False}

    return plant


@form(
    "think_abroad",
    "template_flip",
    styles=OAI,
    source="<思考> and the like; ◁think▷ (Kimi-VL), <|thinking|>",
)
def think_abroad(app: App, rng: Random) -> Plant:
    a, z = rng.choice(
        (
            ("<思考>", "</思考>"),
            ("◁think▷", "◁/think▷"),
            ("<|thinking|>", "<|/thinking|>"),
            ("<думать>", "</думать>"),
            ("<Gedanken>", "</Gedanken>"),
            ("<think>\n", "\n</think>"),
        )
    )

    def plant(s: Step) -> None:
        thinks(
            s,
            lambda i: i > s.last_user,
            lambda m: m.__setitem__("content", f"{a}{m['_thought']}{z}\n\n{m['content'] or ''}"),
        )

    return plant


@form(
    "magistral",
    "template_flip",
    styles=("openai", "rows"),
    source="mistral magistral: content blocks of type thinking, stripped from history",
)
def magistral(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        def write(m: Message) -> None:
            m["content"] = [
                {"type": "thinking", "think": [{"type": "text", "text": m["_thought"]}]}
            ] + ([{"type": "text", "text": m["content"]}] if m["content"] else [])

        thinks(s, lambda i: i > s.last_user, write)

    return plant


@form(
    "reasoning_shortened",
    "template_flip/truncated_history",
    styles=("openai", "rows", "anthropic"),
    source="old reasoning cut to its beginning",
)
def reasoning_shortened(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        thinks(
            s,
            lambda i: i > s.last_user,
            lambda m: m.__setitem__("reasoning_content", m["_thought"]),
        )
        thinks(
            s,
            lambda i: i < s.last_user,
            lambda m: m.__setitem__("reasoning_content", m["_thought"][:20] + "…"),
        )

    return plant


@form(
    "flat_nothink",
    "template_flip",
    styles=("flat_glm", "flat_qwen3"),
    shapes=("chat", "service"),
    source="/nothink, /no_think behind the last question only",
)
def flat_nothink(app: App, rng: Random) -> Plant:
    t = rng.choice(("/nothink", " /no_think", " /think"))

    def plant(s: Step) -> None:
        s.messages[s.last_user]["content"] += t

    return plant

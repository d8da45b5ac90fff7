"""Reasoning and marks of templates that come and go between two turns."""

from random import Random

from doctor_planted.threads_forms import OAI, Plant, form, thinks
from doctor_planted.threads_sessions import App, Step


@form(
    "reasoning_field",
    "template_flip",
    styles=("openai", "rows", "anthropic", "responses"),
    source="DeepSeek API: reasoning_content only within the tool loop; opencode#19081",
)
def reasoning_field(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        thinks(
            s,
            lambda i: i > s.last_user,
            lambda m: m.__setitem__("reasoning_content", m["_thought"]),
        )

    return plant


@form(
    "keep_one_thinking",
    "template_flip",
    styles=("anthropic", "anthropic_blocks"),
    source="anthropic clear_thinking_20251015 keep 1 turn",
)
def keep_one_thinking(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        ass = [i for i, m in enumerate(s.messages) if m["role"] == "assistant"]
        keep = set(ass[-1:])
        thinks(s, lambda i: i in keep, lambda m: m.__setitem__("reasoning_content", m["_thought"]))

    return plant


@form(
    "empty_reasoning",
    "template_flip",
    styles=("openai", "rows"),
    source='anomalyco/opencode#28352: reasoning_content "" on history',
)
def empty_reasoning(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        thinks(s, lambda i: i < s.last_user, lambda m: m.__setitem__("reasoning_content", ""))

    return plant


@form(
    "think_stripped",
    "template_flip",
    styles=(*OAI, "responses"),
    source="<think> stripped by the client on replay",
)
def think_stripped(app: App, rng: Random) -> Plant:
    tag = rng.choice(("think", "thinking", "thought", "reasoning"))

    def plant(s: Step) -> None:
        thinks(
            s,
            lambda i: i > s.last_user,
            lambda m: m.__setitem__(
                "content", f"<{tag}>\n{m['_thought']}\n</{tag}>\n\n{m['content'] or ''}"
            ),
        )

    return plant


@form(
    "reasoning_moves",
    "template_flip",
    styles=("openai", "rows"),
    source="reasoning_content re-sent as <think> in content (gateways)",
)
def reasoning_moves(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        thinks(
            s,
            lambda i: i > s.last_user,
            lambda m: m.__setitem__("reasoning_content", m["_thought"]),
        )
        thinks(
            s,
            lambda i: i < s.last_user,
            lambda m: m.__setitem__(
                "content", f"<think>{m['_thought']}</think>{m['content'] or ''}"
            ),
        )

    return plant


@form(
    "flat_strip",
    "template_flip",
    styles=("flat_qwen3", "flat_gptoss", "flat_glm", "flat_minimax", "flat_kimi"),
    source=(
        "Qwen3, gpt-oss, GLM-4.5, MiniMax-M2, Kimi-K2 templates: reasoning behind the "
        "last question only"
    ),
)
def flat_strip(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        s.extra["flat"] = {"keep": False}

    return plant


@form(
    "flat_empty_think",
    "template_flip",
    styles=("flat_qwen3", "flat_deepseek"),
    shapes=("chat", "service"),
    source="Qwen3 enable_thinking=False (QwenLM/Qwen3.8#48); DeepSeek-V3.1 </think>",
)
def flat_empty_think(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        s.extra["flat"] = {"keep": False, "think": False}

    return plant


@form(
    "scratchpad",
    "template_flip",
    styles=OAI,
    source="reasoning in tags of the prompt's own, cut from earlier replies",
)
def scratchpad(app: App, rng: Random) -> Plant:
    a, z = rng.choice(
        (
            ("<scratchpad>", "</scratchpad>"),
            ("<analysis>\n", "\n</analysis>"),
            ("<inner_monologue>", "</inner_monologue>"),
            ("<|begin_of_thought|>", "<|end_of_thought|>"),
        )
    )

    def plant(s: Step) -> None:
        thinks(
            s,
            lambda i: i > s.last_user,
            lambda m: m.__setitem__("content", f"{a}{m['_thought']}{z}\n{m['content'] or ''}"),
        )

    return plant


@form(
    "reasoning_details",
    "template_flip",
    styles=("openai", "rows"),
    source="OpenRouter reasoning_details kept for the tool loop only",
)
def reasoning_details(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        thinks(
            s,
            lambda i: i > s.last_user,
            lambda m: m.__setitem__(
                "reasoning_details",
                [
                    {
                        "type": "reasoning.text",
                        "text": m["_thought"],
                        "format": "unknown",
                        "index": 0,
                    }
                ],
            ),
        )

    return plant


@form(
    "thinking_only_last_two",
    "template_flip",
    styles=("anthropic", "openai"),
    source="keep: thinking_turns 2; magic-context#125 reasoning cleanup",
)
def thinking_only_last_two(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        ass = [i for i, m in enumerate(s.messages) if m["role"] == "assistant"][-2:]
        thinks(s, lambda i: i in ass, lambda m: m.__setitem__("reasoning_content", m["_thought"]))

    return plant

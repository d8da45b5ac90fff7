"""Every parameter that a request may have: those that are used, those that change nothing, and
those that are refused unless they ask for nothing.

Names and forms: OpenAI's API (openai-python 3.57, `types/`), and vLLM's additions to it (vLLM
0.32, `entrypoints/openai/*/protocol.py`). Whatever stands in none of the three lists is an
error that names it. docs/serve.md lists them all; a test compares.
"""

from typing import Any

import msgspec

IGNORED = frozenset(
    {
        "metadata",
        "parallel_tool_calls",
        "prediction",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "safety_identifier",
        "service_tier",
        "session_id",
        "store",
        "user",
    }
)
"""Accepted with any value: labels, billing and hints of speed, which cannot change an answer."""

NEUTRAL: dict[str, tuple[Any, ...]] = {
    "add_generation_prompt": (True,),
    "allowed_token_ids": (),
    "audio": (),
    "bad_words": ([],),
    "chat_template": (),
    "chat_template_kwargs": ({},),
    "continue_final_message": (False,),
    "documents": ([],),
    "frequency_penalty": (0,),
    "function_call": ("none",),
    "functions": ([],),
    "include_stop_str_in_output": (False,),
    "length_penalty": (1,),
    "logit_bias": ({},),
    "min_p": (0,),
    "min_tokens": (0,),
    "modalities": (["text"],),
    "presence_penalty": (0,),
    "reasoning_effort": (),
    "repetition_penalty": (1,),
    "response_format": ({"type": "text"},),
    "skip_special_tokens": (True,),
    "spaces_between_special_tokens": (True,),
    "structured_outputs": (),
    "suffix": ("",),
    "truncate_prompt_tokens": (),
    "use_beam_search": (False,),
    "verbosity": (),
    "web_search_options": (),
}
"""Accepted with these values or null, which ask for what happens anyway; else refused by name."""


class StreamOptions(msgspec.Struct, forbid_unknown_fields=True):
    """`include_usage` sends one more chunk, with usage and no choice. `include_obfuscation` pads
    chunks at OpenAI; here nothing is padded."""

    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class Body(msgspec.Struct, kw_only=True):
    """What chat and text completions share."""

    model: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None
    n: int | None = None
    stop: str | list[str] | None = None
    stop_token_ids: list[int] | None = None
    ignore_eos: bool | None = None
    prompt_logprobs: int | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    cache_salt: str | None = None
    priority: int | None = None
    return_token_ids: bool | None = None
    return_tokens_as_token_ids: bool | None = None


class CompletionBody(Body, kw_only=True):
    """`/v1/completions`. prompt: text, token ids, or a list of either (prompts.py)."""

    prompt: Any
    best_of: int | None = None
    echo: bool | None = None
    logprobs: int | None = None
    add_special_tokens: bool | None = None


class ChatBody(Body, kw_only=True):
    """`/v1/chat/completions`. Tools are rendered by the model's template; calls come as text."""

    messages: list[dict[str, Any]]
    max_completion_tokens: int | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: Any = None


class TokenizeBody(msgspec.Struct, kw_only=True):
    """`/tokenize`: `prompt`, or `messages` with their `tools`."""

    model: str | None = None
    prompt: str | None = None
    messages: list[dict[str, Any]] | None = None
    tools: list[dict[str, Any]] | None = None
    add_special_tokens: bool | None = None
    return_token_strs: bool | None = None


class DetokenizeBody(msgspec.Struct, kw_only=True):
    """`/detokenize`."""

    model: str | None = None
    tokens: list[int]

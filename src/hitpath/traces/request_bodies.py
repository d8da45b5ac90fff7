"""What request bodies, their responses and their usage mean, shared by the formats that hold
them: OpenAI completions, chat completions and responses, Anthropic messages, Bedrock's Converse
(botocore, bedrock-runtime ConverseRequest: `modelId`, `toolConfig`, blocks without a type).

Tools, instructions or system text, and messages are rendered in this order. Prompt counts of
OpenAI and Gemini include the cached tokens, those of Anthropic and Bedrock do not.
"""

from dataclasses import dataclass
from typing import Any

import msgspec

from hitpath.core import InputError
from hitpath.traces.conversations import (
    Message,
    as_symbols,
    plain_message,
    plain_tools,
    render_replies,
)
from hitpath.traces.prompts import TextPrompts
from hitpath.traces.rows import Row, Symbols, check_tokens, whole_prompt
from hitpath.traces.table import Context, model_context

WRAPPERS = ("body", "request", "params")
"""Names under which a row may hold its body (batch files, gateways' logs)."""


class Writes(msgspec.Struct, kw_only=True):
    """Anthropic's tokens written, by time to live."""

    ephemeral_1h_input_tokens: int | None = None


class Details(msgspec.Struct, kw_only=True):
    """Parts of a prompt's count; writes under the names of OpenAI and of LiteLLM."""

    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    cache_creation_tokens: int | None = None
    cache_creation_token_details: Writes | None = None


class Usage(msgspec.Struct, kw_only=True):
    """Token counts of OpenAI chat, OpenAI responses, Anthropic, Bedrock's Converse (`inputTokens`,
    the cached ones apart as Anthropic's; botocore, bedrock-runtime TokenUsage), Gemini
    (`promptTokenCount`, the cached ones in it; googleapis, UsageMetadata), or DeepSeek
    (`prompt_cache_hit_tokens` of `prompt_tokens`; its API reference); the names tell which."""

    prompt_tokens: int | None = None
    prompt_tokens_details: Details | None = None
    prompt_cache_hit_tokens: int | None = None
    input_tokens: int | None = None
    input_tokens_details: Details | None = None
    total_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation: Writes | None = None
    completion_tokens: int | None = None
    output_tokens: int | None = None
    converse_output: int | None = msgspec.field(default=None, name="outputTokens")
    gemini_output: int | None = msgspec.field(default=None, name="candidatesTokenCount")
    gemini_thoughts: int | None = msgspec.field(default=None, name="thoughtsTokenCount")
    converse_input: int | None = msgspec.field(default=None, name="inputTokens")
    converse_read: int | None = msgspec.field(default=None, name="cacheReadInputTokens")
    converse_written: int | None = msgspec.field(default=None, name="cacheWriteInputTokens")
    gemini_prompt: int | None = msgspec.field(default=None, name="promptTokenCount")
    gemini_cached: int | None = msgspec.field(default=None, name="cachedContentTokenCount")


class _Choice(msgspec.Struct, kw_only=True):
    message: Message | None = None
    text: str | None = None


class _ConverseOutput(msgspec.Struct, kw_only=True):
    message: Message | None = None


class Response(msgspec.Struct, kw_only=True):
    """A response of one of these services, or what holds it."""

    body: "Response | None" = None
    usage: Usage | None = None
    usage_metadata: Usage | None = msgspec.field(default=None, name="usageMetadata")
    choices: list[_Choice] | None = None
    content: str | list[Any] | None = None
    output: list[Message] | _ConverseOutput | None = None


class _ToolConfig(msgspec.Struct, kw_only=True):
    tools: list[Any] | None = None


class Content(msgspec.Struct, kw_only=True):
    """What makes the prompt of a request body."""

    messages: list[Message] | None = None
    input: str | list[Message] | None = None
    system: str | list[Any] | None = None
    instructions: str | None = None
    tools: list[Any] | None = None
    functions: list[Any] | None = None
    tool_config: _ToolConfig | None = msgspec.field(default=None, name="toolConfig")
    model: str | None = None
    model_id: str | None = msgspec.field(default=None, name="modelId")
    cache_salt: str | None = None
    previous_response_id: str | None = None

    @property
    def context(self) -> Context:
        """What isolates it: the model, and the salt that vLLM and SGLang take in a body."""
        if self.cache_salt is None:
            return model_context(self.named_model)
        return Context(model=self.named_model, salt=self.cache_salt)

    @property
    def named_model(self) -> str | None:
        """Under either name."""
        return self.model if self.model is not None else self.model_id

    @property
    def all_tools(self) -> list[Any]:
        """Wherever they stand."""
        config = self.tool_config.tools if self.tool_config is not None else None
        return [*(self.tools or []), *(self.functions or []), *(config or [])]


def chat_prompt(
    content: Content, prompts: TextPrompts, session: str | None, prefix: str, place: str
) -> Symbols:
    """The prompt as symbols. prefix: the path that leads to the body, with its dot."""
    messages = _messages_of(content, prefix, place)
    return prompts.chat(
        messages, plain_tools(content.all_tools), session, f"{prefix}messages", place
    )


def _messages_of(body: Content, prefix: str, place: str) -> list[Message]:
    """System text and instructions as a system message, then the conversation."""
    if (body.messages is None) == (body.input is None):
        absent = "needs messages, input or prompt"
        cause = absent if body.messages is None else "has messages and input"
        raise InputError(place, prefix.rstrip("."), cause)
    if body.previous_response_id is not None:
        cause = "the turns before are kept by the service: the prompt is not known from this row"
        raise InputError(place, f"{prefix}previous_response_id", cause)
    first = [text for text in (body.system, body.instructions) if text is not None]
    messages = [plain_message({"role": "system", "content": text}) for text in first]
    if isinstance(body.input, str):
        return [*messages, {"role": "user", "content": body.input}]
    if body.input is not None:
        return messages + [_item(item) for item in body.input]
    return messages + [plain_message(message) for message in body.messages or []]


def _item(item: Message) -> Message:
    """An item of the responses API (message, function call, its output) as a message."""
    rest = {key: v for key, v in item.items() if key not in ("role", "type", "id", "status")}
    return plain_message({"role": item.get("role") or item.get("type") or "", **rest})


def replies_of(response: Response) -> list[Message]:
    """The messages of the reply: the first choice, the content, or all items."""
    if response.choices and response.choices[0].message is not None:
        return [response.choices[0].message]
    if response.content is not None:
        return [{"content": response.content}]
    if isinstance(response.output, _ConverseOutput):
        return [] if response.output.message is None else [response.output.message]
    return [_item(item) for item in response.output or []]


def completion_of(response: Response | None) -> str | None:
    """The text of a completion's first choice."""
    return response.choices[0].text if response is not None and response.choices else None


def take_replies(row: Row, replies: list[Message], prompts: TextPrompts, place: str) -> None:
    """The generated text as the row's output, where the prompts' unit allows it."""
    if replies and prompts.in_bytes:
        row.output = as_symbols(lambda: render_replies(replies), "response", place)
    elif len(replies) == 1 and isinstance(content := replies[0].get("content"), str):
        # Other replies (tool calls, parts) are rendered by the template in the next turn only.
        row.output = prompts.reply(content, True, "response", place)
    if row.output is not None:
        row.output_tokens = len(row.output)


@dataclass(frozen=True, slots=True)
class Counts:
    """Tokens as told, None where not. prompt: all of it, hit and written among them."""

    prompt: int | None = None
    hit: int | None = None
    written: int | None = None
    written_1h: int | None = None
    output: int | None = None


def counts_of(usage: Usage, place: str) -> Counts:
    """Cached and written tokens, and the whole prompt where the names of the counts tell what
    they include. Raises InputError for what is no count."""
    details = usage.prompt_tokens_details or usage.input_tokens_details or Details()
    writes = usage.cache_creation or details.cache_creation_token_details or Writes()
    for told in (usage, details, writes):
        for name, encoded in zip(
            told.__struct_fields__, told.__struct_encode_fields__, strict=True
        ):
            if type(value := getattr(told, name)) is int:
                check_tokens(value, f"usage.{encoded}", place)
    hit = _first(
        details.cached_tokens,
        usage.cache_read_input_tokens,
        usage.prompt_cache_hit_tokens,
        usage.converse_read,
        usage.gemini_cached,
    )
    written = _first(
        usage.cache_creation_input_tokens,
        details.cache_write_tokens,
        details.cache_creation_tokens,
        usage.converse_written,
    )
    prompt = _first(usage.prompt_tokens, usage.gemini_prompt)
    if prompt is None and usage.input_tokens is not None:
        if usage.input_tokens_details is not None or usage.total_tokens is not None:
            prompt = usage.input_tokens
        else:
            # Anthropic's input_tokens are those neither read from the cache nor written to it.
            prompt = whole_prompt(usage.input_tokens, usage.cache_read_input_tokens, written)
    if prompt is None:
        prompt = whole_prompt(usage.converse_input, usage.converse_read, usage.converse_written)
    output = _first(usage.completion_tokens, usage.output_tokens, usage.converse_output)
    if output is None and usage.gemini_output is not None:
        # Google bills thoughts as output, and counts them beside the candidates.
        output = usage.gemini_output + (usage.gemini_thoughts or 0)
    return Counts(prompt, hit, written, writes.ephemeral_1h_input_tokens, output)


def _first(*told: int | None) -> int | None:
    return next((count for count in told if count is not None), None)


def take_usage(row: Row, usage: Usage, place: str) -> None:
    """The counts of a response as the row's reported ones."""
    counts = counts_of(usage, place)
    row.reported_prompt, row.reported, row.written = counts.prompt, counts.hit, counts.written
    row.written_1h, row.reported_output = counts.written_1h, counts.output

"""What a request to an LLM server and its answer are as a row of hitpath JSONL.

For `record_proxy.py`; plain functions, standard library only. Reads chat completions, completions
and responses (OpenAI, vLLM, SGLang) and messages (Anthropic), streamed or not. The names of the
counts are checked against vLLM 0.32.0, SGLang 0.5.23 and the services' documentation.
"""

import contextlib
import hashlib
import json
import time
import uuid
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

MOST_COPIED_BYTES = 32 << 20  # of one body
CONTEXT = {"cache_salt": "salt", "lora_path": "adapter", "extra_key": "extra_key"}
"""Fields of vLLM and SGLang that keep prompts apart in the cache, and hitpath's names of them."""

Json = dict[str, Any]


class NotRecorded(Exception):
    """Why an exchange makes no row."""


class Copy:
    """A body as it passed: its pieces, and when each came, in seconds since the request."""

    def __init__(self, began: float) -> None:
        self.began, self.size = began, 0
        self.pieces: list[bytes] = []
        self.times: list[float] = []

    def take(self, piece: bytes) -> None:
        self.size += len(piece)
        if self.size <= MOST_COPIED_BYTES:
            self.pieces.append(piece)
            self.times.append(time.perf_counter() - self.began)

    def whole(self) -> bytes:
        """All of it. Raises NotRecorded."""
        if self.size > MOST_COPIED_BYTES:
            raise NotRecorded(f"larger than {MOST_COPIED_BYTES >> 20} MiB")
        return b"".join(self.pieces)


@dataclass
class Exchange:
    """One request and its answer. arrival_s: of the request's head, since 1970."""

    path: str
    session: str | None
    arrival_s: float
    request: Copy
    answer: Copy
    status: int = 0
    content_type: str = ""
    end_s: float = 0.0

    @property
    def size(self) -> int:
        return self.request.size + self.answer.size


@dataclass
class Told:
    """What an answer tells. first_s: when the first generated piece of a stream came."""

    usage: Json = field(default_factory=dict)
    prompt_ids: list[int] | None = None
    output_ids: list[int] = field(default_factory=list)
    first_s: float | None = None


def row_of(exchange: Exchange, prompts: str) -> Json:
    """The row; prompts: text, tokens or lengths. Raises NotRecorded."""
    if not 200 <= exchange.status < 300:
        raise NotRecorded(f"answered with status {exchange.status or '(none)'}")
    body = _json(exchange.request.whole(), "request")
    prompt, told = _only_prompt(body), _told(exchange)
    prompt_tokens, hit, written = counts(told.usage)
    reported = {
        "prompt_tokens": prompt_tokens,
        "counting": None if prompt_tokens is None else "inclusive",
        "cached_tokens": hit,
        "cache_write_tokens": written,
        "ttft_s": told.first_s,
    }
    row = {
        "id": uuid.uuid4().hex,
        "arrival_s": exchange.arrival_s,
        "finish_s": exchange.arrival_s + exchange.end_s,
        "session": exchange.session,
        "model": body["model"] if isinstance(body.get("model"), str) else None,
        "context": _context(body),
        "output_tokens": told.usage.get("completion_tokens", told.usage.get("output_tokens")),
        "reported": _without_none(reported) or None,
    }
    if prompts == "lengths":
        if prompt_tokens is None:
            raise NotRecorded("told no usage (stream_options.include_usage?)")
        row["prompt_tokens"] = prompt_tokens
    elif prompts == "tokens":
        row["tokens"] = prompt if isinstance(prompt, list) else told.prompt_ids
        if row["tokens"] is None:
            raise NotRecorded("token ids are neither in the request nor in the answer")
        if told.output_ids:
            row |= {"output_ids": told.output_ids, "output_tokens": len(told.output_ids)}
    else:
        row |= _text(body, prompt)
        row["prompt_tokens"] = prompt_tokens  # not used with text; for the view of lengths
    return _without_none(row)


def _only_prompt(body: Json) -> str | list[int] | None:
    """A completion's prompt, text or token ids; None for a chat."""
    prompt = body.get("prompt")
    if isinstance(prompt, list) and len(prompt) == 1 and not isinstance(prompt[0], int):
        prompt = prompt[0]
    if isinstance(prompt, list) and not all(isinstance(token, int) for token in prompt):
        raise NotRecorded("several prompts in one request")
    return prompt


def _text(body: Json, prompt: str | list[int] | None) -> Json:
    """The prompt as text: Anthropic's system and OpenAI's instructions as the first message."""
    if body.get("previous_response_id") or body.get("conversation"):
        raise NotRecorded("earlier turns are kept by the service")
    if isinstance(prompt, list):
        raise NotRecorded("the prompt is token ids (--prompts tokens)")
    if prompt is not None:
        return {"prompt": prompt}
    messages = body.get("messages", body.get("input"))
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    if not isinstance(messages, list):
        raise NotRecorded("no messages in the request")
    first = [body[name] for name in ("system", "instructions") if body.get(name)]
    messages = [{"role": "system", "content": text} for text in first] + messages
    tools = [_unmarked(tool) for tool in body.get("tools") or []]
    return {"messages": [_message(m) for m in messages], "tools": tools or None}


def _message(message: Json) -> Json:
    """A message, or an item of the responses API, without a provider's marks: they move from
    turn to turn and are no part of the prompt. Content of one block of text is that text."""
    message = {"role": message.get("type", "")} | message
    content = message.get("content")
    if isinstance(content, list):
        content = [_unmarked(block) for block in content]
        if len(content) == 1 and content[0].get("type") in ("text", "input_text", "output_text"):
            content = content[0]["text"]
        message["content"] = content
    return message


def _unmarked(block: Json) -> Json:
    """A block or a tool without `cache_control`; the blocks of a tool's result too."""
    kept = {name: value for name, value in block.items() if name != "cache_control"}
    if isinstance(kept.get("content"), list):
        kept["content"] = [_unmarked(inner) for inner in kept["content"]]
    return kept


def counts(usage: Json) -> tuple[Any, Any, Any]:
    """(whole prompt, hit, written); None where not told. The names tell which count it is:
    OpenAI's includes the hit, Anthropic's excludes what was read and what was written."""
    inputs = usage.get("input_tokens_details")
    details = usage.get("prompt_tokens_details") or inputs or {}
    read, written = usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")
    hit = read if details.get("cached_tokens") is None else details["cached_tokens"]
    if usage.get("prompt_tokens") is not None:
        return usage["prompt_tokens"], hit, written
    prompt = usage.get("input_tokens")
    if prompt is None or inputs is not None or "total_tokens" in usage:
        return prompt, hit, written
    if read is None or written is None:  # with or without it? Not to be told from this.
        return None, hit, written
    return prompt + read + written, hit, written


def _told(exchange: Exchange) -> Told:
    told = Told()
    if "text/event-stream" in exchange.content_type:
        for at_s, event in _events(exchange.answer):
            _absorb(event, at_s, told)
    else:
        _absorb(_json(exchange.answer.whole(), "answer"), None, told)
    return told


def _events(answer: Copy) -> Iterator[tuple[float, Json]]:
    """(when the whole of it had come, event) for each event of a stream that is an object."""
    ends, offset = [0], 0
    for piece in answer.pieces:
        ends.append(ends[-1] + len(piece))
    for line in answer.whole().splitlines(keepends=True):
        offset += len(line)
        data = line[5:].strip()
        if line.startswith(b"data:") and data.startswith(b"{"):
            # A last event may be cut, where one side hung up.
            with contextlib.suppress(ValueError):
                yield answer.times[bisect_left(ends, offset) - 1], json.loads(data)


def _absorb(event: Json, at_s: float | None, told: Told) -> None:
    """Usage of any of the APIs, token ids of vLLM and SGLang, whether text was generated."""
    for holder in (event, event.get("message"), event.get("response")):
        if isinstance(holder, dict) and holder.get("usage"):
            told.usage.update(_without_none(holder["usage"]))
    ours, kind = event.get("sglext") or {}, event.get("type") or ""
    told.prompt_ids = event.get("prompt_token_ids") or ours.get("input_ids") or told.prompt_ids
    told.output_ids += (ours.get("output_ids") or [[]])[0]
    generated = kind == "content_block_delta"
    generated = generated or (kind.startswith("response.") and kind.endswith(".delta"))
    for choice in event.get("choices") or []:
        part = choice.get("delta") or {"text": choice.get("text")}
        generated = generated or any(value for name, value in part.items() if name != "role")
        if choice.get("index", 0) == 0:
            told.prompt_ids = choice.get("prompt_token_ids") or told.prompt_ids
            told.output_ids += choice.get("token_ids") or []
    if generated and told.first_s is None:
        told.first_s = at_s


def _context(body: Json) -> Json | None:
    """Salts and the like, hashed: equal stays equal, and a secret stays one."""
    found = {ours: body[name] for name, ours in CONTEXT.items() if body.get(name) is not None}
    hashed = {k: hashlib.sha256(str(v).encode()).hexdigest()[:16] for k, v in found.items()}
    return hashed or None


def _json(text: bytes, what: str) -> Json:
    try:
        value: Json = json.loads(text)
    except ValueError as error:
        raise NotRecorded(f"{what} is no JSON") from error
    return value


def _without_none(values: Json) -> Json:
    return {name: value for name, value in values.items() if value is not None}

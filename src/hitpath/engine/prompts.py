"""Prompts as people give them (text or token ids, one or many) as requests."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from hitpath.engine.errors import RequestError
from hitpath.engine.records import GenerationRequest, SamplingParams, Tokens, token_array
from hitpath.text.tokenizer import TextTokenizer

Prompt = str | Sequence[int] | Tokens


class MakesRequests(Protocol):
    """An engine, as far as this module needs one."""

    def request_of(
        self, prompt: Prompt, params: SamplingParams, request_id: str, cache_salt: str | None = None
    ) -> GenerationRequest: ...


def tokenise(tokenizer: TextTokenizer | None, prompt: Prompt) -> Tokens:
    """Token ids as they are; text with the tokenizer's frame. Raises RequestError."""
    if not isinstance(prompt, str):
        return token_array(prompt)
    if tokenizer is None:
        raise RequestError("prompt", "is text, and this engine has no tokenizer")
    before, after = tokenizer.prompt_frame
    try:
        return np.concatenate([before, tokenizer.encode(prompt), after])
    except UnicodeEncodeError as error:
        raise RequestError("prompt", f"has half a character at {error.start}") from error


def requests_of(
    engine: MakesRequests,
    prompts: Prompt | Sequence[Prompt],
    params: SamplingParams | Sequence[SamplingParams] | None,
    cache_salt: str | None,
) -> list[GenerationRequest]:
    """One request a prompt, named by its number; `params` for all, or one for each."""
    listed = _listed(prompts)
    if isinstance(params, SamplingParams | None):
        params = [params or SamplingParams()] * len(listed)
    if len(params) != len(listed):
        raise RequestError("params", f"{len(params)} of them for {len(listed)} prompts")
    return [
        engine.request_of(prompt, one, str(i), cache_salt)
        for i, (prompt, one) in enumerate(zip(listed, params, strict=True))
    ]


def _listed(prompts: Prompt | Sequence[Prompt]) -> list[Prompt]:
    """One prompt, or several, as a list."""
    if isinstance(prompts, str | np.ndarray):
        return [prompts]
    ids = [item for item in prompts if isinstance(item, int | np.integer)]
    if ids and len(ids) == len(prompts):
        return [token_array(ids)]
    if ids:
        raise RequestError("prompt", "mixes token ids with prompts")
    return [prompt for prompt in prompts if not isinstance(prompt, int | np.integer)]

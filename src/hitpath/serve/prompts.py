"""Prompts of a request as token ids, with the time that it took.

A completion prompt gets the tokenizer's frame (bos) around it, a chat has its own in the
template, token ids are taken as they stand. Long work goes to a thread, so that other requests'
tokens keep flowing meanwhile.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from hitpath.core import SettingError
from hitpath.serve.known_text import KnownText
from hitpath.serve.problems import refused
from hitpath.text.tokenizer import TextTokenizer, Tokens

T = TypeVar("T")

LONG = 16_384
"""From so many characters on a text goes to a thread: shorter ones take 4 ms at most, and a tenth
of that where they were seen lately, which is less than the hop when the cores are busy."""

MOST_IDS = 1 << 32


@dataclass(frozen=True, slots=True, eq=False)
class Prompt:
    """Token ids, uint32 [T]; `text` is what they were made of, None for ids; `seconds` from the
    request for them to their being there."""

    tokens: Tokens
    text: str | None
    seconds: float


class PromptMaker:
    """Makes prompts with one tokenizer, which may run in several threads at once; its chat
    template may not (text/template_budget.py)."""

    def __init__(self, tokenizer: TextTokenizer) -> None:
        self._tokenizer = tokenizer
        self._known = KnownText(tokenizer)
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="tokenise")
        self._rendering = threading.Lock()

    def close(self) -> None:
        """Ends the threads; what they still do is not waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def in_thread(self, function: Callable[[], T]) -> T:
        """Something long."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, function)

    async def chat(
        self,
        messages: Sequence[dict[str, Any]],
        tools: Sequence[Any] | None,
        salt: str | None = None,
    ) -> Prompt:
        """A rendered chat up to the head of the reply. Raises RenderError, Problem."""
        if not messages:
            raise refused("messages", "must have at least one message")
        started = time.perf_counter()

        def make() -> Prompt:
            text = self._render(messages, tools)
            tokens = self._known.encode(text, salt)
            return Prompt(tokens, text, time.perf_counter() - started)

        def make_in_turn() -> Prompt:
            with self._rendering:
                return make()

        size = sum(len(str(message.get("content"))) for message in messages)
        size += len(str(tools)) if tools else 0
        if size < LONG and self._rendering.acquire(blocking=False):
            try:
                return make()
            finally:
                self._rendering.release()
        return await self.in_thread(make_in_turn)

    def _render(self, messages: Sequence[dict[str, Any]], tools: Sequence[Any] | None) -> str:
        try:
            return self._tokenizer.render_chat(messages, tools)
        except SettingError as error:
            cause = "this model has no chat template; use /v1/completions"
            raise refused("messages", cause) from error

    async def text(self, text: str, framed: bool = True, salt: str | None = None) -> Prompt:
        """A completion prompt, framed as the tokenizer has it."""
        started = time.perf_counter()

        def make() -> Prompt:
            tokens = self._known.encode(text, salt)
            if framed:
                before, after = self._tokenizer.prompt_frame
                tokens = np.concatenate([before, tokens, after])
            return Prompt(tokens, text, time.perf_counter() - started)

        return make() if len(text) < LONG else await self.in_thread(make)

    async def completion(self, prompt: Any, framed: bool, salt: str | None = None) -> list[Prompt]:
        """What `prompt` of a completion holds: text, ids, or a list of either. Raises Problem."""
        if isinstance(prompt, str):
            return [await self.text(prompt, framed, salt)]
        if not isinstance(prompt, list):
            raise refused("prompt", "must be text, token ids, or a list of either", "invalid_type")
        if not prompt:
            raise refused("prompt", "is empty")
        kinds = set(map(type, prompt))
        if kinds == {str}:
            return [await self.text(text, framed, salt) for text in prompt]
        if kinds == {list}:
            return [_of_ids(ids, f"prompt[{at}]") for at, ids in enumerate(prompt)]
        return [_of_ids(prompt, "prompt")]


def _of_ids(ids: list[Any], place: str) -> Prompt:
    started = time.perf_counter()
    return Prompt(token_ids(ids, place), None, time.perf_counter() - started)


def token_ids(ids: list[Any], place: str) -> Tokens:
    """Token ids as uint32 [T], T of at least 1. Raises Problem; whether the model has such
    tokens is the engine's to say."""
    if set(map(type, ids)) != {int}:
        cause = "must be text, token ids, or a list of either" if ids else "is empty"
        raise refused(place, cause, "invalid_type" if ids else "invalid_value")
    if min(ids) < 0 or max(ids) >= MOST_IDS:
        raise refused(place, "has a token id that is not from 0 to 2**32 - 1")
    return np.array(ids, dtype=np.uint32)

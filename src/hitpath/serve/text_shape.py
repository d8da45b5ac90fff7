"""Choices as `/v1/completions` has them, with an echo of the prompt where it is asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hitpath.engine.records import Chunk, TokenLogprobs
from hitpath.serve.answers import PromptLogprobs, ended
from hitpath.serve.generation import Gathered
from hitpath.serve.logprobs import TextLogprobs, TokenTexts, joined, prompt_logprobs


@dataclass(frozen=True, slots=True)
class Echo:
    """What is sent before each answer: texts and first tokens of the prompts, `with_logprobs`
    theirs too; `alone`: and the answer itself is not."""

    texts: Sequence[str]
    first_tokens: Sequence[int]
    with_logprobs: bool
    alone: bool


@dataclass(frozen=True, slots=True)
class TextOptions:
    """with_ids: token ids beside the text; as_ids: `token_id:N` for tokens' texts;
    tell_prompt: `prompt_logprobs` were asked for by that name."""

    num_choices: int
    echo: Echo | None
    with_ids: bool
    as_ids: bool
    tell_prompt: bool


class TextShape:
    """A Shape. It counts characters, so a choice's parts must come in order."""

    id_prefix = "cmpl-"
    object = "text_completion"
    chunk_object = "text_completion"

    def __init__(self, texts: TokenTexts, options: TextOptions) -> None:
        self._texts = texts
        self._options = options
        self._alone = options.echo is not None and options.echo.alone
        self._writers: dict[int, TextLogprobs] = {}

    def whole(
        self, index: int, gathered: Gathered, prompt: PromptLogprobs | None
    ) -> dict[str, Any]:
        head = self._head(index)
        logprobs = self._logprobs(index, gathered.logprobs, prompt)
        return {
            "index": index,
            "text": head if self._alone else head + "".join(gathered.texts),
            "logprobs": logprobs,
            **self._rest(prompt, gathered.token_ids),
            **ended(gathered.finish),
        }

    def opening(self, index: int) -> dict[str, Any] | None:
        return None

    def part(self, index: int, chunk: Chunk) -> dict[str, Any] | None:
        head = "" if index in self._writers else self._head(index)
        text = head if self._alone else head + chunk.text
        logprobs = self._logprobs(index, chunk.logprobs or (), chunk.prompt_logprobs)
        rest = self._rest(chunk.prompt_logprobs, chunk.token_ids)
        if not (text or chunk.finish or logprobs or rest):
            return None
        return {"index": index, "text": text, "logprobs": logprobs, **rest, **ended(chunk.finish)}

    def beside(self, prompt: PromptLogprobs | None) -> dict[str, Any]:
        return {}

    def _head(self, index: int) -> str:
        echo = self._options.echo
        return "" if echo is None else echo.texts[index // self._options.num_choices]

    def _rest(self, prompt: PromptLogprobs | None, ids: Sequence[int]) -> dict[str, Any]:
        rest: dict[str, Any] = {}
        if prompt is not None and self._options.tell_prompt:
            rest["prompt_logprobs"] = prompt_logprobs(prompt, self._texts)
        if self._options.with_ids:
            rest["token_ids"] = [] if self._alone else list(ids)
        return rest

    def _logprobs(
        self, index: int, sampled: Sequence[TokenLogprobs], prompt: PromptLogprobs | None
    ) -> dict[str, Any] | None:
        """Behind an echo, the prompt's go first."""
        writer = self._writers.setdefault(index, TextLogprobs(self._texts, self._options.as_ids))
        parts, echo = [], self._options.echo
        if echo is not None and echo.with_logprobs and prompt is not None:
            first = echo.first_tokens[index // self._options.num_choices]
            parts.append(writer.first_token(first))
            parts.append(writer.part([one for one in prompt if one is not None]))
        if sampled and not self._alone:
            parts.append(writer.part(sampled))
        return joined(parts) if parts else None

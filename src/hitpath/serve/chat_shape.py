"""Choices as `/v1/chat/completions` has them."""

from collections.abc import Sequence
from typing import Any

from hitpath.engine.records import Chunk, TokenLogprobs
from hitpath.serve.answers import PromptLogprobs, ended
from hitpath.serve.generation import Gathered
from hitpath.serve.logprobs import TokenTexts, chat_logprobs, prompt_logprobs


class ChatShape:
    """A Shape. with_ids: token ids beside the text; as_ids: `token_id:N` for tokens' texts."""

    id_prefix = "chatcmpl-"
    object = "chat.completion"
    chunk_object = "chat.completion.chunk"

    def __init__(self, texts: TokenTexts, with_ids: bool, as_ids: bool) -> None:
        self._texts = texts
        self._with_ids = with_ids
        self._as_ids = as_ids

    def whole(
        self, index: int, gathered: Gathered, prompt: PromptLogprobs | None
    ) -> dict[str, Any]:
        content = "".join(gathered.texts)
        return {
            "index": index,
            "message": {"role": "assistant", "content": content, "refusal": None},
            "logprobs": self._logprobs(gathered.logprobs),
            **({"token_ids": gathered.token_ids} if self._with_ids else {}),
            **ended(gathered.finish),
        }

    def opening(self, index: int) -> dict[str, Any] | None:
        delta = {"role": "assistant", "content": ""}
        return {"index": index, "delta": delta, "logprobs": None, "finish_reason": None}

    def part(self, index: int, chunk: Chunk) -> dict[str, Any] | None:
        if not (chunk.text or chunk.finish or chunk.logprobs or self._with_ids):
            return None
        return {
            "index": index,
            "delta": {"content": chunk.text} if chunk.text else {},
            "logprobs": self._logprobs(chunk.logprobs),
            **({"token_ids": list(chunk.token_ids)} if self._with_ids else {}),
            **ended(chunk.finish),
        }

    def beside(self, prompt: PromptLogprobs | None) -> dict[str, Any]:
        return {} if prompt is None else {"prompt_logprobs": prompt_logprobs(prompt, self._texts)}

    def _logprobs(self, each: Sequence[TokenLogprobs] | None) -> dict[str, Any] | None:
        return chat_logprobs(each, self._texts, self._as_ids) if each else None

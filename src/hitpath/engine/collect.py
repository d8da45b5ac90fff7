"""Chunks of several requests put together to whole completions."""

from dataclasses import dataclass, field

from hitpath.engine.records import (
    Choice,
    Chunk,
    Completion,
    Finish,
    GenerationRequest,
    TokenLogprobs,
    Usage,
)


@dataclass(slots=True)
class _Parts:
    text: list[str] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    logprobs: list[TokenLogprobs] = field(default_factory=list)
    finish: Finish | None = None


class Collector:
    """Takes every chunk of these requests; gives completions in their order."""

    def __init__(self, requests: list[GenerationRequest]) -> None:
        self._requests = requests
        self._parts = {
            (r.request_id, choice): _Parts() for r in requests for choice in range(r.params.n)
        }
        self._prompts: dict[str, tuple[TokenLogprobs | None, ...]] = {}

    def add(self, chunks: list[Chunk]) -> None:
        for chunk in chunks:
            parts = self._parts[chunk.request_id, chunk.choice]
            parts.text.append(chunk.text)
            parts.tokens += chunk.token_ids
            parts.logprobs += chunk.logprobs or ()
            parts.finish = chunk.finish
            if chunk.prompt_logprobs is not None:
                self._prompts[chunk.request_id] = chunk.prompt_logprobs

    def completions(self) -> list[Completion]:
        """Once every choice has its finish."""
        return [self._completion(request) for request in self._requests]

    def _completion(self, request: GenerationRequest) -> Completion:
        choices = tuple(self._choice(request, i) for i in range(request.params.n))
        first = choices[0].finish
        outputs = sum(choice.finish.usage.output_tokens for choice in choices)
        return Completion(
            request_id=request.request_id,
            choices=choices,
            usage=Usage(first.usage.prompt_tokens, first.usage.cached_tokens, outputs),
            timings=first.timings,
            prompt_logprobs=self._prompts.get(request.request_id),
        )

    def _choice(self, request: GenerationRequest, number: int) -> Choice:
        parts = self._parts[request.request_id, number]
        assert parts.finish is not None, "a choice has not ended"
        wanted = request.params.logprobs is not None
        return Choice(
            index=number,
            text="".join(parts.text),
            token_ids=tuple(parts.tokens),
            logprobs=tuple(parts.logprobs) if wanted else None,
            finish=parts.finish,
        )

"""One choice as it comes out: its text, its log-probabilities, and when it is over."""

from dataclasses import dataclass, field

import torch

from hitpath.engine.records import FinishReason, SamplingParams, TokenLogprobs
from hitpath.engine.sampling import token_logprobs
from hitpath.engine.sequence import Sequence
from hitpath.engine.text_out import TextOut


@dataclass(frozen=True, slots=True)
class Ends:
    """Tokens that end a reply, and those that have no text."""

    eos: frozenset[int]
    hidden: frozenset[int]


@dataclass(frozen=True, slots=True)
class Ended:
    """Why, and at which stop string or token."""

    reason: FinishReason
    stop: str | int | None


@dataclass(slots=True, eq=False)
class ChoiceOutput:
    """Takes each sampled token once; `text` is None for an engine without a tokenizer."""

    sequence: Sequence
    most_output: int
    generator: torch.Generator
    text: TextOut | None
    ends: Ends
    prompt_logprobs: list[TokenLogprobs | None] = field(default_factory=list)

    @property
    def params(self) -> SamplingParams:
        return self.sequence.request.params

    def take(self, token: int) -> tuple[str, Ended | None]:
        """After `sequence.append(token)`: (text to send, whether it is over)."""
        params = self.params
        is_eos = token in self.ends.eos and not params.ignore_eos
        if is_eos or token in params.stop_token_ids:
            return self._rest(), Ended("stop", None if is_eos else token)
        text = ""
        if self.text is not None:
            text, stop = self.text.feed(token)
            if stop is not None:
                return text, Ended("stop", stop)
        if self.sequence.num_output >= self.most_output:
            return text + self._rest(), Ended("length", None)
        return text, None

    def _rest(self) -> str:
        return "" if self.text is None else self.text.finish()

    def logprobs(self, logits: torch.Tensor, token: int) -> tuple[TokenLogprobs, ...] | None:
        """Of one sampled token, if they are wanted."""
        if self.params.logprobs is None:
            return None
        return (token_logprobs(logits, token, self.params.logprobs),)

    @property
    def wants_prompt(self) -> bool:
        """Whether logits of prompt rows are still wanted."""
        return (
            self.params.prompt_logprobs is not None
            and len(self.prompt_logprobs) < self.sequence.num_prompt
        )

    def take_prompt(self, logits: torch.Tensor, first: int) -> None:
        """Logits of the rows for the tokens [first, first + R) of the prompt."""
        num_top = self.params.prompt_logprobs
        assert num_top is not None
        if not self.prompt_logprobs:
            self.prompt_logprobs.append(None)  # nothing stands before the first token
        for row in range(len(logits)):
            following = first + row + 1
            if len(self.prompt_logprobs) == following < self.sequence.num_prompt:
                token = int(self.sequence.tokens[following])
                self.prompt_logprobs.append(token_logprobs(logits[row], token, num_top))

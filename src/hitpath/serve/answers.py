"""Answers as JSON: what chats and completions have in common. Their choices differ: chat_shape.py,
text_shape.py.

Every whole answer and every last chunk of a stream has `usage` and `timings` (docs/serve.md).
"""

from collections.abc import Sequence
from typing import Any, Protocol

from hitpath.engine.records import Chunk, Finish, Timings, TokenLogprobs
from hitpath.serve.generation import Gathered, Totals


def usage_of(totals: Totals, count_output: bool = True) -> dict[str, Any]:
    """OpenAI's usage: a prompt counts once whatever n is, with its first choice's cached tokens;
    several prompts are added up."""
    firsts = [row[0].usage for row in totals.finishes if row[0] is not None]
    prompt = sum(usage.prompt_tokens for usage in firsts)
    every = [one for row in totals.finishes for one in row if one is not None]
    output = sum(one.usage.output_tokens for one in every) if count_output else 0
    return {
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "total_tokens": prompt + output,
        "prompt_tokens_details": {"cached_tokens": sum(usage.cached_tokens for usage in firsts)},
    }


def timings_of(totals: Totals) -> dict[str, Any]:
    """Of the first choice; of several prompts, the sums over their first choices, which are work
    and no time on the clock: there is no `ttft_s` then."""
    firsts = [row[0] for row in totals.finishes if row[0] is not None]
    if len(firsts) == 1:
        return choice_timings(firsts[0])
    added = [
        sum(getattr(one.timings, name) for one in firsts) for name in Timings.__dataclass_fields__
    ]
    return _timings(Timings(*added), sum(one.usage.computed_tokens for one in firsts))


def choice_timings(finish: Finish) -> dict[str, Any]:
    """Where one choice's time went."""
    told = _timings(finish.timings, finish.usage.computed_tokens)
    return {**told, "ttft_s": round(finish.timings.ttft_s, 7)}


def _timings(timings: Timings, computed_tokens: int) -> dict[str, Any]:
    return {
        "queue_s": round(timings.queue_s, 7),
        "tokenise_s": round(timings.tokenise_s, 7),
        "lookup_s": round(timings.lookup_s, 7),
        "prefill_s": round(timings.prefill_s, 7),
        "computed_tokens": computed_tokens,
        "decode_s": round(timings.decode_s, 7),
    }


PromptLogprobs = Sequence[TokenLogprobs | None]


class Shape(Protocol):
    """How one API writes choices. `index` counts over all prompts and their choices."""

    id_prefix: str
    object: str
    chunk_object: str

    def whole(
        self, index: int, gathered: Gathered, prompt: PromptLogprobs | None
    ) -> dict[str, Any]:
        """A choice of a whole answer; `prompt`: of its prompt, where they were asked for."""

    def opening(self, index: int) -> dict[str, Any] | None:
        """What a stream says of a choice before its first token."""

    def part(self, index: int, chunk: Chunk) -> dict[str, Any] | None:
        """A chunk's part of a stream; None where it has nothing to show yet."""

    def beside(self, prompt: PromptLogprobs | None) -> dict[str, Any]:
        """What an answer has beside its choices."""


def ended(finish: Finish | None) -> dict[str, Any]:
    """Why a choice ended; `stop_reason` is the stop text or token id that was met (as vLLM)."""
    if finish is None:
        return {"finish_reason": None}
    return {
        "finish_reason": finish.reason,
        "stop_reason": finish.stop,
        "timings": choice_timings(finish),
    }

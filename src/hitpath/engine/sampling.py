"""The next token of each sequence from its logits, and what is reported of the distribution.

Greedy rows go through one argmax (the lowest id of equal logits). Others are drawn one by one from
a generator of their own, so that a seeded choice does not depend on what else is in the step.
"""

import torch

from hitpath.engine.records import SamplingParams, TokenLogprobs


def make_generator(params: SamplingParams, choice: int) -> torch.Generator:
    """For one choice: from its seed, or from the system's entropy."""
    generator = torch.Generator()
    if params.seed is None:
        generator.seed()
    else:
        generator.manual_seed((params.seed + choice) % 2**63)
    return generator


def sample(
    logits: torch.Tensor, params: list[SamplingParams], generators: list[torch.Generator]
) -> list[int]:
    """One token for each row of float32 [R, vocabulary]."""
    tokens: list[int] = logits.argmax(-1).tolist()
    for row, (one, generator) in enumerate(zip(params, generators, strict=True)):
        if one.temperature > 0:
            tokens[row] = _draw(logits[row], one, generator)
    return tokens


def _draw(logits: torch.Tensor, params: SamplingParams, generator: torch.Generator) -> int:
    """Temperature, then the k highest (all that equal the k-th), then the smallest set of highest
    ones whose probability reaches top_p; drawn from what is left."""
    logits = (logits - logits.max()) / params.temperature
    if params.top_k is not None and params.top_k < len(logits):
        least = logits.topk(params.top_k).values[-1]
        logits = logits.masked_fill(logits < least, -torch.inf)
    probabilities = logits.softmax(-1)
    if params.top_p < 1.0:
        ordered, ids = probabilities.sort(descending=True, stable=True)
        before = ordered.cumsum(-1) - ordered
        probabilities[ids[before >= params.top_p]] = 0.0
    return int(torch.multinomial(probabilities, 1, generator=generator))


def token_logprobs(logits: torch.Tensor, token: int, num_top: int) -> TokenLogprobs:
    """Of one row float32 [vocabulary], before temperature."""
    logprobs = logits.log_softmax(-1)
    own = logprobs[token]
    values, ids = logprobs.topk(min(num_top, len(logprobs)))
    return TokenLogprobs(
        token=token,
        logprob=float(own),
        rank=int((logprobs > own).sum()) + 1,
        top=tuple(zip(ids.tolist(), values.tolist(), strict=True)),
    )

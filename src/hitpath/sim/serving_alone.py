"""One request on an idle worker: the miss cost that any gain is measured against."""

from hitpath.sim.serving.records import WorkerSettings
from hitpath.sim.serving.step_time import StepModel, chunk_attention_s


def alone_ttft_s(
    steps: StepModel, settings: WorkerSettings, prompt_tokens: int, cached_tokens: int = 0
) -> float:
    """Seconds until the first token in the engine's time, chunk by chunk: the same sum as
    `hitpath price` makes, and the lookup. At least the last token is computed."""
    cached = min(cached_tokens, prompt_tokens - 1)
    chunk = settings.max_batch_tokens if settings.chunked_prefill else prompt_tokens
    total = steps.lookup_s_per_block * (prompt_tokens // settings.block_size)
    while cached < prompt_tokens:
        new = min(chunk, prompt_tokens - cached, len(steps.linear_s) - 1)
        total += float(steps.linear_s[new]) + steps.link_s_per_token * new + steps.overhead_s
        total += float(chunk_attention_s(steps.attention, cached, new))
        cached += new
    return total + float(steps.head_s[1])

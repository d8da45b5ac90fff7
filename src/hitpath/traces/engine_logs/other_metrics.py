"""/metrics of engines that hitpath does not read: which engine, and what its figures are not.

llama.cpp (ggml-org/llama.cpp, tools/server): `prompt_tokens_total` counts the tokens that were
processed, without the cached ones; newer versions count these in `prompt_tokens_cached_total`.
TensorRT-LLM (NVIDIA/TensorRT-LLM): `trtllm_kv_cache_hit_rate` is reused / (reused + missed) blocks
since the start, a block of which one token was reused counting as one.
"""

import re

from hitpath.traces.sources import Input

_MOST_LINES = 2_000
_MOST_BYTES = 1 << 20
_TYPE = re.compile(rb"# TYPE ([A-Za-z_:][\w:]*) (?:counter|gauge|histogram|summary|un\w+)\s*$")
_SAMPLE = re.compile(
    rb"(?:llamacpp:|trtllm_|tgi_)\w+(?:\{[^\n]*\})? [-+]?(?:\d|Inf|NaN)[\w.+-]*(?: \d+)?\s*$"
)
_ENGINES = {
    b"llamacpp:": (
        "llama.cpp: its counters exclude cached tokens, no hit rate can be read from them"
    ),
    b"trtllm_": "TensorRT-LLM, which hitpath does not read: its hit rate counts blocks, not tokens",
    b"tgi_": "Text Generation Inference, not one of vLLM's or SGLang's",
}
_LLAMA_CACHED = b"llamacpp:prompt_tokens_cached_total"
_LLAMA_WITH_CACHED = (
    "llama.cpp, which hitpath does not read: llamacpp:prompt_tokens_total excludes the cached "
    "tokens, which llamacpp:prompt_tokens_cached_total counts"
)


def other_metrics(source: Input) -> str | None:
    """Why no hit rate is read from a text that is an engine's /metrics; None for any other text.
    Looks at the first lines, which stay with the source."""
    first = b""
    names: set[bytes] = set()
    read = 0
    for i, (_, line) in enumerate(source.peek()):
        match = _TYPE.match(line)
        name = match[1] if match else line if _SAMPLE.match(line) else b""
        first = first or name
        names.update(prefix for prefix in (*_ENGINES, _LLAMA_CACHED) if name.startswith(prefix))
        read += len(line)
        if i + 1 >= _MOST_LINES or read >= _MOST_BYTES:
            break
    if _LLAMA_CACHED in names:
        return f"is /metrics of {_LLAMA_WITH_CACHED}"
    for prefix, told in _ENGINES.items():
        if prefix in names:
            return f"is /metrics of {told}"
    if first:
        shown = first.decode("utf-8", "replace")
        return f"is /metrics, but not one of vLLM's or SGLang's (it begins with {shown})"
    return None

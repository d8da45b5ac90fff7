"""Small models and engines for tests; weights are random."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
import transformers

from hitpath.engine.engine import Engine
from hitpath.engine.load import tiny_engine
from hitpath.engine.records import Completion, SamplingParams
from hitpath.engine.settings import EngineSettings

torch.set_num_threads(1)

GREEDY = SamplingParams(max_tokens=12, temperature=0, ignore_eos=True)
COMMON: dict[str, Any] = {
    "vocab_size": 160,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 512,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
SCALINGS: dict[str, dict[str, Any]] = {
    "linear": {"rope_type": "linear", "factor": 2.0},
    "llama3": {
        "rope_type": "llama3",
        "factor": 4.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 64,
    },
    "yarn": {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 64},
}
LONGROPE = {
    "rope_type": "longrope",
    "long_factor": [1.0 + i for i in range(6)],
    "short_factor": [1.0 + i / 8 for i in range(6)],
    "rope_theta": 10_000.0,
    "original_max_position_embeddings": 64,
    "partial_rotary_factor": 0.75,
}
# Name of the case -> (configuration class, what it changes). transformers builds each of them.
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("LlamaConfig", {}),
    "llama with biases": ("LlamaConfig", {"attention_bias": True, "mlp_bias": True}),
    "llama tied": ("LlamaConfig", {"tie_word_embeddings": True}),
    "llama one kv head": ("LlamaConfig", {"num_key_value_heads": 1}),
    "llama many kv heads": ("LlamaConfig", {"num_key_value_heads": 4}),
    **{
        f"llama {name}": ("LlamaConfig", {"rope_parameters": {"rope_theta": 1e4, **scaling}})
        for name, scaling in SCALINGS.items()
    },
    "mistral": ("MistralConfig", {"sliding_window": None}),
    "mistral window": ("MistralConfig", {"sliding_window": 24}),
    "qwen2": ("Qwen2Config", {}),
    "qwen2 window": (
        "Qwen2Config",
        {"use_sliding_window": True, "sliding_window": 20, "max_window_layers": 1},
    ),
    "qwen3": ("Qwen3Config", {}),
    "gemma": ("GemmaConfig", {}),
    "gemma2": ("Gemma2Config", {"sliding_window": 24, "query_pre_attn_scalar": 20}),
    "gemma3": ("Gemma3TextConfig", {"sliding_window": 24, "query_pre_attn_scalar": 20}),
    "phi3": ("Phi3Config", {}),
    "phi3 window": ("Phi3Config", {"sliding_window": 24}),
    "phi3 longrope": ("Phi3Config", {"rope_parameters": LONGROPE}),
}


def make_model(case: str, seed: int = 0) -> transformers.PreTrainedModel:
    """A model of transformers in fp32 whose layers matter: weights large, norms uneven."""
    name, changes = FAMILIES[case]
    values = {**COMMON, **changes}
    if case == "phi3 longrope":
        values["original_max_position_embeddings"] = 64
    config = getattr(transformers, name)(**values)
    config._attn_implementation = "eager"
    torch.manual_seed(seed)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    generator = torch.Generator().manual_seed(seed + 1)
    for parameter in model.parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        if parameter.ndim == 2:
            parameter.data = noise * (1.5 * parameter.shape[-1] ** -0.5)
        else:
            parameter.data += 0.3 * noise
    return model.eval()


@lru_cache(maxsize=64)
def saved_model(case: str, folder: Path) -> transformers.PreTrainedModel:
    """The model, saved under `folder`, once."""
    model = make_model(case)
    model.save_pretrained(folder)
    return model


def prompt_tokens(length: int, seed: int = 0, vocabulary: int = 160) -> list[int]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(3, vocabulary, (length,), generator=generator).tolist()


def small_engine(**settings: Any) -> Engine:
    """The tiny model with few blocks; `check()` holds after every step of `run`."""
    settings = {"num_blocks": 96, "max_model_len": 512, **settings}
    return tiny_engine(EngineSettings(**settings))


def run(engine: Engine, prompts: Any, params: Any = GREEDY, salt: str | None = None) -> Any:
    """`generate`, with the conservation check after every step."""
    step = engine.step

    def checked() -> Any:
        chunks = step()
        engine.check()
        return chunks

    engine.step = checked  # type: ignore[method-assign]
    try:
        return engine.generate(prompts, params, salt)
    finally:
        engine.step = step  # type: ignore[method-assign]


def tokens_of(completions: list[Completion]) -> list[tuple[int, ...]]:
    return [choice.token_ids for completion in completions for choice in completion.choices]

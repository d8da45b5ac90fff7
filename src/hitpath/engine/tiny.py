"""A small model and tokenizer made on the spot: no download, no file, the same for one seed.

Four Llama layers of width 256 with random weights (about 3 million) over bytes. What it writes
means nothing, but everything on its way is real: paged KV, hits, chunks, sampling. Bytes that are
no printable ASCII get no weight in the head, so replies are (senseless) readable text.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from hitpath.engine.model import Checkpoint
from hitpath.engine.model_config import parse_config
from hitpath.engine.output import Ends
from hitpath.text.tokenizer import ByteTokenizer

END_OF_TURN = 256
_VOCABULARY = 264
_WIDTH, _INNER, _LAYERS, _HEADS, _KV_HEADS = 256, 704, 4, 8, 2
_MOST_TOKENS = 32_768


class TinyTokenizer(ByteTokenizer):
    """Bytes, and one more token that ends a turn and has no text (see TextTokenizer)."""

    name = "bytes"

    def decode(self, ids: Sequence[int]) -> str:
        return super().decode([i for i in ids if i < END_OF_TURN])


def tiny_checkpoint(seed: int = 0) -> Checkpoint:
    """The model; equal seeds give equal weights."""
    values: dict[str, Any] = {
        "architectures": ["LlamaForCausalLM"],
        "vocab_size": _VOCABULARY,
        "hidden_size": _WIDTH,
        "intermediate_size": _INNER,
        "num_hidden_layers": _LAYERS,
        "num_attention_heads": _HEADS,
        "num_key_value_heads": _KV_HEADS,
        "max_position_embeddings": _MOST_TOKENS,
        "rms_norm_eps": 1e-6,
        "tie_word_embeddings": False,
        "dtype": "float32",
    }
    generator = torch.Generator().manual_seed(seed)
    tensors = {
        name: torch.randn(shape, generator=generator) * (_gain(name) * shape[-1] ** -0.5)
        if len(shape) == 2
        else torch.ones(shape)
        for name, shape in _shapes().items()
    }
    printable = np.zeros(_VOCABULARY, dtype=np.bool_)
    printable[[ord("\n"), *range(32, 127), END_OF_TURN]] = True
    tensors["lm_head.weight"][torch.from_numpy(~printable)] = 0.0
    ends = Ends(frozenset([END_OF_TURN]), frozenset(range(END_OF_TURN, _VOCABULARY)))
    return Checkpoint("tiny", parse_config("tiny", values), tensors, ends)


def _gain(name: str) -> float:
    """Large enough that attention and layers decide (a small one repeats itself), and that the
    first token is clear of the second."""
    gains = {"embed_tokens": 0.3 * _WIDTH**0.5, "lm_head": 4.0}
    gains |= dict.fromkeys(("q_proj", "k_proj", "o_proj", "down_proj"), 2.0)
    return next((gain for part, gain in gains.items() if part in name), 1.0)


def _shapes() -> dict[str, tuple[int, ...]]:
    of_keys = _KV_HEADS * _WIDTH // _HEADS
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (_VOCABULARY, _WIDTH)}
    for i in range(_LAYERS):
        at = f"model.layers.{i}."
        shapes |= {
            f"{at}input_layernorm.weight": (_WIDTH,),
            f"{at}post_attention_layernorm.weight": (_WIDTH,),
            f"{at}self_attn.q_proj.weight": (_WIDTH, _WIDTH),
            f"{at}self_attn.k_proj.weight": (of_keys, _WIDTH),
            f"{at}self_attn.v_proj.weight": (of_keys, _WIDTH),
            f"{at}self_attn.o_proj.weight": (_WIDTH, _WIDTH),
            f"{at}mlp.gate_proj.weight": (_INNER, _WIDTH),
            f"{at}mlp.up_proj.weight": (_INNER, _WIDTH),
            f"{at}mlp.down_proj.weight": (_WIDTH, _INNER),
        }
    return shapes | {"model.norm.weight": (_WIDTH,), "lm_head.weight": (_VOCABULARY, _WIDTH)}

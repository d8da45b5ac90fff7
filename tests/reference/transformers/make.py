"""Writes parameters.json: random small configs of every architecture that hitpath reads, and how
many tensor elements Hugging Face transformers makes of each (on the meta device, no weights).

Needs torch and transformers, which hitpath's tests do not: run by hand, from the repository:

    python tests/reference/transformers/make.py tests/reference/transformers/parameters.json
"""

import json
import random
import sys
import warnings
from typing import Any

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM

SEED = 20261129
EACH = 4

rng = random.Random(SEED)


def maybe(value: Any, other: Any = None) -> Any:
    return rng.choice([value, other])


def flags(*names: str) -> dict[str, bool]:
    return {name: rng.random() < 0.5 for name in names}


def base(**fields: Any) -> dict[str, Any]:
    kv = rng.choice([1, 2, 4])
    heads = kv * rng.choice([1, 2, 3])
    head_dim = rng.choice([8, 16, 24])
    return {
        "hidden_size": heads * head_dim,
        "intermediate_size": rng.choice([24, 40, 64]),
        "num_hidden_layers": rng.randint(2, 9),
        "num_attention_heads": heads,
        "num_key_value_heads": kv,
        "vocab_size": rng.choice([100, 256, 320]),
        "tie_word_embeddings": rng.random() < 0.5,
        "pad_token_id": 0,
        **fields,
    }


def own_head() -> dict[str, int]:
    return {"head_dim": rng.choice([8, 16, 32])}


def experts(name: str, **fields: Any) -> dict[str, Any]:
    return {name: rng.randint(4, 9), "num_experts_per_tok": rng.randint(1, 3), **fields}


def latent() -> dict[str, int | None]:
    return {
        "q_lora_rank": maybe(12),
        "kv_lora_rank": 16,
        "qk_nope_head_dim": 8,
        "qk_rope_head_dim": 4,
        "v_head_dim": rng.choice([8, 12]),
    }


def deepseek(**fields: Any) -> dict[str, Any]:
    return base(
        **experts("n_routed_experts", n_shared_experts=rng.randint(1, 2)),
        **flags("attention_bias"),
        moe_intermediate_size=20,
        n_group=1,
        topk_group=1,
        first_k_dense_replace=rng.randint(0, 2),
        **fields,
    )


def delta(**fields: Any) -> dict[str, Any]:
    layers = rng.randint(2, 9)
    kinds = [rng.choice(["linear_attention", "full_attention"]) for _ in range(layers)]
    return base(
        linear_conv_kernel_dim=4,
        linear_key_head_dim=8,
        linear_value_head_dim=12,
        linear_num_key_heads=2,
        linear_num_value_heads=rng.choice([2, 4]),
        head_dim=16,
        **flags("attention_bias"),
        **{"num_hidden_layers": layers, "layer_types": kinds, **fields},
    )


def qwen_experts(**fields: Any) -> dict[str, Any]:
    return {**experts("num_experts"), "moe_intermediate_size": 20, **fields}


def mamba2_fields(d_model: int) -> dict[str, Any]:
    return {
        "mamba_n_heads": 2 * d_model // 8,
        "mamba_d_head": maybe(8, "auto"),
        "mamba_d_state": 8,
        "mamba_n_groups": rng.choice([1, 2]),
        "mamba_d_conv": 4,
        "mamba_expand": 2,
        **flags("mamba_conv_bias", "mamba_proj_bias"),
    }


def config(model_type: str) -> dict[str, Any]:
    match model_type:
        case "llama" | "granite" | "smollm3":
            return base(**flags("attention_bias", "mlp_bias"))
        case "mistral":
            return base(sliding_window=maybe(64), **own_head())
        case "ministral3":
            return base(**own_head())
        case "qwen2":
            return base()
        case "gemma":
            return base(**flags("attention_bias"), **own_head())
        case "qwen3" | "gemma2" | "gemma3_text":
            return base(**flags("attention_bias"), **own_head(), sliding_window=64)
        case "phi" | "phi3":
            return base()
        case "olmo2":
            return base(**flags("attention_bias"))
        case "olmo3" | "cohere2":
            return base(**flags("attention_bias"), sliding_window=64)
        case "glm" | "glm4":
            return base(**flags("attention_bias"), **own_head())
        case "cohere":
            return base(**flags("attention_bias", "use_qk_norm"))
        case "mixtral":
            return base(**experts("num_local_experts"))
        case "gpt_oss":
            fields = base(**experts("num_local_experts"), **flags("attention_bias"))
            return {**fields, **own_head(), "sliding_window": 64}
        case "minimax_m2":
            return base(**experts("num_local_experts"), **own_head())
        case "qwen2_moe":
            return base(**qwen_experts(shared_expert_intermediate_size=28), **flags("qkv_bias"))
        case "qwen3_moe":
            return base(**qwen_experts(), **flags("attention_bias"), **own_head())
        case "deepseek_v2":
            return deepseek(**latent(), topk_method="greedy")
        case "deepseek_v3":
            return deepseek(**latent())
        case "glm4_moe_lite":
            return {**deepseek(**latent()), "first_k_dense_replace": 1}
        case "glm4_moe":
            return deepseek(**flags("use_qk_norm"), **own_head())
        case "qwen3_next" | "qwen3_5_moe_text":
            return delta(**qwen_experts(shared_expert_intermediate_size=28))
        case "qwen3_5_text":
            return delta()
        case "mamba":
            fields = base(state_size=8, conv_kernel=4, expand=2, time_step_rank=maybe("auto", 6))
            width = {"intermediate_size": 2 * fields["hidden_size"]}
            return {**fields, **width, **flags("use_bias", "use_conv_bias")}
        case "mamba2":
            fields = base(state_size=8, conv_kernel=4, expand=2, n_groups=2)
            return {
                **fields,
                "head_dim": 8,
                "num_heads": fields["hidden_size"] * 2 // 8,
                **flags("use_bias", "use_conv_bias"),
            }
        case "jamba":
            return base(
                num_experts=maybe(4, 1),
                num_experts_per_tok=1,
                attn_layer_period=3,
                attn_layer_offset=1,
                expert_layer_period=2,
                expert_layer_offset=1,
                mamba_d_state=8,
                mamba_d_conv=4,
                mamba_expand=2,
                mamba_dt_rank=maybe("auto", 6),
                **flags("mamba_conv_bias", "mamba_proj_bias"),
            )
        case "granitemoehybrid":
            fields = base()
            kinds = [rng.choice(["mamba", "attention"]) for _ in range(fields["num_hidden_layers"])]
            return {
                **fields,
                **mamba2_fields(fields["hidden_size"]),
                "layer_types": kinds,
                "shared_intermediate_size": 28,
                "num_local_experts": maybe(4, 0),
                "num_experts_per_tok": 2,
                **flags("attention_bias"),
            }
        case "falcon_h1":
            fields = base()
            states = mamba2_fields(fields["hidden_size"])
            return {
                **fields,
                **states,
                "mamba_d_ssm": 2 * fields["hidden_size"],
                "projectors_bias": states["mamba_proj_bias"],
                **flags("attention_bias", "mlp_bias", "mamba_rms_norm"),
            }
        case "nemotron_h":
            fields = base()
            layers = fields.pop("num_hidden_layers")
            kinds = [rng.choice(["mamba", "attention", "mlp", "moe"]) for _ in range(layers)]
            return {
                **fields,
                "layers_block_type": kinds,
                "head_dim": 16,
                "ssm_state_size": 8,
                "mamba_num_heads": 4,
                "mamba_head_dim": 8,
                "n_groups": 2,
                "conv_kernel": 4,
                **experts("n_routed_experts"),
                "moe_intermediate_size": 20,
                "moe_shared_expert_intermediate_size": 28,
                "moe_latent_size": maybe(12),
                "n_group": 1,
                "topk_group": 1,
                **flags("use_bias", "use_conv_bias"),
            }
    raise ValueError(model_type)


TYPES = [
    "llama", "granite", "smollm3", "mistral", "ministral3", "qwen2", "qwen3", "gemma", "gemma2",
    "gemma3_text", "phi", "phi3", "olmo2", "olmo3", "cohere", "cohere2", "glm", "glm4", "mixtral",
    "gpt_oss", "minimax_m2", "qwen2_moe", "qwen3_moe", "deepseek_v2", "deepseek_v3",
    "glm4_moe_lite", "glm4_moe", "qwen3_next", "qwen3_5_moe_text", "qwen3_5_text", "mamba",
    "mamba2", "jamba", "granitemoehybrid", "falcon_h1", "nemotron_h",
]  # fmt: skip


def parameters(model_type: str, fields: dict[str, Any]) -> int:
    made = AutoConfig.for_model(model_type, **fields)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(made)
    tied = bool(made.tie_word_embeddings)
    return sum(
        tensor.numel()
        for name, tensor in model.state_dict().items()
        if "inv_freq" not in name and not (tied and name == "lm_head.weight")
    )


def main() -> None:
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    rows = []
    for model_type in TYPES:
        for _ in range(EACH):
            fields = config(model_type)
            print(model_type, fields, file=sys.stderr)
            rows.append(
                {"parameters": parameters(model_type, fields), "model_type": model_type, **fields}
            )
    header = {
        "tool": f"transformers {transformers.__version__}, torch {torch.__version__}",
        "seed": SEED,
        "command": "python tests/reference/transformers/make.py FILE",
    }
    lines = ",\n".join(json.dumps(row) for row in rows)
    with open(sys.argv[1], "w") as out:
        out.write(f'{{"header": {json.dumps(header)},\n"models": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()

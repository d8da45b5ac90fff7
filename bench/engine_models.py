"""Random-weight Llama models of 32 and 152 M for the engine's benches, with a trained tokenizer.

    python bench/engine_models.py [--gguf]

Into bench/data/engine-small and engine-big (Hugging Face form, bfloat16), once; with --gguf, as
GGUF, too, for OpenVINO GenAI (needs the package gguf). The tokenizer is a byte-level BPE of 8,192
tokens, trained on the standard library's sources. Nothing is downloaded.
"""

import argparse
import json
import sysconfig
from pathlib import Path
from typing import Any

from _measure import DATA

SIZES = {"small": (8, 512, 8, 2, 1536), "big": (12, 1024, 16, 4, 2816)}
VOCABULARY = 8192
POSITIONS = 16_384
SPECIAL = ["<|bos|>", "<|eos|>", "<|im_start|>", "<|im_end|>", "<unk>"]
TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def model_folder(name: str, positions: int = POSITIONS) -> Path:
    """The folder of `small` or `big`, made now if it is not there yet; with other `positions`, one
    of the same weights whose configuration allows so many."""
    folder = DATA / f"engine-{name}"
    if not (folder / "tokenizer.json").exists():
        _make(name, folder)
    if positions == POSITIONS:
        return folder
    longer = DATA / f"engine-{name}-{positions}"
    longer.mkdir(exist_ok=True)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["max_position_embeddings"] = positions
    (longer / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for file in folder.iterdir():
        if not (longer / file.name).exists():
            (longer / file.name).symlink_to(file)
    return longer


def _make(name: str, folder: Path) -> None:
    import torch
    import transformers

    print(f"making {folder}", flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = _tokenizer()
    layers, hidden, heads, kv_heads, inner = SIZES[name]
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=hidden,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=hidden // heads,
        max_position_embeddings=POSITIONS,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    torch.manual_seed(0)
    transformers.LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    files = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))[:180]
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train([str(file) for file in files], trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        bos_token="<|bos|>",
        eos_token="<|im_end|>",
        unk_token="<unk>",
        pad_token="<|eos|>",
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def write_gguf(name: str) -> Path:
    """The model as GGUF in fp16 (vectors in fp32), queries and keys in llama.cpp's order."""
    import torch
    from gguf import GGUFWriter, TokenType
    from safetensors.torch import load_file

    folder = model_folder(name)
    path = DATA / f"engine-{name}.gguf"
    if path.exists():
        return path
    config = json.loads((folder / "config.json").read_text())
    tensors = load_file(folder / "model.safetensors")
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    writer = GGUFWriter(str(path), "llama")
    writer.add_name(name)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    for add in (writer.add_key_length, writer.add_value_length, writer.add_rope_dimension_count):
        add(config["head_dim"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(VOCABULARY)
    writer.add_file_type(1)
    names: list[str] = [""] * VOCABULARY
    for token, number in tokenizer["model"]["vocab"].items():
        names[number] = token
    special = {token["id"] for token in tokenizer["added_tokens"]}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(names)
    writer.add_token_types(
        [TokenType.CONTROL if i in special else TokenType.NORMAL for i in range(VOCABULARY)]
    )
    merges = tokenizer["model"]["merges"]
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in merges])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(3)
    writer.add_pad_token_id(1)
    writer.add_add_bos_token(False)
    for key, tensor in tensors.items():
        if key.endswith(("q_proj.weight", "k_proj.weight")):
            tensor = _halves_apart(tensor, heads if "q_proj" in key else kv_heads)
        kind = torch.float16 if tensor.ndim > 1 else torch.float32
        writer.add_tensor(_gguf_name(key), tensor.contiguous().to(kind).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _halves_apart(tensor: Any, heads: int) -> Any:
    """llama.cpp turns neighbouring elements of a head, transformers its halves."""
    split = tensor.reshape(heads, 2, tensor.shape[0] // heads // 2, *tensor.shape[1:])
    return split.swapaxes(1, 2).reshape(tensor.shape)


def _gguf_name(key: str) -> str:
    whole = {
        "model.embed_tokens": "token_embd",
        "model.norm": "output_norm",
        "lm_head": "output",
    }
    parts = {
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm",
    }
    base = key.removesuffix(".weight")
    if base in whole:
        return f"{whole[base]}.weight"
    number, part = base.removeprefix("model.layers.").split(".", 1)
    return f"blk.{number}.{parts[part]}.weight"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gguf", action="store_true", help="for OpenVINO GenAI, too")
    options = parser.parse_args()
    for name in SIZES:
        print(write_gguf(name) if options.gguf else model_folder(name))


if __name__ == "__main__":
    main()

"""Model folders made for tests: a byte-level BPE, trained on the planted words, with one of the
templates in tests/templates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.planting import WORDS

TEMPLATES = Path(__file__).resolve().parents[1] / "templates"
SPECIALS = ["<|im_start|>", "<|im_end|>", "<|User|>", "<|Assistant|>", "<s>", "</s>", "<think>",
            "</think>", "<|system|>", "<|user|>", "<|assistant|>"]  # fmt: skip


def model_folder(folder: Path, template: str) -> str:
    """The path of a folder as `--tokenizer` takes it."""
    tokenizers = pytest.importorskip("tokenizers")
    pytest.importorskip("jinja2")
    byte_level = tokenizers.pre_tokenizers.ByteLevel
    trained = tokenizers.Tokenizer(tokenizers.models.BPE())
    trained.pre_tokenizer = byte_level(add_prefix_space=False)
    trained.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=900, initial_alphabet=byte_level.alphabet(), show_progress=False
    )
    texts = [f"{word} {word.capitalize()} the {word} of" for word in WORDS]
    trained.train_from_iterator(texts * 3, trainer)
    trained.add_special_tokens(SPECIALS)
    folder.mkdir(exist_ok=True)
    trained.save(str(folder / "tokenizer.json"))
    source = (TEMPLATES / f"{template}.jinja").read_text()
    config = {"chat_template": source, "eos_token": "</s>", "bos_token": "<s>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return str(folder)

"""An engine from a model folder in Hugging Face's form, read from this machine only."""

from pathlib import Path
from typing import Any

from hitpath.core import SettingError
from hitpath.engine.engine import Engine
from hitpath.engine.events import Observe, unobserved
from hitpath.engine.model import Checkpoint, build_model
from hitpath.engine.model_config import read_config, read_object
from hitpath.engine.output import Ends
from hitpath.engine.settings import EngineSettings
from hitpath.engine.tiny import TinyTokenizer, tiny_checkpoint
from hitpath.engine.weights import read_tensors
from hitpath.text.tokenizer import TextTokenizer, load_tokenizer


def load_engine(
    folder: str, settings: EngineSettings | None = None, observe: Observe = unobserved
) -> Engine:
    """config.json, safetensors and, where there is one, tokenizer.json with its chat template.

    Raises SettingError for what is missing, unknown or does not fit.
    """
    path, settings = Path(folder), settings or EngineSettings()
    if not path.is_dir():
        raise SettingError(folder, "no such folder (models are not fetched)")
    config = read_config(path)
    checkpoint = Checkpoint(path.name, config, read_tensors(path), _ends(path))
    tokenizer: TextTokenizer | None = None
    if (path / "tokenizer.json").exists():
        tokenizer = load_tokenizer(folder)
    return Engine(build_model(checkpoint, settings), tokenizer, settings, observe)


def tiny_engine(
    settings: EngineSettings | None = None, observe: Observe = unobserved, seed: int = 0
) -> Engine:
    """A small model with random weights and a tokenizer of bytes, made on the spot."""
    settings = settings or EngineSettings()
    model = build_model(tiny_checkpoint(seed), settings)
    return Engine(model, TinyTokenizer(), settings, observe)


def _ends(folder: Path) -> Ends:
    """End-of-sequence ids of generation_config.json, else config.json; ids without text."""
    eos: Any = None
    for name in ("generation_config.json", "config.json"):
        if eos is None:
            eos = _read(folder / name).get("eos_token_id")
    ids = eos if isinstance(eos, list) else [] if eos is None else [eos]
    if not all(isinstance(i, int) for i in ids):
        raise SettingError(str(folder), f"eos_token_id: {ids!r} are no token ids")
    added = _read(folder / "tokenizer.json").get("added_tokens") or []
    hidden = {token["id"] for token in added if token.get("special")}
    return Ends(frozenset(ids), frozenset(hidden | set(ids)))


def _read(path: Path) -> dict[str, Any]:
    """An object, {} where there is no such file. Raises SettingError."""
    return read_object(path) if path.exists() else {}

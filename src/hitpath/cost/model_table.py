"""Built-in models: the fields of their config.json with where they were read, in data/models.json.

A model is found by its name here (llama-3.1-8b) or by its repository (Qwen/Qwen3-32B), or read
from a config.json or the folder that holds one.
"""

import json
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from hitpath.core import SettingError
from hitpath.cost.config import read_config, shape_from_config
from hitpath.cost.shapes import ModelShape

_TABLE = Path(__file__).parent / "data" / "models.json"


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A model of the table. `published_parameters` is what `published_source` states;
    `beyond_the_shape` of it are stored elements that are no part of the decoder as served
    (negative: the statement leaves some out), `what` says which."""

    name: str
    repository: str
    source: str
    config: dict[str, Any]
    published_parameters: int
    published_source: str
    beyond_the_shape: int
    what: str

    def shape(self) -> ModelShape:
        return shape_from_config(self.config, self.name, self.source, str(_TABLE))


@cache
def built_in_models() -> dict[str, BuiltIn]:
    """The table by name, in its order."""
    rows = json.loads(_TABLE.read_bytes())["models"]
    return {
        row["name"]: BuiltIn(
            name=row["name"],
            repository=row["repository"],
            source=row["source"],
            config=row["config"],
            published_parameters=row["published"]["parameters"],
            published_source=row["published"]["source"],
            beyond_the_shape=row["published"].get("beyond_the_shape", 0),
            what=row["published"].get("what", ""),
        )
        for row in rows
    }


def built_in(model: str) -> BuiltIn | None:
    """The built-in model of this name or repository, in any case; None where there is none."""
    table, wanted = built_in_models(), model.lower()
    if wanted in table:
        return table[wanted]
    return next((one for one in table.values() if one.repository.lower() == wanted), None)


def config_path(model: str) -> Path:
    """The config.json that a path names, itself or in its folder. Raises SettingError where it
    is neither that nor a name of the table."""
    try:
        path = Path(model) / "config.json" if Path(model).is_dir() else Path(model)
        found = path.is_file()
    except (OSError, ValueError):
        found = False
    if not found:
        names = list(built_in_models())
        close = get_close_matches(model.lower(), names, n=4) or ["llama-3.1-8b", "deepseek-v3"]
        several = f"{len(names)} built-in models ({', '.join(close)} ...)"
        cause = f"neither a config.json nor one of {several}"
        raise SettingError(f"--model {model}", cause)
    return path


def load_shape(model: str) -> ModelShape:
    """A built-in model, or the one that a config.json describes.

    Raises SettingError for an unknown name, InputError for a config that lacks a field or is of
    an architecture not known here.
    """
    one = built_in(model)
    if one is not None:
        return one.shape()
    path = config_path(model)
    return shape_from_config(read_config(path), path.resolve().parent.name, str(path), str(path))

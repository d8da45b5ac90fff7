"""Tokenizers of Hugging Face model folders: tokenizer.json and the chat template beside it.

Reads tokenizer.json, tokenizer_config.json, special_tokens_map.json, chat_template.jinja,
chat_template.json and additional_chat_templates/*.jinja, and nothing else. Truncation and padding
that a file may ask for are off, as engines have them.
"""

import json
from array import array
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hitpath.core import SettingError
from hitpath.text.chat_template import DEFAULT, ChatTemplates
from hitpath.text.seams import Cuts, cuts_of
from hitpath.text.tokenizer import MORE_TEMPLATES, OPTION, Tokens, needed


class HuggingFaceTokenizer:
    """A `tokenizers.Tokenizer` with its chat templates (see TextTokenizer)."""

    def __init__(
        self,
        name: str,
        tokenizer: Any,
        templates: ChatTemplates | None = None,
        end_of_turn: str = "",
    ) -> None:
        self.name = name
        self._tokenizer = tokenizer
        self._templates = templates
        self._end_of_turn = end_of_turn
        tokenizer.no_truncation()
        tokenizer.no_padding()
        normalizer = tokenizer.normalizer
        self.cuts: Cuts = cuts_of(
            json.loads(tokenizer.to_str()),
            normalizer.normalize_str if normalizer is not None else str,
        )
        self.prompt_frame: tuple[Tokens, Tokens] = self._frame()

    def encode(self, text: str) -> Tokens:
        if not text.isascii():
            text.encode()  # a lone surrogate is refused here, with its place
        return _array(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def ends(self, text: str) -> npt.NDArray[np.int64]:
        if not text.isascii():
            text.encode()
        offsets = self._tokenizer.encode(text, add_special_tokens=False).offsets
        found = np.fromiter((end for _, end in offsets), dtype=np.int64, count=len(offsets))
        return np.maximum.accumulate(found)  # a token of no character has its place from before

    def decode(self, ids: Sequence[int]) -> str:
        text: str = self._tokenizer.decode(list(map(int, ids)), skip_special_tokens=False)
        return text

    def render_chat(self, messages: Sequence[dict[str, Any]], tools: Sequence[Any] | None) -> str:
        if self._templates is None:
            raise SettingError(OPTION, f"{self.name} has no chat template, and the trace has chats")
        return self._templates.render(messages, tools)

    def render_reply(self, reply: str, chat: bool) -> str:
        return reply + (self._end_of_turn if chat else "")

    def _frame(self) -> tuple[Tokens, Tokens]:
        plain = self._tokenizer.encode("a", add_special_tokens=False).ids
        framed = self._tokenizer.encode("a", add_special_tokens=True).ids
        if not plain:  # the vocabulary has no "a"
            return _array(framed), _array([])
        for at in range(len(framed) - len(plain) + 1):
            if framed[at : at + len(plain)] == plain:
                return _array(framed[:at]), _array(framed[at + len(plain) :])
        raise SettingError(OPTION, f"{self.name}: its post-processor changes the text's own tokens")


def load_path(path: Path, now: datetime | None) -> HuggingFaceTokenizer:
    """From a tokenizer.json or a folder that has one. Raises SettingError."""
    tokenizers = needed("tokenizers", "tokenizers")
    folder = path if path.is_dir() else path.parent
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise SettingError(OPTION, f"no tokenizer.json in {path}{_what_else(path)}")
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises bare Exception
        raise SettingError(OPTION, f"{file}: {_one_line(error)}") from error
    config = _read_json(folder / "tokenizer_config.json")
    special = {
        **_special_tokens(_read_json(folder / "special_tokens_map.json")),
        **_special_tokens(config),
    }
    sources = _template_sources(folder, config)
    templates = ChatTemplates(sources, special, now) if sources else None
    return HuggingFaceTokenizer(str(path), tokenizer, templates, special.get("eos_token", ""))


def _what_else(folder: Path) -> str:
    if (folder / "tokenizer.model").exists() or (folder / "tekken.json").exists():
        return " (only tokenizer.json is read, not tokenizer.model or tekken.json)"
    return ""


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _read_json(path: Path) -> dict[str, Any]:
    """An object, or {} where there is no such file. Raises SettingError."""
    text = _text_of(path)
    if text is None:
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingError(OPTION, f"{path}: {_one_line(error)}") from error
    if not isinstance(value, dict):
        raise SettingError(OPTION, f"{path}: not an object")
    return value


def _text_of(path: Path) -> str | None:
    """What stands in a file, None where there is none. Raises SettingError; a pipe of that name
    is one too, for nobody may ever write to it."""
    if not path.exists():
        return None
    if not path.is_file():
        raise SettingError(OPTION, f"{path}: is no file")
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise SettingError(OPTION, f"{path}: {_one_line(error)}") from error


def _special_tokens(config: dict[str, Any]) -> dict[str, str]:
    """`bos_token` and the like: text, or an object with `content`."""
    found = {}
    for key, value in config.items():
        content = value.get("content") if isinstance(value, dict) else value
        if key.endswith("_token") and isinstance(content, str):
            found[key] = content
    return found


def _template_sources(folder: Path, config: dict[str, Any]) -> dict[str, str]:
    """Name -> source: files of their own go before the configuration. Raises SettingError."""
    sources: dict[str, str] = {}
    for value in (
        config.get("chat_template"),
        _read_json(folder / "chat_template.json").get("chat_template"),
    ):
        sources.update(_named(folder, value))
    files = {DEFAULT: folder / "chat_template.jinja"}
    for path in sorted(folder.glob(MORE_TEMPLATES)):
        files[path.stem] = path
    for name, path in files.items():
        text = _text_of(path)
        if text is not None:
            sources[name] = text
    return sources


def _named(folder: Path, value: Any) -> dict[str, str]:
    if value is None:
        return {}
    if isinstance(value, str):
        return {DEFAULT: value}
    pairs = value.items() if isinstance(value, dict) else []
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        pairs = [(item.get("name"), item.get("template")) for item in value]
    named = dict(pairs)
    if not named or not all(isinstance(x, str) for pair in named.items() for x in pair):
        cause = f"{folder}: chat_template is neither text nor a list of named templates"
        raise SettingError(OPTION, cause)
    return named


def _array(ids: list[int]) -> Tokens:
    return np.frombuffer(array("I", ids), dtype=np.uint32)

"""What turns prompts into tokens: a local tokenizer, or bytes where none is given.

Everything is read from files on this machine; nothing is ever fetched. `tokenizers`, `jinja2` and
`mistral-common` are the optional extra `text`, imported when a tokenizer is asked for.
"""

import importlib
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hitpath.core import HitpathError, SettingError
from hitpath.text import as_bytes
from hitpath.text.seams import Cuts

Tokens = npt.NDArray[np.uint32]
OPTION = "--tokenizer"
MISTRAL = "mistral:"
MORE_TEMPLATES = "additional_chat_templates/*.jinja"
_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
    "chat_template.json",
)
"""Of a model folder (hugging_face.py)."""


class RenderError(HitpathError):
    """Messages that a chat template cannot render: `field` within the request, and `cause`."""

    def __init__(self, field: str, cause: str) -> None:
        super().__init__(f"{field}: {cause}")
        self.field = field
        self.cause = cause


class TextTokenizer(Protocol):
    """Text to token ids, as an engine does it.

    A pure function of its files: the same text always gives the same tokens, and no call changes
    anything that another one sees. Reads nothing from the network, the clock or the environment.
    Time is linear in the text.
    """

    @property
    def name(self) -> str:
        """What reports call it: the file, the folder, the bundled name, or `bytes`."""

    @property
    def cuts(self) -> Cuts:
        """Where a text may be cut so that the tokens of its parts are those of the whole."""

    @property
    def prompt_frame(self) -> tuple[Tokens, Tokens]:
        """What an engine puts before and after a completion prompt (bos, eos), mostly one id or
        none. Rendered chats have theirs in the text and get no frame."""

    def encode(self, text: str) -> Tokens:
        """Token ids, uint32, of any length including 0; the names of added tokens are read as
        these tokens. No frame. Raises UnicodeEncodeError for a lone surrogate."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text that `encode` makes these ids of, as far as it can be told: added tokens by
        their names, U+FFFD for bytes that are no whole character; ids of no token are left out."""

    def ends(self, text: str) -> npt.NDArray[np.int64]:
        """Of each token of `encode(text)` the character behind the last one that it has a part of;
        they never fall. Raises UnicodeEncodeError for a lone surrogate."""

    def render_chat(self, messages: Sequence[dict[str, Any]], tools: Sequence[Any] | None) -> str:
        """The text of a chat request up to the head of the coming reply, for `encode`.

        Raises RenderError where the template refuses the messages, SettingError without one, and
        UnicodeEncodeError (bytes) for a lone surrogate. Arguments are not changed.
        """

    def render_reply(self, reply: str, chat: bool) -> str:
        """A reply as generated after a prompt; in a chat the end-of-turn token closes it."""


class ByteTokenizer:
    """One byte of UTF-8 for one token: figures are in bytes and say so."""

    name = "bytes"
    cuts = Cuts()  # making them again is as fast as copying
    prompt_frame = (np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.uint32))

    def encode(self, text: str) -> Tokens:
        return np.frombuffer(text.encode(), dtype=np.uint8).astype(np.uint32)

    def decode(self, ids: Sequence[int]) -> str:
        return np.array(ids, dtype=np.uint8).tobytes().decode("utf-8", "replace")

    def ends(self, text: str) -> npt.NDArray[np.int64]:
        return character_ends(text, np.arange(1, len(text.encode()) + 1))

    def render_chat(self, messages: Sequence[dict[str, Any]], tools: Sequence[Any] | None) -> str:
        return as_bytes.render_chat(list(messages), list(tools or ())).decode()

    def render_reply(self, reply: str, chat: bool) -> str:
        return as_bytes.render_reply(reply, chat).decode()


def character_ends(text: str, ends: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The characters behind the last ones that bytes before these ends are a part of."""
    is_first = (np.frombuffer(text.encode(), dtype=np.uint8) & 0xC0) != 0x80
    begun = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(is_first)])
    return np.asarray(begun[ends], dtype=np.int64)


def load_tokenizer(spec: str | None, now: datetime | None = None) -> TextTokenizer:
    """The tokenizer that `--tokenizer SPEC` names.

    SPEC is a tokenizer.json, a model folder (with its chat template), or mistral:NAME for one
    bundled in mistral-common; None gives bytes. `now` is the date that chat templates may print;
    without it they take their own fixed date or say that they need one.
    Raises SettingError for whatever is wrong with it.
    """
    if spec is None:
        return ByteTokenizer()
    if spec.startswith(MISTRAL):
        from hitpath.text.mistral import load_bundled

        return load_bundled(spec.removeprefix(MISTRAL))
    path = Path(spec)
    try:
        if not path.exists():
            cause = f"no such file or folder: {spec}"
            if not path.is_absolute() and len(path.parts) == 2:
                cause += " (models are not fetched: give the folder that holds its tokenizer.json)"
            raise SettingError(OPTION, cause)
        from hitpath.text.hugging_face import load_path

        return load_path(path, now)
    except (OSError, ValueError) as error:  # a name too long, a NUL in it, no rights
        cause = f"{spec}: {getattr(error, 'strerror', None) or error}"
        raise SettingError(OPTION, cause) from error


def files_of(spec: str | None) -> list[Path]:
    """The files that a tokenizer is read from, as far as they are there: no result may be written
    over them."""
    if spec is None or spec.startswith(MISTRAL):
        return []
    path = Path(spec)
    try:
        folder = path if path.is_dir() else path.parent
        others = [folder / name for name in _FILES]
        return [path, *others, *folder.glob(MORE_TEMPLATES)]
    except (OSError, ValueError):
        return []  # told when it is loaded


def needed(module: str, package: str) -> Any:
    """A module of the extra `text`. Raises SettingError that names the extra where absent."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        cause = f"needs {package}, which is not installed: it comes with the extra text (README)"
        raise SettingError(OPTION, cause) from error

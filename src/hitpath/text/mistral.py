"""The tokenizers that mistral-common bundles, by its own instruct tokenizer.

mistral-common has no text form of a request: it puts control ids between the tokens of pieces of
text, so that "[INST]" written by a user stays text. Here a rendered chat has each control token as
its name after the noncharacter U+FDD0, and U+FDD0 U+FDD1 between two pieces that stand side by
side; `encode` gives exactly the ids that mistral-common gives.
"""

import re
import threading
from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hitpath.core import SettingError
from hitpath.text.mistral_requests import (
    as_mistral_messages,
    as_mistral_tools,
    refusal,
    remember_checked_tools,
)
from hitpath.text.regex_seams import Verdict, regex_verdict
from hitpath.text.seams import Cuts, make_cuts
from hitpath.text.tekken import tekken_encoder
from hitpath.text.tokenizer import (
    MISTRAL,
    OPTION,
    RenderError,
    Tokens,
    character_ends,
    needed,
)

CONTROL = "\ufdd0"
JOINT = CONTROL + "\ufdd1"
_PACKAGE = "mistral-common"


class MistralTokenizer:
    """One bundled tokenizer (see TextTokenizer)."""

    def __init__(
        self,
        name: str,
        mistral: Any,
        special_ids: Iterable[int],
        encode_text: Callable[[str], list[int]],
        seam_pattern: str | None,
    ) -> None:
        """encode_text: the ids of a text without control tokens; seam_pattern: the regex that
        splits it, None where that is not known."""
        self.name = name
        self._mistral = mistral
        remember_checked_tools(mistral)
        self._base = mistral.instruct_tokenizer.tokenizer
        self._recorder = mistral.instruct_tokenizer.tokenizer = _Recorder(self._base)
        self._encode_text = encode_text
        self._controls = _control_tokens(self._base, special_ids)
        self._names = {id_: control for control, id_ in self._controls.items()}
        self._sizes: dict[int, int] = {}
        marked = [CONTROL + control for control in self._controls]
        verdict = regex_verdict(seam_pattern) if seam_pattern is not None else Verdict()
        self.cuts: Cuts = make_cuts(
            [*marked, JOINT],
            frozenset(marked),
            ends=verdict.parts,
            lines=verdict.line_parts,
            alone=True,
        )
        empty = np.empty(0, dtype=np.uint32)
        self.prompt_frame: tuple[Tokens, Tokens] = (
            np.array([self._base.bos_id], dtype=np.uint32),
            empty,
        )

    def encode(self, text: str) -> Tokens:
        if not text.isascii():
            text.encode()  # a lone surrogate is refused here, with its place
        ids = self._ids(text) if CONTROL in text else self._encode_text(text)
        return np.frombuffer(array("I", ids), dtype=np.uint32)

    def _ids(self, text: str) -> list[int]:
        """The ids of a text with control tokens."""
        assert self.cuts.added is not None
        ids: list[int] = []
        position = 0
        for match in self.cuts.added.finditer(text):
            if match.start() > position:
                ids += self._encode_text(text[position : match.start()])
            if match[0] != JOINT:
                ids.append(self._controls[match[0][1:]])
            position = match.end()
        if len(text) > position:
            ids += self._encode_text(text[position:])
        return ids

    def ends(self, text: str) -> npt.NDArray[np.int64]:
        pieces: list[npt.NDArray[np.int64]] = []
        position = 0
        found = self.cuts.added.finditer(text) if self.cuts.added is not None else iter(())
        for match in found:
            pieces.append(self._ends(text[position : match.start()]) + position)
            position = match.end()
            if match[0] != JOINT:
                pieces.append(np.array([position], dtype=np.int64))
        pieces.append(self._ends(text[position:]) + position)
        return np.concatenate(pieces)

    def _ends(self, text: str) -> npt.NDArray[np.int64]:
        """Of a text without control tokens."""
        if not text:
            return np.empty(0, dtype=np.int64)
        size = len(text.encode())
        lengths = [self._num_bytes(id_) for id_ in self._encode_text(text)]
        ends = np.cumsum(lengths, dtype=np.int64)
        ends -= ends[-1] - size  # SentencePiece puts a space in front that the text has not
        return character_ends(text, np.maximum(ends, 0))

    def _num_bytes(self, id_: int) -> int:
        """Bytes of text that a token stands for."""
        known = self._sizes.get(id_)
        if known is None:
            known = self._sizes[id_] = len(_bytes_of(self._base, id_))
        return known

    def decode(self, ids: Sequence[int]) -> str:
        parts: list[str] = []
        known = (int(id_) for id_ in ids if id_ < self._base.n_words)
        for is_control, run in groupby(known, self._names.__contains__):
            if is_control:
                parts += [CONTROL + self._names[id_] for id_ in run]
            else:
                parts.append(self._base.decode(list(run)))
        return "".join(parts)

    def render_chat(self, messages: Sequence[dict[str, Any]], tools: Sequence[Any] | None) -> str:
        self._recorder.pieces = []
        said, listed = as_mistral_messages(messages), as_mistral_tools(tools or ())
        try:
            ids = self._encoded(said, listed)
        except Exception as error:  # pydantic's, its own and bare ones
            raise refusal(error, said, listed, self._encoded) from error
        return self._text_of(ids, self._recorder.pieces)

    def _encoded(self, messages: list[dict[str, Any]], tools: list[Any]) -> Sequence[int]:
        """Ids of a request as mistral-common takes it, pieces of text as the recorder has them."""
        request = needed("mistral_common.protocol.instruct.request", _PACKAGE)
        chat = request.ChatCompletionRequest.from_openai(messages=messages, tools=tools or None)
        ids: Sequence[int] = self._mistral.encode_chat_completion(chat).tokens
        return ids

    def render_reply(self, reply: str, chat: bool) -> str:
        return reply + (CONTROL + self._names[self._base.eos_id] if chat else "")

    def _text_of(self, ids: Sequence[int], pieces: Sequence[str]) -> str:
        parts: list[str] = []
        after_piece = False
        for id_ in ids:
            if id_ >= 0:
                parts.append(CONTROL + self._names[id_])
                after_piece = False
                continue
            piece = pieces[-1 - id_]
            if CONTROL in piece:
                raise RenderError("messages", "hold U+FDD0, which marks control tokens")
            parts += [JOINT, piece] if after_piece else [piece]
            after_piece = True
        return "".join(parts)


class _Recorder(threading.local):
    """Stands in for the base tokenizer: piece n of text is "tokenised" to the one id -1 - n. Each
    thread has pieces of its own."""

    def __init__(self, base: Any) -> None:
        self._base = base
        self.pieces: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._base, name)

    def encode(self, s: str, bos: bool, eos: bool) -> list[int]:
        self.pieces.append(s)
        head = [self._base.bos_id] if bos else []
        return [*head, -len(self.pieces), *([self._base.eos_id] if eos else [])]

    def decode(self, *_: Any, **__: Any) -> str:
        return ""


def bundled_names() -> tuple[str, ...]:
    """The names that mistral:NAME takes. Raises SettingError without mistral-common."""
    return tuple(_bundled_files())


def load_bundled(name: str) -> MistralTokenizer:
    """The bundled tokenizer of that name. Raises SettingError."""
    files = _bundled_files()
    if name not in files:
        known = ", ".join(files)
        raise SettingError(OPTION, f"mistral-common bundles no {name!r}; it has {known}")
    module = needed("mistral_common.tokens.tokenizers.mistral", _PACKAGE)
    try:
        mistral = module.MistralTokenizer.from_file(str(files[name]))
    except ImportError as error:
        cause = f"{name} needs sentencepiece: pip install 'mistral-common[sentencepiece]'"
        raise SettingError(OPTION, cause) from error
    except Exception as error:
        raise SettingError(OPTION, f"{name}: {' '.join(str(error).split())}") from error
    base = mistral.instruct_tokenizer.tokenizer
    if files[name].suffix == ".json":
        specials = range(base.num_special_tokens)
        return MistralTokenizer(MISTRAL + name, mistral, specials, *tekken_encoder(files[name]))
    found = getattr(base, "special_ids", None)
    if found is None:
        raise SettingError(OPTION, f"{name} needs mistral-common 1.9.1 or newer")
    encode = partial(base.encode, bos=False, eos=False)
    return MistralTokenizer(MISTRAL + name, mistral, found, encode, None)


def _bundled_files() -> dict[str, Path]:
    data = Path(needed("mistral_common", _PACKAGE).__file__).parent / "data"
    return {
        path.name.removesuffix(".json"): path
        for path in sorted(data.iterdir())
        if re.search(r"^tekken.*\.json$|\.model(\.v\w+)?$", path.name)
    }


def _bytes_of(base: Any, id_: int) -> bytes:
    """What a token of text stands for: Tekken's bytes, SentencePiece's piece with its mark for a
    space, or the one byte of a fallback."""
    if hasattr(base, "id_to_byte_piece"):
        policy = needed("mistral_common.tokens.tokenizers.base", _PACKAGE).SpecialTokenPolicy
        return bytes(base.id_to_byte_piece(id_, policy.KEEP))
    piece: str = base.id_to_piece(id_)
    if re.fullmatch(r"<0x[0-9A-F]{2}>", piece):
        return bytes([int(piece[3:5], 16)])
    return piece.replace("\u2581", " ").encode()


def _control_tokens(base: Any, special_ids: Iterable[int]) -> dict[str, int]:
    """Name -> id of every control token that has a use (the fillers have none)."""
    names = {base.id_to_piece(id_): id_ for id_ in sorted(special_ids)}
    return {name: id_ for name, id_ in names.items() if not name.startswith("<SPECIAL_")}

"""Which character each token ends at: by decoding, by the library's own offsets, and by hand."""

from pathlib import Path

import numpy as np
import pytest

from doctor.model_folders import model_folder
from hitpath.text.tokenizer import ByteTokenizer, TextTokenizer, load_tokenizer

TEXTS = [
    "",
    "plain words, 12,345 and more",
    " Héllo wörld 👩‍👩‍👧 你好 \n\n x  y\t!",
    "🙃" * 5,
    "a\u0301e\u0301",
]
CHAT = [{"role": "user", "content": TEXTS[2]}, {"role": "assistant", "content": "Well."},
        {"role": "user", "content": "[INST] is text here"}]  # fmt: skip


def check(tokenizer: TextTokenizer, text: str) -> None:
    ids, ends = tokenizer.encode(text), tokenizer.ends(text)
    assert len(ids) == len(ends)
    assert np.all(np.diff(ends) >= 0)
    assert not len(ends) or ends[-1] == len(text)


def test_bytes_end_with_their_characters() -> None:
    assert ByteTokenizer().ends("aé你").tolist() == [1, 2, 2, 3, 3, 3]


@pytest.mark.parametrize("text", TEXTS)
def test_of_a_model_folder(text: str, tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    folder = model_folder(tmp_path / "model", "clean_chatml")
    check(load_tokenizer(folder), text)
    library = tokenizers.Tokenizer.from_file(f"{folder}/tokenizer.json")
    offsets = library.encode(text, add_special_tokens=False).offsets
    assert load_tokenizer(folder).ends(text).tolist() == [end for _, end in offsets]


@pytest.fixture(scope="module")
def tekken() -> TextTokenizer:
    pytest.importorskip("mistral_common")
    return load_tokenizer("mistral:tekken_240911")


@pytest.mark.parametrize("text", TEXTS)
def test_of_tekken_by_decoding_what_stands_before(text: str, tekken: TextTokenizer) -> None:
    check(tekken, text)
    ids = tekken.encode(text).tolist()
    for number, end in enumerate(tekken.ends(text).tolist(), 1):
        said = tekken.decode(ids[:number]).rstrip("\ufffd")
        assert text.startswith(said)
        assert end - 1 <= len(said) <= end


def test_of_a_chat_with_control_tokens(tekken: TextTokenizer) -> None:
    text = tekken.render_chat(CHAT, None)
    check(tekken, text)
    ids, ends = tekken.encode(text).tolist(), tekken.ends(text).tolist()
    assert text[: ends[0]] == tekken.decode(ids[:1])
    place = ends.index(text.index("Well.") + len("Well."))
    assert tekken.decode(ids[: place + 1]).endswith("Well.")

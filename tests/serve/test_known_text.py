"""Remembered stretches of text: the tokens are those of the whole, and no salt has another's."""

import random
import threading

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from hitpath.serve import known_text
from hitpath.serve.known_text import KnownText
from hitpath.text.hugging_face import HuggingFaceTokenizer
from hitpath.text.tokenizer import ByteTokenizer


@pytest.fixture(scope="module")
def tokenizer():
    """A byte-level BPE, trained on the spot."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator([known_text.__doc__ or "", random.__doc__ or ""], trainer)
    return HuggingFaceTokenizer("here", bpe)


class Counting:
    """A tokenizer that counts the characters it is given."""

    def __init__(self, tokenizer):
        self._tokenizer = tokenizer
        self.cuts = tokenizer.cuts
        self.chars = 0

    def encode(self, text):
        self.chars += len(text)
        return self._tokenizer.encode(text)


def texts(draw, count):
    """Long ones that begin alike, with added tokens, digits, newlines and other scripts inside."""
    pieces = ["the cache", " keeps", "\n\nA line", " 12", "é", "<|im_end|>", "  ", "猫", "\n"]

    def some(length):
        return "".join(draw.choice(pieces) for _ in range(length))

    heads = [some(400), some(700)]
    return [draw.choice(heads)[: draw.randrange(3_000)] + some(30) for _ in range(count)]


def test_tokens_are_those_of_the_whole(tokenizer):
    counted = Counting(tokenizer)
    known = KnownText(counted)
    every = texts(random.Random(4), 60)
    for text in every:
        assert known.encode(text, None).tolist() == tokenizer.encode(text).tolist()
    assert counted.chars < 0.7 * sum(map(len, every))


def test_a_salt_finds_nothing_of_another(tokenizer):
    counted = Counting(tokenizer)
    known = KnownText(counted)
    text = " ".join(f"word {number} and then another" for number in range(200))
    spent = []
    for salt in (None, None, "a", "a", "b"):
        before = counted.chars
        known.encode(text, salt)
        spent.append(counted.chars - before)
    assert spent[0] == spent[2] == spent[4] >= len(text)
    assert spent[1] == spent[3] < 600


def test_what_is_remembered_is_bounded(tokenizer, monkeypatch):
    monkeypatch.setattr(known_text, "MOST_CHARS", 10_000)
    known = KnownText(tokenizer)
    for number in range(40):
        known.encode(f"{number} words of a long text " * 100, f"salt {number % 20}")
    assert len(known._memories) == known_text.MOST_SALTS
    for memory in known._memories.values():
        assert memory.incremental.encoded_chars <= 10_000 + 3_000


def test_a_memory_in_use_is_not_waited_for(tokenizer):
    known = KnownText(tokenizer)
    text = "some words of a long text " * 100
    memory = known._memory(None)
    with memory.lock:
        found = []
        other = threading.Thread(target=lambda: found.append(known.encode(text, None)))
        other.start()
        other.join(10)
    assert found[0].tolist() == tokenizer.encode(text).tolist()
    assert memory.incremental.seen_chars == 0


def test_a_tokenizer_without_cuts_is_asked_each_time():
    known = KnownText(ByteTokenizer())
    assert known.encode("x" * 5_000, None).tolist() == [120] * 5_000
    assert not known._memories


def test_a_lone_surrogate_is_refused(tokenizer):
    with pytest.raises(UnicodeEncodeError):
        KnownText(tokenizer).encode("a word " * 200 + "\ud800", None)

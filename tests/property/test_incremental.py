"""Incremental tokenising gives the tokens of the whole text: random cuts of real prompts, for
tokenizers of every kind of pre-tokenizer, trained here on the same text; and it does reuse."""

import json
import random
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tokenizers")
pytest.importorskip("mistral_common")

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from hitpath.text.chat_template import ChatTemplates
from hitpath.text.hugging_face import HuggingFaceTokenizer
from hitpath.text.incremental import IncrementalTokenizer, TurnTokenizer
from hitpath.text.mistral import load_bundled
from hitpath.text.seams import make_cuts
from hitpath.text.tokenizer import TextTokenizer
from support import shared_data

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
HEADERS = (
    "{{ bos_token }}{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n"
    "{{ m.content or '' }}{{ m.tool_calls | tojson if m.tool_calls else '' }}<|eot_id|>"
    "{% endfor %}<|start_header_id|>assistant<|end_header_id|>\n\n"
)
SPECIALS = [
    "<|begin_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|eot",  # begins like another: the longest must win
    "[[<|eot_id|>]]",  # has another inside
]


@cache
def requests() -> tuple[dict[str, Any], ...]:
    path = shared_data("tau_bench/airline_gpt4o_requests.jsonl")
    return tuple(json.loads(line) for line in path.read_text().splitlines())


@cache
def prompts() -> tuple[str, ...]:
    """Real prompts as flat text and as rendered chats."""
    folder = shared_data("lmcache_taubench")
    flat = [
        json.loads(line)["input"]
        for path in sorted(folder.glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]
    templates = ChatTemplates({"default": HEADERS}, {"bos_token": "<|begin_of_text|>"})
    return tuple(flat + [templates.render(r["messages"]) for r in requests()[::7]])


def trained(
    model: Any,
    trainer: Any,
    pre_tokenizer: Any,
    normalizer: Any = None,
    added: tuple[Any, ...] = (),
    post: Any = None,
) -> HuggingFaceTokenizer:
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    if post is not None:
        tokenizer.post_processor = post
    tokenizer.train_from_iterator(prompts(), trainer)
    tokenizer.add_special_tokens(SPECIALS)
    for token in added:
        tokenizer.add_tokens([token])
    return HuggingFaceTokenizer("trained", tokenizer)


def bpe(pre_tokenizer: Any, **options: Any) -> HuggingFaceTokenizer:
    trainer = trainers.BpeTrainer(
        vocab_size=1500, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    return trained(models.BPE(), trainer, pre_tokenizer, **options)


def unigram(pre_tokenizer: Any, **options: Any) -> HuggingFaceTokenizer:
    trainer = trainers.UnigramTrainer(
        vocab_size=800, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False
    )
    return trained(models.Unigram(), trainer, pre_tokenizer, **options)


def wordpiece(pre_tokenizer: Any, **options: Any) -> HuggingFaceTokenizer:
    trainer = trainers.WordPieceTrainer(
        vocab_size=1500, special_tokens=["[UNK]"], show_progress=False
    )
    return trained(models.WordPiece(unk_token="[UNK]"), trainer, pre_tokenizer, **options)


def llama3_split() -> Any:
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


def deepseek_split() -> Any:
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\p{N}{1,3}"), "isolated"),
            pre_tokenizers.Split(Regex(r"[一-龥]+"), "isolated"),
            pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


NASTY = (
    AddedToken("<mask>", lstrip=True, normalized=False),
    AddedToken("airline agent", normalized=True),
    AddedToken("flight", normalized=True),
)
STRIPPING = (
    AddedToken("user", single_word=True, normalized=False),
    AddedToken("<|sep", rstrip=True, normalized=False),
)

# name -> how it is made, and the least share of the text that must be reused in a real session
# (None: nothing can be proved, or next to nothing, and the whole is tokenised).
KINDS: dict[str, tuple[Callable[[], TextTokenizer], float | None]] = {
    "gpt2": (lambda: bpe(pre_tokenizers.ByteLevel(add_prefix_space=False)), 0.8),
    "gpt2 with prefix space": (lambda: bpe(pre_tokenizers.ByteLevel(add_prefix_space=True)), 0.8),
    "llama3": (
        lambda: bpe(
            llama3_split(),
            post=processors.TemplateProcessing(
                single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", 0)]
            ),
        ),
        0.8,
    ),
    "llama3, nasty added tokens": (lambda: bpe(llama3_split(), added=NASTY), 0.8),
    "llama3, stripping added tokens": (lambda: bpe(llama3_split(), added=STRIPPING), 0.8),
    "llama3, tokens that strip on their left": (
        lambda: bpe(llama3_split(), added=(AddedToken("flight", lstrip=True, normalized=False),)),
        0.8,
    ),
    "nfc, deepseek": (lambda: bpe(deepseek_split(), normalizer=normalizers.NFC()), 0.8),
    "nfc, lines in added tokens": (
        lambda: bpe(
            deepseek_split(),
            normalizer=normalizers.NFC(),
            added=(AddedToken("\n\né", normalized=True),),
        ),
        0.8,
    ),
    "metaspace always": (lambda: unigram(pre_tokenizers.Metaspace()), 0.8),
    "metaspace first": (lambda: unigram(pre_tokenizers.Metaspace(prepend_scheme="first")), 0.8),
    "metaspace nfkc": (
        lambda: unigram(pre_tokenizers.Metaspace(), normalizer=normalizers.NFKC()),
        0.8,
    ),
    "t5": (
        lambda: unigram(
            pre_tokenizers.Sequence(
                [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="first")]
            )
        ),
        0.8,
    ),
    "llama2: prepend, replace, no pre-tokenizer": (
        lambda: trained(
            models.BPE(unk_token="<unk>", fuse_unk=True),
            trainers.BpeTrainer(
                vocab_size=600,
                special_tokens=["<unk>"],
                max_token_length=8,
                show_progress=False,
            ),
            None,
            normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]),
        ),
        0.8,
    ),
    "bert": (
        lambda: wordpiece(
            pre_tokenizers.BertPreTokenizer(), normalizer=normalizers.BertNormalizer()
        ),
        0.8,
    ),
    "unknown kind": (lambda: wordpiece(pre_tokenizers.UnicodeScripts()), None),
    "merging split": (
        lambda: bpe(pre_tokenizers.Split(Regex(r"\s"), "merged_with_previous")),
        0.5,
    ),
    "mistral tekken": (lambda: load_bundled("tekken_240718"), 0.6),
}
CUTS = 400  # random pairs for each kind
PIECES = (
    " ", "  ", "\n", "\n\n ", "a", "'l", "ll", "é", "e\u0301", "\u0301", "中", "7", ".", "\t", "▁",
    "<|eot_id|>", "<|eot", "<|start_header_id|>", "<mask>", " user ", "user", "<|sep", "flight",
    " airline agent", "\u00a0", "\u2028", "ſ", "\ufdd0[INST]", "\ufdd0\ufdd1", "ａ", "İ", "\r\n",
    "[[", "]]", "\n\nA", ".\n\nthe", " \n\nOf it", "\n\ne\u0301 x", "\n\nx\ny", "\r\n\n\nAb",
    "user\n\n",
)  # fmt: skip


@cache
def made(kind: str) -> TextTokenizer:
    return KINDS[kind][0]()


def session_texts(tokenizer: TextTokenizer, kind: str) -> list[str]:
    """The prompts of real sessions, turn after turn."""
    texts = []
    for request in requests()[:40]:
        if kind.startswith("mistral"):  # it has the system prompt last, and no text beside calls
            messages = [m for m in request["messages"] if m["role"] != "system"]
            if not any(m.get("content") and m.get("tool_calls") for m in messages):
                texts.append(tokenizer.render_chat(messages, None))
        else:
            templates = ChatTemplates({"default": HEADERS}, {"bos_token": "<|begin_of_text|>"})
            texts.append(templates.render(request["messages"]))
    return texts


def noisy(rng: random.Random, text: str) -> str:
    """The text with a few awkward pieces put in."""
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + "".join(rng.choices(PIECES, k=rng.randrange(1, 4))) + text[at:]
    return text


@pytest.mark.parametrize("kind", KINDS)
def test_any_next_text_has_the_tokens_of_the_whole(kind: str) -> None:
    tokenizer = made(kind)
    incremental = IncrementalTokenizer(tokenizer)
    rng = random.Random(kind)
    texts = prompts()
    for _ in range(CUTS // 4):
        source = rng.choice(texts)
        start = rng.randrange(len(source) + 1)
        text = noisy(rng, source[start : start + rng.randrange(1, 3000)])
        encoded = incremental.encode(text)
        assert np.array_equal(encoded.tokens, tokenizer.encode(text))
        for _ in range(4):  # each continues the one before, cut anywhere
            other = rng.choice(texts)
            kept = text[: rng.randrange(len(text) // 2, len(text) + 1)]
            text = noisy(rng, kept[-1200:] if rng.random() < 0.1 else kept)
            text += "".join(rng.choices(PIECES, k=rng.randrange(3)))
            text += other[: rng.randrange(600)]
            encoded = incremental.encode(text, encoded)
            assert np.array_equal(encoded.tokens, tokenizer.encode(text))


@pytest.mark.parametrize("kind", KINDS)
def test_a_real_session_is_mostly_reused(kind: str) -> None:
    tokenizer = made(kind)
    least = KINDS[kind][1]
    turns = TurnTokenizer(tokenizer)
    for text in session_texts(tokenizer, kind):
        assert np.array_equal(turns.encode(text, "s"), tokenizer.encode(text))
    counts = turns.incremental
    reused = 1 - counts.encoded_chars / counts.seen_chars
    if least is None:
        assert reused <= 0
    else:
        assert reused > least


@pytest.mark.parametrize("kind", ["gpt2", "llama3", "metaspace first", "bert"])
def test_flat_text_that_grows_is_reused_by_its_seams(kind: str) -> None:
    """No special token in it at all."""
    tokenizer = made(kind)
    incremental = IncrementalTokenizer(tokenizer)
    text, encoded = "", None
    for prompt in [p for p in prompts() if "<|" not in p and len(p) > 40]:
        text += prompt[:1500]
        encoded = incremental.encode(text, encoded)
        assert np.array_equal(encoded.tokens, tokenizer.encode(text))
    assert 1 - incremental.encoded_chars / incremental.seen_chars > 0.8


@pytest.mark.parametrize(
    ("kind", "cut"),
    [
        ("gpt2", False),  # `\s+(?!\S)` sees the letter
        ("llama3", True),
        ("llama3, nasty added tokens", False),  # one strips the newline before it
        ("nfc, deepseek", True),
        ("nfc, lines in added tokens", False),
        ("metaspace always", False),
        ("bert", False),  # the newline becomes a space, which an added token may hold
        ("mistral tekken", True),
    ],
)
def test_paragraphs_that_move_are_known(kind: str, cut: bool) -> None:
    """A text that another one stood before is tokenised again by its paragraphs' own cuts."""
    tokenizer = made(kind)
    incremental = IncrementalTokenizer(tokenizer)
    body = "".join(f"Paragraph {n} tells the agent what to do. " * 4 + "\n\n" for n in range(20))
    incremental.encode("Prefix.\n\n" + body)
    before = incremental.encoded_chars
    moved = "Something else stands here now, and it is somewhat longer.\n\n" + body
    assert np.array_equal(incremental.encode(moved).tokens, tokenizer.encode(moved))
    share = (incremental.encoded_chars - before) / len(moved)
    assert share < 0.2 if cut else share > 0.5


def test_how_far_a_token_reaches() -> None:
    words = ["<a>", "<a>b", "[<a>]]", "<c>"]
    cuts = make_cuts(words, frozenset(["<a>", "<c>"]), ends="", lines=False, alone=True)
    assert cuts.reach == {"<a>": 5, "<c>": 3}


def test_texts_that_part_within_added_tokens() -> None:
    tokenizer = made("llama3")
    incremental = IncrementalTokenizer(tokenizer)
    base = "Hi <|eot_id|>[[<|eot_id|>]] <|eot<|eot_id|>[[<|eot"
    tails = ("", "x", "_id|>", "_id|>]]", "]] x", "<|eot_id|>]]", "|>")
    for at in range(len(base) + 1):
        for before in tails:
            encoded = incremental.encode(base[:at] + before)
            for after in tails:
                text = base[:at] + after
                tokens = incremental.encode(text, encoded).tokens
                assert np.array_equal(tokens, tokenizer.encode(text)), (at, before, after)


def test_sessions_that_are_forgotten_change_no_token() -> None:
    tokenizer = made("llama3")
    turns = TurnTokenizer(tokenizer, max_chars=20_000)
    for at, text in enumerate(session_texts(tokenizer, "llama3")):
        assert np.array_equal(turns.encode(text, str(at % 5)), tokenizer.encode(text))

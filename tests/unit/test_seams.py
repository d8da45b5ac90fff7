"""Where splitting on a regex parts a newline from a letter: what is proved, and that it is so."""

import itertools
import random

import pytest

from hitpath.text.regex_seams import regex_verdict
from hitpath.text.seams import GPT2

regex = pytest.importorskip("regex")

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEKKEN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PARTING = [LLAMA3, TEKKEN, DEEPSEEK, r"\S+|\s", r"\s*[\r\n]+|\s*(?!\S)\s|\S"]
PIECES = ("\n", "\n\n", "\r\n", " ", "  ", "\t", "a", "B", "the", "é", "7", ".", "/", "...", "'s")


@pytest.mark.parametrize("pattern", PARTING)
def test_pieces_of_both_sides_are_those_of_the_whole(pattern: str) -> None:
    assert regex_verdict(pattern).line_parts
    split = regex.compile(pattern)
    rng = random.Random(pattern)
    short = itertools.product(PIECES, repeat=3)
    longer = ([*rng.choices(PIECES, k=rng.randrange(4, 9))] for _ in range(4000))
    for parts in itertools.chain(short, longer):
        text = "".join(parts)
        for at in range(1, len(text)):
            if text[at - 1] == "\n" and text[at].isascii() and text[at].isalpha():
                apart = split.findall(text[:at]) + split.findall(text[at:])
                assert split.findall(text) == apart, (text, at)


@pytest.mark.parametrize(
    ("pattern", "apart"),
    [
        (r"\p{N}{1,3}", True),  # a gap between matches may hold both
        (r"[一-龥]+", True),
        (GPT2, False),  # `\s+(?!\S)` asks what stands after the newline
        (r"\s+(?!\S)|\s*[\r\n]+|\S+", False),  # the same, before the newlines are taken
        (r"\n?\p{L}+|\s*[\r\n]+|\s+(?!\S)|\s+", False),
        (r"\s*[\n]+|.(?!\S)|\s+|\S", False),
        (r"\s*[\r\n]+|\s+(?!\S)|\s+\S+|\S+", False),
        (r"\s{0,3}[\r\n]+|\s+(?!\S)|\s+|\S", False),
        (r"\s*?[\r\n]+|\s+(?!\S)|\S|\s", False),
        (r"\s*[\r\n]+|(a|\s+(?!\S))|\S", False),
        (r"(\s*[\r\n]+|\s+(?!\S)|\s+|\S)", False),
        (r"(?<=a)b|\s*[\r\n]+", False),
        (r"(", False),
    ],
)
def test_what_is_not_proved_is_not_cut(pattern: str, apart: bool) -> None:
    verdict = regex_verdict(pattern)
    assert (verdict.line_apart, verdict.line_parts) == (apart, False)

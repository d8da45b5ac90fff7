"""Keys of lines: the fast form for ASCII is the plain rule, and equal keys make equal lines."""

import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from hitpath.doctor.shapes import HIDDEN, KeyedLine, line_key

LINES = st.text(
    st.sampled_from("ab0019 \t\n\r\v\f\x1c\x00\x7f\u00a0\u200b\ufeffé\u0301①３")
    | st.characters(max_codepoint=127),
    max_size=24,
)


def plain_key(line: str) -> str:
    """The rule as its docstring says it."""
    seen = unicodedata.normalize("NFKC", HIDDEN.sub("", line))
    return re.sub(r"\d+", "0", " ".join(seen.split()))


@given(LINES, st.sampled_from([1, 200]))
def test_the_fast_key_is_the_plain_one(line: str, times: int) -> None:
    assert line_key(line * times) == plain_key(line * times)


@given(LINES, LINES)
def test_lines_are_equal_by_their_keys_and_hash_alike(one: str, other: str) -> None:
    same = plain_key(one) == plain_key(other)
    assert (KeyedLine(one) == KeyedLine(other)) is same
    assert not same or hash(KeyedLine(one)) == hash(KeyedLine(other))

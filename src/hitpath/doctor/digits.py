"""Digits of other scripts (Arabic, Devanagari, full width) as those of ASCII, one for one."""

import re
import unicodedata

_OTHERS = re.compile(r"(?![0-9])\d")


def in_ascii_digits(text: str) -> str:
    """The text with its decimal digits in ASCII; of the same length."""
    if text.isascii():
        return text
    return _OTHERS.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)

"""The same text written in another way: white space, characters that nobody sees, forms of
letters, numbers; as formatters, terminals, editors, databases and languages write them. The names
tell which; written by hand.
"""

import random
import textwrap
import unicodedata
from collections.abc import Callable
from typing import Any

from doctor_planted.marks import mark
from doctor_planted.own_planters import Own, ordered
from doctor_planted.plant_forms import Variant, at, between, line_ends, written


def _nfd(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def _wrapped(width: int) -> Variant:
    """Prose filled to a width, as formatters do (prettier's proseWrap)."""
    return lambda text: mark(
        "white_space", textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
    )


def _in_forms(kinds: str, *forms: str) -> Own:
    """A text in one of its forms; %d: a number of the application."""

    def make(rng: random.Random) -> Callable[[random.Random], str]:
        digits = str(rng.randrange(11, 98))
        filled = [form.replace("%d", digits) for form in forms]
        return lambda own: own.choice(filled)

    return ordered(kinds, make)


WHITE_SPACE: dict[str, Any] = {
    "table_padding": _in_forms(
        "white_space",
        "|plan|seats|\n|----|-----|\n|pro|%d|\n|team|250|",
        "| plan | seats |\n| ---- | ----- |\n| pro  | %d    |\n| team | 250   |"),
    "self_closing": _in_forms("white_space", '<limit rows="%d"/>', '<limit rows="%d" />'),
    "bracket_spacing": _in_forms("white_space", "config = {rows: %d, mode: strict}",
                                 "config = { rows: %d, mode: strict }"),
    "code_indent": _in_forms(
        "white_space",
        "```python\ndef limit(rows):\n    if rows > %d:\n        return None\n    return rows\n```",
        "```python\ndef limit(rows):\n  if rows > %d:\n    return None\n  return rows\n```"),
    "sql_lines": _in_forms(
        "white_space",
        "CREATE TABLE seats (id INTEGER, row INTEGER, price INTEGER CHECK (price < %d));",
        "CREATE TABLE seats (\n  id INTEGER,\n  row INTEGER,\n  price INTEGER "
        "CHECK (price < %d)\n);"),
    "file_end": _in_forms("white_space", "<file name='limits.cfg'>\nrows=%d\n</file>",
                          "<file name='limits.cfg'>\nrows=%d</file>"),
    "csv_space": _in_forms("white_space", "sku,qty,price\nA1,%d,3\nB2,7,4",
                           "sku, qty, price\nA1, %d, 3\nB2, 7, 4"),
    "list_marks": line_ends("white_space", "\n- ", "\n-   "),
    "wrap_60_90": (_wrapped(60), _wrapped(90)),
    "cr_cr_lf": line_ends("white_space/hidden_characters", "\n", "\r\r\n"),
    "form_feed": at("white_space/hidden_characters", "behind", "", "\n\x0c"),
    "tab_after": line_ends("white_space", " ", "\t"),
    "flow_yaml": _in_forms("white_space", "limits: {rows: %d, ttl: 30}",
                           "limits: {rows:  %d,  ttl:  30}"),
}  # fmt: skip

HIDDEN: dict[str, Any] = {
    "hangul_filler": at("hidden_characters", "before", "", "\u3164"),
    "braille_blank": at("hidden_characters", "behind", "", "\u2800"),
    "embedding": at("hidden_characters", "inside", "", "\u202b\u202c"),
    "selector_17": at("hidden_characters", "inside", "", "\U000e0100"),
    "figure_dash_space": between("hidden_characters/white_space", " ", "\u2008"),
    "backspace": at("hidden_characters", "behind", "", "\x08"),
    "interlinear": at("hidden_characters", "inside", "", "\ufff9\ufffb"),
    "zero_widths": at("hidden_characters", "inside", "", "\u200b\u200c\u200d"),
    "joined_emoji": written("hidden_characters/unicode_form", "Ask the \U0001f468*\U0001f4bb desk.",
                            "\u200d", ""),
    "tag_letters": at("hidden_characters", "behind", "", "\U000e0068\U000e0069"),
    "next_line": at("hidden_characters/white_space", "behind", "", "\u0085"),
    "bom_each_line": line_ends("hidden_characters", " ", " \ufeff"),
    "word_joiners": between("hidden_characters", " ", " \u2060"),
    "activate": at("hidden_characters", "before", "", "\u206a"),
}  # fmt: skip

UNICODE: dict[str, Any] = {
    "he_presentation": written("unicode_form", "המילה * כתובה כאן.", "\ufb2aלום", "ש\u05c1לום"),
    "ar_ligature": written("unicode_form", "اكتب * أولا.", "\ufefb", "لا"),
    "ta_vowel": written("unicode_form", "சொல்: *.", "க\u0bca", "க\u0bc6\u0bbe"),
    "roman_letters": written("unicode_form", "See annex *.", "\u2163", "IV"),
    "wide_brackets": written("unicode_form", "用中文回答*不超过三句)。", "（", "("),
    "html_name": written("unicode_form", "The caf* is open.", "&eacute;", "é"),
    "percent": written("unicode_form", "Docs: https://wiki.example/caf*/hours",
                       "%C3%A9", "é"),
    "json_less": written("unicode_form", 'Rule: {"when": "rows * 9"}', "\\u003c", "<"),
    "json_cjk": written("unicode_form", '{"greeting": "*"}', "\\u4f60\\u597d", "你好"),
    "minus": written("unicode_form", "Store at * degrees.", "\u22125", "-5"),
    "subscript": written("unicode_form", "Never add H*O to it.", "\u2082", "2"),
    "trade_mark": written("unicode_form", "Say Quill* once.", "\u2122", "TM"),
    "em_dash": written("unicode_form", "Wait * then ask.", "\u2014", "--"),
    "greek_mark": written("unicode_form", "Ρώτα: είστε εδώ* Περίμενε.", "\u037e", ";"),
    "cjk_compat": written("unicode_form", "歡迎來到*園。", "\uf914", "\u6a02"),
    "ko_jamo": written("unicode_form", "담당자는 *입니다.", "김하늘", _nfd("김하늘")),
    "guillemets": written("unicode_form", "Dites * d'abord.", "\u00abbon\u00bb", '"bon"'),
    "tr_dotted": written("unicode_form", "Şehir: *.", "\u0130zmir", _nfd("\u0130zmir")),
}  # fmt: skip

NUMBERS: dict[str, Any] = {
    "price_list": _in_forms("number_format", "bread 2.5, milk 1.0, eggs %d.25",
                            "bread 2.50, milk 1.00, eggs %d.25"),
    "dollars": written("number_format", "The deposit is *.", "$1,299", "$1299", "$1,299.00"),
    "pandas_float": written("number_format", "median_rent = *", "1234567.0", "1234567",
                            "1.234567e+06"),
    "net_exponent": written("number_format", "learning rate *", "1E-05", "1e-05", "0.00001"),
    "digits_ar": written("number_format/unicode_form", "الحد الأقصى * طلبا.", "٢٥", "25"),
    "coordinates": written("number_format", "Depot at 52.52, *.", "13.4", "13.400000"),
    "seconds": written("number_format", "timeout=* retries=3", "30", "30.0"),
    "euro_locale": written("number_format", "Mindestens € * je Bestellung.", "12,50", "12.50"),
    "minus_zero": written("number_format", "offset: *, unit: m", "0.0", "-0.0"),
    "rating": written("number_format", "Our rating is * of 5.", "4.5", "4.50"),
    "rust_groups": written("number_format", "max_rows = *;", "2_500_000", "2500000"),
    "sql_numeric": written("number_format", "weight_kg: *", "7.000", "7"),
    "ruby_big": written("number_format", "fee: * EUR", "0.125e2", "12.5"),
}  # fmt: skip

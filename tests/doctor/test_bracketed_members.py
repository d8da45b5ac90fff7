"""Members of a list in a line that stand in brackets, or have words in brackets behind them."""

import pytest

from hitpath.doctor.item_orders import order_of_items
from hitpath.doctor.words_of_kinds import REQUEST

TOOLS = "move_to (Walk to a place.); mine_block (Break blocks. One kind.); say (Tell all.)"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Channels: <#callback> <#rent> <#refund>", "Channels: <#refund> <#callback> <#rent>"),
        ("Staff @ann @bob @zoe is on duty", "Staff @zoe @ann @bob is on duty"),
        ("[a b] [c. d] [e]", "[e] [a b] [c. d]"),
        (f"Functions: {TOOLS}", "Functions: " + "; ".join(reversed(TOOLS.split("; ")))),
    ],
)  # fmt: skip
def test_the_same_members_in_another_order(old: str, new: str) -> None:
    assert order_of_items(old, new) == "array_order"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("See [1] and [2] and then [3].", "See [3] and [2] and then [1]."),  # a sentence
        ("[a] [b] [c]", "[a] [c] [d]"),  # another member
        ("at <b>x</b> y <i>z</i>", "at <b>y</b> x <i>z</i>"),  # what stands between them differs
        ("f (a); g (b); h (c); 3", "f (a); h (c); g (b); 4"),  # and what stands behind them
    ],
)
def test_what_is_no_order(old: str, new: str) -> None:
    assert order_of_items(old, new) is None


@pytest.mark.parametrize(
    "label",
    ["お問い合わせ番号", "お問合せID", "受付番号", "문의번호", "Protocolo", "n.º de protocolo",
     "Номер обращения", "Expediente", "Numer zgłoszenia"],
)  # fmt: skip
def test_nouns_of_a_request(label: str) -> None:
    assert REQUEST.search(label)


@pytest.mark.parametrize("label", ["お客様番号", "Protocols", "회원번호", "Номер договора", "住所"])
def test_nouns_of_a_user_are_none(label: str) -> None:
    assert not REQUEST.search(label)

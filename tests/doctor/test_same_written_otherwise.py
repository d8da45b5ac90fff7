"""One text written in two ways is told as that, wherever it stands: lists parted by any mark,
escapes of JSON and of addresses, colours of a terminal, numbers grouped by narrow spaces."""

import pytest

from hitpath.doctor.leaf import leaf_changes

LISTS = {
    "ideographic": ("可选类别：a1、b2、c3、d4。", "可选类别：a1、c3、d4、b2。"),
    "full width": ("类别：红，绿，蓝，白", "类别：红，蓝，白，绿"),
    "middle dot": ("Modes: find · give · track", "Modes: give · track · find"),
    "plus": ("Modes: find + give + track", "Modes: track + give + find"),
    "greater": ("Modes: find > give > track", "Modes: give > find > track"),
    "arrow": ("Modes: find -> give -> track", "Modes: give -> find -> track"),
    "nakaguro": ("色：赤・青・白", "色：白・青・赤"),
}


@pytest.mark.parametrize(("there", "here"), LISTS.values(), ids=LISTS)
def test_lists_parted_by_any_mark(there: str, here: str) -> None:
    assert [change.kind for change in leaf_changes(there, here, "system")] == ["array_order"]


OTHERWISE = {
    "JSON's slash": ('{"url": "https://x/api"}', '{"url": "https:\\/\\/x\\/api"}', "unicode_form"),
    "address": ("See https://x/a b.pdf.", "See https://x/a%20b.pdf.", "unicode_form"),
    "colour": ("Status: ok then", "Status: \x1b[32mok\x1b[0m then", "hidden_characters"),
    "title": ("Status: ok", "Status: \x1b]0;shell\x07ok", "hidden_characters"),
    "narrow space": ("Pay 1234 now", "Pay 1\u202f234 now", "number_format"),
    "thin space": ("Pay 1234 now", "Pay 1\u2009234 now", "number_format"),
}


@pytest.mark.parametrize(("there", "here", "kind"), OTHERWISE.values(), ids=OTHERWISE)
def test_the_same_written_otherwise(there: str, here: str, kind: str) -> None:
    assert {change.kind for change in leaf_changes(there, here, "system")} == {kind}


def test_a_number_between_two_edits_is_part_of_them() -> None:
    found = leaf_changes("so 【4:0†ledger】 said", "so [1](https://x/ledger) said", "assistant")
    assert {change.kind for change in found} == {"edited_message"}


def test_a_count_in_hexadecimal_is_no_id() -> None:
    assert [c.kind for c in leaf_changes("seq 0x0129", "seq 0x012a", "system")] == ["?number"]


def test_an_id_in_a_path_that_names_a_client() -> None:
    ids = ("1b4e28ba-2fa1-11d2-883f-0016d3cca427", "6fa459ea-ee8a-3ca4-894e-db77e160355e")
    texts = [f"refused below /tmp/claude-settings-{one}.json and /etc" for one in ids]
    assert [change.kind for change in leaf_changes(texts[0], texts[1], "system")] == ["?id"]


def test_tags_that_close_blocks_which_moved_are_no_change_of_their_own() -> None:
    blocks = [f"<file>\n{words}\n</file>" for words in ("Old forms stay valid.", "Backups run.")]
    blocks.append("<file>\nNames are written in full.\n</file>")
    found = leaf_changes("\n".join(blocks), "\n".join([blocks[2], *blocks[:2]]), "system")
    assert [change.kind for change in found] == ["moved_block"]


def test_blocks_with_the_same_keys_are_no_fields_in_another_order() -> None:
    one, two = "Title: a\nBody: Old forms stay.", "Title: b\nBody: Backups run."
    found = leaf_changes(f"{one}\n\n{two}\n\nEnd.", f"{two}\n\n{one}\n\nEnd.", "system")
    assert {change.kind for change in found} == {"moved_block"}

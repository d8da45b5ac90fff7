"""Tekken's ids by hitpath's quicker way are mistral-common's own; rendering in threads."""

import sys
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("mistral_common")

from hitpath.text.mistral import MistralTokenizer, bundled_names, load_bundled

TEKKEN = [name for name in bundled_names() if name.startswith("tekken")]
LOADED = {name: load_bundled(name) for name in TEKKEN}
PIECES = (
    " ", "   ", "\n\n", "a", "Ab", "'ll", "é", "e\u0301", "中文", "7", "2024", ".", "</s>",
    "[INST]", "\t", "\r\n", "\u00a0", "\U0001f600", "\x00", "ſ", "/", "_",
)  # fmt: skip


def own(model: MistralTokenizer, text: str) -> list[int]:
    return model._base.encode(text, bos=False, eos=False)


@pytest.mark.parametrize("name", TEKKEN)
def test_the_ids_are_those_of_mistral_common(name: str) -> None:
    model = LOADED[name]

    @settings(max_examples=300, deadline=None)
    @given(st.lists(st.sampled_from(PIECES) | st.text(max_size=12)).map("".join))
    def check(text: str) -> None:
        if "\ufdd0" not in text:
            assert model.encode(text).tolist() == own(model, text)

    check()


@pytest.mark.parametrize("name", TEKKEN)
def test_every_token_of_the_vocabulary_has_its_id(name: str) -> None:
    """Each text of one ordinary token, through both."""
    model = LOADED[name]
    first = model._base.num_special_tokens
    texts = [model._base.decode([id_]) for id_ in range(first, model._base.n_words, 7)]
    whole = [text for text in texts if "\ufffd" not in text]
    assert len(whole) > 10_000
    assert [model.encode(text).tolist() for text in whole] == [own(model, text) for text in whole]


def test_threads_do_not_see_each_other() -> None:
    model = LOADED[TEKKEN[0]]
    chats = [[{"role": "user", "content": f"{n} " * n}] for n in range(1, 9)]
    expected = [model.render_chat(chat, None) for chat in chats]
    found: dict[int, list[str]] = {}

    def render(number: int) -> None:
        found[number] = [model.render_chat(chats[number], None) for _ in range(30)]

    threads = [threading.Thread(target=render, args=(n,)) for n in range(len(chats))]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert found == {n: [text] * 30 for n, text in enumerate(expected)}

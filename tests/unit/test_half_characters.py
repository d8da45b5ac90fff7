"""Half a character in JSON (what `json.dumps` of Python makes of a string that was cut within one):
told as that, and not as a file that ends too early."""

import json

import pytest

import hitpath

GOOD = {"id": "0", "arrival_s": 0, "prompt": "to be"}


@pytest.mark.parametrize(
    "text", ["x\ud800y", "x\ud800", "\udc00 hello", "x\ud800" + "y" * 20, "\ud800\u0041yyy"]
)
@pytest.mark.parametrize("more", [{}, {"unheard": 1}])
@pytest.mark.parametrize("body", [False, True])
def test_half_a_character_is_named(text, more, body, tmp_path):
    chat = {"model": "m", "messages": [{"role": "user", "content": "to be"}]}
    first = chat if body else GOOD
    second = (
        {**chat, "messages": [{"role": "user", "content": text}]}
        if body
        else {**GOOD, "prompt": text}
    )
    path = tmp_path / "t.jsonl"
    path.write_text(f"{json.dumps(first)}\n{json.dumps({**second, 'id': '1', **more})}\n")
    with pytest.raises(hitpath.InputError, match=r"t\.jsonl:2: half of a character in a string"):
        hitpath.analyze(path)
    assert len(hitpath.analyze(path, skip_bad_rows=True).trace) == 1


def test_a_file_that_ends_within_a_pair_is_cut(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(GOOD) + "\n" + json.dumps({**GOOD, "prompt": "\U0001f600"})[:-8])
    with pytest.raises(hitpath.InputError, match=r"truncated|cut"):
        hitpath.analyze(path)

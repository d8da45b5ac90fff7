"""The text of prompts in a page: only where it is asked for, and only where it is their text."""

import json
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders

from cli import call
from hitpath.core import Setting
from hitpath.report.html import render_html
from hitpath.report.html.excerpts import MOST_CHARACTERS, Excerpts, excerpts_of
from hitpath.spine import analyze_trace
from hitpath.text.tokenizer import ByteTokenizer, load_tokenizer
from hitpath.traces import Trace, read_trace
from support import trace_of_rows, write_jsonl
from unit.test_text import write_model

TEKKEN = "mistral:tekken_240911"
SECRET = "The launch code is 7741, says “Élodie” 🚀. "


def prompts(*texts: str) -> list[dict]:
    return [{"id": f"r{i}", "arrival_s": i, "prompt": text} for i, text in enumerate(texts)]


def byte_level_model(folder: Path) -> Path:
    """A tokenizer.json as models have it, with the decoder that undoes its byte alphabet."""
    file = write_model(folder) / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(file))
    return file


def text_trace(folder: Path, *texts: str) -> Trace:
    return trace_of_rows(folder, prompts(*texts))


def shown(trace: Trace, setting: Setting | None = None) -> Excerpts:
    return excerpts_of(trace, setting or Setting(), allowed=True)


def test_a_short_stretch_is_shown_whole(tmp_path: Path) -> None:
    excerpts = shown(text_trace(tmp_path, SECRET))
    assert excerpts.of(0, 0, len(SECRET.encode())) == SECRET
    assert excerpts.of(0, 4, 6) == "launch"


def test_a_long_stretch_loses_its_middle(tmp_path: Path) -> None:
    for filling in ("é" * 150, "x" * 900, "🚀" * 4000):
        text = f"first words {filling} last words"
        found = shown(text_trace(tmp_path, text)).of(0, 0, len(text.encode()))
        assert found.startswith("first words ")
        assert found.endswith(" last words")
        assert " … " in found
        assert "\ufffd" not in found
        assert len(found) <= MOST_CHARACTERS


def test_a_stretch_ends_with_its_prompt_and_begins_anywhere(tmp_path: Path) -> None:
    excerpts = shown(text_trace(tmp_path, "é!", "other"))
    assert excerpts.of(0, 1, 99) == "\ufffd!"  # its first byte is the second of a character
    assert excerpts.of(1, 2, 99) == "her"


def test_control_characters_are_seen_and_do_nothing(tmp_path: Path) -> None:
    text = "a\n\tb\x00\x1b[31m\u202e\u2028c"
    found = shown(text_trace(tmp_path, text)).of(0, 0, 99)
    assert found == r"a↵⇥b\x00\x1b[31m\u202e\u2028c"
    many = shown(text_trace(tmp_path, "\x00" * 500)).of(0, 0, 500)
    assert len(many) <= MOST_CHARACTERS


def test_tokens_of_a_tokenizer_are_read_back(tmp_path: Path) -> None:
    rows = prompts(SECRET * 3, "quite another text")
    path = str(write_jsonl(tmp_path / "t.jsonl", rows))
    trace = read_trace([path], tokenizer=load_tokenizer(TEKKEN))
    found = shown(trace, Setting(tokenizer=TEKKEN))
    assert found.why_not == ""
    length = int(trace.prompts.lengths[0])
    assert found.of(0, 0, length) == f"<s>{SECRET * 3}"
    assert found.of(1, 1, 3) == "quite another"


def test_ids_of_another_vocabulary_are_not_read_as_text(tmp_path: Path) -> None:
    rows = [
        {"id": f"{i}", "arrival_s": i, "segments": [["system", 90], [f"question {i}", 40]]}
        for i in range(3)
    ]
    trace = trace_of_rows(tmp_path, rows)
    assert shown(trace, Setting(tokenizer=TEKKEN)).why_not.endswith(f"not those of {TEKKEN}")


def test_it_says_why_there_is_no_text(tmp_path: Path) -> None:
    blocks = [{"id": "a", "arrival_s": 0, "block_keys": [1], "block_size": 16, "prompt_tokens": 9}]
    assert "block ids" in shown(trace_of_rows(tmp_path, blocks)).why_not
    tokens = trace_of_rows(tmp_path, [{"id": "a", "arrival_s": 0, "tokens": [1, 2]}])
    assert "no --tokenizer" in shown(tokens).why_not
    for trace, setting in (
        (text_trace(tmp_path, SECRET), Setting()),
        (tokens, Setting(tokenizer=TEKKEN)),
    ):
        excerpts = excerpts_of(trace, setting, allowed=False)
        assert "--show-text" in excerpts.why_not
        assert excerpts.of(0, 0, 9) == ""


@pytest.mark.parametrize("show_text", [False, True])
def test_a_page_has_text_only_where_it_is_asked_for(show_text: bool, tmp_path: Path) -> None:
    trace = text_trace(tmp_path, *(SECRET * 9 + f"question {i}" for i in range(4)))
    page = render_html(analyze_trace(trace, Setting()), None, "", show_text).decode()
    assert ("launch code" in page) == show_text
    assert ("This page holds text of the prompts" in page) == show_text
    assert ("--show-text puts it into the page" in page) != show_text


def test_the_command_asks_for_a_page_to_put_it_in(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "t.jsonl", prompts(SECRET, SECRET))
    refused = call("analyze", path, "--show-text")
    assert refused.code == 2
    assert "--show-text: puts text into a page; name one with --html" in refused.err
    page = tmp_path / "page.html"
    assert call("analyze", path, "--show-text", "--html", page).code == 0
    assert "launch code" in page.read_text()
    assert call("analyze", path, "--html", page).code == 0
    assert "launch code" not in page.read_text()


def test_text_is_escaped(tmp_path: Path) -> None:
    hostile = "</script><script>window.pwned=1</script>{{ 7*7 }}" * 2
    trace = text_trace(tmp_path, *[hostile] * 3)
    page = render_html(analyze_trace(trace, Setting()), None, "", show_text=True).decode()
    assert "<script>window" not in page
    nodes = page.split('id="tree-data">')[1].split("</script>")[0]
    assert any("<script>window.pwned" in node[-1] for node in json.loads(nodes))


@pytest.mark.parametrize("text", ["", "plain", SECRET, "a <|im_start|>b<s> c", "\x00\x7f\n"])
def test_decoding_undoes_encoding(text: str, tmp_path: Path) -> None:
    for tokenizer in (ByteTokenizer(), load_tokenizer(str(byte_level_model(tmp_path / "m")))):
        assert tokenizer.decode(tokenizer.encode(text).tolist()) == text


def test_mistral_decoding_keeps_control_tokens_apart_from_text() -> None:
    tokenizer = load_tokenizer(TEKKEN)
    messages = [{"role": "user", "content": "Is [INST] a word, Élodie? 🚀"}]
    text = tokenizer.render_chat(messages, None)
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids.tolist()) == text
    assert np.array_equal(tokenizer.encode(tokenizer.decode(ids.tolist())), ids)
    assert tokenizer.decode([2**32 - 1, *ids.tolist()]) == text
    assert tokenizer.decode(tokenizer.encode("é🚀").tolist()[:1]).strip("é\ufffd") == ""


def test_redacted_text_has_none_to_show(tmp_path):
    """Stretches counted in bytes are no bytes: nothing may be decoded from them."""
    rows = [{"id": i, "arrival_s": i, "segments": [["a", 900]], "unit": "bytes"} for i in range(2)]
    trace = trace_of_rows(tmp_path, rows)
    found = excerpts_of(trace, Setting(), allowed=True)
    assert "without their text" in found.why_not
    assert found.of(0, 0, 300) == ""

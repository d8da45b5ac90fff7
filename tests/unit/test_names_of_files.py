"""Whatever is named as a file: too long for the system, with a NUL, not UTF-8, a pipe that nobody
writes to, a folder without rights. One line of ours, and no wait."""

import os
from pathlib import Path

import pytest

import hitpath
from cli import call, is_one_line
from hitpath import HitpathError, SettingError
from hitpath.report.query import ask
from hitpath.text.tokenizer import files_of, load_tokenizer
from support import write_jsonl

ROWS = [{"id": str(i), "arrival_s": i, "tokens": [1] * 32 + [i]} for i in range(3)]
LONG = "x" * 5000
NOT_UTF8 = os.fsdecode(b"\xff")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_jsonl(tmp_path / "t.jsonl", ROWS)
    call("analyze", "t.jsonl", "--ledger", "l.parquet")
    (tmp_path / "key").write_bytes(bytes(range(32)))
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


COMMANDS = [
    "analyze {}",
    "analyze t.jsonl --json {}",
    "analyze t.jsonl --per-request {}",
    "analyze t.jsonl --ledger {}",
    "analyze t.jsonl --html {}",
    "analyze t.jsonl --svg {}",
    "analyze t.jsonl --tokenizer {}",
    "analyze t.jsonl --model {}",
    "explain 1 {}",
    "explain 1 t.jsonl --json {}",
    "convert {} --out o",
    "convert t.jsonl --out {}",
    "convert t.jsonl --out o --redact {}",
    "convert t.jsonl --out o --tokenizer {}",
    "diff {} t.jsonl",
    "diff t.jsonl {}",
    "diff t.jsonl t.jsonl --json {}",
    "query {} SELECT",
    "demo --out {}",
    "price --model {} --hardware h100-sxm",
    "price --model llama-3.1-8b --hardware {}",
    "price --model llama-3.1-8b --hardware h100-sxm --json {}",
    "calibrate --out {}",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_name_that_is_too_long_is_one_line(here, command):
    ended = call(*(LONG if word == "{}" else word for word in command.split()))
    assert (ended.code, ended.out) == (2, b"")
    assert is_one_line(ended.err), ended.err[-300:]
    assert len(ended.err) < 1_500


TAKING = {
    "read": lambda name: hitpath.read(name),
    "read a list": lambda name: hitpath.read([name]),
    "observe": lambda name: hitpath.observe(name),
    "tokenizer": lambda name: hitpath.analyze(ROWS, tokenizer=name),
    "tokenizer of read": lambda name: hitpath.read(ROWS, tokenizer=Path(name)),
    "out": lambda name: hitpath.convert(ROWS, name),
    "redact": lambda name: hitpath.convert(ROWS, "o", redact=name),
    "ledger": lambda name: ask(name, "SELECT 1"),
}


@pytest.mark.parametrize("name", [LONG, "a\0b", "a\0", f"{LONG}/{LONG}", "x/" * 2500])
@pytest.mark.parametrize("taking", TAKING)
def test_what_python_can_name_is_told_as_well(here, taking, name):
    with pytest.raises(HitpathError) as caught:
        TAKING[taking](name)
    assert str(caught.value).isprintable()


def test_a_name_that_is_not_utf8_can_be_read_and_written(here):
    here.joinpath("t.jsonl").rename(NOT_UTF8 + ".jsonl")
    name = NOT_UTF8 + ".jsonl"
    for words in (["diff", name, name, "--json", "-"], ["analyze", name, "--html", "p.html"]):
        ended = call(*words)
        assert (ended.code, ended.err) == (0, "")
    assert call("convert", name, "--out", NOT_UTF8).code == 0
    assert os.fsencode(NOT_UTF8) in os.listdir(os.fsencode(here))
    with pytest.raises(SettingError, match="is not UTF-8: results could not name it"):
        hitpath.analyze(ROWS, tokenizer=NOT_UTF8)
    ended = call("query", "l.parquet", NOT_UTF8)
    assert ended.code == 2
    assert is_one_line(ended.err)


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json", "chat_template.jinja"])
def test_a_pipe_in_a_tokenizers_place_is_not_waited_for(here, name):
    folder = here / "model"
    folder.mkdir()
    pytest.importorskip("tokenizers").Tokenizer(
        pytest.importorskip("tokenizers").models.BPE()
    ).save(str(folder / "tokenizer.json"))
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    with pytest.raises(SettingError):
        load_tokenizer(str(folder))
    with pytest.raises(SettingError):
        load_tokenizer(str(here / "pipe"))


def test_the_files_of_a_tokenizer(tmp_path):
    more = tmp_path / "additional_chat_templates"
    more.mkdir()
    (more / "rag.jinja").touch()
    (tmp_path / "tokenizer.json").touch()
    for spec in (tmp_path, tmp_path / "tokenizer.json"):
        found = {path.name for path in files_of(str(spec)) if path.is_file()}
        assert found == {"tokenizer.json", "rag.jinja"}
    assert files_of(None) == files_of("mistral:tekken_240911") == []
    assert files_of(LONG) == [] or not any(os.path.exists(path) for path in files_of(LONG))

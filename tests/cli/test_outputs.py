"""Where results go: no file that is read is overwritten, what is refused is refused before any file
is written, devices and pipes are written to directly, and nothing stays behind."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import hitpath
from cli import ROOT, call, is_one_line, process
from hitpath.core import OutputError
from hitpath.report.output import check_places
from support import signals_as_usual, write_jsonl

ROWS: list[dict[str, Any]] = [
    {"id": str(i), "arrival_s": i, "tokens": [1] * 40 + [i]} for i in range(4)
]
LENGTHS: list[dict[str, Any]] = [
    {"id": str(i), "arrival_s": i, "prompt_tokens": 48, "reported": {"cached_tokens": 3}}
    for i in range(4)
]
KEY = bytes(range(32))


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "t.jsonl", ROWS)


def assert_refused(ended: Any, fragment: str) -> None:
    assert (ended.code, ended.out) == (2, b"")
    assert is_one_line(ended.err), ended.err
    assert fragment in ended.err


# What is read is not overwritten


@pytest.mark.parametrize("link", [None, "hard", "soft"])
@pytest.mark.parametrize("command", ["analyze", "convert", "explain", "diff", "query"])
def test_no_output_is_an_input_whatever_its_name(tmp_path, trace, command, link):
    read = tmp_path / "l.parquet" if command == "query" else trace
    if command == "query":
        call("analyze", trace, "--ledger", read)
    before = read.read_bytes()
    out = read
    if link is not None:
        out = tmp_path / "link"
        (out.hardlink_to if link == "hard" else out.symlink_to)(read)
    arguments = {
        "analyze": ["analyze", read, "--json", out],
        "convert": ["convert", read, "--out", out],
        "explain": ["explain", "1", read, "--json", out],
        "diff": ["diff", read, read, "--json", out],
        "query": ["query", read, "SELECT 1", "--json", out],
    }[command]
    assert_refused(call(*arguments), "is an input of this command")
    assert read.read_bytes() == before


def test_no_output_is_a_file_beside_the_trace(tmp_path, trace):
    """A tokenizer, a key, a model's configuration, measured hardware."""
    folder = tmp_path / "model"
    (folder / "additional_chat_templates").mkdir(parents=True)
    names = ("tokenizer.json", "tokenizer_config.json", "additional_chat_templates/a.jinja")
    for name in (*names, "config.json"):
        (folder / name).write_text("{}")
    for name in names:
        ended = call("analyze", trace, "--tokenizer", folder, "--json", folder / name)
        assert_refused(ended, "is an input")
    key = tmp_path / "key"
    key.write_bytes(KEY)
    assert_refused(call("convert", trace, "--out", key, "--redact", key), "is an input")
    ended = call(
        "price", "--model", folder, "--hardware", "h100-sxm", "--json", folder / "config.json"
    )
    assert_refused(ended, "is an input")
    assert {path.read_text() for path in folder.rglob("*.j*") if path.is_file()} == {"{}"}
    assert key.read_bytes() == KEY


def test_what_is_no_regular_file_loses_nothing(trace):
    check_places([os.devnull, str(trace.parent / "new")], [Path(os.devnull), trace])
    with pytest.raises(OutputError, match="is an input"):
        check_places([str(trace.parent / "." / "t.jsonl")], [trace])


@pytest.mark.parametrize("what", ["trace", "list", "key", "tokenizer", "link"])
def test_the_python_functions_do_not_either(tmp_path, trace, what):
    key = tmp_path / "key"
    key.write_bytes(KEY)
    before = trace.read_bytes()
    link = tmp_path / "link.jsonl"
    link.hardlink_to(trace)
    arguments: dict[str, dict[str, Any]] = {
        "trace": {"traces": trace, "out": trace},
        "list": {"traces": [str(trace)], "out": str(trace), "redact": key},
        "key": {"traces": ROWS, "out": key, "redact": key},
        "tokenizer": {"traces": ROWS, "out": key, "tokenizer": key},
        "link": {"traces": str(tmp_path / "t.*"), "out": link},
    }
    with pytest.raises(OutputError, match="is an input"):
        hitpath.convert(**arguments[what])
    assert (trace.read_bytes(), key.read_bytes()) == (before, KEY)


# What is refused is refused before any file is written


@pytest.mark.parametrize(
    "options",
    [
        ["--svg", "curve=c.svg"],
        ["--per-request", "r.jsonl", "--svg", "icicle=c.svg", "--ledger", "l.parquet"],
        ["--html", "p.html", "--show-text"],
    ],
)
def test_what_lengths_have_no_picture_of_leaves_no_file(tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    write_jsonl(tmp_path / "t.jsonl", LENGTHS)
    assert_refused(call("analyze", "t.jsonl", "--json", "o.json", *options), "")
    assert os.listdir(tmp_path) == ["t.jsonl"]


def test_text_that_is_not_there_is_not_shown(tmp_path):
    path = write_jsonl(tmp_path / "t.jsonl", LENGTHS)
    ended = call("analyze", path, "--html", tmp_path / "p.html", "--show-text")
    assert_refused(ended, "--show-text: there is no text: the file tells how long")


def test_demo_checks_before_it_writes(tmp_path):
    same = tmp_path / "d"
    assert_refused(call("demo", "--out", same, "--svg", same), "named for two outputs")
    assert_refused(call("demo", "--out", same, "--svg", "nope=x"), "is not one of")
    assert os.listdir(tmp_path) == []


# Streams by their paths


STREAMS = [
    ("hitpath convert t.jsonl --out >(cat >o)", "o"),
    ("hitpath convert t.jsonl --out /dev/stdout >o", "o"),
    ("hitpath convert t.jsonl --out /dev/stdout | cat >o", "o"),
    ("hitpath convert t.jsonl --out /dev/fd/3 3>o", "o"),
    ("hitpath convert t.jsonl --out /proc/self/fd/1 >>o", "o"),
]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="Linux only")
@pytest.mark.parametrize(("command", "name"), STREAMS)
def test_a_stream_is_written_to_by_its_path(trace, command, name):
    # bash does not wait for what a process substitution runs.
    ended = process(
        f"{command}; for i in $(seq 100); do [ -s {name} ] && break; sleep .1; done", trace.parent
    )
    assert ended.returncode == 0, ended.stderr
    written = (trace.parent / name).read_text()
    assert [json.loads(line)["tokens"] for line in written.splitlines()] == [
        row["tokens"] for row in ROWS
    ]
    assert sorted(os.listdir(trace.parent)) == sorted([name, "t.jsonl"])


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="Linux only")
def test_standard_output_under_another_name_takes_no_page_too(trace):
    for command in ("--json /dev/stdout | cat", "--json o > o; cat o", "--json -"):
        ended = process(f"hitpath analyze t.jsonl {command}", trace.parent)
        assert json.loads(ended.stdout)["tokens"]["prompt"] == 164, command
    ended = process("hitpath analyze t.jsonl --json - --ledger /dev/stdout", trace.parent)
    assert ended.returncode == 2
    assert b"/dev/stdout: named for two outputs" in ended.stderr
    process("hitpath analyze t.jsonl --ledger >(cat >l) >page; sleep 1", trace.parent)
    assert pq.read_table(trace.parent / "l")["prompt_tokens"].to_pylist() == [41] * 4
    assert b"of prompt tokens hit" in (trace.parent / "page").read_bytes()


def test_a_stream_whose_reader_has_gone_is_no_error(trace):
    ended = process("hitpath analyze t.jsonl --json >(true) >page; sleep .5", trace.parent)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_demo_into_a_pipe_does_not_wait_for_itself(tmp_path):
    ended = process(
        "hitpath demo --out >(cat >d) >page; sleep .5; hitpath demo --out - | cmp - d", tmp_path
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
    assert "made-up hour" in (tmp_path / "page").read_text()


# Signals

WRITING = """
import sys, time
from hitpath.report.output import write_whole

def slowly(file):
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    time.sleep(60)

write_whole(sys.argv[1], slowly)
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_process_that_is_ended_leaves_no_part(tmp_path, name):
    """`docker stop`, a closed terminal. It ends by the signal, so that a shell sees 143."""
    target = tmp_path / "o.jsonl"
    target.write_text("as it was")
    writing = subprocess.Popen(
        [sys.executable, "-c", WRITING, str(target)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        preexec_fn=signals_as_usual,
    )
    assert writing.stdout is not None
    with writing.stdout as told:
        assert told.readline() == b"writing\n"
        assert len(os.listdir(tmp_path)) == 2
        number = getattr(signal, name)
        writing.send_signal(number)
        writing.wait(timeout=30)
    assert writing.returncode in (-number, 1 if name == "SIGINT" else -number)
    assert os.listdir(tmp_path) == ["o.jsonl"]
    assert target.read_text() == "as it was"


def test_a_shell_sees_143(tmp_path):
    (tmp_path / "w.py").write_text(WRITING)
    command = (
        f"{sys.executable} w.py o & sleep 1; while [ ! -e .o.*.part ]; do sleep .1; done; "
        "kill $!; wait $!; echo $?; ls -A"
    )
    ended = process(command, tmp_path)
    assert ended.stdout.split() == [b"writing", b"143", b"w.py"]


def test_demo_that_is_ended_leaves_no_folder(tmp_path):
    code = (
        "import hitpath.report.demo as demo\n"
        "def wait(job): print('running', flush=True); import time; time.sleep(60)\n"
        "demo.run = wait\n"
        "demo.run_demo(None, 0, ())"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TMPDIR": str(tmp_path)}
    running = subprocess.Popen(
        [sys.executable, "-c", code],
        env=env,
        stdout=subprocess.PIPE,
        preexec_fn=signals_as_usual,
    )
    assert running.stdout is not None
    with running.stdout as told:
        assert told.readline() == b"running\n"
        assert len(os.listdir(tmp_path)) == 1
        running.terminate()
        assert running.wait(timeout=30) == -signal.SIGTERM
    assert os.listdir(tmp_path) == []


def test_handlers_of_a_program_stay_its_own(trace, tmp_path):
    """Where a program hears signals itself, or ignores them (nohup), nothing is put in between."""
    heard = []
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        hitpath.convert(trace, tmp_path / "o.jsonl")
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGTERM)
        assert heard == [signal.SIGTERM]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    hitpath.convert(trace, tmp_path / "p.jsonl")
    assert signal.getsignal(signal.SIGTERM) == before[signal.SIGTERM]

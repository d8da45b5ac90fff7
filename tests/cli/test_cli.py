"""The command as a user meets it: exit codes, one line of error, files whole or untouched."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from rich.cells import cell_len

from cli import ROOT, call, is_one_line, process
from support import signals_as_usual

ROW: dict[str, Any] = {"id": "a", "arrival_s": 0, "tokens": list(range(40))}
FILES = {"--json": "o.json", "--per-request": "o.jsonl", "--ledger": "o.parquet", "--svg": "o.svg"}


def rows(count: int, **fields: Any) -> list[dict[str, Any]]:
    return [{**ROW, "id": f"r{i}", "arrival_s": i, **fields} for i in range(count)]


def put(path: Path, content: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in content))
    return path


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Three requests of equal prompts, session and tenant named."""
    return put(tmp_path / "t.jsonl", rows(3, session="s", tenant="t"))


@pytest.fixture
def chained(tmp_path: Path) -> Path:
    mooncake = {"timestamp": 0, "input_length": 1000, "hash_ids": [1, 2]}
    return put(tmp_path / "m.jsonl", [mooncake, mooncake])


def assert_refused(ended: Any, *fragments: str) -> None:
    assert ended.code == 2
    assert ended.out == b""
    assert is_one_line(ended.err), ended.err
    for fragment in fragments:
        assert fragment in ended.err


# Settings


@pytest.mark.parametrize(
    ("options", "fragments"),
    [
        ("--block-size 0", ["--block-size", "0"]),
        ("--block-size -1", ["--block-size", "-1"]),
        ("--block-size 9223372036854775808", ["--block-size"]),
        ("--block-size 1" + "0" * 400, ["--block-size"]),
        ("--engine none", ["--engine none", "unlimited, lru"]),
        ("--engine vllm", ["--engine vllm", "needs --capacity-tokens"]),
        ("--engine lru", ["--engine lru", "--capacity-tokens"]),
        ("--capacity-tokens 100", ["--engine unlimited", "lru"]),
        ("--engine lru --capacity-tokens 0", ["--capacity-tokens", "0"]),
        ("--engine lru --capacity-tokens -5", ["--capacity-tokens", "-5"]),
        ("--engine lru --capacity-tokens 15", ["--capacity-tokens 15", "block of 16"]),
        ("--engine lru --capacity-tokens 1" + "0" * 30, ["--capacity-tokens"]),
        ("--engine lru --capacity-gib 1", ["--capacity-gib", "--model"]),
        (
            "--engine lru --capacity-gib 1 --capacity-tokens 64 --model qwen3-8b",
            ["--capacity-gib"],
        ),
        ("--engine lru --capacity-gib nan --model qwen3-8b", ["--capacity-"]),
        ("--engine lru --capacity-gib inf --model qwen3-8b", ["--capacity-"]),
        ("--engine lru --capacity-gib -inf --model qwen3-8b", ["--capacity-"]),
        ("--engine lru --capacity-gib 1e300 --model qwen3-8b", ["--capacity-"]),
        ("--engine lru --capacity-gib 0 --model qwen3-8b", ["--capacity-"]),
        ("--engine lru --capacity-gib -1 --model qwen3-8b", ["--capacity-"]),
        ("--model nope", ["--model nope", "llama-3.1-8b"]),
        ("--model /dev/null", ["/dev/null"]),
        ("--model " + "x" * 5000, ["--model"]),
        ("--model qwen3-8b --kv-dtype fp7", ["--kv-dtype fp7", "bf16"]),
        ("--outputs keep", ["--outputs keep", "insert, ignore"]),
        ("--workers 0", ["--workers", "0"]),
        ("--workers -1", ["--workers", "-1"]),
        ("--workers 9223372036854775808 --router random", ["--workers"]),
        ("--workers 2147483648", ["--workers"]),
        ("--router random", ["--router", "--workers"]),
        ("--workers 2 --router best", ["--router best", "round-robin"]),
        ("--seed -1", ["--seed"]),
        ("--seed 9223372036854775808", ["--seed"]),
        ("--sample 0", ["--sample"]),
        ("--sample -1", ["--sample"]),
        ("--sample nan", ["--sample"]),
        ("--sample 2", ["--sample"]),
        ("--sample 1", ["--sample"]),
        ("--sample 1e-300", ["--sample"]),
        ("--sample 5e-324", ["--sample"]),
        ("--sample 0.5 --per-request -", ["--per-request", "--sample"]),
        ("--sample 0.5 --ledger o.parquet", ["--ledger", "--sample"]),
        ("--sample 0.5 --svg o.svg", ["--svg", "--sample"]),
        ("--sample 0.5 --workers 2 --router random", ["--sample", "--workers"]),
        ("--sample 0.5 --outputs insert", ["--sample", "--outputs"]),
        ("--json - --per-request -", ["named for two outputs"]),
        ("--json o --ledger o", ["o: named for two outputs"]),
        ("--json o --ledger ./o", ["named for two outputs"]),
    ],
    ids=lambda v: v[:48] if isinstance(v, str) else "",
)
def test_a_setting_that_cannot_be_is_refused(trace, monkeypatch, options, fragments):
    monkeypatch.chdir(trace.parent)
    assert_refused(call("analyze", trace, *options.split(" ")), *fragments)
    assert sorted(p.name for p in trace.parent.iterdir()) == ["t.jsonl"]


def test_workers_that_the_trace_names_are_not_named_again(tmp_path):
    path = put(tmp_path / "t.jsonl", rows(2, worker="w"))
    ended = call("analyze", path, "--workers", 2, "--router", "random")
    assert_refused(ended, "--workers", "its own workers")


def test_a_finer_block_than_the_traces_is_refused(chained):
    assert_refused(call("analyze", chained, "--block-size", 16), "--block-size 16", "512")


@pytest.mark.parametrize("options", [["--nope"], ["--block-size", "x"], ["--workers"]])
def test_what_the_parser_does_not_know_ends_with_2(trace, options):
    ended = call("analyze", trace, *options)
    assert (ended.code, ended.out) == (2, b"")
    assert options[0] in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    "options",
    [
        "--block-size 1048576",
        "--block-size 1",
        "--engine lru --capacity-tokens 16",
        "--engine lru --capacity-tokens 1099511627776",
        "--engine lru --capacity-gib 1 --model qwen3-8b --kv-dtype fp8",
        "--last-token",
        "--outputs insert",
        "--split-models",
        "--workers 1",
        "--workers 2",
        "--workers 50 --router prefix",
        "--workers 3 --router session",
        "--workers 3 --router random --seed 9223372036854775807",
        "--sample 0.5",
        "--sample 1e-6",
        "--sample 0.5 --engine lru --capacity-tokens 32 --split-models --last-token",
    ],
)
def test_every_setting_gives_the_page_and_the_document(trace, options):
    page = call("analyze", trace, *options.split())
    assert (page.code, page.err) == (0, "")
    assert "of prompt tokens hit" in page.text
    told = json.loads(call("analyze", trace, *options.split(), "--json", "-").text)
    assert told["schema"] == "hitpath.analysis/1"
    assert told["trace"]["num_requests"] == 3


def test_the_smallest_window_sums_up(trace):
    told = json.loads(call("analyze", trace, "--json", "-").text)["tokens"]
    assert told["prompt"] == 120
    assert told["hit"] == 64
    assert told["hit"] + sum(v or 0 for v in told["causes"].values()) + told["unexplained"] == 120


# Bad input, through the command


@pytest.mark.parametrize(
    ("content", "fragments"),
    [
        (b"", ["t.jsonl: no requests"]),
        (b"\n\n", ["t.jsonl: no requests"]),
        (b"\0\0", ["t.jsonl:1: not a format that hitpath knows"]),
        (b"{}", ["t.jsonl:1: format not recognised"]),
        (b'{"id":1,"arrival_s":-1,"tokens":[]}', ["t.jsonl:1: arrival_s: -1 s is not a time"]),
        (b'{"id":1,"arrival_s":0,"tokens":[1,-1]}', ["t.jsonl:1: tokens[1]: -1"]),
        (b'{"id":1,"arrival_s":0,"tokens":[],"turn":1e400}', ["t.jsonl:1: turn"]),
        (b'{"id":1,"arrival_s":0,"tokens":[],"turn":9223372036854775808}', ["t.jsonl:1: turn"]),
        (b'{"id":1,"arrival_s":0,"tokens":[],"a\\nb":' + b"[" * 9999, ["t.jsonl:1", "deep"]),
        (
            b'{"id":1,"arrival_s":0,"tokens":[],"reported":{"cached_by_tier":{"a\\nb":-1}}}',
            ["t.jsonl:1: reported.cached_by_tier", "-1 is not a count"],
        ),
    ],
)
def test_bad_input_is_one_line_and_leaves_files_alone(tmp_path, content, fragments):
    path = tmp_path / "t.jsonl"
    path.write_bytes(content)
    (tmp_path / "o.json").write_text("as it was")
    options = [x for option, name in FILES.items() for x in (option, tmp_path / name)]
    assert_refused(call("analyze", path, *options), *fragments)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["o.json", "t.jsonl"]
    assert (tmp_path / "o.json").read_text() == "as it was"


def test_skipped_and_excluded_rows_are_counted_and_listed(tmp_path):
    bad = {**ROW, "id": "b", "arrival_s": -1}
    contrary = {**ROW, "id": "c", "reported": {"cached_tokens": 99}}
    path = put(tmp_path / "t.jsonl", [ROW, bad, contrary, {**ROW, "id": "d"}])
    told = json.loads(call("analyze", path, "--skip-bad-rows", "--json", "-").text)
    assert told["trace"]["num_skipped_rows"] == 1
    assert told["trace"]["num_excluded_rows"] == 1
    assert told["skipped_rows"] == [
        {
            "place": f"{path}:2",
            "field": "arrival_s",
            "cause": told["skipped_rows"][0]["cause"],
        }
    ]
    assert told["excluded_rows"][0]["id"] == "c"
    assert told["tokens"]["prompt"] == 80
    page = call("analyze", path, "--skip-bad-rows").text
    assert "Skipped rows: 1" in page
    assert "Excluded rows: 1" in page


def test_standard_input_is_a_trace(trace):
    ended = call("analyze", "-", "--per-request", "-", stdin=trace.read_bytes())
    assert [json.loads(line)["id"] for line in ended.text.splitlines()] == ["r0", "r1", "r2"]
    assert_refused(call("analyze", "-", stdin=b"{"), "stdin:1: input data was truncated")
    assert_refused(call("analyze", "-", stdin=b""), "no requests")


# Names that a terminal or a markup language would take for its own


@pytest.mark.parametrize("field", ["session", "tenant", "model", "worker", "id"])
@pytest.mark.parametrize("name", ["[/red]boo", "[red]boo[/red]", "[INST]boo", "\\[boo]", ":smile:"])
def test_names_are_printed_as_they_are(tmp_path, field, name):
    content = rows(2)
    content[0][field] = name
    content[1].update({field: "other"})
    ended = call("analyze", put(tmp_path / "t.jsonl", content))
    assert (ended.code, ended.err) == (0, "")
    assert name in ended.text


@pytest.mark.parametrize("field", ["session", "tenant", "model", "worker", "id"])
def test_names_cannot_steer_the_terminal(tmp_path, field):
    content = rows(2)
    content[0][field] = "a\x1b[2J\r\n\x07\x9b31mb\u202e"
    content[1].update({field: "other"})
    ended = call("analyze", put(tmp_path / "t.jsonl", content))
    assert (ended.code, ended.err) == (0, "")
    assert not [c for c in ended.text if not c.isprintable() and c != "\n"]


def test_causes_and_places_with_brackets_are_printed_as_they_are(tmp_path):
    folder = tmp_path / "z["
    folder.mkdir()
    bad = {**ROW, "id": "b", "reported": {"counting": "[/red]"}}
    (folder / "b]").mkdir()
    path = put(folder / "b].jsonl", [ROW, bad])
    ended = call("analyze", path, "--skip-bad-rows")
    assert (ended.code, ended.err) == (0, "")
    assert "[/red]" in ended.text


@pytest.mark.parametrize("name", ["s" * 400, "漢" * 100, "é\u0301" * 50, ""])
def test_long_and_wide_names_stay_within_the_page(tmp_path, name):
    content = rows(2, session=name)
    content[1]["session"] = "other"
    page = call("analyze", put(tmp_path / "t.jsonl", content)).text
    assert max(map(cell_len, page.splitlines())) <= 110


def test_a_file_whose_name_is_no_text_is_read_and_its_rows_listed(tmp_path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.jsonl"))
    put(path, [ROW, {**ROW, "id": "b", "arrival_s": -1}])
    options = [x for option, name in FILES.items() for x in (option, tmp_path / name)]
    ended = call("analyze", path, "--skip-bad-rows", *options)
    assert (ended.code, ended.err) == (0, "")
    (problem,) = json.loads((tmp_path / "o.json").read_text())["skipped_rows"]
    assert problem["place"].endswith(".jsonl:2")
    assert_refused(call("analyze", path), ".jsonl:2: arrival_s")


# Outputs


def test_every_output_is_written_whole(trace, tmp_path):
    options = [x for option, name in FILES.items() for x in (option, tmp_path / name)]
    ended = call("analyze", trace, *options)
    assert (ended.code, ended.err) == (0, "")
    assert "of prompt tokens hit" in ended.text
    document = json.loads((tmp_path / "o.json").read_text())
    lines = (tmp_path / "o.jsonl").read_text().splitlines()
    table = pq.read_table(tmp_path / "o.parquet").to_pydict()
    assert [json.loads(line)["hit_tokens"] for line in lines] == [0, 32, 32] == table["hit_tokens"]
    assert document["tokens"]["hit"] == 64
    assert (tmp_path / "o.svg").read_text().startswith("<svg")
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("option", FILES)
@pytest.mark.parametrize(
    ("target", "cause"),
    [
        ("folder", "is a folder"),
        (".", "is a folder"),
        ("", ""),
        ("missing/o", "No such file or folder"),
        ("t.jsonl/o", "Not a"),
        ("t.jsonl", "is an input"),
        ("./t.jsonl", "is an input"),
        ("link", "is an input"),
        ("loop", ""),
        ("x" * 300, "too long"),
        ("/dev/full", "No space left on device"),
    ],
    ids=lambda v: v[:16],
)
def test_an_output_that_cannot_be_is_refused(trace, monkeypatch, option, target, cause):
    monkeypatch.chdir(trace.parent)
    before = trace.read_bytes()
    Path("folder").mkdir()
    Path("link").symlink_to("t.jsonl")
    Path("loop").symlink_to("loop")
    ended = call("analyze", "t.jsonl", option, target)
    assert_refused(ended, *([target] if target else []))
    assert cause.replace("folder", "") in ended.err.replace("directory", "").replace("folder", "")
    assert trace.read_bytes() == before
    assert sorted(os.listdir()) == ["folder", "link", "loop", "t.jsonl"]


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """A disk that fills up: writes past `size` bytes of a file fail."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


@pytest.mark.parametrize("option", FILES)
def test_a_disk_that_fills_up_leaves_the_old_file(tmp_path, option):
    path, target = put(tmp_path / "t.jsonl", rows(200)), tmp_path / FILES[option]
    options = [option, target]
    call("analyze", path, *options)  # what is compiled and cached is so before
    target.write_text("as it was")
    with files_of_at_most(1000):
        ended = call("analyze", path, *options)
    assert_refused(ended, str(target), "cannot be written")
    assert target.read_text() == "as it was"
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["t.jsonl", target.name])


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="Linux only")
def test_a_folder_that_takes_no_files_is_named(trace):
    assert_refused(call("analyze", trace, "--json", "/proc/o.json"), "/proc/o.json", "written")


def test_an_output_keeps_its_link_and_who_may_read_it(trace, tmp_path):
    target, link = tmp_path / "real.json", tmp_path / "link.json"
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to(target)
    assert call("analyze", trace, "--json", link).code == 0
    assert link.is_symlink()
    assert json.loads(target.read_text())["schema"]
    assert target.stat().st_mode & 0o777 == 0o600


def test_outputs_that_cannot_be_are_refused_before_any_is_written(trace, tmp_path):
    ended = call("analyze", trace, "--json", tmp_path / "a", "--ledger", tmp_path / "no" / "b")
    assert_refused(ended, "no/b")
    assert not (tmp_path / "a").exists()


def test_two_runs_are_byte_equal(tmp_path):
    path = put(tmp_path / "t.jsonl", rows(40, session="s"))
    options = ["--workers", 3, "--router", "random", "--seed", 7, "--engine", "lru"]
    options += ["--capacity-tokens", 64]
    written = []
    for run in range(2):
        names = [tmp_path / f"{run}{name}" for name in FILES.values()]
        arguments = [x for pair in zip(FILES, names, strict=True) for x in pair]
        page = call("analyze", path, *options, *arguments)
        assert page.code == 0
        written.append([page.out, *(name.read_bytes() for name in names)])
    assert written[0] == written[1]


def test_demo_keeps_its_workload_and_analyses_it(tmp_path):
    first = call("demo", "--out", tmp_path / "d.jsonl")
    assert (first.code, first.err) == (0, "")
    assert first.out == call("demo", "--out", tmp_path / "e.jsonl").out.replace(b"e.jsonl", b"")
    assert (tmp_path / "d.jsonl").read_bytes() == (tmp_path / "e.jsonl").read_bytes()
    assert call("analyze", tmp_path / "d.jsonl").code == 0
    for target in ("/dev/full", tmp_path, tmp_path / "no" / "d"):
        assert_refused(call("demo", "--out", target), str(target))


# What needs a process of its own: streams, signals, encodings, the environment


@pytest.mark.parametrize(
    ("command", "code", "fragment"),
    [
        ("hitpath --version", 0, ""),
        ("hitpath analyze t.jsonl >/dev/full", 2, "No space left"),
        ("hitpath analyze t.jsonl --json - >/dev/full", 2, "No space left"),
        ("hitpath analyze - <&-", 2, "stdin"),
        ("hitpath analyze t.jsonl --json - >&-", 2, "cannot be written"),
        ("hitpath analyze t.jsonl --json o.json >&-", 0, ""),
        ("hitpath analyze t.jsonl 2>&-", 0, ""),
        ("hitpath analyze nope 2>&-", 2, ""),
        ("hitpath analyze - < /", 2, ""),
    ],
)
def test_streams_that_are_full_or_closed(trace, command, code, fragment):
    ended = process(command, trace.parent)
    err = ended.stderr.decode()
    assert "Traceback" not in err
    if "- < /" in command:  # Python itself refuses a folder as standard input
        assert ended.returncode != 0
        return
    assert ended.returncode == code
    assert fragment in err
    assert is_one_line(err) or not err


@pytest.mark.parametrize("option", ["", "--json -", "--per-request -", "--ledger -"])
def test_a_reader_that_goes_away_is_no_error(tmp_path, option):
    put(tmp_path / "t.jsonl", rows(4000))
    command = f"hitpath analyze t.jsonl {option} | true; echo ${{PIPESTATUS[0]}}"
    ended = process(command, tmp_path)
    assert ended.stderr == b""
    assert ended.stdout.strip() in (b"0", b"141")


ENVIRONMENTS = {
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "latin-1": {"PYTHONIOENCODING": "latin-1"},
    "C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "narrow": {"COLUMNS": "40", "TERM": "dumb"},
    "colours": {"FORCE_COLOR": "1"},
    "no home": {"HOME": "/nonexistent", "NUMBA_CACHE_DIR": "/proc/nonexistent"},
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_odd_environments_still_get_the_page(trace, name):
    command = "hitpath analyze t.jsonl --svg o.svg --json o.json"
    ended = process(command, trace.parent, **ENVIRONMENTS[name])
    err = ended.stderr.decode()
    assert ended.returncode == 0, err[-300:]
    assert not err or "compiling kernels" in err
    assert b"of prompt tokens hit" in ended.stdout
    assert json.loads((trace.parent / "o.json").read_text())["tokens"]["hit"] == 64
    assert (trace.parent / "o.svg").read_bytes().startswith(b"<svg")


def test_an_error_can_be_printed_in_ascii(tmp_path):
    ended = process("hitpath analyze 'é漢.jsonl'", tmp_path, PYTHONIOENCODING="ascii")
    assert ended.returncode == 2
    assert b"no such file" in ended.stderr
    assert ended.stderr.count(b"\n") == 1


def test_the_kernels_give_the_same_bytes_with_the_jit_off(tmp_path):
    put(tmp_path / "t.jsonl", rows(12, session="s"))
    command = "hitpath analyze t.jsonl --engine lru --capacity-tokens 64 --json - --svg o.svg"
    fast = process(command, tmp_path)
    picture = (tmp_path / "o.svg").read_bytes()
    plain = process(command, tmp_path, NUMBA_DISABLE_JIT="1")
    assert plain.returncode == fast.returncode == 0
    assert plain.stdout == fast.stdout
    assert plain.stderr == b""
    assert (tmp_path / "o.svg").read_bytes() == picture


@pytest.mark.skipif(sys.platform != "linux", reason="needs script(1) of util-linux")
@pytest.mark.parametrize("columns", [20, 40, 80])
def test_a_narrow_terminal_gets_no_wider_line(trace, columns):
    inner = f"stty cols {columns}; {sys.executable} -m hitpath analyze t.jsonl"
    ended = process(f'script -qec "{inner}" /dev/null', trace.parent, TERM="xterm")
    if b"not found" in ended.stderr:
        pytest.skip("no script(1) here")
    assert ended.returncode == 0
    page = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", ended.stdout.decode())
    shown = [line.rsplit("\r", 1)[-1] for line in page.replace("\r\n", "\n").split("\n")]
    assert any("of prompt" in line for line in shown)
    # Below 80 the terminal wraps: a cut number would be a wrong one.
    assert max(map(len, shown)) <= max(columns, 80)
    assert "%" in page


def test_an_interrupt_ends_with_130_and_no_file(tmp_path):
    """It waits for the rest of a trace that comes through a pipe."""
    os.mkfifo(tmp_path / "pipe")
    running = subprocess.Popen(
        [sys.executable, "-m", "hitpath", "analyze", "pipe", "--json", "o.json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=signals_as_usual,
    )
    end = os.open(tmp_path / "pipe", os.O_RDWR)  # holds both ends open
    try:
        os.write(end, b"".join(json.dumps(row).encode() + b"\n" for row in rows(100)))
        time.sleep(2.5)
        assert running.poll() is None
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=20)
    finally:
        os.close(end)
        running.kill()
    assert running.returncode == 130
    assert b"Traceback" not in err
    assert os.listdir(tmp_path) == ["pipe"]


def test_an_interrupt_while_writing_leaves_the_old_file(trace, tmp_path, monkeypatch):
    def interrupted(analysis: object, file: Any) -> None:
        file.write(b"half a line")
        file.flush()
        raise KeyboardInterrupt

    monkeypatch.setattr("hitpath.report.run.write_per_request", interrupted)
    (tmp_path / "o.jsonl").write_text("as it was")
    ended = call("analyze", trace, "--per-request", tmp_path / "o.jsonl")
    assert (ended.code, ended.out) == (130, b"")
    assert (tmp_path / "o.jsonl").read_text() == "as it was"
    assert sorted(os.listdir(tmp_path)) == ["o.jsonl", "t.jsonl"]


def test_help_is_quick_because_nothing_heavy_is_loaded(tmp_path):
    code = (
        "import sys; sys.argv=['hitpath','--help']\n"
        "try:\n import hitpath.cli; hitpath.cli.main()\nexcept SystemExit: pass\n"
        "print([m for m in ('numba','numpy','pyarrow','rich.table') if m in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    ended = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, check=True, cwd=tmp_path
    )
    assert ended.stdout.splitlines()[-1] == b"[]"

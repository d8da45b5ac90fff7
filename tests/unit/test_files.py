"""From what the user typed to lines with a place: folders, globs, links, pipes, compression."""

import gzip
import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
import pytest

from hitpath.core import InputError, one_line
from hitpath.traces import Trace, files, open_inputs, read_trace
from hitpath.traces.detect import statistics_in
from hitpath.traces.engine_logs import observe
from hitpath.traces.files import expand, filled, lines

ROWS = [json.dumps({"id": i, "arrival_s": i, "tokens": [1, 2, i]}) for i in range(5000)]
PLAIN = "".join(row + "\n" for row in ROWS).encode()
SESSION = {
    "id": "s",
    "block_size": 64,
    "requests": [{"t": 0, "in": 128, "hash_ids": [1, 2]}],
}


def zstd(data: bytes) -> bytes:
    packed = pa.compress(data, codec="zstd", asbytes=True)
    assert isinstance(packed, bytes)
    return packed


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


def put(path: Path, content: bytes | str = PLAIN) -> str:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def one(number: int) -> str:
    return ROWS[number] + "\n"


def refusal(*arguments: str, skip_bad_rows: bool = False) -> InputError:
    with pytest.raises(InputError) as caught:
        read_trace(list(arguments), skip_bad_rows=skip_bad_rows)
    assert str(caught.value).isprintable(), "one line, no control characters"
    return caught.value


@contextmanager
def as_nobody() -> Iterator[None]:
    """Permissions do not hold for root; the tests often run as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_tmp(tmp_path: Path) -> Path:
    """`tmp_path`, which another user may enter."""
    for folder in (tmp_path, *tmp_path.parents[:3]):
        if folder.stat().st_uid == os.geteuid() and folder != Path("/"):
            folder.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.jsonl.gz", gzip.compress(PLAIN, mtime=0)),
        ("T.JSONL.GZ", gzip.compress(PLAIN, mtime=0)),
        ("t.jsonl.zst", zstd(PLAIN)),
        (
            "two-members.jsonl.gz",
            gzip.compress(PLAIN[:5000], mtime=0) + gzip.compress(PLAIN[5000:], mtime=0),
        ),
        ("two-frames.jsonl.zst", zstd(PLAIN[:5000]) + zstd(PLAIN[5000:])),
        ("crlf.jsonl", PLAIN.replace(b"\n", b"\r\n\r\n")),
        ("no last line end.jsonl", PLAIN[:-1]),
        ("t.txt", PLAIN),
        ("[x].jsonl", PLAIN),
    ],
)
def test_the_same_rows_come_from_every_wrapping(tmp_path, name, content):
    assert read_trace([put(tmp_path / name, content)]).ids == tuple(map(str, range(5000)))


@pytest.mark.parametrize("skip_bad_rows", [False, True])
@pytest.mark.parametrize(
    ("name", "content", "cause"),
    [
        ("half.jsonl.gz", gzip.compress(PLAIN, mtime=0)[:8000], "ended before"),
        ("head.jsonl.gz", gzip.compress(PLAIN, mtime=0)[:5], "ended before"),
        ("none.jsonl.gz", PLAIN, "gzip"),
        ("crc.jsonl.gz", gzip.compress(PLAIN, mtime=0)[:-8] + b"\0" * 8, "CRC"),
        ("tail.jsonl.gz", gzip.compress(PLAIN, mtime=0) + b"xxxx", "gzip"),
        ("half.jsonl.zst", zstd(PLAIN)[:8000], "runcated"),
        ("less-one.jsonl.zst", zstd(PLAIN)[:-1], "runcated"),
        ("head.jsonl.zst", zstd(PLAIN)[:3], "runcated"),
        ("none.jsonl.zst", PLAIN, "ZSTD"),
        ("tail.jsonl.zst", zstd(PLAIN) + b"garbage", "ZSTD"),
    ],
)
def test_damaged_compression_is_named_and_never_half_an_answer(
    tmp_path, name, content, cause, skip_bad_rows
):
    error = refusal(put(tmp_path / name, content), skip_bad_rows=skip_bad_rows)
    assert name in error.place
    assert cause in error.cause


@pytest.mark.parametrize("at", range(2000, 14_000, 2000))
def test_one_flipped_byte_of_a_compressed_file_is_an_error_of_that_file(tmp_path, at):
    """gzip carries a checksum, so that no flip goes unseen; zstd need not."""
    path = put(tmp_path / "flip.jsonl.gz", flipped(gzip.compress(PLAIN, mtime=0), at))
    assert "flip.jsonl.gz" in refusal(path).place
    path = put(tmp_path / "flip.jsonl.zst", flipped(zstd(PLAIN), at % len(zstd(PLAIN))))
    with suppress(InputError):
        read_trace([path])


@pytest.mark.parametrize("name", ["e.jsonl", "e.json", "e.jsonl.gz", "e.jsonl.zst"])
def test_an_empty_file_is_named(tmp_path, name):
    error = refusal(put(tmp_path / name, b""))
    assert name in error.place
    assert "no requests" in error.cause


def test_an_empty_file_beside_a_full_one_is_read_over(tmp_path):
    assert len(read_trace([put(tmp_path / "a.jsonl", b""), put(tmp_path / "b.jsonl")])) == 5000


@pytest.mark.parametrize(
    ("argument", "cause"),
    [
        ("nope.jsonl", "no such file or folder"),
        ("*.nope", "no file matches"),
        ("empty", "no .jsonl or .json file"),
        ("other", "none of its 1 texts is a log of a known kind"),
        ("http://host/t.jsonl", "is a URL: curl -sL http://host/t.jsonl | hitpath analyze -"),
        ("https://host/a?b=1&c=2", "curl -sL 'https://host/a?b=1&c=2' | hitpath analyze -"),
        ("e*", "no file matches"),
        ("t.jsonl/below", "no such file or folder"),
        ("dangling", "no such file or folder"),
        ("loop", ""),
        ("x" * 5000, ""),
        ("a\0b", ""),
    ],
    ids=lambda v: v[:16],
)
def test_a_name_that_leads_to_nothing_is_refused(tmp_path, monkeypatch, argument, cause):
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "t.jsonl")
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    put(tmp_path / "other" / "x.txt", "hello")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InputError) as caught:
        read_trace([argument])
    assert caught.value.place == one_line(argument)
    assert cause in caught.value.cause


def test_a_folder_names_the_glob_for_what_is_below_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, ending in (("a", "jsonl"), ("b", "jsonl"), ("c", "json"), ("d", "csv")):
        below = tmp_path / "of[1]" / name / "deep"
        below.mkdir(parents=True)
        put(below / f"t.{ending}", one(0))
    (tmp_path / "of[1]" / ".hidden").mkdir()
    for name in ("x.jsonl", "y.jsonl"):
        put(tmp_path / "of[1]" / ".hidden" / name, one(1))
    error = refusal("of[1]")
    pattern = "of[[]1]/**/*.jsonl"
    assert error.cause.endswith(f"; 2 .jsonl below it: give '{pattern}'")
    assert [source.name for source in expand([pattern])] == [
        "of[1]/a/deep/t.jsonl", "of[1]/b/deep/t.jsonl",
    ]  # fmt: skip
    put(tmp_path / "of[1]" / "README.txt", "What this is.\n")
    assert refusal("of[1]").cause.endswith(f"2 .jsonl below it: give '{pattern}'")
    put(tmp_path / "of[1]" / "t.jsonl", one(0))
    assert len(read_trace(["of[1]"])) == 1


REQUEST = (
    "INFO 05-11 12:04:19 [logger.py:39] Received request cmpl-{0}: prompt: 'x', params: "
    "SamplingParams(n=1), prompt_token_ids: [1, 2], lora_request: None.\n"
)


def test_the_logs_of_a_folder_are_told_from_its_other_texts_by_content(tmp_path):
    put(tmp_path / "server.log", REQUEST.format("a"))
    put(tmp_path / "README.txt", "Two servers with a log each.\n")
    put(tmp_path / "other.TXT.gz", gzip.compress(REQUEST.format("b").encode(), mtime=0))
    put(tmp_path / "empty.log", "")
    put(tmp_path / "notes.md", REQUEST.format("c"))
    trace = read_trace([str(tmp_path)])
    assert trace.ids == ("cmpl-b", "cmpl-a")
    assert (
        "2 texts of the folder are neither a log nor a trace that hitpath knows: passed over "
        f"({tmp_path}/README.txt, {tmp_path}/empty.log)"
    ) in trace.notes
    # Named by itself, a text is not passed over, whatever else names it.
    for order in (["README.txt", ""], ["", "README.txt"]):
        error = refusal(*(str(tmp_path / name) for name in order))
        assert "not a format that hitpath knows" in error.cause
    put(tmp_path / "t.jsonl", one(0))
    assert read_trace([str(tmp_path)]).format == "hitpath"


def test_a_text_of_a_folder_that_cannot_be_read_is_told(tmp_path):
    put(tmp_path / "a.log", REQUEST.format("a"))
    put(tmp_path / "b.log.gz", gzip.compress(REQUEST.format("b").encode(), mtime=0)[:-9])
    assert "b.log.gz" in refusal(str(tmp_path)).place


def test_statistics_of_a_folder_tell_of_the_texts_beside_them(tmp_path):
    put(tmp_path / "m.txt", 'vllm:prefix_cache_hits_total{engine="0"} 1.0\n')
    put(tmp_path / "README.txt", "One scrape.\n")
    inputs = open_inputs([str(tmp_path)])
    assert statistics_in(inputs)
    assert any(trap.startswith("1 texts of the folder") for trap in observe(inputs).traps)


def test_an_empty_name_is_not_this_folder(tmp_path, monkeypatch):
    """`hitpath analyze "$UNSET"` must not read whatever stands here."""
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "t.jsonl")
    with pytest.raises(InputError):
        read_trace([""])


def test_files_that_may_not_be_read_are_named(open_tmp):
    secret, hidden, closed = open_tmp / "secret.jsonl", open_tmp / "hidden", open_tmp / "closed"
    put(secret)
    hidden.mkdir()
    put(hidden / "t.jsonl")
    closed.mkdir()
    read_trace([str(secret)])  # what is loaded when used is loaded before rights are given up
    secret.chmod(0)
    hidden.chmod(0)
    closed.chmod(0o311)
    arguments = [secret, hidden, hidden / "t.jsonl", hidden / "*.jsonl", closed, open_tmp]
    try:
        for argument in arguments:
            with as_nobody():
                error = refusal(str(argument))
            assert str(argument) in error.place
            assert "ermission denied" in error.cause or "no file matches" in error.cause
    finally:
        hidden.chmod(0o755)
        closed.chmod(0o755)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="Linux only")
def test_an_error_while_reading_is_named():
    error = refusal("/proc/self/mem")
    assert error.place == "/proc/self/mem"
    assert "cannot be read" in error.cause


def test_a_file_named_twice_is_read_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "t.jsonl", one(0))
    (tmp_path / "link.jsonl").symlink_to("t.jsonl")
    names = ["t.jsonl", "./t.jsonl", str(tmp_path / "t.jsonl"), "link.jsonl", "*.jsonl", "."]
    assert len(read_trace(names)) == 1


def test_a_copy_under_another_name_is_told_by_its_ids(tmp_path):
    first, second = put(tmp_path / "a.jsonl", one(0)), put(tmp_path / "b.jsonl", one(0))
    error = refusal(first, second)
    assert error.place.endswith("b.jsonl:1")
    assert error.field == "id"
    assert f"{first}:1" in error.cause


def test_a_folder_is_read_in_the_order_of_its_names(tmp_path):
    for name, number in (("b.jsonl", 1), ("a.json", 0), ("c.ndjson", 2), ("notes.txt", 3)):
        put(tmp_path / name, one(number).replace(f'"arrival_s": {number}', '"arrival_s": 0'))
    put(tmp_path / "d.jsonl.gz", gzip.compress(one(4).encode(), mtime=0))
    (tmp_path / "e.jsonl").mkdir()
    assert read_trace([str(tmp_path)]).ids == ("0", "1", "2", "4")


def test_files_of_two_formats_are_refused_even_when_rows_may_be_skipped(tmp_path):
    mooncake = json.dumps({"timestamp": 0, "input_length": 1000, "hash_ids": [1, 2]})
    first, second = put(tmp_path / "a.jsonl", one(0)), put(tmp_path / "b.jsonl", mooncake)
    for skip in (False, True):
        error = refusal(first, second, skip_bad_rows=skip)
        assert error.place.endswith("b.jsonl")
        assert "mooncake" in error.cause
        assert "hitpath" in error.cause


def test_a_file_of_bad_rows_beside_a_good_one_is_listed(tmp_path):
    good, bad = put(tmp_path / "a.jsonl", one(0)), put(tmp_path / "b.jsonl", "{bad\n\nworse\n")
    trace = read_trace([good, bad], skip_bad_rows=True)
    assert [p.place[-9:] for p in trace.skipped] == ["b.jsonl:1", "b.jsonl:3"]
    assert refusal(good, bad).place.endswith("b.jsonl:1")
    assert "b.jsonl" in refusal(bad, skip_bad_rows=True).place


@pytest.mark.parametrize("content", [one(0), json.dumps(SESSION), json.dumps(SESSION, indent=2)])
def test_a_pipe_is_read_once_from_its_beginning_to_its_end(tmp_path, content):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(content))
    writer.start()
    trace = read_trace([str(pipe), str(pipe)])
    writer.join()
    assert len(trace) == 1


@pytest.mark.parametrize(
    "content",
    [
        one(0),
        json.dumps({"timestamp": 0, "input_length": 1000, "hash_ids": [1, 2]}),
        json.dumps(SESSION),
        json.dumps(SESSION, indent=2),
        "\n\n" + json.dumps(SESSION, indent=2) + "\n\n",
        json.dumps(SESSION).replace(', "requests"', ',\r\n"requests"'),
    ],
)
def test_standard_input_takes_every_format(monkeypatch, content):
    assert len(_from_stdin(monkeypatch, content)) == 1


def _from_stdin(monkeypatch: pytest.MonkeyPatch, content: str) -> Trace:
    read_end, write_end = os.pipe()
    os.write(write_end, content.encode())
    os.close(write_end)
    with os.fdopen(read_end) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        trace = read_trace(["-", "-"])
        assert not stdin.closed, "not ours to close"
    return trace


def test_standard_input_that_is_closed_is_an_error_of_it(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert "stdin" in str(refusal("-"))


@pytest.mark.parametrize("size", [1 << 20, (1 << 20) - 1, (1 << 20) + 1, 3 << 20])
def test_lines_across_the_edges_of_chunks_keep_their_numbers(tmp_path, size):
    long = b"y" * size
    content = b"a\n" + long + b"\n\n" + long + b"\n \nb"
    path = put(tmp_path / "t.jsonl", content)
    (source,) = expand([path])
    found = list(filled(lines(source)))
    assert [number for number, _ in found] == [1, 2, 4, 6]
    assert [len(line) for _, line in found] == [1, size, size, 1]


def test_a_long_line_without_an_end_is_refused_in_few_words(tmp_path):
    error = refusal(put(tmp_path / "t.jsonl", b"x" * (64 << 20)))
    assert error.place.endswith("t.jsonl:1")
    assert len(error.cause) < 1000


def test_names_with_line_ends_stay_on_one_line(tmp_path):
    path = put(tmp_path / "a\nb\x1b[2J.jsonl", "{")
    with pytest.raises(InputError) as caught:
        read_trace([path])
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_a_line_that_no_memory_holds_is_refused(tmp_path, monkeypatch):
    """/dev/zero, or the few bytes that gzip makes of it, are one line without an end."""
    monkeypatch.setattr(files, "_LONGEST_LINE_BYTES", 1 << 20)
    for name, content in (("t.jsonl", PLAIN), ("t.jsonl.gz", gzip.compress(PLAIN, mtime=0))):
        path = put(tmp_path / name, content)
        assert len(read_trace([path])) == 5000
    for name in ("/dev/zero", put(tmp_path / "z.gz", gzip.compress(bytes(1 << 22), mtime=0))):
        for skip in (False, True):
            error = refusal(name, skip_bad_rows=skip)
            assert (error.place, error.cause) == (name, "a line of 1 MiB and more is no row")


def test_a_file_that_goes_away_is_named(tmp_path, monkeypatch):
    path = Path(put(tmp_path / "t.jsonl"))
    (source,) = expand([str(path)])
    path.unlink()
    monkeypatch.setattr("hitpath.traces.expand", lambda arguments: [source])
    assert "No such file" in refusal(str(path)).cause

"""`hitpath convert --redact`: what is hidden, what stays, and what a key may be."""

import json
import os
from itertools import pairwise

import numpy as np
import pytest

import hitpath
from cli import call
from hitpath.core import Setting
from hitpath.report.convert.keyed import KeyedHashes, siphash
from hitpath.report.convert.redact import MOST_KEY_BYTES, Redacted
from hitpath.spine import analyze_trace
from hitpath.traces import read_trace
from support import trace_of_rows, write_jsonl

SECRET = "The launch code is 0000, said Alice."
TEXT_ROWS = [
    {
        "id": f"r{i}",
        "arrival_s": i,
        "prompt": f"{SECRET} {question}",
        "reply": "I know nothing of it.",
        "tenant": "alice@example.com",
        "context": {"salt": "pepper", "adapter": "lora-7"},
    }
    for i, question in enumerate(["Who?", "When?", "Where to?"])
]


def lines_of(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def num_shared(one, other):
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "key"
    path.write_bytes(b"0123456789abcdef")
    return path


def test_siphash_gives_the_published_values():
    """Key 00 to 0f, message 00 to 0f (vectors of the reference implementation, SipHash-2-4)."""
    k0, k1 = np.frombuffer(bytes(range(16)), dtype=np.uint64)
    assert siphash(k0, k1, k0, k1) == int.from_bytes(bytes.fromhex("db9bc2577fcc2a3f"), "little")


def test_a_token_stands_for_all_up_to_it():
    hashes = KeyedHashes(bytes(64))
    one, other = np.array([1, 1, 2, 3, 3], np.uint32), np.array([1, 1, 2, 4, 3], np.uint32)
    first, second = hashes.tokens(one), hashes.tokens(other)
    assert num_shared(first, second) == 3
    assert len({*first.tolist(), *second.tolist()}) == 7  # equal tokens look as different as others
    assert num_shared(KeyedHashes(bytes(63) + b"1").tokens(one), first) == 0


def test_a_stretch_stands_for_all_before_it_and_its_name():
    hashes = KeyedHashes(bytes(64))
    one = hashes.stretches([("system", 10), ("a", 5), ("b", 3)])
    longer = hashes.stretches([("system", 10), ("a", 6), ("b", 3)])
    assert [length for _, length in one] == [10, 5, 3]
    assert one[:2] == [longer[0], (longer[1][0], 5)]  # of "a" five tokens are shared
    assert one[2] != longer[2]
    assert hashes.stretches([("a", 5)])[0] != one[1]
    assert hashes.stretches([("other", 10), ("a", 5)])[1] != one[1]


def test_redacted_text_shares_byte_for_byte(tmp_path, key):
    source, out = write_jsonl(tmp_path / "t.jsonl", TEXT_ROWS), tmp_path / "o.jsonl"
    done = call("convert", source, "--out", out, "--redact", key)
    assert (done.code, done.err) == (0, "")
    rows = lines_of(out)
    assert {row["unit"] for row in rows} == {"bytes"}
    for before, after in zip(TEXT_ROWS, rows, strict=True):
        assert len(after["tokens"]) == len(before["prompt"])
        assert len(after["output_ids"]) == len(before["reply"])
    assert len({tuple(row["output_ids"]) for row in rows}) == 3  # behind three prompts
    shared = len(SECRET) + 2  # "… W": "Who", "When" and "Where" part behind it; "Wh" at the end
    assert [num_shared(a["tokens"], b["tokens"]) for a, b in pairwise(rows)] == [
        shared + 1,
        shared + 2,
    ]


def test_nothing_of_the_text_is_left(tmp_path, key):
    source, out = write_jsonl(tmp_path / "t.jsonl", TEXT_ROWS), tmp_path / "o.jsonl"
    assert call("convert", source, "--out", out, "--redact", key).code == 0
    content = out.read_text()
    for word in ("launch", "Alice", "Who", "nothing", "pepper"):
        assert word not in content
    assert "alice@example.com" in content  # a label, unless asked otherwise
    assert "lora-7" in content


SECRET_ROW = {
    "id": "SECRET-id",
    "arrival_s": 0,
    "block_keys": ["SECRET-key"],
    "block_size": 16,
    "prompt_tokens": 16,
    "session": "SECRET-session",
    "tenant": "SECRET-tenant",
    "model": "SECRET-model",
    "worker": "SECRET-worker",
    "clock": "SECRET-clock",
    "id_scope": "SECRET-scope",
    "excluded": "SECRET-reason",
    "context": {"adapter": "SECRET-adapter", "model": "SECRET-other", "SECRET-field": "SECRET"},
    "reported": {"cached_tokens": 3, "cached_by_tier": {"SECRET-tier": 3}},
}


def test_hashed_labels_leave_no_name(tmp_path, key):
    rows = [SECRET_ROW, {**SECRET_ROW, "id": "other", "excluded": None}]
    source, out = write_jsonl(tmp_path / "t.jsonl", rows), tmp_path / "o.jsonl"
    hitpath.convert(source, out, redact=key, hash_labels=True)
    assert "SECRET" not in out.read_text()
    found, again = hitpath.analyze(source), hitpath.analyze(out)
    assert again.rates == found.rates
    assert again.causes == found.causes
    assert again.by("tenant").num_rows == 1


def test_another_key_gives_other_hashes_and_the_same_key_the_same(tmp_path, key):
    source = write_jsonl(tmp_path / "t.jsonl", TEXT_ROWS)
    other = tmp_path / "other"
    other.write_bytes(b"0123456789abcdeF")
    files = []
    for name, used in (("a", key), ("b", key), ("c", other)):
        files.append(tmp_path / name)
        assert call("convert", source, "--out", files[-1], "--redact", used).code == 0
    a, b, c = (lines_of(file) for file in files)
    assert a == b
    assert {t for row in a for t in row["tokens"]}.isdisjoint(t for row in c for t in row["tokens"])


@pytest.mark.parametrize(
    "prompts",
    [
        [{"tokens": [1, 2, 3, 4]}, {"tokens": [1, 2, 9]}],
        [{"prompt": "Wann?"}, {"prompt": "Was?"}],
        [{"segments": [["a", 3], ["b", 4]]}, {"segments": [["b", 2], ["a", 4]]}],
        [
            {"block_keys": keys, "block_size": 16, "prompt_tokens": 32}
            for keys in (["a", "b"], ["b", "a"])
        ],
        [{"block_keys": keys, "block_size": 16, "prompt_tokens": 20} for keys in ([7, 8], [8, 7])],
    ],
)
def test_what_a_prompt_becomes_does_not_depend_on_the_others(tmp_path, prompts):
    rows = [{"id": i, "arrival_s": i, **prompt} for i, prompt in enumerate(prompts)]
    together = Redacted(trace_of_rows(tmp_path, rows), bytes(64), False)
    for i, row in enumerate(rows):
        alone = Redacted(trace_of_rows(tmp_path, [row]), bytes(64), False)
        assert alone.of(0) == together.of(i)


def test_block_ids_become_hashes_that_tell_nothing_of_the_number(tmp_path, key):
    rows = [{"timestamp": i, "input_length": 1030, "hash_ids": [7, 8 + i, 7]} for i in range(3)]
    source, out = write_jsonl(tmp_path / "t.jsonl", rows), tmp_path / "o.jsonl"
    assert call("convert", source, "--out", out, "--redact", key).code == 0
    keys = [row["block_keys"] for row in lines_of(out)]
    assert len({k[0] for k in keys}) == 1
    assert len({k[1] for k in keys}) == 3
    assert all(k[2] == k[0] for k in keys)  # the file's id of a part of a block
    assert all(len(k) == 16 for row in keys for k in row)


def test_a_number_and_a_name_that_looks_like_it_are_two(tmp_path):
    hashed = []
    for keys in ([5], ["5"]):
        row = {"id": 1, "arrival_s": 0, "block_keys": keys, "block_size": 4, "prompt_tokens": 4}
        hashed.append(Redacted(trace_of_rows(tmp_path, [row]), bytes(64), False).of(0))
    assert hashed[0] != hashed[1]


def test_hashed_block_ids_that_come_late_in_a_table(tmp_path, key):
    """The first group of rows has no id from which the column's type could be seen."""
    row = {"arrival_s": 0, "block_size": 4}
    rows = [{**row, "id": str(i), "block_keys": [], "prompt_tokens": 3} for i in range(10_000)]
    rows.append({**row, "id": "last", "block_keys": [1, 2], "prompt_tokens": 8})
    source, out = write_jsonl(tmp_path / "t.jsonl", rows), tmp_path / "o.parquet"
    assert call("convert", source, "--out", out, "--redact", key).code == 0
    again = read_trace([str(out)])
    assert again.prompts.lengths.tolist()[-2:] == [0, 2]
    assert again.prompt_tokens.sum() == 30_008


@pytest.fixture
def redacted_text(tmp_path, key):
    rows = [
        {"id": str(i), "arrival_s": i, "prompt": "hello world " * 40 + str(i), "reply": "yes"}
        for i in range(20)
    ]
    source, out = write_jsonl(tmp_path / "text.jsonl", rows), tmp_path / "redacted.jsonl"
    hitpath.convert(source, out, redact=key)
    return out


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
@pytest.mark.parametrize("twice", [False, True])
def test_a_redacted_text_trace_can_be_converted_and_redacted(redacted_text, key, ending, twice):
    """`unit: bytes` has identity "text", but its symbols are hashes and no bytes."""
    out = redacted_text.with_name(f"again.{ending}")
    notes = hitpath.convert(redacted_text, out, redact=key if twice else None)
    assert not any("--tokenizer" in note for note in notes)
    for outputs in ("insert", "ignore"):
        found, again = (hitpath.analyze(f, outputs=outputs) for f in (redacted_text, out))
        assert again.causes == found.causes
        assert again.rates == found.rates
        assert again.document["trace"]["identity"] == "text"
    if ending == "jsonl":
        assert (out.read_bytes() == redacted_text.read_bytes()) is not twice


def test_a_redacted_text_trace_has_no_text_to_show(redacted_text, tmp_path):
    done = call("explain", "19", redacted_text, "--json", tmp_path / "x.json")
    assert (done.code, done.err) == (0, "")
    told = json.loads((tmp_path / "x.json").read_text())["relative"]["first_difference"]
    assert told["after"] is None
    assert [told[side]["kind"] for side in ("here", "there")] == ["token", "token"]
    assert [told[side]["text"] for side in ("here", "there")] == [None, None]
    page = tmp_path / "x.html"
    done = call("analyze", redacted_text, "--html", page, "--show-text")
    assert (done.code, done.err) == (0, "")
    assert "without their text" in page.read_text()


def test_a_short_or_a_huge_key_is_refused(tmp_path):
    source = write_jsonl(tmp_path / "t.jsonl", TEXT_ROWS)
    for content, cause in (
        (b"123456789abcdef", "has 15 bytes; a key needs at least 16"),
        (bytes(MOST_KEY_BYTES + 1), "has more than 1,048,576 bytes"),
    ):
        path = tmp_path / "bad"
        path.write_bytes(content)
        refused = call("convert", source, "--out", tmp_path / "o", "--redact", path)
        assert refused.code == 2
        assert cause in refused.err
    (tmp_path / "most").write_bytes(bytes(MOST_KEY_BYTES))
    done = call("convert", source, "--out", tmp_path / "o", "--redact", tmp_path / "most")
    assert (done.code, done.err) == (0, "")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("what", ["device", "pipe", "folder"])
def test_a_key_is_a_regular_file(tmp_path, what):
    """A device that never ends and a pipe that nobody writes to are not waited for."""
    source, place = write_jsonl(tmp_path / "t.jsonl", TEXT_ROWS), tmp_path / "place"
    if what == "device":
        place.symlink_to("/dev/zero")
    elif what == "pipe":
        os.mkfifo(place)
    else:
        place.mkdir()
    refused = call("convert", source, "--out", tmp_path / "o", "--redact", place)
    assert refused.code == 2
    assert len(refused.err.splitlines()) == 1
    assert refused.err.startswith("hitpath: error: --redact: ")
    assert "is no regular file" in refused.err


def test_the_answers_stay_at_every_block_size(tmp_path, key):
    source = write_jsonl(tmp_path / "t.jsonl", TEXT_ROWS)
    hitpath.convert(source, tmp_path / "o.jsonl", redact=key)
    for size in (1, 3, 7, 16):
        setting = Setting(block_size=size, outputs="insert")
        ledgers = [
            analyze_trace(read_trace([str(path)]), setting).ledger
            for path in (source, tmp_path / "o.jsonl")
        ]
        assert ledgers[0].hit.tolist() == ledgers[1].hit.tolist()
        assert ledgers[0].hit.sum() > 0
